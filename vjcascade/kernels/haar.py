"""Haar feature values of many windows at once, and their bins.

Samples are on the last axis: row `r` of `corners` contains integral-image corner `r` of every window, so a feature
takes a few vector operations over samples. The float operations and their order are those of OpenCV's detector.
"""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.integral import fill_integrals, fill_tilted
from vjcascade.kernels.scan import window_scale
from vjcascade.kernels.tiles import GROUPS, TILE, put_rows

N_BINS = 256
"""Bins of a feature, as many as a byte has values."""

LEAST_SPAN = 1e-4
"""Smallest relative span of a feature's bins, for features with nearly the same value on all positives."""

SAMPLES_AT_ONCE = 256
"""Samples binned at a time, so that the differences of corners shared by features stay in the cache."""


@kernel
def window_tables(
    windows: NDArray[np.uint8],  # IN (n_samples, h, w)
    norm_rect: NDArray[np.uint32],  # IN (4,) corners of the rectangle that contrast is measured in
    corners: NDArray[np.int32],  # OUT (n_corners, n_samples), or twice as many rows: tilted ones last
    inverse_norms: NDArray[np.float32],  # OUT (n_samples,) 0 below the contrast floor
) -> None:
    """Write the integral images and contrasts of windows."""
    n_samples, height, width = windows.shape
    area = float((height - 2) * (width - 2))
    plain = np.empty((height + 1, width + 1), np.int32)
    squared = np.empty((height + 1, width + 1), np.uint32)
    flat, flat_squared = plain.reshape(plain.size), squared.reshape(squared.size)
    for i in range(n_samples):
        fill_integrals(windows[i], 1, plain, squared)
        corners[: plain.size, i] = flat
        inverse_norms[i] = window_scale(flat, flat_squared, np.uint64(0), norm_rect, area)
        if len(corners) > plain.size:
            fill_tilted(windows[i], 1, plain)
            corners[plain.size :, i] = flat


@kernel
def _fill_values(
    corners: NDArray[np.int32],  # IN (n_corners, n_samples)
    rows: NDArray[np.uint32],  # IN (3, 4) corner rows of one feature's rectangles
    weights: NDArray[np.float32],  # IN (3,)
    inverse_norms: NDArray[np.float32],  # IN (n_samples,)
    values: NDArray[np.float32],  # OUT (n_samples,)
) -> None:
    """Write one feature's values."""
    for r in range(3):
        weight = weights[r]
        if r > 0 and weight == 0:
            continue
        p0, p1, p2, p3 = corners[rows[r, 0]], corners[rows[r, 1]], corners[rows[r, 2]], corners[rows[r, 3]]
        if r == 0:
            for i in range(len(values)):
                values[i] = weight * np.float32(p0[i] - p1[i] - p2[i] + p3[i])
        else:
            for i in range(len(values)):
                values[i] += weight * np.float32(p0[i] - p1[i] - p2[i] + p3[i])
    for i in range(len(values)):
        values[i] *= inverse_norms[i]


@kernel
def feature_values(
    corners: NDArray[np.int32],  # IN (n_corners, n_samples)
    rows: NDArray[np.uint32],  # IN (n_features, 3, 4)
    weights: NDArray[np.float32],  # IN (n_features, 3)
    inverse_norms: NDArray[np.float32],  # IN (n_samples,)
    values: NDArray[np.float32],  # OUT (n_features, n_samples)
) -> None:
    """Write the values of all features and samples."""
    for f in range(len(rows)):
        _fill_values(corners, rows[f], weights[f], inverse_norms, values[f])


@kernel
def bin_edges(
    corners: NDArray[np.int32],  # IN (n_corners, n_samples) of a sample of the positives
    pairs: NDArray[np.uint32],  # IN (n_pairs, 2) corners to subtract
    places: NDArray[
        np.uint32
    ],  # IN (n_features, 3, 2) of each rectangle, the pairs of its upper and lower corners
    weights: NDArray[np.float32],  # IN (n_features, 3)
    inverse_norms: NDArray[np.float32],  # IN (n_samples,)
    margin: np.float32,  # extension on either side, relative to the span
    lowest: NDArray[np.float32],  # OUT (n_features,) lower limit of bin 0
    per_unit: NDArray[np.float32],  # OUT (n_features,) bins per unit of value
) -> None:
    """Let each feature's bins span the second smallest to the second largest of the samples' values, plus margins."""
    n_samples = len(inverse_norms)
    differences, values = np.empty((len(pairs), n_samples), np.float32), np.empty(n_samples, np.float32)
    _fill_differences(corners, pairs, 0, n_samples, differences)
    for f in range(len(places)):
        _fill_by_differences(
            differences, places[f], weights[f], inverse_norms, np.float32(1), np.float32(0), values
        )
        low, second_low = np.float32(np.inf), np.float32(np.inf)
        high, second_high = np.float32(-np.inf), np.float32(-np.inf)
        for value in values:
            second_low, low = min(second_low, max(low, value)), min(low, value)
            second_high, high = max(second_high, min(high, value)), max(high, value)
        first, last = (second_low, second_high) if n_samples > 3 else (low, high)
        span = max(last - first, LEAST_SPAN * max(abs(first), np.float32(1)))
        lowest[f] = first - margin * span
        per_unit[f] = N_BINS / ((1 + 2 * margin) * span)


