"""Histograms: the weight of positives and of negatives in each bin of a feature, in whole units.

Whole numbers, so that what is added today can be taken off tomorrow without a trace. Both weights share an int64,
that of positives times 2 ** 32 plus that of negatives, so that one addition changes both.
"""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.haar import N_BINS

WHOLE = 2.0**30
"""What the largest value of a line is scaled to: its extremes are looked for among whole numbers."""

CLEAR = 31
"""As a number of bits to take off a histogram: all."""


@kernel
def add_changes(
    bins: NDArray[np.uint8],  # IN (n_features, n_samples)
    samples: NDArray[np.uint32],  # IN (n_changes,) whose weights change
    changes: NDArray[np.int64],  # IN (n_changes,) by how much, as positives and as negatives
    shift: int,  # bits to take off all weights before, or `CLEAR`
    histograms: NDArray[np.int64],  # IN and OUT (n_features, N_BINS)
) -> None:
    """Bring histograms up to date."""
    if shift == CLEAR:
        histograms[:] = 0
    elif shift > 0:
        _shorten(histograms.reshape(histograms.size), shift)
    near = np.empty((4, N_BINS), np.int64)
    n_features = len(bins)
    for first in range(0, n_features - n_features % 4, 4):
        _add_to_four(bins[first : first + 4], samples, changes, histograms[first : first + 4], near)
    for feature in range(n_features - n_features % 4, n_features):
        row, sums = bins[feature], histograms[feature]
        for k in range(len(samples)):
            sums[row[samples[k]]] += changes[k]


@kernel
def _shorten(weights: NDArray[np.int64], shift: int) -> None:  # IN and OUT (n,)
    """Take bits off both weights, rounding down."""
    half = np.int64(32)
    for i in range(len(weights)):
        negatives = np.int64(np.int32(weights[i]))
        positives = (weights[i] - negatives) >> half
        weights[i] = ((positives >> shift) << half) + (negatives >> shift)


@kernel
def _add_to_four(
    rows: NDArray[np.uint8],  # IN (4, n_samples)
    samples: NDArray[np.uint32],  # IN (n,)
    changes: NDArray[np.int64],  # IN (n,)
    histograms: NDArray[np.int64],  # IN and OUT (4, N_BINS)
    near: NDArray[np.int64],  # (4, N_BINS) to work in
) -> None:
    """Add changes to four features in one pass: four chains of additions hide each other's latency.

    Memory gives whole histograms much faster than items of them in random order, so these are copied.
    """
    near[:] = histograms
    row0, row1, row2, row3 = rows[0], rows[1], rows[2], rows[3]
    sums0, sums1, sums2, sums3 = near[0], near[1], near[2], near[3]
    for k in range(len(samples)):
        sample, change = samples[k], changes[k]
        sums0[row0[sample]] += change
        sums1[row1[sample]] += change
        sums2[row2[sample]] += change
        sums3[row3[sample]] += change
    histograms[:] = near


@kernel
def least_on_lines(
    histograms: NDArray[np.int64],  # IN (n_features, N_BINS)
    lines: NDArray[np.float64],  # IN (n_lines, 2)
    least: NDArray[np.float64],  # OUT (n_lines, n_features)
) -> None:
    """Write for each line (a, b) and feature the least a * errors_p + b * errors_n over all cuts and both polarities.

    A cut has bins on both sides: the two constant weak classifiers are no feature's.
    """
    below = np.empty(N_BINS, np.int64)
    below_p, below_n = np.empty(N_BINS, np.int32), np.empty(N_BINS, np.int32)
    rest = np.empty(N_BINS - 1, np.int32)
    for f in range(len(histograms)):
        _sum_up(histograms[f], below, below_p, below_n)
        mass_p, mass_n = np.float64(below_p[N_BINS - 1]), np.float64(below_n[N_BINS - 1])
        for line in range(len(lines)):
            whole = lines[line, 0] * mass_p + lines[line, 1] * mass_n
            scale = WHOLE / whole if whole > 0 else 0.0
            a, b = lines[line, 0] * scale, lines[line, 1] * scale
            for k in range(N_BINS - 1):
                rest[k] = np.int32(a * np.float64(below_p[k]) - b * np.float64(below_n[k]))
            low, high = rest[0], rest[0]
            for k in range(1, N_BINS - 1):  # of whole numbers, several at once
                low, high = min(low, rest[k]), max(high, rest[k])
            least[line, f] = min(b * mass_n + low, a * mass_p - high) * (whole / WHOLE)


@kernel
def _sum_up(
    histogram: NDArray[np.int64],  # IN (N_BINS,)
    below: NDArray[np.int64],  # OUT (N_BINS,)
    below_p: NDArray[np.int32],  # OUT (N_BINS,)
    below_n: NDArray[np.int32],  # OUT (N_BINS,)
) -> None:
    """Write the weights up to each bin, together and apart."""
    total, half = np.int64(0), np.int64(32)
    for k in range(N_BINS):
        total += histogram[k]
        below[k] = total
    for k in range(N_BINS):
        below_n[k] = np.int32(below[k])
        below_p[k] = np.int32((below[k] - np.int64(below_n[k])) >> half)


@kernel
def least_gini(
    histograms: NDArray[np.int64],  # IN (n_features, N_BINS)
    factors: NDArray[np.float64],  # IN (2,) what a unit of positives and of negatives weighs
    losses: NDArray[np.float64],  # OUT (n_features,)
) -> None:
    """Write the least sum of both sides' 2 P N / (P + N) over all cuts with bins on both sides."""
    a, b = factors[0], factors[1]
    below = np.empty(N_BINS, np.int64)
    below_p, below_n = np.empty(N_BINS, np.int32), np.empty(N_BINS, np.int32)
    sums = np.empty(N_BINS - 1, np.int32)
    for f in range(len(histograms)):
        _sum_up(histograms[f], below, below_p, below_n)
        mass_p, mass_n = a * np.float64(below_p[N_BINS - 1]), b * np.float64(below_n[N_BINS - 1])
        whole = mass_p + mass_n
        scale = WHOLE / whole if whole > 0 else 0.0
        for k in range(N_BINS - 1):
            left_p, left_n = a * np.float64(below_p[k]), b * np.float64(below_n[k])
            right_p, right_n = mass_p - left_p, mass_n - left_n
            left = left_p * left_n / (left_p + left_n + 1e-300)  # an empty side has none
            right = right_p * right_n / (right_p + right_n + 1e-300)
            sums[k] = np.int32((left + right) * scale)
        least = sums[0]
        for k in range(1, N_BINS - 1):
            least = min(least, sums[k])
        losses[f] = 2 * least * (whole / WHOLE)
