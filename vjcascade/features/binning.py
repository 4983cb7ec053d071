"""Feature values of training samples in one byte each, for the search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vjcascade.features.integrals import SAMPLES_PER_BLOCK, WindowIntegrals
from vjcascade.kernels.haar import bin_edges, bin_values
from vjcascade.parallel import blocks, run_all
from vjcascade.scratch import let_go, scratch_array

N_EDGE_SAMPLES = 256
"""Samples, evenly spaced, that stand for all when bins are laid out."""

FEATURES_PER_TASK = 2048


def bin_features(
    features: NDArray[np.void], integrals: WindowIntegrals, n_threads: int, folder: Path | None = None
) -> NDArray[np.uint8]:
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
    folder : Path, optional
        Where the bins are kept if not in memory; see `vjcascade.scratch.scratch_array`.

    Returns
    -------
    bins : ndarray of shape (n_features, n_windows), dtype uint8
        One byte a value: 1.6 GB for 162,336 features of 10,000 windows.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.features.haar import enumerate_features
    >>> from vjcascade.types import Size
    >>> windows = np.random.default_rng(0).integers(0, 256, (40, 6, 6), np.uint8)
    >>> bin_features(enumerate_features(Size(6, 6)), WindowIntegrals.of(windows), n_threads=1).shape
    (669, 40)
    """
    n_windows = len(integrals)
    places = np.linspace(0, n_windows - 1, min(n_windows, N_EDGE_SAMPLES)).astype(np.intp)
    few = integrals.take(places)
    rows, weights = integrals.corner_rows(features), np.ascontiguousarray(features["weights"])
    bins = scratch_array((len(features), n_windows), np.uint8, folder)

    def fill(part: slice) -> None:
        lowest, per_unit = np.empty((2, part.stop - part.start), np.float32)
        bin_edges(few.corners, rows[part], weights[part], few.inverse_norms, lowest, per_unit)
        bin_values(
            integrals.corners,
            rows[part],
            weights[part],
            integrals.inverse_norms,
            lowest,
            per_unit,
            SAMPLES_PER_BLOCK,
            bins[part],
        )
        let_go(bins[part])

    run_all(fill, blocks(len(features), FEATURES_PER_TASK), n_threads)
    return bins
