"""Training samples of a search: labels, binned feature values of one byte each, and real values."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vjcascade.buffers import ReusableBuffer
from vjcascade.features.binning import BinStore, spread_places
from vjcascade.features.bins import Bins
from vjcascade.features.families import family_of
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.kernels.haar import N_BINS
from vjcascade.learning.weak_splits import SUBSETS, THRESHOLDS, Splits
from vjcascade.parallel import run_all


class SampleValues(Protocol):
    """The interface of samples for a choice among a few features.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), dtype int8
        +1 for positives, -1 for negatives.
    splits : Splits
        How values are split.
    """

    labels: NDArray[np.int8]
    splits: Splits

    def values(self, features: NDArray[np.intp]) -> NDArray[np.generic]:
        """Return the values of some features, shape (n, n_samples)."""


class Samples(SampleValues, Protocol):
    """The interface of samples for a search.

    Attributes
    ----------
    bins : Bins
        Each feature's values in ordered bins; or codes, which have no order.
    """

    bins: Bins


class WindowValues:
    """The values of a pool of features in windows, without bins.

    Parameters
    ----------
    pool : ndarray of shape (n_features,), dtype `FEATURE_DTYPE` or `LBP_DTYPE`
        Features.
    integrals : WindowIntegrals
        Integral images of the windows, the positives first.
    n_positives : int
        Number of positives.
    """

    def __init__(self, pool: NDArray[np.void], integrals: WindowIntegrals, n_positives: int) -> None:
        self.pool = pool
        self.integrals = integrals
        self.n_positives = n_positives
        self.labels = labels_of(n_positives, len(integrals))
        self._family = family_of(pool)
        self.splits: Splits = SUBSETS if self._family.is_categorical else THRESHOLDS

    def values(self, features: NDArray[np.intp]) -> NDArray[np.generic]:
        """Return the values of some features, exactly as the detector computes them, shape (n, n_windows)."""
        return self._family.values(self.pool[features], self.integrals)


class WindowSamples(WindowValues):
    """The binned values of a pool of features in windows.

    Parameters
    ----------
    store : BinStore
        The pool, and the bins of windows.
    integrals : WindowIntegrals
        Integral images of the training windows, the positives first.
    n_positives : int
        Number of positives.
    stayed : ndarray of shape (n_stayed,), dtype intp, optional
        Indices of the first windows in the previous set; see `BinStore.bins_of`.
    """

    def __init__(
        self,
        store: BinStore,
        integrals: WindowIntegrals,
        n_positives: int,
        stayed: NDArray[np.intp] | None = None,
    ) -> None:
        super().__init__(store.pool, integrals, n_positives)
        self.bins = store.bins_of(integrals, stayed)


def samples_of(
    pool: NDArray[np.void],
    integrals: WindowIntegrals,
    n_positives: int,
    n_threads: int,
    space: ReusableBuffer | None = None,
) -> WindowSamples:
    """Return the binned values of a pool of features in windows, with a store of their own.

    Parameters
    ----------
    pool : ndarray of shape (n_features,), dtype `FEATURE_DTYPE` or `LBP_DTYPE`
        Features.
    integrals : WindowIntegrals
        Integral images of the training windows, the positives first.
    n_positives : int
        Number of positives.
    n_threads : int
        Threads that compute the bins; results do not depend on it.
    space : ReusableBuffer, optional
        Buffer for bins or codes; new memory if not given.

    Returns
    -------
    WindowSamples
        Limits of its bins are derived from its own positives.
    """
    store = family_of(pool).bin_store(pool, integrals.take(spread_places(n_positives)), n_threads, space)
    return WindowSamples(store, integrals, n_positives)


def labels_of(n_positives: int, n_samples: int) -> NDArray[np.int8]:
    """Return the labels of samples that begin with the positives, shape (n_samples,).

    Examples
    --------
    >>> labels_of(1, 3)
    array([ 1, -1, -1], dtype=int8)
    """
    return np.where(np.arange(n_samples) < n_positives, 1, -1).astype(np.int8)


class TableSamples:
    """Rows of a table of numbers.

    Each distinct value of a column has its own bin. If there are more than 256 of them, neighbouring values share bins,
    with about equally many distinct values in each; so copies of a row do not change the bins.

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
    >>> TableSamples(np.array([[0.5, 3.0], [0.5, 1.0], [0.7, 2.0]]), n_positives=1, n_threads=1).bins.rows(np.arange(2))
    array([[0, 0, 1],
           [2, 0, 1]], dtype=uint8)
    """

    splits: Splits = THRESHOLDS

    def __init__(self, table: NDArray[np.float64], n_positives: int, n_threads: int) -> None:
        self.labels = labels_of(n_positives, len(table))
        rows = np.empty(table.shape[::-1], np.uint8)
        self._columns = np.ascontiguousarray(table.T)

        def fill(feature: int) -> None:
            distinct, rank = np.unique(self._columns[feature], return_inverse=True)
            rows[feature] = rank * N_BINS // max(len(distinct), N_BINS)

        run_all(fill, range(len(rows)), n_threads)
        self.bins = Bins.of_rows(rows)

    def values(self, features: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the values of some features, shape (n, n_samples)."""
        return self._columns[features]
