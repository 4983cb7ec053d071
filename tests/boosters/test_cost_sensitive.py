"""Cost-Sensitive AdaBoost and AdaBoostDB: steps, choices, accumulators, and where the two differ."""

from __future__ import annotations

import math

import numpy as np
import pools
import pytest
from hypothesis import assume, example, given, settings, strategies as st

from vjcascade.boosters import BoostingState, Costs, Round, make_booster
from vjcascade.boosters.cost_sensitive import best_steps
from vjcascade.errors import SettingsError
from vjcascade.learning.pool import boost_pool

TEN_EACH = np.repeat([1, -1], 10).astype(np.int8)
log_masses = st.floats(-25, 0)  # powers of ten


def make(name, costs, **options):
    return make_booster(name, costs, **options)


def first_round(booster, labels):
    return booster.begin_round(BoostingState.start(labels))


def slope(alpha, wrong, right, costs):
    """Return the derivative of the loss of a step, from the loss itself, and a scale of its terms."""
    terms = [
        (cost * w * math.exp(cost * alpha), cost * r * math.exp(-cost * alpha))
        for cost, w, r in zip((costs.positive, costs.negative), wrong, right, strict=True)
    ]
    return sum(rising - falling for rising, falling in terms), sum(map(sum, terms))


@given(st.lists(log_masses, min_size=4, max_size=4), st.floats(0.1, 10), st.floats(0.1, 10))
@example([0.0, -15.0, -1.6875, -17.0], 2.0, 1.0)  # solved at an end of the bracket
@settings(max_examples=90, deadline=None)
def test_the_step_is_where_the_loss_stops_falling(logs, cost_p, cost_n):
    """Wherever not clipped: the error that counts costs is in [1e-12, 1 - 1e-12]."""
    weight_sums, costs = 10.0 ** np.array(logs), Costs(cost_p, cost_n)
    wrong, right = (weight_sums / weight_sums.sum())[:2], (weight_sums / weight_sums.sum())[2:]
    alpha = float(best_steps(wrong[:, None], right[:, None], costs)[0])
    factors = np.array([cost_p, cost_n])
    error = (factors * wrong).sum() / (factors * (wrong + right)).sum()
    odds = math.log((factors * right).sum() / (factors * wrong).sum())
    ends = sorted((odds / (2 * cost_p), odds / (2 * cost_n)))
    if 1e-11 < error < 1 - 1e-11:
        assert ends[0] - 1e-9 <= alpha <= ends[1] + 1e-9
        excess, scale = slope(alpha, wrong, right, costs)
        assert abs(excess) <= 1e-11 * scale * (1 + abs(alpha) * max(cost_p, cost_n))
    else:
        assert math.copysign(1, alpha) == math.copysign(1, odds)


@pytest.mark.parametrize("costs", [Costs(1000, 1), Costs(1, 1000), Costs(1e5, 1e-3)])
def test_steps_at_far_ratios_neither_overflow_nor_miss(costs, rng):
    wrong = rng.random((2, 200)) * 0.5 * np.array([[1.0], [1e-6]])
    alphas = best_steps(wrong, 0.5 - wrong, costs)
    factors = np.array([[costs.positive], [costs.negative]])
    rising = np.logaddexp.reduce(np.log(factors * wrong) + factors * alphas, axis=0)
    falling = np.logaddexp.reduce(np.log(factors * (0.5 - wrong)) - factors * alphas, axis=0)
    np.testing.assert_allclose(rising, falling, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("costs", "expected"), [((4, 1), 13.8155), ((1, 2), 13.8155), ((2, 3.5), 6.9078)])
def test_a_perfect_classifier_gets_the_clipped_step(costs, expected):
    alphas = best_steps(np.zeros((2, 1)), np.full((2, 1), 0.5), Costs(*costs))
    assert alphas == pytest.approx(expected, abs=1e-4)


# ---- Where AdaBoostDB and Cost-Sensitive AdaBoost differ -------------------------------------------------------------

COUNTEREXAMPLES = [  # costs, errors inside the classes, steps, losses of classes that weigh 1 each
    ((2, 1), [(0, 0.3), (0.1, 0)], (0.828585, 0.742707), (1.183367, 1.121271)),
    ((4, 1), [(0, 0.7), (0.1, 0.1)], (0.392132, 0.327385), (1.447129, 1.400856)),
]


