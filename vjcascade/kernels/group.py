"""Classes of similar boxes: the transitive closure of OpenCV's similarity, without its quadratic cost.

Boxes are filed by size class (powers of two), then by row of cells as high as partners may lie apart, then by x. All
that may be a box's partners then lie in three rows of a few size classes, in one stretch of each.
"""

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
def first_of_row(
    boxes: NDArray[np.int32],
    filed: NDArray[np.int64],
    rows: NDArray[np.int64],
    begin: int,
    end: int,
    row: int,
    x: float,
) -> int:
    """Return the first place among those of a size class that is in a later row, or in this row from x on."""
    # IN boxes (n, 4), filed (n,) boxes in their order, rows (n,) the row of each place; begin, end: of the class
    while begin < end:
        middle = (begin + end) // 2
        if rows[middle] < row or (rows[middle] == row and boxes[filed[middle], 0] < x):
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def join_similar(
    boxes: NDArray[np.int32],
    filed: NDArray[np.int64],
    rows: NDArray[np.int64],
    spans: NDArray[np.int64],
    reaches: NDArray[np.float64],
    places: NDArray[np.int64],
    eps: float,
    parents: NDArray[np.int32],
) -> None:
    """Join the classes of similar boxes, for the boxes at some places."""
    # IN boxes, filed, rows as above; spans (n_sizes, 2) begin and end of each size class, reaches (n_sizes, 2) how far
    # partners may lie apart and its greatest size, places (n,) to look at; IN, OUT parents (n,)
    for i in places:
        a = filed[i]
        size = np.float64(boxes[a, 2]) + np.float64(boxes[a, 3])
        for k in range(len(spans)):
            begin, end, reach = spans[k, 0], spans[k, 1], reaches[k, 0]
            # Larger boxes look for smaller ones. Sides of similar boxes differ by eps times the smaller size at most.
            if begin > i or reaches[k, 1] * (1 + 2 * eps) + 1 < size:
                continue
            x, row = np.float64(boxes[a, 0]), int(np.floor(boxes[a, 1] / reach))
            for near in range(row - 1, row + 2):
                j = first_of_row(boxes, filed, rows, begin, end, near, x - reach)
                while j < min(end, i) and rows[j] == near and boxes[filed[j], 0] <= x + reach:
                    b = filed[j]
                    if similar(boxes, a, b, eps):
                        root_a, root_b = root_of(parents, a), root_of(parents, b)
                        if root_a < root_b:
                            parents[root_b] = root_a
                        else:
                            parents[root_a] = root_b
                    j += 1


@kernel
def number_classes(parents: NDArray[np.int32], labels: NDArray[np.int32]) -> int:
    """Number the classes by their first members; return how many there are."""
    # IN, OUT parents (n,); OUT labels (n,)
    n_classes = 0
    for box in range(len(parents)):
        root = root_of(parents, box)
        if root == box:
            labels[box] = n_classes
            n_classes += 1
        else:
            labels[box] = labels[root]
    return n_classes


@kernel
def lies_inside(
    boxes: NDArray[np.int32],
    counts: NDArray[np.int32],
    filed: NDArray[np.int64],
    rows: NDArray[np.int64],
    spans: NDArray[np.int64],
    reaches: NDArray[np.float64],
    eps: float,
    inside: NDArray[np.bool_],
) -> None:
    """Mark boxes that lie inside another, a little enlarged, that more windows speak for."""
    # IN boxes (n, 4), counts (n,), filed, rows, spans, reaches as above; OUT inside (n,)
    for i in range(len(boxes)):
        inside[i] = False
        x = np.float64(boxes[i, 0])
        for k in range(len(spans)):
            begin, end, reach = spans[k, 0], spans[k, 1], reaches[k, 0]
            row = int(np.floor(boxes[i, 1] / reach))
            for near in range(row - 1, row + 2):
                place = first_of_row(boxes, filed, rows, begin, end, near, x - reach)
                while (
                    not inside[i]
                    and place < end
                    and rows[place] == near
                    and boxes[filed[place], 0] <= x + reach
                ):
                    j = filed[place]
                    place += 1
                    if j == i or not (counts[j] > max(3, counts[i]) or counts[i] < 3):
                        continue
                    dx, dy = round(boxes[j, 2] * eps), round(boxes[j, 3] * eps)
                    inside[i] = (
                        boxes[i, 0] >= boxes[j, 0] - dx
                        and boxes[i, 1] >= boxes[j, 1] - dy
                        and boxes[i, 0] + boxes[i, 2] <= boxes[j, 0] + boxes[j, 2] + dx
                        and boxes[i, 1] + boxes[i, 3] <= boxes[j, 1] + boxes[j, 3] + dy
                    )
