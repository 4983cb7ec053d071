"""Boosting over an explicit pool: what it returns, when it stops, and input that it refuses."""

from __future__ import annotations

import math

import naive_boosters
import numpy as np
import pools
import pytest

from vjcascade.boosters import Costs, make_booster, registry
from vjcascade.errors import SettingsError
from vjcascade.learning.pool import boost_pool

LABELS = np.array([1, 1, -1, -1, -1], np.int8)
GOOD = np.array([[1, 1, 1], [1, -1, -1], [-1, -1, 1], [-1, -1, -1], [1, -1, -1]], np.int8)
NAMES = sorted(registry._BOOSTERS)


def adaboost(n_rounds=10):
    return make_booster("adaboost", Costs(), n_rounds)


# ---- What it returns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_the_sums_of_the_leaves_round_by_round(name):
    pool, labels = pools.random_pool(3, 9, 14, 12)
    run = boost_pool(pool, labels, make_booster(name, Costs(1.5, 1)), 6)
    others, _ = pools.random_pool(4, 5, 6, 12)
    others = np.resize(others, (11, pool.shape[1])).astype(np.int8)
    scores = run.scores(others)
    assert 0 < len(run.chosen) == len(run.alphas) == len(run.leaves) == len(scores) == run.state.n_rounds
    for i, sample in enumerate(others):
        votes = [leaf[int(sample[j] > 0)] for j, leaf in zip(run.chosen, run.leaves, strict=True)]
        np.testing.assert_allclose(scores[:, i], np.cumsum(votes), rtol=1e-12)
    if not name.startswith("csb"):  # whose votes have costs
        np.testing.assert_allclose(run.scores(pool)[-1], run.state.score, rtol=0, atol=1e-9)


def test_no_rounds_are_no_scores():
    run = boost_pool(GOOD, LABELS, adaboost(), 0)
    assert (run.chosen, run.alphas) == ([], [])
    assert run.leaves.shape == (0, 2)
    assert run.scores(GOOD).shape == (0, 5)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_run_twice_is_the_same(name):
    pool, labels = pools.random_pool(8)
    booster = make_booster(name, Costs(3, 2))
    first, second = (boost_pool(pool, labels, booster, 8) for _ in range(2))
    assert first.chosen == second.chosen
    assert np.array_equal(first.leaves, second.leaves)


# ---- When it stops ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sample_weight", [None, np.array([1.0, 2, 3, 0, 1])])
def test_a_perfect_classifier_is_the_last(name, sample_weight):
    """Also one that errs only where samples weigh nothing."""
    perfect = LABELS.copy()
    if sample_weight is not None:
        perfect[3] = 1
    pool = np.column_stack([GOOD, perfect])
    run = boost_pool(pool, LABELS, make_booster(name, Costs()), 10, sample_weight=sample_weight)
    assert run.chosen == [3]
    assert np.isfinite(run.leaves).all()
    counted = np.ones(5) if sample_weight is None else sample_weight
    assert np.array_equal(np.sign(run.state.score)[counted > 0], LABELS[counted > 0])


@pytest.mark.parametrize(
    ("algorithm", "alpha"),
    [
        *(
            (name, 13.8155)
            for name in ("adaboost", "asymboost", "csb0", "csb1", "csb2", "adac2", "cga", "cga_sample")
        ),
        *((name, 13.8155) for name in ("csa_uniform", "csa_balanced", "adaboostdb", "adaboostdb_mass")),
        ("adac1", 0.5 * math.log((1 + 0.7) / (1 - 0.7))),
        ("adac3", 0.5 * math.log((0.7 + 0.55) / (0.7 - 0.55))),
    ],
)
def test_the_step_of_a_perfect_classifier(algorithm, alpha):
    """Clipped at error 1e-12, and finite of itself where costs below 1 are in the exponent: c = (1, 1/2)."""
    name, options = naive_boosters.NAMES[algorithm]
    pool = np.column_stack([GOOD, LABELS])
    run = boost_pool(pool, LABELS, make_booster(name, Costs(2, 1), **options), 3)
    assert run.alphas == [pytest.approx(alpha, abs=1e-4)]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_learnt_from_classifiers_that_are_right_half_the_time(name):
    """eps = 1/2 in both classes. CSB0 and its like weigh errors alone: they stop as well."""
    labels = np.array([1, 1, -1, -1], np.int8)
    pool = np.array([[1, -1], [-1, 1], [1, 1], [-1, -1]], np.int8)
    run = boost_pool(pool, labels, make_booster(name, Costs()), 10)
    assert run.chosen == []
    assert not run.state.score.any()