@pytest.mark.parametrize(("costs", "errors", "steps", "losses"), COUNTEREXAMPLES)
def test_largest_root_is_not_least_loss(costs, errors, steps, losses):
    errors_p, errors_n = np.array(errors).T / 2  # here, a class weighs 1/2
    double_base, cost_sensitive = make("adaboostdb", Costs(*costs)), make("cost-sensitive", Costs(*costs))
    round_ = first_round(cost_sensitive, TEN_EACH)
    np.testing.assert_allclose(-double_base.loss(errors_p, errors_n, round_), steps, rtol=0, atol=5e-7)
    np.testing.assert_allclose(2 * cost_sensitive.loss(errors_p, errors_n, round_), losses, rtol=0, atol=5e-7)
    assert double_base.choose(errors_p, errors_n, round_) == 0
    assert cost_sensitive.choose(errors_p, errors_n, round_) == 1


@pytest.mark.parametrize("costs", [(1, 1), (2, 1), (4, 1), (10, 1), (1, 2), (3.5, 1)])
def test_largest_root_errs_less_on_the_costly_class_where_the_two_differ(costs):
    rng, differ = np.random.default_rng(9), 0
    double_base, cost_sensitive = make("adaboostdb", Costs(*costs)), make("cost-sensitive", Costs(*costs))
    round_ = first_round(cost_sensitive, TEN_EACH)
    for _ in range(100):
        errors = rng.uniform(0, 0.3, (2, 60))
        one, other = (booster.choose(*errors, round_) for booster in (double_base, cost_sensitive))
        differ += one != other
        costly = errors[0 if costs[0] >= costs[1] else 1]
        assert costly[one] <= costly[other]
    assert (differ == 0) == (costs == (1, 1))
    assert differ < 40


@pytest.mark.parametrize("prior", ["balanced", "uniform"])
@given(pools.seeds, pools.costs)
@settings(max_examples=11, deadline=None)
def test_by_least_loss_the_two_are_one(prior, seed, costs):
    pool, labels = pools.random_pool(seed)
    double_base = make("adaboostdb", costs, select="minloss", prior=prior)
    one = boost_pool(pool, labels, double_base, 10)
    other = boost_pool(pool, labels, make("cost-sensitive", costs, prior=prior), 10)
    assert one.chosen == other.chosen
    assert one.alphas == other.alphas


@given(pools.seeds, pools.costs)
@settings(max_examples=11, deadline=None)
def test_steps_of_any_sign_need_no_negatives_in_the_pool(seed, costs):
    """Among classifiers and their negatives, steps above 0 do what steps of any sign do without the negatives."""
    pool, labels = pools.random_pool(seed)
    weights = np.random.default_rng(seed).uniform(
        0.5, 1.5, len(labels)
    )  # so that only the same classifiers tie
    any_sign, positive = make("cost-sensitive", costs, sign="any"), make("cost-sensitive", costs)
    one = boost_pool(pool, labels, any_sign, 6, sample_weight=weights)
    other = boost_pool(np.hstack([pool, -pool]), labels, positive, 6, sample_weight=weights)
    clear = next((t for t, alpha in enumerate(other.alphas) if alpha < 1e-4), len(other.alphas))
    assert clear > 0
    np.testing.assert_allclose(np.abs(one.alphas[:clear]), other.alphas[:clear], rtol=1e-6, atol=1e-9)


def test_a_bad_classifier_helps_as_its_negative():
    """With steps of any sign, boosting does not stop where the winner's is below 0."""
    labels = np.array([1, 1, 1, -1, -1, -1], np.int8)
    good = np.array([[1, 1, -1, -1, -1, -1], [1, 1, 1, 1, -1, -1], [-1, 1, 1, -1, -1, 1]], np.int8).T
    run = boost_pool(-good, labels, make("cost-sensitive", Costs(2, 1), sign="any"), 5)
    assert len(run.chosen) == 5
    assert max(run.alphas) < 0
    mirror = boost_pool(good, labels, make("cost-sensitive", Costs(2, 1)), 5)
    assert run.chosen == mirror.chosen
    np.testing.assert_allclose(run.state.score, mirror.state.score, atol=1e-9)
    assert boost_pool(-good, labels, make("cost-sensitive", Costs(2, 1)), 5).chosen == []


def test_a_perfectly_wrong_classifier_is_the_last():
    labels = np.array([1, -1, -1], np.int8)
    run = boost_pool(-labels[:, None], labels, make("cost-sensitive", Costs(2, 1), sign="any"), 5)
    assert run.chosen == [0]
    assert np.array_equal(np.sign(run.state.score), labels)


