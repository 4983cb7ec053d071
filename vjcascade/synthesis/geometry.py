"""The geometry of altered copies: rotation and tilt in space, perspective projection, fitting into a box.

Positions are `(x, y)` in pixels from the centre of a box. Maps of the plane are homographies: matrices of shape (3, 3)
that act on `(x, y, 1)`, with the first two numbers of the result divided by the third.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.synthesis.alterations import Alteration
from vjcascade.types import Size

DISTANCE = 3.0
"""Distance of the camera, relative to the longer side of the object, as in `opencv_createsamples`."""

MIN_DEPTH = 0.05
"""Smallest depth that is projected: points behind the camera must not appear."""

NOWHERE = 1e6
"""A coordinate outside of all pictures."""

Places = NDArray[np.float64]


def perspective(alteration: Alteration, box: Size, outline: Places) -> NDArray[np.float64]:
    """Return the map from an original to its altered copy, without shift and scaling.

    The copy's outline is centred in the bounding box of the original's outline, and as large as fits into it.

    Parameters
    ----------
    alteration : Alteration
        The alteration.
    box : Size
        The object's size in pixels.
    outline : ndarray of shape (n, 2), dtype float64
        Outline of the object.

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
    """Return the map that scales by a factor.

    Examples
    --------
    >>> mapped(zoomed(2.0), np.array([[1.0, 3.0]]))
    array([[2., 6.]])
    """
    return np.diag([factor, factor, 1.0])


def moved(offset: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the map that translates by an offset.

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
        Positions.

    Returns
    -------
    ndarray of shape (..., 2), dtype float64
        Their images; `NOWHERE` for points behind the camera.
    """
    result = places @ matrix[:, :2].T + matrix[:, 2]
    depth = result[..., 2:]
    is_before = depth > MIN_DEPTH
    return np.where(is_before, result[..., :2] / np.where(is_before, depth, 1.0), NOWHERE)


def inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse map, scaled so that points in front of the camera stay there.

    Examples
    --------
    >>> mapped(inverse(zoomed(2.0)), np.array([[2.0, 6.0]]))
    array([[1., 3.]])
    """
    back = np.linalg.inv(matrix)
    scaled: NDArray[np.float64] = back / back[2, 2]
    return scaled


def bounds(places: Places) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the minimum and maximum of `(x, y)`.

    Examples
    --------
    >>> low, high = bounds(np.array([[1.0, 5.0], [2.0, 3.0]]))
    >>> low, high
    (array([1., 3.]), array([2., 5.]))
    """
    return places.min(axis=0), places.max(axis=0)
