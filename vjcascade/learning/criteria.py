"""Criteria that a search minimises over a pool of features: bounds from histograms, and exact values from bins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Booster, GiniGuide, LossBounds, Round, TwoErrorBounds
from vjcascade.boosters.state import Floats
from vjcascade.learning.quantized_weights import QuantizedWeights
from vjcascade.learning.samples import Samples
from vjcascade.learning.weak_splits import SignedWeights, Update
from vjcascade.parallel import blocks, ordered_map

GINI_ROUNDING = 2e-6
"""Bound of the rounding errors of impurities, relative to all weight, as they are computed in float32."""

SLACK = 1e-9
"""Bound of the rounding errors of losses."""

FEATURES_PER_TASK = 32
"""Features whose exact values one task computes."""

Result = TypeVar("Result")


class Interval(NamedTuple):
    """Bounds of each feature's values with the round's weights, from slightly outdated histograms.

    Attributes
    ----------
    lowest, highest : ndarray of shape (n_values, n_features), dtype float64
        Bounds of the values.
    """

    lowest: Floats
    highest: Floats


class Criterion(ABC):
    """A criterion that a search minimises: a feature's value is its minimum over all splits of the feature.

    `vjcascade.learning.histograms.Histograms` calls `measure` and `interval`, which compute values from histograms, and
    bounds of their errors; `vjcascade.learning.search.StumpSearch` calls the other methods.

    Parameters
    ----------
    samples : Samples
        Bins, and how they are split.
    round_ : Round
        The round's weights.
    n_threads : int
        Threads that compute exact values; results do not depend on it.

    Attributes
    ----------
    n_values : int
        Number of values computed from each feature's histogram.
    ceiling : float
        The value of the better constant classifier: features that are no better cannot win.
    """

    n_values: int = 1
    ceiling: float = np.inf

    def __init__(self, samples: Samples, round_: Round, n_threads: int = 1) -> None:
        self.samples = samples
        self.round_ = round_
        self.n_threads = n_threads

    @abstractmethod
    def measure(
        self,
        update: Update,
        histograms: NDArray[np.int32],
        weight_sums: Floats,
        unit: Floats,
        values: Floats,
    ) -> None:
        """Update the histograms of some groups of features, and compute values from them.

        Parameters
        ----------
        update : Update
            The changes.
        histograms : ndarray of shape (n_groups, 4096), dtype int32
            As in `vjcascade.kernels.histogram`; changed in place.
        weight_sums : ndarray of shape (2,), dtype float64
            Total weight of the positives and of the negatives, in units.
        unit : ndarray of shape (2,), dtype float64
            Weight of a unit of either.
        values : ndarray of shape (n_values, n_groups, 8), dtype float64
            Output.
        """

    @abstractmethod
    def interval(self, values: Floats, weights: QuantizedWeights) -> Interval:
        """Return bounds of the values with the round's weights.

        Parameters
        ----------
        values : ndarray of shape (n_values, n_features), dtype float64
            From histograms.
        weights : QuantizedWeights
            The weights of the histograms, with bounds of the errors of their sums.

        Returns
        -------
        Interval
            Lower and upper bounds.
        """

    def lower(self, measured: Interval, threshold: float) -> Floats:  # noqa: ARG002  others need the threshold
        """Return a lower bound of each feature's value.

        Parameters
        ----------
        measured : Interval
            From histograms.
        threshold : float
            A feature is pruned if its bound exceeds this, so bounds need only be tight near it.

        Returns
        -------
        ndarray of shape (n_features,), dtype float64
            Lower bounds.
        """
        lower: Floats = measured.lowest[0]
        return lower

    def likely(self, measured: Interval, n: int) -> NDArray[np.intp]:
        """Return `n` features that are likely to be the best, ascending."""
        return indices_of_smallest(measured.lowest[0], n)

    @abstractmethod
    def exact(self, features: NDArray[np.intp]) -> Floats:
        """Return the values of some features, over bins, with the exact weights of the round, shape (n,)."""


class _LineCriterion(Criterion):
    """Base class of criteria computed from the least a errors_p + b errors_n of some lines.

    The error of such a value is at most a times that of sums of positives' weights plus b times that of negatives'.
    """

    def __init__(self, lines: Floats, samples: Samples, round_: Round, n_threads: int = 1) -> None:
        super().__init__(samples, round_, n_threads)
        self.lines = lines
        self.n_values = len(lines)

    def measure(
        self,
        update: Update,
        histograms: NDArray[np.int32],
        weight_sums: Floats,
        unit: Floats,
        values: Floats,
    ) -> None:
        """Update histograms and compute each feature's least values on the lines."""
        self.samples.splits.least_on_lines(update, histograms, weight_sums, self.lines * unit, values)

    def interval(self, values: Floats, weights: QuantizedWeights) -> Interval:
        """Return the values minus and plus the bounds of their errors."""
        return Interval(
            values - (self.lines @ weights.above)[:, None], values + (self.lines @ weights.below)[:, None]
        )


