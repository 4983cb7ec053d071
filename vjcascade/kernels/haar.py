"""Haar feature values of many windows at once, and their bins.

Samples lie along the last axis ("corner-major"): row `r` of `corners` holds integral-image corner `r` of every
window, so a feature is a few vector operations over samples. The float operations and their order are those of
OpenCV's detector.
"""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.integral import fill_integrals, fill_tilted
from vjcascade.kernels.scan import window_scale

N_BINS = 256
"""Bins of a feature: what one byte can count."""


@kernel
def window_tables(
    windows: NDArray[np.uint8],  # IN (n_samples, h, w)
    inset: NDArray[np.uint32],  # IN (4,) corners of the inset that the contrast is measured in
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
        inverse_norms[i] = window_scale(flat, flat_squared, np.uint64(0), inset, area)
        if len(corners) > plain.size:
            fill_tilted(windows[i], plain)
            corners[plain.size :, i] = flat


@kernel
def _fill_values(
    corners: NDArray[np.int32],  # IN (n_corners, n_samples)
    rows: NDArray[np.uint32],  # IN (3, 4) corner rows of one feature's rectangles
    weights: NDArray[np.float32],  # IN (3,)
    inverse_norms: NDArray[np.float32],  # IN (n_samples,)
    start: int,
    values: NDArray[np.float32],  # OUT (n,) the samples from `start` on
) -> None:
    """Write one feature's values of neighbouring samples."""
    stop = start + len(values)
    for r in range(3):
        weight = weights[r]
        if r > 0 and weight == 0:
            continue
        p0, p1 = corners[rows[r, 0], start:stop], corners[rows[r, 1], start:stop]
        p2, p3 = corners[rows[r, 2], start:stop], corners[rows[r, 3], start:stop]
        if r == 0:
            for i in range(len(values)):
                values[i] = weight * np.float32(p0[i] - p1[i] - p2[i] + p3[i])
        else:
            for i in range(len(values)):
                values[i] += weight * np.float32(p0[i] - p1[i] - p2[i] + p3[i])
    norms = inverse_norms[start:stop]
    for i in range(len(values)):
        values[i] *= norms[i]


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
        _fill_values(corners, rows[f], weights[f], inverse_norms, 0, values[f])


@kernel
def bin_edges(
    corners: NDArray[np.int32],  # IN (n_corners, n_samples) of a few samples that stand for all
    rows: NDArray[np.uint32],  # IN (n_features, 3, 4)
    weights: NDArray[np.float32],  # IN (n_features, 3)
    inverse_norms: NDArray[np.float32],  # IN (n_samples,)
    lowest: NDArray[np.float32],  # OUT (n_features,) where bin 0 begins
    per_unit: NDArray[np.float32],  # OUT (n_features,) bins per unit of value; 0 for a constant feature
) -> None:
    """Spread each feature's bins between the second smallest and the second largest of the samples' values."""
    values = np.empty(len(inverse_norms), np.float32)
    for f in range(len(rows)):
        _fill_values(corners, rows[f], weights[f], inverse_norms, 0, values)
        low, second_low = np.float32(np.inf), np.float32(np.inf)
        high, second_high = np.float32(-np.inf), np.float32(-np.inf)
        for value in values:
            second_low, low = min(second_low, max(low, value)), min(low, value)
            second_high, high = max(second_high, min(high, value)), max(high, value)
        lowest[f] = second_low if len(values) > 1 else low
        span = second_high - lowest[f]
        per_unit[f] = np.float32(N_BINS) / span if span > 0 else np.float32(0)


@kernel
def bin_values(
    corners: NDArray[np.int32],  # IN (n_corners, n_samples)
    rows: NDArray[np.uint32],  # IN (n_features, 3, 4)
    weights: NDArray[np.float32],  # IN (n_features, 3)
    inverse_norms: NDArray[np.float32],  # IN (n_samples,)
    lowest: NDArray[np.float32],  # IN (n_features,)
    per_unit: NDArray[np.float32],  # IN (n_features,)
    block: int,
    bins: NDArray[np.uint8],  # OUT (n_features, n_samples)
) -> None:
    """Write every value's bin; values beyond the edges go into the first and the last bin."""
    n_samples = len(inverse_norms)
    buffer = np.empty(block, np.float32)
    for start in range(0, n_samples, block):  # a block of samples keeps its corners in the cache
        values = buffer[: min(block, n_samples - start)]
        for f in range(len(rows)):
            _fill_values(corners, rows[f], weights[f], inverse_norms, start, values)
            low, scale = lowest[f], per_unit[f]
            out = bins[f, start : start + len(values)]
            for i in range(len(values)):
                place = max(np.float32(0), min(np.float32(N_BINS - 1), (values[i] - low) * scale))
                out[i] = np.uint8(np.int32(place))
