"""Boosters with real-valued leaves: Real, Gentle, Logit, cost-generalized and cost-sensitive."""

from __future__ import annotations

import numpy as np
import pools
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import BoostingState, Costs, make_booster
from vjcascade.boosters.confidence import gini, log_odds, mean_label
from vjcascade.errors import SettingsError
from vjcascade.learning.pool import boost_pool

REAL_VALUED = [
    "real",
    "gentle",
    "logit",
    "cost-generalized-real",
    "cost-generalized-gentle",
    "cost-generalized-logit",
    "cost-sensitive-real",
    "cost-sensitive-logit",
]
shares = st.floats(0.001, 0.999)


def exponential_loss(score, labels, start, costs):
    """Return the weighted mean of e^{-C_y y f}."""
    return (start * np.exp(-costs.of(labels) * labels * score)).sum() / start.sum()


def losses_of(run, pool, labels, start, costs):
    """Return the exponential loss before the first round and after each."""
    scores = np.vstack([np.zeros(len(labels)), run.scores(pool)])
    return np.array([exponential_loss(score, labels, start, costs) for score in scores])


# ---- Leaves ----------------------------------------------------------------------------------------------------------


@given(shares, pools.costs)
@settings(max_examples=27, deadline=None)
def test_leaf_values_leave_the_least_loss(share, costs):
    """Of a leaf with some weight of positives and of negatives; against a fine grid around the value."""
    costs = costs.normalised()
    p, n = np.array([share]), np.array([1 - share])
    around = np.linspace(-0.5, 0.5, 401)
    losses = {
        "real": lambda h: p * np.exp(-h) + n * np.exp(h),
        "gentle": lambda h: p * (1 - h) ** 2 + n * (1 + h) ** 2,
        "cost-sensitive-real": lambda h: p * np.exp(-costs.positive * h) + n * np.exp(costs.negative * h),
    }
    for name, loss in losses.items():
        scale = costs.positive + costs.negative if name.startswith("cost") else 1
        value = make_booster(name, costs).leaf_values(p, n)
        assert loss(value) <= loss(value + around / scale).min() + 1e-12


