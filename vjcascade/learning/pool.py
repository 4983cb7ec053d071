"""Boost over an explicit pool of weak classifiers, given by their outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.base import Booster
from vjcascade.boosters.checked import checked
from vjcascade.boosters.state import BoostingState, Floats
from vjcascade.errors import SettingsError


@dataclass(frozen=True, eq=False)
class PoolRun:
    """A finished run over an explicit pool.

    Attributes
    ----------
    chosen : list of int
        Index of each round's weak classifier.
    alphas : list of float
        Its weight; 1 for boosters with real-valued leaves.
    leaves : ndarray of shape (n_rounds, 2), dtype float64
        What it votes in the ensemble where it says -1 and where it says +1.
    state : BoostingState
        After the last round; `score` is f on the training samples.
    """

    chosen: list[int]
    alphas: list[float]
    leaves: Floats
    state: BoostingState

    def scores(self, pool: NDArray[np.int8]) -> Floats:
        """Return what the ensemble scores on samples, after each round.

        Parameters
        ----------
        pool : ndarray of shape (n_samples, n_classifiers), dtype int8
            Outputs of the same weak classifiers on these samples.

        Returns
        -------
        ndarray of shape (n_rounds, n_samples), dtype float64
            Sums of the votes so far; a sample is called positive if its score >= 0.
        """
        votes = np.where(pool[:, self.chosen].T > 0, self.leaves[:, 1:], self.leaves[:, :1])
        scores: Floats = np.cumsum(votes, axis=0)
        return scores


def boost_pool(
    pool: NDArray[np.int8],
    labels: NDArray[np.int8],
    booster: Booster,
    n_rounds: int,
    *,
    sample_weight: Floats | None = None,
    literal: bool = False,
) -> PoolRun:
    """Boost over weak classifiers whose outputs are all known beforehand.

    Parameters
    ----------
    pool : ndarray of shape (n_samples, n_classifiers), dtype int8
        Outputs, -1 or +1.
    labels : ndarray of shape (n_samples,), dtype int8
        +1 or -1, both of them.
    booster : Booster
        Weighs samples and weak classifiers.
    n_rounds : int
        Rounds at most; fewer if no weak classifier helps any more, or one is perfect.
    sample_weight : ndarray of shape (n_samples,), optional
        How much each sample counts.
    literal : bool
        Go on whatever a round's weight is, as the algorithms are printed.

    Returns
    -------
    PoolRun
        What was chosen, and the final scores.

    Raises
    ------
    SettingsError
        If pool and labels do not fit each other, hold other values, one class is missing, or an answer of the
        booster, a plug-in perhaps, cannot be right.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters import Costs, make_booster
    >>> labels = np.array([1, 1, -1, -1], np.int8)
    >>> pool = np.array([[1, 1], [1, -1], [1, -1], [-1, -1]], np.int8)
    >>> boost_pool(pool, labels, make_booster("adaboost", Costs()), 2).chosen
    [0, 1]
    """
    _check(pool, labels)
    booster, state = checked(booster), BoostingState.start(labels, sample_weight)
    counts = np.isfinite(state.log_prior)
    outputs, sides = (pool > 0).astype(np.int8), np.array([-1, 1], np.int8)
    calls_positive = outputs.astype(np.float64)
    calls_negative = 1.0 - calls_positive
    chosen: list[int] = []
    alphas: list[float] = []
    leaves: list[Floats] = []
    for _ in range(n_rounds):
        round_ = booster.begin_round(state)
        errors_p, errors_n = round_.positive_part @ calls_negative, round_.negative_part @ calls_positive
        best = booster.choose(errors_p, errors_n, round_)
        leaf = outputs[:, best]
        sums_p, sums_n = round_.weight_sums(leaf, 2)
        vote = booster.weigh(sums_p, sums_n, sides, round_)
        if not (vote.helps or literal):
            break
        state.add(vote.outputs[leaf], vote.alpha)
        chosen.append(best)
        alphas.append(vote.alpha)
        leaves.append(vote.leaves)
        perfect = np.array_equal(vote.leaves[leaf][counts] >= 0, labels[counts] > 0)
        if perfect and not literal:
            break
    return PoolRun(chosen, alphas, np.array(leaves).reshape(-1, 2), state)


def _check(pool: NDArray[np.int8], labels: NDArray[np.int8]) -> None:
    if pool.ndim != 2 or labels.shape != pool.shape[:1] or pool.shape[1] == 0:
        raise SettingsError(
            f"a pool of shape {pool.shape} does not fit labels of shape {labels.shape}: "
            "it has a row for each sample and a column for each weak classifier"
        )
    for name, values in (("pool", pool), ("labels", labels)):
        wrong = values[np.abs(values) != 1]
        if wrong.size:
            raise SettingsError(f"the {name} must hold -1 and +1 only, not {wrong.flat[0]}")
