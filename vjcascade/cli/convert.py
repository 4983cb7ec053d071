"""``vjcascade convert``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from vjcascade.errors import ModelError, SettingsError
from vjcascade.messages import pluralize, printable

_WRITTEN = {"", ".xml"}
"""Suffixes of names, apart from .gz."""


def convert(model: Path, output: Path, /, *, format: Literal["new", "old"] = "new") -> None:  # noqa: A002  the option
    """Write a model file in another format.

    Parameters
    ----------
    model : path
        Cascade file in any form that OpenCV reads: new or old format; XML, YAML or JSON; plain or gzip.
    output : path
        XML file to write; if its name ends in .gz, it is compressed. It cannot be the model itself.
    format : {new, old}
        new: opencv-cascade-classifier, for OpenCV 2.4 and later. old: opencv-haar-classifier, for OpenCV 1 and 2.
    """
    from vjcascade.cli.outputs import check_output_file, refuse_overwriting
    from vjcascade.formats import load_cascade, save_cascade

    _check_name(output)
    check_output_file(output)
    refuse_overwriting([output], kept=[model])
    cascade = load_cascade(model)
    try:
        save_cascade(cascade, output, format)
    except ModelError as error:
        raise ModelError(f"{model}: {error}") from None
    what = f"{format} format, window {cascade.window}, {pluralize(cascade.n_stages, 'stage')}"
    sys.stderr.write(f"written: {printable(str(output))} ({what})\n")  # standard output may be the file


def _check_name(output: Path) -> None:
    """Refuse names that promise what is not written."""
    suffix = output.with_suffix("").suffix if output.suffix.lower() == ".gz" else output.suffix
    if suffix.lower() not in _WRITTEN:
        raise SettingsError(
            f"{output}: {suffix} files are not written, only XML is; give a name that ends in .xml or .xml.gz"
        )
