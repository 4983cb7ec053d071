"""The exact search for the best stump of a few features, with sums of weights over bins in float64.

For each feature and each cut between bins, P is the weight of the positives below the cut, and N that of the negatives.
A stump that calls the upper side positive has the errors (P, all negatives - N); with opposite polarity, (all
positives - P, N).
"""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.haar import N_BINS


@kernel
def least_on_line(
    bins: NDArray[np.uint8],  # IN (n_features, n_samples)
    signed_weights: NDArray[np.float64],  # IN (n_samples,) of positives, minus that of negatives
    sum_p: float,
    sum_n: float,
    errors: NDArray[np.float64],  # OUT (n_features,)
) -> None:
    """Write each feature's least weighted error over all cuts between bins and both polarities.

    A cut has bins on both sides, so the two constant weak classifiers are not included.
    """
    n_features = len(bins)
    histograms = np.empty((4, N_BINS))
    for first in range(0, n_features, 4):
        add_up(bins, first, signed_weights, histograms)
        for lane in range(min(4, n_features - first)):
            below, low, high = 0.0, np.inf, -np.inf
            for b in range(N_BINS - 1):
                below += histograms[lane, b]
                low = min(low, below)
                high = max(high, below)
            errors[first + lane] = min(sum_n + low, sum_p - high)


@kernel
def least_gini(
    bins: NDArray[np.uint8],  # IN (n_features, n_samples)
    positive_part: NDArray[np.float64],  # IN (n_samples,)
    negative_part: NDArray[np.float64],  # IN (n_samples,)
    losses: NDArray[np.float64],  # OUT (n_features,)
) -> None:
    """Write the least sum of both sides' 2 P N / (P + N) over all cuts between bins."""
    below = np.empty((2, N_BINS + 1))
    for f in range(len(bins)):
        weights_below(bins[f], positive_part, negative_part, below)
        losses[f] = impurity_of_cuts(below)


@kernel
def impurity_of_cuts(below: NDArray[np.float64]) -> float:  # IN (2, N_BINS + 1) weights below each cut
    """Return the least sum of both sides' 2 P N / (P + N) over all cuts with bins on both sides."""
    sum_p, sum_n = below[0, N_BINS], below[1, N_BINS]
    least = np.inf
    for cut in range(1, N_BINS):
        left_p, left_n = below[0, cut], below[1, cut]
        right_p, right_n = sum_p - left_p, sum_n - left_n
        left = left_p * left_n / (left_p + left_n + 1e-300)  # an empty side has none
        least = min(least, 2 * (left + right_p * right_n / (right_p + right_n + 1e-300)))
    return least


