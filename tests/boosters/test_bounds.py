from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import (
    BoostingState,
    Costs,
    GiniGuide,
    LossBounds,
    Round,
    TwoErrorBounds,
    make_booster,
)
from vjcascade.boosters.bounds import GreatestStepBounds, LeastLossBounds

BOUNDS = {"minloss": LeastLossBounds, "maxroot": GreatestStepBounds}


def a_round(rng):
    labels = np.array([1] * 6 + [-1] * 9, np.int8)
    weights = rng.random(15)
    return Round.of_weights(weights / weights.sum(), BoostingState.start(labels))


@pytest.mark.parametrize("select", BOUNDS)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(1, 1), (2, 1), (1, 3.5), (30, 1), (1, 1000)]),
    st.floats(0.05, 20),
)
@settings(max_examples=27, deadline=None)
def test_bounds_hold_for_any_guess_and_threshold(select, seed, costs, factor):
    """Features are small sets of points; whatever the guess, no least loss leaves its bounds."""
    rng = np.random.default_rng(seed)
    round_, costs = a_round(rng), Costs(*costs)
    points = rng.random((40, 4, 2)) ** rng.integers(1, 5, (40, 1, 1)) * [
        round_.positive_weight,
        round_.negative_weight,
    ]
    booster = make_booster("adaboostdb", costs, select=select)
    losses = booster.loss(points[..., 0].ravel(), points[..., 1].ravel(), round_).reshape(40, 4).min(axis=1)
    loss_bounds = BOUNDS[select](factor / max(costs.positive, costs.negative), costs, round_)
    values = (points @ loss_bounds.lines.T).min(axis=1).T
    upper = loss_bounds.upper(values)
    assert (losses <= upper + 1e-12).all()
    for threshold in (upper.min(), np.median(upper), upper.max()):
        assert (loss_bounds.lower(values, threshold) <= losses + 1e-9).all()


@pytest.mark.parametrize("select", BOUNDS)
def test_bounds_are_close_around_a_good_guess(rng, select):
    """What is clearly worse than the threshold is pruned."""
    round_, costs = a_round(rng), Costs(4, 1)
    points = rng.random((500, 2)) * [round_.positive_weight, round_.negative_weight] / 2
    booster = make_booster("adaboostdb", costs, select=select)
    losses = booster.loss(*points.T, round_)
    best = points[np.argmin(losses)]
    loss_bounds = BOUNDS[select](booster.alpha(*best, round_), costs, round_)
    values = (points @ loss_bounds.lines.T).T
    threshold = np.sort(losses)[7]
    left = np.count_nonzero(loss_bounds.lower(values, threshold) <= threshold)
    assert 8 <= left <= 60


class ThreeLines(TwoErrorBounds):
    upper = at_steps = None


def test_kernels_get_the_lines_that_they_rely_on():
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        LossBounds(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        GiniGuide(np.ones(2))
    with pytest.raises(ValueError, match=r"shape \(4, 2\)"):
        ThreeLines(np.ones((3, 2)))
