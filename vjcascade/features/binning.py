"""Feature values of training windows in one byte each, for the search, kept from one set of windows to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from vjcascade.buffers import ReusableBuffer, release_pages
from vjcascade.features.bins import Bins, shape_of_tiles
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.features.lbp import lbp_codes
from vjcascade.kernels.haar import bin_edges, bin_tiles
from vjcascade.kernels.tiles import TILE
from vjcascade.parallel import blocks, ordered_map, run_all

N_EDGE_SAMPLES = 256
"""Positives, evenly spaced, that stand for all when bins are laid out."""

EDGE_MARGIN = np.float32(0.25)
"""Bins reach so far beyond the values of these positives, as a share of what lies between."""

TILES_PER_TASK = 32
"""More neighbouring features would hardly share more corners, and each thread holds the bins of a task in memory."""


class BinStore(ABC):
    """The bins of a pool in one set of windows after the other.

    Windows that stay in the next set keep their column, unless that set is larger than any before: only the others
    are computed. What a window's bins are does not depend on what else is in a set.

    Parameters
    ----------
    pool : ndarray of shape (n_features,), dtype `FEATURE_DTYPE` or `LBP_DTYPE`
        Features.
    n_threads : int
        Threads; results do not depend on it.
    space : ReusableBuffer, optional
        Where the bins are kept, if not in memory of their own.
    """

    def __init__(self, pool: NDArray[np.void], n_threads: int, space: ReusableBuffer | None = None) -> None:
        self.pool = pool
        self._n_threads = n_threads
        self._space = space or ReusableBuffer()
        self._last: Bins | None = None

    def bins_of(self, integrals: WindowIntegrals, stayed: NDArray[np.intp] | None = None) -> Bins:
        """Return the bins of some windows; those that were returned before must not be used any more.

        Parameters
        ----------
        integrals : WindowIntegrals
            Of the windows.
        stayed : ndarray of shape (n_stayed,), dtype intp, optional
            What the first windows were in the set before, as indices, all different; the others are new. None stayed
            if not given.

        Returns
        -------
        Bins
            One byte a value: 1.6 GB for 162,336 features of 10,000 windows.
        """
        before, self._last = self._last, None  # what is interrupted is not there
        n_windows = len(integrals)
        if before is None or n_windows > before.tiles.shape[1]:
            before = None  # its memory is given back before more is taken
            tiles = self._space.array(shape_of_tiles(len(self.pool), n_windows), np.uint8)
            columns, n_stayed = np.arange(n_windows, dtype=np.uint32), 0
        else:
            tiles, old = before.tiles, before.columns[[] if stayed is None else stayed]
            n_stayed = len(old)
            free = np.setdiff1d(np.arange(tiles.shape[1], dtype=np.uint32), old)
            columns = np.concatenate([old, free[: n_windows - n_stayed]])
        bins = Bins(len(self.pool), tiles, columns)
        new = integrals if n_stayed == 0 else integrals.take(np.arange(n_stayed, n_windows))
        self._fill(new, bins, columns[n_stayed:])
        self._last = bins
        return bins

    @abstractmethod
    def _fill(self, integrals: WindowIntegrals, bins: Bins, columns: NDArray[np.uint32]) -> None:
        """Write the bins of windows into some columns."""


class HaarBins(BinStore):
    """The values of Haar features, sorted into 256 bins of equal width.

    A feature's bins lie where nearly all positives' values are, and a little beyond: cuts farther out part negatives
    from negatives. (Where a booster gives negatives a weight as positives, as LogitBoost does, such a cut may be worth
    something, and is missed.) Bins only guide the search: thresholds are set on the real values afterwards.

    Parameters
    ----------
    pool : ndarray of shape (n_features,), dtype `FEATURE_DTYPE`
        Features.
    positives : WindowIntegrals
        Of positives: all, or some that stand for all.
    n_threads : int
        Threads; results do not depend on it.
    space : ReusableBuffer, optional
        Where the bins are kept, if not in memory of their own.

    Examples
    --------
    >>> from vjcascade.features.haar import enumerate_haar
    >>> from vjcascade.types import Size
    >>> windows = np.random.default_rng(0).integers(0, 256, (40, 6, 6), np.uint8)
    >>> positives = WindowIntegrals.of(windows[:20])
    >>> bins = HaarBins(enumerate_haar(Size(6, 6)), positives, n_threads=1).bins_of(WindowIntegrals.of(windows))
    >>> len(bins), bins.n_samples
    (669, 40)
    """

    def __init__(
        self,
        pool: NDArray[np.void],
        positives: WindowIntegrals,
        n_threads: int,
        space: ReusableBuffer | None = None,
    ) -> None:
        super().__init__(pool, n_threads, space)
        self._weights = np.ascontiguousarray(pool["weights"])
        self._lowest, self._per_unit = np.empty((2, len(pool)), np.float32)
        few = positives.take(spread_places(len(positives)))
        self._n_corners = len(few.corners)

        def lay_out(some: slice) -> tuple[slice, NDArray[np.uint32], NDArray[np.uint32]]:
            pairs, places = _pairs_of_corners(few.corner_rows(pool[some]), len(few.corners))
            edges = self._lowest[some], self._per_unit[some]
            bin_edges(few.corners, pairs, places, self._weights[some], few.inverse_norms, EDGE_MARGIN, *edges)
            return some, pairs, places

        tasks = blocks(len(pool), TILE * TILES_PER_TASK)
        self._tasks = list(ordered_map(lay_out, tasks, n_threads))

    def _fill(self, integrals: WindowIntegrals, bins: Bins, columns: NDArray[np.uint32]) -> None:
        def fill(task: tuple[slice, NDArray[np.uint32], NDArray[np.uint32]]) -> None:
            some, pairs, places = task
            tiles = slice(some.start // TILE, -(-some.stop // TILE))
            bin_tiles(
                integrals.corners,
                pairs,
                places,
                self._weights[some],
                integrals.inverse_norms,
                self._per_unit[some],
                self._lowest[some] * self._per_unit[some],
                columns,
                bins.words[tiles],
            )
            release_pages(bins.tiles[tiles])

        if integrals.corners.shape[0] != self._n_corners:
            raise ValueError(
                f"windows with {len(integrals.corners)} corners; the positives had {self._n_corners}"
            )
        run_all(fill, self._tasks, self._n_threads)


class LbpBins(BinStore):
    """The codes of LBP features.

    Examples
    --------
    >>> from vjcascade.features.lbp_pool import enumerate_lbp
    >>> from vjcascade.types import Size
    >>> windows = np.diag([9, 5, 1]).astype(np.uint8)[None]
    >>> bins = LbpBins(enumerate_lbp(Size(3, 3)), n_threads=1).bins_of(WindowIntegrals.of(windows))
    >>> bins.rows(np.array([0]))
    array([[128]], dtype=uint8)
    """

    def _fill(self, integrals: WindowIntegrals, bins: Bins, columns: NDArray[np.uint32]) -> None:
        def fill(tile: int) -> None:
            bins.put(tile, lbp_codes(self.pool[TILE * tile : TILE * tile + TILE], integrals), columns)
            release_pages(bins.tiles[tile])

        run_all(fill, range(len(bins.tiles)), self._n_threads)


def spread_places(n: int) -> NDArray[np.intp]:
    """Return the places of those of `n` positives that stand for all.

    Examples
    --------
    >>> spread_places(3).tolist(), spread_places(1000)[-3:].tolist()
    ([0, 1, 2], [991, 995, 999])
    """
    return np.linspace(0, n - 1, min(n, N_EDGE_SAMPLES)).astype(np.intp)


def _pairs_of_corners(
    rows: NDArray[np.uint32], n_corners: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the different pairs of upper and of lower corners of rectangles, and where each rectangle's are."""
    numbered = rows[:, :, 0::2].astype(np.int64) * n_corners + rows[:, :, 1::2]
    different, places = np.unique(numbered, return_inverse=True)
    pairs = np.stack(np.divmod(different, n_corners), axis=1)
    return pairs.astype(np.uint32), places.reshape(numbered.shape).astype(np.uint32)
