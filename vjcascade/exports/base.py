"""What every export can do: say what it cannot express, write a model, and be held to it."""

from __future__ import annotations

import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.errors import ModelError
from vjcascade.exports.scanner import NumpyScanner
from vjcascade.exports.trial import Trial
from vjcascade.messages import pluralize

ExportFormat = Literal["new", "old", "c", "json", "js", "html", "python", "openmv"]
"""What a model can be written as: OpenCV's XML in its new and its old format, and exports."""


class Export(ABC):
    """A form of a model for other programs.

    Attributes
    ----------
    name : str
        As `--to` takes it.
    suffixes : tuple of str
        Of its files.
    label : str
        In sentences.
    hint : str
        How to use the file, where it cannot say so itself.
    """

    name: ClassVar[ExportFormat]
    suffixes: ClassVar[tuple[str, ...]]
    label: ClassVar[str]
    hint: ClassVar[str] = ""

    @abstractmethod
    def dump(self, cascade: Cascade, path: Path) -> bytes:
        """Return the file's bytes; `path` is where it will be, whose name may stand in it.

        Raises
        ------
        ModelError
            If the model cannot be expressed.
        """

    @abstractmethod
    def prove(self, data: bytes, trial: Trial, path: Path) -> str:
        """Run what was written on the windows and the picture of a trial.

        Parameters
        ----------
        data : bytes
            From `dump`.
        trial : Trial
            Of the same model.
        path : Path
            As for `dump`.

        Returns
        -------
        str
            How it was compared, in words that can follow "tried on 20,000 windows:".

        Raises
        ------
        ModelError
            If it does not answer as the engine does.
        """


def check_answers(
    trial: Trial, passed: NDArray[np.int32], raw: NDArray[np.int32], found: NDArray[np.int32]
) -> None:
    """Refuse an export that judges a window differently than the engine, or finds other boxes.

    Parameters
    ----------
    trial : Trial
        What it ran on.
    passed : ndarray of shape (n,)
        Stages that windows passed.
    raw, found : ndarray of shape (n, 4)
        Boxes in the picture: all windows, and groups.

    Raises
    ------
    ModelError
        With the first window that differs.
    """
    check_windows(passed, trial.passed)
    for what, boxes, expected in (("windows", raw, trial.raw), ("objects", found, trial.found)):
        if boxes.shape != expected.boxes.shape or (boxes != expected.boxes).any():
            raise ModelError(
                f"the export finds {len(boxes)} {what} in a picture, the detector {len(expected)}, or at other places; "
                f"{_ADVICE}"
            )


def check_windows(passed: NDArray[np.int32], expected: NDArray[np.int32]) -> None:
    """Refuse answers for windows that are not the engine's.

    Raises
    ------
    ModelError
        With the first window that differs.
    """
    if len(passed) != len(expected):
        raise ModelError(
            f"the export answered for {len(passed)} of {pluralize(len(expected), 'window')}; {_ADVICE}"
        )
    wrong = np.flatnonzero(passed != expected)
    if len(wrong):
        first = wrong[0]
        raise ModelError(
            f"the export judges {len(wrong)} of {pluralize(len(passed), 'window')} differently: window {first} passes "
            f"{passed[first]} stages instead of {expected[first]}; {_ADVICE}"
        )


_ADVICE = (
    "nothing is written. This is a fault of vjcascade or of the tool that ran the export: please report it"
)


def emulated(tables: Mapping[str, Any], trial: Trial) -> None:
    """Compare the numbers of an export, read back from its text, by running them in NumPy.

    Raises
    ------
    ModelError
        If they do not answer as the engine does.
    """
    scanner = NumpyScanner(tables)
    raw = scanner.detect(trial.picture, min_neighbors=0)
    check_answers(trial, scanner.judge(trial.windows), raw.boxes, scanner.detect(trial.picture).boxes)


def template(name: str) -> str:
    """Return a text that lies beside this file."""
    return files("vjcascade.exports").joinpath(name).read_text(encoding="utf-8")


def filled(text: str, values: Mapping[str, str]) -> str:
    """Put values in the places of a template that are marked as @NAME@, in one pass.

    Examples
    --------
    >>> filled("size @SIZE@", {"SIZE": "3"})
    'size 3'
    """
    return re.sub("@([A-Z_]+)@", lambda match: values[match[1]], text)


def wrapped(lines: Iterable[str], width: int) -> list[str]:
    """Break long lines; what goes on is indented.

    Examples
    --------
    >>> wrapped(["one two three"], 9)
    ['one two', '    three']
    """
    return [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent="    ")]


def file_name(path: Path) -> str:
    """Return a file's name in plain ASCII, which ends no comment.

    Examples
    --------
    >>> file_name(Path("models/my*/car.h")), file_name(Path("é.js"))
    ('car.h', '_.js')
    """
    return re.sub("[^A-Za-z0-9._-]", "_", path.name)


def identifier(path: Path) -> str:
    """Return a file's name as a name in programs.

    Examples
    --------
    >>> identifier(Path("models/My car-2.h")), identifier(Path("3.js")), identifier(Path("é.c"))
    ('my_car_2', 'model_3', 'model')
    """
    name = re.sub("[^a-z0-9]+", "_", path.stem.lower()).strip("_")
    if not name:
        return "model"
    return f"model_{name}" if name[0].isdigit() else name
