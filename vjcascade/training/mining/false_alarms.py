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
        # A bad model raises thousands of false alarms in a photo: rows are kept in reserve.
        self._n = 0
        self._patches = np.empty((256, SIDE * SIDE), np.float32)
        self._boxes = np.empty((256, 4), np.int32)

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
        n_before = self._n
        for box in np.asarray(boxes, np.int32).reshape(-1, 4):
            x, y, w, h = box.tolist()
            patch = _normalised(resize_crop(gray[max(y, 0) : y + h, max(x, 0) : x + w], Size(SIDE, SIDE)))
            if not self._is_known(box, patch):
                self._keep(box, patch)
        return self._n - n_before

    def _is_known(self, box: NDArray[np.int32], patch: NDArray[np.float32]) -> bool:
        known = self._boxes[: self._n]
        x, y, w, h = box.tolist()
        is_near = (abs(known[:, 0] - x) < w) & (abs(known[:, 1] - y) < h)  # others cannot overlap by half
        near = np.flatnonzero(is_near)
        near = near[overlaps(box, known[near]) > MIN_OVERLAP]
        return bool((self._patches[near] @ patch > MIN_CORRELATION).any())

    def _keep(self, box: NDArray[np.int32], patch: NDArray[np.float32]) -> None:
        if self._n == len(self._boxes):
            self._patches = np.concatenate([self._patches, np.empty_like(self._patches)])
            self._boxes = np.concatenate([self._boxes, np.empty_like(self._boxes)])
        self._patches[self._n], self._boxes[self._n] = patch, box
        self._n += 1


def _normalised(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return pixels as a vector of mean 0 and length 1; all zeros where there is no contrast."""
    vector = pixels.astype(np.float32).ravel()
    vector -= vector.mean()
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector
