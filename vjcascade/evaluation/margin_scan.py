"""One scan of a picture that tells what a detector would return at many settings of the same cascade.

The first stages stay as they are. Of every window that passes them, the sums of all later stages are kept, also behind
one that rejects it. What a cascade with fewer of these stages, or with other thresholds of them, accepts is then a
comparison of numbers; so is what smaller or larger bounds on the object's size leave. Grouping is done anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.checks import checked_whole
from vjcascade.detection.checks import check_bounds, checked_neighbors, checked_size
from vjcascade.detection.detector import clipped
from vjcascade.detection.grouping import large_classes, window_classes
from vjcascade.detection.scales import Level, scan_levels
from vjcascade.detection.scanner import RawWindows, Scanner
from vjcascade.errors import SettingsError
from vjcascade.imaging import resize_exact, to_gray
from vjcascade.messages import pluralize
from vjcascade.parallel import checked_threads, ordered_map
from vjcascade.types import Detections, Size

MAX_WINDOWS = 1_000_000
"""Windows of a picture that are kept: 28 bytes for each, and 8 for each of its sums."""


@dataclass(frozen=True, eq=False)
class MarginScan:
    """Windows of a picture that pass a cascade's first stages, with their sums in all later stages.

    Attributes
    ----------
    cascade : Cascade
        The whole model.
    n_fixed : int
        Its first stages, which all windows here pass.
    size : Size
        Of the picture.
    scale_factor : float
        Ratio of neighbouring scales.
    levels : tuple of Level
        All that the picture has, with every row.
    level_numbers : ndarray of shape (n,), dtype int32
        The level of each window.
    rows : ndarray of shape (n,), dtype int32
        `y` of each window in level pixels.
    boxes : ndarray of shape (n, 4), dtype int32
        In picture pixels, in the order level, row, column.
    sums : ndarray of shape (n, n_stages - n_fixed + 1), dtype float64
        Sum of leaf values of each stage, from the last fixed one on.
    """

    cascade: Cascade
    n_fixed: int
    size: Size
    scale_factor: float
    levels: tuple[Level, ...]
    level_numbers: NDArray[np.int32]
    rows: NDArray[np.int32]
    boxes: NDArray[np.int32]
    sums: NDArray[np.float64]
    _row_ends: dict[tuple[Size | None, Size | None], NDArray[np.int64]] = field(
        init=False, repr=False, default_factory=dict
    )

    def __len__(self) -> int:
        return len(self.boxes)

    @property
    def margins(self) -> NDArray[np.float64]:
        """Sums minus the thresholds of their stages, in the shape of `sums`."""
        margins: NDArray[np.float64] = self.sums - self.cascade.effective_thresholds[self.n_fixed - 1 :]
        return margins

    @property
    def stages(self) -> NDArray[np.int32]:
        """Stages of the whole model that each window passes, shape (n,)."""
        fails = self.margins[:, 1:] < 0
        first = np.where(fails.any(axis=1), fails.argmax(axis=1), fails.shape[1])
        stages: NDArray[np.int32] = (self.n_fixed + first).astype(np.int32)
        return stages

    def accepted(
        self,
        changed: Cascade,
        min_size: tuple[int, int] | None = None,
        max_size: tuple[int, int] | None = None,
    ) -> NDArray[np.intp]:
        """Tell which windows a changed model accepts.

        Parameters
        ----------
        changed : Cascade
            The whole model after `Cascade.first_stages` and `Cascade.with_shifted_thresholds`; the fixed stages are
            as they were.
        min_size, max_size : tuple of int, optional
            Bounds on the object, as for `Detector`.

        Returns
        -------
        ndarray of shape (n,), dtype intp
            Their indices.

        Raises
        ------
        SettingsError
            If it is another model, its fixed stages differ, or a bound is out of range.
        """
        self._check(changed)
        least, most = checked_size("min_size", min_size), checked_size("max_size", max_size)
        check_bounds(least, most)
        thresholds = changed.effective_thresholds[self.n_fixed :].astype(np.float64)
        passes = (self.sums[:, 1 : 1 + len(thresholds)] >= thresholds).all(axis=1)
        return np.flatnonzero(passes & (self.rows < self._ends_within(least, most)[self.level_numbers]))

    def raw_windows(
        self,
        changed: Cascade,
        min_size: tuple[int, int] | None = None,
        max_size: tuple[int, int] | None = None,
    ) -> Detections:
        """Return the windows that a changed model accepts.

        Parameters
        ----------
        changed : Cascade
            As for `accepted`.
        min_size, max_size : tuple of int, optional
            Bounds on the object, as for `Detector`.

        Returns
        -------
        Detections
            What a `Detector` returns with `min_neighbors` 0, but boxes may reach half a level pixel out of the picture.

        Raises
        ------
        SettingsError
            As `accepted`.
        """
        rows = self.accepted(changed, min_size, max_size)
        n = changed.n_stages
        margins = self.sums[rows, n - self.n_fixed] - float(changed.effective_thresholds[n - 1])
        return Detections(
            self.boxes[rows], margins, np.ones(len(rows), np.int32), np.full(len(rows), n, np.int32)
        )

    def detections(
        self,
        changed: Cascade,
        *,
        min_neighbors: int = 3,
        min_size: tuple[int, int] | None = None,
        max_size: tuple[int, int] | None = None,
    ) -> Detections:
        """Return exactly what a `Detector` of a changed model returns for the picture.

        Parameters
        ----------
        changed : Cascade
            The whole model after `Cascade.first_stages` and `Cascade.with_shifted_thresholds`; the fixed stages are
            as they were.
        min_neighbors : int, optional
            A detection needs more raw windows than this; 0 returns raw windows.
        min_size, max_size : tuple of int, optional
            Bounds on the object, as for `Detector`.

        Returns
        -------
        Detections
            In the detector's order.

        Raises
        ------
        SettingsError
            If it is another model, its fixed stages differ, or a setting is out of range.
        """
        (found,) = self.detections_by_neighbors(
            changed, [min_neighbors], min_size=min_size, max_size=max_size
        )
        return found

    def detections_by_neighbors(
        self,
        changed: Cascade,
        neighbors: Iterable[int],
        *,
        min_size: tuple[int, int] | None = None,
        max_size: tuple[int, int] | None = None,
    ) -> list[Detections]:
        """Return what `detections` returns for each of several `min_neighbors`; windows are compared only once.

        Parameters
        ----------
        changed : Cascade
            As for `detections`.
        neighbors : iterable of int
            Each a `min_neighbors`.
        min_size, max_size : tuple of int, optional
            As for `detections`.

        Returns
        -------
        list of Detections
            In this order.

        Raises
        ------
        SettingsError
            As `detections`.
        """
        checked = [checked_neighbors(one) for one in neighbors]
        raw = self.raw_windows(changed, min_size, max_size)
        classes = window_classes(raw) if any(checked) else raw
        return [clipped(large_classes(classes, one) if one else raw, self.size) for one in checked]

    def _check(self, changed: Cascade) -> None:
        n, whole = changed.n_stages, self.cascade
        checked_whole("stages", n, ge=self.n_fixed, le=whole.n_stages, hint="those before were not kept")
        is_part = np.array_equal(changed.leaves, whole.leaves[: len(changed.leaves)]) and np.array_equal(
            changed.stage_starts, whole.stage_starts[: n + 1]
        )
        fixed = slice(self.n_fixed)
        if not is_part or not np.array_equal(changed.stage_thresholds[fixed], whole.stage_thresholds[fixed]):
            raise SettingsError(
                f"this is not the scanned model with other thresholds after stage {self.n_fixed}; scan with "
                "this model, or with fewer fixed stages"
            )

    def _ends_within(self, least: Size | None, most: Size | None) -> NDArray[np.int64]:
        """Return up to which row a detector with these bounds visits each level; 0 for levels that it leaves out."""
        known = self._row_ends.get((least, most))
        if known is not None:
            return known
        ends = np.zeros(max(len(self.levels), 1), np.int64)
        kept = scan_levels(self.size, self.cascade.window, self.scale_factor, least, most)
        if kept:
            first = [level.scale for level in self.levels].index(kept[0].scale)
            ends[first : first + len(kept)] = [level.rows[-1] + 1 if level.rows else 0 for level in kept]
        self._row_ends[least, most] = ends
        return ends


def scan_margins(
    image: NDArray[Any],
    cascade: Cascade,
    n_fixed: int,
    *,
    scale_factor: float = 1.1,
    max_windows: int = MAX_WINDOWS,
    n_threads: int | None = None,
) -> MarginScan:
    """Scan a picture with a cascade's first stages, and keep the sums of all later ones.

    Parameters
    ----------
    image : ndarray
        As for `Detector.detect`.
    cascade : Cascade
        The whole model.
    n_fixed : int
        The stages that all settings to try have in common, from 1 (the first one decides which windows OpenCV
        skips) to all. With each stage fewer, about twice as many windows are kept.
    scale_factor : float, optional
        Ratio of neighbouring scales, > 1.
    max_windows : int, optional
        Maximum number of windows to keep; a picture with more is refused.
    n_threads : int, optional
        All processors if not given. Results do not depend on it.

    Returns
    -------
    MarginScan
        Of this picture.

    Raises
    ------
    SettingsError
        If a setting is out of range, or more than `max_windows` windows pass the fixed stages.
    ValueError or TypeError
        If `image` is not a picture.

    Examples
    --------
    >>> import vjcascade
    >>> faces = Cascade.load(vjcascade.compat.data.find("frontalface"))
    >>> picture = np.random.default_rng(1).integers(0, 256, (60, 60), np.uint8)
    >>> scan = scan_margins(picture, faces, 8)
    >>> len(scan.detections(faces.first_stages(10).with_shifted_thresholds(-0.5, 2)))
    0
    """
    n_fixed = checked_whole("fixed stages", n_fixed, ge=1, le=cascade.n_stages, hint="the model has no more")
    gray = to_gray(image)
    size = Size(gray.shape[1], gray.shape[0])
    levels = tuple(_all_rows(level) for level in scan_levels(size, cascade.window, scale_factor))
    loose, whole = Scanner(cascade.first_stages(n_fixed)), Scanner(cascade)

    def scan(level: Level) -> tuple[RawWindows, NDArray[np.float64]]:
        integrals = whole.integrals(resize_exact(gray, level.size), level.step)
        found = loose.scan_rows(integrals, level.rows, skip=True)
        _refuse_many(len(found), n_fixed, max_windows)
        return found, whole.stage_sums(integrals, found.positions, n_fixed)

    numbers, rows, boxes, sums, n_kept = [], [], [np.empty((0, 4), np.int32)], [], 0
    for number, (found, later) in enumerate(ordered_map(scan, levels, checked_threads(n_threads))):
        n_kept += len(found)
        _refuse_many(n_kept, n_fixed, max_windows)
        numbers.append(np.full(len(found), number, np.int32))
        rows.append(found.positions[:, 1])
        boxes.append(levels[number].boxes(found.positions))
        sums.append(np.column_stack([found.sums, later]))
    return MarginScan(
        cascade,
        n_fixed,
        size,
        float(scale_factor),
        levels,
        np.concatenate([np.empty(0, np.int32), *numbers]),
        np.concatenate([np.empty(0, np.int32), *rows]),
        np.concatenate(boxes),
        np.concatenate([np.empty((0, cascade.n_stages - n_fixed + 1)), *sums]),
    )


def _all_rows(level: Level) -> Level:
    """Return a level with every row that any bounds on the object make OpenCV visit."""
    return level._replace(rows=range(0, level.size.height - level.window.height + 1, level.step))


def _refuse_many(n_windows: int, n_fixed: int, max_windows: int) -> None:
    if n_windows > max_windows:
        raise SettingsError(
            f"more than {pluralize(max_windows, 'window')} of the picture pass the first "
            f"{pluralize(n_fixed, 'stage')}: fix more stages, or raise max_windows"
        )
