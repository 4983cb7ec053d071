"""Integral images: plain, squared and tilted, with a first row and column of zeros."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel


@kernel
def fill_integrals(
    gray: NDArray[np.uint8], step: int, total: NDArray[np.int32], squared: NDArray[np.uint32]
) -> None:
    """Fill the plain integral image and, unless it has no rows, the squared one."""
    # IN gray (h, w), step as in `deinterleave_row`; OUT total, squared (h + 1, a multiple of the step, at least w +
    # 1): with step 1, at [y, x] the sum over gray[:y, :x]; columns after that are not written. Both wrap; sums over
    # windows are still exact, squared ones (modulo 2**32) up to 66,051 pixels.
    height, width = gray.shape
    above, above_squared = np.zeros(width + 1, np.int32), np.zeros(width + 1, np.uint32)
    is_squared = len(squared) > 0
    deinterleave_row(above, step, total[0])
    if is_squared:
        deinterleave_row(above_squared, step, squared[0])
    for y in range(height):
        running, running_squared = np.uint32(0), np.uint32(0)
        for x in range(width):
            level = np.uint32(gray[y, x])
            running += level
            above[x + 1] += running
            if is_squared:
                running_squared += level * level
                above_squared[x + 1] += running_squared
        deinterleave_row(above, step, total[y + 1])
        if is_squared:
            deinterleave_row(above_squared, step, squared[y + 1])


@kernel
def fill_tilted(gray: NDArray[np.uint8], step: int, tilted: NDArray[np.int32]) -> None:
    """Fill the tilted integral image, each row from the two above it."""
    # IN gray (h, w), step as in `deinterleave_row`; OUT tilted (h + 1, a multiple of the step, at least w + 1): with
    # step 1, at [Y, X] the sum of gray[y, x] over y < Y and |x - X + 1| <= Y - y - 1, as in OpenCV
    height, width = gray.shape
    # With a column to the right. Pixels outside are 0: a triangle with its tip beside the picture equals that a row
    # higher and a column nearer.
    row, above, before = (
        np.zeros(width + 2, np.int32),
        np.zeros(width + 2, np.int32),
        np.zeros(width + 2, np.int32),
    )
    higher = np.zeros(width, np.uint8)
    deinterleave_row(above[: width + 1], step, tilted[0])
    for y in range(height):
        level = gray[y]
        for x in range(width):
            row[x + 1] = above[x] + above[x + 2] - before[x + 1] + level[x] + higher[x]
        row[0], row[width + 1], higher = above[1], above[width], level
        deinterleave_row(row[: width + 1], step, tilted[y + 1])
        row, above, before = before, row, above


@kernel
def deinterleave_row(row: NDArray[Any], step: int, out: NDArray[Any]) -> None:
    """Make every `step`-th item adjacent, phase by phase."""
    # IN row (w,); OUT out, `step` phases of one length, each at least ceil(w / step) long
    width = len(row)
    if step == 1:
        for i in range(width):
            out[i] = row[i]
        return
    phase = len(out) // step
    for first in range(step):
        part = out[first * phase : (first + 1) * phase]
        for i in range((width - first + step - 1) // step):
            part[i] = row[first + i * step]
