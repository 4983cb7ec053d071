"""Codes of multi-block LBP features for many windows at once.

Samples are on the last axis, as in `vjcascade.kernels.haar`. Codes are those of `vjcascade.kernels.scan`: a bit is set
for each of the eight cells around the middle one that is at least as bright, clockwise from the top left, highest bit
first.
"""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel

RING = (0, 1, 2, 6, 10, 9, 8, 4)
"""The top left corner of each outer cell, among the sixteen corners of three by three cells."""

MIDDLE = 5


@kernel
def feature_codes(
    corners: NDArray[np.int32],  # IN (n_corners, n_samples)
    rows: NDArray[np.uint32],  # IN (n_features, 16) corner rows of each feature's cells
    block: int,
    codes: NDArray[np.uint8],  # OUT (n_features, n_samples)
) -> None:
    """Write the codes of all features and samples."""
    n_samples = corners.shape[1]
    middle, bits = np.empty(block, np.int32), np.empty(block, np.int32)
    for start in range(0, n_samples, block):  # the corners of a block of samples stay in the cache
        stop = min(start + block, n_samples)
        for f in range(len(rows)):
            _fill_codes(
                corners, rows[f], start, middle[: stop - start], bits[: stop - start], codes[f, start:stop]
            )


@kernel
def _fill_codes(
    corners: NDArray[np.int32],  # IN (n_corners, n_samples)
    rows: NDArray[np.uint32],  # IN (16,)
    start: int,
    middle: NDArray[np.int32],  # working space (n,)
    bits: NDArray[np.int32],  # working space (n,)
    codes: NDArray[np.uint8],  # OUT (n,) of the samples from `start` on
) -> None:
    """Write one feature's codes for adjacent samples."""
    stop = start + len(codes)
    for step in range(9):
        corner = MIDDLE if step == 0 else RING[step - 1]
        p0, p1 = corners[rows[corner], start:stop], corners[rows[corner + 1], start:stop]
        p2, p3 = corners[rows[corner + 4], start:stop], corners[rows[corner + 5], start:stop]
        if step == 0:
            for i in range(len(codes)):
                middle[i] = p0[i] - p1[i] - p2[i] + p3[i]
                bits[i] = 0
        else:
            for i in range(len(codes)):
                brighter = np.int32(p0[i] - p1[i] - p2[i] + p3[i]) >= middle[i]
                bits[i] = 2 * bits[i] + np.int32(brighter)
    for i in range(len(codes)):
        codes[i] = np.uint8(bits[i])
