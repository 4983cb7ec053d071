"""Writing files whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

_TEMPORARY = ".vjcascade-{}.tmp"


MODEL_NAME, EVENTS_NAME, PICTURES_NAME = "cascade.xml", "events.jsonl", "history"
"""In the folder of a training run: the model, what happened, and pictures of it."""


def is_run_folder(folder: Path) -> bool:
    """Tell whether a folder is that of a training run: what is in it was made, and is no data.

    Examples
    --------
    >>> is_run_folder(Path("nowhere"))
    False
    """
    has_model = os.path.isfile(folder / MODEL_NAME)  # noqa: PTH113  Path raises for names that are too long
    return has_model and any(os.path.exists(folder / name) for name in (EVENTS_NAME, PICTURES_NAME))  # noqa: PTH110


def real_path(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path without links; a link that leads to itself stays (`Path.resolve` would fail).

    Examples
    --------
    >>> real_path("a/../b") == Path.cwd() / "b"
    True
    """
    return Path(os.path.realpath(path))


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that at no moment a half-written one stands in its place.

    The bytes go to a temporary file in the same folder, which then takes the name. A new file gets the usual
    permissions (those the umask leaves), an old one keeps its own; a symbolic link keeps pointing at what it
    points at. Where `path` is no regular file (`/dev/stdout`, a pipe), the bytes are simply written to it.

    Parameters
    ----------
    path : Path
        The file to create or replace; its folder must exist.
    data : bytes
        The whole content.

    Raises
    ------
    OSError
        With `path` as its file name, of the subclass that fits (`PermissionError`, ...). A file that was
        there before is untouched, and no temporary file is left.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomic(Path(folder, "model.xml"), b"whole")
    ...     Path(folder, "model.xml").read_bytes()
    b'whole'
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            _write_and_rename(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_and_rename(path: Path, data: bytes) -> None:
    temporary = path.with_name(_TEMPORARY.format(secrets.token_hex(8)))
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException:  # an interrupt from the keyboard too
        temporary.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """Make new names last through a power cut, where the system can."""
    with suppress(OSError):  # Windows opens no folders, and some file systems sync none
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def nearest_folder(path: Path) -> Path:
    """Return what is there of a path that may have to be made: itself, or the nearest above it.

    Raises
    ------
    OSError
        If a name in it is one that no file can have.

    Examples
    --------
    >>> nearest_folder(Path("not", "yet", "made")) == Path().absolute()
    True
    """
    path = path.absolute()
    return next(place for place in (path, *path.parents) if place.exists())


def remove_leftovers(folder: Path) -> None:
    """Remove what programs that were killed while they wrote have left in a folder.

    Parameters
    ----------
    folder : Path
        Where nobody else is writing now; need not be there.

    Examples
    --------
    >>> Path(".vjcascade-0123456789abcdef.tmp").touch()
    >>> remove_leftovers(Path())
    >>> list(Path().iterdir())
    []
    """
    for path in folder.glob(_TEMPORARY.format("*")):
        with suppress(OSError):
            path.unlink()
