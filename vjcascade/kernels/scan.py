"""Run a cascade over the windows of one level image, or over window-sized crops.

The model is a tuple of flat arrays in the order of evaluation, one row per node (see `vjcascade.detection.compiled`):

0. `offsets` uint32, relative to the window's corner in the flat integral images `planes` (plain, then tilted):
   of Haar nodes (n_nodes, 12), four corners of each of three rectangles; of LBP nodes (n_nodes, 16), the corners
   of three by three cells, row by row;
1. `numbers` (n_nodes, 6) float32: three rectangle weights, threshold, left leaf, right leaf (0 if not a leaf);
2. `links` (n_nodes, 4) int32: the node's index in its tree, those of its left and right child (-1 for a leaf), and
   the number of nodes in the tree; int8 without rows if every tree is a stump;
3. `stage_ends` (n_stages,) int32, in nodes;
4. `thresholds` (n_stages,) float64;
5. `subsets` (n_nodes, 8) int32: the codes that go left, a bit for each; int8 without rows in a Haar cascade;
6. `bounds` (n_stages, 3) float32: if a stage's sum in float32 is below the first, the exact sum is below the
   threshold, however it was rounded; if it is not below the second, neither is the exact sum below the threshold; the
   third is the initial value of the sum;
7. `fast_nodes` (n_nodes, 12) int32: the nodes of cascades with small trees, in another order, for the fast path (see
   `vjcascade.detection.fast_nodes`);
8. `fast_ends` (3 * n_stages + 1,) int32: the ends of their trees of one, two and three nodes; int8 without rows if
   there are larger trees.

The types of 2, 5 and 8 differ, so that kernels are compiled separately for each kind of cascade.

Windows are evaluated in blocks of `LANES` adjacent ones, whose columns must be adjacent in the integral images: for
steps above 1 the images are de-interleaved first. A row is split into tiles. The stages run over a tile one after the
other, in blocks that begin at windows that are still alive, since survivors are clustered: this takes fewer blocks than
a fixed grid, and a tile's part of the integral images stays in the L1 cache. Two blocks are evaluated together.
Processing several tiles together would pair more blocks, but is not faster.

Indices are unsigned, because numba checks signed ones for negative values at every access.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.fast_lanes import UNDECIDED, quick_stage, wide_stage
from vjcascade.kernels.integral import fill_integrals, fill_tilted
from vjcascade.kernels.lanes import CONTRAST_FLOOR, LANES, eight_scales, exact_stage, lowest_bit

Model: TypeAlias = tuple[
    NDArray[np.uint32],
    NDArray[np.float32],
    NDArray[np.int32] | NDArray[np.int8],
    NDArray[np.int32],
    NDArray[np.float64],
    NDArray[np.int32] | NDArray[np.int8],
    NDArray[np.float32],
    NDArray[np.int32],
    NDArray[np.int32] | NDArray[np.int8],
]

TILE = 48
"""Windows in a tile: their bits, and those of a block that begins at the last one, fit into a signed word."""

BLOCK = (1 << LANES) - 1
WIDE = 2 * LANES
WIDE_BLOCK = (1 << WIDE) - 1

WIDE_GAP = LANES + 4
"""A second block that begins before this is read together with the first one; its windows beyond that are processed
later."""

FIRST_CAPACITY = 256

LOW_32_BITS = 0xFFFFFFFF
ONE, ODD_BITS = np.uint64(1), np.uint64(0xAAAAAAAAAAAAAAAA)


@kernel
def window_scale(
    planes: NDArray[np.int32],
    squared: NDArray[np.uint32],
    base: np.uint64,
    norm_rect: NDArray[np.uint32],
    area: float,
) -> np.float32:
    """Return 1 / (area * sigma) over a window's normalisation rectangle, or 0 below the contrast floor."""
    # IN planes, squared flat; norm_rect (4,) corners of the rectangle, relative to the window's
    a, b, c, d = base + norm_rect[0], base + norm_rect[1], base + norm_rect[2], base + norm_rect[3]
    total = np.float64(np.int32(planes[a] - planes[b] - planes[c] + planes[d]))
    raw = np.int64(squared[a]) - np.int64(squared[b]) - np.int64(squared[c]) + np.int64(squared[d])
    spread = area * np.float64(raw & LOW_32_BITS) - total * total
    if spread <= 0.0:
        return np.float32(0.0)
    scale = np.float32(1.0 / np.sqrt(spread))
    return scale if area * np.float64(scale) < CONTRAST_FLOOR else np.float32(0.0)


