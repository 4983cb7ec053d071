"""Listing and reading of files at URLs, with retries. Only this module imports fsspec."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, TypeVar

from vjcascade.errors import MissingLibraryError, SettingsError, StorageError

Result = TypeVar("Result")

WAITS = (0.1, 0.5, 2.0)
"""Seconds between attempts; after the last of them, the run ends."""

_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/+(.*)", re.DOTALL)


def spelled(place: str | PurePath) -> str:
    """Return a URL as it was written, with the two slashes that `Path` merges; other paths are unchanged.

    Examples
    --------
    >>> from pathlib import Path
    >>> spelled(Path("s3://bucket/photos")), spelled(Path("C:/photos")), spelled("photos")
    ('s3://bucket/photos', 'C:/photos', 'photos')
    """
    text = place if isinstance(place, str) else place.as_posix()
    found = _ADDRESS.fullmatch(text)
    return f"{found[1].lower()}://{found[2]}" if found else str(place)


def is_url(place: str) -> bool:
    """Return whether a place, as returned by `spelled`, is a URL.

    Examples
    --------
    >>> is_url("s3://bucket/photos"), is_url("C:/photos")
    (True, False)
    """
    return _ADDRESS.fullmatch(place) is not None


def list_files(address: str) -> list[tuple[str, int]]:
    """Return URL and size of the files below a URL, or of the file at it, sorted.

    Parameters
    ----------
    address : str
        Such as ``s3://bucket/photos``.

    Returns
    -------
    list of tuple
        Empty if there is nothing.

    Raises
    ------
    StorageError
        If the files cannot be listed.
    """
    system, path = _system(address)

    def ask() -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = system.find(path, detail=True)
        return found

    try:
        found = _with_retries(address, ask)
    except FileNotFoundError:
        return []
    files = [(name, info) for name, info in found.items() if info.get("type", "file") == "file"]
    return sorted((system.unstrip_protocol(name), int(info.get("size") or 0)) for name, info in files)


def read_address(address: str, start: int = 0, length: int | None = None) -> bytes:
    """Return the content of a file at a URL, or a part of it.

    Parameters
    ----------
    address : str
        URL of the file.
    start : int
        First byte.
    length : int, optional
        Number of bytes; up to the end if not given.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    StorageError
        If it cannot be read completely after several attempts.
    """
    system, path = _system(address)

    def ask() -> bytes:
        if length == 0:
            return b""
        end = None if length is None else start + length
        data: bytes = system.cat_file(
            path, **({} if start == 0 and end is None else {"start": start, "end": end})
        )
        if length is not None and len(data) != length:
            raise EOFError(f"{len(data):,} bytes arrived instead of {length:,}")
        return data

    return _with_retries(address, ask)


def file_size(address: str) -> int:
    """Return the size of a file in bytes.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    StorageError
        If the server cannot be reached, or does not report the size.
    """
    system, path = _system(address)
    size = _with_retries(address, lambda: system.info(path).get("size"))
    if size is None:
        raise StorageError(f"{address}: the server does not report its size; download it and give the file")
    return int(size)


def _system(address: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingLibraryError(
            f"{address}: URLs need fsspec, which is not installed: pip install 'fsspec[http]'"
        ) from None
    scheme = address.split("://", maxsplit=1)[0]
    try:
        system, path = url_to_fs(address)
    except ImportError as error:  # fsspec names the library
        raise MissingLibraryError(f"{address}: {scheme}:// needs another library: {error}") from None
    except ValueError as error:
        raise SettingsError(
            f"{address}: {scheme}:// URLs cannot be read ({error}); download the file and give its name"
        ) from None
    return system, path


def _with_retries(address: str, ask: Callable[[], Result]) -> Result:
    """Return the result of `ask`; retry after errors that may be temporary."""
    for wait in (*WAITS, None):
        try:
            return ask()
        except FileNotFoundError:
            raise
        except Exception as error:  # each of fsspec's libraries has errors of its own
            reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            if _is_refusal(error):
                raise StorageError(
                    f"{address}: access is denied ({reason}); check the credentials and their permissions"
                ) from error
            if wait is None:
                raise StorageError(
                    f"{address}: it cannot be fetched after {len(WAITS) + 1} attempts ({reason}); check the "
                    "connection, then start again or resume"
                ) from error
            time.sleep(wait)
    raise AssertionError


def _is_refusal(error: BaseException) -> bool:
    """Return whether an error denies access, so that a retry is useless."""
    names = {
        "NoCredentialsError",
        "PartialCredentialsError",
        "CredentialRetrievalError",
        "ClientAuthenticationError",
    }
    return (
        isinstance(error, PermissionError)
        or type(error).__name__ in names
        or getattr(error, "status", 0) in {401, 403}
    )
