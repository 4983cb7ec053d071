from __future__ import annotations

from itertools import islice

import builders
import naive
import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Costs, make_booster
from vjcascade.features import enumerate_haar
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.learning.boosting import boost
from vjcascade.learning.pool import PoolSearch
from vjcascade.learning.samples import samples_of
from vjcascade.learning.search import N_EXACT, StumpSearch
from vjcascade.learning.table_search import TableSearch
from vjcascade.types import Size

BOOSTERS = [
    ("adaboost", Costs(), {}, "sample"),
    ("adaboost", Costs(5, 1), {}, "equal"),  # costs do not count
    ("cost-generalized", Costs(3, 1), {}, "class"),
    ("cost-generalized", Costs(1, 2.5), {"prior": "sample"}, "sample"),
]


def root(weak):
    return weak.tree.stumps[0]


def haar_search(pool, windows, n_positives):
    return StumpSearch(samples_of(pool, WindowIntegrals.of(windows), n_positives, 1))


def random_pool(rng, n_weak, n_samples, noise=0.35):
    """Return weak classifiers that are wrong on a share of the samples, and labels of both classes."""
    labels = np.where(rng.random(n_samples) < 0.5, 1, -1).astype(np.int8)
    labels[:2] = 1, -1
    wrong = rng.random((n_weak, n_samples)) < noise
    return np.where(wrong, -labels, labels).astype(np.int8).T, labels


def some_of(rounds):
    """Return all rounds of a run that should end by itself, or fifty."""
    return list(islice(rounds, 50))


def start_weights(labels, costs, prior):
    if prior == "equal":
        return naive.initial_weights(labels, 1, 1, "sample")
    return naive.initial_weights(labels, costs.positive, costs.negative, prior)


@pytest.mark.parametrize(("name", "costs", "options", "prior"), BOOSTERS)
def test_explicit_pools_equal_plain_loops(rng, name, costs, options, prior):
    for _ in range(5):
        pool, labels = random_pool(rng, 12, 40)
        expected, _, _ = naive.boost_pool(pool.T, labels, start_weights(labels, costs, prior), 15)
        weak = list(islice(boost(PoolSearch(pool, labels), make_booster(name, costs, **options)), 15))
        assert [root(w).feature for w in weak] == [index for index, _ in expected]
        np.testing.assert_allclose([w.alpha for w in weak], [a for _, a in expected], rtol=0, atol=1e-10)


@pytest.mark.parametrize(("name", "costs", "options", "prior"), BOOSTERS)
def test_real_stumps_equal_plain_loops(rng, name, costs, options, prior):
    """In lockstep: each round's stump must be best for the naive weights, then both go on with it."""
    windows = np.stack([builders.smooth_noise(rng, 6, 6) for _ in range(60)])
    pool = enumerate_haar(Size(6, 6))
    pool = pool[rng.permutation(len(pool))[:N_EXACT]]
    search = haar_search(pool, windows, 25)
    rows = search.samples.values(np.arange(len(pool)))
    weights = start_weights(search.labels, costs, prior)
    weak = list(islice(boost(search, make_booster(name, costs, **options)), 10))
    assert len(weak) == 10
    for one in weak:
        stump = root(one)
        outputs = [stump.sides[int(v >= stump.threshold)] for v in rows[stump.feature]]
        feature, error = naive.best_feature(rows, search.labels, weights)
        error = min(error, *(sum(naive.weighted_errors([s] * 60, search.labels, weights)) for s in (-1, 1)))
        assert sum(naive.weighted_errors(outputs, search.labels, weights)) == pytest.approx(error, abs=1e-11)
        if stump.sides[0] != stump.sides[1]:
            assert stump.feature == feature
        assert one.alpha == pytest.approx(naive.half_log_odds(error), abs=1e-9)
        weights, _ = naive.reweight(weights, search.labels, outputs, one.alpha)


def test_leaves_are_the_votes_of_the_sides(rng):
    pool, labels = random_pool(rng, 5, 30)
    for one in islice(boost(PoolSearch(pool, labels), make_booster("adaboost", Costs())), 5):
        assert one.leaves.tolist() == [-one.alpha, one.alpha]
    values = np.array([-1, 0, 1], np.float32)
    left, right = one.leaves.astype(np.float32).tolist()
    assert one.votes(lambda _: values).tolist() == [left, right, right]


