"""Classes of similar boxes: the transitive closure of OpenCV's similarity, without its quadratic cost."""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel


@kernel
def root_of(parents: NDArray[np.int32], box: int) -> int:
    """Return the first member of a box's class so far, and shorten the way to it."""
    # IN, OUT parents (n,)
    while parents[box] != box:
        parents[box] = parents[parents[box]]
        box = parents[box]
    return box


@kernel
def similar(boxes: NDArray[np.int32], a: int, b: int, eps: float) -> bool:
    """Tell whether all four sides of two boxes are close, measured by the smaller width and height."""
    # IN boxes (n, 4): x, y, w, h
    smaller = min(boxes[a, 2], boxes[b, 2]) + min(boxes[a, 3], boxes[b, 3])
    delta = eps * np.float64(smaller) * 0.5
    return bool(
        abs(boxes[a, 0] - boxes[b, 0]) <= delta
        and abs(boxes[a, 1] - boxes[b, 1]) <= delta
        and abs(boxes[a, 0] + boxes[a, 2] - boxes[b, 0] - boxes[b, 2]) <= delta
        and abs(boxes[a, 1] + boxes[a, 3] - boxes[b, 1] - boxes[b, 3]) <= delta
    )


@kernel
def class_labels(
    boxes: NDArray[np.int32], by_x: NDArray[np.int64], eps: float
) -> tuple[NDArray[np.int32], int]:
    """Number the classes of similar boxes by their first members; return labels and the number of classes."""
    # IN boxes (n, 4), by_x (n,) their order from left to right; OUT labels (n,)
    n = len(boxes)
    parents = np.arange(n).astype(np.int32)
    for i in range(n):
        a = by_x[i]
        # Similar boxes are no further apart than this, since the smaller of two sides is at most one's own.
        reach = boxes[a, 0] + eps * np.float64(boxes[a, 2] + boxes[a, 3]) * 0.5
        for j in range(i + 1, n):
            b = by_x[j]
            if boxes[b, 0] > reach:
                break
            if similar(boxes, a, b, eps):
                root_a, root_b = root_of(parents, a), root_of(parents, b)
                if root_a < root_b:
                    parents[root_b] = root_a
                else:
                    parents[root_a] = root_b
    labels = np.empty(n, np.int32)
    n_classes = 0
    for box in range(n):
        root = root_of(parents, box)
        if root == box:
            labels[box] = n_classes
            n_classes += 1
        else:
            labels[box] = labels[root]
    return labels, n_classes


@kernel
def lies_inside(
    boxes: NDArray[np.int32], counts: NDArray[np.int32], eps: float, inside: NDArray[np.bool_]
) -> None:
    """Mark boxes that lie inside another, a little enlarged, that more windows speak for."""
    # IN boxes (n, 4), counts (n,); OUT inside (n,)
    for i in range(len(boxes)):
        inside[i] = False
        for j in range(len(boxes)):
            if j == i or not (counts[j] > max(3, counts[i]) or counts[i] < 3):
                continue
            dx, dy = round(boxes[j, 2] * eps), round(boxes[j, 3] * eps)
            if (
                boxes[i, 0] >= boxes[j, 0] - dx
                and boxes[i, 1] >= boxes[j, 1] - dy
                and boxes[i, 0] + boxes[i, 2] <= boxes[j, 0] + boxes[j, 2] + dx
                and boxes[i, 1] + boxes[i, 3] <= boxes[j, 1] + boxes[j, 3] + dy
            ):
                inside[i] = True
                break
