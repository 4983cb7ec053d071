"""Feature values of training samples in one byte each, for the search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.features.bins import Bins
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.kernels.haar import bin_edges, bin_tiles
from vjcascade.kernels.tiles import TILE
from vjcascade.parallel import blocks, run_all
from vjcascade.scratch import Space, let_go

N_EDGE_SAMPLES = 256
"""Samples, evenly spaced, that stand for all when bins are laid out."""

TILES_PER_TASK = 64
"""Neighbouring features share many corners, up to about as many."""


def bin_features(
    features: NDArray[np.void], integrals: WindowIntegrals, n_threads: int, space: Space | None = None
) -> Bins:
    """Compute all features of all windows and sort each feature's values into 256 bins of equal width.

    The bins of a feature lie between its second smallest and second largest value of `N_EDGE_SAMPLES` windows.
    They only guide the search: thresholds are set on the real values afterwards.

    Parameters
    ----------
    features : ndarray of shape (n_features,), dtype `FEATURE_DTYPE`
        The pool.
    integrals : WindowIntegrals
        Of the training windows.
    n_threads : int
        Threads; the result does not depend on it.
    space : Space, optional
        Where the bins are kept, if not in memory of their own.

    Returns
    -------
    Bins
        One byte a value: 1.6 GB for 162,336 features of 10,000 windows.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.features.haar import enumerate_features
    >>> from vjcascade.types import Size
    >>> windows = np.random.default_rng(0).integers(0, 256, (40, 6, 6), np.uint8)
    >>> len(bin_features(enumerate_features(Size(6, 6)), WindowIntegrals.of(windows), n_threads=1))
    669
    """
    n_windows = len(integrals)
    spread = np.linspace(0, n_windows - 1, min(n_windows, N_EDGE_SAMPLES)).astype(np.intp)
    few = integrals.take(spread)
    bins = Bins(len(features), n_windows, space)

    def fill(tiles: slice) -> None:
        some = features[TILE * tiles.start : TILE * tiles.stop]
        weights = np.ascontiguousarray(some["weights"])
        pairs, places = _pairs_of_corners(integrals.corner_rows(some), len(integrals.corners))
        lowest, per_unit = np.empty((2, len(some)), np.float32)
        bin_edges(few.corners, pairs, places, weights, few.inverse_norms, lowest, per_unit)
        bin_tiles(
            integrals.corners,
            pairs,
            places,
            weights,
            integrals.inverse_norms,
            per_unit,
            lowest * per_unit,
            bins.words[tiles],
        )
        let_go(bins.tiles[tiles])

    run_all(fill, blocks(len(bins.tiles), TILES_PER_TASK), n_threads)
    return bins


def _pairs_of_corners(
    rows: NDArray[np.uint32], n_corners: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the different pairs of upper and of lower corners of rectangles, and where each rectangle's are."""
    numbered = rows[:, :, 0::2].astype(np.int64) * n_corners + rows[:, :, 1::2]
    different, places = np.unique(numbered, return_inverse=True)
    pairs = np.stack(np.divmod(different, n_corners), axis=1)
    return pairs.astype(np.uint32), places.reshape(numbered.shape).astype(np.uint32)
