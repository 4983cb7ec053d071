"""Kinds of options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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

_SAME = "strength shift scaling turn contrast brightness gamma light blur noise jpeg occlusion transparent tolerance"

OPTIONS = {
    **{name: f"--{name}" for name in _SAME.split()},
    "scale factor": "--scale-factor",
    "min_neighbors": "--min-neighbors",
    "min_ranking_score": "--min-ranking-score",
    "min_size": "--min-size",
    "max_size": "--max-size",
    "near_misses": "--near-misses",
    "overlap": "--overlap",
    "region": "--region",
    "mask": "--mask",
    "angles": "--angles",
    "recall": "--recall",
    "precision": "--precision",
    "false_alarms_per_picture": "--fppi",
    "min_overlap": "--min-overlap",
    "hit_rate": "--hit-rate",
    "false_alarm_rate": "--false-alarm-rate",
    "n_rounds": "--rounds",
    "n_samples": "--samples",
    "n_seeds": "--seeds",
    "n_stages": "--stages",
    "n_features": "--pool",
    "n_threads": "--threads",
    "stages": "--stages",
    "window": "--window",
    "tilt_x": "--tilt-x",
    "tilt_y": "--tilt-y",
}
"""Settings by their names in Python, as the command line spells them. (`vjcascade train` has more, and says them.)"""


def spelt_as_options(message: str, options: Mapping[str, str] = OPTIONS) -> str:
    """Name settings in a message as the command line does: ordinary words only where the message begins with them.

    Parameters
    ----------
    message : str
        Of an error.
    options : mapping of str to str
        From names in Python to options.

    Returns
    -------
    str
        The message.

    Examples
    --------
    >>> spelt_as_options("min_size 9x9 is larger than max_size 3x3: no window has a recall")
    '--min-size 9x9 is larger than --max-size 3x3: no window has a recall'
    >>> spelt_as_options("recall and precision cannot both be the goal")
    '--recall and --precision cannot both be the goal'
    >>> spelt_as_options("resume or overwrite it (resume=True, overwrite=True)")
    'resume or overwrite it (--resume, --overwrite)'
    """
    ordinary = "|".join(name for name in options if "_" not in name)
    beginning = re.match(rf"(?:{ordinary})(?:(?: and|,) \w+)*(?![\w:./])", message)  # no file of that name
    end = beginning.end() if beginning else 0
    begin = re.sub(rf"\b(?:{ordinary})\b", lambda name: options[name[0]], message[:end]) + message[end:]
    begin = re.sub(r"\b(resume|overwrite)=True\b", r"--\1", begin)
    return re.sub(r"(?<![-.\w])\w+_\w+", lambda name: options.get(name[0], name[0]), begin)


FlagOption = Annotated[bool, Parameter(negative="", show_default=False)]
"""A switch that is off unless it is given; there is no word for switching it off."""