@kernel
def add_up(
    bins: NDArray[np.uint8],  # IN (n_features, n_samples)
    first: int,
    weights: NDArray[np.float64],  # IN (n_samples,)
    histograms: NDArray[np.float64],  # OUT (4, N_BINS)
) -> None:
    """Write the weight in each bin of four features.

    Four features share a pass, so that four independent chains of additions hide their latency.
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
def rising_keys(
    bits: NDArray[np.uint32],  # IN (n,) of float32 values
    keys: NDArray[np.uint64],  # OUT (n,)
) -> None:
    """Write integers that rise with the values, and with the indices of equal ones, which are their low 32 bits."""
    sign = np.uint32(2**31)
    for i in range(len(bits)):
        one = bits[i]
        if one == sign:  # -0 equals +0
            one = np.uint32(0)
        one = ~one if one & sign else one | sign
        keys[i] = np.uint64(one) << np.uint64(32) | np.uint64(i)


@kernel
def weights_up_to(
    values: NDArray[np.generic],  # IN (n,)
    order: NDArray[np.intp],  # IN (n,) in which they rise
    positive_part: NDArray[np.float64],  # IN (n,)
    negative_part: NDArray[np.float64],  # IN (n,)
    ends: NDArray[np.intp],  # OUT (n,) place in the order of the last of each run of equal values
    below: NDArray[np.float64],  # OUT (2, n) weights of positives and negatives up to there
) -> int:
    """Write the weights of all samples up to each value; return the number of different values."""
    n, sum_p, sum_n, last = 0, 0.0, 0.0, len(order) - 1
    value = values[order[0]]
    for i in range(len(order)):
        sum_p += positive_part[order[i]]
        sum_n += negative_part[order[i]]
        following = values[order[min(i + 1, last)]]
        if i == last or value < following:
            ends[n], below[0, n], below[1, n] = i, sum_p, sum_n
            n += 1
        value = following
    return n


@kernel
def cuts_near_least(
    below: NDArray[
        np.float64
    ],  # IN (2, n) weights of positives and negatives up to each value, the last being all
    slack: float,
    cuts: NDArray[np.int64],  # OUT (2 * n,) 2 * cut, plus 1 for the opposite polarity
    errors: NDArray[np.float64],  # OUT (2, 2 * n) errors_p and errors_n
) -> int:
    """Write the cuts between values whose sum of errors is within `slack` of the least; return their number."""
    n_cuts = below.shape[1] - 1
    sum_p, sum_n = below[0, n_cuts], below[1, n_cuts]
    least = np.inf
    for cut in range(n_cuts):
        left_p, left_n = below[0, cut], below[1, cut]
        right_p, right_n = max(sum_p - left_p, 0.0), max(sum_n - left_n, 0.0)
        least = min(least, left_p + right_n, right_p + left_n)
    n, most = 0, least + slack
    for cut in range(n_cuts):
        left_p, left_n = below[0, cut], below[1, cut]
        right_p, right_n = max(sum_p - left_p, 0.0), max(sum_n - left_n, 0.0)
        if left_p + right_n <= most:
            cuts[n], errors[0, n], errors[1, n] = 2 * cut, left_p, right_n
            n += 1
        if right_p + left_n <= most:
            cuts[n], errors[0, n], errors[1, n] = 2 * cut + 1, right_p, left_n
            n += 1
    return n


@kernel
def hull_of_cuts(
    below: NDArray[
        np.float64
    ],  # IN (2, n_cuts) weights of positives and negatives below each cut, from 0 to all
    cuts: NDArray[np.int64],  # OUT (2 * n_cuts,) 2 * cut, plus 1 for the opposite polarity
    errors: NDArray[np.float64],  # OUT (2, 2 * n_cuts) errors_p and errors_n
) -> int:
    """Write the stumps on the lower left hull of each polarity; return their number."""
    n_cuts = below.shape[1]
    sum_p, sum_n = below[0, n_cuts - 1], below[1, n_cuts - 1]
    n = 0
    for cut in range(n_cuts):
        n = _push(cuts, errors, 0, n, 2 * cut, below[0, cut], sum_n - below[1, cut])
    first = n
    for cut in range(n_cuts - 1, -1, -1):
        n = _push(cuts, errors, first, n, 2 * cut + 1, sum_p - below[0, cut], below[1, cut])
    return n


@kernel
def points_of_cuts(
    bins: NDArray[np.uint8],  # IN (n_features, n_samples)
    positive_part: NDArray[np.float64],  # IN (n_samples,)
    negative_part: NDArray[np.float64],  # IN (n_samples,)
    counts: NDArray[np.int64],  # OUT (n_features,)
    errors: NDArray[
        np.float64
    ],  # OUT (2, n_features * 2 * (N_BINS + 1)) errors_p and errors_n, feature by feature
) -> int:
    """Write the errors of each feature's cuts that may be best; return their total number."""
    below, n = np.empty((2, N_BINS + 1)), 0
    for f in range(len(bins)):
        weights_below(bins[f], positive_part, negative_part, below)
        counts[f] = points_inside(below, errors[:, n:])
        n += counts[f]
    return n


@kernel
def points_inside(
    below: NDArray[np.float64],  # IN (2, N_BINS + 1) weights below each cut
    errors: NDArray[np.float64],  # OUT (2, n >= 2 * (N_BINS + 1))
) -> int:
    """Write the errors of the stumps on the hulls, except constant ones; return their number.

    If there are none, write the errors of a stump that is wrong on all samples, which cannot win.
    """
    cuts, hull = np.empty(2 * (N_BINS + 1), np.int64), np.empty((2, 2 * (N_BINS + 1)))
    n = 0
    for k in range(hull_of_cuts(below, cuts, hull)):
        if 0 < cuts[k] // 2 < N_BINS:
            errors[0, n], errors[1, n] = max(hull[0, k], 0.0), max(hull[1, k], 0.0)
            n += 1
    if n == 0:
        errors[0, 0], errors[1, 0] = below[0, N_BINS], below[1, N_BINS]
        n = 1
    return n


@kernel
def _push(
    cuts: NDArray[np.int64],  # IN and OUT (n_points,)
    hull: NDArray[np.float64],  # IN and OUT (2, n_points) vertices so far, x ascending
    first: int,
    n: int,
    cut: int,
    x: float,
    y: float,
) -> int:
    """Add a point to the hull that begins at `first`, with x not below the others'; return the new end."""
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
