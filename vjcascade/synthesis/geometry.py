"""Where the pixels of an altered copy come from: turned and tilted in space, seen with perspective, fitted to a box.

Places are `(x, y)` in pixels, counted from the middle of a box. A map of the plane is a matrix of shape (3, 3) that
acts on `(x, y, 1)`, of whose result the first two numbers are divided by the third.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.synthesis.alterations import Alteration
from vjcascade.types import Size

DISTANCE = 3.0
"""Of the eye, in longer sides of the object; that of `opencv_createsamples`."""

MIN_DEPTH = 0.05
"""Pixels that would show what lies nearer to the eye show nothing: beyond, they would show what is behind it."""

NOWHERE = 1e6
"""A place outside of all pictures."""

Places = NDArray[np.float64]


def perspective(alteration: Alteration, box: Size, outline: Places) -> NDArray[np.float64]:
    """Return the map from an original to its altered copy, without shift and scaling.

    The copy's outline lies in the middle of the box, as large as it goes into the box of the original's outline.

    Parameters
    ----------
    alteration : Alteration
        What becomes of it.
    box : Size
        Of the object in pixels.
    outline : ndarray of shape (n, 2), dtype float64
        Around the object.

    Returns
    -------
    ndarray of shape (3, 3), dtype float64
        The map.
    """
    turn, tilt_x, tilt_y = np.deg2rad([alteration.turn, alteration.tilt_x, alteration.tilt_y])
    cos_x, sin_x, cos_y, sin_y = np.cos(tilt_x), np.sin(tilt_x), np.cos(tilt_y), np.sin(tilt_y)
    about_x = np.array([[1, 0, 0], [0, cos_x, -sin_x], [0, sin_x, cos_x]])
    about_y = np.array([[cos_y, 0, sin_y], [0, 1, 0], [-sin_y, 0, cos_y]])
    tilted = about_y @ about_x
    seen = np.eye(3)
    seen[:2, :2] = tilted[:2, :2]
    seen[2, :2] = tilted[2, :2] / (DISTANCE * max(box))
    in_plane = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    mirrored = np.diag([-1.0 if alteration.is_mirrored else 1.0, 1.0, 1.0])
    forward = in_plane @ seen @ mirrored
    low, high = bounds(mapped(forward, outline))
    old_low, old_high = bounds(mapped(mirrored, outline))
    fit = float(np.min((old_high - old_low) / (high - low)))
    return zoomed(fit) @ moved((old_low + old_high) / 2 / fit - (low + high) / 2) @ forward


def zoomed(factor: float) -> NDArray[np.float64]:
    """Return the map that makes things larger.

    Examples
    --------
    >>> mapped(zoomed(2.0), np.array([[1.0, 3.0]]))
    array([[2., 6.]])
    """
    return np.diag([factor, factor, 1.0])


def moved(offset: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the map that moves things.

    Examples
    --------
    >>> mapped(moved(np.array([1.0, 0.0])), np.array([[1.0, 3.0]]))
    array([[2., 3.]])
    """
    matrix = np.eye(3)
    matrix[:2, 2] = offset
    return matrix


def mapped(matrix: NDArray[np.float64], places: Places) -> Places:
    """Apply a map.

    Parameters
    ----------
    matrix : ndarray of shape (3, 3), dtype float64
        The map.
    places : ndarray of shape (..., 2), dtype float64
        Any number of places.

    Returns
    -------
    ndarray of shape (..., 2), dtype float64
        Where they come to lie; `NOWHERE` for what is behind the eye.
    """
    result = places @ matrix[:, :2].T + matrix[:, 2]
    depth = result[..., 2:]
    is_before = depth > MIN_DEPTH
    return np.where(is_before, result[..., :2] / np.where(is_before, depth, 1.0), NOWHERE)


def inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the map back; what is before the eye stays so.

    Examples
    --------
    >>> mapped(inverse(zoomed(2.0)), np.array([[2.0, 6.0]]))
    array([[1., 3.]])
    """
    back = np.linalg.inv(matrix)
    scaled: NDArray[np.float64] = back / back[2, 2]
    return scaled


def bounds(places: Places) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the greatest `(x, y)`.

    Examples
    --------
    >>> low, high = bounds(np.array([[1.0, 5.0], [2.0, 3.0]]))
    >>> low, high
    (array([1., 3.]), array([2., 5.]))
    """
    return places.min(axis=0), places.max(axis=0)
