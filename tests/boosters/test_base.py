from __future__ import annotations

import math

import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Costs, make_booster
from vjcascade.boosters.base import half_log_odds
from vjcascade.errors import SettingsError


@pytest.mark.parametrize("cost", [0, -1, math.nan, math.inf])
def test_costs_are_finite_and_positive(cost):
    with pytest.raises(SettingsError, match=f"positive cost {cost}"):
        Costs(cost, 1)
    with pytest.raises(SettingsError, match=f"negative cost {cost}"):
        Costs(1, cost)


def test_costs_of_labels():
    assert Costs(3, 0.5).of(np.array([1, -1, 1], np.int8)).tolist() == [3, 0.5, 3]


@pytest.mark.parametrize("label", [1, -1])
def test_one_class_is_refused(label):
    with pytest.raises(SettingsError, match="both classes"):
        BoostingState.start(np.full(3, label, np.int8))


def test_the_state_counts():
    state = BoostingState.start(np.array([1, -1, -1], np.int8))
    state.add(np.array([1, 1, -1], np.int8), 0.5)
    state.add(np.array([-1, 1, -1], np.int8), 0.25)
    assert state.score.tolist() == [0.25, 0.75, -0.75]
    assert state.votes.tolist() == [0, 2, -2]
    assert state.mistakes.tolist() == [1, 2, 0]
    assert (state.total_alpha, state.n_rounds) == (0.75, 2)


@pytest.mark.parametrize("error", [1e-9, 0.2, 0.5, 0.9])
def test_half_log_odds(error):
    assert half_log_odds(error) == pytest.approx(0.5 * math.log((1 - error) / error))


@pytest.mark.parametrize(("error", "alpha"), [(0, 13.8155), (-1e-17, 13.8155), (1, -13.8155)])
def test_half_log_odds_is_clipped(error, alpha):
    assert half_log_odds(error) == pytest.approx(alpha, abs=1e-4)


def test_ties_go_to_the_lowest_index():
    booster = make_booster("adaboost", Costs())
    now = booster.begin_round(BoostingState.start(np.array([1, -1], np.int8)))
    errors_p = np.array([0.4, 0.1 + 5e-13, 0.1, 0.3])
    assert booster.choose(errors_p, np.zeros(4), now) == 1
    assert booster.choose(errors_p, np.array([0, 2e-12, 0, 0]), now) == 2


@pytest.mark.parametrize("name", ["adaboost", "cost-generalized"])
def test_round_masses_are_those_of_the_weights(rng, name):
    labels = np.where(rng.random(50) < 0.3, 1, -1).astype(np.int8)
    state = BoostingState.start(labels)
    state.add(np.where(rng.random(50) < 0.3, 1, -1).astype(np.int8), 0.7)
    now = make_booster(name, Costs(5, 2)).begin_round(state)
    assert now.weights.sum() == pytest.approx(1)
    assert now.positive_mass == pytest.approx(now.weights[labels > 0].sum())
    assert now.negative_mass == pytest.approx(now.weights[labels < 0].sum())


@pytest.mark.parametrize("name", ["adaboost", "cost-generalized"])
@pytest.mark.parametrize("sign", [1, -1])
def test_scores_beyond_any_exponential_leave_the_weights_right(name, sign):
    """exp(-y f) of scores like these is 0 or infinite; only their differences count."""
    labels = np.array([1, 1, -1, -1], np.int8)
    booster, state = make_booster(name, Costs(3, 1)), BoostingState.start(labels)
    first = booster.begin_round(state).weights
    state.add(sign * labels, 2000.0)
    np.testing.assert_allclose(booster.begin_round(state).weights, first, rtol=1e-12)
