"""The lower left convex hull of a round's points (errors_p, errors_n), where every concave loss has its minimum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.state import Floats

NEAR = 4e-12
"""Points this close to the hull may tie with a vertex."""


def near_lower_hull(x: Floats, y: Floats) -> NDArray[np.intp]:
    """Return the points on the lower left convex hull, and those so close that they may tie.

    Parameters
    ----------
    x, y : ndarray of shape (n,), dtype float64
        Points, n > 0.

    Returns
    -------
    ndarray of shape (n_near,), dtype intp
        Their indices, ascending.

    Examples
    --------
    >>> near_lower_hull(np.array([0.0, 0.5, 0.2, 0.9, 1.0]), np.array([1.0, 0.9, 0.3, 0.0, 0.0])).tolist()
    [0, 2, 3]
    """
    hull_x, hull_y = lower_hull(x, y)
    edge = np.clip(np.searchsorted(hull_x, x, side="right") - 1, 0, max(len(hull_x) - 2, 0))
    after = np.minimum(edge + 1, len(hull_x) - 1)
    run, rise = hull_x[after] - hull_x[edge], hull_y[after] - hull_y[edge]
    length = np.hypot(run, rise)
    height = (y - hull_y[edge]) * run - (x - hull_x[edge]) * rise
    behind = x > hull_x[-1]  # errors in the negatives cannot decrease any more
    distance = np.where(
        length > 0, height / np.where(length > 0, length, 1.0), np.hypot(x - hull_x[edge], y - hull_y[edge])
    )
    distance = np.where(behind, np.hypot(x - hull_x[-1], y - hull_y[-1]), distance)
    near: NDArray[np.intp] = np.flatnonzero(distance <= NEAR)
    return near


def lower_hull(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the vertices of the lower left convex hull, from the smallest x to the smallest y.

    Parameters
    ----------
    x, y : ndarray of shape (n,), dtype float64
        Points, n > 0.

    Returns
    -------
    x, y : ndarray of shape (n_vertices,), dtype float64
        Vertices; x increases, y decreases, slopes increase.

    Examples
    --------
    >>> lower_hull(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.9, 0.0]))[0].tolist()
    [0.0, 1.0]
    """
    order = np.lexsort((y, x))
    ranked = y[order]
    lowest = np.minimum.accumulate(ranked)
    steps = order[np.concatenate([[True], ranked[1:] < lowest[:-1]])]
    hull: list[int] = []
    for point in steps.tolist():
        while len(hull) > 1 and _turns_right(x, y, hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return x[hull], y[hull]


def _turns_right(x: Floats, y: Floats, a: int, b: int, c: int) -> bool:
    """Return whether b does not lie below the line from a to c."""
    return bool((x[b] - x[a]) * (y[c] - y[a]) <= (x[c] - x[a]) * (y[b] - y[a]))
