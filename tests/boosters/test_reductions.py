"""What costs do to a booster: scaled, equal, or given as sample weights and repeated samples."""

from __future__ import annotations

import itertools

import naive_boosters
import numpy as np
import pools
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import Costs, make_booster, registry
from vjcascade.learning.pool import boost_pool

N_ROUNDS = 8
VARIANTS = [
    *naive_boosters.NAMES.values(),
    *((name, {"scale": "min"}) for name in ("csb0", "csb1", "csb2")),
    ("adaboostdb", {"select": "minloss"}),
    *((name, {}) for name in ("real", "gentle", "logit", "cost-sensitive-real", "cost-sensitive-logit")),
    ("real", {"criterion": "exponential"}),
    *((f"cost-generalized-{name}", {}) for name in ("real", "gentle", "logit")),
]


def named(variants):
    """Return test parameters with readable names."""
    return [pytest.param(*each, id="-".join([each[0], *each[1].values()])) for each in variants]


def run(variant, pool, labels, costs, **how):
    name, options = variant
    return boost_pool(pool, labels, make_booster(name, costs, N_ROUNDS, **options), N_ROUNDS, **how)


def clear_rounds(*runs):
    """Return in how many rounds the votes are so large that rounding errors cannot decide."""
    votes = [np.abs(each.leaves).max(axis=1, initial=0) for each in runs]
    return min(next((t for t, vote in enumerate(v) if vote < 1e-4), len(v)) for v in votes)


def assert_same(one, other, factor=1.0):
    """The same choices, and the first's votes are the other's times a factor."""
    n = clear_rounds(one, other)
    assert one.chosen[:n] == other.chosen[:n]
    np.testing.assert_allclose(one.leaves[:n], factor * other.leaves[:n], rtol=1e-7, atol=1e-9)


def test_no_booster_is_left_out():
    assert {name for name, _ in VARIANTS} >= set(registry._BOOSTERS)


# ---- The scale of the costs ------------------------------------------------------------------------------------------

SCALE_DIVIDES_F = [v for v in VARIANTS if v[0] in {"cost-sensitive", "adaboostdb", "cost-sensitive-real"}]
SCALE_COUNTS = [(name, {}) for name in ("csb0", "csb1", "csb2")]
SCALE_IS_NOTHING = [v for v in VARIANTS if v not in SCALE_DIVIDES_F + SCALE_COUNTS]


@pytest.mark.parametrize(("name", "options"), named(SCALE_IS_NOTHING))
@given(pools.seeds, pools.costs, st.sampled_from([1e-6, 0.3, 7.0, 1e6]))
@settings(max_examples=15, deadline=None)
def test_only_the_ratio_of_costs_counts(name, options, seed, costs, scale):
    pool, labels = pools.random_pool(seed)
    scaled = Costs(scale * costs.positive, scale * costs.negative)
    assert_same(*(run((name, options), pool, labels, c, literal=True) for c in (costs, scaled)))


@pytest.mark.parametrize(("name", "options"), named(SCALE_DIVIDES_F))
@given(pools.seeds, pools.costs, st.sampled_from([0.01, 0.3, 7.0, 100.0]))
@settings(max_examples=15, deadline=None)
def test_the_scale_of_costs_divides_the_score(name, options, seed, costs, scale):
    pool, labels = pools.random_pool(seed)
    costs = pools.milder(costs) if options.get("sign") == "any" else costs
    scaled = Costs(scale * costs.positive, scale * costs.negative)
    plain, other = (run((name, options), pool, labels, c) for c in (costs, scaled))
    assert_same(plain, other, scale)


@pytest.mark.parametrize(("name", "options"), named(SCALE_COUNTS))
def test_the_scale_of_costs_changes_csb(name, options):
    pool, labels = pools.random_pool(5, 15, 15, 20)
    given_costs = Costs(3, 1), Costs(6, 2), Costs(0.75, 0.25)
    alphas = [run((name, options), pool, labels, costs, literal=True).alphas for costs in given_costs]
    for one, other in itertools.combinations(alphas, 2):
        assert np.abs(np.subtract(one, other)).max() > 0.01


# ---- Equal costs -----------------------------------------------------------------------------------------------------

ALWAYS = [
    *((name, {}) for name in ("adaboost", "asymboost", "adac1", "adac2", "adac3")),
    ("cost-generalized", {"prior": "sample"}),
    *((name, {"scale": "min"}) for name in ("csb2",)),
]
UP_TO_THE_COST = [("cost-sensitive", {"prior": "uniform"}), ("adaboostdb", {"prior": "uniform"})]
IN_BALANCE = [
    ("cost-generalized", {"prior": "class"}),
    ("cost-sensitive", {"prior": "balanced"}),
    ("adaboostdb", {"prior": "balanced"}),
]
NEVER = [
    *((name, {}) for name in ("adacost", "csb0", "csb1")),
    *((name, {"scale": "sum"}) for name in ("adac1", "adac3")),
]
TWO_BASES = {"cost-sensitive", "adaboostdb"}
adaboost = ("adaboost", {})


def choices_of(variant, pool, labels, costs, factor=1.0):
    """Return choices and steps of alpha h, whatever the ensemble's votes are."""
    result = run(variant, pool, labels, costs, literal=True)
    n = clear_rounds(result)
    return result.chosen[:n], [factor * alpha for alpha in result.alphas[:n]]