@given(pools.seeds, pools.costs)
@settings(max_examples=14, deadline=None)
def test_logits_leaf_values_are_half_the_mean_working_responses(seed, costs):
    pool, labels = pools.random_pool(seed)
    score = np.random.default_rng(seed).normal(0, 2, len(labels))
    for name, eta in (("logit", 0), ("cost-sensitive-logit", -0.5 * np.log(costs.ratio))):
        booster, state = make_booster(name, costs), BoostingState.start(labels)
        state.score += score
        round_ = booster.begin_round(state)
        p = 1 / (1 + np.exp(-2 * (score + eta)))
        weights = p * (1 - p) / (p * (1 - p)).sum()
        responses = np.clip(np.where(labels > 0, 1 / p, -1 / (1 - p)), -10, 10)
        np.testing.assert_allclose(round_.weights, weights, rtol=1e-9, atol=1e-15)  # 1 - p cancels near 1
        for h in pool.T:
            side = h == h[0]
            weight_sums = (
                np.array([part[side].sum()]) for part in (round_.positive_part, round_.negative_part)
            )
            expected = 0.5 * (weights * responses)[side].sum() / weights[side].sum()
            assert booster.leaf_values(*weight_sums)[0] == pytest.approx(expected, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("name", REAL_VALUED)
def test_pure_leaves_are_limited_and_empty_ones_say_nothing(name):
    limits = {
        "real": np.log(99999) / 2,
        "gentle": 1.0,
        "logit": 5.0,
        "cost-sensitive-real": np.log(99999) / 3,
    }
    booster = make_booster(name, Costs(2, 1))
    values = booster.leaf_values(np.array([0.3, 0.0, 0.0]), np.array([0.0, 0.3, 0.0]))
    limit = limits.get(name) or limits[name.split("-")[-1]]
    np.testing.assert_allclose(values, [limit, -limit, 0.0], rtol=1e-9)


@pytest.mark.parametrize("name", [*REAL_VALUED, "real by exponential loss"])
@given(pools.seeds, pools.far_costs)
@settings(max_examples=9, deadline=None)
def test_losses_are_concave_and_the_same_for_a_classifier_and_its_negative(name, seed, costs):
    options = {"criterion": "exponential"} if " " in name else {}
    booster = make_booster(name.split()[0], costs, **options)
    round_ = booster.begin_round(BoostingState.start(np.array([1, -1, -1], np.int8)))
    weight_sums = np.array([[round_.positive_weight], [round_.negative_weight]])
    points = np.random.default_rng(seed).random((3, 2, 30)) * weight_sums
    one, other = booster.loss(*points[0], round_), booster.loss(*points[1], round_)
    between = booster.loss(*(points[0] + points[1]) / 2, round_)
    assert np.all(between >= (one + other) / 2 - 1e-12)
    np.testing.assert_allclose(booster.loss(*(weight_sums - points[0]), round_), one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", REAL_VALUED)
def test_a_rounding_error_breaks_no_tie(name):
    """Sums in another order may leave 1e-16 of a class in a leaf, where a loss is up to 1e5 times as steep."""
    booster = make_booster(name, Costs(4.5, 0.5))
    round_ = booster.begin_round(BoostingState.start(np.array([1, 1, -1, -1, -1], np.int8)))
    one, other = 0.3 * round_.positive_weight, 0.2 * round_.negative_weight
    for errors_p, errors_n in (([1e-16, 0.0, one], [other] * 3), ([one] * 3, [1e-16, 0.0, other])):
        turned = round_.positive_weight - np.array(errors_p), round_.negative_weight - np.array(errors_n)
        assert booster.choose(np.array(errors_p), np.array(errors_n), round_) == 0
        assert booster.choose(*turned, round_) == 0


def test_the_losses_of_a_leaf_by_hand():
    assert gini(np.array([0.3]), np.array([0.1])) == pytest.approx(0.4 * (1 - 0.75**2 - 0.25**2))
    assert mean_label(np.array([0.3]), np.array([0.1])) == pytest.approx(0.5)
    assert log_odds(np.array([0.3]), np.array([0.1])) == pytest.approx(np.log(3))
    by_loss = make_booster("real", Costs(), criterion="exponential")
    assert by_loss.impurity(np.array([0.3]), np.array([0.1])) == pytest.approx(2 * np.sqrt(0.03))
    cost_sensitive = make_booster("cost-sensitive-real", Costs(3, 1))
    expected = (1 + 3) / 3**0.75 * 0.3**0.25 * 0.1**0.75
    assert cost_sensitive.impurity(np.array([0.3]), np.array([0.1])) == pytest.approx(expected)


def test_an_empty_leaf_is_empty_in_a_run_as_well():
    """The sums of all weights in different orders differ by rounding errors, which must not become a vote."""
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(60) < 0.7, 1, -1).astype(np.int8)
    for name in REAL_VALUED:
        everything = np.ones((60, 1), np.int8)
        booster = make_booster(name, Costs(3, 2))
        run = boost_pool(everything, labels, booster, 3, sample_weight=rng.random(60))
        assert len(run.chosen) > 0
        assert run.leaves[0, 0] == 0


# ---- The loss from round to round ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("real", {}),
        ("real", {"criterion": "exponential"}),
        ("gentle", {}),
        ("cost-generalized-real", {"prior": "sample"}),
        ("cost-generalized-gentle", {"prior": "sample"}),
        ("cost-sensitive-real", {}),
    ],
)
@given(
    pools.seeds, st.one_of(pools.far_costs, st.sampled_from([Costs(1e3, 1), Costs(1e7, 1), Costs(1, 1e7)]))
)
@settings(max_examples=11, deadline=None)
def test_the_exponential_loss_never_rises(name, options, seed, costs):
    """A theorem for Gentle AdaBoost too: its step, the mean label m, multiplies by cosh m - m sinh m <= 1."""
    pool, labels = pools.random_pool(seed)
    run = boost_pool(pool, labels, make_booster(name, costs, **options), 20, literal=True)
    start = costs.of(labels) if name.startswith("cost-generalized") else np.ones(len(labels))
    bases = costs.normalised() if name == "cost-sensitive-real" else Costs()
    losses = losses_of(run, pool, labels, start, bases)
    assert len(losses) == 21
    assert np.all(np.diff(losses) <= 1e-12 * losses[:-1])
    assert losses[1] < 1


