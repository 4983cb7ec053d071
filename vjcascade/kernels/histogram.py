"""Histograms: the weight in each bin of a feature, in integer units.

Integers, so that additions can be undone exactly. The weights of positives are one part of a histogram, those of
negatives the other. Eight adjacent features, a group, are interleaved bin by bin, like their bytes in
`vjcascade.kernels.tiles`: sums over bins, and their extremes, are computed for all eight at once.
"""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.haar import N_BINS
from vjcascade.kernels.tiles import GROUP, GROUPS

PART = N_BINS * GROUP
"""Items in a part of a group's histograms."""

QUARTER = PART // 4
"""Items in each of four quarters that are folded together."""

N_CUTS = (N_BINS - 1) * GROUP
"""Items of a group for cuts with bins on both sides."""

WHOLE = 2.0**30
"""All weight is scaled to this: extremes are searched among integers, several at once."""

CLEAR = 31
"""A shift that clears a histogram."""


@kernel
def add_changes(
    words: NDArray[np.uint64],  # IN (n_tiles, n_columns, GROUPS) bins
    columns: NDArray[np.uint32],  # IN (n_changes,) of the samples whose weights change
    parts: NDArray[np.uint32],  # IN (n_changes,) start of the part that changes: 0 or PART
    changes: NDArray[np.int32],  # IN (n_changes,) amounts
    shift: int,  # bits by which all weights are shifted right first, or `CLEAR`
    histograms: NDArray[np.int32],  # IN and OUT (n_tiles * GROUPS, 2 * PART)
) -> None:
    """Update histograms."""
    near = np.empty(histograms.shape[1], np.int32)
    taken = np.empty((GROUPS, len(columns)), np.uint64)
    for tile in range(len(words)):
        take_groups(words[tile], columns, taken)
        for g in range(GROUPS):
            histogram = histograms[GROUPS * tile + g]
            if shift == CLEAR:  # in place: nothing is read that `near` would have to keep in the fast cache
                histogram[:] = 0
                _add_to_group(taken[g], parts, changes, histogram)
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
    """Add changes to eight features in one pass, so that eight independent chains of additions hide their latency."""
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
    """Update histograms and find the least values of lines, tile by tile, while they are in the cache."""
    for tile in range(len(words)):
        own = slice(GROUPS * tile, GROUPS * tile + GROUPS)
        add_changes(words[tile : tile + 1], columns, parts, changes, shift, histograms[own])
        least_on_lines(histograms[own], weight_sums, lines, least[:, own])


@kernel
def least_on_lines(
    histograms: NDArray[np.int32],  # IN (n_groups, 2 * PART)
    weight_sums: NDArray[np.float64],  # IN (2,) total weight of the positives and of the negatives
    lines: NDArray[np.float64],  # IN (n_lines, 2)
    least: NDArray[np.float64],  # OUT (n_lines, n_groups, GROUP)
) -> None:
    """Write for each line (a, b) and feature the least a * errors_p + b * errors_n over all cuts and both polarities.

    A cut has bins on both sides, so the two constant weak classifiers are not included.
    """
    below_p, below_n = np.empty(PART, np.int32), np.empty(PART, np.int32)
    low, high = np.empty(QUARTER, np.int32), np.empty(QUARTER, np.int32)
    for group in range(len(histograms)):
        _sum_up(histograms[group, :PART], below_p)
        _sum_up(histograms[group, PART:], below_n)
        for line in range(len(lines)):
            sum_p, sum_n = lines[line, 0] * weight_sums[0], lines[line, 1] * weight_sums[1]
            unit = (sum_p + sum_n) / WHOLE
            a = lines[line, 0] / unit if unit > 0 else 0.0
            b = lines[line, 1] / unit if unit > 0 else 0.0
            _extremes_on_line(below_p, below_n, a, b, low, high)
            for lane in range(GROUP):
                least[line, group, lane] = min(sum_n + low[lane] * unit, sum_p - high[lane] * unit)


@kernel
def least_on_signed_line(
    words: NDArray[np.uint64],  # IN (n_tiles, n_columns, GROUPS)
    columns: NDArray[np.uint32],  # IN (n,) of the samples that count
    units: NDArray[np.int32],  # IN (n,) weights of positives, minus those of negatives
    unit: float,
    weight_sums: NDArray[np.float64],  # IN (2,) total weight of the positives and of the negatives
    least: NDArray[np.float64],  # OUT (n_tiles * GROUPS, GROUP)
) -> None:
    """Write each feature's least weighted error over all cuts and both polarities.

    The histograms of these signed weights are half as large as those of both classes, and are not kept.
    """
    histogram, below = np.empty(PART, np.int32), np.empty(PART, np.int32)
    low, high = np.empty(QUARTER, np.int32), np.empty(QUARTER, np.int32)
    taken = np.empty((GROUPS, len(columns)), np.uint64)
    for tile in range(len(words)):
        take_groups(words[tile], columns, taken)
        for g in range(GROUPS):
            add_up_signed(taken[g], units, histogram)
            _sum_up(histogram, below)
            _extremes(below, low, high)
            for lane in range(GROUP):
                error = min(weight_sums[1] + low[lane] * unit, weight_sums[0] - high[lane] * unit)
                least[GROUPS * tile + g, lane] = error


