"""What crops are compared by: edges by place and direction, and coarse grey levels; and small pictures to find copies.

OpenCV 5 has no histograms of oriented gradients any more, and those of scikit-image do not tell dark to light from
light to dark, by which many an object is known to be upside down. So they are made here, for whole stacks at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.types import Size

Stack = NDArray[np.uint8]
"""Windows of one size, shape (n, height, width)."""

Rows = NDArray[np.float32]
"""A row of numbers for each window."""

AREA = 2048
"""Pixels of a window as it is described, about."""

CELL = 8
"""Pixels to a side of a cell, of which there is one histogram."""

N_DIRECTIONS = 12
"""In which edges are sorted; from dark to light is another one than from light to dark."""

LEAST_EDGE = 2.0
"""Grey levels: edges in a cell that are weaker in the mean count less and less."""

MOST = 0.5
"""A value of a histogram at most: a single strong edge must not outweigh all else."""

GREY_WEIGHT = 2.0
"""Of the coarse grey levels, whose sum of squares is 1, beside the edges."""

SIGNATURE_AREA = 384
"""Pixels of a signature, about."""

CHUNK = 256
"""Windows that are described at a time: it bounds the memory."""


class Region(NamedTuple):
    """A part of a window, in shares of its sides: what is beyond its border repeats the pixels there.

    Attributes
    ----------
    x, y : float
        Of the part's centre; 0.5 is that of the window.
    share : float
        Of the window's sides.
    """

    x: float = 0.5
    y: float = 0.5
    share: float = 1.0


WHOLE = Region()


def describe(windows: Stack, region: Region = WHOLE) -> Rows:
    """Describe windows by edges and coarse grey levels, whatever their brightness.

    Parameters
    ----------
    windows : ndarray of shape (n, height, width), dtype uint8
        Any size.
    region : Region
        The part that is described.

    Returns
    -------
    ndarray of shape (n, d), dtype float32
        `d` depends on the shape of the windows alone.

    Examples
    --------
    >>> ramp = np.tile(np.arange(0, 240, 10, np.uint8), (2, 24, 1))
    >>> ramp[1] //= 2  # half the contrast
    >>> one, other = describe(ramp)
    >>> one.shape, bool(np.abs(one - other).max() < 0.1)
    ((576,), True)
    """
    size = _described_size(windows)
    rows = _interpolation(windows.shape[1], size.height, region.y, region.share)
    columns = _interpolation(windows.shape[2], size.width, region.x, region.share)
    parts = [
        _describe(rows @ windows[start : start + CHUNK].astype(np.float32) @ columns.T)
        for start in range(0, len(windows), CHUNK)
    ]
    return np.concatenate(parts)


def signatures(windows: Stack) -> Rows:
    """Return small pictures, of mean 0 and length 1, to find copies by: their products are correlations.

    Parameters
    ----------
    windows : ndarray of shape (n, height, width), dtype uint8
        All of one size; flat ones have signatures of length 0.

    Returns
    -------
    ndarray of shape (n, d), dtype float32
        `d` is about `SIGNATURE_AREA`.

    Examples
    --------
    >>> noise = np.random.default_rng(1).integers(0, 200, (1, 24, 24)).astype(np.uint8)
    >>> one, brighter, turned = signatures(np.concatenate([noise, noise + 50, noise[:, ::-1]]))
    >>> round(float(one @ brighter), 3), bool(one @ turned < 0.5)
    (1.0, True)
    """
    ratio = windows.shape[2] / windows.shape[1]
    height = max(round(math.sqrt(SIGNATURE_AREA / ratio)), 2)
    width = max(round(math.sqrt(SIGNATURE_AREA * ratio)), 2)
    rows, columns = _averages(windows.shape[1], height), _averages(windows.shape[2], width)
    parts = [
        (rows @ windows[start : start + CHUNK].astype(np.float32) @ columns.T).reshape(-1, height * width)
        for start in range(0, len(windows), CHUNK)
    ]
    small = np.concatenate(parts)
    small -= small.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(small, axis=1, keepdims=True)
    flat = lengths < math.sqrt(height * width)  # a standard deviation of one grey level
    return np.where(flat, 0, small / np.where(flat, 1, lengths)).astype(np.float32)


def _described_size(windows: Stack) -> Size:
    ratio = windows.shape[2] / windows.shape[1]
    return Size(
        CELL * max(round(math.sqrt(AREA * ratio) / CELL), 2),
        CELL * max(round(math.sqrt(AREA / ratio) / CELL), 2),
    )


def _interpolation(n_from: int, n_to: int, centre: float, share: float) -> Rows:
    """Return the matrix, shape (n_to, n_from), that samples a part of a line linearly."""
    places = (centre + share * ((np.arange(n_to) + 0.5) / n_to - 0.5)) * n_from - 0.5
    places = places.clip(0, n_from - 1)
    weights: Rows = np.maximum(1 - np.abs(places[:, None] - np.arange(n_from)), 0).astype(np.float32)
    return weights


def _averages(n_from: int, n_to: int) -> Rows:
    """Return the matrix, shape (n_to, n_from), that takes averages over equal parts of a line."""
    ends = np.arange(n_to + 1) * (n_from / n_to)
    pixels = np.arange(n_from)
    overlap = np.minimum(ends[1:, None], pixels + 1) - np.maximum(ends[:-1, None], pixels)
    weights: Rows = (overlap.clip(min=0) * (n_to / n_from)).astype(np.float32)
    return weights


def _describe(stack: Rows) -> Rows:
    """Describe windows of the size `_described_size`, shape (n, h, w)."""
    n, height, width = stack.shape
    coarse = stack.reshape(n, height // 4, 4, width // 4, 4).mean(axis=(2, 4)).reshape(n, -1)
    coarse -= coarse.mean(axis=1, keepdims=True)
    coarse *= GREY_WEIGHT / (np.linalg.norm(coarse, axis=1, keepdims=True) + 1e-3)
    return np.concatenate([_edges(stack).reshape(n, -1), coarse], axis=1)


def _edges(stack: Rows) -> Rows:
    """Return a histogram of directions for each cell, shape (n, rows, columns, directions)."""
    n, height, width = stack.shape
    across, down = np.zeros_like(stack), np.zeros_like(stack)
    across[:, :, 1:-1] = stack[:, :, 2:] - stack[:, :, :-2]
    down[:, 1:-1] = stack[:, 2:] - stack[:, :-2]
    strength = np.hypot(across, down)
    direction = np.arctan2(down, across) * np.float32(N_DIRECTIONS / (2 * np.pi)) % N_DIRECTIONS
    first = direction.astype(np.intp)
    beyond = strength * (direction - first)
    n_rows, n_columns = height // CELL, width // CELL
    cell = np.arange(height)[:, None] // CELL * n_columns + np.arange(width) // CELL
    cell = (cell + n_rows * n_columns * np.arange(n)[:, None, None]) * N_DIRECTIONS
    shares = ((first, strength - beyond), (first + 1, beyond))
    sums = sum(
        np.bincount(
            (cell + which % N_DIRECTIONS).ravel(), share.ravel(), n * n_rows * n_columns * N_DIRECTIONS
        )
        for which, share in shares
    )
    cells = np.asarray(sums, np.float32).reshape(n, n_rows, n_columns, N_DIRECTIONS)
    energy = np.pad((cells**2).sum(axis=-1), ((0, 0), (1, 1), (1, 1)), mode="edge")
    around = sum(energy[:, i : i + n_rows, j : j + n_columns] for i in range(3) for j in range(3)) / 9
    cells /= np.sqrt(around + (CELL * CELL * LEAST_EDGE) ** 2)[..., None]
    return np.minimum(cells, MOST)
