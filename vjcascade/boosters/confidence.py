"""Boosters with confidence-rated weak classifiers: every leaf has its own real value."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.base import ERROR_FLOOR, LEAST_WEIGHT, MIN_ALPHA, Booster, Vote
from vjcascade.boosters.bounds import GiniGuide
from vjcascade.boosters.state import Floats, Round

MIN_SHARE = 1e-5
"""The share of either class in a leaf is clipped to this before a logarithm, as in OpenCV."""


class ConfidenceBooster(Booster):
    """A booster with real-valued leaves; its loss is the sum of the leaves' impurities.

    A weak classifier and its negation split the samples into the same leaves, so they have the same loss.

    Examples
    --------
    >>> from vjcascade.boosters import Costs, make_booster
    >>> booster = make_booster("real", Costs())
    >>> booster.leaf_values(np.array([0.3]), np.array([0.1])).round(3).tolist()
    [0.549]
    """

    loss_is_linear: ClassVar[bool] = False
    splits_by_gini: bool = False
    """Whether `impurity` is `gini`."""

    @abstractmethod
    def impurity(self, sums_p: Floats, sums_n: Floats) -> Floats:
        """Return the loss of leaves after this round, from their weights of positives and negatives.

        It must be concave and homogeneous: if both weights double, it doubles.
        """

    @abstractmethod
    def leaf_values(self, sums_p: Floats, sums_n: Floats) -> Floats:
        """Return the values of leaves from their weights of positives and negatives; 0 for empty leaves."""

    def loss(self, errors_p: Floats, errors_n: Floats, round_: Round) -> Floats:
        """Return the impurity of the side of output -1 plus that of the side of output +1."""
        wrong_p, right_p = _wrong_and_right(errors_p, round_.positive_weight)
        wrong_n, right_n = _wrong_and_right(errors_n, round_.negative_weight)
        return self.impurity(wrong_p, right_n) + self.impurity(right_p, wrong_n)

    def loss_bounds(self, error_p: float, error_n: float, round_: Round) -> GiniGuide:  # noqa: ARG002
        """Return the Gini impurity as a guide, of classes of equal weight; of the actual weights if it is the loss."""
        if self.splits_by_gini:
            return GiniGuide(np.ones((1, 2)), is_loss=True)
        return GiniGuide(1 / np.maximum([[round_.positive_weight, round_.negative_weight]], LEAST_WEIGHT))

    def choose(self, errors_p: Floats, errors_n: Floats, round_: Round) -> int:
        """Pick the weak classifier of least loss, regardless of polarity."""
        sum_p, sum_n = round_.positive_weight, round_.negative_weight
        turn = errors_p * sum_n + errors_n * sum_p > sum_p * sum_n
        wrong_p, right_p = _wrong_and_right(errors_p, sum_p)
        wrong_n, right_n = _wrong_and_right(errors_n, sum_n)
        return super().choose(np.where(turn, right_p, wrong_p), np.where(turn, right_n, wrong_n), round_)

    def weigh(self, sums_p: Floats, sums_n: Floats, sides: NDArray[np.int8], round_: Round) -> Vote:  # noqa: ARG002
        """Give each leaf its value; alpha is 1."""
        values = self.leaf_values(sums_p, sums_n)
        return Vote(values, 1.0, values, bool(np.abs(values).max() > MIN_ALPHA))


def _wrong_and_right(errors: Floats, mass: float) -> tuple[Floats, Floats]:
    """Return the weights of a class on both sides; possible rounding errors count as 0, so that ties are recognised."""
    wrong, right = (np.where(side > ERROR_FLOOR * mass, side, 0.0) for side in (errors, mass - errors))
    return wrong, right


def gini(sums_p: Floats, sums_n: Floats) -> Floats:
    """Return 2 P N / (P + N), the weighted Gini impurity, which is half the squared error of the mean label.

    Examples
    --------
    >>> gini(np.array([0.5, 0.0]), np.array([0.5, 0.0])).tolist()
    [0.5, 0.0]
    """
    total = sums_p + sums_n
    impurities: Floats = 2 * sums_p * sums_n / np.where(total > 0, total, 1.0)
    return impurities


def mean_label(sums_p: Floats, sums_n: Floats) -> Floats:
    """Return (P - N)/(P + N), the weighted mean of the labels; 0 in empty leaves.

    Examples
    --------
    >>> mean_label(np.array([0.75, 0.0]), np.array([0.25, 0.0])).tolist()
    [0.5, 0.0]
    """
    total = sums_p + sums_n
    means: Floats = (sums_p - sums_n) / np.where(total > 0, total, 1.0)
    return means


def log_odds(sums_p: Floats, sums_n: Floats) -> Floats:
    """Return log(P / N), each share of a leaf clipped by `MIN_SHARE`; 0 in empty leaves.

    Examples
    --------
    >>> log_odds(np.array([0.5, 1.0, 0.0]), np.array([0.5, 0.0, 0.0])).round(3).tolist()
    [0.0, 11.513, 0.0]
    """
    share = np.clip((1 + mean_label(sums_p, sums_n)) / 2, MIN_SHARE, 1 - MIN_SHARE)
    odds: Floats = np.log(share / (1 - share))
    return odds
