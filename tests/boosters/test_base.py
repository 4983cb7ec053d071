"""What all boosters share: weights from logarithms, ties, clipping, votes, slopes; and what a plug-in must write."""

from __future__ import annotations

import math

import numpy as np
import pools
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import (
    BoostingState,
    ConfidenceBooster,
    Costs,
    DiscreteBooster,
    make_booster,
    registry,
)
from vjcascade.boosters.base import MIN_ALPHA, clipped, first_of_least, half_log_odds, normalised
from vjcascade.learning.pool import boost_pool

NAMES = sorted(registry._BOOSTERS)
SIDES = np.array([-1, 1], np.int8)


def start(labels=(1, 1, -1, -1, -1), sample_weight=None):
    return BoostingState.start(np.array(labels, np.int8), sample_weight)


# ---- Numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [1e-9, 0.2, 0.5, 0.9])
def test_half_log_odds(error):
    assert half_log_odds(error) == pytest.approx(0.5 * math.log((1 - error) / error))


@pytest.mark.parametrize(("error", "alpha"), [(0, 13.8155), (-1e-17, 13.8155), (1, -13.8155)])
def test_half_log_odds_is_clipped(error, alpha):
    assert half_log_odds(error) == pytest.approx(alpha, abs=1e-4)
    assert 1e-12 <= clipped(error) <= 1 - 1e-12


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=20), st.floats(-1e5, 1e5))
def test_weights_from_logarithms(logs, shift):
    """Only their differences count, and nothing overflows."""
    logs = np.array(logs)
    weights = normalised(logs)
    assert weights.sum() == pytest.approx(1)
    assert weights.max() == weights[np.argmax(logs)]
    np.testing.assert_allclose(normalised(logs + shift), weights, rtol=1e-8, atol=1e-300)


def test_a_weight_of_zero_stays_zero():
    assert normalised(np.array([0.0, -np.inf, 0.0])).tolist() == [0.5, 0, 0.5]


def test_ties_go_to_the_lowest_index():
    assert first_of_least(np.array([0.4, 0.1 + 5e-13, 0.1, 0.3])) == 1
    assert first_of_least(np.array([0.4, 0.1 + 2e-12, 0.1, 0.1])) == 2


@pytest.mark.parametrize("name", NAMES)
def test_boosters_break_ties_alike(name):
    booster = make_booster(name, Costs(2, 1))
    round_ = booster.begin_round(start())
    errors_p = round_.positive_weight * np.array([0.4, 0.2, 0.2, 0.2])
    errors_n = round_.negative_weight * np.array([0.4, 0.1, 0.1, 0.1])
    assert booster.choose(errors_p, errors_n, round_) == 1
    assert booster.choose(errors_p[::-1], errors_n[::-1], round_) == 0


# ---- Rounds and votes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@given(pools.seeds, pools.far_costs)
@settings(max_examples=10, deadline=None)
def test_a_round_is_of_weights_that_sum_to_one_times_the_selection_costs(name, seed, costs):
    pool, labels = pools.random_pool(seed)
    booster = make_booster(name, costs)
    state = boost_pool(pool, labels, booster, 3, literal=True).state
    round_ = booster.begin_round(state)
    factor_p, factor_n = booster.selection_costs()
    if name.endswith("logit"):  # where a sample's weight is split by its working response
        np.testing.assert_allclose(round_.weights.sum(), 1)
    else:
        expected = normalised(booster.log_weights(state)) * np.where(labels > 0, factor_p, factor_n)
        np.testing.assert_allclose(round_.weights, expected, rtol=1e-12)
        assert not round_.positive_part[labels < 0].any()
        assert not round_.negative_part[labels > 0].any()
    assert round_.positive_weight == pytest.approx(round_.positive_part.sum())
    assert round_.negative_weight == pytest.approx(round_.negative_part.sum())


