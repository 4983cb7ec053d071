"""The lower left hull holds the best of all points, whatever concave loss they are judged by."""

from __future__ import annotations

import json
from pathlib import Path

import naive_boosters
import numpy as np
import pools
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import BoostingState, Costs, make_booster
from vjcascade.boosters.base import first_of_least
from vjcascade.boosters.hull import lower_hull, near_lower_hull

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "boosters.json"
CHOOSING_BY_HULL = [
    ("cost-sensitive", {"prior": "uniform"}),
    ("cost-sensitive", {"sign": "any"}),
    ("adaboostdb", {}),
    ("adaboostdb", {"select": "minloss"}),
    ("real", {}),
    ("real", {"criterion": "exponential"}),
    ("gentle", {}),
    ("logit", {}),
    ("cost-sensitive-real", {}),
    ("cost-sensitive-logit", {}),
]
LOSSES = {
    "sum": lambda x, y: x + y,
    "all but y": lambda x, y: 1e-3 * x + y,
    "roots": lambda x, y: np.sqrt(x + 0.01) + np.sqrt(y + 0.04),
    "product": lambda x, y: np.log(x + 0.1) + 2 * np.log(y + 0.1),
    "lesser of planes": lambda x, y: np.minimum.reduce([3 * x + y, x + 3 * y, 2 * x + y + 0.1]),
}
grid = st.integers(0, 12).map(lambda k: k / 12)  # so that points coincide and lie on lines
clouds = st.one_of(
    st.lists(st.tuples(grid, grid), min_size=1, max_size=40),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40),
)


def xy(points):
    x, y = np.array(points, np.float64).T
    return x, y


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@given(clouds)
@settings(max_examples=45, deadline=None)
def test_the_best_point_is_near_the_hull_and_so_are_all_that_tie(loss, points):
    x, y = xy(points)
    losses = loss(x, y)
    best = first_of_least(losses)
    near = near_lower_hull(x, y)
    assert best in near
    assert near[first_of_least(losses[near])] == best


@given(clouds)
@settings(max_examples=45, deadline=None)
def test_vertices_are_points_that_fall_ever_less_steeply(points):
    x, y = xy(points)
    hull_x, hull_y = lower_hull(x, y)
    assert set(zip(hull_x, hull_y, strict=True)) <= set(zip(x, y, strict=True))
    assert hull_x[0] == x.min()
    assert hull_y[-1] == y.min()
    assert np.all(np.diff(hull_x) > 0)
    assert np.all(np.diff(hull_y) < 0)
    run, rise = np.diff(hull_x), np.diff(hull_y)
    assert np.all(rise[:-1] * run[1:] <= rise[1:] * run[:-1] + 1e-15)


@given(clouds)
@settings(max_examples=45, deadline=None)
def test_no_point_lies_below_the_hull(points):
    x, y = xy(points)
    hull_x, hull_y = lower_hull(x, y)
    assert np.all(y >= np.interp(x, hull_x, hull_y) - 1e-12)


def test_one_point_and_copies_of_it():
    assert near_lower_hull(np.array([0.3]), np.array([0.2])).tolist() == [0]
    assert near_lower_hull(np.full(4, 0.3), np.full(4, 0.2)).tolist() == [0, 1, 2, 3]
    assert len(lower_hull(np.full(4, 0.3), np.full(4, 0.2))[0]) == 1


def test_points_on_an_edge_are_near():
    x = np.array([0.0, 0.5, 1.0, 0.25, 1.0, 0.5])
    y = np.array([1.0, 0.5, 0.0, 0.75, 0.5, 0.6])
    assert near_lower_hull(x, y).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("shift", [(1e-12, 0), (0, 1e-12), (7e-13, 7e-13)])
def test_points_that_tie_within_the_tolerance_are_near(shift):
    """Of each pair, the first is off the hull by less than losses may differ in a tie."""
    x, y = np.array([0.0, 0.1, 0.5, 1.0]).repeat(2), np.array([0.9, 0.4, 0.1, 0.0]).repeat(2)
    x[::2] += shift[0]
    y[::2] += shift[1]
    assert near_lower_hull(x, y).tolist() == list(range(8))
    assert len(near_lower_hull(x + 1e-9 * np.tile([1, 0], 4), y + 1e-9 * np.tile([1, 0], 4))) == 4


