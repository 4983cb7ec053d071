"""One run at a time in a folder."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vjcascade.errors import SettingsError
from vjcascade.files import made_folder

LOCK_NAME = ".vjcascade-run"
"""The file that a run locks in its folder; the system lets go of it when the process ends, however it ends."""

NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})
"""What file systems without locks say."""

PATIENCE = 0.1
"""Seconds to try for: the run before may be removing the file just now."""


ANOTHER_RUN = "another run is writing into this folder; wait until it ends, or choose another output folder"
"""What is said of a folder that is taken."""


@contextmanager
def only_run_in(folder: Path, *, taken: str = ANOTHER_RUN) -> Iterator[None]:
    """Keep other runs out of a folder for the time of the `with` block.

    The folder is made if need be, and removed at the end if it is still empty. On file systems that know no locks,
    nobody is kept out.

    Parameters
    ----------
    folder : Path
        Where the run writes.
    taken : str
        What to say, behind the name of the folder, if another one is writing there.

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
    with made_folder(folder), _locked(folder / LOCK_NAME, taken):
        yield


@contextmanager
def _locked(path: Path, taken: str) -> Iterator[None]:
    """Hold the lock of a file that is there for nothing else."""
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=PATIENCE, poll_interval=PATIENCE / 5, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise SettingsError(f"{path.parent}: {taken}") from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    try:
        yield
    finally:
        with suppress(OSError):  # Windows keeps open files; there, `release` removes it
            path.unlink()  # while it is locked: who opens it now sees that it is gone, and takes a new one
        lock.release()
