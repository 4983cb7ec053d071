"""The laws of the discrete boosters: closed forms, bounds, identities between them."""

from __future__ import annotations

import naive_boosters
import numpy as np
import pools
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import BoostingState, Costs, make_booster
from vjcascade.boosters.base import normalised
from vjcascade.learning.pool import boost_pool

DISCRETE = list(naive_boosters.NAMES)


def make(algorithm, costs, n_rounds=100):
    name, options = naive_boosters.NAMES[algorithm]
    return make_booster(name, costs, n_rounds, **options)


def errors_of(pool, round_):
    """Return the class-wise errors of all weak classifiers."""
    return round_.positive_part @ (pool < 0), round_.negative_part @ (pool > 0)


@pytest.mark.parametrize("algorithm", DISCRETE)
@given(pools.seeds, pools.costs, st.sampled_from([0, 1, 5, 60]))
@settings(max_examples=9, deadline=None)
def test_weights_from_the_score_are_the_products_of_all_rounds(algorithm, seed, costs, n_rounds):
    """Whatever was chosen: the recipe is told the choices and steps, and multiplies its weights."""
    pool, labels = pools.random_pool(seed)
    booster = make(algorithm, costs, n_rounds + 1)
    pair = naive_boosters.costs_in_print(algorithm, costs)
    recipe = naive_boosters.RECIPES[algorithm](labels, *pair, n_rounds + 1)
    recipe.start(np.full(len(labels), 1 / len(labels)))
    rng, state = np.random.default_rng(seed), BoostingState.start(labels)
    for h in pool[:, rng.integers(0, pool.shape[1], n_rounds)].T:
        alpha = rng.uniform(-0.1, 0.3) / max(pair)
        recipe.update(h.astype(float), alpha)
        state.add(h, alpha)
    weights = normalised(booster.log_weights(state))
    np.testing.assert_allclose(weights, recipe.weights, rtol=1e-8, atol=1e-300)


@given(pools.seeds, pools.far_costs)
@settings(max_examples=27, deadline=None)
def test_cost_generalized_adaboosts_bound_is_the_product_of_all_z(seed, costs):
    pool, labels = pools.random_pool(seed)
    run = boost_pool(pool, labels, make("cga", costs), 12)
    positive = labels > 0
    start = np.where(positive, costs.gamma / positive.sum(), (1 - costs.gamma) / (~positive).sum())
    weights, bound = start, 1.0
    for best, alpha in zip(run.chosen, run.alphas, strict=True):
        weights = weights * np.exp(-alpha * labels * pool[:, best])
        bound *= weights.sum()
        weights = weights / weights.sum()
    loss = (start * np.exp(-labels * run.state.score)).sum()
    wrong = np.where(run.state.score >= 0, 1, -1) != labels
    assert loss == pytest.approx(bound, rel=1e-10)
    assert bound >= costs.gamma * wrong[positive].mean() + (1 - costs.gamma) * wrong[~positive].mean() - 1e-12


@given(pools.seeds, pools.costs, st.integers(1, 10))
@settings(max_examples=27, deadline=None)
def test_asymboosts_identity(seed, costs, n_rounds):
    """sum D0 (CP/CN)^(y/2) e^(-y f) = Z0 prod Z_t, where the last round deals out no more of the ratio."""
    pool, labels = pools.random_pool(seed)
    run = boost_pool(pool, labels, make("asymboost", costs, n_rounds), n_rounds, literal=True)
    tilt = costs.ratio ** (labels / (2 * n_rounds))
    weights = tilt / len(labels)
    product = weights.sum()
    for t, (best, alpha) in enumerate(zip(run.chosen, run.alphas, strict=True), start=1):
        weights = weights / weights.sum() * np.exp(-alpha * labels * pool[:, best])
        weights = weights * tilt if t < n_rounds else weights
        product *= weights.sum()
    loss = (costs.ratio ** (labels / 2) * np.exp(-labels * run.state.score)).mean()
    assert loss == pytest.approx(product, rel=1e-10)


@given(pools.seeds, pools.costs, st.integers(2, 10), st.data())
@settings(max_examples=18, deadline=None)
def test_asymboost_cut_short_is_one_of_less_asymmetry(seed, costs, planned, data):
    done = data.draw(st.integers(1, planned - 1))
    pool, labels = pools.random_pool(seed)
    short = boost_pool(pool, labels, make("asymboost", costs, planned), done, literal=True)
    less = Costs.from_ratio(costs.ratio ** (done / planned))
    whole = boost_pool(pool, labels, make("asymboost", less, done), done, literal=True)
    assert short.chosen == whole.chosen
    np.testing.assert_allclose(short.alphas, whole.alphas, rtol=0, atol=1e-9)