@kernel
def rectangle_sum(
    planes: NDArray[np.int32], base: np.uint64, offsets: NDArray[np.uint32], node: np.uint64, first: np.uint64
) -> np.int32:
    """Return the sum over the rectangle of a node whose corners start at column `first`."""
    # IN planes flat; offsets as above
    a = planes[base + offsets[node, first]]
    b = planes[base + offsets[node, first + np.uint64(1)]]
    c = planes[base + offsets[node, first + np.uint64(2)]]
    d = planes[base + offsets[node, first + np.uint64(3)]]
    return np.int32(a - b - c + d)


@kernel
def haar_goes_left(
    planes: NDArray[np.int32], base: np.uint64, scale: np.float32, model: Model, node: np.uint64
) -> bool:
    """Return whether a node's normalised feature value is below its threshold: float32, in OpenCV's order."""
    # IN planes flat; model as above
    offsets, numbers = model[0], model[1]
    value = numbers[node, 0] * np.float32(rectangle_sum(planes, base, offsets, node, np.uint64(0)))
    value += numbers[node, 1] * np.float32(rectangle_sum(planes, base, offsets, node, np.uint64(4)))
    if numbers[node, 2] != 0.0:
        value += numbers[node, 2] * np.float32(rectangle_sum(planes, base, offsets, node, np.uint64(8)))
    return bool(value * scale < numbers[node, 3])


