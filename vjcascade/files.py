"""Writing files whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path


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
    temporary = path.with_name(f".vjcascade-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        temporary.replace(path)
    except BaseException:  # an interrupt from the keyboard too
        temporary.unlink(missing_ok=True)
        raise