class WeightedError(_LineCriterion):
    """The least a errors_p + b errors_n.

    Parameters
    ----------
    lines : ndarray of shape (1, 2), dtype float64
        a and b.
    samples : Samples
        Bins, and how they are split.
    round_ : Round
        The round's weights.
    n_threads : int
        Threads that compute exact values.
    """

    def __init__(self, lines: Floats, samples: Samples, round_: Round, n_threads: int = 1) -> None:
        super().__init__(lines, samples, round_, n_threads)
        a, b = lines[0]
        self._parts = a * round_.positive_part, b * round_.negative_part
        self.weight_sums = np.array([a * round_.positive_weight, b * round_.negative_weight])
        self.ceiling = float(self.weight_sums.min())

    @property
    def differences(self) -> Floats:
        """Each sample's weight as a positive minus its weight as a negative, shape (n_samples,)."""
        differences: Floats = self._parts[0] - self._parts[1]
        return differences

    def measure_afresh(self, weights: SignedWeights, values: Floats) -> None:
        """Compute the least errors of some groups of features, from histograms that are not kept.

        Parameters
        ----------
        weights : SignedWeights
            The quantized differences.
        values : ndarray of shape (n_groups, 8), dtype float64
            Output.
        """
        self.samples.splits.least_on_signed_line(weights, self.weight_sums, values)

    def exact(self, features: NDArray[np.intp]) -> Floats:
        """Return the least errors, from sums of all weights."""
        return np.concatenate(_block_by_block(self._of_block, self.samples, features, self.n_threads))

    def _of_block(self, bins: NDArray[np.uint8]) -> Floats:
        return self.samples.splits.exact_least_error(bins, *self._parts)


class GiniImpurity(Criterion):
    """The Gini impurity of a split, the sum of 2 P N / (P + N) over its two sides.

    It increases with either weight of a side, by at most twice as much as the weight. The constant classifiers have the
    impurity of all samples, which no split exceeds: there is no ceiling.

    Parameters
    ----------
    factors : ndarray of shape (2,), dtype float64
        Factors of the weights of positives and of negatives.
    samples : Samples
        Bins, and how they are split.
    round_ : Round
        The round's weights.
    n_threads : int
        Threads that compute exact values.
    """

    def __init__(self, factors: Floats, samples: Samples, round_: Round, n_threads: int = 1) -> None:
        super().__init__(samples, round_, n_threads)
        self.factors = factors
        self._parts = factors[0] * round_.positive_part, factors[1] * round_.negative_part

    def measure(
        self,
        update: Update,
        histograms: NDArray[np.int32],
        weight_sums: Floats,
        unit: Floats,
        values: Floats,
    ) -> None:
        """Update histograms and compute each feature's least impurity."""
        self.samples.splits.least_gini(update, histograms, weight_sums, self.factors * unit, values[0])

    def interval(self, values: Floats, weights: QuantizedWeights) -> Interval:
        """Return the values minus and plus twice the bounds of the weights' errors, and rounding."""
        round_ = self.round_
        rounding = GINI_ROUNDING * float(self.factors @ [round_.positive_weight, round_.negative_weight])
        lowest = values - 2 * self.factors @ weights.above - rounding
        return Interval(lowest, values + 2 * self.factors @ weights.below + rounding)

    def exact(self, features: NDArray[np.intp]) -> Floats:
        """Return the least impurities, from sums of all weights."""
        return np.concatenate(_block_by_block(self._of_block, self.samples, features, self.n_threads))

    def _of_block(self, bins: NDArray[np.uint8]) -> Floats:
        return self.samples.splits.exact_least_gini(bins, *self._parts)


