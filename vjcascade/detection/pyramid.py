"""Scan the pyramid of a picture: copies of it, smaller and smaller, in which a window stands for larger objects.

Several cascades share one pyramid: of each size and step of the scan, the level image and its integral images are made
once, whichever cascades need them. Levels are scanned in parallel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.frames import LevelKey, PreviousFrame, rows_to_scan
from vjcascade.detection.scales import Level, Rows
from vjcascade.detection.scanner import NO_WINDOWS, IntegralMemory, RawWindows, Scanner
from vjcascade.imaging import resize_exact
from vjcascade.parallel import ordered_map
from vjcascade.types import Detections, Size

GROUP_PIXELS = 2**16
"""Levels are scanned in one go until they have so many pixels: a scan has its cost, and groups are dealt to threads."""

PIXELS_PER_THREAD = 2**17
"""A thread that has less to do costs more than it saves."""

NO_ROWS = range(0)

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
    previous: PreviousFrame | None = None,
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
    previous : PreviousFrame, optional
        Of the same plans: rows of windows whose pixels have not changed are not scanned again. The windows are the
        same; how many were looked at counts those of this frame.

    Returns
    -------
    list of list of RawWindows
        What each cascade finds, one entry for each of its levels.
    """
    sharing: dict[LevelKey, list[tuple[int, int]]] = defaultdict(list)
    for p, plan in enumerate(plans):
        for i, level in enumerate(plan.levels):
            sharing[level.size, level.step].append((p, i))
    found: list[list[RawWindows]] = [[NO_WINDOWS] * len(plan.levels) for plan in plans]
    images: dict[LevelKey, NDArray[np.uint8]] = {}
    spare: list[IntegralMemory] = []  # new memory for each group would take as long as what is written there

    def scan(levels: Sequence[LevelKey]) -> None:
        (_, step), users = levels[0], sorted({p for level in levels for p, _ in sharing[level]})
        made = [resize(gray, size) for size, _ in levels]
        changed: list[NDArray[np.bool_] | None] = [None] * len(levels)
        if previous is not None:
            changed = [*map(previous.changed_rows, levels, made)]
            images.update(zip(levels, made, strict=True))
        todo: list[tuple[int, tuple[int | None, ...], list[Rows]]] = []
        for p in users:
            places = [[i for q, i in sharing[level] if q == p] for level in levels]
            for same in zip_longest(*places):  # two scales may come to one size
                given = [NO_ROWS if i is None else plans[p].levels[i].rows for i in same]
                height = plans[p].scanner.cascade.window.height
                todo.append(
                    (p, same, [rows_to_scan(*rows, height) for rows in zip(given, changed, strict=True)])
                )
        integrals = None
        if any(len(rows) for _, _, each in todo for rows in each):
            memory = spare.pop() if spare else IntegralMemory()
            neediest = max((plans[p].scanner for p in users), key=lambda scanner: scanner.n_images)
            integrals = neediest.integrals_of_levels(made, step, memory)
        for p, same, rows in todo:
            plan = plans[p]
            if integrals is None:
                each = [NO_WINDOWS] * len(levels)
            else:
                each = plan.scanner.scan_levels(integrals, rows, skip=plan.skip, min_stages=plan.min_stages)
            for i, raw, scanned in zip(same, each, rows, strict=True):
                if i is not None:
                    found[p][i] = raw if previous is None else previous.with_kept(p, i, raw, scanned)
        if integrals is not None:
            spare.append(memory)

    groups = list(_groups(sharing))
    n_pixels = sum(size.width * size.height for size, _ in sharing)
    list(ordered_map(scan, groups, min(n_threads, 1 + n_pixels // PIXELS_PER_THREAD)))
    if previous is not None:
        previous.keep({key: image.copy() if image is gray else image for key, image in images.items()}, found)
    return found


def _groups(levels: Iterable[LevelKey]) -> Iterator[list[LevelKey]]:
    """Put levels of one step together, as they come, until they have `GROUP_PIXELS`."""
    by_step: dict[int, list[LevelKey]] = defaultdict(list)
    n_pixels: dict[int, int] = defaultdict(int)
    for size, step in levels:
        by_step[step].append((size, step))
        n_pixels[step] += size.width * size.height
        if n_pixels[step] >= GROUP_PIXELS:
            n_pixels[step] = 0
            yield by_step.pop(step)
    yield from by_step.values()


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
    sizes = [len(found) for found in raw]
    n = sum(sizes)
    if n == 0:
        return Detections.empty()
    cascade, joined = plan.scanner.cascade, RawWindows.joined(raw)
    boxes = [
        level.boxes(found.positions) for level, found in zip(plan.levels, raw, strict=True) if len(found)
    ]
    return Detections(np.concatenate(boxes), _margins(cascade, joined), np.ones(n, np.int32), joined.stages)


def _margins(cascade: Cascade, raw: RawWindows) -> NDArray[np.float64]:
    """Return how far sums lie above the last evaluated stage's threshold."""
    if not cascade.n_stages:
        return raw.sums
    thresholds = cascade.effective_thresholds.astype(np.float64)
    return raw.sums - thresholds[np.minimum(raw.stages, cascade.n_stages - 1)]
