"""From a path to the bytes of a model file, with a sentence for whatever can be wrong."""

from __future__ import annotations

import gzip
import io
import re
import stat
import zlib
from pathlib import Path

from vjcascade.errors import ModelError, ModelNotFoundError
from vjcascade.messages import near_file, pluralize

MAX_BYTES = 32 * 2**20
"""Largest model file read, also after unpacking; the largest cascade known has 3 MB."""

_TEXTS = ("<?xml", "<opencv_storage", "%YAML", "{")
"""How the texts of model files begin, and no path does."""

_STAGE = re.compile(r"stage\d+\.xml")

_BY_NAME = "vjcascade.compat.data.find({!r}) for a model of that name"
"""What takes a name for a path: it looks in many folders, so that it is not asked unless it is wanted."""


def read_model(path: Path) -> bytes:
    """Read a model file whole.

    Raises
    ------
    ModelNotFoundError
        If there is nothing at `path`; the message has the absolute path and a similar name, if there is one.
    ModelError
        If it is a folder, a device, too large, or may not be read.
    """
    if str(path).lstrip().startswith(_TEXTS):
        raise ModelError(
            f"the text of a file was given instead of its path: {str(path).strip()[:40]!r}...; give the path, or "
            "the text to `vjcascade.formats.parse_cascade`"
        )
    if "\0" in str(path):
        raise ModelNotFoundError(f"{str(path)!r} has a null character, as no path has; check it")
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise ModelError(f"{path}: this is a folder; {_model_in(path)}")
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"{path}: this is not a regular file; copy the model into one")
        if status.st_size > MAX_BYTES:
            raise ModelError(
                f"{path}: {status.st_size / 2**20:.0f} MB are too much for a model; the limit is "
                f"{MAX_BYTES // 2**20} MB; check that this is the right file"
            )
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise ModelNotFoundError(
            f"{path.absolute()}: there is no such file; {_hint(path.absolute())}"
        ) from None
    except PermissionError:
        raise ModelError(f"{path}: permission denied; make the file readable for this user") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); check the path and the disk") from None


def unpacked(data: bytes) -> bytes:
    """Return what is in a gzip file, or the bytes of any other file as they are.

    OpenCV goes by the name: it unpacks what is called `.gz`, and reads a packed file of another name as if it
    were plain. Here the first bytes decide.

    Raises
    ------
    ModelError
        If it is damaged, or a model does not fill so much (a decompression bomb).
    """
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(MAX_BYTES + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise ModelError(
            f"the compressed file (gzip) is damaged or cut off ({error}); copy or download it again"
        ) from None
    if len(content) > MAX_BYTES:
        raise ModelError(
            f"unpacked (gzip), it has more than {MAX_BYTES // 2**20} MB, which no cascade has; do not trust it"
        )
    return content


def _model_in(folder: Path) -> str:
    """Say which file in a folder to give; opencv_traincascade writes cascade.xml when it has all stages."""
    if (folder / "cascade.xml").is_file():
        return f"give {folder / 'cascade.xml'}"
    try:
        n_stages = sum(_STAGE.fullmatch(file.name) is not None for file in folder.iterdir())
    except OSError:
        n_stages = 0
    if n_stages == 0:
        return "give the model file inside it"
    return (
        f"it holds {pluralize(n_stages, 'stage')} of opencv_traincascade without cascade.xml: give "
        f"{folder / 'params.xml'}, which stands for them"
    )


def _hint(path: Path) -> str:
    """Say what the user may have meant by the path of a file that is not there."""
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist either"
    if near := near_file(path, Path.is_file):
        return f"did you mean {near}?"
    return "check the path" if path.suffix else f"check the path, or give {_BY_NAME.format(path.name)}"
