"""The search for the best stump: class-wise histograms of sample weight over bins."""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.haar import N_BINS


@kernel
def least_errors(
    bins: NDArray[np.uint8],  # IN (n_features, n_samples), the positives first
    weights: NDArray[np.float64],  # IN (n_samples,)
    n_positives: int,
    errors: NDArray[np.float64],  # OUT (n_features,)
) -> None:
    """Write each feature's least weighted error over all cuts between bins and both polarities.

    Four features share a pass over the samples: four chains of additions instead of one hide each other's latency.
    """
    n_features, n_samples = bins.shape
    positives = np.empty((4, N_BINS))
    negatives = np.empty((4, N_BINS))
    mass_p, mass_n = weights[:n_positives].sum(), weights[n_positives:].sum()
    for first in range(0, n_features, 4):
        last = n_features - 1
        row0, row1 = bins[first], bins[min(first + 1, last)]
        row2, row3 = bins[min(first + 2, last)], bins[min(first + 3, last)]
        _add_up(row0, row1, row2, row3, weights, 0, n_positives, positives)
        _add_up(row0, row1, row2, row3, weights, n_positives, n_samples, negatives)
        for lane in range(min(4, n_features - first)):
            left_p, left_n = 0.0, 0.0
            least = min(mass_p, mass_n)
            for b in range(N_BINS):
                left_p += positives[lane, b]
                left_n += negatives[lane, b]
                least = min(least, left_p + mass_n - left_n, mass_p - left_p + left_n)
            errors[first + lane] = least


@kernel
def _add_up(
    row0: NDArray[np.uint8],  # IN (n_samples,) bins of four features
    row1: NDArray[np.uint8],
    row2: NDArray[np.uint8],
    row3: NDArray[np.uint8],
    weights: NDArray[np.float64],  # IN (n_samples,)
    start: int,
    stop: int,
    histograms: NDArray[np.float64],  # OUT (4, N_BINS)
) -> None:
    """Write the weight in each bin of four features, over the samples `start:stop`."""
    histograms[:] = 0
    sums0, sums1, sums2, sums3 = histograms[0], histograms[1], histograms[2], histograms[3]
    for i in range(start, stop):
        weight = weights[i]
        sums0[row0[i]] += weight
        sums1[row1[i]] += weight
        sums2[row2[i]] += weight
        sums3[row3[i]] += weight
