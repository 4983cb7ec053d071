from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import Costs, make_booster
from vjcascade.boosters.thresholds import (
    adamec_threshold,
    hit_rate_threshold,
    mean_vote,
    minimum_cost_threshold,
    n_allowed_misses,
    probability_threshold,
    theory_threshold,
)
from vjcascade.errors import SettingsError
from vjcascade.learning.pool import boost_pool

ratios = st.floats(1e-3, 1e3)
scores_lists = st.lists(st.integers(-5, 5).map(float), min_size=2, max_size=20)


def test_theory():
    assert theory_threshold(Costs(1, 1)) == 0
    assert theory_threshold(Costs(1, 9)) == pytest.approx(math.log(3))


@given(ratios)
def test_theory_is_half_the_log_odds_of_the_probability(ratio):
    p = probability_threshold(Costs.from_ratio(ratio))
    assert p == pytest.approx(1 / (ratio + 1))
    assert theory_threshold(Costs.from_ratio(ratio)) == pytest.approx(0.5 * math.log(p / (1 - p)), abs=1e-9)


@given(st.lists(st.floats(0.01, 3), min_size=1, max_size=8), st.integers(0, 2**32 - 1), ratios)
@settings(deadline=None)
def test_adamecs_threshold_is_bayes_on_the_mean_vote(alphas, seed, ratio):
    votes = np.random.default_rng(seed).choice([-1, 1], (len(alphas), 50))
    scores, total, costs = np.array(alphas) @ votes, sum(alphas), Costs(ratio, 1)
    share = np.array(alphas) @ (votes > 0) / total
    np.testing.assert_allclose(mean_vote(scores, total), share, atol=1e-12)
    clear = np.abs(share - probability_threshold(costs)) > 1e-9
    said = scores >= adamec_threshold(total, costs)
    assert np.array_equal(said[clear], (share > probability_threshold(costs))[clear])


@given(st.integers(0, 2**32 - 1), ratios)
@settings(deadline=None, max_examples=14)
def test_adamec_is_csbs_cost_vote(seed, ratio):
    rng = np.random.default_rng(seed)
    costs, labels = Costs(ratio, 1), np.repeat([1, -1], 20).astype(np.int8)
    pool = np.where(rng.random((40, 15)) < 0.35, -labels[:, None], labels[:, None]).astype(np.int8)
    run = boost_pool(pool, labels, make_booster("adaboost", costs), 8)
    h = pool[:, run.chosen]
    cost_vote = (h * np.where(h > 0, costs.positive, costs.negative)) @ run.alphas
    threshold = adamec_threshold(run.state.total_alpha, costs)
    expected = (costs.positive + costs.negative) / 2 * (run.state.score - threshold)
    np.testing.assert_allclose(cost_vote, expected, atol=1e-10 * (1 + ratio))


@pytest.mark.parametrize("total", [0, -1, math.nan, math.inf])
def test_no_votes_no_mean(total):
    for ask in (lambda: mean_vote([1.0], total), lambda: adamec_threshold(total, Costs())):
        with pytest.raises(SettingsError, match=f"total_alpha {total}"):
            ask()


@given(scores_lists, st.floats(0.1, 10), st.floats(0.1, 10), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_minimum_cost_equals_trying_all(scores, cost_p, cost_n, seed):
    labels = np.random.default_rng(seed).choice([-1, 1], len(scores)).astype(np.int8)

    def cost_at(threshold):
        pairs = zip(scores, labels, strict=True)
        return sum((cost_p if y > 0 else cost_n) for s, y in pairs if (s >= threshold) != (y > 0))

    threshold, cost = minimum_cost_threshold(np.array(scores), labels, Costs(cost_p, cost_n))
    cuts = [-math.inf, *(v + 0.25 for v in sorted(set(scores))[:-1]), math.inf]
    assert cost == pytest.approx(cost_at(threshold))
    assert cost == pytest.approx(min(cost_at(cut) for cut in cuts))


def test_a_weight_counts_samples(rng):
    scores, labels = (
        rng.integers(-3, 4, 40).astype(float),
        np.where(rng.random(40) < 0.5, 1, -1).astype(np.int8),
    )
    counts = rng.integers(0, 4, 40)
    repeated = minimum_cost_threshold(np.repeat(scores, counts), np.repeat(labels, counts), Costs(3, 1))
    threshold, cost = minimum_cost_threshold(scores, labels, Costs(3, 1), counts)
    assert cost == pytest.approx(repeated[1])
    assert np.array_equal(scores >= threshold, scores >= repeated[0])


@pytest.mark.parametrize("low", [1.0, -1.0, 0.0, 1e308, -5e-324])
def test_neighbouring_and_huge_scores_are_told_apart(low):
    scores, labels = np.array([low, np.nextafter(low, math.inf)]), np.array([-1, 1], np.int8)
    threshold, cost = minimum_cost_threshold(scores, labels, Costs())
    assert cost == 0
    assert (scores >= threshold).tolist() == [False, True]


@given(scores_lists, st.floats(0.01, 1))
@settings(deadline=None)
def test_hit_rate_threshold_is_the_highest(scores, hit_rate):
    threshold = hit_rate_threshold(np.array(scores), hit_rate)
    allowed = n_allowed_misses(len(scores), hit_rate)
    assert sum(s < threshold for s in scores) <= allowed
    higher = [s for s in scores if s > threshold]
    if higher:
        assert sum(s < min(higher) for s in scores) > allowed


@given(st.integers(1, 5000), st.floats(0.001, 1))
@settings(deadline=None)
def test_allowed_misses_keep_the_hit_rate(n, hit_rate):
    misses = n_allowed_misses(n, hit_rate)
    assert 0 <= misses < n
    assert (n - misses) / n >= hit_rate - 1e-8
    assert misses == n - 1 or (n - misses - 1) / n < hit_rate


@pytest.mark.parametrize(
    ("n", "hit_rate", "misses"), [(10, 0.9, 1), (100, 0.99, 1), (200, 0.995, 1), (1000, 0.999, 1), (5, 1, 0)]
)
def test_round_numbers_are_not_lost_to_rounding(n, hit_rate, misses):
    assert n_allowed_misses(n, hit_rate) == misses


def test_positives_are_used_up_slowly():
    left, history = 20, []
    for _ in range(10):
        left -= n_allowed_misses(left, 0.9)
        history.append(left)
    assert history == [18, 17, 16, 15, 14, 13, 12, 11, 10, 9]


@pytest.mark.parametrize("hit_rate", [0, -0.1, 1.01, math.nan])
def test_hit_rates_out_of_range(hit_rate):
    with pytest.raises(SettingsError, match=f"hit rate {hit_rate}"):
        hit_rate_threshold(np.zeros(3), hit_rate)


def test_no_positive_no_threshold():
    with pytest.raises(SettingsError, match="at least one positive"):
        hit_rate_threshold(np.zeros(0), 0.9)


@pytest.mark.parametrize("costs", [Costs(3, 1), Costs(0.3, 0.1), Costs(3e12, 1e12), Costs(2.1, 0.7)])
def test_the_unit_of_costs_does_not_change_the_cheapest_threshold(costs):
    """One miss costs as much as three false alarms: of the two thresholds, the lower."""
    scores, labels = np.arange(5.0), np.array([1, -1, -1, -1, 1], np.int8)
    threshold, cost = minimum_cost_threshold(scores, labels, costs)
    assert (threshold, cost) == (-np.inf, pytest.approx(costs.positive))
