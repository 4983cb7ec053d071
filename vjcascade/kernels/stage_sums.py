"""Sums of the later stages for given windows, also of stages after a rejection."""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.scan import Model, scalar_stage, window_scale


@kernel
def fill_stage_sums(
    planes: NDArray[np.int32],
    squared: NDArray[np.uint32],
    windows: NDArray[np.int32],
    grid: NDArray[np.int64],
    norm_rect: NDArray[np.uint32],
    model: Model,
    first_stage: int,
    sums: NDArray[np.float64],
) -> None:
    """Compute the exact sums of leaf values of all stages from one on, without early exit."""
    # IN planes, squared, norm_rect, model as in `vjcascade.kernels.scan`; windows (n, 2) x, y, x a multiple of step;
    # grid (3,): step, row stride, area of norm_rect; OUT sums (n, n_stages - first_stage)
    step, stride, area = grid[0], grid[1], np.float64(grid[2])
    for i in range(len(windows)):
        base = np.uint64(windows[i, 1] * stride + windows[i, 0] // step)
        scale = np.float32(1.0)
        if len(norm_rect):
            scale = window_scale(planes, squared, base, norm_rect, area)
        for stage in range(first_stage, len(model[3])):
            first = np.uint64(model[3][stage - 1] if stage else 0)
            end = np.uint64(model[3][stage])
            sums[i, stage - first_stage] = scalar_stage(planes, base, scale, model, first, end)
