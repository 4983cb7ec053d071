"""The search for the best stump: histograms of sample weight over bins.

For each feature and each cut between bins, the positives below the cut weigh P and the negatives N. A stump that calls
the upper side positive has the errors (P, all negatives - N); turned around, (all positives - P, N).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.haar import N_BINS


@kernel
def least_on_line(
    bins: NDArray[np.uint8],  # IN (n_features, n_samples)
    signed_weights: NDArray[np.float64],  # IN (n_samples,) of positives, minus that of negatives
    mass_p: float,
    mass_n: float,
    errors: NDArray[np.float64],  # OUT (n_features,)
) -> None:
    """Write each feature's least weighted error over all cuts between bins and both polarities."""
    n_features = len(bins)
    histograms = np.empty((4, N_BINS))
    for first in range(0, n_features, 4):
        _add_up(bins, first, signed_weights, histograms)
        for lane in range(min(4, n_features - first)):
            below, low, high = 0.0, 0.0, 0.0
            for b in range(N_BINS):
                below += histograms[lane, b]
                low = min(low, below)
                high = max(high, below)
            errors[first + lane] = min(mass_n + low, mass_p - high)


@kernel
def least_on_lines(
    bins: NDArray[np.uint8],  # IN (n_features, n_samples)
    packed_weights: NDArray[np.uint64],  # IN (n_samples,), see `_unpack`
    lines: NDArray[np.float64],  # IN (N_LINES, 2)
    least: NDArray[np.float64],  # OUT (N_LINES, n_features)
) -> None:
    """Write for each line (a, b) and feature the least a * errors_p + b * errors_n."""
    n_features = len(bins)
    histograms = np.empty((4, N_BINS), np.uint64)
    below_p, below_n = np.empty(N_BINS), np.empty(N_BINS)
    for first in range(0, n_features, 4):
        _add_up(bins, first, packed_weights, histograms)
        for lane in range(min(4, n_features - first)):
            _unpack(histograms[lane], below_p, below_n)
            _least_on_four_lines(below_p, below_n, lines, least[:, first + lane])


@kernel
def least_gini(
    bins: NDArray[np.uint8],  # IN (n_features, n_samples)
    packed_weights: NDArray[np.uint64],  # IN (n_samples,), see `_unpack`
    losses: NDArray[np.float64],  # OUT (n_features,)
) -> None:
    """Write the least sum of both sides' 2 P N / (P + N) over all cuts between bins."""
    n_features = len(bins)
    histograms = np.empty((4, N_BINS), np.uint64)
    below_p, below_n, sums = np.empty(N_BINS), np.empty(N_BINS), np.empty(N_BINS)
    for first in range(0, n_features, 4):
        _add_up(bins, first, packed_weights, histograms)
        for lane in range(min(4, n_features - first)):
            _unpack(histograms[lane], below_p, below_n)
            mass_p, mass_n = below_p[N_BINS - 1], below_n[N_BINS - 1]
            for b in range(N_BINS):
                left_p, left_n = below_p[b], below_n[b]
                right_p, right_n = mass_p - left_p, mass_n - left_n
                left = left_p * left_n / (left_p + left_n + 1e-300)  # an empty side has none
                sums[b] = 2 * (left + right_p * right_n / (right_p + right_n + 1e-300))
            least = np.inf
            for b in range(N_BINS):
                least = min(least, sums[b])
            losses[first + lane] = least


@kernel
def _unpack(
    histogram: NDArray[np.uint64],  # IN (N_BINS,)
    below_p: NDArray[np.float64],  # OUT (N_BINS,)
    below_n: NDArray[np.float64],  # OUT (N_BINS,)
) -> None:
    """Write the weights up to each bin, of positives from the upper halves and of negatives from the lower ones.

    Packed into halves of one whole number, two weights take one addition; each half sums to less than 2 ** 32.
    """
    half, lower, below = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(0)
    for b in range(N_BINS):
        below += histogram[b]
        below_p[b], below_n[b] = below >> half, below & lower


