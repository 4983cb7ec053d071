"""Find objects in whole pictures: scales, scan, boxes, groups."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.grouping import group_windows
from vjcascade.detection.scales import Level, check_scale_factor, scaled_size, scan_levels
from vjcascade.detection.scanner import Hits, Scanner
from vjcascade.errors import SettingsError
from vjcascade.imaging import resize_exact, to_gray
from vjcascade.parallel import checked_threads, ordered_map
from vjcascade.types import Detections, Size


class Detector:
    """A cascade with its settings, ready for any number of pictures; safe to share between threads.

    Accepts exactly the windows that `cv2.CascadeClassifier.detectMultiScale` of OpenCV 4.14 accepts.

    Parameters
    ----------
    cascade : Cascade
        What to look for.
    scale_factor : float, optional
        Ratio of neighbouring scales, > 1.
    min_neighbors : int, optional
        A detection needs more raw windows than this (as in OpenCV, 3 asks for four); 0 returns raw windows.
    min_size, max_size : Size or tuple of int, optional
        Bounds on the width and height of the object in pixels. As in OpenCV, where no scale lies between
        them, the one nearest to `min_size` is scanned all the same.
    n_threads : int, optional
        All processors if not given. Results do not depend on it.

    Raises
    ------
    SettingsError
        If a setting is out of range.

    Examples
    --------
    >>> detector = Detector(Cascade(Size(24, 24)), min_neighbors=0)
    >>> picture = np.random.default_rng(1).integers(0, 256, (24, 24), np.uint8)
    >>> detector.detect(picture).boxes.tolist()
    [[0, 0, 24, 24]]
    """

    def __init__(
        self,
        cascade: Cascade,
        *,
        scale_factor: float = 1.1,
        min_neighbors: int = 3,
        min_size: Size | tuple[int, int] | None = None,
        max_size: Size | tuple[int, int] | None = None,
        n_threads: int | None = None,
    ) -> None:
        check_scale_factor(scale_factor)
        self.scanner = Scanner(cascade)
        self.scale_factor = float(scale_factor)
        self.min_neighbors = _checked_neighbors(min_neighbors)
        self.min_size = _checked_size("min_size", min_size)
        self.max_size = _checked_size("max_size", max_size)
        self.n_threads = checked_threads(n_threads)

    def detect(self, image: NDArray[Any]) -> Detections:
        """Find the object in a picture.

        Parameters
        ----------
        image : ndarray
            Grey (h, w), RGB (h, w, 3) or RGBA (h, w, 4); see `vjcascade.imaging.to_gray` for the dtypes.

        Returns
        -------
        Detections
            Raw windows in the order scale, row, column; groups in the order of their first windows. Empty
            if the picture is smaller than the cascade's window.

        Raises
        ------
        ValueError or TypeError
            If `image` is no picture.
        """
        gray = to_gray(image)
        size = Size(gray.shape[1], gray.shape[0])
        window = self.scanner.cascade.window
        levels = scan_levels(size, window, self.scale_factor, self.min_size, self.max_size)
        boxes, sums = raw_windows(self.scanner, gray, levels, self.n_threads)
        cascade = self.scanner.cascade
        bar = float(cascade.effective_thresholds[-1]) if cascade.n_stages else 0.0
        raw = Detections(boxes, sums - bar, np.ones(len(sums), np.int32))
        return clipped(group_windows(raw, self.min_neighbors), size)


def raw_windows(
    scanner: Scanner, gray: NDArray[np.uint8], levels: Sequence[Level], n_threads: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Scan the levels of a picture as OpenCV does.

    Parameters
    ----------
    scanner : Scanner
        Made for the cascade.
    gray : ndarray of shape (h, w), dtype uint8
        The picture.
    levels : sequence of Level
        From `scan_levels` for this picture and the cascade's window.
    n_threads : int
        Results do not depend on it.

    Returns
    -------
    boxes : ndarray of shape (n, 4), dtype int32
        In picture pixels, in the order scale, row, column; rounding may take them a pixel out of the picture.
    sums : ndarray of shape (n,), dtype float64
        The last stage's sum of leaf values; OpenCV's level weight.
    """

    def scan(level: Level) -> Hits:
        return scanner.scan_opencv(
            scanner.integrals(resize_exact(gray, level.size)), level.step, level.n_stripes
        )

    hits = list(ordered_map(scan, levels, n_threads))
    boxes = [_boxes(found, level, scanner.cascade.window) for found, level in zip(hits, levels, strict=True)]
    return (
        np.concatenate([np.empty((0, 4), np.int32), *boxes]),
        np.concatenate([np.empty(0), *(found.sums for found in hits)]),
    )


