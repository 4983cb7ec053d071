"""Crops and photos as they were read, and as items of findings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.checking.findings import Item
from vjcascade.training.data.backgrounds import BackgroundImages
from vjcascade.training.data.positives import Positives
from vjcascade.training.data.sources import Kind


@dataclass(frozen=True, eq=False)
class Pictures:
    """Crops of the object, or photos without it.

    Attributes
    ----------
    kind : {"positives", "negatives"}
        Which.
    names : tuple of str
        Of each.
    windows : ndarray of shape (n, height, width), dtype uint8
        The crops, or each whole photo, brought to the window's size.
    turned : frozenset of int
        Those that EXIF turned upright.
    """

    kind: Kind
    names: tuple[str, ...]
    windows: NDArray[np.uint8]
    turned: frozenset[int]

    @classmethod
    def crops(cls, positives: Positives) -> Pictures:
        """Return crops, without their altered copies."""
        n = positives.n_crops
        return cls("positives", positives.names[:n], positives.windows[:n], positives.turned)

    @classmethod
    def photos(cls, photos: BackgroundImages, windows: NDArray[np.uint8]) -> Pictures:
        """Return photos, of which `windows` show each as a whole."""
        turned = frozenset(i for i, photo in enumerate(photos.photos) if photo.is_turned)
        return cls("negatives", photos.names, windows, turned)

    def __len__(self) -> int:
        return len(self.names)

    def item(self, index: int, detail: str = "") -> Item:
        """Return a picture as an item of a finding; by default, the detail says whether EXIF turned it."""
        if not detail and index in self.turned:
            detail = "rotated as its EXIF orientation says"
        return Item(self.names[index], detail, self.windows[index])

    def item_like(self, index: int, others: Pictures, other: int) -> Item:
        """Return a picture as an item of a finding, with the one that it is a copy of.

        Parameters
        ----------
        index : int
            The picture.
        others : Pictures
            Among which it has one that is alike.
        other : int
            Which.

        Returns
        -------
        Item
            Shows both.
        """
        return Item(
            self.names[index], f"like {others.names[other]}", self.windows[index], others.windows[other]
        )
