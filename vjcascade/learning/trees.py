"""Weak classifiers: stumps, and small trees grown from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Booster, ConfidenceBooster, Costs, Round
from vjcascade.boosters.adaboost import AdaBoost
from vjcascade.boosters.base import TIE_TOLERANCE
from vjcascade.learning.search import Search
from vjcascade.learning.weak_splits import Stump

MIN_NODE_SAMPLES = 10
"""A node with no more samples is not split any further, as in OpenCV."""

ValuesOf = Callable[[int], NDArray[np.generic]]


@dataclass(frozen=True, eq=False)
class Tree:
    """A small decision tree; a stump is a tree of one node.

    Nodes are in breadth-first order; leaves are numbered in the order of their parents, left before right.

    Attributes
    ----------
    stumps : tuple of Stump
        One for each node: feature, and threshold or subset.
    children : ndarray of shape (n_nodes, 2), dtype int32
        Left and right child: a node if > 0, otherwise minus the number of a leaf.
    sides : ndarray of shape (n_nodes + 1,), dtype int8
        Class of each leaf, -1 or +1.
    """

    stumps: tuple[Stump, ...]
    children: NDArray[np.int32]
    sides: NDArray[np.int8]

    @classmethod
    def of_stump(cls, stump: Stump) -> Tree:
        """Return a tree of one node."""
        return cls((stump,), np.array([[0, -1]], np.int32), np.array(stump.sides, np.int8))

    def leaves_of(self, values_of: ValuesOf) -> NDArray[np.intp]:
        """Return the leaf that each sample reaches.

        Parameters
        ----------
        values_of : callable
            Returns a feature's values on the samples, shape (n_samples,).

        Returns
        -------
        ndarray of shape (n_samples,), dtype intp
            Numbers of leaves.
        """
        place: NDArray[np.intp] | None = None
        for node, (stump, (left, right)) in enumerate(zip(self.stumps, self.children.tolist(), strict=True)):
            goes = np.where(stump.goes_left(values_of(stump.feature)), left, right).astype(np.intp)
            place = goes if place is None else np.where(place == node, goes, place)
        if place is None:
            raise ValueError("a tree without nodes has no leaves")
        return -place


def grow_tree(search: Search, booster: Booster, round_: Round, max_depth: int) -> Tree:
    """Grow a tree greedily.

    The root is the booster's best stump. Below it, boosters with real-valued leaves split by their own loss, the
    others by the linearised loss at the root's errors, a weighted error; a leaf then has the class of the larger
    weight. A node is only split if that lowers the loss.

    Parameters
    ----------
    search : Search
        Measures stumps on the training samples.
    booster : Booster
        Judges them.
    round_ : Round
        The round's weights.
    max_depth : int
        1 for a stump. Each node takes a search of the pool.

    Returns
    -------
    Tree
        With at most 2 ** max_depth leaves.
    """
    root = best_stump(search, booster, round_)
    if max_depth == 1 or root.sides[0] == root.sides[1]:
        return Tree.of_stump(root)
    if not isinstance(booster, ConfidenceBooster):
        round_ = round_.scaled(*booster.slope(root.error_p, root.error_n, round_))
        booster = AdaBoost(Costs())
    return _Growth(search, booster, round_).grow(root, max_depth)


def best_stump(search: Search, booster: Booster, round_: Round) -> Stump:
    """Return the stump that a booster chooses among a search's candidates.

    Parameters
    ----------
    search : Search
        Measures stumps on the training samples.
    booster : Booster
        Judges them.
    round_ : Round
        The round's weights.

    Returns
    -------
    Stump
        One of `Search.candidates`.
    """
    stumps = search.candidates(round_, booster)
    errors_p = np.array([stump.error_p for stump in stumps])
    errors_n = np.array([stump.error_n for stump in stumps])
    return stumps[booster.choose(errors_p, errors_n, round_)]


class _Growth:
    """Splits node after node, breadth first."""

    def __init__(self, search: Search, booster: Booster, round_: Round) -> None:
        self._search = search
        self._booster = booster
        self._round = round_

    def grow(self, root: Stump, max_depth: int) -> Tree:
        """Return the tree below a root."""
        stumps = [root]
        children: list[list[int]] = []
        sides: list[int] = []
        waiting = [(0, np.ones(len(self._search.labels), np.bool_), 1)]
        while waiting:
            node, mask, depth = waiting.pop(0)
            goes_left = stumps[node].goes_left(self._search.values(stumps[node].feature))
            pair = []
            for part in (mask & goes_left, mask & ~goes_left):
                split = self._split(part) if depth < max_depth else None
                if split is None:
                    pair.append(-len(sides))
                    sides.append(self._side(part))
                else:
                    pair.append(len(stumps))
                    waiting.append((len(stumps), part, depth + 1))
                    stumps.append(split)
            children.append(pair)
        return Tree(tuple(stumps), np.array(children, np.int32), np.array(sides, np.int8))

    def _split(self, part: NDArray[np.bool_]) -> Stump | None:
        """Return the best stump on a part of the samples, or None if none lowers the loss."""
        inside = self._round.within(part)
        if np.count_nonzero(part) <= MIN_NODE_SAMPLES or not (
            inside.positive_weight > 0 < inside.negative_weight
        ):
            return None
        stump = best_stump(self._search, self._booster, inside)
        unsplit = (
            self._loss(0.0, inside.negative_weight, inside),
            self._loss(inside.positive_weight, 0.0, inside),
        )
        lowers = self._loss(stump.error_p, stump.error_n, inside) < min(unsplit) - TIE_TOLERANCE
        return stump if lowers and stump.sides[0] != stump.sides[1] else None

    def _loss(self, error_p: float, error_n: float, round_: Round) -> float:
        return float(self._booster.loss(np.array([error_p]), np.array([error_n]), round_)[0])

    def _side(self, part: NDArray[np.bool_]) -> int:
        return 1 if self._round.positive_part[part].sum() >= self._round.negative_part[part].sum() else -1