def test_few_points_of_many_are_near(rng):
    assert 4 < len(near_lower_hull(*rng.random((2, 100_000)))) < 60


# ---- Boosters --------------------------------------------------------------------------------------------------------


def assert_chosen_like_brute_force(booster, pool, labels, n_rounds):
    """In each round, compute the loss of all weak classifiers; go on with the winner."""
    state = BoostingState.start(labels)
    sides = np.array([-1, 1], np.int8)
    for _ in range(n_rounds):
        round_ = booster.begin_round(state)
        errors_p, errors_n = round_.positive_part @ (pool < 0), round_.negative_part @ (pool > 0)
        best = booster.choose(errors_p, errors_n, round_)
        leaf = (pool[:, best] > 0).astype(np.intp)
        parts = (np.bincount(leaf, part, 2) for part in (round_.positive_part, round_.negative_part))
        vote = booster.weigh(*parts, sides, round_)
        if not vote.helps or abs(vote.alpha) < 1e-4:
            break  # so small a step is not worth a digit of the loss: all tie
        assert best == first_of_least(booster.loss(errors_p, errors_n, round_))
        state.add(vote.outputs[leaf], vote.alpha)


@pytest.mark.parametrize(("name", "options"), CHOOSING_BY_HULL)
@given(pools.seeds, pools.far_costs)
@settings(max_examples=11, deadline=None)
def test_boosters_choose_as_by_brute_force(name, options, seed, costs):
    pool, labels = pools.random_pool(seed)
    costs = pools.milder(costs) if options.get("sign") == "any" else costs
    assert_chosen_like_brute_force(make_booster(name, costs, **options), pool, labels, 5)


@pytest.mark.parametrize(("name", "options"), CHOOSING_BY_HULL)
def test_also_among_many(name, options, rng):
    pool, labels = pools.random_pool(11, 60, 90, 1500)
    for costs in (Costs(4, 1), Costs(1, 30)):
        assert_chosen_like_brute_force(make_booster(name, costs, **options), pool, labels, 4)


@pytest.mark.parametrize(("name", "options"), CHOOSING_BY_HULL)
def test_also_on_the_golden_pools(name, options):
    if not GOLDEN.exists():
        pytest.skip("shared/golden is not beside the project")
    for data in json.loads(GOLDEN.read_text())["sets"].values():
        pool, labels = np.array(data["H"], np.int8), np.array(data["y"], np.int8)
        for costs in (Costs(1, 1), Costs(4, 1), Costs(1, 2), Costs(3.5, 1)):
            assert_chosen_like_brute_force(make_booster(name, costs, **options), pool, labels, 12)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cost-sensitive", {}),
        ("cost-sensitive", {"sign": "any"}),
        ("adaboostdb", {}),
        ("adaboostdb", {"select": "minloss"}),
    ],
)
@given(pools.seeds, pools.costs)
@settings(max_examples=18, deadline=None)
def test_steps_on_random_clouds(name, options, seed, costs):
    """Any errors that a pool might have; steps by bisection, and losses as they are written."""
    wrong = np.random.default_rng(seed).uniform(0, 0.5, (2, 80))
    right = 0.5 - wrong
    booster = make_booster(name, costs, **options)
    round_ = booster.begin_round(BoostingState.start(np.array([1, -1], np.int8)))
    factors = np.array([[costs.positive], [costs.negative]])

    def still_falls(alphas):
        slope = factors * (wrong * np.exp(factors * alphas) - right * np.exp(-factors * alphas))
        return slope.sum(axis=0) < 0

    bound = np.full(80, 9 / factors.min())
    alphas = naive_boosters.bisect(still_falls, -bound if options.get("sign") == "any" else 0 * bound, bound)
    losses = (wrong * np.exp(factors * alphas) + right * np.exp(-factors * alphas)).sum(axis=0)
    by_root = name == "adaboostdb" and options.get("select") != "minloss"
    assert booster.choose(*wrong, round_) == first_of_least(-alphas if by_root else losses)
