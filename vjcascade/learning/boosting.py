"""One boosting run: a booster and a search, round by round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Booster, BoostingState
from vjcascade.boosters.checked import checked
from vjcascade.boosters.state import Floats
from vjcascade.learning.search import Search
from vjcascade.learning.trees import Tree, ValuesOf, grow_tree


@dataclass(frozen=True, eq=False)
class WeakClassifier:
    """A tree with its votes, as it enters an ensemble.

    Attributes
    ----------
    tree : Tree
        Features, thresholds and sides.
    leaves : ndarray of shape (n_leaves,), dtype float64
        Votes.
    alpha : float
        Its weight in the ensemble; 1 for boosters with real-valued leaves.
    perfect : bool
        Whether it classifies all training samples with weight correctly: nothing is left to learn.
    """

    tree: Tree
    leaves: Floats
    alpha: float
    perfect: bool

    def votes(self, values_of: ValuesOf) -> NDArray[np.float64]:
        """Return the vote for each sample, as the float32 that a model file holds.

        Parameters
        ----------
        values_of : callable
            Returns a feature's values on the samples, shape (n_samples,).

        Returns
        -------
        ndarray of shape (n_samples,), dtype float64
            Votes.
        """
        votes: NDArray[np.float64] = self.leaves.astype(np.float32).astype(np.float64)[
            self.tree.leaves_of(values_of)
        ]
        return votes


def boost(
    search: Search,
    booster: Booster,
    state: BoostingState | None = None,
    *,
    max_depth: int = 1,
    literal: bool = False,
) -> Iterator[WeakClassifier]:
    """Yield weak classifiers until the caller stops, none helps any more, or one is perfect.

    Parameters
    ----------
    search : Search
        Measures stumps on the training samples.
    booster : Booster
        Weighs samples and weak classifiers.
    state : BoostingState, optional
        Initial state; updated in place. By default before the first round, with uniform weights.
    max_depth : int
        Depth of the trees; 1 for stumps.
    literal : bool
        Never stop early, whatever alpha is, as in the printed algorithms.

    Yields
    ------
    WeakClassifier
        One per round; unless `literal`, never one that has learnt nothing.

    Raises
    ------
    SettingsError
        If the booster, such as a plug-in, returns invalid values.
    """
    booster, state = checked(booster), state or BoostingState.start(search.labels)
    counts, is_positive = np.isfinite(state.log_prior), search.labels > 0
    while True:
        round_ = booster.begin_round(state)
        tree = grow_tree(search, booster, round_, max_depth)
        where = tree.leaves_of(search.values)
        sums_p, sums_n = round_.weight_sums(where, len(tree.sides))
        vote = booster.weigh(sums_p, sums_n, tree.sides, round_)
        if not (vote.helps or literal):
            return
        state.add(vote.outputs[where], vote.alpha)
        search.note(tree, vote)
        perfect = np.array_equal((vote.leaves >= 0)[where][counts], is_positive[counts])
        yield WeakClassifier(tree, vote.leaves, vote.alpha, perfect)
        if perfect and not literal:
            return