@pytest.mark.parametrize("name", ["logit", "cost-generalized-logit"])
@given(pools.seeds, pools.far_costs)
@settings(max_examples=14, deadline=None)
def test_logits_loss_falls_in_the_first_round(name, seed, costs):
    """From p = 1/2 the Newton step, the mean label m, falls short of the best one, artanh m."""
    pool, labels = pools.random_pool(seed)
    options = {"prior": "sample"} if name.startswith("cost") else {}
    run = boost_pool(pool, labels, make_booster(name, costs, **options), 1, literal=True)
    start = costs.of(labels) if options else np.ones(len(labels))
    before, after = ((start * np.logaddexp(0, -2 * labels * f)).sum() for f in (0.0, run.state.score))
    assert after < before or np.abs(run.leaves).max() < 1e-6


def test_logits_loss_may_rise():
    """Samples far on the wrong side hardly weigh, so a leaf's Newton step may carry them farther still."""
    labels = np.array([1] + [-1] * 1000, np.int8)
    state = BoostingState.start(labels)
    state.score += np.where(labels > 0, 0.0, 10.0)
    booster = make_booster("logit", Costs())
    round_ = booster.begin_round(state)
    (value,) = booster.leaf_values(np.array([round_.positive_weight]), np.array([round_.negative_weight]))
    loss, after = (np.logaddexp(0, -2 * labels * (state.score + step)).mean() for step in (0.0, value))
    assert value > 0.9
    assert after > loss


# ---- What they converge to -------------------------------------------------------------------------------------------

RATES = np.array([0.7, 0.55, 0.4, 0.15])
PER_CELL = 40
half_odds = np.repeat(0.5 * np.log(RATES / (1 - RATES)), PER_CELL)


def converged(name, costs, n_rounds=60, **options):
    pool, labels = pools.complete_pool(RATES, PER_CELL)
    return boost_pool(pool, labels, make_booster(name, costs, **options), n_rounds).state.score


@pytest.mark.parametrize("name", ["real", "gentle", "logit"])
def test_they_converge_to_half_the_log_odds(name):
    np.testing.assert_allclose(converged(name, Costs()), half_odds, rtol=0, atol=1e-3)


@pytest.mark.parametrize("name", ["real", "gentle", "logit"])
def test_costs_in_the_prior_shift_them_by_half_the_log_of_the_ratio(name):
    score = converged(f"cost-generalized-{name}", Costs(3, 1), prior="sample")
    np.testing.assert_allclose(score, half_odds + 0.5 * np.log(3), rtol=0, atol=1e-3)


def test_but_logits_score_has_no_limit_where_the_odds_exceed_ten():
    """A working response is clipped to 10, so the rare negatives there cannot hold the score; its sign is right."""
    score = converged("cost-generalized-logit", Costs(30, 1), prior="sample")
    wanted = half_odds + 0.5 * np.log(30)
    assert np.exp(2 * wanted[0]) == pytest.approx(70)
    assert score[0] > wanted[0] + 3
    assert np.array_equal(score > 0, wanted > 0)


@pytest.mark.parametrize("costs", [Costs(4, 1), Costs(1, 2), Costs(30, 10)])
def test_the_cost_sensitive_ones_converge_to_their_losses_minima(costs):
    """Both are 0 where C_P Pr(1|x) = C_N Pr(-1|x)."""
    unit = min(costs.positive, costs.negative)
    total = (costs.positive + costs.negative) / unit
    logit, real = converged("cost-sensitive-logit", costs), converged("cost-sensitive-real", costs)
    np.testing.assert_allclose(logit, half_odds + 0.5 * np.log(costs.ratio), rtol=0, atol=1e-3)
    np.testing.assert_allclose(real, (2 * half_odds + np.log(costs.ratio)) / total, rtol=0, atol=1e-3)
    best_decision = np.repeat(costs.positive * RATES >= costs.negative * (1 - RATES), PER_CELL)
    assert np.array_equal(logit >= 0, best_decision)
    assert np.array_equal(real >= 0, best_decision)


def test_adaboost_and_cost_generalized_adaboost_on_the_same_pool():
    """They differ by 1/2 log(C_P / C_N), as the paper's minimisers do."""
    plain = converged("adaboost", Costs(), 400)
    costly = converged("cost-generalized", Costs(4, 1), 400, prior="sample")
    np.testing.assert_allclose(plain, half_odds, rtol=0, atol=5e-3)
    np.testing.assert_allclose(costly, half_odds + 0.5 * np.log(4), rtol=0, atol=5e-3)


def test_another_criterion_is_refused():
    with pytest.raises(SettingsError, match="criterion 'entropy' is not one of gini, exponential"):
        make_booster("real", Costs(), criterion="entropy")
