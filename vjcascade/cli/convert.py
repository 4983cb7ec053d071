"""``vjcascade convert``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vjcascade.cli.options import CountOption
from vjcascade.errors import ModelError, SettingsError
from vjcascade.messages import printable

if TYPE_CHECKING:
    from vjcascade.cascade import Cascade


def convert(
    model: Path,
    output: Path,
    /,
    *,
    to: Literal["new", "old", "c", "json", "js", "html", "python", "openmv"] | None = None,
    format: Literal["new", "old"] | None = None,  # noqa: A002  the option
    stages: CountOption | None = None,
    shift: float = 0.0,
    shift_last: CountOption | None = None,
) -> None:
    """Write a model in another format, or for other programs.

    Parameters
    ----------
    model : path
        Cascade file in any form that OpenCV reads: new or old format; XML, YAML or JSON; plain or gzip.
    output : path
        File to write, whose suffix chooses the format: .xml, also .xml.gz, for OpenCV; .h or .c; .json, .js, .html;
        .py; .cascade for OpenMV. Without a suffix, --to is needed. It cannot be the model itself.
    to : {new, old, c, json, js, html, python, openmv}
        The format, if the suffix is ambiguous. new: opencv-cascade-classifier, for OpenCV 2.4 and later. old:
        opencv-haar-classifier, for OpenCV 1 and 2. c: a scanner in C99 with the model in it. json: its numbers. js: a
        scanner in JavaScript. html: a web page that uses the camera and needs no server. python: a scanner that needs
        only NumPy. openmv: a binary cascade for these cameras.
    format : {new, old}
        The same as --to, for XML.
    stages : int
        Keep only the first N stages: faster, with higher recall and more false alarms.
    shift : float
        Add this to the stage thresholds: below 0 for higher recall and more false alarms, above 0 for fewer.
    shift_last : int
        With --shift: change only the last N of the stages kept; all if not given.
    """
    from vjcascade.cli.models import named_model
    from vjcascade.cli.outputs import check_output_file, refuse_overwriting
    from vjcascade.exports import export_cascade, format_of
    from vjcascade.formats import load_cascade

    if to and format and to != format:
        raise SettingsError(f"--to {to} and --format {format} exclude each other; give only one")
    check_output_file(output)
    wanted = format_of(output, to or format)
    model = named_model(model)
    refuse_overwriting([output], kept=[model])
    cascade = _changed(load_cascade(model), stages, shift, shift_last)
    try:
        done = export_cascade(cascade, output, wanted)
    except ModelError as error:
        raise ModelError(f"{model}: {error}") from None
    sys.stderr.write(f"written: {printable(str(output))} ({done.label})\n")  # standard output may be the file
    sys.stderr.write(f"tested on {done.proof}\n")
    if done.hint:
        sys.stderr.write(f"{done.hint}\n")


def _changed(cascade: Cascade, stages: int | None, shift: float, shift_last: int | None) -> Cascade:
    """Return a cascade with the changes asked for; the same one where none is."""
    if shift_last is not None and shift == 0:
        raise SettingsError(
            f"--shift-last {shift_last} chooses which thresholds --shift changes: add --shift"
        )
    if stages is not None:
        cascade = cascade.first_stages(stages).without_unused_features()
    return cascade.with_shifted_thresholds(shift, shift_last)
