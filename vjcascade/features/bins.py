"""Features of samples in one byte each."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.buffers import allocate, release_pages
from vjcascade.kernels.tiles import GROUPS, TILE, put_rows, swap_columns, take_rows
from vjcascade.parallel import blocks, run_all

TILES_PER_TASK = 32
"""Columns of so many tiles change places in one task."""


def shape_of_tiles(n_features: int, n_columns: int) -> tuple[int, int, int]:
    """Return the shape of the tiles of so many features.

    Examples
    --------
    >>> shape_of_tiles(65, 10)
    (2, 10, 64)
    """
    return -(-n_features // TILE), n_columns, TILE


class Bins:
    """Each feature's values on all samples, sorted into bins or as codes.

    Samples are stored in columns, in any order; those that are asked for often may be put first.

    Parameters
    ----------
    n_features : int
        How many.
    tiles : ndarray of shape (n_tiles, n_columns, 64), dtype uint8
        Of 64 features each, column by column; see `vjcascade.kernels.tiles`. Features of the last tile that are too
        many say nothing, nor do columns without a sample.
    columns : ndarray of shape (n_samples,), dtype uint32
        The column of each sample.

    Examples
    --------
    >>> bins = Bins.of_rows(np.array([[7, 8, 9], [1, 2, 3]], np.uint8))
    >>> len(bins), bins.n_samples, bins.rows(np.array([1])).tolist()
    (2, 3, [[1, 2, 3]])
    """

    def __init__(self, n_features: int, tiles: NDArray[np.uint8], columns: NDArray[np.uint32]) -> None:
        self._n_features = n_features
        self.tiles = tiles
        self.columns = columns
        self._all_ascending: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None = None

    @classmethod
    def of_rows(cls, rows: NDArray[np.uint8]) -> Self:
        """Return bins with these rows, shape (n_features, n_samples)."""
        n_features, n_samples = rows.shape
        tiles = allocate(shape_of_tiles(n_features, n_samples), np.uint8, None)
        bins = cls(n_features, tiles, np.arange(n_samples, dtype=np.uint32))
        for tile in range(len(tiles)):
            bins.put(tile, rows[TILE * tile : TILE * tile + TILE], slice(n_samples))
        return bins

    def __len__(self) -> int:
        return self._n_features

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return len(self.columns)

    @property
    def words(self) -> NDArray[np.uint64]:
        """The tiles as words, shape (n_tiles, n_columns, 8)."""
        return self.tiles.view(np.uint64)

    def put(self, tile: int, rows: NDArray[np.uint8], columns: slice | NDArray[np.uint32]) -> None:
        """Write some columns of a tile.

        Parameters
        ----------
        tile : int
            Which tile.
        rows : ndarray of shape (n_features, n), dtype uint8
            Of the tile's features.
        columns : slice or ndarray of shape (n,), dtype uint32
            Which columns.
        """
        n_samples = rows.shape[1]
        padded = np.zeros((TILE, -(-n_samples // 8) * 8), np.uint8)
        padded[: len(rows), :n_samples] = rows
        turned = np.empty((padded.shape[1], GROUPS), np.uint64)
        put_rows(padded.view(np.uint64), turned)
        self.words[tile, columns] = turned[:n_samples]

    def rows(self, features: NDArray[np.intp], samples: NDArray[np.intp] | None = None) -> NDArray[np.uint8]:
        """Return what some features are in some samples, or in all, shape (n_features, n_samples)."""
        if samples is not None:
            columns, places = _ascending(self.columns[samples])
        else:
            columns, places = self._all_ascending = self._all_ascending or _ascending(self.columns)
        rows = np.empty((len(features), len(columns)), np.uint8)
        take_rows(self.tiles, features, columns, places, rows)
        for tile in np.unique(features // TILE):
            release_pages(self.tiles[tile])
        return rows

    def swap(self, samples: NDArray[np.intp], others: NDArray[np.intp], n_threads: int) -> None:
        """Let samples change their columns with others.

        Parameters
        ----------
        samples, others : ndarray of shape (n,), dtype intp
            All different.
        n_threads : int
            Threads; the result does not depend on it.
        """
        columns, other_columns = self.columns[samples], self.columns[others]

        def work(task: slice) -> None:
            swap_columns(self.words[task], columns, other_columns)
            release_pages(self.tiles[task])

        run_all(work, blocks(len(self.tiles), TILES_PER_TASK), n_threads)
        self.columns[samples], self.columns[others] = other_columns, columns
        self._all_ascending = None


def _ascending(columns: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return columns in ascending order, and their places before."""
    places = np.argsort(columns).astype(np.uint32)
    return columns[places], places