def test_leaves_turn_with_the_polarity(rng):
    windows = rng.integers(0, 256, (40, 6, 6), np.uint8)
    search = haar_search(enumerate_haar(Size(6, 6)), windows, 20)
    weak = list(islice(boost(search, make_booster("adaboost", Costs())), 12))
    assert {root(w).sides for w in weak} >= {(-1, 1), (1, -1)}
    for one in weak:
        assert np.sign(one.leaves).tolist() == list(root(one).sides)
        called = np.where(search.values(root(one).feature) < root(one).threshold, *root(one).sides)
        assert np.array_equal(np.sign(one.votes(search.values)), called)


def test_no_help_no_weak_classifier():
    labels = np.array([1, 1, -1, -1], np.int8)
    coins = np.array([[1, -1, 1, -1], [1, -1, -1, 1]], np.int8).T
    assert some_of(boost(PoolSearch(coins, labels), make_booster("adaboost", Costs()))) == []


def test_ends_where_nothing_helps_any_more():
    """Everything positive pays once at high cost; then it is as good as a coin."""
    labels = np.array([1, -1, -1], np.int8)
    pool = np.ones((3, 1), np.int8)
    weak = some_of(boost(PoolSearch(pool, labels), make_booster("cost-generalized", Costs(9, 1))))
    assert [w.alpha for w in weak] == [pytest.approx(0.5 * np.log(9))]
    assert not weak[0].perfect


def test_a_perfect_weak_classifier_is_the_last():
    labels = np.array([1, -1, -1, 1], np.int8)
    pool = np.array([[1, 1, -1, 1], labels], np.int8).T
    weak = some_of(boost(PoolSearch(pool, labels), make_booster("adaboost", Costs())))
    assert [(root(w).feature, w.perfect) for w in weak] == [(1, True)]
    assert weak[0].alpha == pytest.approx(13.8155, abs=1e-4)


def test_samples_without_weight_need_not_be_right():
    """They count as if they had not been given, for trees and stumps of any search."""
    table, labels = np.array([[1.0], [2.0], [0.0], [3.0]]), np.array([1, 1, -1, -1], np.int8)
    state = BoostingState.start(labels, np.array([1.0, 1, 1, 0]))
    weak = some_of(boost(TableSearch(table, 2), make_booster("adaboost", Costs()), state))
    assert [(float(root(w).threshold), w.perfect) for w in weak] == [(0.5, True)]
    assert state.score.round(1).tolist() == [13.8, 13.8, -13.8, 13.8]


def test_a_run_goes_on_from_a_state(rng):
    pool, labels = random_pool(rng, 12, 40)
    search, booster = PoolSearch(pool, labels), make_booster("adaboost", Costs())
    whole = list(islice(boost(search, booster), 8))
    state = BoostingState.start(labels)
    parts = [*islice(boost(search, booster, state), 3), *islice(boost(search, booster, state), 5)]
    assert [(root(w).feature, w.alpha) for w in parts] == [(root(w).feature, w.alpha) for w in whole]
    assert state.n_rounds == 8


def test_hardly_any_weight_wrong_is_not_perfect():
    """At a cost ratio of 1e13 a false alarm weighs next to nothing, but it is one."""
    labels = np.array([1, -1, -1], np.int8)
    pool = np.array([[1, 1, -1]], np.int8).T
    weak = next(boost(PoolSearch(pool, labels), make_booster("cost-generalized", Costs(1e13, 1))))
    assert not weak.perfect


def test_thousands_of_rounds_at_high_cost(rng):
    """Weights are a closed form of the score, so nothing underflows: the last round is still exact."""
    pool, labels = random_pool(rng, 30, 60, noise=0.42)
    search, booster = PoolSearch(pool, labels), make_booster("cost-generalized", Costs(1000, 1))
    state = BoostingState.start(search.labels)
    n_rounds = 0
    for one in islice(boost(search, booster), 5000):
        state.add(pool[:, root(one).feature], one.alpha)
        n_rounds += 1
        assert np.isfinite(one.alpha)
        assert one.alpha > 0
    assert n_rounds == 5000
    weights = booster.begin_round(state).weights
    assert np.isfinite(weights).all()
    assert weights.min() > 0
    assert weights.sum() == pytest.approx(1)
