"""Shapes of annotation tools: bounding boxes of polygons, circles and ellipses, and flags among their attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from vjcascade.formats.annotations.pictures import Coordinates, Flag, brief, checked_box


def box_of_points(xs: Sequence[float], ys: Sequence[float]) -> Coordinates:
    """Return the bounding box of points.

    Raises
    ------
    ValueError
        If there are no points, the numbers of x and y differ, or a number is not one that a picture can have.

    Examples
    --------
    >>> box_of_points([3, 1, 2], [5, 5, 9])
    (1.0, 5.0, 2.0, 4.0)
    """
    if len(xs) != len(ys) or not xs:
        raise ValueError(
            f"it has {len(xs)} x and {len(ys)} y coordinates; the numbers must be equal and above 0"
        )
    for numbers in (xs, ys):
        checked_box([min(numbers), max(numbers), 0, 0])
    return checked_box([min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)])


def box_of_ellipse(center: Sequence[float], radii: Sequence[float], angle: float = 0.0) -> Coordinates:
    """Return the bounding box of an ellipse.

    Parameters
    ----------
    center : sequence of float
        x and y.
    radii : sequence of float
        Half axes a and b; equal for a circle.
    angle : float
        From the x axis to the first axis, in radians.

    Returns
    -------
    Coordinates
        Its width is `2 sqrt((a cos)^2 + (b sin)^2)`, its height `2 sqrt((a sin)^2 + (b cos)^2)`.

    Raises
    ------
    ValueError
        If a number is not one that a picture can have.

    Examples
    --------
    >>> box_of_ellipse([20, 10], [5, 3])
    (15.0, 7.0, 10.0, 6.0)
    """
    (x, y), (along, across) = center, radii
    checked_box([x, y, along, across])
    if not math.isfinite(angle):
        raise ValueError(f"{angle} is not a valid angle")
    cos, sin = math.cos(angle), math.sin(angle)
    half_width, half_height = math.hypot(along * cos, across * sin), math.hypot(along * sin, across * cos)
    return checked_box([x - half_width, y - half_height, 2 * half_width, 2 * half_height])


def flag_among(attributes: Mapping[str, Any]) -> Flag:
    """Return the flag of an object, from attributes of that name that are on.

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
