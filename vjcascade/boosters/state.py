"""The state of a boosting run, and the weights of a round."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import SettingsError

Floats = NDArray[np.float64]


@dataclass
class BoostingState:
    """The state of a run, from which every booster computes its sample weights in closed form.

    Attributes
    ----------
    labels : ndarray of shape (n,), dtype int8
        +1 for positives, -1 for negatives.
    log_prior : ndarray of shape (n,), dtype float64
        Logarithm of the given sample weights, scaled to sum 1; uniform if none were given.
    score : ndarray of shape (n,), dtype float64
        f, the sum of alpha h so far.
    votes : ndarray of shape (n,), dtype int64
        The sum of the signs of h so far.
    mistakes : ndarray of shape (n,), dtype int64
        Rounds in which the sample was classified wrongly.
    total_alpha : float
        The sum of alpha so far.
    n_rounds : int
        Rounds done.

    Examples
    --------
    >>> BoostingState.start(np.array([1, -1, -1], np.int8)).score.tolist()
    [0.0, 0.0, 0.0]
    """

    labels: NDArray[np.int8]
    log_prior: Floats
    score: Floats
    votes: NDArray[np.int64]
    mistakes: NDArray[np.int64]
    total_alpha: float = 0.0
    n_rounds: int = 0

    @cached_property
    def balanced_log_prior(self) -> Floats:
        """`log_prior`, scaled so that each class sums to 1, shape (n,); computed once, as it does not change."""
        positive, weights = self.labels > 0, np.exp(self.log_prior)
        totals = np.where(positive, weights[positive].sum(), weights[~positive].sum())
        logs: Floats = self.log_prior - np.log(totals)
        logs.flags.writeable = False
        return logs

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed from the rest: a state may be sent to many workers."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def start(cls, labels: NDArray[np.int8], sample_weight: Floats | None = None) -> BoostingState:
        """Return the state before the first round.

        Parameters
        ----------
        labels : ndarray of shape (n,), dtype int8
            +1 or -1.
        sample_weight : ndarray of shape (n,), optional
            Sample weights, on any scale; uniform if not given.

        Returns
        -------
        BoostingState
            Before the first round.

        Raises
        ------
        SettingsError
            If a class has no sample or no weight, or a weight is not a finite number, at least 0.

        Examples
        --------
        >>> import numpy as np
        >>> state = BoostingState.start(np.array([1, -1], np.int8), np.array([3.0, 1.0]))
        >>> np.exp(state.log_prior).round(3).tolist()
        [0.75, 0.25]
        """
        n = len(labels)
        n_positive = np.count_nonzero(labels > 0)
        if not 0 < n_positive < n:
            raise SettingsError(
                f"boosting needs samples of both classes: there are {n_positive} positives and "
                f"{n - n_positive} negatives"
            )
        weights = np.ones(n) if sample_weight is None else _checked_weights(sample_weight, labels)
        with np.errstate(divide="ignore"):  # samples of weight 0 get -inf
            log_prior = np.log(weights / weights.sum())
        return cls(labels, log_prior, np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64))

    def add(self, outputs: NDArray[np.int8] | Floats, alpha: float) -> None:
        """Add a round's weak classifier: its outputs, in {-1, +1} or real, and its weight."""
        signs = np.where(outputs < 0, -1, 1)
        self.score += alpha * outputs
        self.votes += signs
        self.mistakes += signs != self.labels
        self.total_alpha += alpha
        self.n_rounds += 1


