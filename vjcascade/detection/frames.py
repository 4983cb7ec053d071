"""What stays from one frame of a video to the next: windows whose pixels have not changed.

A window's result depends on its pixels in the level image alone, and rows of windows are scanned one by one. So a row
of windows keeps its results if none of the rows of pixels under it has changed. Level images are compared, not
frames: whatever resizes them, that cannot go wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vjcascade.detection.scales import Rows, row_array
from vjcascade.detection.scanner import RawWindows
from vjcascade.types import Size

LevelKey = tuple[Size, int]
"""Size of a level image, and step of the scan."""


class PreviousFrame:
    """What the previous frame of a video looked like, and the windows found in it.

    It belongs to one video and one thread. Used with another detector or frames of another size, it starts anew.

    Examples
    --------
    >>> from vjcascade import Cascade, Detector
    >>> detector, previous = Detector(Cascade(Size(24, 24)), min_neighbors=0), PreviousFrame()
    >>> frame = np.random.default_rng(1).integers(0, 256, (24, 24), np.uint8)
    >>> [len(detector.detect(image, previous=previous)) for image in (frame, frame, np.zeros_like(frame))]
    [1, 1, 0]
    """

    def __init__(self) -> None:
        self._owner: tuple[object, Size] | None = None
        self._images: Mapping[LevelKey, NDArray[np.uint8]] = {}
        self._found: Sequence[Sequence[RawWindows]] = []

    def start(self, detector: object, size: Size) -> None:
        """Forget a frame that was searched by another detector or is of another size."""
        if self._owner != (detector, size):
            self._owner, self._images, self._found = (detector, size), {}, []

    def changed_rows(self, key: LevelKey, image: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which rows of a level image are not those of the previous frame."""
        if key not in self._images:
            return np.ones(len(image), np.bool_)
        changed: NDArray[np.bool_] = (image != self._images[key]).any(axis=1)
        return changed

    def with_kept(self, plan: int, level: int, raw: RawWindows, scanned: Rows) -> RawWindows:
        """Return the windows found in the rows that were scanned, and in all others those of the previous frame.

        Parameters
        ----------
        plan, level : int
            Numbers of the cascade's plan, and of its level.
        raw : RawWindows
            Found in this frame.
        scanned : range or ndarray of shape (n,), dtype intp
            `y` of the rows of windows that were scanned.

        Returns
        -------
        RawWindows
            As if all rows had been scanned, but for the number of windows looked at.
        """
        if not self._found:
            return raw
        old = self._found[plan][level]
        kept = ~np.isin(old.positions[:, 1], row_array(scanned))
        joined = RawWindows.joined([raw, old.where(kept)])
        return joined.where(np.argsort(joined.positions[:, 1], kind="stable"), raw.n_windows)

    def keep(
        self, images: Mapping[LevelKey, NDArray[np.uint8]], found: Sequence[Sequence[RawWindows]]
    ) -> None:
        """Take the frame that was searched for the previous one, at its end: a search may be interrupted."""
        self._images, self._found = images, found


def rows_to_scan(visited: Rows, changed: NDArray[np.bool_] | None, height: int) -> Rows:
    """Return the rows of windows of some height with changed pixels; all if that is not known.

    Parameters
    ----------
    visited : range or ndarray of shape (n,), dtype intp
        `y` of all rows of windows to be looked at.
    changed : ndarray of shape (h,), dtype bool, or None
        Which rows of the level image have changed.
    height : int
        Of a window, in level pixels.

    Returns
    -------
    range or ndarray of shape (n,), dtype intp
        Some of `visited`, in the same order.

    Examples
    --------
    >>> rows_to_scan(range(0, 6, 2), np.array([0, 0, 0, 1, 0, 0, 0, 0], bool), 2)
    array([2])
    """
    if changed is None or changed.all():
        return visited
    n_before = np.append(0, np.cumsum(changed))
    rows = row_array(visited)
    found: NDArray[np.intp] = rows[n_before[rows + height] > n_before[rows]]
    return found
