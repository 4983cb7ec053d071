"""What a search minimises over a pool of features: bounds of it from histograms, and its exact values from bins."""

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
from vjcascade.learning.weak_splits import Update
from vjcascade.parallel import blocks, ordered_map

GINI_ROUNDING = 2e-6
"""What the rounding of impurities may come to, as a share of all weight: they are computed in float32."""

SLACK = 1e-9
"""Bounds of losses may be so much off by rounding."""

FEATURES_PER_TASK = 32
"""Features whose exact values one task computes."""

Result = TypeVar("Result")


class Interval(NamedTuple):
    """Bounds of each feature's values under the round's weights, from histograms that are a little out of date.

    Attributes
    ----------
    lowest, highest : ndarray of shape (n_values, n_features), dtype float64
        Bounds of the values.
    """

    lowest: Floats
    highest: Floats


class Criterion(ABC):
    """What a search minimises: for each feature, its value is the least over all the ways to split by it.

    `vjcascade.learning.histograms.Histograms` calls `measure` and `interval`, which know what is computed from a
    histogram and how far that can be off; `vjcascade.learning.search.StumpSearch` calls the others.

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
        Numbers that are computed from each feature's histogram.
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
        """Bring histograms of some groups of features up to date, and compute values from them.

        Parameters
        ----------
        update : Update
            What changes.
        histograms : ndarray of shape (n_groups, 4096), dtype int32
            As in `vjcascade.kernels.histogram`; changed in place.
        weight_sums : ndarray of shape (2,), dtype float64
            What all positives weigh, and all negatives, in units.
        unit : ndarray of shape (2,), dtype float64
            What a unit of either is.
        values : ndarray of shape (n_values, n_groups, 8), dtype float64
            Is filled.
        """

    @abstractmethod
    def interval(self, values: Floats, weights: QuantizedWeights) -> Interval:
        """Return between what bounds the values with the round's weights are.

        Parameters
        ----------
        values : ndarray of shape (n_values, n_features), dtype float64
            From histograms.
        weights : QuantizedWeights
            What the histograms stand for, and how far sums of them may be off.

        Returns
        -------
        Interval
            Around the values.
        """

    def lower(self, measured: Interval, threshold: float) -> Floats:  # noqa: ARG002  others need the threshold
        """Return what each feature's value cannot fall below.

        Parameters
        ----------
        measured : Interval
            From histograms.
        threshold : float
            What must be exceeded for a feature to be pruned; bounds need to be close near it only.

        Returns
        -------
        ndarray of shape (n_features,), dtype float64
            Lower bounds.
        """
        lower: Floats = measured.lowest[0]
        return lower

    def likely(self, measured: Interval, n: int) -> NDArray[np.intp]:
        """Return some `n` features, rising, that are likely to be the best."""
        return indices_of_smallest(measured.lowest[0], n)

    @abstractmethod
    def exact(self, features: NDArray[np.intp]) -> Floats:
        """Return the values of some features, over bins, with the round's weights as they are, shape (n,)."""


class _LineCriterion(Criterion):
    """Base of what is computed from the least a errors_p + b errors_n of some lines.

    Such a sum is off by no more than a times what sums of positives' weights are off, plus b times what negatives' are.
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
        """Bring histograms up to date and compute each feature's least values of the lines."""
        self.samples.splits.least_on_lines(update, histograms, weight_sums, self.lines * unit, values)

    def interval(self, values: Floats, weights: QuantizedWeights) -> Interval:
        """Return the values, less and more what the two errors may be off."""
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
        self.ceiling = min(a * round_.positive_weight, b * round_.negative_weight)

    def exact(self, features: NDArray[np.intp]) -> Floats:
        """Return the least errors, from sums of all weights."""
        return np.concatenate(_block_by_block(self._of_block, self.samples, features, self.n_threads))

    def _of_block(self, bins: NDArray[np.uint8]) -> Floats:
        return self.samples.splits.exact_least_error(bins, *self._parts)


class GiniImpurity(Criterion):
    """The Gini impurity of two sides, the sum of their 2 P N / (P + N).

    It rises with either weight of a side, by at most twice as much as the weight does. The constant classifiers have
    the impurity of all samples, which no split exceeds: there is no ceiling.

    Parameters
    ----------
    factors : ndarray of shape (2,), dtype float64
        How much a positive's and a negative's weight count.
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
        """Bring histograms up to date and compute each feature's least impurity."""
        self.samples.splits.least_gini(update, histograms, weight_sums, self.factors * unit, values[0])

    def interval(self, values: Floats, weights: QuantizedWeights) -> Interval:
        """Return the values, less and more what twice the weights of both sides may be off."""
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
    """The loss of a booster itself, over bins.

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

    def best(self, features: NDArray[np.intp]) -> tuple[float, float]:
        """Return the class-wise errors of the split of least loss among those of some features."""
        losses, errors_p, errors_n = self.least_losses(features)
        place = int(np.argmin(losses))
        return errors_p[place], errors_n[place]

    def _of_block(self, bins: NDArray[np.uint8]) -> tuple[NDArray[np.int64], Floats]:
        return self.samples.splits.points(bins, self.round_)


def criterion_of(bounds: LossBounds, losses: BinnedLosses) -> Criterion:
    """Return what a search minimises to find the features of least loss.

    Parameters
    ----------
    bounds : LossBounds
        What a booster asks for.
    losses : BinnedLosses
        Of the same booster and round.

    Returns
    -------
    Criterion
        One for each kind of bounds.
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
    """Return what a function makes of some features' bins, `FEATURES_PER_TASK` at a time, in order."""
    bins = samples.bins
    tasks = blocks(len(features), FEATURES_PER_TASK)
    return list(ordered_map(lambda task: function(bins.rows(features[task])), tasks, n_threads))


def indices_of_smallest(values: Floats, n: int) -> NDArray[np.intp]:
    """Return where the `n` least values are, in rising order of the indices; of equal ones, the first.

    Examples
    --------
    >>> indices_of_smallest(np.array([0.3, 0.1, 0.3, 0.2]), 3)
    array([0, 1, 3])
    """
    within = np.flatnonzero(values <= nth_smallest(values, n))
    best: NDArray[np.intp] = np.sort(within[np.argsort(values[within], kind="stable")][:n])
    return best


def nth_smallest(values: Floats, n: int) -> float:
    """Return the `n`-th of the values in rising order, or the last if they are fewer.

    Examples
    --------
    >>> nth_smallest(np.array([0.3, 0.1, 0.2]), 2)
    0.2
    """
    n = min(n, len(values))
    return float(np.partition(values, n - 1)[n - 1])
