"""Settings of a training run in a TOML file."""

from __future__ import annotations

import io
import tomllib
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Unpack

from vjcascade.errors import SettingsError
from vjcascade.files import read_at_most
from vjcascade.messages import near_file, suggest
from vjcascade.training.settings import Preset, SettingsChanges, TrainingSettings, preset_settings

MAX_BYTES = 2**20
"""Of a settings file."""


class FileChanges(SettingsChanges, total=False):
    """The keyword arguments of `read_settings`."""

    preset: Preset | Literal["quick", "normal", "thorough"] | None


def read_settings(path: str | PathLike[str], **changes: Unpack[FileChanges]) -> TrainingSettings:
    r"""Read settings from a TOML file, some of them changed.

    Its keys are the fields of `TrainingSettings`, with hyphens or underscores, and ``preset``; what is not in it is the
    preset's. Costs may be written in all ways that `vjcascade.boosters.costs.parse_costs` takes: ``costs = 4``,
    ``costs = [4, 1]``, ``costs = "4:1"``, ``costs = { gamma = 0.8 }``, ``costs = { matrix = [[0, 4], [1, 0]] }``.

    Parameters
    ----------
    path : path
        The file, UTF-8.
    **changes
        Fields of `TrainingSettings`, or ``preset``; they go before what the file says. None changes nothing.

    Returns
    -------
    TrainingSettings
        The file's, changed.

    Raises
    ------
    SettingsError
        If there is no such file, it is not TOML (the line is named), holds an unknown key (near names are suggested),
        or settings are wrong.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("signs.toml").write_text("preset = 'quick'\nhit-rate = 0.999\ncosts = 4\n")
    >>> settings = read_settings("signs.toml", max_stages=5)
    >>> settings.max_stages, settings.hit_rate, str(settings.costs)
    (5, 0.999, '4:1')
    """
    given = _read(Path(path))
    try:
        return _settings({**given, **{name: value for name, value in changes.items() if value is not None}})
    except SettingsError:
        try:
            _settings(given)
        except SettingsError as error:  # the file's fault, not the changes'
            raise SettingsError(f"{path}: {error}") from None
        raise


def _settings(given: dict[str, Any]) -> TrainingSettings:
    return preset_settings(**{"preset": Preset.NORMAL, **given})


def _read(path: Path) -> dict[str, Any]:
    """Return what a file says, by field."""
    try:
        data = io.BytesIO(read_at_most(path, MAX_BYTES))
        given = tomllib.loads(
            io.TextIOWrapper(data, "utf-8-sig").read()
        )  # some editors begin a file with a mark
    except OSError as error:
        near = near_file(path) if isinstance(error, FileNotFoundError) else ""
        hint = f"; did you mean {near!r}?" if near else ""
        raise SettingsError(f"{path} cannot be read: {error.strerror}{hint}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not a TOML file: it is not text in UTF-8") from None
    except (ValueError, RecursionError) as error:
        if "int_max_str_digits" in str(error):  # Python's own word for whole numbers of thousands of digits
            raise SettingsError(
                f"{path}: a number has more digits than any setting; write it shorter"
            ) from None
        raise SettingsError(f"{path} is not a TOML file: {error}") from None
    known = ("preset", *(field.name for field in fields(TrainingSettings)))
    named: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in known:
            raise SettingsError(f"{path}: there is no setting {key!r}; {suggest(name, known)}")
        if name in named:
            raise SettingsError(f"{path}: {name} is set twice, with hyphens and with underscores")
        named[name] = value
    return named