class TwoErrorLoss(_LineCriterion):
    """A booster's concave loss of the two errors.

    Parameters
    ----------
    bounds : TwoErrorBounds
        The booster's, from the values of four lines.
    losses : BinnedLosses
        Of the same booster and round.
    """

    def __init__(self, bounds: TwoErrorBounds, losses: BinnedLosses) -> None:
        round_, booster = losses.round_, losses.booster
        super().__init__(bounds.lines, losses.samples, round_, losses.n_threads)
        self._bounds = bounds
        self._losses = losses
        constants = np.array([0.0, round_.positive_weight]), np.array([round_.negative_weight, 0.0])
        self.ceiling = float(booster.loss(*constants, round_).min())

    def lower(self, measured: Interval, threshold: float) -> Floats:
        """Return the booster's lower bounds of its loss."""
        return self._bounds.lower(measured.lowest, threshold) - SLACK

    def likely(self, measured: Interval, n: int) -> NDArray[np.intp]:
        """Return the features of least upper bound, and those that are low on all four lines: `n` of both kinds."""
        least_upper = indices_of_smallest(self._bounds.upper(measured.highest), n)
        return np.union1d(least_upper, indices_of_smallest(measured.lowest.sum(axis=0), n))

    def exact(self, features: NDArray[np.intp]) -> Floats:
        """Return the least losses over bins."""
        return self._losses.least_losses(features)[0]


class BinnedLosses:
    """The exact loss of a booster, over bins.

    A concave loss is least at a vertex of the lower left hull of a feature's points (errors_p, errors_n), so it is
    computed there only.

    Parameters
    ----------
    samples : Samples
        Bins, and how they are split.
    round_ : Round
        The round's weights.
    booster : Booster
        Judges splits.
    n_threads : int
        Threads; results do not depend on it.
    """

    def __init__(self, samples: Samples, round_: Round, booster: Booster, n_threads: int = 1) -> None:
        self.samples = samples
        self.round_ = round_
        self.booster = booster
        self.n_threads = n_threads

    def least_losses(self, features: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        """Return each feature's least loss over its bins, and the class-wise errors there.

        Parameters
        ----------
        features : ndarray of shape (n,), dtype intp
            Their numbers.

        Returns
        -------
        losses, errors_p, errors_n : ndarray of shape (n,), dtype float64
            Of each feature's best split.
        """
        points = _block_by_block(self._of_block, self.samples, features, self.n_threads)
        counts = np.concatenate([some for some, _ in points])
        errors_p, errors_n = np.concatenate([errors for _, errors in points], axis=1)
        losses = self.booster.loss(errors_p, errors_n, self.round_)
        starts = np.cumsum(counts) - counts
        lowest = np.minimum.reduceat(losses, starts)
        owner = np.repeat(np.arange(len(features)), counts)
        hits = np.flatnonzero(losses == lowest[owner])
        first = hits[np.searchsorted(owner[hits], np.arange(len(features)))]
        return lowest, errors_p[first], errors_n[first]

    def _of_block(self, bins: NDArray[np.uint8]) -> tuple[NDArray[np.int64], Floats]:
        return self.samples.splits.points(bins, self.round_)


def criterion_of(bounds: LossBounds, losses: BinnedLosses) -> Criterion:
    """Return the criterion that a search minimises to find the features of least loss.

    Parameters
    ----------
    bounds : LossBounds
        The booster's bounds.
    losses : BinnedLosses
        Of the same booster and round.

    Returns
    -------
    Criterion
        Of the class for this type of bounds.
    """
    if isinstance(bounds, TwoErrorBounds):
        return TwoErrorLoss(bounds, losses)
    given = losses.samples, losses.round_, losses.n_threads
    if isinstance(bounds, GiniGuide):
        return GiniImpurity(bounds.lines[0], *given)
    return WeightedError(bounds.lines, *given)


def _block_by_block(
    function: Callable[[NDArray[np.uint8]], Result],
    samples: Samples,
    features: NDArray[np.intp],
    n_threads: int,
) -> list[Result]:
    """Apply a function to the bins of features, `FEATURES_PER_TASK` at a time; return the results in order."""
    bins = samples.bins
    tasks = blocks(len(features), FEATURES_PER_TASK)
    return list(ordered_map(lambda task: function(bins.rows(features[task])), tasks, n_threads))


def indices_of_smallest(values: Floats, n: int) -> NDArray[np.intp]:
    """Return the indices of the `n` smallest values, ascending; of equal values, the first ones.

    Examples
    --------
    >>> indices_of_smallest(np.array([0.3, 0.1, 0.3, 0.2]), 3)
    array([0, 1, 3])
    """
    within = np.flatnonzero(values <= nth_smallest(values, n))
    best: NDArray[np.intp] = np.sort(within[np.argsort(values[within], kind="stable")][:n])
    return best


def nth_smallest(values: Floats, n: int) -> float:
    """Return the `n`-th smallest value, or the largest if there are fewer.

    Examples
    --------
    >>> nth_smallest(np.array([0.3, 0.1, 0.2]), 2)
    0.2
    """
    n = min(n, len(values))
    return float(np.partition(values, n - 1)[n - 1])
