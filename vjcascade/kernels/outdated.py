"""Samples whose weights are out of date, without sorting all of them."""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel

KEY_SHIFT = np.uint64(48)
"""Leaves of a non-negative float64 its exponent and four bits of its mantissa: a key that rises with it."""

N_KEYS = 1 << 15
"""Keys of non-negative numbers."""


@kernel
def add_up_by_size(
    parts: NDArray[np.float64],  # IN (2, n) weights of each sample as a positive and as a negative
    held: NDArray[np.float64],  # IN (2, n) weights of the histograms, in units
    unit: NDArray[np.float64],  # IN (2,)
    weight_sums: NDArray[np.float64],  # IN (2,)
    off: NDArray[np.float64],  # OUT (n,) difference of each sample's weights, as a share of a class's weight
    keys: NDArray[np.uint64],  # the same memory as `off`
    sums: NDArray[np.float64],  # IN and OUT (N_KEYS,) sums of the differences of each size
) -> None:
    """Write how far weights are out of date, and add these differences up by their size."""
    for i in range(len(off)):
        off[i] = (
            abs(parts[0, i] - held[0, i] * unit[0]) / weight_sums[0]
            + abs(parts[1, i] - held[1, i] * unit[1]) / weight_sums[1]
        )
        sums[keys[i] >> KEY_SHIFT] += off[i]


@kernel
def select_largest(
    off: NDArray[np.float64],  # IN (n,)
    keys: NDArray[np.uint64],  # IN the same memory
    smallest: int,  # smallest key that is selected
    left: float,  # sum of differences with this key that may stay unselected
    samples: NDArray[np.intp],  # OUT (n,) selected samples, ascending
) -> int:
    """Select samples with large differences, and return how many."""
    n, limit = 0, np.uint64(smallest)
    for i in range(len(off)):
        key = keys[i] >> KEY_SHIFT
        if key < limit:
            continue
        if key == limit and off[i] <= left:
            left -= off[i]
            continue
        samples[n] = i
        n += 1
    return n


@kernel
def add_up_errors(
    parts: NDArray[np.float64],  # IN (2, n) weights of each sample as a positive and as a negative
    held: NDArray[np.float64],  # IN (2, n) weights of the histograms, in units
    unit: NDArray[np.float64],  # IN (2,)
    above: NDArray[np.float64],  # OUT (2,) sum by which weights of the histograms exceed those of the samples
    below: NDArray[np.float64],  # OUT (2,) sum by which they fall short of them
) -> None:
    """Add up the differences of weights, those of either sign by themselves."""
    for part in range(2):
        above[part] = below[part] = 0.0
        for i in range(parts.shape[1]):
            off = parts[part, i] - held[part, i] * unit[part]
            above[part] -= min(off, 0.0)
            below[part] += max(off, 0.0)
