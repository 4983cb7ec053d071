"""Every discrete booster against its printed recipe (`naive_boosters`), on pools, seeds and costs of all kinds."""

from __future__ import annotations

import naive_boosters
import naive_confidence
import numpy as np
import pools
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import Costs, make_booster
from vjcascade.boosters.base import normalised
from vjcascade.learning.pool import boost_pool

N_ROUNDS = 7
TWO_BASES = [name for name in naive_boosters.NAMES if name.startswith(("csa", "adaboostdb"))]
ONE_ERROR = [name for name in naive_boosters.NAMES if name not in TWO_BASES]
some_costs = st.one_of(
    pools.costs,
    st.sampled_from([Costs(1, 1), Costs(2, 1), Costs(1, 3), Costs(3.5, 1), Costs(0.3, 0.3), Costs(40, 1)]),
)


def assert_same_run(algorithm, pool, labels, costs, *, literal, sample_weight=None, n_rounds=N_ROUNDS):
    registered, options = naive_boosters.NAMES[algorithm]
    booster = make_booster(registered, costs, n_rounds, **options)
    given_to_both = {"sample_weight": sample_weight, "literal": literal}
    run = boost_pool(pool, labels, booster, n_rounds, **given_to_both)
    pair = naive_boosters.costs_in_print(algorithm, costs)
    naive = naive_boosters.boost(algorithm, pool, labels, pair, n_rounds, **given_to_both)
    assert run.chosen == naive.chosen
    # A step of alpha is computed from an error of exp(-2 |alpha|), whose last bits are lost where it is next to 1.
    lost = 1e-15 * np.exp(2 * np.abs(naive.alphas).max(initial=0))
    scale = np.abs(naive.score).max(initial=1)
    np.testing.assert_allclose(run.alphas, naive.alphas, rtol=1e-9, atol=1e-10 + lost)
    np.testing.assert_allclose(run.state.score, naive.score, rtol=1e-9, atol=1e-9 + lost * scale)
    if run.chosen:
        np.testing.assert_allclose(run.scores(pool)[-1], naive.vote, rtol=1e-9, atol=1e-9 + lost * scale)
    if run.chosen and len(run.chosen) == n_rounds:
        weights = naive.weights
        if algorithm == "asymboost":  # of which the recipe has dealt out one factor more
            weights = weights * costs.ratio ** (-labels / (2 * n_rounds))
        weights = weights / weights.sum()
        np.testing.assert_allclose(normalised(booster.log_weights(run.state)), weights, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("algorithm", ONE_ERROR)
@given(pools.seeds, some_costs)
@settings(max_examples=18, deadline=None)
def test_literally(algorithm, seed, costs):
    """To the letter: rounds with alpha <= 0 are kept."""
    pool, labels = pools.random_pool(seed)
    assert_same_run(algorithm, pool, labels, costs, literal=True)


def assert_same_until_losses_tie(algorithm, pool, labels, costs, sample_weight=None):
    """Compare up to where steps are so small that all losses tie; steps of any sign, at mild ratios."""
    if algorithm.endswith("anysign"):
        costs = pools.milder(costs)
    registered, options = naive_boosters.NAMES[algorithm]
    booster = make_booster(registered, costs, N_ROUNDS, **options)
    alphas = boost_pool(pool, labels, booster, N_ROUNDS, sample_weight=sample_weight).alphas
    clear = next((t for t, alpha in enumerate(alphas) if abs(alpha) < 1e-4), N_ROUNDS)
    kept = {"literal": False, "sample_weight": sample_weight, "n_rounds": max(clear, 1)}
    assert_same_run(algorithm, pool, labels, costs, **kept)


@pytest.mark.parametrize("algorithm", TWO_BASES)
@given(pools.seeds, some_costs)
@settings(max_examples=9, deadline=None)
def test_double_bases(algorithm, seed, costs):
    pool, labels = pools.random_pool(seed)
    assert_same_until_losses_tie(algorithm, pool, labels, costs)


@pytest.mark.parametrize("algorithm", naive_boosters.NAMES)
@given(pools.seeds, pools.costs)
@settings(max_examples=10, deadline=None)
def test_sample_weights_are_where_the_recipe_starts(algorithm, seed, costs):
    pool, labels = pools.random_pool(seed)
    weights = np.random.default_rng(seed).uniform(0.1, 3, len(labels))
    assert_same_until_losses_tie(algorithm, pool, labels, costs, weights)


CONFIDENT = [
    ("real", {}, "gini"),
    ("real", {"criterion": "exponential"}, "exponential"),
    ("gentle", {}, ""),
    ("logit", {}, ""),
    ("cost-sensitive-real", {}, "exponential"),
    ("cost-sensitive-logit", {}, ""),
]


@pytest.mark.parametrize(("name", "options", "by"), CONFIDENT)
@given(pools.seeds, some_costs)
@settings(max_examples=11, deadline=None)
def test_confident_boosters(name, options, by, seed, costs):
    pool, labels = pools.random_pool(seed)
    unit = min(costs.positive, costs.negative)
    pair = (costs.positive / unit, costs.negative / unit) if name.startswith("cost") else (1.0, 1.0)
    run = boost_pool(pool, labels, make_booster(name, costs, **options), 5, literal=True)
    chosen, score = naive_confidence.boost(name, pool, labels, pair, 5, by=by)
    assert run.chosen == chosen
    np.testing.assert_allclose(run.state.score, score, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run.scores(pool)[-1], score, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["real", "gentle", "logit"])
@pytest.mark.parametrize("prior", ["class", "sample"])
@given(pools.seeds, some_costs)
@settings(max_examples=8, deadline=None)
def test_cost_generalized_confident_boosters(name, prior, seed, costs):
    """All the costs are in the weights that they start from."""
    pool, labels = pools.random_pool(seed)
    booster = make_booster(f"cost-generalized-{name}", costs, prior=prior)
    run = boost_pool(pool, labels, booster, 5, literal=True)
    pair = costs.positive, costs.negative
    chosen, score = naive_confidence.boost(name, pool, labels, pair, 5, by="gini", prior=prior)
    assert run.chosen == chosen
    np.testing.assert_allclose(run.state.score, score, rtol=1e-9, atol=1e-9)
