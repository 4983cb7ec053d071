"""Writing files whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from vjcascade.messages import memory_size

_TEMPORARY = ".vjcascade-{}.tmp"
"""What files are called that are not to stay; see `remove_leftovers`."""


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


def read_at_most(path: Path, most: int) -> bytes:
    """Read a file whole that somebody has named: it may be a pipe, or a device without an end.

    Parameters
    ----------
    path : Path
        The file.
    most : int
        Bytes.

    Returns
    -------
    bytes
        The whole content.

    Raises
    ------
    OSError
        If it cannot be read, or has more bytes.

    Examples
    --------
    >>> read_at_most(Path("/dev/zero"), 2**20)
    Traceback (most recent call last):
    OSError: [Errno 27] it has more than 1 MiB: '/dev/zero'
    """
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {memory_size(most)}", str(path))
    return data


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
    write_together({path: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files that belong together, each as `write_atomic` does: if one does not fit on the disk, none is written.

    All bytes are on the disk before the first file takes its name; the files take their names in the order given.

    Parameters
    ----------
    files : mapping of Path to bytes
        The whole contents of the files to create or replace.

    Raises
    ------
    OSError
        As of `write_atomic`; its file name is the first that could not be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_together({Path(folder, "a.csv"): b"1,2", Path(folder, "a.json"): b"[1, 2]"})
    ...     Path(folder, "a.json").read_bytes()
    b'[1, 2]'
    """
    waiting = [_Waiting(path) for path in files]
    try:
        for one, data in zip(waiting, files.values(), strict=True):
            with _named(one.path):
                one.write(data)
        for one in waiting:
            with _named(one.path):
                one.take_name()
    except BaseException:  # an interrupt from the keyboard too
        for one in waiting:
            one.temporary.unlink(missing_ok=True)
        raise


class _Waiting:
    """A file whose bytes wait under another name; one that is no regular file is written at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._real = real_path(path)
        self.temporary = self._real.with_name(_TEMPORARY.format(secrets.token_hex(8)))
        self._is_special = path.exists() and not path.is_file()

    def write(self, data: bytes) -> None:
        if self._is_special:
            self.path.write_bytes(data)
            return
        with self.temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if self._real.exists():
            self.temporary.chmod(stat.S_IMODE(self._real.stat().st_mode))

    def take_name(self) -> None:
        if not self._is_special:
            self.temporary.replace(self._real)
            _sync_folder(self._real.parent)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let errors name the file that was to be written, not the temporary one."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def append_whole(file: IO[bytes], data: bytes) -> None:
    """Append bytes to a file, all of them or none: what a full disk has cut off is taken back.

    Parameters
    ----------
    file : binary file
        Open for appending, without a buffer.
    data : bytes
        What to append.

    Raises
    ------
    OSError
        If it cannot be written.

    Examples
    --------
    >>> with nameless_file(Path()) as file:
    ...     append_whole(file, b"a line")
    ...     file.seek(0), file.read()
    (0, b'a line')
    """
    number, left = file.fileno(), memoryview(data)
    size = os.fstat(number).st_size
    try:
        while left:
            left = left[os.write(number, left) :]
    except BaseException:
        with suppress(OSError):  # a pipe, or a device
            os.ftruncate(number, size)
        raise


def _sync_folder(folder: Path) -> None:
    """Make new names last through a power cut, where the system can."""
    with suppress(OSError):  # Windows opens no folders, and some file systems sync none
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def nameless_file(folder: Path) -> IO[bytes]:
    """Return a new file that is gone when it is closed, or when the process is killed.

    Parameters
    ----------
    folder : Path
        Where its bytes are; must be there.

    Returns
    -------
    binary file
        Open for reading and writing.

    Raises
    ------
    OSError
        If no file can be made there; the folder is its file name.

    Examples
    --------
    >>> with nameless_file(Path()) as file:
    ...     Path(str(file.name)).exists()
    False
    """
    prefix, suffix = _TEMPORARY.split("{}")  # where files need names, it has one for a moment
    with _named(folder):
        return tempfile.TemporaryFile(prefix=prefix, suffix=suffix, dir=folder)


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


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Make a folder and those above it that are missing; those in which nothing is at the end go again.

    Raises
    ------
    OSError
        If the folder cannot be made.

    Examples
    --------
    >>> with made_folder(Path("a", "b")):
    ...     Path("a", "b").is_dir()
    True
    >>> Path("a").exists()
    False
    """
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for path in new:
            with suppress(OSError):  # it is not empty
                path.rmdir()


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Make a folder with all that is written into it, or none: it takes its name at the end.

    Parameters
    ----------
    folder : Path
        Must not be there, or be empty; those above it are made if need be.

    Yields
    ------
    Path
        Where to write, beside it.

    Raises
    ------
    OSError
        If it cannot be made, or is not empty; `folder` is its file name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as above:
    ...     with new_folder(Path(above, "a")) as place:
    ...         _ = (place / "b").write_text("c")
    ...     Path(above, "a", "b").read_text()
    'c'
    """
    temporary = folder.with_name(_TEMPORARY.format(secrets.token_hex(8)))
    with made_folder(folder.parent):
        try:
            with _named(folder):
                temporary.mkdir()
            try:
                yield temporary
            except OSError as error:
                if error.filename is None or not Path(error.filename).is_relative_to(temporary):
                    raise
                name = folder / Path(error.filename).relative_to(temporary)
                raise OSError(error.errno, error.strerror, str(name)) from error
            with _named(folder):
                if folder.is_dir():
                    folder.rmdir()  # empty, or it is refused
                temporary.replace(folder)
        except BaseException:  # an interrupt from the keyboard too
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def remove_leftovers(folder: Path) -> None:
    """Remove what programs that were killed while they wrote have left in a folder, and in that of a run's pictures.

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
    for place in (folder, folder / PICTURES_NAME):
        for path in place.glob(_TEMPORARY.format("*")):
            with suppress(OSError):
                path.unlink()
