"""Dense detection: every window is scanned, and every box keeps the given bounds.

A picture is turned upright for each angle, and scanned by one pyramid for all cascades; boxes are mapped back, and
those outside of the picture or the mask are dropped. What is left is grouped, all angles together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.checks import checked_choice, checked_flag, checked_number, checked_whole
from vjcascade.detection.checks import (
    check_bounds,
    checked_angles,
    checked_cascades,
    checked_mask,
    checked_neighbors,
    checked_region,
    checked_size,
    only,
)
from vjcascade.detection.grouping import Grouping, Tell, group_in_bounds, suppress_overlaps
from vjcascade.detection.pyramid import Plan, raw_detections, scan_pyramid
from vjcascade.detection.rotation import Rotation
from vjcascade.detection.scales import Level, check_scale_factor, dense_levels, row_array
from vjcascade.detection.scanner import Scanner
from vjcascade.imaging import resize_crop, resize_exact, to_gray
from vjcascade.parallel import checked_threads
from vjcascade.types import Detections, Size


@dataclass(frozen=True, eq=False)
class DenseDetector:
    """One or more cascades with their settings for dense detection; safe to share between threads.

    Every window is scanned. (OpenCV skips windows to the right of one that the first stage rejects, loses last rows,
    and at scales below 2 scans only every fourth window.) That takes about 1.7 times as long, and small objects get
    up to four times as many windows, as do small false alarms: if these get too many, choose a larger `min_neighbors`.
    Every box lies inside the picture, and between `min_size` and `max_size`. Settings that `Detector` has, too, come
    first, by the same names and in the same order.

    Attributes
    ----------
    cascades : Cascade or sequence of Cascade
        What to look for; a tuple once the detector is made. Several cascades share level images and integral images;
        see `detect_each`.
    scale_factor : float
        Ratio of neighbouring scales, > 1.
    min_neighbors : int
        A detection needs more raw windows than this; 0 keeps groups of one. Not for raw windows.
    min_size, max_size : Size or tuple of int or None
        Bounds on the width and height of the boxes in pixels. Nothing is found if no scale lies between them.
    min_ranking_score : float
        A detection's ranking score is at least this; 0 keeps all. OpenCV has no such bound.
    stride : int
        Distance of windows in both directions, in level pixels, at every scale.
    antialias : bool
        Whether levels are downsampled by area averaging, which avoids aliasing, as
        training crops are. If not, bilinearly, as OpenCV does.
    group : Grouping or str
        "average", "weighted", "nms" or "none".
    overlap : float
        With "nms", the largest intersection over union of two detections, in [0, 1].
    angles : sequence of float
        Rotations of objects in degrees counter-clockwise; the picture is rotated back by each of them. The
        boxes of rotated windows are upright, around the same centre.
    near_misses : int
        Also count windows that only the last N stages reject; their scores are negative, and `stages` is smaller.
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
    >>> detector = DenseDetector(Cascade(Size(24, 24)), group="none", min_size=(26, 26), max_size=(40, 40))
    >>> picture = np.random.default_rng(1).integers(0, 256, (28, 29), np.uint8)
    >>> detector.detect(picture).boxes.tolist()
    [[0, 0, 26, 26], [1, 0, 26, 26], [2, 0, 26, 26], [0, 1, 26, 26], [1, 1, 26, 26], [2, 1, 26, 26]]
    """

    cascades: Cascade | Sequence[Cascade]
    _: KW_ONLY
    scale_factor: float = 1.1
    min_neighbors: int = 3
    min_size: tuple[int, int] | None = None
    max_size: tuple[int, int] | None = None
    min_ranking_score: float = 0.0
    stride: int = 1
    antialias: bool = False
    group: str = Grouping.AVERAGE
    overlap: float = 0.3
    angles: Sequence[float] = (0.0,)
    near_misses: int = 0
    n_threads: int | None = None
    scanners: tuple[Scanner, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_scale_factor(self.scale_factor)
        checked_number("overlap", self.overlap, ge=0, le=1, hint="0.3, for example, is usual")
        cascades = checked_cascades(self.cascades)
        checked: dict[str, Any] = {
            "cascades": cascades,
            "scale_factor": float(self.scale_factor),
            "min_neighbors": checked_neighbors(self.min_neighbors),
            "min_size": checked_size("min_size", self.min_size),
            "max_size": checked_size("max_size", self.max_size),
            "min_ranking_score": checked_number("min_ranking_score", self.min_ranking_score, ge=0, lt=np.inf),
            "stride": checked_whole("stride", self.stride, ge=1, hint="1 looks at every window"),
            "antialias": checked_flag("antialias", self.antialias),
            "group": checked_choice("grouping", self.group, Grouping),
            "angles": checked_angles(self.angles),
            "near_misses": checked_whole("near_misses", self.near_misses, hint="0 asks for all stages"),
            "n_threads": checked_threads(self.n_threads),
            "scanners": tuple(Scanner(cascade) for cascade in cascades),
        }
        check_bounds(checked["min_size"], checked["max_size"])
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def detect(
        self,
        image: NDArray[Any],
        *,
        region: Sequence[int] | None = None,
        mask: NDArray[Any] | None = None,
        progress: Tell | None = None,
    ) -> Detections:
        """Find the object in a picture.

        Parameters
        ----------
        image : ndarray
            Grey (h, w), RGB (h, w, 3) or RGBA (h, w, 4); see `vjcascade.imaging.to_gray` for the dtypes.
        region : sequence of int, optional
            `x, y, w, h` in pixels: search only there, as if it were the picture; boxes are still in pixels of the whole
            picture. Parts beyond the picture are cut off.
        mask : ndarray of shape (h, w), dtype bool or uint8, optional
            For each pixel of the picture whether (not 0) windows may have their centre there. Pixel rows without any
            save time, except with rotations.
        progress : callable, optional
            `progress(done, total)` is called now and then while windows are grouped: millions take a while.

        Returns
        -------
        Detections
            Groups best first: most stages, then largest score, then first window. Raw windows in the order angle,
            scale, row, column.

        Raises
        ------
        ValueError or TypeError
            If `image` is not a picture.
        SettingsError
            If `region` does not touch the picture, `mask` has another shape, or the detector has several cascades.
        """
        only(self.scanners)
        return only(self.detect_each(image, region=region, mask=mask, progress=progress))

    def detect_each(
        self,
        image: NDArray[Any],
        *,
        region: Sequence[int] | None = None,
        mask: NDArray[Any] | None = None,
        progress: Tell | None = None,
    ) -> list[Detections]:
        """Find what each cascade looks for, over one pyramid.

        Parameters
        ----------
        image : ndarray
            As for `detect`.
        region : sequence of int, optional
            As for `detect`.
        mask : ndarray of shape (h, w), dtype bool or uint8, optional
            As for `detect`.
        progress : callable, optional
            As for `detect`; called for one cascade after the other.

        Returns
        -------
        list of Detections
            What a detector of its own would find with each cascade, in the order of the cascades.

        Raises
        ------
        ValueError or TypeError
            As `detect`.
        """
        each = self.raw_windows(image, region=region, mask=mask)
        return [self.grouped(raw, progress=progress) for raw in each]

    def raw_windows(
        self, image: NDArray[Any], *, region: Sequence[int] | None = None, mask: NDArray[Any] | None = None
    ) -> list[Detections]:
        """Find the raw windows of each cascade.

        Parameters
        ----------
        image : ndarray
            As for `detect`.
        region : sequence of int, optional
            As for `detect`.
        mask : ndarray of shape (h, w), dtype bool or uint8, optional
            As for `detect`.

        Returns
        -------
        list of Detections
            For `grouped`; in the order angle, scale, row, column.

        Raises
        ------
        ValueError or TypeError
            As `detect`.
        """
        gray = to_gray(image)
        size = Size(gray.shape[1], gray.shape[0])
        allowed = checked_mask(mask, size)
        x, y, width, height = checked_region(region, size)
        crop = gray[y : y + height, x : x + width]
        allowed_rows: NDArray[np.bool_] | None = None
        if allowed is not None:
            allowed_rows = np.any(allowed[y : y + height, x : x + width], axis=1)
        by_angle = [self._turned_windows(crop, angle, allowed_rows) for angle in self.angles]
        each = [Detections.joined(parts) for parts in zip(*by_angle, strict=True)]
        return [_allowed(_moved(raw, x, y), allowed) for raw in each]

    def grouped(self, raw: Detections, n_pictures: int = 1, progress: Tell | None = None) -> Detections:
        """Group raw windows as the settings say.

        Parameters
        ----------
        raw : Detections
            Raw windows of one cascade.
        n_pictures : int, optional
            Number of pictures of one scene that they come from: a detection needs as many times `min_neighbors`, and as
            many times `min_ranking_score`.
        progress : callable, optional
            As for `detect`.

        Returns
        -------
        Detections
            Best first; raw windows as they are.
        """
        min_neighbors = self.min_neighbors * n_pictures
        found = raw
        if self.group == Grouping.NMS:
            found = suppress_overlaps(raw, self.overlap, min_neighbors, progress)
        elif self.group != Grouping.NONE:
            weighted = self.group == Grouping.WEIGHTED
            found = group_in_bounds(raw, min_neighbors, weighted=weighted, progress=progress)
        return found.select(found.ranking_scores >= self.min_ranking_score * n_pictures)

    def _turned_windows(
        self, gray: NDArray[np.uint8], angle: float, allowed_rows: NDArray[np.bool_] | None
    ) -> list[Detections]:
        """Return the raw windows of each cascade for objects turned by an angle.

        Of a picture that is not turned, rows of windows are left out whose centres lie in no allowed row of pixels.
        """
        rotation = Rotation(Size(gray.shape[1], gray.shape[0]), angle)
        if not rotation.is_none:
            allowed_rows = None
        plans = [self._plan(scanner, rotation, allowed_rows) for scanner in self.scanners]
        each = scan_pyramid(
            rotation.upright(gray),
            plans,
            resize=resize_crop if self.antialias else resize_exact,
            n_threads=checked_threads(self.n_threads),
        )
        raw = (raw_detections(plan, raw) for plan, raw in zip(plans, each, strict=True))
        return [_upright_windows(windows, rotation) for windows in raw]

    def _plan(self, scanner: Scanner, rotation: Rotation, allowed_rows: NDArray[np.bool_] | None) -> Plan:
        """Return the levels of the turned picture with boxes that keep the bounds and fit, and with rows to scan."""
        least, most = Size(*self.min_size or (1, 1)), Size(*self.max_size or rotation.size)
        most = Size(min(most.width, rotation.size.width), min(most.height, rotation.size.height))
        if rotation.is_sideways:
            least, most = Size(*least[::-1]), Size(*most[::-1])
        window, n_stages = scanner.cascade.window, scanner.cascade.n_stages
        levels = dense_levels(rotation.canvas, window, self.scale_factor, self.stride, (least, most))
        if allowed_rows is not None:
            levels = [_masked(level, rotation.canvas, allowed_rows) for level in levels]
        min_stages = max(n_stages - self.near_misses, 0) if self.near_misses else None
        return Plan(scanner, [level for level in levels if len(level.rows)], min_stages=min_stages)


def detect_dense(  # noqa: PLR0913  the settings of `DenseDetector`
    image: NDArray[Any],
    cascade: Cascade,
    *,
    scale_factor: float = 1.1,
    min_neighbors: int = 3,
    min_size: tuple[int, int] | None = None,
    max_size: tuple[int, int] | None = None,
    min_ranking_score: float = 0.0,
    stride: int = 1,
    antialias: bool = False,
    group: str = Grouping.AVERAGE,
    overlap: float = 0.3,
    angles: Sequence[float] = (0.0,),
    near_misses: int = 0,
    n_threads: int | None = None,
    region: Sequence[int] | None = None,
    mask: NDArray[Any] | None = None,
) -> Detections:
    """Find the object in one picture by dense detection; for many pictures or cascades, keep a `DenseDetector`.

    Parameters
    ----------
    image : ndarray
        Grey (h, w), RGB (h, w, 3) or RGBA (h, w, 4); see `vjcascade.imaging.to_gray` for the dtypes.
    cascade : Cascade
        What to look for.
    scale_factor, min_neighbors, min_size, max_size, min_ranking_score : optional
        As for `detect`, except that nothing is found if no scale lies between `min_size` and `max_size`.
    stride, antialias, group, overlap, angles, near_misses : optional
        As of `DenseDetector`.
    n_threads : int, optional
        All processors if not given. Results do not depend on it.
    region : sequence of int, optional
        `x, y, w, h` in pixels: search only there.
    mask : ndarray of shape (h, w), dtype bool or uint8, optional
        Whether windows may have their centre at each pixel of the picture.

    Returns
    -------
    Detections
        See `DenseDetector.detect`.

    Raises
    ------
    SettingsError
        If a setting is out of range.
    ValueError or TypeError
        If `image` is not a picture.

    Examples
    --------
    >>> picture = np.random.default_rng(1).integers(0, 256, (24, 25), np.uint8)
    >>> detect_dense(picture, Cascade(Size(24, 24)), min_neighbors=1).neighbors.tolist()
    [2]
    """
    detector = DenseDetector(
        cascade,
        scale_factor=scale_factor,
        min_neighbors=min_neighbors,
        min_size=min_size,
        max_size=max_size,
        min_ranking_score=min_ranking_score,
        stride=stride,
        antialias=antialias,
        group=group,
        overlap=overlap,
        angles=angles,
        near_misses=near_misses,
        n_threads=n_threads,
    )
    return detector.detect(image, region=region, mask=mask)


def _masked(level: Level, canvas: Size, allowed_rows: NDArray[np.bool_]) -> Level:
    """Leave out rows of windows whose centres lie in no allowed row of pixels, shape (height,)."""
    rows = row_array(level.rows)
    boxes = level.boxes(np.column_stack([np.zeros_like(rows), rows]).astype(np.int32))
    return level._replace(rows=rows[allowed_rows[_centres(_inside(boxes, canvas))[1]]])


def _inside(boxes: NDArray[np.int32], canvas: Size) -> NDArray[np.int32]:
    """Move boxes back that rounding has moved out."""
    room = np.array(canvas) - boxes[:, 2:]
    return np.concatenate([np.clip(boxes[:, :2], 0, room).astype(np.int32), boxes[:, 2:]], axis=1)


def _centres(boxes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the pixels, x and y of shape (2, n), in which the centres of boxes lie."""
    centres: NDArray[np.int32] = (boxes[:, :2] + boxes[:, 2:] // 2).T
    return centres


def _upright_windows(raw: Detections, rotation: Rotation) -> Detections:
    """Map windows of a turned picture back; drop those whose boxes do not lie in the picture."""
    inside = _inside(raw.boxes, rotation.canvas)
    if rotation.is_none:
        return replace(raw, boxes=inside, angles=np.full(len(raw), rotation.angle))
    boxes = rotation.to_picture(inside)
    beyond = rotation.size - boxes[:, :2] - boxes[:, 2:]
    kept = np.minimum(boxes[:, :2], beyond).min(axis=1) >= 0
    return replace(raw, boxes=boxes, angles=np.full(len(raw), rotation.angle)).select(kept)


def _moved(raw: Detections, x: int, y: int) -> Detections:
    return replace(raw, boxes=raw.boxes + np.array([x, y, 0, 0], np.int32))


def _allowed(raw: Detections, mask: NDArray[np.bool_] | None) -> Detections:
    """Keep windows whose centre lies on a mask."""
    if mask is None:
        return raw
    x, y = _centres(raw.boxes)
    return raw.select(mask[y, x])