def detect(
    image: NDArray[Any],
    cascade: Cascade,
    *,
    scale_factor: float = 1.1,
    min_neighbors: int = 3,
    min_size: Size | tuple[int, int] | None = None,
    max_size: Size | tuple[int, int] | None = None,
    n_threads: int | None = None,
) -> Detections:
    """Find the object in one picture; for many pictures, keep a `Detector`.

    Parameters
    ----------
    image : ndarray
        Grey (h, w), RGB (h, w, 3) or RGBA (h, w, 4); see `vjcascade.imaging.to_gray` for the dtypes.
    cascade : Cascade
        What to look for.
    scale_factor : float, optional
        Ratio of neighbouring scales, > 1.
    min_neighbors : int, optional
        A detection needs more raw windows than this; 0 returns raw windows.
    min_size, max_size : Size or tuple of int, optional
        Bounds on the width and height of the object in pixels.
    n_threads : int, optional
        All processors if not given. Results do not depend on it.

    Returns
    -------
    Detections
        Boxes inside the picture, with scores; see `Detector.detect` for their order.

    Raises
    ------
    SettingsError
        If a setting is out of range.
    ValueError or TypeError
        If `image` is no picture.

    Examples
    --------
    >>> picture = np.random.default_rng(1).integers(0, 256, (23, 40), np.uint8)
    >>> len(detect(picture, Cascade(Size(24, 24)), min_neighbors=0))
    0
    """
    detector = Detector(
        cascade,
        scale_factor=scale_factor,
        min_neighbors=min_neighbors,
        min_size=min_size,
        max_size=max_size,
        n_threads=n_threads,
    )
    return detector.detect(image)


def _checked_neighbors(min_neighbors: int) -> int:
    try:
        n = index(min_neighbors)
    except TypeError:  # a fraction, or no number
        n = -1
    if n < 0:
        raise SettingsError(
            f"min_neighbors {min_neighbors!r} must be a whole number, not negative; 0 asks for raw windows"
        )
    return n


def _checked_size(name: str, size: Size | tuple[int, int] | None) -> Size | None:
    if size is None:
        return None
    try:
        width, height = (index(side) for side in size)
    except (TypeError, ValueError):  # one number, fractions, or more than two
        width = height = 0
    if min(width, height) < 1:
        raise SettingsError(
            f"{name} {size!r} must be a width and a height in whole pixels above 0, for example (24, 24)"
        )
    return Size(width, height)


def _boxes(hits: Hits, level: Level, window: Size) -> NDArray[np.int32]:
    """Return windows in picture pixels: float32 products, rounded half to even."""
    boxes = np.empty((len(hits), 4), np.int32)
    boxes[:, :2] = np.rint(hits.positions.astype(np.float32) * level.scale)
    boxes[:, 2:] = scaled_size(window, level.scale)
    return boxes


def clipped(detections: Detections, size: Size) -> Detections:
    """Cut boxes to the picture and drop those that lie outside."""
    corners = np.clip(_corners(detections.boxes), 0, [*size, *size])
    sides = corners[:, 2:] - corners[:, :2]
    kept = (sides > 0).all(axis=1)
    boxes = np.concatenate([corners[:, :2], sides], axis=1).astype(np.int32)
    return Detections(boxes[kept], detections.scores[kept], detections.neighbors[kept])


def _corners(boxes: NDArray[np.int32]) -> NDArray[np.int64]:
    wide = boxes.astype(np.int64)
    return np.concatenate([wide[:, :2], wide[:, :2] + wide[:, 2:]], axis=1)
