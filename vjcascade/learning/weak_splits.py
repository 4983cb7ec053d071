"""Splits of a feature's values: by a threshold, or by a subset of codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Booster, Round
from vjcascade.boosters.base import TIE_TOLERANCE
from vjcascade.boosters.state import Floats
from vjcascade.kernels import histogram, stump, subset
from vjcascade.kernels.haar import N_BINS

NO_CODES = (0,) * 8
"""The empty subset."""

NEAR_LEAST = 1e-9
"""Share of all weight by which the sum of a cut's errors may exceed the least one, for a linear loss to be computed:
more than is lost by rounding. It must not be less than what counts as equal, `TIE_TOLERANCE`, either."""


class Update(NamedTuple):
    """Changes of histograms.

    Attributes
    ----------
    words : ndarray of shape (n_tiles, n_columns, 8), dtype uint64
        Bins, as in `vjcascade.kernels.tiles`.
    columns, parts : ndarray of shape (n,), dtype uint32
        The columns of the samples whose weights change, and the part of the histogram.
    changes : ndarray of shape (n,), dtype int32
        Changes in units.
    shift : int
        Bits by which histograms are shifted right first.
    """

    words: NDArray[np.uint64]
    columns: NDArray[np.uint32]
    parts: NDArray[np.uint32]
    changes: NDArray[np.int32]
    shift: int


class SignedWeights(NamedTuple):
    """Weights of samples as positives minus their weights as negatives, for histograms that are not kept.

    Attributes
    ----------
    words : ndarray of shape (n_tiles, n_columns, 8), dtype uint64
        Bins, as in `vjcascade.kernels.tiles`.
    columns : ndarray of shape (n,), dtype uint32
        The columns of the samples.
    units : ndarray of shape (n,), dtype int32
        Their weights, in units.
    unit : float
        Weight of a unit.
    """

    words: NDArray[np.uint64]
    columns: NDArray[np.uint32]
    units: NDArray[np.int32]
    unit: float


@dataclass(frozen=True)
class Stump:
    """A weak classifier that a search proposes.

    Attributes
    ----------
    feature : int
        Index in the pool.
    threshold : float32 or float64
        A sample goes left if its value is below it; unused if there is a subset.
    sides : tuple of int
        Outputs in {-1, +1} on the left and on the right; equal for a constant classifier.
    error_p, error_n : float
        Weight of the positives called negative, and of the negatives called positive.
    subset : tuple of int
        For a feature with codes, eight words of 32 bits: a sample goes left if bit ``code & 31`` of word
        ``code >> 5`` is set. Empty if the split is by a threshold.
    """

    feature: int
    threshold: np.floating
    sides: tuple[int, int]
    error_p: float
    error_n: float
    subset: tuple[int, ...] = ()

    def goes_left(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which samples go left, by their values of the feature.

        Examples
        --------
        >>> Stump(0, np.float32(0.5), (-1, 1), 0.0, 0.0).goes_left(np.array([0.4, 0.5])).tolist()
        [True, False]
        >>> by_code = Stump(0, np.float32(0), (-1, 1), 0.0, 0.0, (0b101, 0, 0, 0, 0, 0, 0, 1 << 31))
        >>> by_code.goes_left(np.array([0, 1, 2, 255], np.uint8)).tolist()
        [True, False, True, True]
        """
        left: NDArray[np.bool_]
        if self.subset:
            words = np.array(self.subset, "<u4").view(np.uint8)
            left = np.unpackbits(words, bitorder="little").astype(np.bool_)[values.astype(np.intp)]
        else:
            left = values < self.threshold
        return left


