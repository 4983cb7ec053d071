from __future__ import annotations

from itertools import islice

import builders
import naive
import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Costs, booster_names, make_booster
from vjcascade.features import enumerate_haar
from vjcascade.features.bins import Bins
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.learning.boosting import boost
from vjcascade.learning.samples import samples_of
from vjcascade.learning.search import StumpSearch
from vjcascade.learning.trees import MIN_NODE_SAMPLES, Tree, best_stump, grow_tree
from vjcascade.learning.weak_splits import THRESHOLDS, Stump
from vjcascade.types import Size


class Columns:
    """Samples given by a few columns of small whole numbers, which are their own bins; positives first."""

    splits = THRESHOLDS

    def __init__(self, columns, labels):
        order = np.argsort(-np.asarray(labels), kind="stable")
        self.labels = np.asarray(labels, np.int8)[order]
        self._columns = np.asarray(columns, np.uint8)[:, order]
        self.bins = Bins.of_rows(self._columns)

    def values(self, features):
        return self._columns[features].astype(np.float64)


def exclusive_or(n=40):
    """Return two columns whose exclusive or is the label, slightly unbalanced so that a first cut can be found."""
    x = np.array([[0, 0, 1, 1], [0, 1, 0, 1]]).repeat([n, n + 3, n + 1, n + 2], axis=1)
    return Columns(x, np.where(x[0] ^ x[1], 1, -1))


def stump(feature, threshold):
    return Stump(feature, np.float64(threshold), (-1, 1), 0.0, 0.0)


def test_leaves_of_a_tree_equal_plain_loops(rng):
    children = np.array([[1, 2], [0, -1], [-2, 3], [-3, -4]], np.int32)
    tree = Tree(
        tuple(stump(f, t) for f, t in ((0, 0.5), (1, 0.3), (1, 0.6), (2, 0.5))),
        children,
        np.array([1, -1, 1, -1, 1], np.int8),
    )
    values = rng.random((3, 200))
    leaves = tree.leaves_of(lambda feature: values[feature])
    for sample, leaf in zip(values.T, leaves, strict=True):
        node = 0
        while True:
            node = children[node][int(sample[tree.stumps[node].feature] >= tree.stumps[node].threshold)]
            if node <= 0:
                break
        assert leaf == -node
    assert set(leaves) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("name", booster_names())
def test_two_levels_learn_what_no_stump_can(name):
    """One tree separates the exclusive or of two columns; of stumps, none does, whatever their number."""
    samples = exclusive_or()
    booster = make_booster(name, Costs(1.2, 1))
    round_ = booster.begin_round(BoostingState.start(samples.labels))
    tree = grow_tree(StumpSearch(samples), booster, round_, 2)
    if len(tree.stumps) == 1:
        assert best_stump(StumpSearch(samples), booster, round_).sides in {(1, 1), (-1, -1)}
        return
    assert len(tree.stumps) == 3
    assert tree.children.tolist() == [[1, 2], [0, -1], [-2, -3]]
    called = tree.sides[tree.leaves_of(StumpSearch(samples).values)]
    assert called.tolist() == samples.labels.tolist()


@pytest.mark.parametrize(
    "name", ["adaboost", "cost-sensitive", "adaboostdb", "real", "gentle", "logit", "adac3"]
)
def test_deeper_trees_fit_better(rng, name):
    """After as many rounds, the training error of deeper trees is no higher."""
    windows = np.stack([builders.smooth_noise(rng, 7, 7) for _ in range(160)])
    pool = enumerate_haar(Size(7, 7))[::5]
    search = StumpSearch(samples_of(pool, WindowIntegrals.of(windows), 70, 1))
    wrong = []
    for depth in (1, 2, 3):
        weak = list(islice(boost(search, make_booster(name, Costs(2, 1)), max_depth=depth), 6))
        assert all(len(one.tree.stumps) < 2**depth for one in weak)
        scores = sum(one.votes(search.values) for one in weak)
        wrong.append(int(np.count_nonzero((scores >= 0) != (search.labels > 0))))
    assert wrong[2] <= wrong[1] <= wrong[0]
    assert wrong[2] < wrong[0]


def test_every_split_lowers_the_error_and_leaves_say_what_costs_less(rng):
    windows = np.stack([builders.smooth_noise(rng, 6, 6) for _ in range(90)])
    search = StumpSearch(samples_of(enumerate_haar(Size(6, 6))[::7], WindowIntegrals.of(windows), 40, 1))
    booster = make_booster("cost-generalized", Costs(3, 1))
    round_ = booster.begin_round(BoostingState.start(search.labels))
    errors = []
    for depth in (1, 2, 3, 4):
        tree = grow_tree(search, booster, round_, depth)
        where = tree.leaves_of(search.values)
        sums_p, sums_n = round_.weight_sums(where, len(tree.sides))
        if depth > 1:
            assert tree.sides.tolist() == np.where(sums_p >= sums_n, 1, -1).tolist()
        errors.append(sum(naive.weighted_errors(tree.sides[where], search.labels, round_.weights)))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0]


def test_small_nodes_are_left_alone():
    samples = exclusive_or(n=2)
    n = len(samples.labels)
    assert n // 2 <= MIN_NODE_SAMPLES
    booster = make_booster("gentle", Costs())
    round_ = booster.begin_round(BoostingState.start(samples.labels))
    assert len(grow_tree(StumpSearch(samples), booster, round_, 4).stumps) == 1
