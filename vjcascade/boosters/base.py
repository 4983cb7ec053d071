"""What every booster has in common: weights out, class-wise errors in, leaf values out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import SettingsError

Floats = NDArray[np.float64]

ERROR_FLOOR = 1e-12
"""Weighted errors are clipped to [floor, 1 - floor] before a logarithm, so a perfect weak classifier counts 13.8."""

MIN_ALPHA = 1e-12
"""A weak classifier that weighs no more has learnt nothing but rounding errors, and must not be added."""

TIE_TOLERANCE = 1e-12
"""Errors this close are equal; the lowest index wins."""


@dataclass(frozen=True)
class Costs:
    """Misclassification costs C_P and C_N.

    Attributes
    ----------
    positive : float
        Cost of a missed positive, > 0.
    negative : float
        Cost of a false alarm, > 0.

    Raises
    ------
    SettingsError
        If a cost is not a finite number above zero.

    Examples
    --------
    >>> Costs.from_ratio(4.0)
    Costs(positive=4.0, negative=1.0)
    """

    positive: float = 1.0
    negative: float = 1.0

    def __post_init__(self) -> None:
        for name, cost in (("positive", self.positive), ("negative", self.negative)):
            if not (np.isfinite(cost) and cost > 0):
                raise SettingsError(f"{name} cost {cost} is not a finite number above zero")

    @classmethod
    def from_ratio(cls, ratio: float) -> Costs:
        """Return the costs with C_N = 1 and C_P = `ratio`."""
        return cls(ratio, 1.0)

    def of(self, labels: NDArray[np.int8]) -> Floats:
        """Return C_P for every +1 and C_N for every -1 in `labels`, same shape."""
        return np.where(labels > 0, self.positive, self.negative)


@dataclass
class BoostingState:
    """What a run has done so far; the sample weights of every booster are a closed form of it.

    Attributes
    ----------
    labels : ndarray of shape (n,), dtype int8
        +1 for positives, -1 for negatives.
    score : ndarray of shape (n,), dtype float64
        f, the sum of alpha h so far.
    votes : ndarray of shape (n,), dtype int64
        The sum of h so far.
    mistakes : ndarray of shape (n,), dtype int64
        Rounds in which the sample was classified wrongly.
    total_alpha : float
        The sum of alpha so far.
    n_rounds : int
        Rounds done.
    """

    labels: NDArray[np.int8]
    score: Floats
    votes: NDArray[np.int64]
    mistakes: NDArray[np.int64]
    total_alpha: float = 0.0
    n_rounds: int = 0

    @classmethod
    def start(cls, labels: NDArray[np.int8]) -> BoostingState:
        """Return the state before the first round.

        Raises
        ------
        SettingsError
            If a class has no sample.
        """
        n = len(labels)
        if not 0 < np.count_nonzero(labels > 0) < n:
            raise SettingsError("boosting needs samples of both classes")
        return cls(labels, np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64))

    def add(self, outputs: NDArray[np.int8], alpha: float) -> None:
        """Count in a round's weak classifier: its outputs in {-1, +1} and its weight."""
        self.score += alpha * outputs
        self.votes += outputs
        self.mistakes += outputs != self.labels
        self.total_alpha += alpha
        self.n_rounds += 1


@dataclass(frozen=True, eq=False)
class Round:
    """What a booster may know of a round when it judges weak classifiers.

    Attributes
    ----------
    weights : ndarray of shape (n,), dtype float64
        Sample weights that the class-wise errors are sums of.
    positive_mass, negative_mass : float
        Their sums in each class: the largest class-wise errors possible.
    state : BoostingState
        The run so far.
    """

    weights: Floats
    positive_mass: float
    negative_mass: float
    state: BoostingState


class Booster(ABC):
    """A cost-sensitive boosting algorithm.

    A booster sees a weak classifier h only through two numbers of a round: `errors_p`, the weight of
    the positives that h calls negative, and `errors_n`, the weight of the negatives that it calls positive.
    A round goes: `begin_round` gives the weights, a search measures weak classifiers with them, `choose` picks
    one by its errors, `alpha` weighs it, `BoostingState.add` counts it in, and `leaves` says what
    it votes in the ensemble. Boosters hold settings only; what changes during a run is in `BoostingState`.

    Parameters
    ----------
    costs : Costs
        Misclassification costs.
    n_rounds : int
        Rounds planned at most; some boosters spread their asymmetry over them.
    """

    name: ClassVar[str]
    """The name in the registry, on the command line and in model files."""

    def __init__(self, costs: Costs, n_rounds: int = 100) -> None:
        self.costs = costs
        self.n_rounds = n_rounds

    @abstractmethod
    def log_weights(self, state: BoostingState) -> Floats:
        """Return the logarithm of the sample weights D, up to a constant, shape (n,)."""

    def selection_costs(self) -> tuple[float, float]:
        """Return the factors (positives, negatives) on D with which weak classifiers are measured."""
        return 1.0, 1.0

    def begin_round(self, state: BoostingState) -> Round:
        """Return the round's weights: D normalised to sum 1, times `selection_costs`."""
        logs = self.log_weights(state)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        positive = state.labels > 0
        factor_p, factor_n = self.selection_costs()
        weights *= np.where(positive, factor_p, factor_n)
        return Round(weights, float(weights[positive].sum()), float(weights[~positive].sum()), state)

    def choose(self, errors_p: Floats, errors_n: Floats, now: Round) -> int:  # noqa: ARG002  others need the round
        """Pick a weak classifier: here the lowest index whose weighted error is least.

        Parameters
        ----------
        errors_p, errors_n : ndarray of shape (n_candidates,), dtype float64
            Class-wise errors of each.
        now : Round
            The round they were measured in.

        Returns
        -------
        int
            Its index.
        """
        errors = errors_p + errors_n
        return int(np.flatnonzero(errors <= errors.min() + TIE_TOLERANCE)[0])

    @abstractmethod
    def alpha(self, error_p: float, error_n: float, now: Round) -> float:
        """Weigh the chosen weak classifier.

        Parameters
        ----------
        error_p, error_n : float
            Its class-wise errors.
        now : Round
            The round they were measured in.

        Returns
        -------
        float
            Its weight; `MIN_ALPHA` or less says that it must not be added.
        """

    def leaves(self, alpha: float) -> tuple[float, float]:
        """Return the votes (where h = -1, where h = +1) of a weak classifier in the ensemble."""
        return -alpha, alpha


def half_log_odds(error: float) -> float:
    """Return 1/2 log((1 - error) / error), the error clipped by `ERROR_FLOOR`.

    Examples
    --------
    >>> half_log_odds(0.5), round(half_log_odds(0.0), 3)
    (0.0, 13.816)
    """
    clipped = min(max(error, ERROR_FLOOR), 1 - ERROR_FLOOR)
    return 0.5 * float(np.log((1 - clipped) / clipped))
