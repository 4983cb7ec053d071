"""One boosting run: a booster and a search, round by round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Booster, BoostingState
from vjcascade.boosters.base import MIN_ALPHA
from vjcascade.training.search import Stump, StumpSearch


@dataclass(frozen=True)
class WeakClassifier:
    """A stump with its votes, as it enters a stage.

    Attributes
    ----------
    stump : Stump
        Feature, threshold and sides.
    leaves : tuple of float32
        Votes on the left and on the right.
    alpha : float
        Its weight in the ensemble.
    perfect : bool
        Whether it classifies every training window rightly: boosting has nothing left to learn from.
    """

    stump: Stump
    leaves: tuple[np.float32, np.float32]
    alpha: float
    perfect: bool

    def votes(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the vote for each value of the stump's feature."""
        left, right = np.array(self.leaves, np.float64)
        votes: NDArray[np.float64] = np.where(values < self.stump.threshold, left, right)
        return votes


def boost(search: StumpSearch, booster: Booster) -> Iterator[WeakClassifier]:
    """Yield weak classifiers until the caller has enough, none helps any more, or one is perfect.

    Parameters
    ----------
    search : StumpSearch
        Measures stumps on the training windows.
    booster : Booster
        Weighs windows and stumps.

    Yields
    ------
    WeakClassifier
        One a round; never one with alpha <= 0.
    """
    state = BoostingState.start(search.labels)
    while True:
        now = booster.begin_round(state)
        candidates = search.candidates(now)
        errors_p = np.array([stump.error_p for stump in candidates])
        errors_n = np.array([stump.error_n for stump in candidates])
        stump = candidates[booster.choose(errors_p, errors_n, now)]
        alpha = booster.alpha(stump.error_p, stump.error_n, now)
        if alpha <= MIN_ALPHA:
            return
        outputs = search.outputs(stump)
        state.add(outputs, alpha)
        votes = dict(zip((-1, 1), booster.leaves(alpha), strict=True))
        left, right = (np.float32(votes[side]) for side in stump.sides)
        perfect = np.array_equal(outputs, search.labels)
        yield WeakClassifier(stump, (left, right), alpha, perfect)
        if perfect:
            return
