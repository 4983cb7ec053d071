"""Altered copies of crops: few crops show too little of how an object can lie in a window.

A detector meets the object a little beside the middle of its windows, a little larger or smaller, and turned a little.
A few hundred crops do not show all that; copies of them do. They are no new objects: a copy always stays on the side of
its crop when samples are held out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.formats.annotations.opencv_lists import Box
from vjcascade.imaging import resize_crop, sample_affine
from vjcascade.parallel import ordered_map
from vjcascade.training.data.crops import cut_padded, grow_to_shape, has_contrast
from vjcascade.training.settings import Mirror, TrainingSettings
from vjcascade.types import Size

MAX_SHIFT = 0.04
"""Of a copy, to each side, in sides of the box. Windows that are scanned lie as far from the object."""

MAX_SCALING = 0.06
"""By so much a copy is larger or smaller: about half a step between two levels of a scan."""

MAX_TURN = 4.0
"""Degrees, to each side."""

MARGIN = 0.15
"""Of the box, on each side, is kept to show what a copy shifts into the window."""

MAX_DETAIL = 3
"""Pixels kept for a pixel of the window, in both directions: more would not be seen."""

WINDOWS_WANTED = 3_200
"""Crops and copies that copies are made for."""

MAX_COPIES = 15
"""Of a crop: more look alike."""

MOST_ALIKE = 0.75
"""An object counts as symmetric where no more of its crops can be distinguished from their mirror images."""

N_PARTS = 5
"""Into so many parts crops are dealt to see whether they can be distinguished from their mirror images."""


@dataclass(frozen=True)
class CopyRule:
    """How copies of crops are made.

    Attributes
    ----------
    per_crop : int or None
        Copies of each crop; None for what brings crops and copies to `n_wanted`.
    mirror : Mirror
        Whether half of them are mirrored.
    seed : int
        Of all random choices.
    n_wanted : int
        See `per_crop`.
    """

    per_crop: int | None = None
    mirror: Mirror = Mirror.AUTO
    seed: int = 0
    n_wanted: int = WINDOWS_WANTED

    @classmethod
    def of(cls, settings: TrainingSettings) -> Self:
        """Return the rule of a run: no more copies than a stage has room for."""
        room = int(settings.max_positives / (1 - settings.held_out))
        return cls(settings.copies, settings.mirror, settings.seed, min(room, WINDOWS_WANTED))

    def copies_of_each(self, n_crops: int) -> int:
        """Return how many copies of each crop are made.

        Examples
        --------
        >>> [CopyRule().copies_of_each(n) for n in (50, 100, 400, 1000, 5000)]
        [15, 15, 7, 2, 0]
        >>> CopyRule(per_crop=4).copies_of_each(5000)
        4
        """
        if self.per_crop is not None:
            return self.per_crop
        return min(max(self.n_wanted // max(n_crops, 1) - 1, 0), MAX_COPIES)


NO_COPIES = CopyRule(per_crop=0)


@dataclass(frozen=True, eq=False)
class Region:
    """A crop and what is around it, with the detail that copies need.

    Attributes
    ----------
    pixels : ndarray of shape (h, w), dtype uint8
        Grey levels of the box, grown to the window's shape, and of a margin.
    box : Size
        Of the grown box in these pixels; its centre is theirs.
    """

    pixels: NDArray[np.uint8]
    box: Size

    @classmethod
    def around(cls, gray: NDArray[np.uint8], box: Box, window: Size) -> Region:
        """Cut a box and its margin out of a picture.

        Parameters
        ----------
        gray : ndarray of shape (picture height, picture width), dtype uint8
            Beyond its border the pixels at its edge are repeated.
        box : Box
            As for `cut_window`.
        window : Size
            The training window.

        Returns
        -------
        Region
            At most `MAX_DETAIL` times as large as the window, with its margin.
        """
        grown = grow_to_shape(box, window)
        right, below = round(MARGIN * grown.width), round(MARGIN * grown.height)
        wider = Box(grown.x - right, grown.y - below, grown.width + 2 * right, grown.height + 2 * below)
        pixels = cut_padded(gray, wider)
        shrink = max(grown.width / (MAX_DETAIL * window.width), 1.0)
        size = Size(max(round(wider.width / shrink), 1), max(round(wider.height / shrink), 1))
        inner = Size(max(round(grown.width / shrink), 1), max(round(grown.height / shrink), 1))
        return cls(resize_crop(pixels, size).copy(), inner)

    def altered(self, window: Size, rng: np.random.Generator, *, is_mirrored: bool) -> NDArray[np.uint8]:
        """Return a window of this crop that lies, at random, a little otherwise.

        Parameters
        ----------
        window : Size
            Of the result.
        rng : Generator
            Decides.
        is_mirrored : bool
            Swap left and right.

        Returns
        -------
        ndarray of shape (height, width), dtype uint8
            Grey levels.
        """
        shift = rng.uniform(-MAX_SHIFT, MAX_SHIFT, 2) * (self.box.height, self.box.width)
        scale = np.exp(rng.uniform(-MAX_SCALING, MAX_SCALING))
        angle = np.deg2rad(rng.uniform(-MAX_TURN, MAX_TURN))
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) * scale
        centre = (np.array(self.pixels.shape) - 1) / 2 + shift
        # Rows and columns of the copy, counted from its centre, turned and scaled, are places around this one.
        offset = centre - turn @ ((np.array([self.box.height, self.box.width]) - 1) / 2)
        copy = resize_crop(sample_affine(self.pixels, turn, offset, self.box), window)
        return np.ascontiguousarray(copy[:, ::-1]) if is_mirrored else copy


def mirror_accuracy(windows: NDArray[np.uint8], seed: int = 0) -> float:
    """Return which share of crops can be distinguished from their mirror images: 0.5 where objects are symmetric.

    The mean difference between crops and mirror images, in four fifths of the crops, is what the others are judged by.

    Parameters
    ----------
    windows : ndarray of shape (n, h, w), dtype uint8
        Crops.
    seed : int
        Deals them out.

    Returns
    -------
    float
        From 0 to 1; crops of symmetric objects, and of objects that face one way as often as the other, come out near
        0.5.

    Examples
    --------
    >>> ramp = np.tile(np.arange(0, 240, 10, np.uint8), (40, 24, 1))
    >>> float(mirror_accuracy(ramp))
    1.0
    """
    gray = windows.astype(np.float32)
    gray -= gray.mean(axis=(1, 2), keepdims=True)
    gray /= gray.std(axis=(1, 2), keepdims=True) + 1
    differences = (gray - gray[:, :, ::-1]).reshape(len(gray), -1)
    parts = np.random.default_rng(seed).permutation(len(gray)) % N_PARTS
    n_told = 0
    for part in range(N_PARTS):
        away = parts == part
        if 0 < away.sum() < len(gray):
            n_told += int(np.count_nonzero(differences[away] @ differences[~away].mean(axis=0) > 0))
    return n_told / len(gray)


def make_copies(
    regions: Sequence[Region],
    window: Size,
    n_copies: int,
    *,
    may_mirror: bool,
    seed: int,
    n_threads: int,
) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Make altered copies of crops.

    What becomes of a crop depends on its pixels and on the seed alone, not on the other crops. Copies without contrast
    are left out.

    Parameters
    ----------
    regions : sequence of Region
        The crops.
    window : Size
        Of the copies.
    n_copies : int
        Of each crop.
    may_mirror : bool
        Whether every second copy, from the first on, is mirrored.
    seed : int
        Of the random choices.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    windows : ndarray of shape (n, height, width), dtype uint8
        The copies.
    crops : ndarray of shape (n,), dtype intp
        Which region each was made of.
    """

    def of_one(region: Region) -> list[NDArray[np.uint8]]:
        digest = hashlib.sha256(region.pixels.tobytes()).digest()
        rng = np.random.default_rng([seed, int.from_bytes(digest[:16])])
        return [
            region.altered(window, rng, is_mirrored=may_mirror and number % 2 == 0)
            for number in range(n_copies)
        ]

    made = [
        (copy, number)
        for number, copies in enumerate(ordered_map(of_one, regions, n_threads))
        for copy in copies
        if has_contrast(copy)
    ]
    windows = np.array([copy for copy, _ in made], np.uint8).reshape(-1, window.height, window.width)
    return windows, np.array([number for _, number in made], np.intp)
