"""Scan one photo for mining: the windows that the cascade accepts, and the order in which they are taken."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vjcascade.detection.scales import Level
from vjcascade.detection.scanner import RawWindows, Scanner
from vjcascade.imaging import resize_exact
from vjcascade.training.mining.window_hash import window_hashes

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
        self._level_images = [resize_exact(gray, level.size) for level in levels]
        raw = []
        for level, image in zip(levels, self._level_images, strict=True):
            found = scanner.scan_rows(scanner.integrals(image), level.rows)
            raw.append(_without(found, ignored, level) if len(ignored) else found)
        self._n_found = [len(found) for found in raw]
        self._level_of = np.repeat(np.arange(len(raw)), self._n_found)
        self._positions = np.concatenate([np.empty((0, 2), np.int32), *[found.positions for found in raw]])
        self._sums = np.concatenate([np.empty(0), *[found.sums for found in raw]])
        self._order = np.arange(len(self._sums))
        self.n_searched = sum(found.n_windows for found in raw)
        self.n_accepted = len(self._sums)

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
        self._order = np.argsort(turns * n_levels + rng.permutation(n_levels)[self._level_of])
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
        for i in np.unique(self._level_of[which]).tolist():
            here = np.flatnonzero(self._level_of[which] == i)
            x, y = self._positions[which[here]].T
            cut[here] = np.lib.stride_tricks.sliding_window_view(self._level_images[i], shape)[y, x]
        return cut


def _without(found: RawWindows, ignored: NDArray[np.int32], level: Level) -> RawWindows:
    """Leave out windows that share too much with a box to be ignored; they still count as looked at."""
    boxes = np.empty((len(found), 4))
    boxes[:, :2], boxes[:, 2:] = found.positions, level.window
    clear = is_clear(boxes * float(level.scale), ignored)
    return RawWindows(found.positions[clear], found.sums[clear], found.stages[clear], found.n_windows)
