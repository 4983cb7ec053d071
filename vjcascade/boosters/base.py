"""Base classes of boosters, which set sample weights, judge weak classifiers by class-wise errors, and set votes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.bounds import LossBounds
from vjcascade.boosters.costs import Costs
from vjcascade.boosters.hull import near_lower_hull
from vjcascade.boosters.state import BoostingState, Floats, Round
from vjcascade.errors import SettingsError

PriorName: TypeAlias = Literal["class", "sample", "uniform", "balanced"]
"""Names that boosters use for initial weights."""

ERROR_FLOOR = 1e-12
"""Weighted errors are clipped to [floor, 1 - floor] before a logarithm, so alpha is at most 13.8."""

MIN_ALPHA = 1e-12
"""A weak classifier with a smaller alpha has only learnt rounding errors, and must not be added."""

SLOPE_STEP = 1e-6
"""Step of finite differences, relative to the weight sum of a class."""

LEAST_WEIGHT = 1e-100
"""Lower bound of a class's weight sum before a division."""

TIE_TOLERANCE = 1e-12
"""Losses this close count as equal; the lowest index wins."""


@dataclass(frozen=True, eq=False)
class Vote:
    """The votes of a weak classifier.

    Attributes
    ----------
    outputs : ndarray of shape (n_leaves,), dtype float64
        h in each leaf: -1 or +1, or a real value.
    alpha : float
        Its weight: alpha h is added to the score.
    leaves : ndarray of shape (n_leaves,), dtype float64
        The vote of each leaf in the finished ensemble: alpha h, for all boosters but CSB.
    helps : bool
        Whether it has learnt anything. If not, it must not be added, and boosting ends.

    Examples
    --------
    >>> Vote(np.array([1.0, -1.0]), alpha=0.5, leaves=np.array([-0.5, 0.5]), helps=True).alpha
    0.5
    """

    outputs: Floats
    alpha: float
    leaves: Floats
    helps: bool


class Booster(ABC):
    """A cost-sensitive boosting algorithm.

    A booster judges a weak classifier h by two numbers: `errors_p`, the weight of the positives that h calls
    negative, and `errors_n`, the weight of the negatives that it calls positive. In each round, `begin_round`
    returns the weights, a search measures weak classifiers with them, `choose` picks the one of least `loss`,
    `weigh` returns its votes, and `BoostingState.add` adds it to the ensemble. Boosters only have settings; the
    state of a run is in `BoostingState`.

    Parameters
    ----------
    costs : Costs
        Misclassification costs, in any unit.
    n_rounds : int
        Maximum number of rounds; some boosters spread their asymmetry over them.

    Attributes
    ----------
    costs : Costs
        Scaled so that the smaller cost is 1; so the unit of costs does not matter.
    n_rounds : int
        As given.

    Examples
    --------
    >>> from vjcascade.boosters import Costs, make_booster
    >>> booster = make_booster("adac2", Costs(2, 1))
    >>> isinstance(booster, Booster), booster.costs.positive
    (True, 2.0)
    """

    name: ClassVar[str]
    """The name in the registry, on the command line and in model files."""

    loss_is_linear: ClassVar[bool] = True
    """Whether `loss` is errors_p + errors_n. If not, it must be concave in the two, and grow with both."""

    uses_costs: ClassVar[bool] = True
    """Whether training uses the costs. If not, they can be applied afterwards, by a threshold."""

    priors: ClassVar[Mapping[str, PriorName]] = MappingProxyType({})
    """Values of its option `prior` for samples ("sample") and for classes ("class") of equal initial weight."""

    def __init__(self, costs: Costs, n_rounds: int = 100) -> None:
        self.costs = costs.normalised()
        self.n_rounds = n_rounds

    def log_prior(self, state: BoostingState) -> Floats:
        """Return the logarithm of the initial weights, shape (n,)."""
        return state.log_prior

    @abstractmethod
    def log_weights(self, state: BoostingState) -> Floats:
        """Return the logarithm of the sample weights D, up to a constant, shape (n,)."""

    def selection_costs(self) -> tuple[float, float]:
        """Return the factors (positives, negatives) by which D is multiplied to measure weak classifiers."""
        return 1.0, 1.0

    def begin_round(self, state: BoostingState) -> Round:
        """Return the round's weights: D normalised to sum 1, times `selection_costs`."""
        weights = normalised(self.log_weights(state))
        return Round.of_weights(weights, state).scaled(*self.selection_costs())

    def loss(self, errors_p: Floats, errors_n: Floats, round_: Round) -> Floats:  # noqa: ARG002  others need the round
        """Return the losses of weak classifiers from their class-wise errors; the least one is chosen.

        Parameters
        ----------
        errors_p, errors_n : ndarray of shape (n_candidates,), dtype float64
            Class-wise errors of each.
        round_ : Round
            The round they were measured in.

        Returns
        -------
        ndarray of shape (n_candidates,), dtype float64
            By default the weighted error.
        """
        return errors_p + errors_n

    def choose(self, errors_p: Floats, errors_n: Floats, round_: Round) -> int:
        """Pick the weak classifier of least loss; of equally good ones, the lowest index.

        A concave loss is least at a vertex of the lower left convex hull of the points (errors_p, errors_n), so
        it is computed there only.

        Parameters
        ----------
        errors_p, errors_n : ndarray of shape (n_candidates,), dtype float64
            Class-wise errors of each.
        round_ : Round
            The round they were measured in.

        Returns
        -------
        int
            Its index.
        """
        if self.loss_is_linear:
            return first_of_least(self.loss(errors_p, errors_n, round_))
        among = near_lower_hull(errors_p, errors_n)
        return int(among[first_of_least(self.loss(errors_p[among], errors_n[among], round_))])

    def slope(self, error_p: float, error_n: float, round_: Round) -> tuple[float, float]:
        """Return the partial derivatives of the loss with respect to the two errors.

        Parameters
        ----------
        error_p, error_n : float
            The class-wise errors.
        round_ : Round
            The round they were measured in.

        Returns
        -------
        tuple of float
            Slopes, up to a common factor; by finite differences if the loss is not linear.
        """
        if self.loss_is_linear:
            return 1.0, 1.0
        steps = SLOPE_STEP * np.maximum([round_.positive_weight, round_.negative_weight], LEAST_WEIGHT)
        points_p, points_n = (
            error_p + np.array([0.0, steps[0], 0.0]),
            error_n + np.array([0.0, 0.0, steps[1]]),
        )
        losses = self.loss(points_p, points_n, round_)
        slopes = np.maximum((losses[1:] - losses[0]) / steps, 0.0)
        return (float(slopes[0]), float(slopes[1])) if (slopes > 0).all() else (1.0, 1.0)

    def loss_bounds(self, error_p: float, error_n: float, round_: Round) -> LossBounds:
        """Return the bounds by which a search finds the few features that may win.

        Parameters
        ----------
        error_p, error_n : float
            Class-wise errors of a good weak classifier: a guess at the winner.
        round_ : Round
            The round they were measured in.

        Returns
        -------
        LossBounds
            By default the tangent of the loss at the guess, which is a heuristic guide, as is `GiniGuide`;
            `TwoErrorBounds` guarantee that the best features are found.
        """
        return LossBounds(np.array([self.slope(error_p, error_n, round_)]))

    @abstractmethod
    def weigh(self, sums_p: Floats, sums_n: Floats, sides: NDArray[np.int8], round_: Round) -> Vote:
        """Return the votes of the chosen weak classifier.

        Parameters
        ----------
        sums_p, sums_n : ndarray of shape (n_leaves,), dtype float64
            Weight of the positives and of the negatives in each leaf.
        sides : ndarray of shape (n_leaves,), dtype int8
            The class of each leaf, -1 or +1.
        round_ : Round
            The round they were measured in.

        Returns
        -------
        Vote
            Its weight and votes.
        """


