"""Cascade files of every kind that OpenCV 4.14 reads, and writing them.

There are two formats, the new and the old one, and each comes in the three forms of OpenCV's FileStorage: XML,
YAML and JSON, plain or compressed (gzip). What is in a file decides, never its name. XML is written.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from vjcascade.cascade import Cascade
from vjcascade.errors import ModelError
from vjcascade.files import write_atomic
from vjcascade.formats._other_files import kind_of
from vjcascade.formats._source import read_model, unpacked
from vjcascade.formats._storage import first_element
from vjcascade.formats._tree import Node, explained
from vjcascade.formats.new_format import read_new, read_settings, write_new
from vjcascade.formats.old_format import read_old, write_old
from vjcascade.formats.opencv_run import PARAMETERS_NAME, read_opencv_run

CascadeFormat = Literal["new", "old"]

_ADVICE = "; get a fresh copy of the file, or train the cascade again"

_WRITERS: dict[CascadeFormat, Callable[[Cascade], str]] = {"new": write_new, "old": write_old}


def load_cascade(path: Path) -> Cascade:
    """Read a cascade file.

    Parameters
    ----------
    path : Path
        A file in OpenCV's new or old format, in XML, YAML or JSON, plain or gzip; at most 32 MB, unpacked too. Or
        `params.xml` of `opencv_traincascade`, which stands for the stages beside it; see `read_opencv_run`.

    Returns
    -------
    Cascade
        Features, stages and trees in the order of the file.

    Raises
    ------
    ModelNotFoundError
        If there is no such file.
    ModelError
        If it cannot be read, is no cascade, is damaged, or is of a kind that is not supported.

    Examples
    --------
    >>> load_cascade(Path("model.xml"))  # doctest: +SKIP
    """
    data = read_model(path)
    if path.name == PARAMETERS_NAME and b"<stages>" not in data:
        return read_opencv_run(path.parent).trained_cascade()
    return parse_cascade(data, str(path))


def parse_cascade(data: bytes, name: str) -> Cascade:
    """Read a cascade from the bytes of a file.

    Parameters
    ----------
    data : bytes
        The whole file, as `load_cascade` takes it.
    name : str
        What messages call it.

    Returns
    -------
    Cascade
        Features, stages and trees in the order of the file.

    Raises
    ------
    ModelError
        If it is no cascade, is damaged, or is of a kind that is not supported.

    Examples
    --------
    >>> parse_cascade(b"", "model.xml")
    Traceback (most recent call last):
    vjcascade.errors.ModelError: model.xml: the file is empty; copy or download it again
    """
    with explained(f"{name}: ", advice=_ADVICE):
        return _cascade_of(unpacked(data))


def recorded_settings(path: Path) -> dict[str, str]:
    """Return the settings of training that `opencv_traincascade` wrote into a model file.

    Parameters
    ----------
    path : Path
        A cascade file, as `load_cascade` takes it.

    Returns
    -------
    dict of str to str
        By the names in the file, such as "minHitRate"; nothing where none are recorded.

    Raises
    ------
    ModelNotFoundError, ModelError
        If it cannot be read.

    Examples
    --------
    >>> recorded_settings(Path("cascade.xml"))["boostType"]  # doctest: +SKIP
    'GAB'
    """
    with explained(f"{path}: ", advice=_ADVICE):
        return read_settings(first_element(unpacked(read_model(path)))[1])


def save_cascade(cascade: Cascade, path: Path, format: CascadeFormat = "new") -> None:  # noqa: A002  as open() has mode
    """Write a cascade file, whole or not at all.

    Parameters
    ----------
    cascade : Cascade
        At least one stage.
    path : Path
        The file to create or replace; its folder must exist. What is called `.gz` is compressed, as OpenCV does.
    format : {"new", "old"}, optional
        The new format can express every cascade, the old one is for OpenCV 1 and 2 (see `old_format`).

    Raises
    ------
    ModelError
        If the cascade has no stage, the format cannot express it, or its metadata is not plain JSON.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> save_cascade(Cascade((24, 24)), Path("model.xml"))
    Traceback (most recent call last):
    vjcascade.errors.ModelError: a cascade without stages cannot be saved; train one stage or more
    """
    write_xml(dump_cascade(cascade, format), path)


def write_xml(data: bytes, path: Path) -> None:
    """Write what `dump_cascade` returned, whole or not at all; compressed if the file is called `.gz`."""
    write_atomic(path, gzip.compress(data, mtime=0) if path.suffix.lower() == ".gz" else data)


def dump_cascade(cascade: Cascade, format: CascadeFormat = "new") -> bytes:  # noqa: A002
    """Return the bytes of a cascade file; the same cascade gives the same bytes, everywhere.

    Parameters
    ----------
    cascade : Cascade
        At least one stage: OpenCV does not load a cascade without.
    format : {"new", "old"}, optional
        From the new format, `parse_cascade` gives back the cascade, bit by bit.

    Returns
    -------
    bytes
        XML in ASCII.

    Raises
    ------
    ModelError
        If the cascade has no stage, the format cannot express it, or its metadata is not plain JSON.

    Examples
    --------
    >>> dump_cascade(Cascade((24, 24)))
    Traceback (most recent call last):
    vjcascade.errors.ModelError: a cascade without stages cannot be saved; train one stage or more
    """
    if cascade.n_stages == 0:
        raise ModelError("a cascade without stages cannot be saved; train one stage or more")
    return _WRITERS[format](cascade).encode("ascii")


def _cascade_of(data: bytes) -> Cascade:
    """Read a cascade from plain bytes; what cannot be read is named, if it is a kind of file that is known."""
    if not data.strip():
        raise ModelError("the file is empty; copy or download it again")
    try:
        root_name, root = first_element(data)
        return _reader(root_name, root)(root)
    except ModelError:
        if kind := kind_of(data):
            raise ModelError(f"this is not a cascade: it is {kind}") from None
        raise


def _reader(name: str, root: Node) -> Callable[[Node], Cascade]:
    """Tell the formats apart as OpenCV does: it tries the new one, and what is missing there tells."""
    if not isinstance(root, dict) or "stages" not in root:
        raise ModelError(
            f"this is not a cascade: its {name[:40]!r} has no 'stages'; "
            "of the files that opencv_traincascade writes, give cascade.xml"
        )
    return read_old if "size" in root and "stageType" not in root else read_new
