"""Settings and arguments of detectors, checked once and refused with a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.checks import checked_whole
from vjcascade.errors import SettingsError
from vjcascade.types import Size

Item = TypeVar("Item")


def checked_cascades(cascades: Cascade | Sequence[Cascade]) -> tuple[Cascade, ...]:
    """Return one or more cascades as a tuple; raise `SettingsError` if that is not what they are."""
    found = tuple(cascades) if isinstance(cascades, Sequence) else (cascades,)
    if not found or not all(isinstance(cascade, Cascade) for cascade in found):
        given = (cascades,) if isinstance(cascades, str) else found  # not letter by letter
        kinds = ", ".join(type(cascade).__name__ for cascade in given)
        raise SettingsError(
            f"a detector needs a Cascade, or several in a sequence, not ({kinds}); `Cascade.load` reads a file"
        )
    return found


def only(each: Sequence[Item]) -> Item:
    """Return the one result there is; raise `SettingsError` if there are several cascades."""
    if len(each) != 1:
        raise SettingsError(
            f"this detector has {len(each)} cascades and `detect` gives one result; use `detect_each`"
        )
    return each[0]


def checked_neighbors(min_neighbors: int) -> int:
    """Return `min_neighbors`, or raise `SettingsError` if it is negative or no whole number."""
    return checked_whole("min_neighbors", min_neighbors, hint="a detection needs more windows than this")


def checked_size(name: str, size: tuple[int, int] | None) -> Size | None:
    """Return a bound on the object's size, or raise `SettingsError` unless it is two numbers above 0."""
    if size is None:
        return None
    try:
        width, height = (index(side) for side in size)
    except (TypeError, ValueError):  # one number, fractions, or more than two
        width = height = 0
    if min(width, height) < 1:
        raise SettingsError(
            f"{name} {size!r} must be a width and a height in whole pixels above 0, for example (24, 24)"
        )
    return Size(width, height)


def check_bounds(min_size: Size | None, max_size: Size | None) -> None:
    """Raise `SettingsError` if no object can be as large as `min_size` and as small as `max_size`."""
    if min_size and max_size and (min_size.width > max_size.width or min_size.height > max_size.height):
        raise SettingsError(
            f"min_size {min_size} is larger than max_size {max_size}, so nothing would be found; change one of them"
        )


def checked_angles(angles: Sequence[float]) -> tuple[float, ...]:
    """Return angles in degrees; raise `SettingsError` for none, for what is no number, and for repetitions."""
    try:
        found = tuple(float(angle) for angle in angles)
    except (TypeError, ValueError):
        found = ()
    if not found or not np.isfinite(found).all():
        raise SettingsError(
            f"angles {angles!r} must be finite numbers in a sequence, in degrees, for example (-30, 0, 30)"
        )
    if len({angle % 360 for angle in found}) < len(found):
        raise SettingsError(f"angles {angles!r} name a direction twice; its windows would count twice")
    return found


def checked_region(region: Sequence[int] | None, size: Size) -> tuple[int, int, int, int]:
    """Cut a region to the picture.

    Parameters
    ----------
    region : sequence of int, or None
        `x, y, w, h` in pixels, w and h above 0; may reach beyond the picture. None is the whole picture.
    size : Size
        Of the picture.

    Returns
    -------
    tuple of int
        `x, y, w, h` of the part inside the picture.

    Raises
    ------
    SettingsError
        If it is something else, or does not touch the picture.

    Examples
    --------
    >>> checked_region((-5, 10, 20, 100), Size(60, 50))
    (0, 10, 15, 40)
    """
    if region is None:
        return 0, 0, size.width, size.height
    try:
        x, y, width, height = (index(number) for number in region)
    except (TypeError, ValueError):
        x = y = width = height = 0
    if min(width, height) < 1:
        raise SettingsError(
            f"region {region!r} must be x, y, width and height in whole pixels, width and height above 0"
        )
    right, bottom = min(x + width, size.width), min(y + height, size.height)
    x, y = max(x, 0), max(y, 0)
    if right <= x or bottom <= y:
        raise SettingsError(f"region {region!r} (x, y, width, height) lies outside the {size} picture")
    return x, y, right - x, bottom - y


def checked_mask(mask: NDArray[Any] | None, size: Size) -> NDArray[np.bool_] | None:
    """Return a mask as bool (h, w); raise `SettingsError` if it has another shape than the picture."""
    if mask is None:
        return None
    if not isinstance(mask, np.ndarray) or mask.dtype not in (np.bool_, np.uint8):
        kind = f"dtype {mask.dtype}" if isinstance(mask, np.ndarray) else type(mask).__name__
        raise SettingsError(f"a mask must be an array of dtype bool or uint8 (0 is off), not {kind}")
    if mask.shape != (size.height, size.width):
        raise SettingsError(
            f"a mask of shape {mask.shape} does not fit a picture of shape {(size.height, size.width)}; "
            "it needs one value for each pixel of the picture"
        )
    return mask.astype(np.bool_)
