"""The entry point: the table of exports, the format for a file name, and writing of tested exports."""

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
from vjcascade.exports.trial import Trial, default_n_windows, evolved_windows
from vjcascade.files import write_atomic
from vjcascade.formats.cascade_files import dump_cascade, parse_cascade, write_xml
from vjcascade.messages import pluralize

_ALL: tuple[Export, ...] = (CSource(), JsonModel(), JavaScript(), Page(), PythonSource(), OpenMv())

EXPORTS: dict[ExportFormat, Export] = {export.name: export for export in _ALL}
"""Exports by their values for `--to`."""

_XML_SUFFIXES = (".xml", ".xml.gz", ".gz")


class Exported(NamedTuple):
    """A written model and the result of its test, in words.

    Attributes
    ----------
    label : str
        Format, window and number of stages.
    proof : str
        What it was tested on, and the result.
    hint : str
        How to use it, if the file does not contain that; otherwise empty.

    Examples
    --------
    >>> Exported("C", "20,000 windows: identical results").label
    'C'
    """

    label: str
    proof: str
    hint: str = ""


def format_of(output: Path, to: ExportFormat | None = None) -> ExportFormat:
    """Return the format that a file is to be written in.

    Parameters
    ----------
    output : Path
        The file; its suffix decides if `to` is not given.
    to : ExportFormat, optional
        The format; the suffix must fit it.

    Returns
    -------
    {"new", "old"} or a name of `EXPORTS`
        OpenCV's XML, new or old, or an export.

    Raises
    ------
    SettingsError
        If the suffix is unknown or belongs to another format, or if there is neither a suffix nor `to`.

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
            f"{suffix} files cannot be written" if suffix else "its name has no suffix to choose the format"
        )
        ends = ", ".join(suffixes)
        or_to = "" if suffix else ", or choose it with --to"
        raise SettingsError(f"{output}: {what}; give a name that ends in .xml, .xml.gz, {ends}{or_to}")
    if to is None:
        return known
    if known != ("new" if to == "old" else to):
        ends = " or ".join(EXPORTS[to].suffixes) if to in EXPORTS else ".xml or .xml.gz"
        raise SettingsError(
            f"{output}: --to {to} does not fit {suffix} files; give a name that ends in {ends}"
        )
    return to


def export_cascade(cascade: Cascade, path: Path, to: ExportFormat, n_windows: int | None = None) -> Exported:
    """Write a model, after testing the file's content against the engine on windows, and exports on a picture, too.

    Parameters
    ----------
    cascade : Cascade
        At least one stage. If its metadata has an operating point, exports other than XML contain only the stages that
        it uses, and its settings.
    path : Path
        The file to create or replace, atomically.
    to : {"new", "old"} or a name of `EXPORTS`
        The format.
    n_windows : int, optional
        Number of test windows; if not given, 20,000, or fewer for large windows.

    Returns
    -------
    Exported
        What was written, and the result of the test.

    Raises
    ------
    ModelError
        If the format cannot express the model, or if the results differ, except for OpenMV, which rounds; nothing is
        written.
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
    n = n_windows or default_n_windows(cascade.window)
    windows, passed = evolved_windows(cascade, n, np.random.default_rng(0))
    check_windows(evaluate_windows(parse_cascade(data, str(path)), windows, 1)[0], passed)
    write_xml(data, path)
    return Exported(
        f"{to} format, {_size(cascade)}",
        f"{_tested_on(passed, cascade.n_stages)}: identical results, read back",
    )


def _export(cascade: Cascade, path: Path, export: Export, n_windows: int | None) -> Exported:
    if cascade.n_stages == 0:
        raise ModelError("a cascade without stages cannot be saved; train one stage or more")
    data = export.dump(cascade, path)
    trial = Trial.of(cascade, n_windows)
    result = export.verify(data, trial, path)
    write_atomic(path, data)
    tested_on = _tested_on(trial.passed, trial.cascade.n_stages)
    return Exported(f"{export.label}, {_size(trial.cascade)}", f"{tested_on}: {result}", export.hint)


def _size(cascade: Cascade) -> str:
    return f"window {cascade.window}, {pluralize(cascade.n_stages, 'stage')}"


def _tested_on(passed: NDArray[np.int32], n_stages: int) -> str:
    n_accepted = int((passed == n_stages).sum())
    if n_accepted:
        return f"{pluralize(len(passed), 'window')}, of which the model accepts {n_accepted:,}"
    deepest = int(passed.max(initial=0))
    return f"{pluralize(len(passed), 'window')}, of which the best pass {deepest} of {pluralize(n_stages, 'stage')}"


def _suffix(output: Path) -> str:
    suffix = output.suffix.lower()
    return f"{output.with_suffix('').suffix.lower()}.gz" if suffix == ".gz" else suffix
