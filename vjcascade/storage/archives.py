"""The members of tar and zip archives, listed without unpacking. Archives are not trusted."""

from __future__ import annotations

import io
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any

from vjcascade.errors import SourceError
from vjcascade.messages import memory_size
from vjcascade.storage.addresses import file_size, is_url, read_address
from vjcascade.storage.stored import StoredFile

MAX_MEMBERS = 5_000_000
"""Archives with more members are refused."""

MAX_MEMBER = 2**30
"""Largest unpacked size of a member in bytes: it is read as a whole."""

DEFLATE_RATIO = 1032
"""Largest compression ratio of deflate."""

_READ_AHEAD = 2**20
"""Bytes of a read from a URL while the members are listed."""

_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZ": "bzip2", b"\xfd7": "xz", b"\x28\xb5": "zstd"}


def archive_kind(head: bytes) -> str:
    """Return "tar", "zip" or an empty string, by the first 512 bytes of a file.

    Examples
    --------
    >>> archive_kind(b"PK" + bytes([3, 4])), archive_kind(b"list.txt")
    ('zip', '')
    """
    if head[:4] in {b"PK\3\4", b"PK\5\6"}:
        return "zip"
    return "tar" if head[257:262] == b"ustar" else ""


def members_of(container: str) -> list[StoredFile]:
    """Return the files in an archive, in their order.

    Parameters
    ----------
    container : str
        A path or a URL.

    Returns
    -------
    list of StoredFile
        Without folders, links and devices.

    Raises
    ------
    SourceError
        If it is not an archive with random access, or is damaged or hostile.
    StorageError
        If it cannot be fetched.
    """
    import tarfile
    import zipfile

    try:
        with _opened(container) as file:
            head = file.read(512)
            file.seek(0)
            kind = archive_kind(head)
            if not kind:
                raise SourceError(f"{container}: {_why_no_archive(head)}")
            found = _in_zip(container, file) if kind == "zip" else _in_tar(container, file)
            return _checked(container, found)
    except FileNotFoundError:
        raise SourceError(f"{container} does not exist; check the name") from None
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(
            f"{container}: the archive is damaged or cut off ({error}); create it again"
        ) from None


def _why_no_archive(head: bytes) -> str:
    if (kind := _COMPRESSED.get(head[:2])) is not None:
        return (
            f"it is compressed with {kind}, so members cannot be read one by one; make a plain tar or a zip, as this "
            "hardly makes pictures smaller"
        )
    return "it is neither a tar nor a zip; create it again"


def _in_tar(container: str, file: IO[bytes]) -> Iterator[StoredFile]:
    import tarfile

    with tarfile.open(fileobj=file, mode="r:") as archive:
        for member in archive:
            archive.members = []  # type: ignore[attr-defined]  # or it would keep all members
            if not member.isreg():
                continue
            if member.issparse():
                raise SourceError(
                    f"{container}: member {member.name!r} is a sparse file; create the archive without --sparse"
                )
            yield StoredFile(container, member.name, member.offset_data, member.size, member.size)
        end = archive.offset
        is_short = file.seek(0, io.SEEK_END) < end
        file.seek(end)
        if is_short or file.read(tarfile.BLOCKSIZE).strip(b"\0"):  # tarfile does not report this
            raise EOFError("its last member is incomplete")


def _in_zip(container: str, file: IO[bytes]) -> Iterator[StoredFile]:
    import zipfile

    with zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
    end = 0
    for info in sorted(infos, key=lambda one: one.header_offset):
        if info.header_offset < end:
            raise SourceError(f"{container}: members of it overlap, as in zip bombs")
        end = info.header_offset + info.compress_size
    for info in infos:
        if info.is_dir() or stat.S_ISLNK(info.external_attr >> 16):
            continue
        if info.flag_bits & 1:
            raise SourceError(
                f"{container}: member {info.filename!r} is encrypted; make the archive without a password"
            )
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise SourceError(
                f"{container}: member {info.filename!r} is compressed in an unsupported way; store or deflate it"
            )
        if info.file_size > DEFLATE_RATIO * max(info.compress_size, 1):
            raise SourceError(f"{container}: member {info.filename!r} claims more bytes than it can have")
        yield StoredFile(
            container,
            info.filename,
            info.header_offset,
            info.compress_size,
            info.file_size,
            info.compress_type,
            info.CRC,
        )


def _checked(container: str, found: Iterable[StoredFile]) -> list[StoredFile]:
    """Return the members, or raise if one of them is hostile."""
    members: dict[str, StoredFile] = {}
    for one in found:
        path = PurePosixPath(one.member)
        name = path.as_posix()
        if (
            not path.parts
            or path.is_absolute()
            or ".." in path.parts
            or PureWindowsPath(one.member).drive
            or "\\" in name
            or "\0" in name
        ):
            raise SourceError(
                f"{container}: member {one.member!r} would be extracted outside the archive; create it again"
            )
        if one.size > MAX_MEMBER:
            raise SourceError(
                f"{container}: member {one.member!r} has {memory_size(one.size)}; at most {memory_size(MAX_MEMBER)} "
                "are read"
            )
        if len(members) == MAX_MEMBERS:
            raise SourceError(f"{container}: it has more than {MAX_MEMBERS:,} members; split it")
        members[name] = one  # the last member of a name counts, as in unpacking
    return list(members.values())


def _opened(container: str) -> IO[bytes]:
    if not is_url(container):
        return Path(container).open("rb")
    return io.BufferedReader(_RemoteFile(container), _READ_AHEAD)


class _RemoteFile(io.RawIOBase):
    """A seekable file object for a URL."""

    def __init__(self, address: str) -> None:
        self._address, self._size, self._place = address, file_size(address), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any, /) -> int:
        n = min(len(buffer), max(self._size - self._place, 0))
        buffer[:n] = read_address(self._address, self._place, n)
        self._place += n
        return n
