"""Classes of similar boxes: the transitive closure of OpenCV's similarity, without its quadratic cost.

Boxes of one size in one cell of a grid are all similar if the cell is no larger than the tolerance of similarity: they
are joined without comparing pairs. Pairs of boxes from two such cells are only compared until one pair is similar, and
only if the cells are not in one class yet.

Cells are sorted by size class (powers of two), then by rows as high as the tolerance, then by x. All possible partners
of a cell are then in a few rows of a few size classes, contiguous in each row.
"""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel

CELL_DTYPE = np.dtype(
    [
        ("box", np.int32, (4,)),  # smallest x and y of its members, and the width and height of all of them
        ("far", np.int32, (2,)),  # greatest x and y
        ("begin", np.int64),  # their index among the members of all cells
        ("end", np.int64),
    ]
)
"""A cell: boxes of one size that are close together."""


@kernel
def root_of(parents: NDArray[np.int32] | NDArray[np.int64], box: int) -> int:
    """Return the first member of a box's class so far, the root of its tree, with path compression."""
    # IN, OUT parents (n,)
    while parents[box] != box:
        parents[box] = parents[parents[box]]
        box = parents[box]
    return box


@kernel
def similar(boxes: NDArray[np.int32], a: int, b: int, eps: float) -> bool:
    """Return whether all four sides of two boxes are close, relative to the smaller width and height."""
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
    """Return the first index in a size class that is in a later row, or in this row from x on."""
    # IN boxes (n, 4), filed (n,) boxes in sorted order, rows (n,) the row of each; begin, end: of the class
    while begin < end:
        middle = (begin + end) // 2
        if rows[middle] < row or (rows[middle] == row and boxes[filed[middle], 0] < x):
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def fill_cells(
    boxes: NDArray[np.int32], eps: float, slots: NDArray[np.int32], first_members: NDArray[np.int32]
) -> None:
    """Find for each box the first one with the same size in the same cell of the grid for that size."""
    # IN boxes (n, 4); slots (a power of two > n,) a hash table, -1 if empty; OUT first_members (n,)
    last = len(slots) - 1
    for a in range(len(boxes)):
        first_members[a] = a
        width, height = np.int64(boxes[a, 2]), np.int64(boxes[a, 3])
        delta = eps * np.float64(width + height) * 0.5
        if not delta >= 0:  # not even similar to itself
            continue
        side = np.int64(min(delta, 2.0**33)) + 1
        column, row = boxes[a, 0] // side, boxes[a, 1] // side
        mixed = np.uint64(0)
        for part in (column, row, width, height):
            mixed = (mixed ^ np.uint64(part)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        slot = np.int64(mixed & np.uint64(last))
        while slots[slot] >= 0:
            b = slots[slot]
            if (
                boxes[b, 2] == width
                and boxes[b, 3] == height
                and boxes[b, 0] // side == column
                and boxes[b, 1] // side == row
            ):
                first_members[a] = b
                break
            slot = (slot + 1) & last
        else:
            slots[slot] = a


@kernel
def list_cells(
    boxes: NDArray[np.int32],
    first_members: NDArray[np.int32],
    leaders: NDArray[np.int32],
    cells: NDArray[np.void],
    members: NDArray[np.int32],
) -> None:
    """List the members of all cells, cell by cell, and the extent of each cell."""
    # IN boxes (n, 4), first_members (n,), leaders (n_cells,) the first member of each cell, ascending;
    # OUT cells (n_cells,) of CELL_DTYPE, members (n,)
    cell_of = np.empty(len(boxes), np.int32)
    for cell in range(len(cells)):
        leader = leaders[cell]
        cell_of[leader] = cell
        for i in range(4):
            cells[cell]["box"][i] = boxes[leader, i]
        for axis in range(2):
            cells[cell]["far"][axis] = boxes[leader, axis]
        cells[cell]["end"] = 0
    for a in range(len(boxes)):
        cell = cell_of[first_members[a]]
        cells[cell]["end"] += 1
        for axis in range(2):
            cells[cell]["box"][axis] = min(cells[cell]["box"][axis], boxes[a, axis])
            cells[cell]["far"][axis] = max(cells[cell]["far"][axis], boxes[a, axis])
    n_before = 0
    for cell in range(len(cells)):
        n_members = cells[cell]["end"]
        cells[cell]["begin"] = cells[cell]["end"] = n_before
        n_before += n_members
    for a in range(len(boxes)):
        cell = cell_of[first_members[a]]
        members[cells[cell]["end"]] = a
        cells[cell]["end"] += 1


@kernel
def are_near(cells: NDArray[np.void], a: int, b: int, eps: float) -> bool:
    """Return whether members of two cells may be similar, by the extents of the cells."""
    # IN cells (n_cells,) of CELL_DTYPE
    box_a, box_b, far_a, far_b = cells[a]["box"], cells[b]["box"], cells[a]["far"], cells[b]["far"]
    delta = eps * np.float64(min(box_a[2], box_b[2]) + min(box_a[3], box_b[3])) * 0.5
    for axis in range(2):
        wider = np.int64(box_a[axis + 2]) - np.int64(box_b[axis + 2])
        least = np.int64(box_a[axis]) - np.int64(far_b[axis])
        most = np.int64(far_a[axis]) - np.int64(box_b[axis])
        if max(least, least + wider) > delta or min(most, most + wider) < -delta:
            return False
    return True


@kernel
def have_similar(
    boxes: NDArray[np.int32], members: NDArray[np.int32], cells: NDArray[np.void], a: int, b: int, eps: float
) -> bool:
    """Return whether any member of a cell is similar to any of another."""
    # IN boxes (n, 4), members (n,), cells (n_cells,) as above
    for i in range(cells[a]["begin"], cells[a]["end"]):
        for j in range(cells[b]["begin"], cells[b]["end"]):
            if similar(boxes, members[i], members[j], eps):
                return True
    return False


@kernel
def join_similar(
    boxes: NDArray[np.int32],
    members: NDArray[np.int32],
    cells: NDArray[np.void],
    filed: NDArray[np.int64],
    rows: NDArray[np.int64],
    spans: NDArray[np.int64],
    reaches: NDArray[np.float64],
    places: NDArray[np.int64],
    eps: float,
    parents: NDArray[np.int32],
) -> None:
    """Join the classes of cells that have similar boxes, for the cells at some indices."""
    # IN boxes, members, cells as above; filed, rows as above, of cells; spans (n_sizes, 2) begin and end of each size
    # class, reaches (n_sizes, 2) largest distance of partners' corners and largest size in the class, places (n,)
    # indices to process; IN, OUT parents (n,), in which the members of each cell have one root
    corners = cells["box"]
    for i in places:
        a = filed[i]
        root_a = root_of(parents, members[cells[a]["begin"]])
        size = np.float64(corners[a, 2]) + np.float64(corners[a, 3])
        for k in range(len(spans)):
            begin, end, reach = spans[k, 0], spans[k, 1], reaches[k, 0]
            # Larger boxes search for smaller ones. Sides of similar boxes differ by eps times the smaller size at most.
            if begin > i or reaches[k, 1] * (1 + 2 * eps) + 1 < size:
                continue
            x, far_x = np.float64(corners[a, 0]) - reach, np.float64(cells[a]["far"][0]) + reach
            first_row = int(np.floor(corners[a, 1] / reach)) - 1
            last_row = int(np.floor(cells[a]["far"][1] / reach)) + 1
            for near in range(first_row, last_row + 1):
                j = first_of_row(corners, filed, rows, begin, end, near, x)
                while j < min(end, i) and rows[j] == near and corners[filed[j], 0] <= far_x:
                    b = filed[j]
                    j += 1
                    if not are_near(cells, a, b, eps):
                        continue
                    root_b = root_of(parents, members[cells[b]["begin"]])
                    if root_a != root_b and have_similar(boxes, members, cells, a, b, eps):
                        parents[max(root_a, root_b)] = min(root_a, root_b)
                        root_a = min(root_a, root_b)


@kernel
def number_classes(parents: NDArray[np.int32], labels: NDArray[np.int32]) -> int:
    """Number the classes by their first members; return their number."""
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
def sum_up_classes(
    boxes: NDArray[np.int32],
    stages: NDArray[np.int32],
    scores: NDArray[np.float64],
    labels: NDArray[np.int32],
    best: NDArray[np.intp],
    counts: NDArray[np.int32],
    totals: NDArray[np.int64],
) -> None:
    """Find the best box of each class (most stages, then largest score, then first), and add up its boxes."""
    # IN boxes (n, 4), stages, scores, labels (n,); OUT best, counts (n_classes,), totals (n_classes, 4)
    best[:], counts[:], totals[:] = -1, 0, 0
    for a in range(len(boxes)):
        label = labels[a]
        counts[label] += 1
        for side in range(4):
            totals[label, side] += boxes[a, side]
        b = best[label]
        if b < 0 or stages[a] > stages[b]:
            best[label] = a
        elif stages[a] == stages[b] and (
            scores[a] > scores[b] or (np.isnan(scores[b]) and not np.isnan(scores[a]))
        ):
            best[label] = a


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
    """Mark boxes that are inside a slightly enlarged other box with more windows."""
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


@kernel
def take_overlapping(
    boxes: NDArray[np.int32],
    filed: NDArray[np.int64],
    rows: NDArray[np.int64],
    spans: NDArray[np.int64],
    reaches: NDArray[np.float64],
    best_first: NDArray[np.intp],
    max_overlap: float,
    next_left: NDArray[np.int64],
    owners: NDArray[np.int32],
) -> None:
    """Keep the best boxes, one after the other, and suppress the remaining ones that overlap each by more."""
    # IN boxes, filed, rows, spans, reaches as above; best_first (m,) boxes to process; IN, OUT next_left (n + 1,) links
    # from each index towards the next remaining one, owners (n,) the box that suppressed each, -1 if remaining
    for a in best_first:
        if owners[a] >= 0:
            continue
        owners[a] = a  # also where max_overlap is 1
        x, y, width, height = np.int64(boxes[a, 0]), np.int64(boxes[a, 1]), boxes[a, 2], boxes[a, 3]
        area = np.int64(width) * np.int64(height)
        for k in range(len(spans)):
            begin, end, reach, most = spans[k, 0], spans[k, 1], reaches[k, 0], reaches[k, 1]
            if min(most, width) * min(most, height) <= max_overlap * area:
                continue
            for near in range(int(np.floor(y / reach)) - 1, int(np.floor((y + height) / reach)) + 1):
                place = first_of_row(boxes, filed, rows, begin, end, near, np.float64(x) - reach)
                while True:
                    place = root_of(next_left, place)
                    if place >= end or rows[place] != near or boxes[filed[place], 0] >= x + width:
                        break
                    b = filed[place]
                    if owners[b] < 0 and overlap(boxes, a, b) > max_overlap:
                        owners[b] = a
                    if owners[b] >= 0:
                        next_left[place] = place + 1
                    place += 1


@kernel
def overlap(boxes: NDArray[np.int32], a: int, b: int) -> float:
    """Return the intersection over union of two boxes."""
    # IN boxes (n, 4): x, y, w, h
    shared = np.int64(1)
    for axis in range(2):
        low = max(boxes[a, axis], boxes[b, axis])
        high = min(
            np.int64(boxes[a, axis]) + boxes[a, axis + 2], np.int64(boxes[b, axis]) + boxes[b, axis + 2]
        )
        shared *= max(high - low, 0)
    area_a, area_b = np.int64(boxes[a, 2]) * boxes[a, 3], np.int64(boxes[b, 2]) * boxes[b, 3]
    return float(shared / (area_a + area_b - shared))