@kernel
def _least_on_four_lines(
    below_p: NDArray[np.float64],  # IN (N_BINS,)
    below_n: NDArray[np.float64],  # IN (N_BINS,)
    lines: NDArray[np.float64],  # IN (N_LINES, 2)
    least: NDArray[np.float64],  # OUT (N_LINES,)
) -> None:
    """Write the least a * errors_p + b * errors_n of each line: four chains at a time, for `min` is slow to answer."""
    a0, a1, a2, a3 = lines[0, 0], lines[1, 0], lines[2, 0], lines[3, 0]
    b0, b1, b2, b3 = lines[0, 1], lines[1, 1], lines[2, 1], lines[3, 1]
    low0, low1, low2, low3 = 0.0, 0.0, 0.0, 0.0
    high0, high1, high2, high3 = 0.0, 0.0, 0.0, 0.0
    for b in range(N_BINS):
        p, n = below_p[b], below_n[b]
        rest0, rest1, rest2, rest3 = a0 * p - b0 * n, a1 * p - b1 * n, a2 * p - b2 * n, a3 * p - b3 * n
        low0, low1, low2, low3 = min(low0, rest0), min(low1, rest1), min(low2, rest2), min(low3, rest3)
        high0, high1, high2, high3 = (
            max(high0, rest0),
            max(high1, rest1),
            max(high2, rest2),
            max(high3, rest3),
        )
    mass_p, mass_n = below_p[N_BINS - 1], below_n[N_BINS - 1]
    least[0] = min(b0 * mass_n + low0, a0 * mass_p - high0)
    least[1] = min(b1 * mass_n + low1, a1 * mass_p - high1)
    least[2] = min(b2 * mass_n + low2, a2 * mass_p - high2)
    least[3] = min(b3 * mass_n + low3, a3 * mass_p - high3)


@kernel
def _add_up(
    bins: NDArray[np.uint8],  # IN (n_features, n_samples)
    first: int,
    weights: NDArray[Any],  # IN (n_samples,)
    histograms: NDArray[Any],  # OUT (4, N_BINS), of the weights' dtype
) -> None:
    """Write the weight in each bin of four features.

    The four share a pass: four chains of additions instead of one hide each other's latency.
    """
    last = len(bins) - 1
    row0, row1 = bins[first], bins[min(first + 1, last)]
    row2, row3 = bins[min(first + 2, last)], bins[min(first + 3, last)]
    histograms[:] = 0
    sums0, sums1, sums2, sums3 = histograms[0], histograms[1], histograms[2], histograms[3]
    for i in range(len(weights)):
        weight = weights[i]
        sums0[row0[i]] += weight
        sums1[row1[i]] += weight
        sums2[row2[i]] += weight
        sums3[row3[i]] += weight


@kernel
def weights_below(
    row: NDArray[np.uint8],  # IN (n_samples,) bins of one feature
    positive_part: NDArray[np.float64],  # IN (n_samples,)
    negative_part: NDArray[np.float64],  # IN (n_samples,)
    below: NDArray[np.float64],  # OUT (2, N_BINS + 1)
) -> None:
    """Write the weights of positives and negatives below each cut; cut 0 has nothing below it."""
    below[:] = 0
    for i in range(len(row)):
        after = np.int64(row[i]) + 1
        below[0, after] += positive_part[i]
        below[1, after] += negative_part[i]
    for b in range(N_BINS):
        below[0, b + 1] += below[0, b]
        below[1, b + 1] += below[1, b]


@kernel
def hull_of_cuts(
    below: NDArray[
        np.float64
    ],  # IN (2, n_cuts) weights of positives and negatives below each cut, from 0 to all
    cuts: NDArray[np.int64],  # OUT (2 * n_cuts,) 2 * cut, and 1 more for the stump that is turned around
    errors: NDArray[np.float64],  # OUT (2, 2 * n_cuts) errors_p and errors_n
) -> int:
    """Write the stumps on the lower left hull of each polarity; return how many."""
    n_cuts = below.shape[1]
    mass_p, mass_n = below[0, n_cuts - 1], below[1, n_cuts - 1]
    n = 0
    for cut in range(n_cuts):
        n = _push(cuts, errors, 0, n, 2 * cut, below[0, cut], mass_n - below[1, cut])
    first = n
    for cut in range(n_cuts - 1, -1, -1):
        n = _push(cuts, errors, first, n, 2 * cut + 1, mass_p - below[0, cut], below[1, cut])
    return n


@kernel
def _push(
    cuts: NDArray[np.int64],  # IN and OUT (n_points,)
    hull: NDArray[np.float64],  # IN and OUT (2, n_points) vertices so far, x rising
    first: int,
    n: int,
    cut: int,
    x: float,
    y: float,
) -> int:
    """Add a point of no smaller x to the hull that begins at `first`; return where it ends now."""
    if n > first and y >= hull[1, n - 1]:
        return n
    while n > first and hull[0, n - 1] >= x:
        n -= 1
    while n > first + 1 and (hull[0, n - 1] - hull[0, n - 2]) * (y - hull[1, n - 2]) <= (
        x - hull[0, n - 2]
    ) * (hull[1, n - 1] - hull[1, n - 2]):
        n -= 1
    cuts[n], hull[0, n], hull[1, n] = cut, x, y
    return n + 1
