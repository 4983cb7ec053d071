"""Run a cascade over the windows of one level image, or over window-sized crops.

The model is a tuple of flat arrays in the order of evaluation, one row a node (see `vjcascade.detection.scanner`):

0. `offsets` (n_nodes, 12) uint32: four corners of each of three rectangles, relative to the window's corner in
   the flat integral images `planes` (plain, then tilted);
1. `numbers` (n_nodes, 6) float32: three rectangle weights, threshold, left leaf, right leaf (0 if not a leaf);
2. `links` (n_nodes, 4) int32: the node's place in its tree, the places of its left and right child (-1 for a
   leaf), and how many nodes the tree has; no rows at all if every tree is a stump;
3. `stage_ends` (n_stages,) int32, in nodes;
4. `thresholds` (n_stages,) float64.

Windows are run in blocks of `LANES` neighbours, whose columns must lie side by side in the integral images:
for steps above 1 the images are de-interleaved first. Indices are unsigned, because numba tests signed ones for
being negative at every access.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.integral import LOW_32_BITS, fill_integrals, fill_tilted
from vjcascade.kernels.lanes import LANES, stump_stage, tree_stage

Model: TypeAlias = tuple[
    NDArray[np.uint32], NDArray[np.float32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]
]

CONTRAST_FLOOR = 0.1
"""A window is evaluated if area / (area * sigma) is below it: sigma above ten grey levels (OpenCV's rule)."""

FIRST_CAPACITY = 256


@kernel
def window_scale(
    planes: NDArray[np.int32],
    squared: NDArray[np.uint32],
    base: np.uint64,
    inset: NDArray[np.uint32],
    area: float,
) -> np.float32:
    """Return 1 / (area * sigma) of a window's inset, or 0 below the contrast floor."""
    # IN planes, squared flat; inset (4,) corners of the inset, relative to the window's
    a, b, c, d = base + inset[0], base + inset[1], base + inset[2], base + inset[3]
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
) -> np.float32:
    """Return the sum over the rectangle of a node whose corners start at column `first`."""
    # IN planes flat; offsets as above
    a = planes[base + offsets[node, first]]
    b = planes[base + offsets[node, first + np.uint64(1)]]
    c = planes[base + offsets[node, first + np.uint64(2)]]
    d = planes[base + offsets[node, first + np.uint64(3)]]
    return np.float32(np.int32(a - b - c + d))


@kernel
def goes_left(
    planes: NDArray[np.int32], base: np.uint64, scale: np.float32, model: Model, node: np.uint64
) -> bool:
    """Tell whether a node's normalised feature value is below its threshold: float32, in OpenCV's order."""
    # IN planes flat; model as above
    offsets, numbers = model[0], model[1]
    value = numbers[node, 0] * rectangle_sum(planes, base, offsets, node, np.uint64(0))
    value += numbers[node, 1] * rectangle_sum(planes, base, offsets, node, np.uint64(4))
    if numbers[node, 2] != 0.0:
        value += numbers[node, 2] * rectangle_sum(planes, base, offsets, node, np.uint64(8))
    return bool(value * scale < numbers[node, 3])


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
        side = np.uint64(0 if goes_left(planes, base, scale, model, node) else 1)
        if len(links) and links[node, np.uint64(1) + side] >= 0:
            node += np.uint64(links[node, np.uint64(1) + side] - links[node, 0])
        else:
            total += np.float64(numbers[node, np.uint64(4) + side])
            node += np.uint64(links[node, 3] - links[node, 0] if len(links) else 1)
    return total


@kernel
def row_scales(
    planes: NDArray[np.int32],
    squared: NDArray[np.uint32],
    base: np.uint64,
    inset: NDArray[np.uint32],
    area: float,
    scales: NDArray[np.float32],
) -> None:
    """Compute `window_scale` for all windows of a row."""
    # IN planes, squared flat; OUT scales (n,)
    for i in range(len(scales)):
        scales[i] = window_scale(planes, squared, base + np.uint64(i), inset, area)


@kernel
def block_stage(
    planes: NDArray[np.int32],
    base: np.uint64,
    scales: NDArray[np.float32],
    column: np.uint64,
    model: Model,
    stage: int,
    sums: NDArray[np.float64],
) -> int:
    """Return as bits which windows of a block pass a stage."""
    # IN planes flat, base and column of the block's first window; OUT sums (LANES,)
    first = np.uint64(model[3][stage - 1] if stage else 0)
    end = np.uint64(model[3][stage])
    threshold = model[4][stage]
    if LANES == 1:
        sums[0] = scalar_stage(planes, base, scales[column], model, first, end)
        return 0 if sums[0] < threshold else 1
    if len(model[2]):
        return int(np.int64(tree_stage(planes, base, scales, column, model, first, end, threshold, sums)))
    return int(np.int64(stump_stage(planes, base, scales, column, model, first, end, threshold, sums)))