def test_at_error_one_half_literally_nothing_changes_in_adaboost():
    labels = np.array([1, 1, -1, -1], np.int8)
    pool = np.array([[1], [-1], [1], [-1]], np.int8)
    run = boost_pool(pool, labels, adaboost(), 3, literal=True)
    assert run.alphas == [0, 0, 0]
    adacost = boost_pool(pool, labels, make_booster("adacost", Costs()), 1, literal=True)
    assert adacost.alphas == [pytest.approx(-0.2554, abs=1e-4)]


@pytest.mark.parametrize("name", NAMES)
def test_constant_classifiers_alone(name):
    """What says the same of all samples helps while it moves the balance of the classes, and then no more."""
    constant = np.ones((5, 2), np.int8) * np.array([1, -1], np.int8)
    run = boost_pool(constant, LABELS, make_booster(name, Costs(5, 1)), 30)
    assert np.isfinite(run.leaves).all()
    assert len(set(run.state.score[LABELS > 0])) == len(set(run.state.score[LABELS < 0])) == 1
    if name in {"adaboost", "cost-generalized", "cost-sensitive", "adaboostdb", "real", "gentle"}:
        assert len(run.chosen) <= 4


def test_literally_a_worse_classifier_than_chance_is_used_as_its_negative():
    run = boost_pool(-LABELS[:, None], LABELS, adaboost(), 1, literal=True)
    assert run.alphas == [pytest.approx(-13.8155, abs=1e-4)]
    assert boost_pool(-LABELS[:, None], LABELS, adaboost(), 1).chosen == []


def test_of_copies_the_first_is_chosen():
    pool = np.hstack([GOOD, GOOD])
    for name in NAMES:
        assert max(boost_pool(pool, LABELS, make_booster(name, Costs(2, 1)), 6).chosen, default=0) < 3


# ---- Input that it refuses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 3), (5,), (5, 0), (5, 3, 1)])
def test_pools_of_another_shape(shape):
    with pytest.raises(
        SettingsError, match=rf"a pool of shape \({str(shape)[1:-1]}\) does not fit labels of shape"
    ):
        boost_pool(np.ones(shape, np.int8), LABELS, adaboost(), 3)


def test_labels_of_another_shape():
    with pytest.raises(SettingsError, match=r"labels of shape \(5, 1\)"):
        boost_pool(GOOD, LABELS[:, None], adaboost(), 3)


@pytest.mark.parametrize("value", [0, 2, -3])
def test_other_values_are_named(value):
    pool, labels = GOOD.copy(), LABELS.copy()
    pool[1, 2] = labels[1] = value
    with pytest.raises(SettingsError, match=f"the pool must only contain -1 and [+]1, not {value}"):
        boost_pool(pool, LABELS, adaboost(), 3)
    with pytest.raises(SettingsError, match=f"the labels must only contain -1 and [+]1, not {value}"):
        boost_pool(GOOD, labels, adaboost(), 3)


@pytest.mark.parametrize("label", [1, -1])
def test_one_class(label):
    with pytest.raises(SettingsError, match="samples of both classes"):
        boost_pool(GOOD, np.full(5, label, np.int8), adaboost(), 3)


def test_a_class_without_weight():
    with pytest.raises(SettingsError, match="all 2 positives have sample weight 0"):
        boost_pool(GOOD, LABELS, adaboost(), 3, sample_weight=np.array([0.0, 0, 1, 1, 1]))
