"""Findings on near copies: among crops, among photos, between both, and across what would be held out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.checking.descriptors import signatures
from vjcascade.checking.findings import Finding, Topic
from vjcascade.checking.near_copies import groups_of, pairs_alike
from vjcascade.checking.pictures import Pictures
from vjcascade.checking.plain import level_of

Pairs = NDArray[np.intp]
"""Indices of pictures, shape (m, 2)."""


@dataclass(frozen=True, eq=False)
class NearCopies:
    """Pairs of pictures that are nearly alike.

    Attributes
    ----------
    crops, photos : Pictures
        What is compared.
    of_crops, of_photos : ndarray of shape (m, 2), dtype intp
        Among each of them.
    of_both : ndarray of shape (m, 2), dtype intp
        A photo, and a crop that it is like.
    """

    crops: Pictures
    photos: Pictures
    of_crops: Pairs
    of_photos: Pairs
    of_both: Pairs

    @classmethod
    def among(cls, crops: Pictures, photos: Pictures, n_threads: int) -> NearCopies:
        """Compare crops and photos.

        Parameters
        ----------
        crops, photos : Pictures
            With windows of one size.
        n_threads : int
            Threads; the result does not depend on it.

        Returns
        -------
        NearCopies
            Pairs in order.
        """
        n = len(crops)
        pairs = pairs_alike(signatures(np.concatenate([crops.windows, photos.windows])), n_threads)
        is_photo = pairs >= n
        return cls(
            crops,
            photos,
            pairs[~is_photo.any(axis=1)],
            pairs[is_photo.all(axis=1)] - n,
            pairs[is_photo[:, 0] != is_photo[:, 1]][:, ::-1] - [n, 0],
        )

    def findings(
        self, held_out_crops: NDArray[np.intp], held_out_photos: NDArray[np.intp]
    ) -> Iterator[Finding]:
        """Yield findings.

        Parameters
        ----------
        held_out_crops, held_out_photos : ndarray of int
            Indices of those that training would hold out.

        Yields
        ------
        Finding
            May be empty.
        """
        yield _all_but_first(self.crops, self.of_crops)
        yield _all_but_first(self.photos, self.of_photos)
        items = tuple(self.photos.item_like(i, self.crops, j) for i, j in _first_partners(self.of_both))
        yield Finding(Topic.IN_BOTH, "negatives", items, len(self.photos))
        yield _across(self.crops, self.of_crops, held_out_crops)
        yield _across(self.photos, self.of_photos, held_out_photos)


def _all_but_first(pictures: Pictures, pairs: Pairs) -> Finding:
    """Return all but the first of each group of near copies."""
    groups = groups_of(pairs, len(pictures))
    _, firsts = np.unique(groups, return_index=True)
    copies = [i for i in np.unique(pairs).tolist() if firsts[groups[i]] != i]
    items = tuple(pictures.item_like(i, pictures, int(firsts[groups[i]])) for i in copies)
    level = level_of(pictures.kind, len(items), len(pictures))
    return Finding(Topic.NEAR_COPIES, pictures.kind, items, len(pictures), level)


def _across(pictures: Pictures, pairs: Pairs, held_out: NDArray[np.intp]) -> Finding:
    """Return what would be held out while a near copy of it is trained on."""
    is_away = np.zeros(len(pictures), np.bool_)
    is_away[held_out] = True
    split = pairs[is_away[pairs[:, 0]] != is_away[pairs[:, 1]]]
    away_first = np.where(is_away[split[:, :1]], split, split[:, ::-1])
    items = tuple(pictures.item_like(i, pictures, j) for i, j in _first_partners(away_first))
    level = level_of(pictures.kind, len(items), len(pictures))
    return Finding(Topic.HELD_OUT, pictures.kind, items, len(pictures), level)


def _first_partners(pairs: Pairs) -> list[tuple[int, int]]:
    """Return each first index of pairs once, in order, with the first of its partners."""
    partners: dict[int, int] = {}
    for i, j in pairs.tolist():
        partners.setdefault(i, j)
    return sorted(partners.items())
