"""Shapes of annotation tools: boxes around polygons, circles and ellipses, and why some are ignored."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from vjcascade.formats.annotations.pictures import Coordinates, Flag, brief, checked_box


def box_of_points(xs: Sequence[float], ys: Sequence[float]) -> Coordinates:
    """Return the box around points.

    Raises
    ------
    ValueError
        If there are none, or a coordinate without the other, or a number that no picture has.

    Examples
    --------
    >>> box_of_points([3, 1, 2], [5, 5, 9])
    (1.0, 5.0, 2.0, 4.0)
    """
    if len(xs) != len(ys) or not xs:
        raise ValueError(f"it has {len(xs)} numbers x and {len(ys)} numbers y; points need as many of both")
    for numbers in (xs, ys):
        checked_box([min(numbers), max(numbers), 0, 0])
    return checked_box([min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)])


def box_of_ellipse(center: Sequence[float], radii: Sequence[float], angle: float = 0.0) -> Coordinates:
    """Return the smallest upright box that an ellipse fits into.

    Parameters
    ----------
    center : sequence of float
        x and y.
    radii : sequence of float
        Along its first axis and across; both the same for a circle.
    angle : float
        Of the first axis with the x axis, in radians.

    Returns
    -------
    Coordinates
        Twice as wide as `sqrt((a cos)^2 + (b sin)^2)`, and twice as high as `sqrt((a sin)^2 + (b cos)^2)`.

    Raises
    ------
    ValueError
        If a number is not one that a picture has.

    Examples
    --------
    >>> box_of_ellipse([20, 10], [5, 3])
    (15.0, 7.0, 10.0, 6.0)
    """
    (x, y), (along, across) = center, radii
    checked_box([x, y, along, across])
    if not math.isfinite(angle):
        raise ValueError(f"{angle} is no angle")
    cos, sin = math.cos(angle), math.sin(angle)
    half_width, half_height = math.hypot(along * cos, across * sin), math.hypot(along * sin, across * cos)
    return checked_box([x - half_width, y - half_height, 2 * half_width, 2 * half_height])


def flag_among(attributes: Mapping[str, Any]) -> Flag:
    """Return why an object is to be ignored, by attributes that go by that name and are switched on.

    Examples
    --------
    >>> flag_among({"Difficult": True}), flag_among({"iscrowd": "1"}), flag_among({"ignore": "no"})
    ('difficult', 'crowd', '')
    """
    on = {name.strip().lower() for name, value in attributes.items() if _is_on(value)}
    flags: dict[Flag, set[str]] = {
        "ignore": {"ignore", "ignored"},
        "difficult": {"difficult"},
        "crowd": {"crowd", "iscrowd"},
    }
    return next((flag for flag, names in flags.items() if names & on), "")


def _is_on(value: Any) -> bool:
    if isinstance(value, dict):  # check boxes of VIA
        return any(map(_is_on, value.values()))
    return brief(str(value)).strip().lower() not in {"", "0", "0.0", "false", "no", "none"}