@kernel
def visited_lanes(evaluable: int, passed: int, n_lanes: int, skip_first: bool) -> tuple[int, bool]:
    """Return which lanes OpenCV visits: not those to the right of one that it visits and stage 0 rejects."""
    visited, skip = 0, skip_first
    for lane in range(n_lanes):
        bit = 1 << lane
        if skip:
            skip = False
        else:
            visited |= bit
            skip = (evaluable & bit) != 0 and (passed & bit) == 0
    return visited, skip


@kernel
def bit_count(bits: int) -> int:
    """Count the bits that are set."""
    n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n


@kernel
def scan_grid(
    planes: NDArray[np.int32],
    squared: NDArray[np.uint32],
    rows: NDArray[np.int64],
    grid: NDArray[np.int64],
    inset: NDArray[np.uint32],
    model: Model,
) -> tuple[NDArray[np.int32], NDArray[np.float64], int]:
    """Run the cascade along some rows; return the positions that pass, their last sums, and how many were tried."""
    # IN planes, squared flat, with room for LANES windows at the end of the last row;
    # IN rows (n,) their y; grid (5,): columns, step, skip after stage 0 or not, row stride, inset area
    n_columns, step, skips, stride, area = grid[0], grid[1], grid[2] != 0, grid[3], np.float64(grid[4])
    positions, sums = np.empty((FIRST_CAPACITY, 2), np.int32), np.empty(FIRST_CAPACITY, np.float64)
    scales, block_sums = np.zeros(n_columns + LANES, np.float32), np.zeros(LANES, np.float64)
    n_found, n_windows = 0, 0
    for y in rows:
        row = np.uint64(y * stride)
        row_scales(planes, squared, row, inset, area, scales[:n_columns])
        skip = False
        for column in range(0, n_columns, LANES):
            alive = 0
            for lane in range(LANES):
                if scales[column + lane] > 0.0:
                    alive |= 1 << lane
            n_lanes = min(LANES, n_columns - column)
            visited = (1 << n_lanes) - 1
            for stage in range(len(model[4])):
                if alive == 0 and stage > 0:
                    break
                passed, first = 0, np.uint64(column)
                if alive:
                    passed = block_stage(planes, row + first, scales, first, model, stage, block_sums)
                if stage == 0 and skips:
                    visited, skip = visited_lanes(alive, passed, n_lanes, skip)
                    alive &= visited
                alive &= passed
            n_windows += bit_count(visited)
            while alive:
                lane = bit_count((alive & -alive) - 1)
                alive &= alive - 1
                if n_found == len(sums):
                    positions, sums = doubled(positions, sums)
                positions[n_found, 0] = (column + lane) * step
                positions[n_found, 1] = y
                sums[n_found] = block_sums[lane]
                n_found += 1
    return positions[:n_found].copy(), sums[:n_found].copy(), n_windows


@kernel
def doubled(
    positions: NDArray[np.int32], sums: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return full buffers at twice their size."""
    # IN positions (n, 2), sums (n,)
    n = len(sums)
    more_positions = np.empty((2 * n, 2), np.int32)
    more_sums = np.empty(2 * n, np.float64)
    more_positions[:n] = positions
    more_sums[:n] = sums
    return more_positions, more_sums


@kernel
def evaluate_crops(
    crops: NDArray[np.uint8],
    planes: NDArray[np.int32],
    inset: NDArray[np.uint32],
    model: Model,
    passed: NDArray[np.int32],
    sums: NDArray[np.float64],
) -> None:
    """Run the cascade on window-sized crops."""
    # IN crops (n, h, w), planes (1 or 2, h + 1, w + 1) working space; OUT passed, sums (n,)
    n, height, width = crops.shape
    area = np.float64((height - 2) * (width - 2))
    squared = np.empty((height + 1, width + 1), np.uint32)
    flat_planes, flat_squared = planes.reshape(planes.size), squared.reshape(squared.size)
    for i in range(n):
        fill_integrals(crops[i], planes[0], squared)
        if len(planes) > 1:
            fill_tilted(crops[i], planes[1])
        scale = window_scale(flat_planes, flat_squared, np.uint64(0), inset, area)
        passed[i], sums[i] = (run_stages(flat_planes, scale, model)) if scale > 0.0 else (-1, 0.0)


@kernel
def run_stages(planes: NDArray[np.int32], scale: np.float32, model: Model) -> tuple[int, float]:
    """Return how many stages the window at the start of `planes` passes, and the last evaluated sum."""
    # IN planes flat; model as above
    first, total = np.uint64(0), 0.0
    for stage in range(len(model[4])):
        end = np.uint64(model[3][stage])
        total = scalar_stage(planes, np.uint64(0), scale, model, first, end)
        if total < model[4][stage]:
            return stage, total
        first = end
    return len(model[4]), total
