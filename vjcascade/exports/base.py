"""The base class of exports, and what they share: comparison with the engine, templates and names."""

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
"""Formats that a model can be written in: OpenCV's XML, new and old, and exports."""


ADVICE = "nothing is written. This is a bug of vjcascade or of the tool that ran the export: please report it"
"""Ends messages on differences from the engine."""


class Export(ABC):
    """A file format for other programs.

    Attributes
    ----------
    name : str
        Its value for `--to`.
    suffixes : tuple of str
        Suffixes of its files.
    label : str
        Its name in messages.
    hint : str
        How to use the file, if the file does not contain that.
    """

    name: ClassVar[ExportFormat]
    suffixes: ClassVar[tuple[str, ...]]
    label: ClassVar[str]
    hint: ClassVar[str] = ""

    @abstractmethod
    def dump(self, cascade: Cascade, path: Path) -> bytes:
        """Return the file's content; it may contain the name of `path`, where it will be written.

        Raises
        ------
        ModelError
            If the model cannot be expressed.
        """

    @abstractmethod
    def verify(self, data: bytes, trial: Trial, path: Path) -> str:
        """Run the export on the windows and the picture of a trial, and compare it with the engine.

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
            The result, in words that can follow "tested on 20,000 windows:".

        Raises
        ------
        ModelError
            If it differs from the engine; formats that round are allowed to, and report how much.
        """


def check_answers(
    trial: Trial, passed: NDArray[np.int32], raw: NDArray[np.int32], found: NDArray[np.int32]
) -> None:
    """Refuse an export whose results for windows or for the picture differ from the engine's.

    Parameters
    ----------
    trial : Trial
        The windows, the picture and the engine's results.
    passed : ndarray of shape (n,)
        Stages that each window passed.
    raw, found : ndarray of shape (n, 4)
        Boxes in the picture: all windows, and groups.

    Raises
    ------
    ModelError
        If there is a difference; names the first one.
    """
    check_windows(passed, trial.passed)
    for what, boxes, expected in (("windows", raw, trial.raw), ("detections", found, trial.found)):
        if boxes.shape != expected.boxes.shape or (boxes != expected.boxes).any():
            raise ModelError(
                f"the export finds {len(boxes)} {what} in a picture, the detector {len(expected)}, or their boxes "
                f"differ; {ADVICE}"
            )


def check_windows(passed: NDArray[np.int32], expected: NDArray[np.int32]) -> None:
    """Refuse results for windows that differ from the engine's.

    Raises
    ------
    ModelError
        If there is a difference; names the first window.
    """
    if len(passed) != len(expected):
        raise ModelError(
            f"the export returned {len(passed)} results for {pluralize(len(expected), 'window')}; {ADVICE}"
        )
    wrong = np.flatnonzero(passed != expected)
    if len(wrong):
        first = wrong[0]
        raise ModelError(
            f"the export differs for {len(wrong)} of {pluralize(len(passed), 'window')}: window {first} passes "
            f"{passed[first]} stages instead of {expected[first]}; {ADVICE}"
        )


def check_tables(tables: Mapping[str, Any], trial: Trial) -> None:
    """Refuse an export whose tables, read back and run in NumPy, give other results than the engine.

    Raises
    ------
    ModelError
        If there is a difference.
    """
    scanner = NumpyScanner(tables)
    raw = scanner.detect(trial.picture, min_neighbors=0)
    check_answers(trial, scanner.judge(trial.windows), raw.boxes, scanner.detect(trial.picture).boxes)


def template(name: str) -> str:
    """Return a template of this package."""
    return files("vjcascade.exports").joinpath(name).read_text(encoding="utf-8")


def filled(text: str, values: Mapping[str, str]) -> str:
    """Replace placeholders such as @NAME@ in a template, in one pass.

    Examples
    --------
    >>> filled("size @SIZE@", {"SIZE": "3"})
    'size 3'
    """
    return re.sub("@([A-Z_]+)@", lambda match: values[match[1]], text)


def wrapped(lines: Iterable[str], width: int) -> list[str]:
    """Break long lines, with an indent after each break.

    Examples
    --------
    >>> wrapped(["one two three"], 9)
    ['one two', '    three']
    """
    return [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent="    ")]


def file_name(path: Path) -> str:
    """Return a file's name in plain ASCII that is safe inside a comment.

    Examples
    --------
    >>> file_name(Path("models/my*/car.h")), file_name(Path("é.js"))
    ('car.h', '_.js')
    """
    return re.sub("[^A-Za-z0-9._-]", "_", path.name)


def identifier(path: Path) -> str:
    """Return an identifier for programs, made from a file's name.

    Examples
    --------
    >>> identifier(Path("models/My car-2.h")), identifier(Path("3.js")), identifier(Path("é.c"))
    ('my_car_2', 'model_3', 'model')
    """
    name = re.sub("[^a-z0-9]+", "_", path.stem.lower()).strip("_")
    if not name:
        return "model"
    return f"model_{name}" if name[0].isdigit() else name