@given(pools.seeds, st.floats(0.3, 3), st.integers(1, 8))
@settings(max_examples=27, deadline=None)
def test_adac2_is_asymboost_at_the_ratio_to_the_power_of_rounds(seed, ratio, n_rounds):
    pool, labels = pools.random_pool(seed)
    adac2 = boost_pool(pool, labels, make("adac2", Costs(ratio, 1)), n_rounds, literal=True)
    costs = Costs.from_ratio(ratio**n_rounds)
    asymboost = boost_pool(pool, labels, make("asymboost", costs, n_rounds), n_rounds, literal=True)
    assert adac2.chosen == asymboost.chosen
    np.testing.assert_allclose(adac2.alphas, asymboost.alphas, rtol=0, atol=1e-9)


@pytest.mark.parametrize("algorithm", ["csb0", "csb1", "csb2"])
@given(pools.seeds, pools.far_costs)
@settings(max_examples=14, deadline=None)
def test_csbs_vote_is_the_plain_vote_with_a_threshold(algorithm, seed, costs):
    pool, labels = pools.random_pool(seed)
    run = boost_pool(pool, labels, make(algorithm, costs), 8, literal=True)
    threshold = run.state.total_alpha * (costs.negative - costs.positive) / (costs.negative + costs.positive)
    expected = (costs.positive + costs.negative) / 2 * (run.state.score - threshold)
    scale = max(costs.positive, costs.negative) * np.abs(run.alphas).sum()
    np.testing.assert_allclose(run.scores(pool)[-1], expected, rtol=0, atol=1e-13 * scale)


@given(pools.seeds, pools.far_costs, st.integers(0, 5))
@settings(max_examples=18, deadline=None)
def test_adacosts_r_is_the_same_for_all_up_to_their_error(seed, costs, n_rounds):
    """r = (1 - 2 eps - S_C)/2: the least error is the greatest r; alpha > 0 exactly if eps < (1 - S_C)/2."""
    pool, labels = pools.random_pool(seed)
    booster = make("adacost", costs)
    round_ = booster.begin_round(boost_pool(pool, labels, booster, n_rounds, literal=True).state)
    adjustment = np.where(labels > 0, costs.gamma, 1 - costs.gamma)
    expected = (round_.weights * adjustment).sum()
    for h, error_p, error_n in zip(pool.T, *errors_of(pool, round_), strict=True):
        beta = np.where(h == labels, (1 - adjustment) / 2, (1 + adjustment) / 2)
        r = (round_.weights * labels * h * beta).sum()
        assert r == pytest.approx((1 - 2 * (error_p + error_n) - expected) / 2, abs=1e-14)
        alpha = booster.alpha(error_p, error_n, round_)
        assert alpha == pytest.approx(0.5 * np.log((1 + r) / (1 - r)), abs=1e-13)
        assert -1 < r < 0.5
        margin = (1 - expected) / 2 - error_p - error_n
        assert (alpha > 0) == (margin > 0) or abs(margin) < 1e-14


@pytest.mark.parametrize("algorithm", ["adac1", "adac1_sum", "adac3", "adac3_sum"])
@given(pools.seeds, pools.far_costs, st.integers(0, 5))
@settings(max_examples=9, deadline=None)
def test_adac_steps_are_positive_below_half_the_mass(algorithm, seed, costs, n_rounds):
    pool, labels = pools.random_pool(seed)
    booster = make(algorithm, costs)
    round_ = booster.begin_round(boost_pool(pool, labels, booster, n_rounds, literal=True).state)
    for error_p, error_n in zip(*errors_of(pool, round_), strict=True):
        margin = (round_.positive_weight + round_.negative_weight) / 2 - error_p - error_n
        alpha = booster.alpha(error_p, error_n, round_)
        assert np.isfinite(alpha)
        assert (alpha > 0) == (margin > 0) or abs(margin) < 1e-14


@given(pools.seeds, st.floats(1, 1000))
@settings(max_examples=14, deadline=None)
def test_the_constant_classifier_is_worth_half_the_log_of_the_ratio_and_then_nothing(seed, ratio):
    _, labels = pools.random_pool(seed)
    everything = np.ones((len(labels), 1), np.int8)
    booster = make("cga", Costs(ratio, 1))
    run = boost_pool(everything, labels, booster, 1, literal=True)
    assert run.alphas == [pytest.approx(0.5 * np.log(ratio), abs=1e-12)]
    round_ = booster.begin_round(run.state)
    assert round_.negative_weight == pytest.approx(0.5, abs=1e-12)
    assert len(boost_pool(everything, labels, booster, 5).chosen) == (ratio > 1 + 1e-9)
