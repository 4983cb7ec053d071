"""One pyramid for one or several cascades: every level image and its integral images are made once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.detection.scales import Level, scaled_size
from vjcascade.detection.scanner import LevelIntegrals, RawWindows, Scanner
from vjcascade.imaging import resize_exact
from vjcascade.parallel import ordered_map
from vjcascade.types import Detections, Size

Resize = Callable[[NDArray[np.uint8], Size], NDArray[np.uint8]]
Scan = Callable[[Scanner, LevelIntegrals, Level], RawWindows]


class Plan(NamedTuple):
    """At which levels one cascade is to look.

    Attributes
    ----------
    scanner : Scanner
        Made for the cascade.
    levels : sequence of Level
        Of one picture, in any number.
    """

    scanner: Scanner
    levels: Sequence[Level]


def scan_pyramid(
    gray: NDArray[np.uint8],
    plans: Sequence[Plan],
    scan: Scan,
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
    scan : callable
        Looks at one level with one scanner; must not depend on other levels.
    resize : callable, optional
        Makes a level image from the picture.
    n_threads : int
        Results do not depend on it.

    Returns
    -------
    list of list of RawWindows
        What each cascade finds, one entry for each of its levels.
    """
    jobs: dict[tuple[Size, int], list[tuple[int, int]]] = defaultdict(list)
    for which, plan in enumerate(plans):
        for place, level in enumerate(plan.levels):
            jobs[level.size, level.step].append((which, place))

    def look(job: tuple[tuple[Size, int], list[tuple[int, int]]]) -> list[RawWindows]:
        (size, step), places = job
        scanners = [plans[which].scanner for which, _ in places]
        integrals = max(scanners, key=lambda scanner: scanner.n_images).integrals(resize(gray, size), step)
        return [
            scan(scanner, integrals, plans[which].levels[place])
            for scanner, (which, place) in zip(scanners, places, strict=True)
        ]

    found: dict[tuple[int, int], RawWindows] = {}
    for places, raw in zip(jobs.values(), ordered_map(look, jobs.items(), n_threads), strict=True):
        found.update(zip(places, raw, strict=True))
    return [[found[which, place] for place in range(len(plan.levels))] for which, plan in enumerate(plans)]


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
        _windows(plan.scanner, level, found) for level, found in zip(plan.levels, raw, strict=True)
    )


def boxes_at(level: Level, window: Size, positions: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the boxes of windows: float32 products, rounded half to even.

    Parameters
    ----------
    level : Level
        Where the windows are.
    window : Size
        Of the cascade.
    positions : ndarray of shape (n, 2), dtype int32
        `x, y` of the windows' top left corners in level pixels.

    Returns
    -------
    ndarray of shape (n, 4), dtype int32
        In picture pixels; they may reach out of the picture, as `raw_detections` says.
    """
    boxes = np.empty((len(positions), 4), np.int32)
    boxes[:, :2] = np.rint(positions.astype(np.float32) * level.scale)
    boxes[:, 2:] = scaled_size(window, level.scale)
    return boxes


def _windows(scanner: Scanner, level: Level, raw: RawWindows) -> Detections:
    """Return windows in picture pixels and their margins."""
    cascade, n = scanner.cascade, len(raw)
    if n == 0:
        return Detections.empty()
    boxes = boxes_at(level, cascade.window, raw.positions)
    margins = raw.sums
    if cascade.n_stages:
        bars = cascade.effective_thresholds.astype(np.float64)
        margins = margins - bars[np.minimum(raw.stages, cascade.n_stages - 1)]
    return Detections(boxes, margins, np.ones(n, np.int32), raw.stages)