class Splits(ABC):
    """The operations of a search that differ between ordered values and codes."""

    _fill_points: Callable[[NDArray[np.uint8], Floats, Floats, NDArray[np.int64], Floats], int]
    """The kernel that `points` calls."""

    @abstractmethod
    def least_on_lines(
        self, update: Update, histograms: NDArray[np.int32], weight_sums: Floats, lines: Floats, least: Floats
    ) -> None:
        """Update histograms, and find each feature's least values on some lines.

        Parameters
        ----------
        update : Update
            The changes.
        histograms : ndarray of shape (n_groups, 4096), dtype int32
            As in `vjcascade.kernels.histogram`.
        weight_sums : ndarray of shape (2,), dtype float64
            Total weight of the positives and of the negatives, in units.
        lines : ndarray of shape (n_lines, 2), dtype float64
            Coefficients of errors on positives and on negatives, per unit.
        least : ndarray of shape (n_lines, n_groups, 8), dtype float64
            Output.
        """

    @abstractmethod
    def least_on_signed_line(self, weights: SignedWeights, weight_sums: Floats, least: Floats) -> None:
        """Find each feature's least weighted error, without keeping its histogram.

        Parameters
        ----------
        weights : SignedWeights
            Of positives, minus those of negatives.
        weight_sums : ndarray of shape (2,), dtype float64
            Total weight of the positives and of the negatives.
        least : ndarray of shape (n_groups, 8), dtype float64
            Output.
        """

    @abstractmethod
    def least_gini(
        self,
        update: Update,
        histograms: NDArray[np.int32],
        weight_sums: Floats,
        factors: Floats,
        losses: Floats,
    ) -> None:
        """Update histograms, and find each feature's least Gini impurity.

        Parameters
        ----------
        update : Update
            The changes.
        histograms : ndarray of shape (n_groups, 4096), dtype int32
            As in `vjcascade.kernels.histogram`.
        weight_sums : ndarray of shape (2,), dtype float64
            Total weight of the positives and of the negatives, in units.
        factors : ndarray of shape (2,), dtype float64
            Weight of a unit of positives and of negatives.
        losses : ndarray of shape (n_groups, 8), dtype float64
            Output.
        """

    @abstractmethod
    def exact_least_error(self, bins: NDArray[np.uint8], weighted_p: Floats, weighted_n: Floats) -> Floats:
        """Find each feature's least weighted error over its bins, with exact weights.

        Parameters
        ----------
        bins : ndarray of shape (n_features, n_samples), dtype uint8
            Bins or codes.
        weighted_p, weighted_n : ndarray of shape (n_samples,), dtype float64
            Weight of each sample as a positive and as a negative.

        Returns
        -------
        ndarray of shape (n_features,), dtype float64
            One value a feature.
        """

    @abstractmethod
    def exact_least_gini(self, bins: NDArray[np.uint8], weighted_p: Floats, weighted_n: Floats) -> Floats:
        """Find each feature's least Gini impurity over its bins, with exact weights.

        Parameters
        ----------
        bins : ndarray of shape (n_features, n_samples), dtype uint8
            Bins or codes.
        weighted_p, weighted_n : ndarray of shape (n_samples,), dtype float64
            Weight of each sample as a positive and as a negative.

        Returns
        -------
        ndarray of shape (n_features,), dtype float64
            One value a feature.
        """

    def points(self, bins: NDArray[np.uint8], round_: Round) -> tuple[NDArray[np.int64], Floats]:
        """Find the splits of some features over bins that may be best.

        Parameters
        ----------
        bins : ndarray of shape (n_features, n_samples), dtype uint8
            Bins or codes.
        round_ : Round
            The round's weights.

        Returns
        -------
        counts : ndarray of shape (n_features,), dtype int64
            Number of splits of each feature, at least one.
        errors : ndarray of shape (2, n), dtype float64
            Their class-wise errors, feature by feature.
        """
        counts, errors = np.empty(len(bins), np.int64), np.empty((2, len(bins) * 2 * (N_BINS + 1)))
        n = self._fill_points(bins, round_.positive_part, round_.negative_part, counts, errors)
        return counts, errors[:, :n]

    @abstractmethod
    def best(self, feature: int, values: NDArray[Any], round_: Round, booster: Booster) -> Stump | None:
        """Find a feature's best stump on its real values.

        Parameters
        ----------
        feature : int
            Its index in the pool.
        values : ndarray of shape (n_samples,), dtype float32, float64 or uint8
            Its values.
        round_ : Round
            The round's weights.
        booster : Booster
            Judges stumps.

        Returns
        -------
        Stump or None
            None if all values are equal, or the constant classifiers do better than any.
        """

    @abstractmethod
    def constant(self, side: int, round_: Round) -> Stump:
        """Return the constant stump with an output for all samples."""