class DiscreteBooster(Booster):
    """A booster whose weak classifiers output -1 or +1 and have one weight, alpha.

    Examples
    --------
    >>> from vjcascade.boosters import BoostingState, Costs, make_booster
    >>> booster = make_booster("adaboost", Costs())
    >>> round_ = booster.begin_round(BoostingState.start(np.array([1, -1], np.int8)))
    >>> round(booster.alpha(0.0, 0.25, round_), 3)
    0.549
    """

    @abstractmethod
    def alpha(self, error_p: float, error_n: float, round_: Round) -> float:
        """Weigh the chosen weak classifier.

        Parameters
        ----------
        error_p, error_n : float
            Its class-wise errors.
        round_ : Round
            The round they were measured in.

        Returns
        -------
        float
            Its weight; it must not be added if this is `MIN_ALPHA` or less.
        """

    def leaves(self, alpha: float) -> tuple[float, float]:
        """Return the votes (where h = -1, where h = +1) of a weak classifier in the ensemble."""
        return -alpha, alpha

    def weigh(self, sums_p: Floats, sums_n: Floats, sides: NDArray[np.int8], round_: Round) -> Vote:
        """Weigh the weak classifier by its class-wise errors."""
        alpha = self.alpha(float(sums_p[sides < 0].sum()), float(sums_n[sides > 0].sum()), round_)
        low, high = self.leaves(alpha)
        return Vote(sides.astype(np.float64), alpha, np.where(sides > 0, high, low), alpha > MIN_ALPHA)


def normalised(logs: Floats) -> Floats:
    """Return weights that sum to 1 from their logarithms, without overflow.

    Examples
    --------
    >>> normalised(np.array([-5000.0, -5000.0])).tolist()
    [0.5, 0.5]
    """
    weights: Floats = np.exp(logs - logs.max())
    weights /= weights.sum()
    return weights


def first_of_least(losses: Floats) -> int:
    """Return the lowest index whose loss is within `TIE_TOLERANCE` of the least.

    Examples
    --------
    >>> first_of_least(np.array([0.3, 0.2, 0.2 - 1e-15]))
    1
    """
    return int(np.flatnonzero(losses <= losses.min() + TIE_TOLERANCE)[0])


def half_log_odds(error: float) -> float:
    """Return 1/2 log((1 - error) / error), the error clipped by `ERROR_FLOOR`.

    Examples
    --------
    >>> half_log_odds(0.5), round(half_log_odds(0.0), 3)
    (0.0, 13.816)
    """
    error = clipped(error)
    return 0.5 * float(np.log((1 - error) / error))


def clipped(error: float) -> float:
    """Return a weighted error in [`ERROR_FLOOR`, 1 - `ERROR_FLOOR`].

    Examples
    --------
    >>> clipped(0.0), clipped(0.3)
    (1e-12, 0.3)
    """
    return min(max(error, ERROR_FLOOR), 1 - ERROR_FLOOR)


def checked_option(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Check a booster's option and return it.

    Parameters
    ----------
    name : str
        Name of the option.
    value : str
        The given value.
    choices : tuple of str
        Valid values.

    Returns
    -------
    str
        The value.

    Raises
    ------
    SettingsError
        If it is not one of the choices.
    """
    if value not in choices:
        raise SettingsError(f"{name} {value!r} is not one of {', '.join(choices)}")
    return value