@kernel
def take_groups(
    words: NDArray[np.uint64],  # IN (n_columns, GROUPS) a tile
    columns: NDArray[np.uint32],  # IN (n,)
    taken: NDArray[np.uint64],  # OUT (GROUPS, n)
) -> None:
    """Copy some columns of a tile, group by group: memory delivers many lines at once much faster than one by one."""
    for i in range(len(columns)):
        for g in range(GROUPS):
            taken[g, i] = words[columns[i], g]


@kernel
def add_up_signed(
    words: NDArray[np.uint64],  # IN (n,)
    units: NDArray[np.int32],  # IN (n,)
    histogram: NDArray[np.int32],  # OUT (PART,)
) -> None:
    """Write the sum of signed weights in each bin of eight features."""
    histogram[:] = 0
    for i in range(len(units)):
        word, change = words[i], units[i]
        for lane in range(GROUP):
            place = ((word >> np.uint64(8 * lane)) & np.uint64(255)) * np.uint64(GROUP) + np.uint64(lane)
            histogram[place] += change


@kernel
def least_gini(
    histograms: NDArray[np.int32],  # IN (n_groups, 2 * PART)
    weight_sums: NDArray[np.float64],  # IN (2,)
    factors: NDArray[np.float64],  # IN (2,) weight of a unit of positives and of negatives
    losses: NDArray[np.float64],  # OUT (n_groups, GROUP)
) -> None:
    """Write the least sum of both sides' 2 P N / (P + N) over all cuts with bins on both sides.

    Computed in float32, with errors of about a millionth of all weight.
    """
    below_p, below_n = np.empty(PART, np.int32), np.empty(PART, np.int32)
    sums, low, high = np.empty(PART, np.int32), np.empty(QUARTER, np.int32), np.empty(QUARTER, np.int32)
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
        _extremes(sums, low, high)
        for lane in range(GROUP):
            losses[group, lane] = 2 * unit * low[lane]


@kernel
def _copy(items: NDArray[np.int32], into: NDArray[np.int32]) -> None:  # IN, OUT (n,)
    """Copy items, in the form that the compiler vectorises."""
    for i in range(len(items)):
        into[i] = items[i]


@kernel
def _sum_up(histograms: NDArray[np.int32], below: NDArray[np.int32]) -> None:  # IN, OUT (PART,)
    """Write eight features' cumulative weights, up to and including each bin.

    There is no cut above the last bin: the sums of the one before stand for it, so that extremes need not leave it out.
    """
    for i in range(GROUP):
        below[i] = histograms[i]
    for i in range(GROUP, N_CUTS):
        below[i] = below[i - GROUP] + histograms[i]
    below[N_CUTS:] = below[N_CUTS - GROUP : N_CUTS]


@kernel
def _extremes_on_line(
    below_p: NDArray[np.int32],  # IN (PART,)
    below_n: NDArray[np.int32],  # IN (PART,)
    a: float,
    b: float,
    low: NDArray[np.int32],  # OUT (QUARTER,)
    high: NDArray[np.int32],  # OUT (QUARTER,)
) -> None:
    """Write eight features' least and greatest a * below_p - b * below_n to the first items.

    Four quarters at once: results that are not kept need no memory.
    """
    for i in range(QUARTER):
        one = np.int32(a * below_p[i] - b * below_n[i])
        two = np.int32(a * below_p[QUARTER + i] - b * below_n[QUARTER + i])
        three = np.int32(a * below_p[2 * QUARTER + i] - b * below_n[2 * QUARTER + i])
        four = np.int32(a * below_p[3 * QUARTER + i] - b * below_n[3 * QUARTER + i])
        low[i] = min(one, two, three, four)
        high[i] = max(one, two, three, four)
    _fold(low, high)


@kernel
def _extremes(
    sums: NDArray[np.int32],  # IN (PART,)
    low: NDArray[np.int32],  # OUT (QUARTER,)
    high: NDArray[np.int32],  # OUT (QUARTER,)
) -> None:
    """Write eight features' least and greatest sums to the first items."""
    for i in range(QUARTER):
        one, two, three, four = sums[i], sums[QUARTER + i], sums[2 * QUARTER + i], sums[3 * QUARTER + i]
        low[i] = min(one, two, three, four)
        high[i] = max(one, two, three, four)
    _fold(low, high)


@kernel
def _fold(low: NDArray[np.int32], high: NDArray[np.int32]) -> None:  # IN and OUT (QUARTER,)
    """Bring eight features' extremes to the first items, by folding halves together."""
    half = QUARTER
    while half > GROUP:
        half //= 2
        for i in range(half):
            low[i], high[i] = min(low[i], low[half + i]), max(high[i], high[half + i])