def assert_is_adaboost(variant, pool, labels, costs, factor=1.0):
    chosen, alphas = choices_of(variant, pool, labels, costs, factor)
    expected, expected_alphas = choices_of(adaboost, pool, labels, Costs())
    n = min(len(chosen), len(expected))
    assert n > 0 or len(expected) == len(chosen) == 0
    assert chosen[:n] == expected[:n]
    np.testing.assert_allclose(alphas[:n], expected_alphas[:n], rtol=1e-8, atol=1e-9)


def differs_from_adaboost(variant, costs, **classes):
    """Tell whether some of ten pools shows a difference, in choices or steps."""
    for seed in range(10):
        pool, labels = pools.random_pool(seed, **classes, n_weak=12)
        try:
            assert_is_adaboost(variant, pool, labels, costs, costs.positive if variant[0] in TWO_BASES else 1)
        except AssertionError:
            return True
    return False


balanced = {"n_positive": 12, "n_negative": 12}
unbalanced = {"n_positive": 6, "n_negative": 18}


@pytest.mark.parametrize(("name", "options"), named(ALWAYS))
@given(pools.seeds, st.floats(0.01, 100))
@settings(max_examples=25, deadline=None)
def test_adaboost_at_any_equal_costs(name, options, seed, cost):
    assert_is_adaboost((name, options), *pools.random_pool(seed), Costs(cost, cost))


@pytest.mark.parametrize(("name", "options"), named(UP_TO_THE_COST))
@given(pools.seeds, st.floats(0.1, 10))
@settings(max_examples=25, deadline=None)
def test_adaboost_up_to_the_equal_cost(name, options, seed, cost):
    assert_is_adaboost((name, options), *pools.random_pool(seed), Costs(cost, cost), cost)


@pytest.mark.parametrize(("name", "options"), named(IN_BALANCE))
@given(pools.seeds, st.floats(0.1, 10))
@settings(max_examples=25, deadline=None)
def test_adaboost_at_equal_costs_of_balanced_classes(name, options, seed, cost):
    pool, labels = pools.random_pool(seed, 9, 9)
    assert_is_adaboost((name, options), pool, labels, Costs(cost, cost), cost if name in TWO_BASES else 1)


@pytest.mark.parametrize(("name", "options"), named(IN_BALANCE))
def test_but_not_of_unbalanced_classes(name, options):
    assert differs_from_adaboost((name, options), Costs(), **unbalanced)


@pytest.mark.parametrize("classes", [balanced, unbalanced])
@pytest.mark.parametrize("cost", [1, 2])
@pytest.mark.parametrize(("name", "options"), named(NEVER))
def test_never_adaboost(name, options, cost, classes):
    assert differs_from_adaboost((name, options), Costs(cost, cost), **classes)


@given(pools.seeds)
@settings(max_examples=25, deadline=None)
def test_csb2_is_adaboost_at_one_to_one(seed):
    assert_is_adaboost(("csb2", {}), *pools.random_pool(seed), Costs())


@pytest.mark.parametrize("cost", [2, 0.5])
def test_but_not_at_other_equal_costs(cost):
    assert differs_from_adaboost(("csb2", {}), Costs(cost, cost), **balanced)


def test_csb0_at_one_to_one_chooses_the_same_for_ever():
    pool, labels = pools.random_pool(3, 12, 12, 12)
    assert len(set(run(("csb0", {}), pool, labels, Costs(), literal=True).chosen)) == 1


@given(pools.seeds, st.floats(0.1, 10))
@settings(max_examples=25, deadline=None)
def test_real_boosters_at_equal_costs(seed, cost):
    """The cost-sensitive ones are the plain ones; RealBoost with the exponential criterion, divided by the cost."""
    pool, labels = pools.random_pool(seed)
    equal = Costs(cost, cost)
    plain = run(("real", {"criterion": "exponential"}), pool, labels, Costs())
    assert_same(plain, run(("cost-sensitive-real", {}), pool, labels, equal), cost)
    assert_same(*(run((name, {}), pool, labels, equal) for name in ("logit", "cost-sensitive-logit")))
    for name in ("real", "gentle", "logit"):
        cost_generalized = (f"cost-generalized-{name}", {"prior": "sample"})
        assert_same(*(run(v, pool, labels, equal) for v in ((name, {}), cost_generalized)))


@pytest.mark.parametrize("name", ["adaboost", "real", "gentle", "logit"])
def test_plain_boosters_do_not_see_costs(name):
    pool, labels = pools.random_pool(1)
    one, other = (run((name, {}), pool, labels, costs) for costs in (Costs(), Costs(100, 1)))
    assert one.chosen == other.chosen
    assert np.array_equal(one.leaves, other.leaves)


# ---- Sample weights --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), named(VARIANTS))
@given(pools.seeds, pools.costs)
@settings(max_examples=15, deadline=None)
def test_sample_weights_are_repeated_samples(name, options, seed, costs):
    """A weight of 2 is the sample twice, one of 0 is its absence; weights have any scale."""
    pool, labels = pools.random_pool(seed)
    costs = pools.milder(costs) if options.get("sign") == "any" else costs
    times = np.random.default_rng(seed).integers(0, 4, len(labels))
    times[[np.argmax(labels), np.argmin(labels)]] = 1  # of both classes
    weighted = run((name, options), pool, labels, costs, sample_weight=0.7 * times)
    repeated = run((name, options), pool.repeat(times, axis=0), labels.repeat(times), costs)
    assert len(weighted.chosen) == len(repeated.chosen) or clear_rounds(weighted, repeated) < N_ROUNDS
    assert_same(weighted, repeated)
