"""Exact errors of all cuts between the values of a table's columns: faster than bounds in small tables.

Cuts are numbered as in `vjcascade.kernels.stump.hull_of_cuts`: 2 * cut, plus 1 for the opposite polarity.
"""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel
from vjcascade.kernels.stump import hull_of_cuts


@kernel
def hulls_of_columns(
    order: NDArray[np.uint32],  # IN (n_features, n_samples) samples, by ascending value
    ends: NDArray[np.uint32],  # IN (n_features, n_samples) indices in `order` of the last of equal values
    counts: NDArray[np.int64],  # IN (n_features,) numbers of distinct values, and of `ends`
    parts: NDArray[np.float64],  # IN (n_samples, 2) weight as a positive and as a negative
    stumps: NDArray[np.int64],  # OUT (2, n_points) feature and cut
    errors: NDArray[np.float64],  # OUT (2, n_points) errors_p and errors_n
) -> int:
    """Write each feature's stumps on the lower left hull of each polarity, by ascending cut; return their number."""
    n_samples = order.shape[1]
    below = np.empty((2, n_samples))
    cuts, points = np.empty(2 * n_samples, np.int64), np.empty((2, 2 * n_samples))
    n = 0
    for f in range(len(order)):
        _add_up(order[f], ends[f], counts[f], parts, below)
        n_hull = hull_of_cuts(below[:, : counts[f]], cuts, points)
        for i in np.argsort(cuts[:n_hull]):
            if cuts[i] < 2 * (counts[f] - 1):  # there is nothing above the last one
                stumps[0, n], stumps[1, n] = f, cuts[i]
                errors[0, n], errors[1, n] = max(points[0, i], 0.0), max(points[1, i], 0.0)
                n += 1
    return n


@kernel
def least_of_columns(
    order: NDArray[np.uint32],  # IN (n_features, n_samples) as above
    ends: NDArray[np.uint32],  # IN (n_features, n_samples)
    counts: NDArray[np.int64],  # IN (n_features,)
    parts: NDArray[np.float64],  # IN (n_samples, 2)
    tolerance: float,
    stumps: NDArray[np.int64],  # OUT (2, n_points) feature and cut
    errors: NDArray[np.float64],  # OUT (2, n_points) errors_p and errors_n
) -> int:
    """Write the stumps of least total error, within a tolerance, in ascending order; return their number."""
    below = np.empty((2, order.shape[1]))
    least = np.inf
    n = 0
    for f in range(len(order)):
        n_values = counts[f]
        _add_up(order[f], ends[f], n_values, parts, below)
        sum_p, sum_n = below[0, n_values - 1], below[1, n_values - 1]
        low, high = np.inf, -np.inf
        for value in range(n_values - 1):
            difference = below[0, value] - below[1, value]
            low, high = min(low, difference), max(high, difference)
        own = min(sum_n + low, sum_p - high)
        if own > least + tolerance:
            continue
        if own < least - tolerance:
            n = 0
        least = min(least, own)
        for value in range(n_values - 1):
            difference = below[0, value] - below[1, value]
            for turned, error in enumerate((sum_n + difference, sum_p - difference)):
                if error <= own + tolerance:
                    error_p, error_n = below[0, value], sum_n - below[1, value]
                    if turned:
                        error_p, error_n = sum_p - below[0, value], below[1, value]
                    stumps[0, n], stumps[1, n] = f, 2 * value + turned
                    errors[0, n], errors[1, n] = max(error_p, 0.0), max(error_n, 0.0)
                    n += 1
    return n


@kernel
def _add_up(
    order: NDArray[np.uint32],  # IN (n_samples,)
    ends: NDArray[np.uint32],  # IN (n_samples,)
    n_values: int,
    parts: NDArray[np.float64],  # IN (n_samples, 2)
    below: NDArray[np.float64],  # OUT (2, n_samples)
) -> None:
    """Write the weights of positives and negatives up to and including each value."""
    place = 0
    sum_p, sum_n = 0.0, 0.0
    for value in range(n_values):
        while place <= ends[value]:
            sample = order[place]
            sum_p += parts[sample, 0]
            sum_n += parts[sample, 1]
            place += 1
        below[0, value] = sum_p
        below[1, value] = sum_n
