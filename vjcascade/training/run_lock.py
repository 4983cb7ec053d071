"""One run at a time in a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from vjcascade.errors import SettingsError

LOCK_NAME = ".vjcascade-run"
"""The file that a run locks in its folder; the system lets go of it when the process ends, however it ends."""


@contextmanager
def only_run_in(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder for the time of the `with` block.

    The folder is made if need be, and removed at the end if it is still empty. On file systems that know no locks,
    nobody is kept out.

    Parameters
    ----------
    folder : Path
        Where the run writes.

    Yields
    ------
    None
        While the folder is this run's alone.

    Raises
    ------
    SettingsError
        If another run is writing there.
    OSError
        If the folder cannot be made or written to.

    Examples
    --------
    >>> with only_run_in(Path("model")):
    ...     Path("model").is_dir()
    True
    >>> Path("model").exists()
    False
    """
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _locked(folder / LOCK_NAME):
            yield
    finally:
        for path in new:
            with suppress(OSError):  # it is not empty
                path.rmdir()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file that is there for nothing else."""
    file = _open_locked(path)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows keeps open files
            path.unlink()
        file.close()


def _open_locked(path: Path) -> BinaryIO:
    while True:
        file = path.open("ab")
        try:
            _lock(file)
            if _is_still(file, path):
                return file
        except BlockingIOError:
            file.close()
            raise SettingsError(
                f"{path.parent}: another run is writing into this folder; wait until it has ended, or take "
                "another output folder"
            ) from None
        file.close()  # the run that had locked it has ended and removed it meanwhile


def _is_still(file: BinaryIO, path: Path) -> bool:
    """Return whether the open file is the one of this name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _lock(file: BinaryIO) -> None:
    """Take the lock or raise `BlockingIOError`."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError from None
    else:
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:  # no locks on this file system
            return
