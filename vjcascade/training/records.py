"""Read back what a model says of its stages."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from typing import Any

import msgspec

from vjcascade.training.events import StageRecord
from vjcascade.training.gains import BaseFigures

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


def read_base_figures(metadata: Mapping[str, Any]) -> BaseFigures | None:
    """Return what a model's metadata says of the model that it continues; None where it was not measured.

    Raises
    ------
    ValueError
        If a value is of another type or out of range.

    Examples
    --------
    >>> read_base_figures({"base": {"n_stages": 3, "hit_rate": 0.5}}).hit_rate
    0.5
    """
    values = metadata.get("base")
    return None if values is None else msgspec.convert(values, BaseFigures)


def _with_value(message: str, stages: Any) -> str:
    """Put the value in front of a message of msgspec, which tells only where it is."""
    reason, _, place = message.partition(" - at `$")
    name, value = "stages", stages
    for index, key in _STEP.findall(place):
        name, value = (name, value[int(index)]) if index else (key, value[key])
    return f"{name} {reprlib.repr(value)}: {reason}"
