"""Tell false alarms that are worth learning from and those that are like others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.detection.grouping import overlaps
from vjcascade.imaging import resize_crop
from vjcascade.types import Size

SIDE = 12
"""Pixels to which false alarms are brought to be compared: shifts of a pixel or two of the window do not count."""

LIKE = 0.9
"""Correlation above which two look alike."""

SAME_PLACE = 0.5
"""Overlap above which two are at one place, as intersection over union."""


class DistinctFalseAlarms:
    """False alarms that differ in place or look: a still camera sees the same ones in every frame.

    Brightness and contrast do not count, as they do not for a detector. At another place, in what may be quite another
    picture, even a false alarm of the same look comes with others around it, so that it counts.

    Examples
    --------
    >>> alarms = DistinctFalseAlarms()
    >>> frame = np.random.default_rng(0).integers(0, 256, (40, 60), np.uint8)
    >>> alarms.add(frame, np.array([[5, 5, 24, 24]])), alarms.add(frame // 2, np.array([[5, 5, 24, 24]]))
    (1, 0)
    """

    def __init__(self) -> None:
        self._looks = np.empty((0, SIDE * SIDE), np.float32)
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
            How many of them are not like those before.
        """
        n_before = len(self._boxes)
        for box in np.asarray(boxes, np.int32).reshape(-1, 4):
            x, y, w, h = box.tolist()
            look = _normalised(resize_crop(gray[max(y, 0) : y + h, max(x, 0) : x + w], Size(SIDE, SIDE)))
            is_like = (self._looks @ look > LIKE) & (overlaps(box, self._boxes) > SAME_PLACE)
            if not is_like.any():
                self._looks = np.vstack([self._looks, look])
                self._boxes = np.vstack([self._boxes, box])
        return len(self._boxes) - n_before


def _normalised(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return pixels as a vector of mean 0 and length 1; all zeros where there is no contrast."""
    vector = pixels.astype(np.float32).ravel()
    vector -= vector.mean()
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector
