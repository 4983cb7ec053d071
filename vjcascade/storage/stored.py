"""Files outside of folders: members of archives, and files at URLs."""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from vjcascade.errors import ImageError, StorageError
from vjcascade.storage.addresses import is_url, read_address

_ZIP_HEADER = 30
"""Bytes before the name in the header of a zip member."""


@dataclass(frozen=True)
class StoredFile:
    """A file in an archive or at a URL, with the methods of `Path` that reading of pictures needs; it can be pickled.

    Attributes
    ----------
    container : str
        The archive, or the file itself: a path or a URL.
    member : str
        Its name in the archive; empty if it is in none.
    start : int
        Its offset in the container; in a zip, that of its header.
    length : int
        Its stored size in bytes.
    size : int
        Its unpacked size in bytes.
    zip_method : int or None
        0 for a stored member of a zip, 8 for a deflated one; None outside of zips.
    crc : int
        CRC-32 of a member of a zip.
    data : bytes or None
        The content, once it was `fetched`.
    """

    container: str
    member: str
    start: int
    length: int
    size: int
    zip_method: int | None = None
    crc: int = 0
    data: bytes | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.container}/{self.member}" if self.member else self.container

    @property
    def name(self) -> str:
        """The last part of its path."""
        return PurePosixPath(self.member or self.container).name

    @property
    def stem(self) -> str:
        """The name without the suffix."""
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        """The suffix, such as ``.jpg``."""
        return PurePosixPath(self.name).suffix

    def fetched(self) -> StoredFile:
        """Return the file with its content.

        Raises
        ------
        ImageError
            If it no longer exists, or does not match the archive's entry.
        StorageError
            If it cannot be fetched.
        """
        if self.data is not None:
            return self
        return replace(self, data=self.read_bytes())

    def released(self) -> StoredFile:
        """Return the file without its content."""
        return self if self.data is None else replace(self, data=None)

    def read_bytes(self) -> bytes:
        """Return the content.

        Raises
        ------
        ImageError, StorageError
            As `fetched`.
        """
        if self.data is not None:
            return self.data
        try:
            return self._read() if self.zip_method is None else self._unzipped()
        except FileNotFoundError:
            raise ImageError(f"{self} no longer exists") from None

    def open(self, mode: str = "rb") -> io.BufferedReader:
        """Return the content as an open file, for reading only.

        Raises
        ------
        ImageError, StorageError
            As `fetched`.
        """
        del mode
        return io.BufferedReader(io.BytesIO(self.read_bytes()))

    def exists(self) -> bool:
        """Return True, as it was listed."""
        return True

    def is_file(self) -> bool:
        """Return True."""
        return True

    def _read(self) -> bytes:
        return read_part(self.container, self.start, self.length)

    def _unzipped(self) -> bytes:
        header = read_part(self.container, self.start, _ZIP_HEADER)
        n_skipped = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        stored = read_part(self.container, self.start + _ZIP_HEADER + n_skipped, self.length)
        try:
            data = (
                stored if self.zip_method == 0 else zlib.decompressobj(-15).decompress(stored, self.size + 1)
            )
        except zlib.error as error:
            raise ImageError(f"{self}: it is damaged ({error}); create the archive again") from None
        if header[:4] != b"PK\3\4" or len(data) != self.size or zlib.crc32(data) != self.crc:
            raise ImageError(f"{self}: it does not match the archive's entry; create the archive again")
        return data


File = Path | StoredFile
"""A file in a folder, in an archive or at a URL."""


def read_part(container: str, start: int, length: int) -> bytes:
    """Return a part of a file.

    Parameters
    ----------
    container : str
        A path or a URL.
    start : int
        First byte.
    length : int
        Number of bytes.

    Returns
    -------
    bytes
        Exactly `length` bytes.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    StorageError
        If it cannot be read, or is too short.
    """
    if is_url(container):
        return read_address(container, start, length)
    with Path(container).open("rb") as file:
        file.seek(start)
        data = file.read(length)
    if len(data) != length:
        raise StorageError(f"{container} is truncated; copy it again")
    return data
