"""Arrays in memory, or in unnamed files that disappear with the process."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vjcascade.files import nameless_file

LINE = 64
"""Size of a cache line in bytes: arrays are aligned to it."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Of malloc.h."""

_CHUNK = b"\0" * 2**24


def allocate(shape: tuple[int, ...], dtype: DTypeLike, folder: Path | None) -> NDArray[Any]:
    """Return an uninitialised array, in memory or on disk.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    dtype : data-type
        Its dtype.
    folder : Path or None
        Folder of its file; None for an array in memory. The file has no name, so that even a process that is killed
        leaves nothing behind. Its space is allocated at once, so that a full disk is reported here, and does not cause
        a crash later.

    Returns
    -------
    ndarray
        Of the shape and dtype.

    Raises
    ------
    OSError
        If the disk has no room for it; the error names the folder.

    Examples
    --------
    >>> array = allocate((3, 5), np.uint8, Path())
    >>> array[:] = 7
    >>> release_pages(array)
    >>> int(array.sum())
    105
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if folder is None or n_bytes == 0:
        spare = np.empty(n_bytes + LINE, np.uint8)
        first = -spare.ctypes.data % LINE
        return spare[first : first + n_bytes].view(dtype).reshape(shape)
    with nameless_file(folder) as file:
        try:
            _take_space(file.fileno(), n_bytes)
        except OSError as error:
            reason = f"{error.strerror}: there is no space for a file of {n_bytes:,} bytes"
            raise OSError(error.errno, reason, str(folder)) from error
        return np.frombuffer(mmap.mmap(file.fileno(), n_bytes), dtype).reshape(shape)


class ReusableBuffer:
    """Memory or a file for one array at a time, which the next one reuses.

    Allocating fresh memory takes about as long as computing its content. So arrays of similar sizes that are needed one
    after the other should reuse memory.

    Parameters
    ----------
    folder : Path, optional
        Folder of the file; see `allocate`.

    Examples
    --------
    >>> space = ReusableBuffer()
    >>> first = space.array((100, 10), np.uint8)
    >>> np.shares_memory(first, space.array((9, 11), np.uint64))
    True
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._bytes = np.empty(0, np.uint8)

    def array(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an uninitialised array; the one returned before must not be used any more.

        Raises
        ------
        OSError
            If the disk has no room for it.
        """
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        if n_bytes > len(self._bytes):
            self._bytes = np.empty(0, np.uint8)
            self._bytes = allocate((n_bytes,), np.uint8, self.folder)
        return self._bytes[:n_bytes].view(dtype).reshape(shape)


def release_pages(rows: NDArray[Any]) -> None:
    """Release the memory pages of rows of an array on disk; their content is kept in the file.

    Parameters
    ----------
    rows : ndarray
        A contiguous part of an array from `allocate` or `ReusableBuffer.array`; nothing is done for arrays in memory.
    """
    base: Any = rows
    while isinstance(base, np.ndarray):
        base = base.base
    file = base.obj if isinstance(base, memoryview) else base
    if isinstance(file, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        first = rows.ctypes.data - np.frombuffer(file, np.uint8).ctypes.data
        start = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE  # pages shared with other rows are kept
        whole = first + rows.nbytes == len(file)
        stop = len(file) if whole else (first + rows.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
        if stop > start:
            file.madvise(mmap.MADV_DONTNEED, start, stop - start)


def reuse_freed_memory() -> None:
    """Have the C library keep what is freed for the next array, as it does by itself where nothing else is said.

    Dask starts workers with `MALLOC_TRIM_THRESHOLD_`, so that it gives freed memory back at once; then every array that
    is needed for a moment is new memory, and a round of boosting takes 1.4 times as long. Only glibc has this setting.
    """
    options = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if options is not None:
        options(_M_MMAP_THRESHOLD, 2**25)  # the largest that it takes
        options(_M_TRIM_THRESHOLD, 2**27)


def _take_space(file: int, n_bytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, n_bytes)
    else:
        for start in range(0, n_bytes, len(_CHUNK)):
            os.write(file, _CHUNK[: n_bytes - start])
