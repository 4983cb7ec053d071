"""Places of files: archives, sets of shards, and URLs."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePosixPath

from vjcascade.errors import SourceError, StorageError
from vjcascade.messages import memory_size
from vjcascade.storage.addresses import is_url, list_files, spelled
from vjcascade.storage.archives import archive_kind, members_of
from vjcascade.storage.stored import StoredFile

ARCHIVE_SUFFIXES = (".tar", ".zip")
"""Suffixes of archives at URLs; local archives are recognised by their content."""

MAX_SHARDS = 1_000_000
"""Largest number of shards."""

SIDE_SUFFIXES = frozenset({".cls", ".id", ".key", ".index", ".idx"})
"""Files that WebDataset writes beside pictures, which are ignored."""

_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")


@dataclass(frozen=True)
class Place:
    """The files of a place, not opened.

    Attributes
    ----------
    name : str
        As given.
    files : tuple of StoredFile
        In the order of the shards and their members; sorted below a URL.
    is_single : bool
        Whether the name is the URL of a single file.
    """

    name: str
    files: tuple[StoredFile, ...]
    is_single: bool = False

    def pictures(self, suffixes: frozenset[str]) -> list[StoredFile]:
        """Return the files with one of these suffixes, except hidden ones."""
        return [one for one in self.files if one.suffix.lower() in suffixes and not self._is_hidden(one)]

    def others(self, suffixes: frozenset[str]) -> list[StoredFile]:
        """Return the files that are not pictures and may be annotations, except hidden ones."""
        return [
            one
            for one in self.files
            if one.suffix.lower() not in suffixes | SIDE_SUFFIXES and not self._is_hidden(one)
        ]

    def label(self, one: StoredFile) -> str:
        """Return a short, unique name of a file."""
        if not one.member:
            return one.container.removeprefix(self.name).lstrip("/") or one.name
        return (
            one.member if one.container == self.name else f"{PurePosixPath(one.container).name}/{one.member}"
        )

    def local_copy(self) -> Path:
        """Copy all files to a temporary folder, or a single file into one; it is removed when the process ends.

        Raises
        ------
        SourceError
            If the disk has no room for them, or a name would leave the folder.
        StorageError
            If one cannot be fetched.
        """
        folder = Path(tempfile.mkdtemp(prefix="vjcascade-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        target = folder / PurePosixPath(self.name).name if self.is_single else folder
        needed, free = sum(one.size for one in self.files), shutil.disk_usage(folder).free
        if needed > free:
            raise SourceError(
                f"{self.name}: a copy needs {memory_size(needed)}, but {folder.parent} has {memory_size(free)} left: "
                "free some space, or set the environment variable TMPDIR to another folder"
            )
        for one in self.files:
            path = target if self.is_single else folder / self.label(one)
            if ".." in path.parts:
                raise SourceError(f"{one}: this file would be copied outside of its folder; rename it")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(one.read_bytes())
        return target

    @staticmethod
    def _is_hidden(one: StoredFile) -> bool:
        return any(part.startswith(".") for part in PurePosixPath(one.member or one.name).parts)


def is_place(source: str | PathLike[str]) -> bool:
    """Return whether a source is an archive, a set of shards or a URL, and not a folder or another file.

    Examples
    --------
    >>> is_place("s3://bucket/photos"), is_place("shard-{000..099}.tar"), is_place("photos")
    (True, True, False)
    """
    name, path = spelled(source if isinstance(source, str) else Path(source)), Path(source)
    if (is_url(name) or _RANGE.search(name)) and not path.exists():
        return True
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            return False
        with path.open("rb") as file:
            head = file.read(512)
    except OSError:
        return False
    return bool(archive_kind(head)) or name.lower().endswith(
        (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")
    )


def open_place(source: str | PathLike[str]) -> Place:
    """List the files of a place.

    Parameters
    ----------
    source : path
        An archive, a set of shards or a URL; see `is_place`.

    Returns
    -------
    Place
        With all its files.

    Raises
    ------
    SourceError
        If it does not exist, or an archive is damaged or hostile.
    StorageError
        If it cannot be fetched.
    MissingLibraryError
        If a library is not installed.
    """
    name = spelled(source if isinstance(source, str) else Path(source))
    shards = expanded(name)
    if len(shards) > 1 or not is_url(name) or name.lower().endswith(ARCHIVE_SUFFIXES):
        return Place(name, tuple(one for shard in shards for one in members_of(shard)))
    files = tuple(StoredFile(address, "", 0, size, size) for address, size in list_files(name))
    if not files:
        raise SourceError(f"{name}: there is nothing at this URL; check bucket, name and region")
    return Place(
        name, files, is_single=len(files) == 1 and files[0].container.rstrip("/") == name.rstrip("/")
    )


def expanded(name: str) -> Sequence[str]:
    """Expand the ranges in a name.

    Raises
    ------
    SourceError
        If a range has too many numbers, or ends before it begins.

    Examples
    --------
    >>> expanded("shard-{008..010}.tar")
    ['shard-008.tar', 'shard-009.tar', 'shard-010.tar']
    """
    found = _RANGE.search(name)
    if found is None:
        return [name]
    first, last = int(found[1]), int(found[2])
    if not 0 <= last - first < MAX_SHARDS:
        raise SourceError(
            f"{name}: {found[0]} is not a range of at most {MAX_SHARDS:,} numbers, such as {{0000..0099}}"
        )
    before, after = name[: found.start()], name[found.end() :]
    return [one for i in range(first, last + 1) for one in expanded(f"{before}{i:0{len(found[1])}}{after}")]


def local_file(source: Path) -> Path:
    """Return a local file unchanged, or a local copy of a file at a URL.

    Parameters
    ----------
    source : Path
        As on the command line.

    Returns
    -------
    Path
        The local file.

    Raises
    ------
    SourceError, StorageError
        If there is no file at the URL, or it cannot be fetched.
    """
    if not is_url(spelled(source)) or source.exists():
        return source
    place = open_place(source)
    if not place.is_single:
        raise StorageError(
            f"{place.name} is a folder or an archive, but a file is needed; give the URL of a file"
        )
    return place.local_copy()
