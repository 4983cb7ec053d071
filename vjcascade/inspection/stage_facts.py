"""What is in each stage of a model, and between which sums its votes can come out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.evaluation.features import features_of_stages
from vjcascade.features.families import family_of


@dataclass(frozen=True)
class StageFacts:
    """One stage.

    Attributes
    ----------
    stage : int
        Counted from 1.
    n_weak : int
        Weak classifiers.
    n_nodes : int
        Nodes of all its trees; of stumps, as many as weak classifiers.
    n_features : int
        Different features that it looks at.
    n_tilted : int
        Tilted ones among them.
    threshold : float
        As the file has it.
    effective_threshold : float
        What a sum of votes must not fall below, in the detector.
    lowest, highest : float
        Bounds of that sum: the least and the greatest leaf value of each weak classifier, added up as the detector
        does.
    mean_features : float
        Features evaluated in a window, if all leaves of a tree are as likely.

    Examples
    --------
    >>> StageFacts(1, 5, 5, 5, 0, -1.4, -1.4, -4.0, 4.0, 5.0).n_weak
    5
    """

    stage: int
    n_weak: int
    n_nodes: int
    n_features: int
    n_tilted: int
    threshold: float
    effective_threshold: float
    lowest: float
    highest: float
    mean_features: float

    @property
    def passes_all(self) -> bool:
        """Whether no window can miss it."""
        return self.lowest >= self.effective_threshold

    @property
    def rejects_all(self) -> bool:
        """Whether no window can pass it."""
        return self.highest < self.effective_threshold


def stage_facts(cascade: Cascade) -> list[StageFacts]:
    """Return what is in each stage.

    Parameters
    ----------
    cascade : Cascade
        The model.

    Returns
    -------
    list of StageFacts
        One for each stage.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> stage_facts(Cascade(Size(24, 24)))
    []
    """
    least, greatest = leaf_ranges(cascade)
    family, mean_features = family_of(cascade.features), features_of_stages(cascade)
    keys = feature_keys(cascade)
    facts = []
    for s in range(cascade.n_stages):
        trees = slice(*cascade.stage_starts[s : s + 2].tolist())
        nodes = nodes_of_stage(cascade, s)
        used = cascade.nodes["feature"][nodes]
        features = cascade.features[used[np.unique(keys[used], return_index=True)[1]]]
        facts.append(
            StageFacts(
                s + 1,
                trees.stop - trees.start,
                nodes.stop - nodes.start,
                len(features),
                int(features["tilted"].sum()) if family.has_tilted(features) else 0,
                float(cascade.stage_thresholds[s]),
                float(cascade.effective_thresholds[s]),
                float(np.cumsum(least[trees])[-1]),  # one by one; np.sum would round otherwise
                float(np.cumsum(greatest[trees])[-1]),
                mean_features[s],
            )
        )
    return facts


def feature_keys(cascade: Cascade) -> NDArray[np.void]:
    """Return features as mere bytes: equal ones are of equal bytes, and NumPy sorts these.

    Parameters
    ----------
    cascade : Cascade
        The model.

    Returns
    -------
    ndarray of shape (n_features,), dtype void
        In the order of `Cascade.features`.
    """
    features = np.ascontiguousarray(cascade.features)
    return features.view(f"V{features.dtype.itemsize}")


def nodes_of_stage(cascade: Cascade, stage: int) -> slice:
    """Return which nodes are those of a stage, counted from 0.

    Parameters
    ----------
    cascade : Cascade
        The model.
    stage : int
        Counted from 0.

    Returns
    -------
    slice
        Of `Cascade.nodes`.
    """
    begin, end = cascade.tree_starts[cascade.stage_starts[stage : stage + 2]].tolist()
    return slice(begin, end)


def leaf_ranges(cascade: Cascade) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the greatest leaf value that nodes of each weak classifier lead to.

    Parameters
    ----------
    cascade : Cascade
        The model.

    Returns
    -------
    least, greatest : ndarray of shape (n_trees,), dtype float64
        Leaves that no node leads to do not count.
    """
    if not cascade.n_trees:
        return np.empty(0), np.empty(0)
    sizes = np.diff(cascade.tree_starts)
    first_leaf = np.repeat(cascade.tree_starts[:-1] + np.arange(cascade.n_trees), sizes)
    sides = np.stack([cascade.nodes["left"], cascade.nodes["right"]])
    votes = cascade.leaves[first_leaf - np.minimum(sides, 0)].astype(np.float64)
    starts = cascade.tree_starts[:-1]
    least = np.minimum.reduceat(np.where(sides > 0, np.inf, votes).min(axis=0), starts)
    greatest = np.maximum.reduceat(np.where(sides > 0, -np.inf, votes).max(axis=0), starts)
    return least, greatest
