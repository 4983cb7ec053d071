"""Bytes of samples in tiles: the bytes of a sample for 64 features are in one cache line.

A search that needs few samples of every feature reads one line per sample for 64 features, wherever the samples are. A
tile is read as words of eight bytes, each for a sample and a group of eight features, the first feature in the lowest
byte. Each sample has a column, which may change.
"""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel

GROUP = 8
"""Features in a word."""

GROUPS = 8
"""Words of a sample in a tile."""

TILE = GROUP * GROUPS
"""Features in a tile."""

_BYTES, _PAIRS, _HALVES = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF), np.uint64(0xFFFFFFFF)
_BY_8, _BY_16, _BY_32 = np.uint64(8), np.uint64(16), np.uint64(32)


@kernel
def put_rows(
    rows: NDArray[np.uint64],  # IN (TILE, n_samples / 8) bytes of each feature, as words
    words: NDArray[np.uint64],  # OUT (n_samples, GROUPS)
) -> None:
    """Write a tile. Blocks of eight by eight bytes are transposed: first bytes, then pairs, then halves of words."""
    for s in range(rows.shape[1]):
        for g in range(GROUPS):
            own, out = rows[GROUP * g : GROUP * g + GROUP], words[8 * s : 8 * s + 8]
            for i in range(4):
                a0, a1 = _swapped(own[2 * i, s], own[2 * i + 1, s], _BYTES, _BY_8)
                out[2 * i, g], out[2 * i + 1, g] = a0, a1
            for i in (0, 1, 4, 5):
                out[i, g], out[i + 2, g] = _swapped(out[i, g], out[i + 2, g], _PAIRS, _BY_16)
            for i in range(4):
                out[i, g], out[i + 4, g] = _swapped(out[i, g], out[i + 4, g], _HALVES, _BY_32)


@kernel
def _swapped(one: np.uint64, other: np.uint64, mask: np.uint64, by: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return two words after swapping the high parts of one with the low parts of the other."""
    return (one & mask) | ((other & mask) << by), ((one >> by) & mask) | (other & ~mask)


@kernel
def take_rows(
    tiles: NDArray[np.uint8],  # IN (n_tiles, n_columns, TILE)
    features: NDArray[np.intp],  # IN (n,)
    columns: NDArray[np.uint32],  # IN (n_some,) ascending
    samples: NDArray[np.uint32],  # IN (n_some,) index of each column in a row
    rows: NDArray[np.uint8],  # OUT (n, n_some or more)
) -> None:
    """Write the bytes of some features in some columns."""
    for i in range(len(features)):
        tile, lane, row = tiles[features[i] // TILE], features[i] % TILE, rows[i]
        for k in range(len(columns)):
            row[samples[k]] = tile[columns[k], lane]


@kernel
def swap_columns(
    words: NDArray[np.uint64],  # IN and OUT (n_tiles, n_columns, GROUPS)
    ones: NDArray[np.uint32],  # IN (n,)
    others: NDArray[np.uint32],  # IN (n,)
) -> None:
    """Swap columns."""
    for tile in range(len(words)):
        for k in range(len(ones)):
            for g in range(GROUPS):
                one = words[tile, ones[k], g]
                words[tile, ones[k], g] = words[tile, others[k], g]
                words[tile, others[k], g] = one
