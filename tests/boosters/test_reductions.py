"""What costs do to a booster: scaled, equal, or given as sample weights and repeated samples."""

from __future__ import annotations

import itertools

import naive_boosters
import numpy as np
import pools
import pytest
from hypothesis import example, given, settings, strategies as st

from vjcascade.boosters import Costs, make_booster, registry
from vjcascade.learning.pool import boost_pool

N_ROUNDS = 8
VARIANTS = [
    *naive_boosters.NAMES.values(),
    *((name, {}) for name in ("csb0", "csb1", "csb2")),
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


def assert_same(one, other):
    """The same choices and votes."""
    n = clear_rounds(one, other)
    assert one.chosen[:n] == other.chosen[:n]
    np.testing.assert_allclose(one.leaves[:n], other.leaves[:n], rtol=1e-7, atol=1e-9)


def test_no_booster_is_left_out():
    assert {name for name, _ in VARIANTS} >= set(registry._BOOSTERS)


# ---- The scale of the costs ------------------------------------------------------------------------------------------

SCALE_COUNTS = [(name, {"scale": "given"}) for name in ("csb0", "csb1", "csb2")]
SCALE_IS_NOTHING = [v for v in VARIANTS if v not in SCALE_COUNTS]
TWO_BASES = {"cost-sensitive", "adaboostdb"}
units = st.one_of(st.sampled_from([1e-6, 0.3, 7.0, 1e12]), st.floats(1e-9, 1e15))


@pytest.mark.parametrize(("name", "options"), named(SCALE_IS_NOTHING))
@given(pools.seeds, pools.costs, units)
@settings(max_examples=8, deadline=None)
def test_only_the_ratio_of_costs_counts(name, options, seed, costs, unit):
    pool, labels = pools.random_pool(seed)
    costs = pools.milder(costs) if options.get("sign") == "any" else costs
    scaled = Costs(unit * costs.positive, unit * costs.negative)
    literal = name not in TWO_BASES  # for which all that are no better than chance are equally good
    assert_same(*(run((name, options), pool, labels, c, literal=literal) for c in (costs, scaled)))


@pytest.mark.parametrize("unit", [1e12, 1e-6, 1e8, 3.0])
@pytest.mark.parametrize(("name", "options"), named(SCALE_IS_NOTHING))
def test_a_unit_of_costs_does_not_change_a_bit(name, options, unit):
    pool, labels = pools.random_pool(5, 15, 15, 20)
    one, other = (run((name, options), pool, labels, Costs(4 * u, u)) for u in (1, unit))
    assert len(one.chosen) > 0
    assert one.chosen == other.chosen
    assert np.array_equal(one.leaves, other.leaves)


@pytest.mark.parametrize(("name", "options"), named(SCALE_COUNTS))
def test_the_scale_of_costs_changes_csb_as_printed(name, options):
    pool, labels = pools.random_pool(5, 15, 15, 20)
    given_costs = Costs(3, 1), Costs(6, 2), Costs(0.75, 0.25)
    alphas = [run((name, options), pool, labels, costs, literal=True).alphas for costs in given_costs]
    for one, other in itertools.combinations(alphas, 2):
        assert np.abs(np.subtract(one, other)).max() > 0.01


# ---- Equal costs -----------------------------------------------------------------------------------------------------

ALWAYS = [
    *((name, {}) for name in ("adaboost", "asymboost", "adac1", "adac2", "adac3")),
    ("cost-generalized", {"prior": "sample"}),
    ("csb2", {}),
    ("cost-sensitive", {"prior": "uniform"}),
    ("adaboostdb", {"prior": "uniform"}),
]
IN_BALANCE = [
    ("cost-generalized", {"prior": "class"}),
    ("cost-sensitive", {"prior": "balanced"}),
    ("adaboostdb", {"prior": "balanced"}),
]
NEVER = [
    *((name, {}) for name in ("adacost", "csb0", "csb1")),
    *((name, {"scale": "sum"}) for name in ("adac1", "adac3")),
]
adaboost = ("adaboost", {})


def choices_of(variant, pool, labels, costs, *, literal):
    """Return choices and steps of alpha h, whatever the ensemble's votes are."""
    result = run(variant, pool, labels, costs, literal=literal)
    n = clear_rounds(result)
    return result.chosen[:n], result.alphas[:n]


def assert_is_adaboost(variant, pool, labels, costs):
    """Two bases hold all that are no better than chance for equally good: they are AdaBoost until it would stop."""
    literal = variant[0] not in TWO_BASES
    chosen, alphas = choices_of(variant, pool, labels, costs, literal=literal)
    expected, expected_alphas = choices_of(adaboost, pool, labels, Costs(), literal=literal)
    n = min(len(chosen), len(expected))
    assert n > 0 or len(expected) == len(chosen) == 0
    assert chosen[:n] == expected[:n]
    np.testing.assert_allclose(alphas[:n], expected_alphas[:n], rtol=1e-8, atol=1e-9)


def differs_from_adaboost(variant, costs, **classes):
    """Tell whether some of ten pools shows a difference, in choices or steps."""
    for seed in range(10):
        pool, labels = pools.random_pool(seed, **classes, n_weak=12)
        try:
            assert_is_adaboost(variant, pool, labels, costs)
        except AssertionError:
            return True
    return False


balanced = {"n_positive": 12, "n_negative": 12}
unbalanced = {"n_positive": 6, "n_negative": 18}


@pytest.mark.parametrize(("name", "options"), named(ALWAYS))
@given(pools.seeds, st.floats(0.01, 100))
@example(363983, 1.0)  # none is better than chance
@settings(max_examples=11, deadline=None)
def test_adaboost_at_any_equal_costs(name, options, seed, cost):
    assert_is_adaboost((name, options), *pools.random_pool(seed), Costs(cost, cost))


@pytest.mark.parametrize(("name", "options"), named(IN_BALANCE))
@given(pools.seeds, st.floats(0.1, 10))
@settings(max_examples=11, deadline=None)
def test_adaboost_at_equal_costs_of_balanced_classes(name, options, seed, cost):
    pool, labels = pools.random_pool(seed, 9, 9)
    assert_is_adaboost((name, options), pool, labels, Costs(cost, cost))


@pytest.mark.parametrize(("name", "options"), named(IN_BALANCE))
def test_but_not_of_unbalanced_classes(name, options):
    assert differs_from_adaboost((name, options), Costs(), **unbalanced)


@pytest.mark.parametrize("classes", [balanced, unbalanced])
@pytest.mark.parametrize("cost", [1, 2])
@pytest.mark.parametrize(("name", "options"), named(NEVER))
def test_never_adaboost(name, options, cost, classes):
    assert differs_from_adaboost((name, options), Costs(cost, cost), **classes)


@given(pools.seeds)
@settings(max_examples=11, deadline=None)
def test_csb2_as_printed_is_adaboost_at_one_to_one(seed):
    assert_is_adaboost(("csb2", {"scale": "given"}), *pools.random_pool(seed), Costs())


@pytest.mark.parametrize("cost", [2, 0.5])
def test_but_not_at_other_equal_costs(cost):
    assert differs_from_adaboost(("csb2", {"scale": "given"}), Costs(cost, cost), **balanced)


def test_csb0_at_one_to_one_chooses_the_same_for_ever():
    pool, labels = pools.random_pool(3, 12, 12, 12)
    assert len(set(run(("csb0", {}), pool, labels, Costs(), literal=True).chosen)) == 1


@given(pools.seeds, st.floats(0.1, 10))
@settings(max_examples=11, deadline=None)
def test_real_boosters_at_equal_costs(seed, cost):
    """The cost-sensitive ones are the plain ones; RealBoost with the exponential criterion."""
    pool, labels = pools.random_pool(seed)
    equal = Costs(cost, cost)
    plain = run(("real", {"criterion": "exponential"}), pool, labels, Costs())
    assert_same(plain, run(("cost-sensitive-real", {}), pool, labels, equal))
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
@settings(max_examples=8, deadline=None)
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
