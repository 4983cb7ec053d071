"""Between which values the features of a model can come out, as far as that can be proved."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.features.families import family_of

BALANCED = 1e-5
"""Weighted areas of rectangles that add up to a smaller share of their sizes balance each other."""

ROUNDING = 1e-3
"""Bounds are wider by this share, and by as much of a feature's own scale: values are computed in float32."""


def imbalances(cascade: Cascade) -> NDArray[np.float64]:
    """Return how far each Haar feature follows brightness alone.

    Parameters
    ----------
    cascade : Cascade
        Over Haar features.

    Returns
    -------
    ndarray of shape (n_features,), dtype float64
        Weighted areas of its rectangles added up, as a share of their sizes: 0 where they balance each other, 1 where
        all have one sign.
    """
    weight_sums = _weight_sums(cascade)
    sizes = np.maximum(np.abs(weight_sums).sum(axis=1), np.finfo(np.float64).tiny)
    shares: NDArray[np.float64] = np.abs(weight_sums.sum(axis=1)) / sizes
    return shares


def value_bounds(cascade: Cascade) -> NDArray[np.float64]:
    """Return which size no value of a Haar feature exceeds in any window; infinite where nothing is proved.

    A value is a sum of pixels, each times a coefficient, over the area and standard deviation of the rectangle that
    contrast is measured in. Where the coefficients add up to nothing and none lies outside of that rectangle, the
    inequality of Cauchy and Schwarz bounds it by their norm over the square root of the area.

    Parameters
    ----------
    cascade : Cascade
        Over Haar features.

    Returns
    -------
    ndarray of shape (n_features,), dtype float64
        Of upright features that balance and stay one pixel within the window.
    """
    width, height = cascade.window
    rects, weights = (
        cascade.features["rects"].astype(np.int64),
        cascade.features["weights"].astype(np.float64),
    )
    low, high = rects[..., :2], rects[..., :2] + rects[..., 2:]
    is_absent = weights == 0
    is_inside = (low >= 1).all(axis=2) & (high <= [width - 1, height - 1]).all(axis=2)
    is_bounded = (
        (is_inside | is_absent).all(axis=1)
        & ~cascade.features["tilted"]
        & (imbalances(cascade) < BALANCED)
        & ~is_absent.all(axis=1)
    )
    sides = np.minimum(high[:, :, np.newaxis], high[:, np.newaxis]) - np.maximum(
        low[:, :, np.newaxis], low[:, np.newaxis]
    )
    shared = np.maximum(sides, 0).prod(axis=3)
    squared = (weights[:, :, np.newaxis] * weights[:, np.newaxis] * shared).sum(axis=(1, 2))
    area = (width - 2) * (height - 2)
    scale = (np.abs(weights) * np.sqrt(rects[..., 2] * rects[..., 3])).sum(axis=1)
    bounds = (np.sqrt(np.maximum(squared, 0)) + ROUNDING * scale) * (1 + ROUNDING) / np.sqrt(area)
    return np.where(is_bounded, bounds, np.inf)


def one_way_nodes(cascade: Cascade) -> NDArray[np.bool_]:
    """Tell which nodes send every window the same way, as far as that can be proved.

    Parameters
    ----------
    cascade : Cascade
        The model.

    Returns
    -------
    ndarray of shape (n_nodes,), dtype bool
        Over LBP features: those whose subset holds no code, or all. Over Haar features: those whose threshold lies
        outside of `value_bounds`.
    """
    nodes = cascade.nodes
    if family_of(cascade.features).is_categorical:
        subsets = nodes["subset"]
        is_one_way: NDArray[np.bool_] = (subsets == 0).all(axis=1) | (subsets == 2**32 - 1).all(axis=1)
        return is_one_way
    is_out: NDArray[np.bool_] = np.abs(nodes["threshold"]) > value_bounds(cascade)[nodes["feature"]]
    return is_out


def _weight_sums(cascade: Cascade) -> NDArray[np.float64]:
    """Return the weighted areas of rectangles, shape (n_features, 3)."""
    rects, weights = cascade.features["rects"].astype(np.float64), cascade.features["weights"]
    return weights * rects[..., 2] * rects[..., 3]
