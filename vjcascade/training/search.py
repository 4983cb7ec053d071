"""The search for a round's stump: over bins for the whole pool, then exactly for the few best features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Round
from vjcascade.features.binning import bin_features
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.kernels.stump import least_errors
from vjcascade.parallel import blocks, run_all

N_EXACT = 8
"""Features with the least binned errors whose thresholds are then set on the real values."""

FEATURES_PER_TASK = 4096


@dataclass(frozen=True)
class Stump:
    """A weak classifier that a search proposes.

    Attributes
    ----------
    feature : int
        Index in the pool.
    threshold : float32
        A window goes left if its value is below it.
    sides : tuple of int
        Outputs in {-1, +1} on the left and on the right; equal for a constant classifier.
    error_p, error_n : float
        Weight of the positives called negative, and of the negatives called positive.
    """

    feature: int
    threshold: np.float32
    sides: tuple[int, int]
    error_p: float
    error_n: float

    def outputs(self, values: NDArray[np.float32]) -> NDArray[np.int8]:
        """Return -1 or +1 for each value of the stump's feature."""
        left, right = np.array(self.sides, np.int8)
        outputs: NDArray[np.int8] = np.where(values < self.threshold, left, right)
        return outputs


class StumpSearch:
    """The search for the best stumps over a pool of features, on one set of training windows.

    Features whose binned error is not among the `N_EXACT` least are not measured exactly.

    Parameters
    ----------
    pool : ndarray of shape (n_features,), dtype `FEATURE_DTYPE`
        Haar features.
    integrals : WindowIntegrals
        Of the training windows, the positives first.
    n_positives : int
        How many of them are positives.
    n_threads : int
        Threads; results do not depend on it.
    """

    def __init__(
        self, pool: NDArray[np.void], integrals: WindowIntegrals, n_positives: int, n_threads: int
    ) -> None:
        self.pool = pool
        self.integrals = integrals
        self.labels = np.where(np.arange(len(integrals)) < n_positives, 1, -1).astype(np.int8)
        self._n_positives = n_positives
        self._n_threads = n_threads
        self._bins = bin_features(pool, integrals, n_threads)

    def candidates(self, now: Round) -> list[Stump]:
        """Return the best stumps of a round, in the order of their features, then the two constant ones.

        Each of the `N_EXACT` features with the least binned errors comes with the threshold and polarity that
        are best on its real values.
        """
        features = self._best_features(now.weights)
        stumps: list[Stump] = []
        for feature, values in zip(features, self.integrals.values(self.pool[features]), strict=True):
            stumps.extend(self._best_stump(int(feature), values, now))
        constant = Stump(0, np.float32(0), (1, 1), 0.0, now.negative_mass)
        return [*stumps, constant, Stump(0, np.float32(0), (-1, -1), now.positive_mass, 0.0)]

    def outputs(self, stump: Stump) -> NDArray[np.int8]:
        """Return -1 or +1 for each training window."""
        return stump.outputs(self.values(stump))

    def values(self, stump: Stump) -> NDArray[np.float32]:
        """Return the stump's feature values on the training windows."""
        values: NDArray[np.float32] = self.integrals.values(self.pool[[stump.feature]])[0]
        return values

    def _best_features(self, weights: NDArray[np.float64]) -> NDArray[np.intp]:
        errors = np.empty(len(self.pool))

        def measure(part: slice) -> None:
            least_errors(self._bins[part], weights, self._n_positives, errors[part])

        run_all(measure, blocks(len(self.pool), FEATURES_PER_TASK), self._n_threads)
        bar = np.partition(errors, min(N_EXACT, len(errors)) - 1)[min(N_EXACT, len(errors)) - 1]
        within = np.flatnonzero(errors <= bar)
        best: NDArray[np.intp] = np.sort(within[np.argsort(errors[within], kind="stable")][:N_EXACT])
        return best

    def _best_stump(self, feature: int, values: NDArray[np.float32], now: Round) -> Iterator[Stump]:
        """Yield the feature's best stump over all cuts between its real values; none if they are all equal."""
        order = np.argsort(values, kind="stable")
        ranked, positive = values[order], order < self._n_positives
        cuts = np.flatnonzero(ranked[:-1] < ranked[1:])
        if len(cuts) == 0:
            return
        left_p = np.cumsum(np.where(positive, now.weights[order], 0.0))[cuts]
        left_n = np.cumsum(np.where(positive, 0.0, now.weights[order]))[cuts]
        right_is_positive = left_p + (now.negative_mass - left_n)
        left_is_positive = (now.positive_mass - left_p) + left_n
        best = int(np.argmin(np.minimum(right_is_positive, left_is_positive)))
        rising = right_is_positive[best] <= left_is_positive[best]
        threshold = _between(ranked[cuts[best]], ranked[cuts[best] + 1])
        sides = (-1, 1) if rising else (1, -1)
        wrong = now.weights * (np.where(values < threshold, *sides) != self.labels)
        n = self._n_positives
        yield Stump(feature, threshold, sides, float(wrong[:n].sum()), float(wrong[n:].sum()))


def _between(low: np.float32, high: np.float32) -> np.float32:
    """Return a threshold with `low < threshold <= high`, halfway if float32 has one there."""
    middle = np.float32((np.float64(low) + np.float64(high)) / 2)
    return middle if middle > low else high
