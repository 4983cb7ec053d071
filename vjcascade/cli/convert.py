"""``vjcascade convert``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vjcascade.cli.options import CountOption
from vjcascade.errors import ModelError, SettingsError
from vjcascade.messages import pluralize, printable

if TYPE_CHECKING:
    from vjcascade.cascade import Cascade

_WRITTEN = {"", ".xml"}
"""Suffixes of names, apart from .gz."""


def convert(
    model: Path,
    output: Path,
    /,
    *,
    format: Literal["new", "old"] = "new",  # noqa: A002  the option
    stages: CountOption | None = None,
    shift: float = 0.0,
    shift_last: CountOption | None = None,
) -> None:
    """Write a model file in another format.

    Parameters
    ----------
    model : path
        Cascade file in any form that OpenCV reads: new or old format; XML, YAML or JSON; plain or gzip.
    output : path
        XML file to write; if its name ends in .gz, it is compressed. It cannot be the model itself.
    format : {new, old}
        new: opencv-cascade-classifier, for OpenCV 2.4 and later. old: opencv-haar-classifier, for OpenCV 1 and 2.
    stages : int
        Keep the first so many stages only: faster, it finds more, with more false alarms.
    shift : float
        Add this to the thresholds of stages: below 0, it finds more, with more false alarms; above 0, less.
    shift_last : int
        With --shift: how many of the last stages kept are changed; all if not given.
    """
    from vjcascade.cli.models import named_model
    from vjcascade.cli.outputs import check_output_file, refuse_overwriting
    from vjcascade.formats import load_cascade, save_cascade

    _check_name(output)
    check_output_file(output)
    model = named_model(model)
    refuse_overwriting([output], kept=[model])
    cascade = _changed(load_cascade(model), stages, shift, shift_last)
    try:
        save_cascade(cascade, output, format)
    except ModelError as error:
        raise ModelError(f"{model}: {error}") from None
    what = f"{format} format, window {cascade.window}, {pluralize(cascade.n_stages, 'stage')}"
    sys.stderr.write(f"written: {printable(str(output))} ({what})\n")  # standard output may be the file


def _changed(cascade: Cascade, stages: int | None, shift: float, shift_last: int | None) -> Cascade:
    """Return a cascade with the changes asked for; the same one where none is."""
    if shift_last is not None and shift == 0:
        raise SettingsError(f"--shift-last {shift_last} says which thresholds --shift changes: add --shift")
    if stages is not None:
        cascade = cascade.first_stages(stages).without_unused_features()
    return cascade.with_shifted_thresholds(shift, shift_last)


def _check_name(output: Path) -> None:
    """Refuse names that promise what is not written."""
    suffix = output.with_suffix("").suffix if output.suffix.lower() == ".gz" else output.suffix
    if suffix.lower() not in _WRITTEN:
        raise SettingsError(
            f"{output}: {suffix} files are not written, only XML is; give a name that ends in .xml or .xml.gz"
        )