@kernel
def bin_tiles(
    corners: NDArray[np.int32],  # IN (n_corners, n_samples)
    pairs: NDArray[np.uint32],  # IN (n_pairs, 2)
    places: NDArray[np.uint32],  # IN (n_features, 3, 2)
    weights: NDArray[np.float32],  # IN (n_features, 3)
    inverse_norms: NDArray[np.float32],  # IN (n_samples,)
    per_unit: NDArray[np.float32],  # IN (n_features,)
    offsets: NDArray[np.float32],  # IN (n_features,) lower limit of bin 0, in bins
    columns: NDArray[np.uint32],  # IN (n_samples,) column of each sample in the tiles
    words: NDArray[np.uint64],  # OUT (n_tiles, n_columns, GROUPS) the features' tiles
) -> None:
    """Write every value's bin; values outside of the span go into the first and the last bin."""
    n_features, n_samples = len(places), len(inverse_norms)
    differences = np.empty((len(pairs), SAMPLES_AT_ONCE), np.float32)
    values = np.empty((TILE, SAMPLES_AT_ONCE), np.float32)
    bins = np.zeros((TILE, SAMPLES_AT_ONCE), np.uint8)
    turned = np.empty((SAMPLES_AT_ONCE, GROUPS), np.uint64)
    for start in range(0, n_samples, SAMPLES_AT_ONCE):
        n = min(SAMPLES_AT_ONCE, n_samples - start)
        _fill_differences(corners, pairs, start, n, differences)
        norms = inverse_norms[start : start + n]
        for tile in range(len(words)):
            first = TILE * tile
            for f in range(first, min(first + TILE, n_features)):
                own = values[f - first, :n]
                _fill_by_differences(differences, places[f], weights[f], norms, per_unit[f], offsets[f], own)
            _fill_bins(values.reshape(values.size), bins.reshape(bins.size))
            put_rows(bins.view(np.uint64), turned)
            for i in range(n):
                for g in range(GROUPS):
                    words[tile, columns[start + i], g] = turned[i, g]


@kernel
def _fill_differences(
    corners: NDArray[np.int32],  # IN (n_corners, n_samples)
    pairs: NDArray[np.uint32],  # IN (n_pairs, 2)
    start: int,
    n: int,
    differences: NDArray[np.float32],  # OUT (n_pairs, n or more) of `n` samples from `start` on
) -> None:
    """Write differences of corners: a rectangle's sum is the difference of two, and features share them."""
    for k in range(len(pairs)):
        p0, p1 = corners[pairs[k, 0], start : start + n], corners[pairs[k, 1], start : start + n]
        out = differences[k]
        for i in range(n):
            out[i] = np.float32(p0[i] - p1[i])


@kernel
def _fill_by_differences(
    differences: NDArray[np.float32],  # IN (n_pairs, n_samples or more)
    places: NDArray[np.uint32],  # IN (3, 2)
    weights: NDArray[np.float32],  # IN (3,)
    norms: NDArray[np.float32],  # IN (n_samples,)
    per_unit: np.float32,
    offset: np.float32,
    values: NDArray[np.float32],  # OUT (n_samples,)
) -> None:
    """Write one feature's values, as in `feature_values`, but scaled and minus an offset.

    Sums over rectangles are integers, which are exact below 2 ** 24, that is, in windows of up to 65,793 pixels.
    """
    w0, w1, w2 = weights[0], weights[1], weights[2]
    a0, a1 = differences[places[0, 0]], differences[places[0, 1]]
    b0, b1 = differences[places[1, 0]], differences[places[1, 1]]
    if w2 == 0:
        for i in range(len(values)):
            total = w0 * (a0[i] - a1[i]) + w1 * (b0[i] - b1[i])
            values[i] = total * norms[i] * per_unit - offset
    else:
        c0, c1 = differences[places[2, 0]], differences[places[2, 1]]
        for i in range(len(values)):
            total = w0 * (a0[i] - a1[i]) + w1 * (b0[i] - b1[i]) + w2 * (c0[i] - c1[i])
            values[i] = total * norms[i] * per_unit - offset


@kernel
def _fill_bins(values: NDArray[np.float32], bins: NDArray[np.uint8]) -> None:  # IN, OUT (n,)
    """Write the bins of values whose unit is a bin."""
    for i in range(len(values)):
        bins[i] = np.uint8(np.int32(max(np.float32(0), min(np.float32(N_BINS - 1), values[i]))))
