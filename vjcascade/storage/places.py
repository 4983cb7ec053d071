"""A place of files: an archive, a set of shards, or what lies below an address."""

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
"""What tells an archive at an address; elsewhere, the content does."""

MAX_SHARDS = 1_000_000
"""More shards are refused."""

SIDE_SUFFIXES = frozenset({".cls", ".id", ".key", ".index", ".idx"})
"""Files that WebDataset writes beside pictures, and that say nothing here."""

_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")


@dataclass(frozen=True)
class Place:
    """What lies in one place, none of it opened.

    Attributes
    ----------
    name : str
        As given.
    files : tuple of StoredFile
        Shard after shard, in the order of the archives; below addresses, sorted.
    is_single : bool
        Whether the name is that of the one file.
    """

    name: str
    files: tuple[StoredFile, ...]
    is_single: bool = False

    def pictures(self, suffixes: frozenset[str]) -> list[StoredFile]:
        """Return the files with one of these suffixes, hidden ones left out."""
        return [one for one in self.files if one.suffix.lower() in suffixes and not self._is_hidden(one)]

    def others(self, suffixes: frozenset[str]) -> list[StoredFile]:
        """Return the files that are no pictures and may tell something of them."""
        return [
            one
            for one in self.files
            if one.suffix.lower() not in suffixes | SIDE_SUFFIXES and not self._is_hidden(one)
        ]

    def label(self, one: StoredFile) -> str:
        """Return a short name of one of the files, different from those of the others."""
        if not one.member:
            return one.container.removeprefix(self.name).lstrip("/") or one.name
        return (
            one.member if one.container == self.name else f"{PurePosixPath(one.container).name}/{one.member}"
        )

    def local_copy(self) -> Path:
        """Return a new folder with all files, or the one file: it is kept until the process ends.

        Raises
        ------
        SourceError
            If the disk has no room for them.
        StorageError
            If one cannot be fetched.
        """
        folder = Path(tempfile.mkdtemp(prefix="vjcascade-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        target = folder / PurePosixPath(self.name).name if self.is_single else folder
        needed, free = sum(one.size for one in self.files), shutil.disk_usage(folder).free
        if needed > free:
            raise SourceError(
                f"{self.name}: it has {memory_size(needed)}, and {folder.parent} has {memory_size(free)} left for a "
                "copy: free some space, or let the variable TMPDIR name another folder"
            )
        for one in self.files:
            path = target if self.is_single else folder / self.label(one)
            if ".." in path.parts:
                raise SourceError(f"{one}: this name would be copied outside its folder; rename it")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(one.read_bytes())
        return target

    @staticmethod
    def _is_hidden(one: StoredFile) -> bool:
        return any(part.startswith(".") for part in PurePosixPath(one.member or one.name).parts)


def is_place(source: str | PathLike[str]) -> bool:
    """Tell whether a source is an archive, a set of shards or an address, not a folder or a file of another kind.

    Examples
    --------
    >>> is_place("s3://bucket/photos"), is_place("shard-{000..099}.tar"), is_place("photos")
    (True, True, False)
    """
    name, path = spelled(source if isinstance(source, str) else Path(source)), Path(source)
    if (is_url(name) or _RANGE.search(name)) and not path.exists():
        return True
    try:
        if not path.is_file():  # to open a pipe would wait for its writer
            return False
        with path.open("rb") as file:
            head = file.read(512)
    except OSError:
        return False
    return bool(archive_kind(head)) or name.lower().endswith(
        (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")
    )


def open_place(source: str | PathLike[str]) -> Place:
    """List what lies in a place.

    Parameters
    ----------
    source : path
        For which `is_place` is true.

    Returns
    -------
    Place
        With all its files.

    Raises
    ------
    SourceError
        If it is not there, or an archive is damaged or hostile.
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
        raise SourceError(f"{name}: there is nothing at this address; check bucket, name and region")
    return Place(
        name, files, is_single=len(files) == 1 and files[0].container.rstrip("/") == name.rstrip("/")
    )


def expanded(name: str) -> Sequence[str]:
    """Return the names that a name with ranges stands for.

    Raises
    ------
    SourceError
        If they are too many, or a range ends before it begins.

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
            f"{name}: {found[0]} is not a range of at most {MAX_SHARDS:,} numbers, as {{0000..0099}}"
        )
    before, after = name[: found.start()], name[found.end() :]
    return [one for i in range(first, last + 1) for one in expanded(f"{before}{i:0{len(found[1])}}{after}")]


def local_file(source: Path) -> Path:
    """Return a file as it is, or a copy of it if it lies at an address.

    Parameters
    ----------
    source : Path
        As on the command line.

    Returns
    -------
    Path
        Of a local file.

    Raises
    ------
    SourceError, StorageError
        If there is none at the address, or it cannot be fetched.
    """
    if not is_url(spelled(source)) or source.exists():
        return source
    place = open_place(source)
    if not place.is_single:
        raise StorageError(
            f"{place.name}: a file is needed, but this is a folder or an archive; name the file in it"
        )
    return place.local_copy()
