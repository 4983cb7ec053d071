"""Scan the pyramid of a picture: copies of it, smaller and smaller, in which a window stands for larger objects.

Several cascades share one pyramid: of each size and step of the scan, the level image and its integral images are made
once, whichever cascades need them. Levels are scanned in parallel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.scales import Level
from vjcascade.detection.scanner import LevelIntegrals, RawWindows, Scanner
from vjcascade.imaging import resize_exact
from vjcascade.parallel import ordered_map
from vjcascade.types import Detections, Size

Resize = Callable[[NDArray[np.uint8], Size], NDArray[np.uint8]]


class Plan(NamedTuple):
    """What one cascade is to look at.

    Attributes
    ----------
    scanner : Scanner
        Made for the cascade.
    levels : sequence of Level
        Of one picture, in any number.
    skip, min_stages : bool, int or None
        As for `Scanner.scan_rows`.
    """

    scanner: Scanner
    levels: Sequence[Level]
    skip: bool = False
    min_stages: int | None = None


def scan_pyramid(
    gray: NDArray[np.uint8],
    plans: Sequence[Plan],
    *,
    resize: Resize = resize_exact,
    n_threads: int,
) -> list[list[RawWindows]]:
    """Scan a picture with one or several cascades.

    Levels of the same size and step, whosever they are, share their level image and integral images.

    Parameters
    ----------
    gray : ndarray of shape (h, w), dtype uint8
        The picture.
    plans : sequence of Plan
        One for each cascade.
    resize : callable, optional
        Makes a level image from the picture.
    n_threads : int
        Results do not depend on it.

    Returns
    -------
    list of list of RawWindows
        What each cascade finds, one entry for each of its levels.
    """
    sharing: dict[tuple[Size, int], list[tuple[int, int]]] = defaultdict(list)
    for p, plan in enumerate(plans):
        for i, level in enumerate(plan.levels):
            sharing[level.size, level.step].append((p, i))

    def scan(job: tuple[tuple[Size, int], list[tuple[int, int]]]) -> list[RawWindows]:
        (size, step), places = job
        neediest = max((plans[p].scanner for p, _ in places), key=lambda scanner: scanner.n_images)
        integrals = neediest.integrals(resize(gray, size), step)
        return [_scan_level(plans[p], plans[p].levels[i], integrals) for p, i in places]

    found: dict[tuple[int, int], RawWindows] = {}
    for places, raw in zip(sharing.values(), ordered_map(scan, sharing.items(), n_threads), strict=True):
        found.update(zip(places, raw, strict=True))
    return [[found[p, i] for i in range(len(plan.levels))] for p, plan in enumerate(plans)]


def _scan_level(plan: Plan, level: Level, integrals: LevelIntegrals) -> RawWindows:
    return plan.scanner.scan_rows(integrals, level.rows, skip=plan.skip, min_stages=plan.min_stages)


def raw_detections(plan: Plan, raw: Sequence[RawWindows]) -> Detections:
    """Turn what was found at the levels of a plan into raw windows.

    Parameters
    ----------
    plan : Plan
        Of one cascade.
    raw : sequence of RawWindows
        One for each of its levels.

    Returns
    -------
    Detections
        In the order of the levels, then row and column; boxes in picture pixels. Rounding may take boxes out
        of the picture, by half a level pixel at most.
    """
    return Detections.joined(
        _with_margins(plan.scanner.cascade, level, found)
        for level, found in zip(plan.levels, raw, strict=True)
    )


def _with_margins(cascade: Cascade, level: Level, raw: RawWindows) -> Detections:
    """Return windows in picture pixels; scores say how far sums lie above the last evaluated stage's threshold."""
    n = len(raw)
    if n == 0:
        return Detections.empty()
    margins = raw.sums
    if cascade.n_stages:
        thresholds = cascade.effective_thresholds.astype(np.float64)
        margins = margins - thresholds[np.minimum(raw.stages, cascade.n_stages - 1)]
    return Detections(level.boxes(raw.positions), margins, np.ones(n, np.int32), raw.stages)
