"""Cost-Generalized AdaBoost, and AdaBoost as its special case, against the formulas."""

from __future__ import annotations

from itertools import islice

import doubles
import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import BoostingState, Costs, make_booster
from vjcascade.errors import SettingsError
from vjcascade.training.boosting import boost

costs = st.floats(0.01, 100)
seeds = st.integers(0, 2**32 - 1)


def run(booster, pool, labels, n_rounds):
    """Boost with the package; return choices, alphas and the state after the last round."""
    search, state = doubles.PoolSearch(pool, labels), BoostingState.start(labels)
    chosen, alphas = [], []
    for one in islice(boost(search, booster), n_rounds):
        state.add(search.outputs(one.stump), one.alpha)
        chosen.append(one.stump.feature)
        alphas.append(one.alpha)
    return chosen, alphas, state


@given(seeds, costs, costs, st.sampled_from(["class", "sample"]))
@settings(max_examples=40, deadline=None)
def test_closed_form_weights_are_the_products(seed, cost_p, cost_n, prior):
    """After every round, D from the score equals D from round-by-round products."""
    pool, labels = doubles.random_pool(np.random.default_rng(seed), 6, 20)
    booster = make_booster("cost-generalized", Costs(cost_p, cost_n), prior=prior)
    start = naive.initial_weights(labels, cost_p, cost_n, prior)
    for n_rounds in (0, 1, 3, 10):
        chosen, alphas, state = run(booster, pool, labels, n_rounds)
        weights = start
        for index, alpha in zip(chosen, alphas, strict=True):
            weights, _ = naive.reweight(weights, labels, pool[index], alpha)
        np.testing.assert_allclose(booster.begin_round(state).weights, weights, rtol=1e-9, atol=1e-15)


@given(seeds, costs, costs)
@settings(max_examples=60, deadline=None)
def test_the_bound_is_the_product_of_all_z(seed, cost_p, cost_n):
    pool, labels = doubles.random_pool(np.random.default_rng(seed), 8, 24)
    start = naive.initial_weights(labels, cost_p, cost_n, "class")
    _, _, state = run(make_booster("cost-generalized", Costs(cost_p, cost_n)), pool, labels, 12)
    _, _, factors = naive.boost_pool(pool, labels, start, state.n_rounds)
    loss = float(np.dot(start, np.exp(-labels * state.score)))
    assert len(factors) == state.n_rounds
    assert loss == pytest.approx(np.prod(factors), rel=1e-8)
    gamma = cost_p / (cost_p + cost_n)
    said = np.where(state.score >= 0, 1, -1)
    error_p, error_n = (said[labels > 0] < 0).mean(), (said[labels < 0] > 0).mean()
    assert loss >= gamma * error_p + (1 - gamma) * error_n - 1e-12


@given(seeds, st.floats(0.01, 100))
@settings(max_examples=30, deadline=None)
def test_equal_costs_by_sample_are_adaboost(seed, cost):
    pool, labels = doubles.random_pool(np.random.default_rng(seed), 8, 25)
    cga = make_booster("cost-generalized", Costs(cost, cost), prior="sample")
    chosen, alphas, _ = run(cga, pool, labels, 12)
    expected, expected_alphas, _ = run(make_booster("adaboost", Costs()), pool, labels, 12)
    assert chosen == expected
    np.testing.assert_allclose(alphas, expected_alphas, rtol=0, atol=1e-9)


def test_equal_costs_by_class_are_adaboost_only_in_balance():
    def first_weights(labels):
        state = BoostingState.start(np.array(labels, np.int8))
        return make_booster("cost-generalized", Costs()).begin_round(state).weights

    np.testing.assert_allclose(first_weights([1, 1, -1, -1]), 0.25)
    np.testing.assert_allclose(first_weights([1, -1, -1]), [0.5, 0.25, 0.25])


@given(seeds, costs, costs, st.sampled_from([1e-6, 0.3, 1e6]), st.sampled_from(["class", "sample"]))
@settings(max_examples=30, deadline=None)
def test_only_the_ratio_of_costs_counts(seed, cost_p, cost_n, scale, prior):
    pool, labels = doubles.random_pool(np.random.default_rng(seed), 8, 25)
    runs = [
        run(make_booster("cost-generalized", Costs(k * cost_p, k * cost_n), prior=prior), pool, labels, 8)
        for k in (1, scale)
    ]
    assert runs[0][0] == runs[1][0]
    np.testing.assert_allclose(runs[0][1], runs[1][1], rtol=0, atol=1e-8)


def test_everything_positive_at_high_cost():
    """The first pick may call everything positive; its alpha is 1/2 log(C_P / C_N)."""
    labels = np.array([1, 1, -1, -1, -1], np.int8)
    pool = np.array([[1, -1, -1, -1, -1], [1, 1, 1, 1, 1]], np.int8)
    chosen, alphas, _ = run(make_booster("cost-generalized", Costs(1000, 1)), pool, labels, 1)
    assert chosen == [1]
    assert alphas == [pytest.approx(0.5 * np.log(1000))]


def test_adaboost_does_not_see_costs(rng):
    pool, labels = doubles.random_pool(rng, 8, 25)
    runs = [run(make_booster("adaboost", c), pool, labels, 8) for c in (Costs(), Costs(100, 1))]
    assert runs[0][:2] == runs[1][:2]


def test_a_prior_of_another_name_is_refused():
    with pytest.raises(SettingsError, match="prior 'clas' is not one of class, sample"):
        make_booster("cost-generalized", Costs(), prior="clas")