# ---- AdaBoostDB ------------------------------------------------------------------------------------------------------


@given(pools.seeds, pools.costs, st.integers(0, 12))
@settings(max_examples=18, deadline=None)
def test_accumulators_are_the_class_means_of_the_loss(seed, costs, n_rounds):
    """A_P is the mean of e^{-C_P f}; as products: each round multiplies it by the class's loss of the step."""
    pool, labels = pools.random_pool(seed)
    booster = make("adaboostdb", costs)
    costs = costs.normalised()
    run = boost_pool(pool, labels, booster, n_rounds)
    log_p, log_n = booster.log_accumulators(run.state)
    score, positive = run.state.score, labels > 0
    assert np.exp(log_p) == pytest.approx(np.exp(-costs.positive * score[positive]).mean(), rel=1e-10)
    assert np.exp(log_n) == pytest.approx(np.exp(costs.negative * score[~positive]).mean(), rel=1e-10)
    round_ = booster.begin_round(run.state)
    share = round_.positive_weight / round_.negative_weight
    assert np.log(share) == pytest.approx(log_p - log_n, abs=1e-9)


def test_accumulators_are_kept_as_logarithms():
    """After so many rounds the accumulators themselves are no numbers any more."""
    booster, state = make("adaboostdb", Costs(4, 1)), BoostingState.start(TEN_EACH)
    state.add(TEN_EACH, 500.0)
    assert booster.log_accumulators(state) == pytest.approx((-2000, -500))


@given(pools.seeds, st.floats(1, 1000), st.floats(0.2, 8), st.integers(0, 3))
@settings(max_examples=18, deadline=None)
def test_the_step_of_the_constant_classifier(seed, ratio, scale, n_rounds):
    """alpha = log(C_P A_P / C_N A_N) / (C_P + C_N), whatever has been chosen before."""
    pool, labels = pools.random_pool(seed)
    booster = make("adaboostdb", Costs(scale * ratio, scale))
    costs = booster.costs
    state = boost_pool(pool, labels, booster, n_rounds).state
    round_ = booster.begin_round(state)
    log_p, log_n = booster.log_accumulators(state)
    expected = (math.log(ratio) + log_p - log_n) / (costs.positive + costs.negative)
    assume(abs(log_p - log_n) < 600)  # beyond, the smaller class has no digits left
    bound = math.log(1e12) / 2
    alpha = booster.alpha(0.0, round_.negative_weight, round_)
    assert alpha == pytest.approx(np.clip(expected, -bound, bound), rel=1e-7, abs=1e-9)


@given(st.tuples(*[st.floats(0.001, 0.999)] * 3), pools.costs, st.floats(1, 3))
@settings(max_examples=90, deadline=None)
def test_the_improvement_condition_tells_whose_root_is_larger(shares, costs, root):
    """root_c > r exactly if c . (r^2CP + 1, r^(CP+CN) + r^(CP-CN)) < a + b r^(CP-CN)."""
    share_p, error_p, error_n = shares
    state = BoostingState.start(np.array([1, -1], np.int8))
    round_ = Round.of_weights(np.array([share_p, 1 - share_p]), state)
    costs = costs.normalised()
    a, b = costs.positive * share_p, costs.negative * (1 - share_p)
    a, b = a / (a + b), b / (a + b)
    difference = root ** (costs.positive - costs.negative)
    vector = root ** (2 * costs.positive) + 1, root ** (costs.positive + costs.negative) + difference
    margin = a + b * difference - a * error_p * vector[0] - b * error_n * vector[1]
    alpha = make("adaboostdb", costs).alpha(error_p * share_p, error_n * (1 - share_p), round_)
    assert (math.exp(alpha) > root) == (margin > 0) or abs(alpha - math.log(root)) < 1e-9


def test_no_classifier_contributes_after_the_constant_one():
    """Its own contribution is then 1/2 up to rounding, which is none."""
    labels = np.array([1, 1, -1, -1, -1], np.int8)
    run = boost_pool(np.ones((5, 1), np.int8), labels, make("adaboostdb", Costs(7, 2)), 10)
    assert run.chosen == [0]


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("cost-sensitive", "sign", "none"),
        ("cost-sensitive", "prior", "class"),
        ("adaboostdb", "select", "max"),
    ],
)
def test_other_options_are_refused(name, option, value):
    with pytest.raises(SettingsError, match=f"{option} '{value}' is not one of"):
        make(name, Costs(), **{option: value})
