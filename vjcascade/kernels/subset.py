"""The search for the best subset of the codes of a few features, and of histograms by code.

A weak classifier sends a subset of a feature's codes to the left. For every loss here, the best subset consists of the
first codes in ascending order of P / (P + N), the positives' share of the weight: among all subsets with as much weight
of positives, these have the most weight of negatives. So codes in this order can be treated like bins.
"""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.haar import N_BINS
from vjcascade.kernels.histogram import PART, add_up_signed, take_groups
from vjcascade.kernels.stump import add_up, impurity_of_cuts, points_inside
from vjcascade.kernels.tiles import GROUP, GROUPS

SHARE_STEPS = 2.0**45
"""Resolution of shares when they are sorted."""


@kernel
def codes_by_share(
    weights: NDArray[np.float64],  # IN (2, N_BINS) of positives and negatives
    order: NDArray[np.int64],  # OUT (N_BINS,)
) -> int:
    """Write the codes with weight in ascending order of their positives' share, then the others.

    Among equal shares, the lower code comes first. Return the number of codes with weight.
    """
    n, n_empty = 0, 0
    for code in range(N_BINS):
        total = weights[0, code] + weights[1, code]
        if total > 0:
            order[n] = np.int64(SHARE_STEPS * (weights[0, code] / total)) * N_BINS + code
            n += 1
        else:
            n_empty += 1
            order[N_BINS - n_empty] = code
    order[:n].sort()
    for k in range(n):
        order[k] %= N_BINS
    return n


@kernel
def weights_below(
    row: NDArray[np.uint8],  # IN (n_samples,) codes of one feature
    positive_part: NDArray[np.float64],  # IN (n_samples,)
    negative_part: NDArray[np.float64],  # IN (n_samples,)
    order: NDArray[np.int64],  # OUT (N_BINS,) codes as in `codes_by_share`
    below: NDArray[np.float64],  # OUT (2, N_BINS + 1)
) -> int:
    """Write the weights of positives and negatives below each cut between codes; return the number with weight."""
    weights = np.zeros((2, N_BINS))
    for i in range(len(row)):
        code = np.int64(row[i])
        weights[0, code] += positive_part[i]
        weights[1, code] += negative_part[i]
    n = codes_by_share(weights, order)
    below[:, 0] = 0
    for k in range(N_BINS):
        below[0, k + 1] = below[0, k] + weights[0, order[k]]
        below[1, k + 1] = below[1, k] + weights[1, order[k]]
    return n


@kernel
def points_of_subsets(
    codes: NDArray[np.uint8],  # IN (n_features, n_samples)
    positive_part: NDArray[np.float64],  # IN (n_samples,)
    negative_part: NDArray[np.float64],  # IN (n_samples,)
    counts: NDArray[np.int64],  # OUT (n_features,)
    errors: NDArray[
        np.float64
    ],  # OUT (2, n_features * 2 * (N_BINS + 1)) errors_p and errors_n, feature by feature
) -> int:
    """Write the errors of each feature's subsets that may be best; return their total number."""
    order, below, n = np.empty(N_BINS, np.int64), np.empty((2, N_BINS + 1)), 0
    for f in range(len(codes)):
        weights_below(codes[f], positive_part, negative_part, order, below)
        counts[f] = points_inside(below, errors[:, n:])
        n += counts[f]
    return n


@kernel
def least_on_line(
    codes: NDArray[np.uint8],  # IN (n_features, n_samples)
    signed_weights: NDArray[np.float64],  # IN (n_samples,) of positives, minus that of negatives
    sum_p: float,
    errors: NDArray[np.float64],  # OUT (n_features,)
) -> None:
    """Write each feature's least weighted error over all subsets, including the empty and the full one.

    For each code, the class of less weight is misclassified.
    """
    n_features = len(codes)
    histograms = np.empty((4, N_BINS))
    for first in range(0, n_features, 4):
        add_up(codes, first, signed_weights, histograms)
        for lane in range(min(4, n_features - first)):
            gain = 0.0
            for code in range(N_BINS):
                gain += max(histograms[lane, code], 0.0)
            errors[first + lane] = sum_p - gain


@kernel
def least_gini(
    codes: NDArray[np.uint8],  # IN (n_features, n_samples)
    positive_part: NDArray[np.float64],  # IN (n_samples,)
    negative_part: NDArray[np.float64],  # IN (n_samples,)
    losses: NDArray[np.float64],  # OUT (n_features,)
) -> None:
    """Write the least sum of both sides' 2 P N / (P + N) over all subsets."""
    order, below = np.empty(N_BINS, np.int64), np.empty((2, N_BINS + 1))
    for f in range(len(codes)):
        weights_below(codes[f], positive_part, negative_part, order, below)
        losses[f] = impurity_of_cuts(below)


@kernel
def least_on_lines(
    histograms: NDArray[np.int32],  # IN (n_groups, 2 * PART)
    lines: NDArray[np.float64],  # IN (n_lines, 2)
    least: NDArray[np.float64],  # OUT (n_lines, n_groups, GROUP)
) -> None:
    """Write for each line (a, b) and feature the least a * errors_p + b * errors_n over all subsets."""
    for line in range(len(lines)):
        a, b = lines[line, 0], lines[line, 1]
        for group in range(len(histograms)):
            least[line, group] = 0
            for code in range(N_BINS):
                for lane in range(GROUP):
                    place = GROUP * code + lane
                    least[line, group, lane] += min(
                        a * histograms[group, place], b * histograms[group, PART + place]
                    )


@kernel
def least_on_signed_line(
    words: NDArray[np.uint64],  # IN (n_tiles, n_columns, GROUPS) codes
    columns: NDArray[np.uint32],  # IN (n,) of the samples that count
    units: NDArray[np.int32],  # IN (n,) weights of positives, minus those of negatives
    unit: float,
    sum_p: float,
    least: NDArray[np.float64],  # OUT (n_tiles * GROUPS, GROUP)
) -> None:
    """Write each feature's least weighted error over all subsets, with histograms that are not kept."""
    histogram, gains = np.empty(PART, np.int32), np.empty(GROUP, np.int32)
    taken = np.empty((GROUPS, len(columns)), np.uint64)
    for tile in range(len(words)):
        take_groups(words[tile], columns, taken)
        for g in range(GROUPS):
            add_up_signed(taken[g], units, histogram)
            gains[:] = 0
            for code in range(N_BINS):
                for lane in range(GROUP):
                    gains[lane] += max(histogram[GROUP * code + lane], 0)
            for lane in range(GROUP):
                least[GROUPS * tile + g, lane] = sum_p - gains[lane] * unit


@kernel
def arrange(
    histograms: NDArray[np.int32],  # IN (n_groups, 2 * PART)
    arranged: NDArray[np.int32],  # OUT (n_groups, 2 * PART)
) -> None:
    """Write histograms with codes in the order of `codes_by_share`, so that they can be treated like bins."""
    weights, order = np.empty((2, N_BINS)), np.empty(N_BINS, np.int64)
    for group in range(len(histograms)):
        for lane in range(GROUP):
            for code in range(N_BINS):
                weights[0, code] = histograms[group, GROUP * code + lane]
                weights[1, code] = histograms[group, PART + GROUP * code + lane]
            codes_by_share(weights, order)
            for k in range(N_BINS):
                arranged[group, GROUP * k + lane] = np.int32(weights[0, order[k]])
                arranged[group, PART + GROUP * k + lane] = np.int32(weights[1, order[k]])
