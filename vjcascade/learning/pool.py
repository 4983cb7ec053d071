"""Boosting over an explicit pool of weak classifiers, given by their outputs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.base import Booster, Vote
from vjcascade.boosters.state import BoostingState, Floats, Round
from vjcascade.errors import SettingsError
from vjcascade.learning.boosting import boost
from vjcascade.learning.trees import Tree
from vjcascade.learning.weak_splits import Stump


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
        Its votes for outputs -1 and +1.
    state : BoostingState
        After the last round; `score` is f on the training samples.

    Examples
    --------
    >>> from vjcascade.boosters import Costs, make_booster
    >>> labels = np.array([1, 1, -1, -1], np.int8)
    >>> pool = np.array([[1, 1], [1, -1], [-1, -1], [1, -1]], np.int8)
    >>> run = boost_pool(pool, labels, make_booster("adaboost", Costs()), n_rounds=1)
    >>> run.chosen, run.scores(pool)[-1].shape
    ([0], (4,))
    """

    chosen: list[int]
    alphas: list[float]
    leaves: Floats
    state: BoostingState

    def scores(self, pool: NDArray[np.int8]) -> Floats:
        """Return the scores of the ensemble on samples, after each round.

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
    """Boost over weak classifiers whose outputs are all given.

    Parameters
    ----------
    pool : ndarray of shape (n_samples, n_classifiers), dtype int8
        Outputs, -1 or +1.
    labels : ndarray of shape (n_samples,), dtype int8
        +1 or -1, both of them.
    booster : Booster
        Weighs samples and weak classifiers.
    n_rounds : int
        Maximum number of rounds; fewer if no weak classifier helps any more, or one is perfect.
    sample_weight : ndarray of shape (n_samples,), optional
        Sample weights.
    literal : bool
        Never stop early, whatever alpha is, as in the printed algorithms.

    Returns
    -------
    PoolRun
        The chosen weak classifiers, and the final scores.

    Raises
    ------
    SettingsError
        If shapes or values of pool and labels are invalid, a class is missing, or the booster, such as a plug-in,
        returns invalid values.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters import Costs, make_booster
    >>> labels = np.array([1, 1, -1, -1], np.int8)
    >>> pool = np.array([[1, 1], [1, -1], [1, -1], [-1, -1]], np.int8)
    >>> boost_pool(pool, labels, make_booster("adaboost", Costs()), 2).chosen
    [0, 1]
    """
    search, state = PoolSearch(pool, labels), BoostingState.start(labels, sample_weight)
    rounds = list(islice(boost(search, booster, state, literal=literal), n_rounds))
    return PoolRun(
        [weak.tree.stumps[0].feature for weak in rounds],
        [weak.alpha for weak in rounds],
        np.array([weak.leaves for weak in rounds]).reshape(-1, 2),
        state,
    )


class PoolSearch:
    """The search for a round's best among weak classifiers whose outputs are all given.

    Parameters
    ----------
    pool : ndarray of shape (n_samples, n_classifiers), dtype int8
        Outputs, -1 or +1.
    labels : ndarray of shape (n_samples,), dtype int8
        +1 or -1.

    Raises
    ------
    SettingsError
        If shapes or values of pool and labels are invalid.

    Examples
    --------
    >>> pool = np.array([[1, 1], [1, -1], [-1, -1]], np.int8)
    >>> PoolSearch(pool, np.array([1, 1, -1], np.int8)).values(1).tolist()
    [1, -1, -1]
    """

    def __init__(self, pool: NDArray[np.int8], labels: NDArray[np.int8]) -> None:
        _check(pool, labels)
        self.labels = labels
        self._pool = pool
        self._calls_positive = (pool > 0).astype(np.float64)
        self._calls_negative = 1.0 - self._calls_positive

    def candidates(self, round_: Round, booster: Booster) -> list[Stump]:
        """Return only the best weak classifier, as a stump that splits its outputs at 0."""
        errors_p = round_.positive_part @ self._calls_negative
        errors_n = round_.negative_part @ self._calls_positive
        best = booster.choose(errors_p, errors_n, round_)
        return [Stump(best, np.float32(0), (-1, 1), float(errors_p[best]), float(errors_n[best]))]

    def note(self, tree: Tree, vote: Vote) -> None:
        """Do nothing: the next round's weights say it all."""

    def values(self, feature: int) -> NDArray[np.generic]:
        """Return a weak classifier's outputs."""
        outputs: NDArray[np.generic] = self._pool[:, feature]
        return outputs


def _check(pool: NDArray[np.int8], labels: NDArray[np.int8]) -> None:
    if pool.ndim != 2 or labels.shape != pool.shape[:1] or pool.shape[1] == 0:
        raise SettingsError(
            f"a pool of shape {pool.shape} does not fit labels of shape {labels.shape}: "
            "it must have a row for each sample and a column for each weak classifier"
        )
    for name, values in (("pool", pool), ("labels", labels)):
        wrong = values[np.abs(values) != 1]
        if wrong.size:
            raise SettingsError(f"the {name} must only contain -1 and +1, not {wrong.flat[0]}")
