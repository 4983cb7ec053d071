"""The door to exports: which there are, which one a name asks for, and writing one that has been tried."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.scanner import evaluate_windows
from vjcascade.errors import ModelError, SettingsError
from vjcascade.exports.base import Export, ExportFormat, check_windows
from vjcascade.exports.c_source import CSource
from vjcascade.exports.javascript import JavaScript, JsonModel, Page
from vjcascade.exports.openmv import OpenMv
from vjcascade.exports.python_source import PythonSource
from vjcascade.exports.trial import Trial, bred_windows, usual_number
from vjcascade.files import write_atomic
from vjcascade.formats.cascade_files import dump_cascade, parse_cascade, write_xml
from vjcascade.messages import pluralize

_ALL: tuple[Export, ...] = (CSource(), JsonModel(), JavaScript(), Page(), PythonSource(), OpenMv())

EXPORTS: dict[ExportFormat, Export] = {export.name: export for export in _ALL}
"""By the name that `--to` takes."""

_XML_SUFFIXES = (".xml", ".xml.gz", ".gz")


class Exported(NamedTuple):
    """What was written, and how that is known to be right.

    Attributes
    ----------
    label : str
        What it is, and of what size.
    proof : str
        On what it was tried, and how that ended.
    hint : str
        How to use it, where that is not in the file; else nothing.

    Examples
    --------
    >>> Exported("C", "20,000 windows are judged as the model does").label
    'C'
    """

    label: str
    proof: str
    hint: str = ""


def format_of(output: Path, to: ExportFormat | None = None) -> ExportFormat:
    """Tell in which format a file is to be written.

    Parameters
    ----------
    output : Path
        Its suffix decides if nothing else does.
    to : ExportFormat, optional
        The name of the format.

    Returns
    -------
    {"new", "old", "c"}
        OpenCV's XML, new or old, or the name of an export.

    Raises
    ------
    SettingsError
        If the suffix is unknown, or that of another format, or if there is neither suffix nor name.

    Examples
    --------
    >>> format_of(Path("car.xml")), format_of(Path("car.h")), format_of(Path("car.xml"), "old")
    ('new', 'c', 'old')
    """
    suffix = _suffix(output)
    suffixes = {end: export.name for export in EXPORTS.values() for end in export.suffixes}
    known: ExportFormat | None = "new" if suffix in _XML_SUFFIXES else suffixes.get(suffix)
    if not suffix and to:
        return to
    if known is None:
        what = (
            f"{suffix} files are not written" if suffix else "its name has no suffix to say what is written"
        )
        ends = ", ".join(suffixes)
        or_to = "" if suffix else ", or say it with --to"
        raise SettingsError(f"{output}: {what}; give a name that ends in .xml, .xml.gz, {ends}{or_to}")
    if to is None:
        return known
    if known != ("new" if to == "old" else to):
        ends = " or ".join(EXPORTS[to].suffixes) if to in EXPORTS else ".xml or .xml.gz"
        raise SettingsError(
            f"{output}: --to {to} is not written to {suffix} files; give a name that ends in {ends}"
        )
    return to


def export_cascade(cascade: Cascade, path: Path, to: ExportFormat, n_windows: int | None = None) -> Exported:
    """Write a model, after what is to be written has judged windows, and a picture, as the engine does.

    Parameters
    ----------
    cascade : Cascade
        At least one stage. Where its metadata has an operating point, exports other than XML hold the stages that it
        uses, and its settings.
    path : Path
        The file to create or replace, whole or not at all.
    to : {"new", "old"} or a name of `EXPORTS`
        The format.
    n_windows : int, optional
        On how many windows it is tried; 20,000 if not given, fewer where windows are large.

    Returns
    -------
    Exported
        What was done, in words.

    Raises
    ------
    ModelError
        If the format cannot express the model, or what was made does not judge as the engine does; nothing is written.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> export_cascade(Cascade((24, 24)), Path("model.h"), "c")
    Traceback (most recent call last):
    vjcascade.errors.ModelError: a cascade without stages cannot be saved; train one stage or more
    """
    if to in EXPORTS:
        return _export(cascade, path, EXPORTS[to], n_windows)
    data = dump_cascade(cascade, "old" if to == "old" else "new")
    n = n_windows or usual_number(cascade.window)
    windows, passed = bred_windows(cascade, n, np.random.default_rng(0))
    check_windows(evaluate_windows(parse_cascade(data, str(path)), windows, 1)[0], passed)
    write_xml(data, path)
    return Exported(f"{to} format, {_size(cascade)}", f"{_what(passed, cascade.n_stages)}: equal, read back")


def _export(cascade: Cascade, path: Path, export: Export, n_windows: int | None) -> Exported:
    if cascade.n_stages == 0:
        raise ModelError("a cascade without stages cannot be saved; train one stage or more")
    data = export.dump(cascade, path)
    trial = Trial.of(cascade, n_windows)
    how = export.prove(data, trial, path)
    write_atomic(path, data)
    what = _what(trial.passed, trial.cascade.n_stages)
    return Exported(f"{export.label}, {_size(trial.cascade)}", f"{what}: {how}", export.hint)


def _size(cascade: Cascade) -> str:
    return f"window {cascade.window}, {pluralize(cascade.n_stages, 'stage')}"


def _what(passed: NDArray[np.int32], n_stages: int) -> str:
    n_accepted = int((passed == n_stages).sum())
    if n_accepted:
        return f"{pluralize(len(passed), 'window')}, of which the model accepts {n_accepted:,}"
    deepest = pluralize(int(passed.max(initial=0)), "stage")
    return f"{pluralize(len(passed), 'window')}, of which the best pass {deepest} of {n_stages}"


def _suffix(output: Path) -> str:
    suffix = output.suffix.lower()
    return f"{output.with_suffix('').suffix.lower()}.gz" if suffix == ".gz" else suffix
