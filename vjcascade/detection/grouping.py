"""Group raw windows into detections: as OpenCV does, weighted by score, or by non-maximum suppression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from vjcascade.checks import checked_number
from vjcascade.kernels.group import (
    CELL_DTYPE,
    fill_cells,
    join_similar,
    lies_inside,
    list_cells,
    number_classes,
    sum_up_classes,
    take_overlapping,
)
from vjcascade.parallel import blocks
from vjcascade.types import Detections

GROUP_EPS = 0.2
"""How far the sides of similar boxes may lie apart, relative to their size (OpenCV's constant)."""

CELLS_AT_ONCE = 2**12
"""Between so many cells of similar boxes, grouping can be interrupted."""

WINDOWS_AT_ONCE = 2**12
"""Between so many windows, the suppression of overlapping ones can be interrupted."""

Tell = Callable[[int, int], object]
"""Called now and then with what is done and what there is to do."""

_INT32 = np.iinfo(np.int32)


class Grouping(StrEnum):
    """How dense detection merges overlapping windows.

    Examples
    --------
    >>> Grouping("nms").name
    'NMS'
    """

    AVERAGE = "average"
    """Their mean box."""

    WEIGHTED = "weighted"
    """Their mean box, each window weighted by its score."""

    NMS = "nms"
    """The best one's box; it takes away those that overlap it (non-maximum suppression)."""

    NONE = "none"
    """Raw windows, each for itself."""


def group_windows(
    raw: Detections, min_neighbors: int, eps: float = GROUP_EPS, progress: Tell | None = None
) -> Detections:
    """Average the boxes of each class of similar windows; drop small classes. Exactly OpenCV's result.

    Two boxes are similar if all their sides lie close together; a class is all that a chain of similar
    boxes connects. Classes stand in the order of their first members.

    Parameters
    ----------
    raw : Detections
        Raw windows.
    min_neighbors : int
        A class is kept if it has more windows than this: 3 asks for at least four. With 0, `raw` is
        returned as it is.
    eps : float, optional
        Allowed distance of sides, as a share of the mean of width and height.
    progress : callable, optional
        `progress(done, total)` is called now and then: millions of windows take a while.

    Returns
    -------
    Detections
        Mean boxes, largest score, sum of ranking scores and number of windows of each class; without
        classes that lie inside a larger one with more windows.

    Examples
    --------
    >>> boxes = np.array([[10, 10, 24, 24], [12, 10, 24, 24], [70, 10, 24, 24]], np.int32)
    >>> raw = Detections(boxes, np.array([1.0, 2.0, 3.0]), np.ones(3, np.int32))
    >>> group_windows(raw, min_neighbors=1).boxes.tolist()
    [[11, 10, 24, 24]]
    """
    if min_neighbors <= 0 or len(raw) == 0:
        return raw
    return large_classes(window_classes(raw, eps, progress), min_neighbors, eps)


def window_classes(raw: Detections, eps: float = GROUP_EPS, progress: Tell | None = None) -> Detections:
    """Return all classes that `group_windows` chooses from, large and small.

    Parameters
    ----------
    raw : Detections
        Raw windows.
    eps : float, optional
        As for `group_windows`.
    progress : callable, optional
        As for `group_windows`.

    Returns
    -------
    Detections
        One row a class, in the order of their first members.
    """
    if len(raw) == 0:
        return raw
    labels, best, counts, totals = _classes(raw, eps, progress)
    return replace(
        raw.select(best),
        boxes=_mean_boxes(totals, counts),
        neighbors=counts,
        ranking_scores=_ranking_scores(raw, labels),
    )


def large_classes(classes: Detections, min_neighbors: int, eps: float = GROUP_EPS) -> Detections:
    """Choose from all classes as `group_windows` does.

    Parameters
    ----------
    classes : Detections
        From `window_classes`.
    min_neighbors : int
        A class is kept if it has more windows than this.
    eps : float, optional
        As for `group_windows`.

    Returns
    -------
    Detections
        Those that are large enough and lie in no larger one with more windows.
    """
    large = classes.select(classes.neighbors > min_neighbors)
    return large.select(~inside_others(large.boxes, large.neighbors, eps))


def group_in_bounds(
    raw: Detections, min_neighbors: int, *, weighted: bool, progress: Tell | None = None
) -> Detections:
    """Average the boxes of each class of similar windows, so that no bound on the windows is left.

    A group lies in whatever box all its windows lie in, and is no smaller and no larger than the smallest and the
    largest of them. Moving all windows moves the groups by as much.

    Parameters
    ----------
    raw : Detections
        Raw windows.
    min_neighbors : int
        A class is kept if it has more windows than this; 0 keeps every class.
    weighted : bool
        Whether a window counts by its score (those below 0 do not count) rather than all windows alike.
    progress : callable, optional
        `progress(done, total)` is called now and then: millions of windows take a while.

    Returns
    -------
    Detections
        Mean boxes, best first: most stages, then largest score, then first window; without classes inside
        one with more windows.

    Examples
    --------
    >>> boxes = np.array([[10, 10, 24, 24], [12, 10, 24, 24]], np.int32)
    >>> raw = Detections(boxes, np.array([1.0, 4.0]), np.ones(2, np.int32))
    >>> group_in_bounds(raw, 1, weighted=False).boxes.tolist(), group_in_bounds(raw, 1, weighted=True).boxes.tolist()
    ([[11, 10, 24, 24]], [[12, 10, 24, 24]])
    """
    if len(raw) == 0:
        return raw
    labels, best, counts, _ = _classes(raw, GROUP_EPS, progress)
    weights = np.maximum(raw.scores, 0.0) if weighted else np.ones(len(raw))
    weights = np.where((np.bincount(labels, weights) > 0)[labels], weights, 1.0)
    boxes = _means_within(raw.boxes, labels, best, weights)
    groups = replace(
        raw.select(best),
        boxes=boxes,
        neighbors=counts,
        ranking_scores=_ranking_scores(raw, labels),
    )
    large = groups.select(counts > min_neighbors)
    # With these counts OpenCV's rule has no exception for classes below 3, which drop each other.
    kept = large.select(~inside_others(large.boxes, large.neighbors + 3, GROUP_EPS))
    return kept.select(best_first(kept))


def suppress_overlaps(
    raw: Detections, max_overlap: float, min_neighbors: int = 0, progress: Tell | None = None
) -> Detections:
    """Keep the best window of each place, with its own box (non-maximum suppression, NMS).

    Repeatedly, the best remaining window is kept, and all that overlap it by more than `max_overlap` are removed.

    Parameters
    ----------
    raw : Detections
        Raw windows.
    max_overlap : float
        Largest intersection over union of two windows that may both stay, in [0, 1].
    min_neighbors : int, optional
        A window stays if it and those it removes are more than this; 0 keeps all.
    progress : callable, optional
        `progress(done, total)` is called now and then: millions of windows take a while.

    Returns
    -------
    Detections
        Windows that stay, best first: most stages, then largest score, then first window. `neighbors` says for
        how many windows each stands, itself included; ranking scores are theirs together.

    Raises
    ------
    SettingsError
        If `max_overlap` is not in [0, 1].

    Examples
    --------
    >>> boxes = np.array([[10, 10, 24, 24], [12, 10, 24, 24], [70, 10, 24, 24]], np.int32)
    >>> raw = Detections(boxes, np.array([1.0, 2.0, 3.0]), np.ones(3, np.int32))
    >>> found = suppress_overlaps(raw, 0.3)
    >>> found.boxes.tolist(), found.neighbors.tolist()
    ([[70, 10, 24, 24], [12, 10, 24, 24]], [1, 2])
    """
    checked_number("max_overlap", max_overlap, ge=0, le=1, hint="0.3, for example, is usual")
    if len(raw) == 0:
        return raw
    order = best_first(raw)
    filed = _file(
        raw.boxes, raw.boxes[:, 2:].max(axis=1, initial=0).astype(np.float64), lambda most: most + 1
    )
    owners, next_left = np.full(len(raw), -1, np.int32), np.arange(len(raw) + 1)
    for places in _told_blocks(len(raw), WINDOWS_AT_ONCE, progress):
        take_overlapping(raw.boxes, *filed, order[places], max_overlap, next_left, owners)
    kept = order[owners[order] == order]
    ranks = np.empty(len(raw), np.intp)
    ranks[kept] = np.arange(len(kept))
    taken = order[
        np.argsort(ranks[owners[order]], kind="stable")
    ]  # those of the best first, the best of each first
    firsts = np.flatnonzero(owners[taken] == taken)
    neighbors = np.add.reduceat(raw.neighbors[taken], firsts).astype(np.int32)
    ranking_scores = np.add.reduceat(raw.ranking_scores[taken], firsts)
    found = replace(raw.select(kept), neighbors=neighbors, ranking_scores=ranking_scores)
    return found.select(neighbors > min_neighbors)


def overlaps(box: NDArray[np.int32], boxes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the intersection over union of a box with each of others, shape (n,).

    Examples
    --------
    >>> overlaps(np.array([0, 0, 2, 2]), np.array([[0, 0, 2, 2], [1, 0, 2, 2], [2, 0, 2, 2]])).round(2).tolist()
    [1.0, 0.33, 0.0]
    """
    one, others = box.astype(np.int64), boxes.astype(np.int64)
    low = np.maximum(one[:2], others[:, :2])
    high = np.minimum(one[:2] + one[2:], others[:, :2] + others[:, 2:])
    shared = np.maximum(high - low, 0).prod(axis=1)
    shares: NDArray[np.float64] = shared / (one[2:].prod() + others[:, 2:].prod(axis=1) - shared)
    return shares


def best_first(detections: Detections) -> NDArray[np.intp]:
    """Return the order of detections by stages and score, largest first; equals keep their order."""
    order: NDArray[np.intp] = np.lexsort((-detections.scores, -detections.stages))
    return order


def class_labels(
    boxes: NDArray[np.int32], eps: float, progress: Tell | None = None
) -> tuple[NDArray[np.int32], int]:
    """Give similar boxes the number of their class; classes are numbered by their first members.

    The cost grows with the cells of windows times the cells that lie close to one of them, not with the square of the
    windows.

    Parameters
    ----------
    boxes : ndarray of shape (n, 4), dtype int32
        `x, y, w, h`.
    eps : float
        Allowed distance of sides, as a share of the mean of width and height; below 0, no boxes are similar.
    progress : callable, optional
        `progress(done, total)` is called now and then: millions of windows take a while.

    Returns
    -------
    labels : ndarray of shape (n,), dtype int32
        The class of each box.
    n_classes : int
        How many there are.

    Examples
    --------
    >>> labels, n_classes = class_labels(np.array([[0, 0, 20, 20], [70, 0, 20, 20], [4, 0, 20, 20]], np.int32), 0.2)
    >>> labels.tolist(), n_classes
    ([0, 1, 0], 2)
    """
    parents = np.empty(len(boxes), np.int32)
    slots = np.full(2 ** (2 * len(boxes)).bit_length(), -1, np.int32)
    fill_cells(boxes, eps, slots, parents)
    leaders = np.flatnonzero(parents == np.arange(len(boxes))).astype(np.int32)
    cells, members = np.empty(len(leaders), CELL_DTYPE), np.empty(len(boxes), np.int32)
    list_cells(boxes, parents, leaders, cells, members)
    sizes = cells["box"][:, 2].astype(np.float64) + cells["box"][:, 3]
    widest = float((cells["far"].astype(np.float64) - cells["box"][:, :2]).max(initial=0))

    def reach_of(most: float) -> float:
        delta = max(eps, 0.0) * most / 2
        return delta + min(delta, widest) + 1

    filed = _file(cells["box"], sizes, reach_of)
    for places in _told_blocks(len(cells), CELLS_AT_ONCE, progress):
        join_similar(boxes, members, cells, *filed, np.arange(places.start, places.stop), eps, parents)
    labels = np.empty(len(boxes), np.int32)
    return labels, number_classes(parents, labels)


def _told_blocks(n_items: int, block_size: int, progress: Tell | None) -> Iterator[slice]:
    """Tell how much is done before each block; between blocks, an interrupt is heard, too."""
    for places in blocks(n_items, block_size):
        if progress is not None:
            progress(places.start, n_items)
        yield places


def _classes(
    raw: Detections, eps: float, progress: Tell | None
) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.int32], NDArray[np.int64]]:
    """Return the class of each window, and of each class the best window, the number of windows and their sum."""
    labels, n_classes = class_labels(raw.boxes, eps, progress)
    best, counts = np.empty(n_classes, np.intp), np.empty(n_classes, np.int32)
    totals = np.empty((n_classes, 4), np.int64)
    sum_up_classes(raw.boxes, raw.stages, raw.scores, labels, best, counts, totals)
    return labels, best, counts, totals


def _ranking_scores(raw: Detections, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    return np.bincount(labels, raw.ranking_scores).astype(np.float64, copy=False)


def inside_others(boxes: NDArray[np.int32], counts: NDArray[np.int32], eps: float) -> NDArray[np.bool_]:
    """Tell which classes lie inside a larger one with more windows.

    Parameters
    ----------
    boxes : ndarray of shape (n, 4), dtype int32
        Mean boxes of classes: `x, y, w, h`.
    counts : ndarray of shape (n,), dtype int32
        Their windows.
    eps : float
        By how much the larger one is enlarged, as a share of its sides.

    Returns
    -------
    ndarray of shape (n,), dtype bool
        True for those that lie inside.

    Examples
    --------
    >>> inside_others(np.array([[9, 9, 20, 20], [0, 0, 99, 99]], np.int32), np.array([4, 5], np.int32), 0.2).tolist()
    [True, False]
    """
    turned = -float(boxes[:, 2:].min(initial=0))  # sides below 0 reach to the left and up
    filed = _file(
        boxes,
        boxes[:, 2:].max(axis=1).astype(np.float64),
        lambda most: most * (1 + max(eps, 0.0)) + turned + 2,
    )
    inside = np.empty(len(boxes), np.bool_)
    lies_inside(boxes, counts, *filed, eps, inside)
    return inside


def _file(
    boxes: NDArray[np.int32], sizes: NDArray[np.float64], reach_of: Callable[[float], float]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return boxes in the order of `vjcascade.kernels.group`, their rows, and where size classes lie and reach."""
    powers = np.log2(np.maximum(sizes, 1)).astype(np.int64)
    rows = np.empty(len(boxes), np.int64)
    reaches, counts = [], []
    for power in np.unique(powers):
        members = np.flatnonzero(powers == power)
        most = max(float(sizes[members].max()), 0.0)
        reach = reach_of(most)
        rows[members] = np.floor(boxes[members, 1] / reach)
        reaches.append((reach, most))
        counts.append(len(members))
    order = np.lexsort((boxes[:, 0], rows, powers))
    lengths = np.array(counts, np.int64)
    ends = np.cumsum(lengths)
    spans = np.stack([ends - lengths, ends], axis=1)
    return order, rows[order], spans, np.array(reaches).reshape(-1, 2)


def _mean_boxes(totals: NDArray[np.int64], counts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Average in float32, rounded half to even, as OpenCV does; what rounding takes beyond int32 stays within."""
    shares = np.float32(1) / counts.astype(np.float32)
    means = np.rint(totals.astype(np.float32) * shares[:, None]).astype(np.float64)
    return np.clip(means, _INT32.min, _INT32.max).astype(np.int32)


def _means_within(
    boxes: NDArray[np.int32], labels: NDArray[np.int32], best: NDArray[np.intp], weights: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Average relative to the best window of each class, rounded half up, no further out than any window."""
    apart = boxes.astype(np.int64) - boxes[best][labels]
    totals = np.bincount(labels, weights)
    means = np.stack([np.bincount(labels, weights * column) for column in apart.T], axis=1) / totals[:, None]
    mean = boxes[best] + np.floor(means + 0.5).astype(np.int64)
    furthest = np.full((len(best), 2), np.iinfo(np.int64).min)
    np.maximum.at(furthest, labels, boxes[:, :2].astype(np.int64) + boxes[:, 2:])
    mean[:, :2] = np.minimum(mean[:, :2], furthest - mean[:, 2:])
    return mean.astype(np.int32)
