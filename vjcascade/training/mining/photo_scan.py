"""Scan one photo for mining: the windows that the cascade accepts, and the order in which they are taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.detection.scales import Level, row_array
from vjcascade.detection.scanner import IntegralMemory, RawWindows, Scanner
from vjcascade.imaging import resize_exact
from vjcascade.training.mining.window_hash import window_hashes
from vjcascade.types import Size

MAX_SHARED = 1 / 3
"""A window that shares more than this with an ignored box, of the smaller one's area, is no negative."""


def is_clear(windows: NDArray[np.float64], ignored: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell which windows share no more than `MAX_SHARED` of the smaller area with any box to be ignored.

    Parameters
    ----------
    windows : ndarray of shape (n, 4), dtype float64
        `x, y, w, h` in picture pixels.
    ignored : ndarray of shape (m, 4), dtype int32
        Boxes, in the same way; sides > 0. They may reach beyond the picture.

    Returns
    -------
    ndarray of shape (n,), dtype bool
        True for windows that may be negatives.

    Examples
    --------
    >>> is_clear(np.array([[0, 0, 9, 9], [6, 0, 9, 9.0]]), np.array([[0, 0, 9, 30]])).tolist()
    [False, True]
    """
    clear = np.ones(len(windows), np.bool_)
    areas = windows[:, 2] * windows[:, 3]
    for box in ignored.astype(np.float64):
        sides = np.minimum(windows[:, :2] + windows[:, 2:], box[:2] + box[2:]) - np.maximum(
            windows[:, :2], box[:2]
        )
        shared = sides.clip(min=0).prod(axis=1)
        clear &= shared <= MAX_SHARED * np.minimum(areas, box[2] * box[3])
    return clear


BAND = 2**20
"""Pixels of a level that are scanned at a time: integral images take several times the memory of the level."""


def scanning_memory(size: Size) -> int:
    """Return how many bytes of memory a `PhotoScan` of a photo needs, the photo and what is kept of it left out.

    Examples
    --------
    >>> scanning_memory(Size(640, 480)), scanning_memory(Size(6000, 4000))
    (4300800, 37631488)
    """
    n_pixels = size.width * size.height
    return n_pixels + BYTES_IN_BAND * min(n_pixels, BAND)


BYTES_IN_BAND = 13
"""A copy of the band, and three integral images."""


class PhotoScan:
    """Scan rows of one photo, and put the windows that pass in an order.

    Parameters
    ----------
    gray : ndarray of shape (height, width), dtype uint8
        The photo.
    ignored : ndarray of shape (m, 4), dtype int32
        Boxes of objects in it.
    levels : sequence of Level
        What to look at, in every column.
    scanner : Scanner
        Of the cascade.

    Attributes
    ----------
    n_searched, n_accepted : int
        Windows looked at, and those of them that the cascade accepts and that are not to be ignored.
    """

    def __init__(
        self, gray: NDArray[np.uint8], ignored: NDArray[np.int32], levels: Sequence[Level], scanner: Scanner
    ) -> None:
        self._window = scanner.cascade.window
        memory = IntegralMemory()
        by_level = [_scan_level(gray, ignored, level, scanner, memory) for level in levels]
        self._n_found = [sum(len(band.found) for band in bands) for bands in by_level]
        self._bands = [band for bands in by_level for band in bands]
        self._band_of = np.repeat(np.arange(len(self._bands)), [len(band.found) for band in self._bands])
        found = RawWindows.joined([band.found for band in self._bands])
        self._positions, self._sums = found.positions, found.sums
        self._order = np.arange(len(found))
        self.n_searched, self.n_accepted = found.n_windows, len(found)

    def shuffle(self, rng: np.random.Generator, *, hardest: bool) -> None:
        """Say which accepted windows are to be taken first.

        Parameters
        ----------
        rng : numpy.random.Generator
            Chooses among the windows of a level, and which level is the first.
        hardest : bool
            Whether those with the highest sums come first; otherwise the levels give one in turn.
        """
        n_levels = len(self._n_found)
        turns = np.concatenate([np.empty(0, np.intp), *[rng.permutation(n) for n in self._n_found]])
        level_of = np.repeat(np.arange(n_levels), self._n_found)
        self._order = np.argsort(turns * n_levels + rng.permutation(n_levels)[level_of])
        if hardest:
            self._order = self._order[np.argsort(-self._sums[self._order], kind="stable")]

    def take(self, n_most: int, known: set[int]) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """Take the first of the accepted windows that are not known yet.

        Parameters
        ----------
        n_most : int
            Windows wanted at most.
        known : set of int
            Digests of windows that are not wanted; those of the windows taken join it.

        Returns
        -------
        windows : ndarray of shape (n, h, w), dtype uint8
            No two alike; as the cascade sees them in the level images.
        sums : ndarray of shape (n,), dtype float64
            Their sums of the last stage.
        """
        windows = [np.empty((0, self._window.height, self._window.width), np.uint8)]
        sums = [np.empty(0)]
        start, n = 0, 0
        while start < len(self._order) and n < n_most:
            chunk = self._order[start : start + n_most - n + start]  # where copies are many, more and more
            start += len(chunk)
            cut = self._cut(chunk)
            new: list[int] = []
            for i, digest in enumerate(window_hashes(cut).tolist()):
                if digest not in known and n + len(new) < n_most:
                    known.add(digest)
                    new.append(i)
            n += len(new)
            windows.append(cut[new])
            sums.append(self._sums[chunk[new]])
        return np.concatenate(windows), np.concatenate(sums)

    def _cut(self, which: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Cut windows, given by number, out of the level images."""
        shape = (self._window.height, self._window.width)
        cut = np.empty((len(which), *shape), np.uint8)
        for i in np.unique(self._band_of[which]).tolist():
            band, here = self._bands[i], np.flatnonzero(self._band_of[which] == i)
            x, y = self._positions[which[here]].T
            cut[here] = np.lib.stride_tricks.sliding_window_view(band.image, shape)[y - band.top, x]
        return cut


class _Band(NamedTuple):
    """Some rows of windows in a level image: the pixels from `top` on, and what was found in them."""

    top: int
    image: NDArray[np.uint8]
    found: RawWindows


def _scan_level(
    gray: NDArray[np.uint8],
    ignored: NDArray[np.int32],
    level: Level,
    scanner: Scanner,
    memory: IntegralMemory,
) -> list[_Band]:
    """Scan a level band by band; positions are those in the level. Pixels are kept where something was found."""
    image, bands = resize_exact(gray, level.size), []
    for pixel_rows, ys in _bands(level):
        pixels = image[pixel_rows]
        raw = scanner.scan_rows(scanner.integrals(pixels, memory=memory), ys - pixel_rows.start)
        found = replace(raw, positions=raw.positions + np.array([0, pixel_rows.start], np.int32))
        if len(ignored):
            found = _without(found, ignored, level)
        if len(pixels) < len(image):  # a view would keep the whole level
            pixels = pixels[: len(pixels) * bool(len(found))].copy()
        bands.append(_Band(pixel_rows.start, pixels, found))
    return bands


def _bands(level: Level) -> Iterator[tuple[slice, NDArray[np.intp]]]:
    """Yield rows of pixels, and which rows of windows to look at in them."""
    rows, (width, height) = row_array(level.rows), level.size
    if width * height <= BAND:
        yield slice(0, height), rows
        return
    n_rows = max(BAND // width, 4 * level.window.height)
    for ys in np.split(rows, np.flatnonzero(np.diff(rows // n_rows)) + 1):
        yield slice(int(ys[0]), int(ys[-1]) + level.window.height), ys


def _without(found: RawWindows, ignored: NDArray[np.int32], level: Level) -> RawWindows:
    """Leave out windows that share too much with a box to be ignored; they still count as looked at."""
    boxes = np.empty((len(found), 4))
    boxes[:, :2], boxes[:, 2:] = found.positions, level.window
    clear = is_clear(boxes * float(level.scale), ignored)
    return RawWindows(found.positions[clear], found.sums[clear], found.stages[clear], found.n_windows)
