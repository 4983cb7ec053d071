"""Arrays too large for memory, in files without a name that are gone when the process is."""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_CHUNK = b"\0" * 2**24


def scratch_array(shape: tuple[int, ...], dtype: DTypeLike, folder: Path | None) -> NDArray[Any]:
    """Return an array whose content is not set yet, in memory or on disk.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    dtype : data-type
        Its dtype.
    folder : Path or None
        Where its file shall be; None for an array in memory. The file has no name, so that even a process that is
        killed leaves nothing behind. All its space is taken at once: a disk that is full is told of here, not by
        a crash later.

    Returns
    -------
    ndarray
        Of the shape and dtype.

    Raises
    ------
    OSError
        If the disk has no room for it.

    Examples
    --------
    >>> array = scratch_array((3, 5), np.uint8, Path())
    >>> array[:] = 7
    >>> let_go(array)
    >>> int(array.sum())
    105
    """
    n_bytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if folder is None or n_bytes == 0:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile(dir=folder) as file:
        _take_space(file.fileno(), n_bytes)
        return np.frombuffer(mmap.mmap(file.fileno(), n_bytes), dtype).reshape(shape)


def let_go(rows: NDArray[Any]) -> None:
    """Give back the memory in which rows of an array on disk are looked at; what was written to them is kept.

    Parameters
    ----------
    rows : ndarray
        A contiguous part of what `scratch_array` returned; of an array in memory nothing happens.
    """
    base: Any = rows
    while isinstance(base, np.ndarray):
        base = base.base
    file = base.obj if isinstance(base, memoryview) else base
    if isinstance(file, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        first = rows.ctypes.data - np.frombuffer(file, np.uint8).ctypes.data
        start = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE  # a page that rows share with others stays
        whole = first + rows.nbytes == len(file)
        stop = len(file) if whole else (first + rows.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
        if stop > start:
            file.madvise(mmap.MADV_DONTNEED, start, stop - start)


def _take_space(file: int, n_bytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, n_bytes)
    else:
        for start in range(0, n_bytes, len(_CHUNK)):
            os.write(file, _CHUNK[: n_bytes - start])