@kernel
def cell_sum(
    planes: NDArray[np.int32], base: np.uint64, offsets: NDArray[np.uint32], node: np.uint64, cell: int
) -> np.int32:
    """Return the sum over one of the cells of an LBP node, numbered row by row."""
    # IN planes flat; offsets as above
    first = np.uint64(cell // 3 * 4 + cell % 3)
    a = planes[base + offsets[node, first]]
    b = planes[base + offsets[node, first + np.uint64(1)]]
    c = planes[base + offsets[node, first + np.uint64(4)]]
    d = planes[base + offsets[node, first + np.uint64(5)]]
    return np.int32(a - b - c + d)


@kernel
def lbp_goes_left(planes: NDArray[np.int32], base: np.uint64, model: Model, node: np.uint64) -> bool:
    """Return whether the code of the cells around the middle one, clockwise from the top left, is in the subset."""
    # IN planes flat; model as above
    middle = cell_sum(planes, base, model[0], node, 4)
    code = 0
    for cell in (0, 1, 2, 5, 8, 7, 6, 3):
        code = 2 * code + (1 if cell_sum(planes, base, model[0], node, cell) >= middle else 0)
    return bool((np.int64(model[5][node, np.uint64(code >> 5)]) >> (code & 31)) & 1)


@kernel
def scalar_stage(
    planes: NDArray[np.int32],
    base: np.uint64,
    scale: np.float32,
    model: Model,
    first: np.uint64,
    end: np.uint64,
) -> float:
    """Return the sum of leaf values of one stage, nodes `first` to `end`, for one window."""
    # IN planes flat; model as above
    numbers, links = model[1], model[2]
    node, total = first, 0.0
    while node < end:
        if len(model[5]):
            left = lbp_goes_left(planes, base, model, node)
        else:
            left = haar_goes_left(planes, base, scale, model, node)
        side = np.uint64(0 if left else 1)
        if len(links) and links[node, np.uint64(1) + side] >= 0:
            node += np.uint64(links[node, np.uint64(1) + side] - links[node, 0])
        else:
            total += np.float64(numbers[node, np.uint64(4) + side])
            node += np.uint64(links[node, 3] - links[node, 0] if len(links) else 1)
    return total


@kernel
def tile_scales(
    planes: NDArray[np.int32],
    squared: NDArray[np.uint32],
    base: np.uint64,
    norm_rect: NDArray[np.uint32],
    area: float,
    n_windows: int,
    scales: NDArray[np.float32],
) -> int:
    """Compute `window_scale` for the windows of a tile; return as bits which have enough contrast."""
    # IN planes, squared flat; norm_rect without corners where windows are not normalised; OUT scales (TILE + WIDE,)
    bits = 0
    for start in range(0, n_windows, LANES):
        place = np.uint64(start)
        if LANES == 1:
            scales[place] = window_scale(planes, squared, base + place, norm_rect, area)
            bits |= int(scales[place] > 0.0) << start
        else:
            bits |= eight_scales(planes, squared, base + place, norm_rect, area, scales, place) << start
    return bits


@kernel
def tile_stage(
    planes: NDArray[np.int32],
    base: np.uint64,
    scales: NDArray[np.float32],
    alive: int,
    model: Model,
    stage: int,
    sums: NDArray[np.float64],
) -> int:
    """Compute the exact sums of some windows of a tile, and return as bits which of these pass the stage."""
    # IN planes flat, base of the tile's first window, scales (TILE + WIDE,); OUT sums (TILE + WIDE,)
    nodes = (np.uint64(model[3][stage - 1] if stage else 0), np.uint64(model[3][stage]))
    threshold = model[4][stage]
    passed = 0
    while alive:
        start = bit_count((alive & -alive) - 1) if LANES == 1 else lowest_bit(alive)
        place = np.uint64(start)
        if LANES == 1:
            sums[place] = scalar_stage(planes, base + place, scales[place], model, nodes[0], nodes[1])
            bits = 0 if sums[place] < threshold else 1
        else:
            bits = exact_stage(planes, base, scales, (place,), model, nodes, threshold, sums)
        passed |= (bits << start) & alive
        alive &= ~(BLOCK << start)
    return passed


@kernel
def visited_windows(evaluable: int, passed: int, n_windows: int, skip_first: bool) -> tuple[int, bool]:
    """Return which windows OpenCV visits: it skips the one to the right of a visited window that stage 0 rejects."""
    # In a run of rejected windows that is every second one. The carries of a subtraction separate even from odd windows
    # in all runs at once, as simdjson does for runs of backslashes (Langdale and Lemire 2019).
    skipped = np.uint64(skip_first)
    rejected = np.uint64(evaluable & ~passed)
    begins = rejected & ~skipped
    codes = (((begins << ONE) | ODD_BITS) - begins) ^ ODD_BITS
    visited = ~(codes ^ (rejected | skipped)) & np.uint64((1 << n_windows) - 1)
    last = np.uint64(n_windows - 1)
    return int(np.int64(visited)), bool(((codes & rejected) >> last) & ONE)


@kernel
def bit_count(bits: int) -> int:
    """Return the number of bits that are set."""
    left = np.uint64(bits)
    left -= (left >> ONE) & np.uint64(0x5555555555555555)
    left = (left & np.uint64(0x3333333333333333)) + ((left >> np.uint64(2)) & np.uint64(0x3333333333333333))
    left = (left + (left >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((left * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@kernel
def scan_grid(
    planes: NDArray[np.int32],
    shorts: NDArray[np.uint16],
    squared: NDArray[np.uint32],
    rows: NDArray[np.int64],
    grid: NDArray[np.int64],
    norm_rect: NDArray[np.uint32],
    model: Model,
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Run the cascade along some rows; return the windows found, their last sums, and their number in each row."""
    # IN planes, squared flat, with room for TILE + WIDE windows at the end of the last row; norm_rect without
    # corners, and squared without items, for LBP, which does not normalise windows; rows (n, 2): y and number of
    # windows; grid (5,): step, whether to skip after stage 0, row stride, area of norm_rect, stages that a window must
    # pass to be returned. OUT windows (n, 3): x, y, stages passed; in a tile, those that pass fewer come first
    step, skips, stride, area = grid[0], grid[1] != 0, grid[2], np.float64(grid[3])
    n_stages, min_stages = len(model[4]), grid[4]
    windows, sums = np.empty((FIRST_CAPACITY, 3), np.int32), np.empty(FIRST_CAPACITY, np.float64)
    scales, tile_sums = np.ones(TILE + WIDE, np.float32), np.zeros(TILE + WIDE, np.float64)
    # No literal 0: for it, `appended` would be compiled once more.
    n_found, n_visited = int(np.int64(0)), np.zeros(len(rows), np.int64)
    for row in range(len(rows)):
        y, n_columns, skip = rows[row, 0], rows[row, 1], False
        for first in range(0, n_columns, TILE):
            base = np.uint64(y * stride + first)
            n_in_tile = min(TILE, n_columns - first)
            visited = (1 << n_in_tile) - 1
            evaluable = visited
            if len(norm_rect):
                evaluable &= tile_scales(planes, squared, base, norm_rect, area, n_in_tile, scales)
            alive = evaluable
            for stage in range(n_stages):
                passed, undecided, todo = 0, 0, alive
                nodes = (np.uint64(model[3][stage - 1] if stage else 0), np.uint64(model[3][stage]))
                if LANES == 1:
                    undecided, todo = alive, 0
                while todo:  # inlined, as a function call would count references to all arrays
                    start = lowest_bit(todo)
                    starts = (np.uint64(start),)
                    rest = todo & ~(BLOCK << start)
                    second = lowest_bit(rest) if rest else start + WIDE
                    block = BLOCK
                    if second < start + WIDE_GAP:
                        block = WIDE_BLOCK
                        bits = wide_stage(
                            planes, shorts, base, scales, starts, model, nodes, np.uint64(stage)
                        )
                    elif rest:
                        both = (np.uint64(start), np.uint64(second))
                        bits = quick_stage(planes, shorts, base, scales, both, model, nodes, np.uint64(stage))
                        passed |= (((bits >> LANES) & BLOCK) << second) & rest
                        undecided |= (((bits >> (UNDECIDED + LANES)) & BLOCK) << second) & rest
                        rest &= ~(BLOCK << second)
                    else:
                        bits = quick_stage(
                            planes, shorts, base, scales, starts, model, nodes, np.uint64(stage)
                        )
                    passed |= ((bits & block) << start) & todo
                    undecided |= (((bits >> UNDECIDED) & block) << start) & todo
                    todo = rest & ~(block << start)
                if undecided:
                    passed |= tile_stage(planes, base, scales, undecided, model, stage, tile_sums)
                if stage == 0 and skips:
                    visited, skip = visited_windows(evaluable, passed, n_in_tile, skip)
                    passed &= visited
                if stage >= min_stages and alive & ~passed:
                    tile_stage(planes, base, scales, alive & ~passed, model, stage, tile_sums)
                    found = (alive & ~passed, first, step, y, stage)
                    windows, sums, n_found = appended(windows, sums, n_found, found, tile_sums)
                alive = passed
                if alive == 0:
                    break
            if alive:
                if n_stages:
                    tile_stage(planes, base, scales, alive, model, n_stages - 1, tile_sums)
                found = (alive, first, step, y, n_stages)
                windows, sums, n_found = appended(windows, sums, n_found, found, tile_sums)
            n_visited[row] += bit_count(visited)
    return windows[:n_found].copy(), sums[:n_found].copy(), n_visited


@kernel
def appended(
    windows: NDArray[np.int32],
    sums: NDArray[np.float64],
    n_found: int,
    found: tuple[int, int, int, int, int],
    tile_sums: NDArray[np.float64],
) -> tuple[NDArray[np.int32], NDArray[np.float64], int]:
    """Append windows of a tile to the buffers; return these, enlarged if necessary, and the number of windows."""
    # IN windows (n, 3), sums (n,); found: windows as bits, the tile's first column, step, y, stages passed;
    # tile_sums (TILE + WIDE,)
    bits, first, step, y, n_passed = found
    while n_found + bit_count(bits) > len(sums):
        windows, sums = doubled(windows, sums)
    for window in range(TILE):
        if (bits >> window) & 1:
            windows[n_found, 0] = (first + window) * step
            windows[n_found, 1] = y
            windows[n_found, 2] = n_passed
            sums[n_found] = tile_sums[window]
            n_found += 1
    return windows, sums, n_found


@kernel
def doubled(
    windows: NDArray[np.int32], sums: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return copies of full buffers with twice their size."""
    # IN windows (n, 3), sums (n,)
    n = len(sums)
    more_windows = np.empty((2 * n, 3), np.int32)
    more_sums = np.empty(2 * n, np.float64)
    for i in range(n):
        more_sums[i] = sums[i]
        for j in range(3):
            more_windows[i, j] = windows[i, j]
    return more_windows, more_sums


@kernel
def evaluate_crops(
    crops: NDArray[np.uint8],
    planes: NDArray[np.int32],
    norm_rect: NDArray[np.uint32],
    model: Model,
    passed: NDArray[np.int32],
    sums: NDArray[np.float64],
) -> None:
    """Run the cascade on window-sized crops."""
    # IN crops (n, h, w), planes (1 or 2, h + 1, w + 1) working space, norm_rect as above; OUT passed, sums (n,)
    n, height, width = crops.shape
    area = np.float64((height - 2) * (width - 2))
    squared = np.empty((height + 1 if len(norm_rect) else 0, width + 1), np.uint32)
    flat_planes, flat_squared = planes.reshape(planes.size), squared.reshape(squared.size)
    for i in range(n):
        fill_integrals(crops[i], 1, planes[0], squared)
        if len(planes) > 1:
            fill_tilted(crops[i], 1, planes[1])
        scale = np.float32(1.0)
        if len(norm_rect):
            scale = window_scale(flat_planes, flat_squared, np.uint64(0), norm_rect, area)
        passed[i], sums[i] = (run_stages(flat_planes, scale, model)) if scale > 0.0 else (-1, 0.0)


@kernel
def run_stages(planes: NDArray[np.int32], scale: np.float32, model: Model) -> tuple[int, float]:
    """Return how many stages the window at the start of `planes` passes, and the sum of the last one evaluated."""
    # IN planes flat; model as above
    first, total = np.uint64(0), 0.0
    for stage in range(len(model[4])):
        end = np.uint64(model[3][stage])
        total = scalar_stage(planes, np.uint64(0), scale, model, first, end)
        if total < model[4][stage]:
            return stage, total
        first = end
    return len(model[4]), total