@dataclass(frozen=True, eq=False)
class Round:
    """The weights of a round, by which weak classifiers are judged.

    Each sample's weight is split into a part that counts as positive and one that counts as negative. For
    all boosters but LogitBoost, one of the two is 0.

    Attributes
    ----------
    positive_part, negative_part : ndarray of shape (n,), dtype float64
        Weights of which class-wise errors are sums.
    state : BoostingState
        The run so far.
    positive_weight, negative_weight : float
        Sums of the two parts: the largest class-wise errors possible.
    is_part : bool
        Whether it belongs to a node of a tree: samples that do not reach the node have weight 0.

    Examples
    --------
    >>> from vjcascade.boosters import Costs, make_booster
    >>> booster = make_booster("cost-generalized", Costs(3, 1))
    >>> round_ = booster.begin_round(BoostingState.start(np.array([1, -1], np.int8)))
    >>> round_.weights.round(3).tolist()
    [0.75, 0.25]
    """

    positive_part: Floats
    negative_part: Floats
    state: BoostingState
    positive_weight: float
    negative_weight: float
    is_part: bool = False

    @classmethod
    def of_parts(cls, positive_part: Floats, negative_part: Floats, state: BoostingState) -> Self:
        """Return a round with weights that are already split.

        Parameters
        ----------
        positive_part, negative_part : ndarray of shape (n,), dtype float64
            The parts of each sample's weight that count as positive and as negative.
        state : BoostingState
            The run so far.

        Returns
        -------
        Round
            With the sums of both.
        """
        weight_sums = float(positive_part.sum()), float(negative_part.sum())
        return cls(positive_part, negative_part, state, *weight_sums)

    @classmethod
    def of_weights(cls, weights: Floats, state: BoostingState) -> Self:
        """Return a round in which each sample counts as its label."""
        positive = state.labels > 0
        parts = np.where(positive, weights, 0.0), np.where(positive, 0.0, weights)
        weight_sums = float(weights[positive].sum()), float(weights[~positive].sum())
        return cls(*parts, state, *weight_sums)

    @property
    def weights(self) -> Floats:
        """Sample weights, shape (n,)."""
        return self.positive_part + self.negative_part

    def weight_sums(self, groups: NDArray[np.integer], n_groups: int) -> tuple[Floats, Floats]:
        """Return the sums of the two parts in each group of samples.

        Parameters
        ----------
        groups : ndarray of shape (n,), dtype integer
            The group of each sample, from 0.
        n_groups : int
            Groups.

        Returns
        -------
        sums_p, sums_n : ndarray of shape (n_groups,), dtype float64
            Weights of positives and of negatives.
        """
        sums_p: Floats = np.bincount(groups, self.positive_part, n_groups).astype(np.float64)
        sums_n: Floats = np.bincount(groups, self.negative_part, n_groups).astype(np.float64)
        return sums_p, sums_n

    def within(self, mask: NDArray[np.bool_]) -> Round:
        """Return the round of a node of a tree: samples outside of `mask` have weight 0."""
        inside = Round.of_parts(self.positive_part * mask, self.negative_part * mask, self.state)
        return replace(inside, is_part=True)

    def scaled(self, factor_p: float, factor_n: float) -> Round:
        """Return the round with its two parts multiplied."""
        return replace(
            self,
            positive_part=self.positive_part * factor_p,
            negative_part=self.negative_part * factor_n,
            positive_weight=self.positive_weight * factor_p,
            negative_weight=self.negative_weight * factor_n,
        )


def _checked_weights(sample_weight: Floats, labels: NDArray[np.int8]) -> Floats:
    weights: Floats = np.asarray(sample_weight, np.float64)
    if weights.shape != labels.shape:
        raise SettingsError(f"{weights.size} sample weights do not fit {len(labels)} samples")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise SettingsError(
            f"sample weight {weights[wrong[0]]} of sample {wrong[0]} is not a finite number, at least 0"
        )
    weights = weights / max(weights.max(), np.finfo(np.float64).tiny)  # so that their sum does not overflow
    for name, mask in (("positives", labels > 0), ("negatives", labels < 0)):
        if not weights[mask].any():
            raise SettingsError(
                f"all {np.count_nonzero(mask)} {name} have sample weight 0, relative to the largest"
            )
    return weights
