"""Count false alarms that are new: those that differ from all before in place or appearance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.detection.grouping import overlaps
from vjcascade.imaging import resize_crop
from vjcascade.types import Size

SIDE = 12
"""Side of the patches that are compared, in pixels; shifts of a pixel or two of the window do not count."""

MIN_CORRELATION = 0.9
"""Above it, two false alarms look the same."""

MIN_OVERLAP = 0.5
"""Intersection over union above which two are at one place."""


class DistinctFalseAlarms:
    """False alarms that differ in place or appearance: a still camera sees the same ones in every frame.

    Brightness and contrast do not count, as they do not for a detector. A false alarm that looks the same at another
    place, perhaps in quite another picture, counts: others come with it.

    Examples
    --------
    >>> alarms = DistinctFalseAlarms()
    >>> frame = np.random.default_rng(0).integers(0, 256, (40, 60), np.uint8)
    >>> alarms.add(frame, np.array([[5, 5, 24, 24]])), alarms.add(frame // 2, np.array([[5, 5, 24, 24]]))
    (1, 0)
    """

    def __init__(self) -> None:
        self._patches = np.empty((0, SIDE * SIDE), np.float32)
        self._boxes = np.empty((0, 4), np.int32)

    def add(self, gray: NDArray[np.uint8], boxes: NDArray[np.integer]) -> int:
        """Take the false alarms of a picture.

        Parameters
        ----------
        gray : ndarray of shape (height, width), dtype uint8
            The picture.
        boxes : ndarray of shape (n, 4), integers
            Its false alarms: `x, y, w, h` in pixels.

        Returns
        -------
        int
            How many of them are new.
        """
        n_before = len(self._boxes)
        for box in np.asarray(boxes, np.int32).reshape(-1, 4):
            x, y, w, h = box.tolist()
            patch = _normalised(resize_crop(gray[max(y, 0) : y + h, max(x, 0) : x + w], Size(SIDE, SIDE)))
            is_like = (self._patches @ patch > MIN_CORRELATION) & (overlaps(box, self._boxes) > MIN_OVERLAP)
            if not is_like.any():
                self._patches = np.vstack([self._patches, patch])
                self._boxes = np.vstack([self._boxes, box])
        return len(self._boxes) - n_before


def _normalised(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return pixels as a vector of mean 0 and length 1; all zeros where there is no contrast."""
    vector = pixels.astype(np.float32).ravel()
    vector -= vector.mean()
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector
