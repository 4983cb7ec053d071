"""`.vec` files of `opencv_createsamples`: crops of one size as 16-bit grey levels.

A little-endian header of 12 bytes: the number of samples, the number of pixels in each, and two unused numbers. Then
for each sample an unused byte and its pixels, row by row. The file does not contain width and height: wrong ones shear
the crops, so the size is checked, or guessed, by how smooth it makes the crops. No library reads this format.

A given size is used, with a note if another one is more likely. On a command line of OpenCV's programs, where `-w` and
`-h` are easily swapped, an unlikely size is refused (`refuse_unlikely_size`), and can be confirmed with `--window`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import SourceError
from vjcascade.files import write_atomic
from vjcascade.messages import pluralize
from vjcascade.types import Size

HEADER = np.dtype([("n_samples", "<i4"), ("n_pixels", "<i4"), ("unused", "<i2", (2,))])
"""The header of a file."""

MAX_SIDE = 256
"""Longest side of a sample, that of the largest window of a cascade."""

MIN_SIDE = 4
"""Shortest side of a sample."""

MAX_RATIO = 6
"""Largest ratio of the longer to the shorter side in a guessed size."""

WORSE = 1.25
"""A size is doubted if another one makes the crops smoother by this factor. For faces and cars, swapped sides made them
rougher by factors from 1.37 (ten crops) to 4.8."""

CLEARER = 1.15
"""A size is guessed if it makes the crops smoother than all others by this factor; otherwise only a square is."""

SEEN = 500
"""Samples from which the size is guessed."""

SHOWN = 6
"""Sizes that are named in messages."""

MAX_BYTES = 2**33
"""Largest file read: millions of samples."""

BLOCK_BYTES = 2**26
"""Bytes read at a time."""


@dataclass(frozen=True, eq=False)
class VecSamples:
    """The samples of a file.

    Attributes
    ----------
    windows : ndarray of shape (n, height, width), dtype uint8
        Grey levels; n > 0.
    notes : tuple of str
        Irregularities of the file.
    """

    windows: NDArray[np.uint8]
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> Size:
        """Width and height of the samples."""
        return Size(self.windows.shape[2], self.windows.shape[1])


def is_vec(path: Path) -> bool:
    """Return whether a file is a `.vec`, by its suffix or by a header that fits its length exactly.

    Examples
    --------
    >>> is_vec(Path("positives.vec")), is_vec(Path("info.dat"))
    (True, False)
    """
    if path.suffix.lower() == ".vec":
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(HEADER.itemsize)
    if len(head) < HEADER.itemsize:
        return False
    n_samples, n_pixels, _ = np.frombuffer(head, HEADER)[0].tolist()
    return n_samples > 0 and n_pixels > 0 and path.stat().st_size == _length(n_samples, n_pixels)


def read_vec(path: str | os.PathLike[str], size: Size | None = None) -> VecSamples:
    """Read a `.vec` as OpenCV does: the number of samples in its header, and the low byte of each pixel.

    Parameters
    ----------
    path : path-like
        The file.
    size : Size, optional
        Width and height of the samples; a note says if another size is more likely. If not given, the size that makes
        them smoothest, or a square if that is nearly as smooth.

    Returns
    -------
    VecSamples
        All of them.

    Raises
    ------
    SourceError
        If the file is not a `.vec` or is truncated; if `size` does not fit the number of pixels in a sample; or if it
        is not given and cannot be guessed. The message names the numbers or the possible sizes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     crop = np.add.outer(np.arange(8), 30 * np.arange(8)).astype(np.uint8)
    ...     write_vec(f"{folder}/a.vec", crop[None])
    ...     read_vec(f"{folder}/a.vec").size
    Size(width=8, height=8)
    """
    path = Path(path)
    pixels, notes = _read_pixels(path)
    ranked = _checked_sizes(path, pixels, size)
    chosen = _guessed_size(path, ranked) if size is None else size
    if size is not None and (smoothest := _likelier(pixels, size, ranked)):
        notes.append(
            f"{path.name}: samples are read as {size}, as requested, but look like {smoothest}"
            f"{_swapped(size, smoothest)}, as their rows do not fit together as {size}; if {size} is wrong, give "
            f"--window {smoothest}"
        )
    return VecSamples(pixels.reshape(-1, chosen.height, chosen.width), tuple(notes))


def refuse_unlikely_size(path: str | os.PathLike[str], size: Size) -> None:
    """Refuse a size that samples do not look like, for example one with swapped sides.

    Parameters
    ----------
    path : path-like
        The file.
    size : Size
        Width and height of the samples, from a command line of OpenCV's programs.

    Raises
    ------
    SourceError
        If another size makes the samples much smoother; the message tells how to confirm the size. Or as `read_vec`.

    Examples
    --------
    >>> crop = np.add.outer(np.arange(8), 20 * np.arange(12)).astype(np.uint8)
    >>> write_vec("wide.vec", crop[None])
    >>> refuse_unlikely_size("wide.vec", Size(12, 8))
    """
    path = Path(path)
    pixels, _ = _read_pixels(path)
    smoothest = _likelier(pixels, size, _checked_sizes(path, pixels, size))
    if smoothest is not None:
        raise SourceError(
            f"{path}: samples of {pixels.shape[1]} pixels may be {size} or {smoothest}, but look like {smoothest}"
            f"{_swapped(size, smoothest)}, as their rows do not fit together as {size}; give the size {smoothest} or, "
            f"if {size} is right, --window {size} instead of -w and -h"
        )


def write_vec(path: str | os.PathLike[str], windows: NDArray[np.uint8]) -> None:
    """Write crops as a `.vec` that OpenCV reads, atomically, and verify it by reading it again.

    Parameters
    ----------
    path : path-like
        The file.
    windows : ndarray of shape (n, height, width), dtype uint8
        Grey levels; n > 0.

    Raises
    ------
    SourceError
        If there are no crops, or no window can have their size.
    OSError
        If the file cannot be written, or differs when it is read again.
    """
    path = Path(path)
    if windows.ndim != 3 or windows.dtype != np.uint8 or len(windows) == 0:
        raise SourceError(
            f"{path}: crops must have shape (n, height, width) and dtype uint8, not {windows.shape} and {windows.dtype}"
        )
    n_samples, height, width = windows.shape
    if not (min(width, height) >= MIN_SIDE and max(width, height) <= MAX_SIDE):
        raise SourceError(
            f"{path}: crops of {width}x{height} pixels; sides must be {MIN_SIDE} to {MAX_SIDE}; resize them"
        )
    header = np.array([(n_samples, width * height, (0, 0))], HEADER)
    samples = np.zeros(n_samples, _sample(width * height))
    samples["pixels"] = windows.reshape(n_samples, -1)
    write_atomic(path, header.tobytes() + samples.tobytes())
    if path.is_file() and not np.array_equal(_read_pixels(path)[0], windows.reshape(n_samples, -1)):
        path.unlink()
        raise OSError(
            errno.EIO, "it differs from what was written, and was removed; check the disk", str(path)
        )


def _sample(n_pixels: int) -> np.dtype[np.void]:
    return np.dtype([("unused", "u1"), ("pixels", "<i2", (n_pixels,))])


def _length(n_samples: int, n_pixels: int) -> int:
    """Return the length of a file in bytes."""
    return HEADER.itemsize + n_samples * (1 + 2 * n_pixels)


def _read_pixels(path: Path) -> tuple[NDArray[np.uint8], list[str]]:
    """Return the low bytes of all pixels, shape (n_samples, n_pixels), and irregularities of the file."""
    try:
        if path.exists() and not path.is_file():
            raise SourceError(f"{path} is not a regular file; give a .vec of opencv_createsamples")
        with path.open("rb") as file:
            n_samples, n_pixels, notes = _checked_header(path, file.read(HEADER.itemsize))
            pixels = np.empty((n_samples, n_pixels), np.uint8)
            sample = _sample(n_pixels)
            step = max(BLOCK_BYTES // sample.itemsize, 1)
            n_wide = 0
            for start in range(0, n_samples, step):
                n_wanted = min(step, n_samples - start)
                data = file.read(n_wanted * sample.itemsize)
                if len(data) < n_wanted * sample.itemsize:
                    raise SourceError(f"{path} was truncated while it was read")
                values = np.frombuffer(data, sample)["pixels"]
                pixels[start : start + n_wanted] = values.astype(np.uint8)
                n_wide += int(((values < 0) | (values > 255)).any(axis=1).sum())
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from error
    if n_wide:
        notes.append(
            f"{path.name}: {pluralize(n_wide, 'sample')} with values outside of 0 to 255, of which the low byte is used"
        )
    return pixels, notes


def _checked_header(path: Path, head: bytes) -> tuple[int, int, list[str]]:
    """Return the number of samples, the number of pixels in each, and irregularities.

    Raises
    ------
    SourceError
        If the file is not a `.vec`, or too short for these.
    """
    advice = "make it again with opencv_createsamples, or copy it again"
    if len(head) < HEADER.itemsize:
        raise SourceError(
            f"{path} has {len(head)} bytes, but the header of a .vec has {HEADER.itemsize}; {advice}"
        )
    n_samples, n_pixels, _ = np.frombuffer(head, HEADER)[0].tolist()
    if not (n_samples > 0 and MIN_SIDE**2 <= n_pixels <= MAX_SIDE**2):
        raise SourceError(
            f"{path} is not a valid .vec: its header says {pluralize(n_samples, 'sample')} of {n_pixels} "
            f"pixels; {advice}"
        )
    there, expected = path.stat().st_size, _length(n_samples, n_pixels)
    if there < expected:
        n_whole = (there - HEADER.itemsize) // (1 + 2 * n_pixels)
        raise SourceError(
            f"{path} is truncated: its header says {pluralize(n_samples, 'sample')} of {n_pixels} pixels, {expected} "
            f"bytes, but it has {there}, {pluralize(n_whole, 'whole sample')}; {advice}"
        )
    if expected > MAX_BYTES:
        raise SourceError(f"{path}: {n_samples:,} samples of {n_pixels} pixels are too many; split the file")
    more = there - expected
    notes = [f"{path.name}: {pluralize(more, 'byte')} after the last sample, not read"] if more else []
    return n_samples, n_pixels, notes


def _checked_sizes(path: Path, pixels: NDArray[np.uint8], size: Size | None) -> list[tuple[float, Size]]:
    """Return the sizes that samples may have, as `_ranked_sizes` does.

    Raises
    ------
    SourceError
        If there are none, or the given one has another number of pixels.
    """
    n_pixels = pixels.shape[1]
    ranked = _ranked_sizes(pixels)
    if not ranked:
        raise SourceError(
            f"{path}: samples of {n_pixels} pixels cannot have sides of {MIN_SIDE} to {MAX_SIDE} pixels"
        )
    if size is not None and size.width * size.height != n_pixels:
        raise SourceError(
            f"{path}: samples have {n_pixels} pixels, but {size} has {size.width * size.height}; they may be "
            f"{_named(ranked)}"
        )
    return ranked


def _guessed_size(path: Path, ranked: Sequence[tuple[float, Size]]) -> Size:
    """Return the most likely size of samples.

    Raises
    ------
    SourceError
        If several are similarly likely.
    """
    best, smoothest = ranked[0]
    alike = [one for roughness, one in ranked if roughness < CLEARER * best or one == smoothest]
    square = [one for one in alike if one.width == one.height]  # as OpenCV guesses
    if len(alike) > 1 and not square:
        n_pixels = smoothest.width * smoothest.height
        raise SourceError(
            f"{path}: samples of {n_pixels} pixels may be {_named(ranked)}; give the size, as --window {smoothest}"
        )
    return square[0] if square else smoothest


def _likelier(pixels: NDArray[np.uint8], size: Size, ranked: Sequence[tuple[float, Size]]) -> Size | None:
    """Return a size that is much more likely than the given one, if there is one."""
    best, smoothest = ranked[0]
    return None if _roughness(pixels, size.width) <= WORSE * best else smoothest


def _swapped(size: Size, other: Size) -> str:
    return " with the sides swapped" if other == size[::-1] else ""


def _ranked_sizes(pixels: NDArray[np.uint8]) -> list[tuple[float, Size]]:
    """Return the sizes that samples may have with their roughness, the smoothest first."""
    n_pixels = pixels.shape[1]
    sizes = [
        Size(width, n_pixels // width) for width in range(MIN_SIDE, MAX_SIDE + 1) if n_pixels % width == 0
    ]
    fitting = [one for one in sizes if MIN_SIDE <= one.height <= MAX_SIDE]
    usual = [one for one in fitting if max(one) <= MAX_RATIO * min(one)] or fitting
    return sorted((_roughness(pixels, one.width), one) for one in usual)


def _roughness(pixels: NDArray[np.uint8], width: int) -> float:
    """Return the mean absolute difference of pixels to those below them."""
    some = pixels[:: max(len(pixels) // SEEN, 1)].astype(np.int16)
    return float(np.abs(some[:, width:] - some[:, :-width]).mean())


def _named(ranked: Sequence[tuple[float, Size]]) -> str:
    more = ["..."] if len(ranked) > SHOWN else []
    return ", ".join([*(str(size) for _, size in ranked[:SHOWN]), *more])
