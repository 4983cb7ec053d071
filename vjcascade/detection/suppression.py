"""Non-maximum suppression: of windows that overlap, the best one stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vjcascade.detection.grouping import best_first
from vjcascade.types import Detections


def suppress_overlaps(raw: Detections, max_overlap: float, min_neighbors: int = 0) -> Detections:
    """Keep the best window of each place, with its own box.

    The best window that is left is kept, and takes away all that overlap it by more than `max_overlap`; and so on.

    Parameters
    ----------
    raw : Detections
        Raw windows.
    max_overlap : float
        Largest intersection over union of two windows that may both stay, in [0, 1].
    min_neighbors : int, optional
        A window stays if it and those it takes away are more than this; 0 keeps all.

    Returns
    -------
    Detections
        Windows that stay, best first: most stages, then largest score, then first window. `neighbors` says for
        how many windows each stands, itself included.

    Examples
    --------
    >>> boxes = np.array([[10, 10, 24, 24], [12, 10, 24, 24], [70, 10, 24, 24]], np.int32)
    >>> raw = Detections(boxes, np.array([1.0, 2.0, 3.0]), np.ones(3, np.int32))
    >>> found = suppress_overlaps(raw, 0.3)
    >>> found.boxes.tolist(), found.neighbors.tolist()
    ([[70, 10, 24, 24], [12, 10, 24, 24]], [1, 2])
    """
    left = best_first(raw)
    kept, counts = [], []
    while len(left):
        taken = overlaps(raw.boxes[left[0]], raw.boxes[left]) > max_overlap
        taken[0] = True  # also where max_overlap is 1
        kept.append(left[0])
        counts.append(int(raw.neighbors[left[taken]].sum()))
        left = left[~taken]
    neighbors = np.array(counts, np.int32)
    found = replace(raw.select(np.array(kept, np.intp)), neighbors=neighbors)
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
