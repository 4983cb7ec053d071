"""Histograms: the weight in each bin of a feature, in whole units.

Whole numbers, so that what is added today can be taken off tomorrow without a trace. The weights of positives are one
part of a histogram, those of negatives the other. Eight neighbouring features, a group, lie together bin by bin, as
their bytes do in `vjcascade.kernels.tiles`: in steps of eight, sums over bins and extremes of them are found for all
eight at once.
"""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.haar import N_BINS
from vjcascade.kernels.tiles import GROUP, GROUPS

PART = N_BINS * GROUP
"""Items of a part of a group's histograms."""

N_CUTS = (N_BINS - 1) * GROUP
"""Items of a group that belong to a cut with bins on both sides."""

WHOLE = 2.0**30
"""What all weight is scaled to: extremes are looked for among whole numbers, several at once."""

CLEAR = 31
"""As a number of bits to take off a histogram: all."""


@kernel
def add_changes(
    words: NDArray[np.uint64],  # IN (n_tiles, n_columns, GROUPS) bins
    columns: NDArray[np.uint32],  # IN (n_changes,) of the samples whose weights change
    parts: NDArray[np.uint32],  # IN (n_changes,) where the part begins that changes: 0 or PART
    changes: NDArray[np.int32],  # IN (n_changes,) by how much
    shift: int,  # bits to take off all weights before, or `CLEAR`
    histograms: NDArray[np.int32],  # IN and OUT (n_tiles * GROUPS, 2 * PART)
) -> None:
    """Bring histograms up to date.

    What is read here and there is copied near before: memory gives many lines at once much faster than one by one.
    """
    near = np.empty(histograms.shape[1], np.int32)
    taken = np.empty((GROUPS, len(columns)), np.uint64)
    for tile in range(len(words)):
        for i in range(len(columns)):
            for g in range(GROUPS):
                taken[g, i] = words[tile, columns[i], g]
        for g in range(GROUPS):
            histogram = histograms[GROUPS * tile + g]
            if shift == CLEAR:
                near[:] = 0
            else:
                for i in range(len(near)):
                    near[i] = histogram[i] >> np.int32(shift)  # rounds down
            _add_to_group(taken[g], parts, changes, near)
            _copy(near, histogram)


@kernel
def _add_to_group(
    words: NDArray[np.uint64],  # IN (n,)
    parts: NDArray[np.uint32],  # IN (n,)
    changes: NDArray[np.int32],  # IN (n,)
    histograms: NDArray[np.int32],  # IN and OUT (2 * PART,)
) -> None:
    """Add changes to eight features in one pass: eight chains of additions hide each other's latency."""
    for i in range(len(changes)):
        word, part, change = words[i], parts[i], changes[i]
        for lane in range(GROUP):
            place = ((word >> np.uint64(8 * lane)) & np.uint64(255)) * np.uint64(GROUP) + np.uint64(lane)
            histograms[place + part] += change


@kernel
def add_changes_and_measure(
    words: NDArray[np.uint64],  # IN (n_tiles, n_columns, GROUPS)
    columns: NDArray[np.uint32],  # IN (n_changes,)
    parts: NDArray[np.uint32],  # IN (n_changes,)
    changes: NDArray[np.int32],  # IN (n_changes,)
    shift: int,  # as in `add_changes`
    histograms: NDArray[np.int32],  # IN and OUT (n_tiles * GROUPS, 2 * PART)
    weight_sums: NDArray[np.float64],  # IN (2,)
    lines: NDArray[np.float64],  # IN (n_lines, 2)
    least: NDArray[np.float64],  # OUT (n_lines, n_tiles * GROUPS, GROUP)
) -> None:
    """Bring histograms up to date and find the least values of lines, tile by tile, while they are in a cache."""
    for tile in range(len(words)):
        own = slice(GROUPS * tile, GROUPS * tile + GROUPS)
        add_changes(words[tile : tile + 1], columns, parts, changes, shift, histograms[own])
        least_on_lines(histograms[own], weight_sums, lines, least[:, own])


