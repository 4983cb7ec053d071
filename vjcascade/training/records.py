"""Read back what a model says of its stages."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from typing import Any

import msgspec

from vjcascade.training.events import StageRecord

_STEP = re.compile(r"\[(\d+)\]|\.(\w+)")
"""In the place that msgspec tells, such as $[1].tuned.hit_rate."""


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
        If there is none, or a value is of another type or out of range; the value is told.

    Examples
    --------
    >>> read_records({"stages": []})
    []
    """
    stages = metadata["stages"]
    try:
        return msgspec.convert(stages, list[StageRecord])
    except msgspec.ValidationError as error:
        raise ValueError(_with_value(str(error), stages)) from None


def _with_value(message: str, stages: Any) -> str:
    """Put the value in front of a message of msgspec, which tells only where it is."""
    reason, _, place = message.partition(" - at `$")
    name, value = "stages", stages
    for index, key in _STEP.findall(place):
        name, value = (name, value[int(index)]) if index else (key, value[key])
    return f"{name} {reprlib.repr(value)}: {reason}"
