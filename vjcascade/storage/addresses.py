"""The only door to fsspec: files at addresses are listed and read, and what goes wrong is said in a sentence."""

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
    """Return a place as it was written: a path makes one slash of two.

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
    """Tell whether a place, as `spelled` returns it, is an address.

    Examples
    --------
    >>> is_url("s3://bucket/photos"), is_url("C:/photos")
    (True, False)
    """
    return _ADDRESS.fullmatch(place) is not None


def list_files(address: str) -> list[tuple[str, int]]:
    """Return the files below an address, or the one there: address and bytes of each, sorted.

    Parameters
    ----------
    address : str
        As ``s3://bucket/photos``.

    Returns
    -------
    list of tuple
        Empty if there is nothing.

    Raises
    ------
    StorageError
        If it cannot be asked.
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
    """Return a file at an address, or a part of it.

    Parameters
    ----------
    address : str
        Of the file.
    start : int
        First byte.
    length : int, optional
        Bytes; all that follow if not given.

    Returns
    -------
    bytes
        As many as were asked for.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    StorageError
        If it cannot be read, or not whole, after `WAITS`.
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
    """Return how many bytes a file has.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    StorageError
        If it cannot be asked, or the place does not say.
    """
    system, path = _system(address)
    size = _with_retries(address, lambda: system.info(path).get("size"))
    if size is None:
        raise StorageError(f"{address}: the server does not report its size; download it and give the file")
    return int(size)


def _system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingLibraryError(
            f"{address}: files at addresses need fsspec, which is not installed: pip install 'fsspec[http]'"
        ) from None
    scheme = address.split("://", maxsplit=1)[0]
    try:
        system, path = url_to_fs(address)
    except ImportError as error:  # fsspec names the library
        raise MissingLibraryError(f"{address}: {scheme}:// needs one more library: {error}") from None
    except ValueError as error:
        raise SettingsError(
            f"{address}: {scheme}:// addresses cannot be read ({error}); download the file and give its name"
        ) from None
    return system, path


def _with_retries(address: str, ask: Callable[[], Result]) -> Result:
    """Return what is asked for; what may pass is tried again."""
    for wait in (*WAITS, None):
        try:
            return ask()
        except FileNotFoundError:
            raise
        except Exception as error:  # each of fsspec's libraries has errors of its own
            reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            if _is_refusal(error):
                raise StorageError(
                    f"{address}: access is refused ({reason}); check the credentials and what they allow"
                ) from error
            if wait is None:
                raise StorageError(
                    f"{address}: it cannot be fetched after {len(WAITS) + 1} attempts ({reason}); check the "
                    "connection, then start again or resume"
                ) from error
            time.sleep(wait)
    raise AssertionError


def _is_refusal(error: BaseException) -> bool:
    """Tell whether an error is about who may read: to ask again is of no use."""
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