@pytest.mark.parametrize("name", NAMES)
def test_votes(name):
    """The leaves that a weak classifier was measured with get their votes; an equal one gets nothing."""
    booster = make_booster(name, Costs())
    round_ = booster.begin_round(start())
    weight_sums = round_.positive_weight, round_.negative_weight
    vote = booster.weigh(
        np.array([0.02, 0.98]) * weight_sums[0], np.array([0.98, 0.02]) * weight_sums[1], SIDES, round_
    )
    assert vote.helps
    assert vote.leaves[0] < 0 < vote.leaves[1]
    np.testing.assert_allclose(vote.leaves, vote.alpha * vote.outputs)
    same = np.array([0.5, 0.5]) * (weight_sums[0] + weight_sums[1]) / 2
    nothing = booster.weigh(same, same, SIDES, round_)
    assert not nothing.helps
    assert abs(nothing.alpha * nothing.outputs).max() <= MIN_ALPHA or nothing.alpha < 0


def test_leaves_of_a_tree_share_one_step():
    """Three leaves, two of which say yes: the errors of all leaves together make alpha."""
    booster = make_booster("adaboost", Costs())
    round_ = booster.begin_round(start())
    sums_p, sums_n = np.array([0.0, 0.3, 0.1]), np.array([0.5, 0.1, 0.0])
    vote = booster.weigh(sums_p, sums_n, np.array([-1, 1, 1], np.int8), round_)
    assert vote.alpha == pytest.approx(half_log_odds(0.1))
    assert vote.leaves.tolist() == [-vote.alpha, vote.alpha, vote.alpha]


@pytest.mark.parametrize("name", NAMES)
@given(pools.seeds, pools.costs)
@settings(max_examples=10, deadline=None)
def test_slopes_are_those_of_the_loss(name, seed, costs):
    """Which search and trees go by; only their ratio counts. AdaBoostDB's trees go by the loss, not by the root."""
    pool, labels = pools.random_pool(seed)
    booster = make_booster(name, costs, **({"select": "minloss"} if name == "adaboostdb" else {}))
    round_ = booster.begin_round(boost_pool(pool, labels, booster, 2).state)
    error_p, error_n = 0.2 * round_.positive_weight, 0.15 * round_.negative_weight
    slopes = np.array(booster.slope(error_p, error_n, round_))
    assert np.all(slopes >= 0)
    steps = 1e-4 * np.array([round_.positive_weight, round_.negative_weight])
    points_p, points_n = (
        error_p + steps[0] * np.array([1, -1, 0, 0]),
        error_n + steps[1] * np.array([0, 0, 1, -1]),
    )
    losses = booster.loss(points_p, points_n, round_)
    expected = (losses[::2] - losses[1::2]) / (2 * steps)
    if (expected > 1e-3 * expected.max()).all():
        assert slopes[0] * expected[1] == pytest.approx(slopes[1] * expected[0], rel=1e-2)


# ---- Plug-ins --------------------------------------------------------------------------------------------------------


class Logistic(DiscreteBooster):
    """What a plug-in must write: weights, and a step."""

    name = "logistic"

    def log_weights(self, state):
        return state.log_prior - np.logaddexp(0, state.labels * state.score)

    def alpha(self, error_p, error_n, round_):  # noqa: ARG002
        return half_log_odds(error_p + error_n)


class MeanOnly(ConfidenceBooster):
    """The same, with real-valued leaves: weights, a loss of leaves, and their values."""

    name = "mean-only"

    def log_weights(self, state):
        return state.log_prior - state.labels * state.score

    def impurity(self, sums_p, sums_n):
        return np.minimum(sums_p, sums_n)

    def leaf_values(self, sums_p, sums_n):
        return 0.1 * np.sign(sums_p - sums_n)


@pytest.mark.parametrize("kind", [Logistic, MeanOnly])
def test_a_minimal_booster_learns(kind):
    pool, labels = pools.random_pool(12, 20, 20, 15)
    run = boost_pool(pool, labels, kind(Costs(), 10), 10)
    assert len(run.chosen) == 10
    wrong = ((run.state.score >= 0) != (labels > 0)).mean()
    assert wrong < (pool != labels[:, None]).mean(axis=0).min() + 1e-9
    assert wrong < 0.2
