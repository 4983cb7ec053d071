"""Detection as OpenCV does it: the same levels, windows, boxes and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.checks import checked_number
from vjcascade.detection.checks import check_bounds, checked_cascades, checked_neighbors, checked_size, only
from vjcascade.detection.frames import PreviousFrame
from vjcascade.detection.grouping import Tell, group_windows
from vjcascade.detection.pyramid import Plan, raw_detections, scan_pyramid
from vjcascade.detection.scales import Level, check_scale_factor, scan_levels
from vjcascade.detection.scanner import Scanner
from vjcascade.imaging import to_gray
from vjcascade.parallel import checked_threads
from vjcascade.types import Detections, Size


class DetectorSettings(TypedDict, total=False):
    """The settings of `Detector` as keyword arguments, so that editors complete and check them."""

    scale_factor: float
    min_neighbors: int
    min_size: tuple[int, int] | None
    max_size: tuple[int, int] | None
    min_ranking_score: float
    n_threads: int | None


@dataclass(frozen=True, eq=False)
class Detector:
    """One or more cascades with their settings, ready for any number of pictures; safe to share between threads.

    Accepts exactly the windows that `cv2.CascadeClassifier.detectMultiScale` of OpenCV 4.14 accepts.

    Attributes
    ----------
    cascades : Cascade or sequence of Cascade
        What to look for; a tuple once the detector is made. Several cascades share level images and integral images;
        see `detect_each`.
    scale_factor : float
        Ratio of neighbouring scales, > 1.
    min_neighbors : int
        A detection needs more raw windows than this (as in OpenCV, 3 asks for four); 0 returns raw windows.
    min_size, max_size : Size or tuple of int or None
        Bounds on the width and height of the object in pixels. Objects have the shape of the model's window, and
        both of their sides must be in bounds: with a window of 100x40, the smallest objects of at least (60, 60) are
        150x60; give (60, 24) for those that are 60 wide. As in OpenCV, where no scale lies between the bounds, the
        one nearest to `min_size` is still scanned.
    min_ranking_score : float
        A detection's ranking score is at least this; 0 keeps all. OpenCV has no such bound.
    n_threads : int or None
        All processors if not given. Results do not depend on it.
    scanners : tuple of Scanner
        Made from the cascades; not an argument of the constructor.

    Raises
    ------
    SettingsError
        If a setting is out of range, or `min_size` larger than `max_size`.

    Examples
    --------
    >>> detector = Detector(Cascade(Size(24, 24)), min_neighbors=0)
    >>> picture = np.random.default_rng(1).integers(0, 256, (24, 24), np.uint8)
    >>> detector.detect(picture).boxes.tolist()
    [[0, 0, 24, 24]]
    """

    cascades: Cascade | Sequence[Cascade]
    _: KW_ONLY
    scale_factor: float = 1.1
    min_neighbors: int = 3
    min_size: tuple[int, int] | None = None
    max_size: tuple[int, int] | None = None
    min_ranking_score: float = 0.0
    n_threads: int | None = None
    scanners: tuple[Scanner, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_scale_factor(self.scale_factor)
        cascades = checked_cascades(self.cascades)
        checked: dict[str, Any] = {
            "cascades": cascades,
            "scale_factor": float(self.scale_factor),
            "min_neighbors": checked_neighbors(self.min_neighbors),
            "min_size": checked_size("min_size", self.min_size),
            "max_size": checked_size("max_size", self.max_size),
            "min_ranking_score": checked_number("min_ranking_score", self.min_ranking_score, ge=0, lt=np.inf),
            "n_threads": checked_threads(self.n_threads),
            "scanners": tuple(Scanner(cascade) for cascade in cascades),
        }
        # OpenCV would find nothing, or what is outside of both.
        check_bounds(checked["min_size"], checked["max_size"])
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def detect(
        self, image: NDArray[Any], *, progress: Tell | None = None, previous: PreviousFrame | None = None
    ) -> Detections:
        """Find the object in a picture.

        Parameters
        ----------
        image : ndarray
            Grey (h, w), RGB (h, w, 3) or RGBA (h, w, 4); see `vjcascade.imaging.to_gray` for the dtypes.
        progress : callable, optional
            `progress(done, total)` is called now and then while windows are grouped: millions take a while.
        previous : PreviousFrame, optional
            For the frames of a video, one for all of them: what has not changed since the frame before is not searched
            again. The detections are the same.

        Returns
        -------
        Detections
            Raw windows in the order scale, row, column; groups in the order of their first windows. Empty
            if the picture is smaller than the cascade's window.

        Raises
        ------
        ValueError or TypeError
            If `image` is not a picture.
        SettingsError
            If the detector has several cascades.
        """
        only(self.scanners)
        return only(self.detect_each(image, progress=progress, previous=previous))

    def detect_each(
        self, image: NDArray[Any], *, progress: Tell | None = None, previous: PreviousFrame | None = None
    ) -> list[Detections]:
        """Find what each cascade looks for, over one pyramid.

        Parameters
        ----------
        image : ndarray
            As for `detect`.
        progress : callable, optional
            As for `detect`; called for one cascade after the other.
        previous : PreviousFrame, optional
            As for `detect`.

        Returns
        -------
        list of Detections
            What a detector of its own would find with each cascade, in the order of the cascades.

        Raises
        ------
        ValueError or TypeError
            If `image` is not a picture.
        """
        gray = to_gray(image)
        size = Size(gray.shape[1], gray.shape[0])
        plans = [Plan(scanner, self._levels(scanner, size), skip=True) for scanner in self.scanners]
        if previous is not None:
            previous.start(self, size)
        each = scan_pyramid(gray, plans, n_threads=checked_threads(self.n_threads), previous=previous)
        raw = (raw_detections(plan, raw) for plan, raw in zip(plans, each, strict=True))
        each_grouped = (group_windows(windows, self.min_neighbors, progress=progress) for windows in raw)
        found = (clipped(groups, size) for groups in each_grouped)
        return [groups.select(groups.ranking_scores >= self.min_ranking_score) for groups in found]

    def _levels(self, scanner: Scanner, size: Size) -> list[Level]:
        window = scanner.cascade.window
        bounds = (Size(*bound) if bound else None for bound in (self.min_size, self.max_size))
        return scan_levels(size, window, self.scale_factor, *bounds)


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
    plan = Plan(scanner, levels, skip=True)
    raw = only(scan_pyramid(gray, [plan], n_threads=n_threads))
    return raw_detections(plan, raw).boxes, np.concatenate([np.empty(0), *(found.sums for found in raw)])


def detect(  # noqa: PLR0913  the settings of `Detector`
    image: NDArray[Any],
    cascade: Cascade,
    *,
    scale_factor: float = 1.1,
    min_neighbors: int = 3,
    min_size: tuple[int, int] | None = None,
    max_size: tuple[int, int] | None = None,
    min_ranking_score: float = 0.0,
    n_threads: int | None = None,
) -> Detections:
    """Find the object in one picture; for many pictures or cascades, keep a `Detector`.

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
        Bounds on the width and height of the object in pixels, both of which count: see `Detector`.
    min_ranking_score : float, optional
        A detection's ranking score is at least this; 0 keeps all.
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
        If `image` is not a picture.

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
        min_ranking_score=min_ranking_score,
        n_threads=n_threads,
    )
    return detector.detect(image)


def clipped(detections: Detections, size: Size) -> Detections:
    """Cut boxes to the picture and drop those that lie outside."""
    corners = np.clip(_corners(detections.boxes), 0, [*size, *size])
    sides = corners[:, 2:] - corners[:, :2]
    kept = sides.min(axis=1) > 0
    boxes = np.concatenate([corners[:, :2], sides], axis=1).astype(np.int32)
    return replace(detections, boxes=boxes).select(kept)


def _corners(boxes: NDArray[np.int32]) -> NDArray[np.int64]:
    wide = boxes.astype(np.int64)
    return np.concatenate([wide[:, :2], wide[:, :2] + wide[:, 2:]], axis=1)