class Thresholds(Splits):
    """Splits of ordered values: a cut between two values."""

    _fill_points = staticmethod(stump.points_of_cuts)

    def least_on_lines(
        self, update: Update, histograms: NDArray[np.int32], weight_sums: Floats, lines: Floats, least: Floats
    ) -> None:
        """Write each feature's least value of each line."""
        histogram.add_changes_and_measure(*update, histograms, weight_sums, lines, least)

    def least_on_signed_line(self, weights: SignedWeights, weight_sums: Floats, least: Floats) -> None:
        """Write each feature's least error over all cuts between bins, both polarities."""
        histogram.least_on_signed_line(*weights, weight_sums, least)

    def least_gini(
        self,
        update: Update,
        histograms: NDArray[np.int32],
        weight_sums: Floats,
        factors: Floats,
        losses: Floats,
    ) -> None:
        """Write each feature's least Gini impurity."""
        histogram.add_changes(*update, histograms)
        histogram.least_gini(histograms, weight_sums, factors, losses)

    def exact_least_error(self, bins: NDArray[np.uint8], weighted_p: Floats, weighted_n: Floats) -> Floats:
        """Return each feature's least sum of errors over all cuts between bins, both polarities."""
        errors = np.empty(len(bins))
        sum_p, sum_n = float(weighted_p.sum()), float(weighted_n.sum())
        stump.least_on_line(bins, weighted_p - weighted_n, sum_p, sum_n, errors)
        return errors

    def exact_least_gini(self, bins: NDArray[np.uint8], weighted_p: Floats, weighted_n: Floats) -> Floats:
        """Return each feature's least Gini impurity over all cuts between bins."""
        losses = np.empty(len(bins))
        stump.least_gini(bins, weighted_p, weighted_n, losses)
        return losses

    def best(self, feature: int, values: NDArray[Any], round_: Round, booster: Booster) -> Stump | None:
        """Return the feature's best stump over all cuts between its real values."""
        order = rising(values)
        ends, below = np.empty(len(values), np.intp), np.empty((2, len(values)))
        n = stump.weights_up_to(values, order, round_.positive_part, round_.negative_part, ends, below)
        chosen = _best_cut(below[:, :n], round_, booster)
        if chosen is None:
            return None
        cut, sides = chosen
        threshold = between(values[order[ends[cut]]], values[order[ends[cut] + 1]])
        return _measured(Stump(feature, threshold, sides, 0.0, 0.0), values, round_)

    def constant(self, side: int, round_: Round) -> Stump:
        """Return the stump that says the same of all."""
        return Stump(0, np.float32(0), (side, side), *_errors_of(side, round_))


class Subsets(Splits):
    """Splits of codes, which have no order: any subset of them may go left.

    For every loss here, the best subset is the first few of the codes in rising order of their positives' share of
    the weight, so that in this order a code is as good as a bin. See `vjcascade.kernels.subset`.

    Codes without weight in the samples are called negative. On held-out windows, that has fewer errors than calling
    them positive, or than OpenCV's rule, for which they are neutral, and then nearly always count as positive.
    Smoothing weights over codes that differ in one bit helps on easy negatives, but is worse on hard ones.
    """

    _fill_points = staticmethod(subset.points_of_subsets)

    def least_on_lines(
        self,
        update: Update,
        histograms: NDArray[np.int32],
        weight_sums: Floats,  # noqa: ARG002
        lines: Floats,
        least: Floats,
    ) -> None:
        """Write each feature's least value of each line: the sum, over codes, of the smaller of the two weights."""
        histogram.add_changes(*update, histograms)
        subset.least_on_lines(histograms, lines, least)

    def least_on_signed_line(self, weights: SignedWeights, weight_sums: Floats, least: Floats) -> None:
        """Write each feature's least error over all subsets of its codes."""
        subset.least_on_signed_line(*weights, float(weight_sums[0]), least)

    def least_gini(
        self,
        update: Update,
        histograms: NDArray[np.int32],
        weight_sums: Floats,
        factors: Floats,
        losses: Floats,
    ) -> None:
        """Write each feature's least Gini impurity."""
        histogram.add_changes(*update, histograms)
        arranged = np.empty_like(histograms)
        subset.arrange(histograms, arranged)
        histogram.least_gini(arranged, weight_sums, factors, losses)

    def exact_least_error(self, bins: NDArray[np.uint8], weighted_p: Floats, weighted_n: Floats) -> Floats:
        """Return each feature's least sum of errors over all subsets."""
        errors = np.empty(len(bins))
        subset.least_on_line(bins, weighted_p - weighted_n, float(weighted_p.sum()), errors)
        return errors

    def exact_least_gini(self, bins: NDArray[np.uint8], weighted_p: Floats, weighted_n: Floats) -> Floats:
        """Return each feature's least Gini impurity over all subsets."""
        losses = np.empty(len(bins))
        subset.least_gini(bins, weighted_p, weighted_n, losses)
        return losses

    def best(self, feature: int, values: NDArray[Any], round_: Round, booster: Booster) -> Stump | None:
        """Return the feature's best stump over all subsets of its codes."""
        order, below = _below_codes(values, round_)
        chosen = _best_cut(below[:, 1 : len(order) + 1], round_, booster)
        if chosen is None:
            return None
        cut, sides = chosen
        is_left = np.full(N_BINS, sides[0] < 0)
        is_left[order] = np.arange(len(order)) <= cut
        words = np.packbits(is_left, bitorder="little").view("<u4").tolist()
        return _measured(Stump(feature, np.float32(0), sides, 0.0, 0.0, tuple(words)), values, round_)

    def constant(self, side: int, round_: Round) -> Stump:
        """Return the stump that says the same of all."""
        return Stump(0, np.float32(0), (side, side), *_errors_of(side, round_), NO_CODES)


