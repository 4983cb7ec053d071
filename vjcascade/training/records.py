"""Read back what a model says of its stages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar, get_args, get_type_hints

from vjcascade.training.events import Rates, StageRecord

Told = TypeVar("Told", Rates, StageRecord)


def read_records(metadata: Mapping[str, Any]) -> list[StageRecord]:
    """Return the records of stages in a model's metadata.

    Parameters
    ----------
    metadata : mapping
        Of a `Cascade`.

    Returns
    -------
    list of StageRecord
        In the order of the stages.

    Raises
    ------
    KeyError, TypeError, ValueError
        If there is none, or a value is of another type or out of range.

    Examples
    --------
    >>> read_records({"stages": []})
    []
    """
    return [_told(StageRecord, values) for values in metadata["stages"]]


def _told(kind: type[Told], values: Any) -> Told:
    """Make a record of what a file says, once the types and ranges are right."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{values!r} in the place of {kind.__name__}")
    fields = dict(values)
    for name, hint in get_type_hints(kind).items():
        kinds = get_args(hint) or (hint,)
        if Rates in kinds and isinstance(fields[name], Mapping):
            fields[name] = _told(Rates, fields[name])
        if type(fields[name]) not in kinds or not _in_range(name, fields[name]):
            raise ValueError(f"{name} {fields[name]!r}")
    return kind(**fields)


def _in_range(name: str, value: Any) -> bool:
    if name == "overall_false_alarm_rate":
        return bool(0 < value <= 1)
    if name.endswith("_rate") and value is not None:
        return bool(0 <= value <= 1)
    return value >= 0 if isinstance(value, int) else not isinstance(value, float) or math.isfinite(value)
