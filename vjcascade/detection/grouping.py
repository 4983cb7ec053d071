"""Group raw windows into detections, exactly as OpenCV's `groupRectangles`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels.group import class_labels, lies_inside
from vjcascade.types import Detections

GROUP_EPS = 0.2
"""How far the sides of similar boxes may lie apart, relative to their size (OpenCV's constant)."""


def group_windows(raw: Detections, min_neighbors: int, eps: float = GROUP_EPS) -> Detections:
    """Average the boxes of each class of similar windows; drop small classes.

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

    Returns
    -------
    Detections
        Mean boxes, largest score and number of windows of each class; without classes that lie inside a
        larger one that more windows speak for.

    Examples
    --------
    >>> boxes = np.array([[10, 10, 24, 24], [12, 10, 24, 24], [70, 10, 24, 24]], np.int32)
    >>> raw = Detections(boxes, np.array([1.0, 2.0, 3.0]), np.ones(3, np.int32))
    >>> group_windows(raw, min_neighbors=1).boxes.tolist()
    [[11, 10, 24, 24]]
    """
    if min_neighbors <= 0 or len(raw) == 0:
        return raw
    by_x = np.argsort(raw.boxes[:, 0], kind="stable")
    labels, n_classes = class_labels(raw.boxes, by_x, eps)
    counts = np.bincount(labels, minlength=n_classes).astype(np.int32)
    scores = np.full(n_classes, -np.inf)
    np.maximum.at(scores, labels, raw.scores)
    classes = Detections(_mean_boxes(raw.boxes, labels, counts), scores, counts)
    large = _select(classes, counts > min_neighbors)
    inside = np.empty(len(large), np.bool_)
    lies_inside(large.boxes, large.neighbors, eps, inside)
    return _select(large, ~inside)


def _mean_boxes(
    boxes: NDArray[np.int32], labels: NDArray[np.int32], counts: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Average in float32, rounded half to even, as OpenCV does."""
    totals = np.zeros((len(counts), 4), np.int64)
    np.add.at(totals, labels, boxes)
    shares = np.float32(1) / counts.astype(np.float32)
    return np.rint(totals.astype(np.float32) * shares[:, None]).astype(np.int32)


def _select(detections: Detections, kept: NDArray[np.bool_]) -> Detections:
    return Detections(detections.boxes[kept], detections.scores[kept], detections.neighbors[kept])