THRESHOLDS, SUBSETS = Thresholds(), Subsets()


def rising(values: NDArray[Any]) -> NDArray[np.intp]:
    """Return the stable sorting order of values.

    Values of float32 are mapped to integers in the same order, with the index in the low bits: these are all different,
    and sorting them is several times faster than a stable argsort.
    """
    if values.dtype != np.float32:
        return np.argsort(values, kind="stable")
    keys = np.empty(len(values), np.uint64)
    stump.rising_keys(np.ascontiguousarray(values).view(np.uint32), keys)
    keys.sort()
    keys &= np.uint64(2**32 - 1)
    return keys.view(np.int64).astype(np.intp, copy=False)


def ends_of_equals(ranked: NDArray[Any]) -> NDArray[np.intp]:
    """Return the index of the last of each run of equal values in sorted values.

    Examples
    --------
    >>> ends_of_equals(np.array([1, 1, 4]))
    array([1, 2])
    """
    return np.flatnonzero(np.append(ranked[:-1] < ranked[1:], True))


def between(low: np.floating, high: np.floating) -> np.floating:
    """Return a threshold with `low < threshold <= high`: the midpoint, unless it rounds to `low`."""
    middle = low.dtype.type((np.longdouble(low) + np.longdouble(high)) / 2)
    return middle if middle > low else high


def _below_codes(row: NDArray[np.uint8], round_: Round) -> tuple[NDArray[np.int64], Floats]:
    """Return the codes with weight, in the order of `Subsets`, and the weights below each cut between them."""
    order, below = np.empty(N_BINS, np.int64), np.empty((2, N_BINS + 1))
    n = subset.weights_below(row, round_.positive_part, round_.negative_part, order, below)
    return order[:n], below


def _best_cut(below: Floats, round_: Round, booster: Booster) -> tuple[int, tuple[int, int]] | None:
    """Return after which of some values the best cut is, and what is said on its sides.

    `below` holds the weights up to and including each value, the last one's being all. None if there is but one
    value, or if the constant classifiers do better.
    """
    n_values = below.shape[1]
    if n_values < 2:
        return None
    if booster.loss_is_linear:
        cuts, errors = _cuts_near_least(below)
        best = int(cuts[booster.choose(errors[0], errors[1], round_)])
    else:
        cuts, errors = _hull(below)
        inside = cuts // 2 < n_values - 1
        if not inside.any():
            return None
        best = int(cuts[inside][booster.choose(errors[0, inside], errors[1, inside], round_)])
    cut, turned = divmod(best, 2)
    return cut, (1, -1) if turned else (-1, 1)


def _measured(one: Stump, values: NDArray[Any], round_: Round) -> Stump:
    """Return a stump with its errors."""
    called = np.where(one.goes_left(values), *one.sides)
    error_p, error_n = round_.positive_part[called < 0].sum(), round_.negative_part[called > 0].sum()
    return replace(one, error_p=float(error_p), error_n=float(error_n))


def _errors_of(side: int, round_: Round) -> tuple[float, float]:
    return (0.0, round_.negative_weight) if side > 0 else (round_.positive_weight, 0.0)


def _cuts_near_least(below: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the cuts in both polarities whose errors add up to about the least sum, and their class-wise errors."""
    n_points = 2 * below.shape[1]
    cuts, errors = np.empty(n_points, np.int64), np.empty((2, n_points))
    slack = max(NEAR_LEAST * float(below[:, -1].sum()), 2 * TIE_TOLERANCE)
    n = stump.cuts_near_least(below, slack, cuts, errors)
    return cuts[:n], errors[:, :n]


def _hull(below: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the cuts on the lower left hull of each polarity, and their class-wise errors."""
    n_points = 2 * below.shape[1]
    cuts, errors = np.empty(n_points, np.int64), np.empty((2, n_points))
    n = stump.hull_of_cuts(below, cuts, errors)
    return cuts[:n], np.maximum(errors[:, :n], 0.0)
