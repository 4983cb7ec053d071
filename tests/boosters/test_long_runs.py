"""Weights come from logarithms: hundreds of rounds at far ratios end in numbers."""

from __future__ import annotations

import naive_boosters
import numpy as np
import pools
import pytest

from vjcascade.boosters import BoostingState, Costs, make_booster, registry
from vjcascade.boosters.base import normalised
from vjcascade.learning.pool import boost_pool

LITERALLY = {"adacost"}  # which rightly stops early: its steps are soon below 0
SLOW = {"adaboostdb", "cost-sensitive"}  # whose rounds take several times as long


@pytest.fixture(scope="module")
def hard():
    """Return a pool that no ensemble separates so well that boosting would end."""
    return pools.random_pool(5, 8, 12, 9)


@pytest.mark.parametrize(("costs", "n_rounds"), [(Costs(1000, 1), 200), (Costs(0.03, 30), 100)])
@pytest.mark.parametrize("name", sorted(registry._BOOSTERS))
def test_all_is_finite_after_hundreds_of_rounds(hard, name, costs, n_rounds):
    """Warnings are errors, so nothing overflows or is divided by zero on the way either."""
    n_rounds = min(n_rounds, 100) if name in SLOW else n_rounds
    booster = make_booster(name, costs, n_rounds)
    run = boost_pool(*hard, booster, n_rounds, literal=name in LITERALLY)
    assert len(run.chosen) == n_rounds
    assert np.isfinite(run.leaves).all()
    assert np.isfinite(run.state.score).all()
    weights = normalised(booster.log_weights(run.state))
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1)


def test_adacost_stops_where_its_steps_end(hard):
    assert boost_pool(*hard, make_booster("adacost", Costs(1000, 1)), 5).chosen == []
    assert 50 < len(boost_pool(*hard, make_booster("adacost", Costs()), 500).chosen) < 500


@pytest.mark.parametrize("algorithm", naive_boosters.NAMES)
def test_weights_of_any_score_are_right(algorithm):
    """Scores beyond any exponential: two samples of a class weigh as the difference of their scores says."""
    name, options = naive_boosters.NAMES[algorithm]
    booster = make_booster(name, Costs(1000, 1), **options)
    state = BoostingState.start(np.array([1, 1, -1, -1], np.int8))
    first = booster.log_weights(state)
    for outputs in ([1, 1, -1, -1], [-1, -1, 1, 1]):
        state.add(np.array(outputs, np.int8), 3000.0)
    state.add(np.array([1, -1, -1, 1], np.int8), 1e5)
    logs = booster.log_weights(state)
    weights = normalised(logs)
    assert np.isfinite(logs).all()
    assert np.isfinite(weights).all()
    assert logs[1] - logs[0] > first[1] - first[0]
    assert logs[3] - logs[2] > first[3] - first[2] or algorithm == "csb0"  # where C_N = 1 changes nothing
