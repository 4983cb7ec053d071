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
from vjcascade.boosters.bounds import MAX_SLOPE, GreatestStepBounds, LeastLossBounds

BOUNDS = {"minloss": LeastLossBounds, "maxroot": GreatestStepBounds}


COSTS = [(1, 1), (1 + 2.3e-16, 1), (2, 1), (1, 3.5), (30, 1), (1, 1000), (1e6, 1), (1e7, 1), (1, 1e16)]


def a_round(rng):
    labels = np.array([1] * 6 + [-1] * 9, np.int8)
    weights = rng.random(15) * np.where(labels > 0, 1, 10.0 ** rng.integers(-6, 7))
    return Round.of_weights(weights / weights.sum(), BoostingState.start(labels))


def weights_of(round_):
    return np.array([round_.positive_weight, round_.negative_weight])


@pytest.mark.parametrize("select", BOUNDS)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(COSTS),
    st.floats(0.05, 30),
)
@settings(max_examples=60, deadline=None)
def test_bounds_hold_for_any_guess_and_threshold(select, seed, costs, factor):
    """Features are small sets of points; whatever the guess, no least loss leaves its bounds."""
    rng = np.random.default_rng(seed)
    round_, costs = a_round(rng), Costs(*costs)
    points = rng.random((40, 4, 2)) ** rng.integers(1, 5, (40, 1, 1)) * weights_of(round_)
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
    points = rng.random((500, 2)) * weights_of(round_) / 2
    booster = make_booster("adaboostdb", costs, select=select)
    losses = booster.loss(*points.T, round_)
    best = points[np.argmin(losses)]
    loss_bounds = BOUNDS[select](booster.alpha(*best, round_), costs, round_)
    values = (points @ loss_bounds.lines.T).T
    threshold = np.sort(losses)[7]
    left = np.count_nonzero(loss_bounds.lower(values, threshold) <= threshold)
    assert 8 <= left <= 60


@pytest.mark.parametrize("select", BOUNDS)
def test_long_steps_do_not_hide_the_errors_that_cost_less(rng, select):
    """A light positive is worth more than all negatives then, and sums of integers would lose the negatives' part."""
    labels = np.array([1] * 6 + [-1] * 9, np.int8)
    weights = np.where(labels > 0, 1e-4 / 6, (1 - 1e-4) / 9)
    round_, costs = Round.of_weights(weights, BoostingState.start(labels)), Costs(20, 1)
    # of each feature two cuts: no positive is wrong, or all are, but nearly no negative
    points = np.zeros((500, 2, 2))
    points[:, 0, 1] = rng.random(500) * round_.negative_weight / 2
    points[:, 1] = round_.positive_weight, 1e-3
    booster = make_booster("adaboostdb", costs, select=select)
    losses = booster.loss(points[..., 0].ravel(), points[..., 1].ravel(), round_).reshape(500, 2).min(axis=1)
    loss_bounds = BOUNDS[select](1.3, costs, round_)
    values = (points @ loss_bounds.lines.T).min(axis=1).T
    values -= (
        1e-8 * (loss_bounds.lines @ weights_of(round_))[:, None]
    )  # as far as they may be off in histograms
    threshold = np.sort(losses)[7]
    assert np.count_nonzero(loss_bounds.lower(values, threshold) <= threshold) <= 60


@pytest.mark.parametrize("select", BOUNDS)
@pytest.mark.parametrize("dear_weight", [0.5, 1e-4])
def test_lines_are_as_steep_as_the_dear_class_is_light(select, dear_weight):
    weights = np.where(np.arange(15) < 6, dear_weight / 6, (1 - dear_weight) / 9)
    labels = np.array([1] * 6 + [-1] * 9, np.int8)
    round_ = Round.of_weights(weights, BoostingState.start(labels))
    a, b = BOUNDS[select](10, Costs(20, 1), round_).lines.T
    with np.errstate(divide="ignore"):
        steepest = (a * dear_weight / (b * (1 - dear_weight))).max()
    assert MAX_SLOPE / 30 < steepest <= MAX_SLOPE


class ThreeLines(TwoErrorBounds):
    upper = at_steps = None


def test_kernels_get_the_lines_that_they_rely_on():
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        LossBounds(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        GiniGuide(np.ones(2))
    with pytest.raises(ValueError, match=r"shape \(4, 2\)"):
        ThreeLines(np.ones((3, 2)))