@kernel
def least_on_lines(
    histograms: NDArray[np.int32],  # IN (n_groups, 2 * PART)
    weight_sums: NDArray[np.float64],  # IN (2,) what all positives weigh, and all negatives
    lines: NDArray[np.float64],  # IN (n_lines, 2)
    least: NDArray[np.float64],  # OUT (n_lines, n_groups, GROUP)
) -> None:
    """Write for each line (a, b) and feature the least a * errors_p + b * errors_n over all cuts and both polarities.

    A cut has bins on both sides: the two constant weak classifiers are no feature's.
    """
    below_p, below_n = np.empty(PART, np.int32), np.empty(PART, np.int32)
    rest, spare = np.empty(PART, np.int32), np.empty(PART, np.int32)
    low, high = np.empty(GROUP, np.int32), np.empty(GROUP, np.int32)
    for group in range(len(histograms)):
        _sum_up(histograms[group, :PART], below_p)
        _sum_up(histograms[group, PART:], below_n)
        for line in range(len(lines)):
            sum_p, sum_n = lines[line, 0] * weight_sums[0], lines[line, 1] * weight_sums[1]
            unit = (sum_p + sum_n) / WHOLE
            a = lines[line, 0] / unit if unit > 0 else 0.0
            b = lines[line, 1] / unit if unit > 0 else 0.0
            for i in range(PART):
                rest[i] = np.int32(a * below_p[i] - b * below_n[i])
            _copy(rest, spare)
            _fold_min(spare, low)
            _fold_max(rest, high)
            for lane in range(GROUP):
                least[line, group, lane] = min(sum_n + low[lane] * unit, sum_p - high[lane] * unit)


@kernel
def least_gini(
    histograms: NDArray[np.int32],  # IN (n_groups, 2 * PART)
    weight_sums: NDArray[np.float64],  # IN (2,)
    factors: NDArray[np.float64],  # IN (2,) what a unit of positives and of negatives weighs
    losses: NDArray[np.float64],  # OUT (n_groups, GROUP)
) -> None:
    """Write the least sum of both sides' 2 P N / (P + N) over all cuts with bins on both sides.

    In float32: off by up to a millionth of what the masses come to.
    """
    below_p, below_n = np.empty(PART, np.int32), np.empty(PART, np.int32)
    sums, least = np.empty(PART, np.int32), np.empty(GROUP, np.int32)
    unit = (factors[0] * weight_sums[0] + factors[1] * weight_sums[1]) / WHOLE
    scale = 1 / unit if unit > 0 else 0.0
    a, b = np.float32(factors[0] * scale), np.float32(factors[1] * scale)
    sum_p, sum_n = a * np.float32(weight_sums[0]), b * np.float32(weight_sums[1])
    nothing = np.float32(1e-9)  # an empty side has no impurity
    for group in range(len(histograms)):
        _sum_up(histograms[group, :PART], below_p)
        _sum_up(histograms[group, PART:], below_n)
        for i in range(PART):
            left_p, left_n = a * np.float32(below_p[i]), b * np.float32(below_n[i])
            right_p, right_n = sum_p - left_p, sum_n - left_n
            left = left_p * left_n / (left_p + left_n + nothing)
            sums[i] = np.int32(left + right_p * right_n / (right_p + right_n + nothing))
        _fold_min(sums, least)
        for lane in range(GROUP):
            losses[group, lane] = 2 * unit * least[lane]


@kernel
def _copy(items: NDArray[np.int32], into: NDArray[np.int32]) -> None:  # IN, OUT (n,)
    """Copy items in the one way that is compiled to vectors."""
    for i in range(len(items)):
        into[i] = items[i]


@kernel
def _sum_up(histograms: NDArray[np.int32], below: NDArray[np.int32]) -> None:  # IN, OUT (PART,)
    """Write eight features' weights up to each bin."""
    for i in range(GROUP):
        below[i] = histograms[i]
    for i in range(GROUP, PART):
        below[i] = below[i - GROUP] + histograms[i]


@kernel
def _fold_min(
    items: NDArray[np.int32], least: NDArray[np.int32]
) -> None:  # IN and lost (PART,), OUT (GROUP,)
    """Write eight features' least items over all cuts: halves are laid upon each other until eight are left."""
    half, n = PART // 2, N_CUTS - PART // 2
    while half >= GROUP:
        near, far = items[:n], items[half : half + n]
        for i in range(n):
            near[i] = min(near[i], far[i])
        half //= 2
        n = half
    least[:] = items[:GROUP]


@kernel
def _fold_max(items: NDArray[np.int32], greatest: NDArray[np.int32]) -> None:  # IN and lost, OUT (GROUP,)
    """Write eight features' greatest items over all cuts."""
    half, n = PART // 2, N_CUTS - PART // 2
    while half >= GROUP:
        near, far = items[:n], items[half : half + n]
        for i in range(n):
            near[i] = max(near[i], far[i])
        half //= 2
        n = half
    greatest[:] = items[:GROUP]
