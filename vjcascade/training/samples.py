"""Training samples as a search sees them: labels, features in one byte each, and their real values."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vjcascade.features.binning import bin_features
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.kernels.haar import N_BINS
from vjcascade.parallel import run_all


class Samples(Protocol):
    """What a search needs to know of samples.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), dtype int8
        +1 for positives, -1 for negatives.
    bins : ndarray of shape (n_features, n_samples), dtype uint8
        Each feature's values, sorted into bins that rise with the value.
    """

    labels: NDArray[np.int8]
    bins: NDArray[np.uint8]

    def values(self, features: NDArray[np.intp]) -> NDArray[np.floating]:
        """Return the values of some features, shape (n, n_samples)."""


class HaarSamples:
    """Windows seen through a pool of Haar features.

    Parameters
    ----------
    pool : ndarray of shape (n_features,), dtype `FEATURE_DTYPE`
        Haar features.
    integrals : WindowIntegrals
        Of the training windows, the positives first.
    n_positives : int
        How many of them are positives.
    n_threads : int
        Threads that compute the bins; results do not depend on it.
    """

    def __init__(
        self, pool: NDArray[np.void], integrals: WindowIntegrals, n_positives: int, n_threads: int
    ) -> None:
        self.pool = pool
        self.integrals = integrals
        self.n_positives = n_positives
        self.labels = np.where(np.arange(len(integrals)) < n_positives, 1, -1).astype(np.int8)
        self.bins = bin_features(pool, integrals, n_threads)

    def values(self, features: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the values of some features, exactly as the detector computes them, shape (n, n_windows)."""
        return self.integrals.values(self.pool[features])


class TableSamples:
    """Rows of a table of numbers.

    Each distinct value of a column has its own bin, or, where there are more than 256 of them, shares it with
    its neighbours; each bin then holds about as many distinct values. So copies of a row change no bin.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_features), dtype float64
        Finite; the positives first.
    n_positives : int
        How many of the rows are positives.
    n_threads : int
        Threads that compute the bins; results do not depend on it.

    Examples
    --------
    >>> TableSamples(np.array([[0.5, 3.0], [0.5, 1.0], [0.7, 2.0]]), n_positives=1, n_threads=1).bins
    array([[0, 0, 1],
           [2, 0, 1]], dtype=uint8)
    """

    def __init__(self, table: NDArray[np.float64], n_positives: int, n_threads: int) -> None:
        self.labels = np.where(np.arange(len(table)) < n_positives, 1, -1).astype(np.int8)
        self.bins = np.empty(table.shape[::-1], np.uint8)
        self._columns = np.ascontiguousarray(table.T)

        def fill(feature: int) -> None:
            distinct, rank = np.unique(self._columns[feature], return_inverse=True)
            self.bins[feature] = rank * N_BINS // max(len(distinct), N_BINS)

        run_all(fill, range(len(self.bins)), n_threads)

    def values(self, features: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the values of some features, shape (n, n_samples)."""
        return self._columns[features]
