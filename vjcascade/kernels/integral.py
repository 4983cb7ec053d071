"""Integral images: plain, squared and tilted, with a first row and column of zeros."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel

LOW_32_BITS = 0xFFFFFFFF


@kernel
def fill_integrals(gray: NDArray[np.uint8], total: NDArray[np.int32], squared: NDArray[np.uint32]) -> None:
    """Fill the plain integral image and, unless it is empty, the squared one."""
    # IN gray (h, w); OUT total, squared (h + 1, w + 1): at [y, x] the sum over gray[:y, :x]. Both wrap; sums of
    # windows stay right, squared ones (modulo 2**32) up to 66,051 pixels.
    height, width = gray.shape
    total[0, :] = 0
    if squared.size:
        squared[0, :] = 0
    for y in range(height):
        row, row_squared = np.int64(0), np.int64(0)
        total[y + 1, 0] = 0
        for x in range(width):
            row += np.int64(gray[y, x])
            total[y + 1, x + 1] = np.int64(total[y, x + 1]) + row
        if squared.size:
            squared[y + 1, 0] = 0
            for x in range(width):
                row_squared += np.int64(gray[y, x]) * np.int64(gray[y, x])
                squared[y + 1, x + 1] = (np.int64(squared[y, x + 1]) + row_squared) & LOW_32_BITS


@kernel
def fill_tilted(gray: NDArray[np.uint8], tilted: NDArray[np.int32]) -> None:
    """Fill the tilted integral image, each entry from the two rows above it."""
    # IN gray (h, w); OUT tilted (h + 1, w + 1): at [Y, X] the sum of gray[y, x] over y < Y and
    # |x - X + 1| <= Y - y - 1, as in OpenCV
    height, width = gray.shape
    tilted[0, :] = 0
    tilted[1, 0] = 0
    for x in range(1, width + 1):
        tilted[1, x] = gray[0, x - 1]
    for y in range(2, height + 1):
        # Outside the picture there is nothing: a triangle that starts left of it equals one two rows higher.
        tilted[y, 0] = tilted[y - 1, 1]
        for x in range(1, width + 1):
            column = np.int64(gray[y - 1, x - 1]) + np.int64(gray[y - 2, x - 1])
            sides = np.int64(tilted[y - 1, x - 1])
            if x < width:
                sides += np.int64(tilted[y - 1, x + 1]) - np.int64(tilted[y - 2, x])
            tilted[y, x] = sides + column


@kernel
def deinterleave(image: NDArray[Any], step: int, out: NDArray[Any]) -> None:
    """Put every `step`-th column side by side, phase after phase."""
    # IN image (h, w); OUT out flat, h rows of `step` phases, each ceil(w / step) wide
    height, width = image.shape
    phase = (width + step - 1) // step
    for y in range(height):
        row = image[y]
        for first in range(step):
            part = out[(y * step + first) * phase : (y * step + first + 1) * phase]
            for i in range((width - first + step - 1) // step):
                part[i] = row[first + i * step]
