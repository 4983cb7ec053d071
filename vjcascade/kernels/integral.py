"""Integral images: plain, squared and tilted, with a first row and column of zeros."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel

LOW_32_BITS = 0xFFFFFFFF


def integral_image(gray: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Sum all pixels above and to the left.

    Parameters
    ----------
    gray : ndarray of shape (h, w), dtype uint8
        Grey levels.

    Returns
    -------
    ndarray of shape (h + 1, w + 1), dtype int32
        At `[y, x]` the sum of `gray[:y, :x]`; it wraps in pictures of more than 8.4 million white pixels,
        which leaves the sums of windows right.

    Examples
    --------
    >>> integral_image(np.array([[1, 2], [3, 4]], np.uint8)).tolist()
    [[0, 0, 0], [0, 1, 3], [0, 4, 10]]
    """
    total = _new_integral(gray, np.int32)
    fill_integrals(_plain(gray), total, np.empty((0, 0), np.uint32))
    return total


def squared_integral(gray: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Sum all squared pixels above and to the left, modulo 2**32.

    Parameters
    ----------
    gray : ndarray of shape (h, w), dtype uint8
        Grey levels.

    Returns
    -------
    ndarray of shape (h + 1, w + 1), dtype uint32
        Differences modulo 2**32 are exact for windows of up to 66,051 pixels.

    Examples
    --------
    >>> squared_integral(np.array([[1, 2], [3, 4]], np.uint8)).tolist()
    [[0, 0, 0], [0, 1, 5], [0, 10, 30]]
    """
    squared = _new_integral(gray, np.uint32)
    fill_integrals(_plain(gray), _new_integral(gray, np.int32), squared)
    return squared


def tilted_integral(gray: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Sum the pixels in the triangle that opens upward at 45 degrees.

    Parameters
    ----------
    gray : ndarray of shape (h, w), dtype uint8
        Grey levels.

    Returns
    -------
    ndarray of shape (h + 1, w + 1), dtype int32
        At `[Y, X]` the sum of `gray[y, x]` over `y < Y` and `|x - X + 1| <= Y - y - 1`, as in OpenCV.

    Examples
    --------
    >>> tilted_integral(np.array([[1, 2], [3, 4]], np.uint8)).tolist()
    [[0, 0, 0], [0, 1, 2], [1, 6, 7]]
    """
    tilted = _new_integral(gray, np.int32)
    fill_tilted(_plain(gray), tilted)
    return tilted


def _plain(gray: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a contiguous, writable array: numba would compile once more for every other kind."""
    return np.require(gray, np.uint8, ["C", "W"])


def _new_integral(gray: NDArray[np.uint8], dtype: type) -> NDArray:  # type: ignore[type-arg]
    return np.empty((gray.shape[0] + 1, gray.shape[1] + 1), dtype)


@kernel
def fill_integrals(gray: NDArray[np.uint8], total: NDArray[np.int32], squared: NDArray[np.uint32]) -> None:
    """Fill the plain integral image and, unless it is empty, the squared one."""
    # IN gray (h, w); OUT total, squared (h + 1, w + 1)
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
    # IN gray (h, w); OUT tilted (h + 1, w + 1)
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
