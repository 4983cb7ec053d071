"""Kinds of options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token
from cyclopts.validators import Number

from vjcascade.errors import SettingsError
from vjcascade.parallel import checked_memory
from vjcascade.types import Size


def _size(type_: Any, tokens: Sequence[Token]) -> Size:
    del type_
    return Size.parse(tokens[0].value)


SizeOption = Annotated[Size, Parameter(converter=_size, n_tokens=1, accepts_keys=False)]
"""A size written as WIDTHxHEIGHT."""


def _memory(type_: Any, tokens: Sequence[Token]) -> int:
    del type_
    return checked_memory(tokens[0].value)


MemoryOption = Annotated[int, Parameter(converter=_memory, n_tokens=1, accepts_keys=False, metavar="SIZE")]
"""Bytes, written with a unit."""


def _whole(type_: Any, tokens: Sequence[Token]) -> int:
    del type_
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"{text!r} is not a whole number") from None


WHOLE = Parameter(converter=_whole, n_tokens=1, accepts_keys=False)
"""Takes whole numbers as they are written: 1.9 is not rounded."""

WholeOption = Annotated[int, WHOLE]
"""A whole number."""

CountOption = Annotated[int, WHOLE, Parameter(validator=Number(gte=1))]
"""A whole number, at least 1."""

FlagOption = Annotated[bool, Parameter(negative="", show_default=False)]
"""A switch that is off unless it is given; there is no word for switching it off."""
