"""Checks of values that users give: whole numbers, numbers in a range, switches, texts and names.

Each returns the value as a plain Python type, or raises `SettingsError` with a sentence that tells the name and the
value.
"""

from __future__ import annotations

import operator
from enum import StrEnum
from functools import cache
from numbers import Real
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np

from vjcascade.errors import SettingsError
from vjcascade.messages import suggest

Choice = TypeVar("Choice", bound=StrEnum)


def checked_whole(name: str, value: Any, *, ge: int = 0, le: int | None = None, hint: str = "") -> int:
    """Return a whole number, at least `ge` and at most `le`.

    Parameters
    ----------
    name : str
        Of the setting.
    value : int
        As the user gave it.
    ge : int
        Least number that is allowed.
    le : int, optional
        Greatest number that is allowed.
    hint : str, optional
        What the message ends with.

    Returns
    -------
    int
        The number.

    Raises
    ------
    SettingsError
        If it is another number, a truth value or no whole number.

    Examples
    --------
    >>> checked_whole("stride", 2, ge=1, hint="1 looks everywhere")
    2
    """
    try:
        number = ge - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:  # a fraction, or no number
        number = ge - 1
    if number < ge or (le is not None and number > le):
        bounds = f", at least {ge:,}" if le is None else f" from {ge:,} to {le:,}"
        raise SettingsError(f"{name} {value!r} is not a whole number{bounds}{hint and '; '}{hint}")
    return number


def checked_number(
    name: str,
    value: Any,
    *,
    gt: float | None = None,
    ge: float | None = None,
    lt: float | None = None,
    le: float | None = None,
    hint: str = "",
) -> float:
    """Return a number in a range; nan is in none.

    Parameters
    ----------
    name : str
        Of the setting.
    value : float
        As the user gave it.
    gt, ge : float, optional
        What it must be above, or at least; one of the two.
    lt, le : float, optional
        What it must be below, or at most; one of the two.
    hint : str, optional
        What the message ends with.

    Returns
    -------
    float
        The number.

    Raises
    ------
    SettingsError
        If it is out of range, a truth value or no number.

    Examples
    --------
    >>> checked_number("hit_rate", 1, gt=0, le=1)
    1.0
    """
    try:
        number = None if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    except OverflowError:
        number = None
    if number is None:
        raise SettingsError(f"{name} {value!r} is not a number{hint and '; '}{hint}")
    low = gt if gt is not None else ge if ge is not None else -np.inf
    high = lt if lt is not None else le if le is not None else np.inf
    above = number >= low if ge is not None else number > low
    below = number <= high if le is not None else number < high
    if not (above and below):
        interval = f"{'(' if ge is None else '['}{low:g}, {high:g}{')' if le is None else ']'}"
        raise SettingsError(f"{name} {number} is not in {interval}{hint and '; '}{hint}")
    return number


def checked_flag(name: str, value: Any) -> bool:
    """Return a truth value; raise `SettingsError` for anything else, such as the word "no"."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise SettingsError(f"{name} {value!r} must be True or False")


def checked_text(name: str, value: Any) -> str:
    """Return a text; raise `SettingsError` for anything else."""
    if isinstance(value, str):
        return value
    raise SettingsError(f"{name} {value!r} is not a name")


def checked_choice(name: str, value: Any, kind: type[Choice]) -> Choice:
    """Return the member of `kind` that a text names, in any case.

    Parameters
    ----------
    name : str
        Of the setting.
    value : str
        As the user gave it.
    kind : type
        The choices.

    Returns
    -------
    StrEnum
        The choice.

    Raises
    ------
    SettingsError
        If there is none of this name; near names are suggested.

    Examples
    --------
    >>> from vjcascade.types import FeatureType
    >>> checked_choice("features", "lbp", FeatureType)
    <FeatureType.LBP: 'LBP'>
    """
    known = {str(member).casefold(): member for member in kind}
    if isinstance(value, str) and value.casefold() in known:
        return known[value.casefold()]
    verb = "are" if name.endswith("s") else "is"
    raise SettingsError(f"there {verb} no {name} {value!r}; {suggest(str(value), known)}")


def check_fields(settings: object) -> None:
    """Bring the fields of a frozen dataclass to their types, or raise `SettingsError`.

    A range stands beside the type, as in ``Annotated[int, msgspec.Meta(ge=1, le=4)]``. Fields of other types than the
    checks of this module return are left alone.

    Parameters
    ----------
    settings : object
        A dataclass, in its `__post_init__`.
    """
    owner: Any = type(settings)
    for name, (kind, bounds, may_be_none) in _declared(owner).items():
        value = getattr(settings, name)
        if value is not None or not may_be_none:
            object.__setattr__(settings, name, _checked(name, value, kind, bounds))


def _checked(name: str, value: Any, kind: Any, bounds: dict[str, Any]) -> Any:
    if kind is int:
        return checked_whole(name, value, **bounds)
    if kind is float:
        return checked_number(name, value, **bounds)
    if kind is bool:
        return checked_flag(name, value)
    if kind is str:
        return checked_text(name, value)
    return (
        checked_choice(name, value, kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else value
    )


@cache
def _declared(kind: type) -> dict[str, tuple[Any, dict[str, Any], bool]]:
    """Return the type of each field, its bounds, and whether it may be None."""
    declared = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        may_be_none = NoneType in get_args(hint)
        plain = next(one for one in get_args(hint) if one is not NoneType) if may_be_none else hint
        ranges = getattr(plain, "__metadata__", ())
        found = {key: getattr(one, key) for one in ranges for key in ("gt", "ge", "lt", "le")}
        bounds = {key: bound for key, bound in found.items() if bound is not None}
        declared[name] = (getattr(plain, "__origin__", plain), bounds, may_be_none)
    return declared
