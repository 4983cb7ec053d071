from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import Costs, make_booster
from vjcascade.boosters.calibration import PlattScaling, calibrated_threshold, split_halves
from vjcascade.boosters.thresholds import probability_threshold, theory_threshold
from vjcascade.errors import SettingsError
from vjcascade.evaluation import normalised_expected_cost, skew
from vjcascade.learning.pool import boost_pool


def random_scores(rng, n=200, lift=1.0):
    labels = np.where(rng.random(n) < 0.4, 1, -1).astype(np.int8)
    labels[:2] = 1, -1
    return rng.normal(0, 1, n) + lift * labels, labels


def likelihood_loss(slope, offset, scores, labels, weights):
    """Return Platt's negative log likelihood as it is printed, sample by sample."""
    n_p = sum(w for w, y in zip(weights, labels, strict=True) if y > 0)
    n_n = sum(w for w, y in zip(weights, labels, strict=True) if y < 0)
    loss = 0.0
    for score, label, weight in zip(scores, labels, weights, strict=True):
        target = (n_p + 1) / (n_p + 2) if label > 0 else 1 / (n_n + 2)
        p = 1 / (1 + math.exp(slope * score + offset))
        loss -= weight * (target * math.log(p) + (1 - target) * math.log(1 - p))
    return loss


def least_on_grids(function, center, width, n_grids=25):
    """Return the minimum of a convex function of two numbers by ever finer grids."""
    for _ in range(n_grids):
        grid = [
            (center[0] + width * i / 3, center[1] + width * j / 3) for i in range(-3, 4) for j in range(-3, 4)
        ]
        center, width = min(grid, key=lambda point: function(*point)), width * 0.6
    return center


@pytest.mark.parametrize("weighted", [False, True])
def test_the_fit_is_the_most_likely(rng, weighted):
    scores, labels = random_scores(rng, 25)
    weights = rng.exponential(1, 25) if weighted else np.ones(25)
    scaling = PlattScaling.fit(scores, labels, weights if weighted else None)
    slope, offset = least_on_grids(
        lambda a, b: likelihood_loss(a, b, scores, labels, weights), center=(-1.0, 0.0), width=3.0
    )
    assert (scaling.slope, scaling.offset) == (
        pytest.approx(slope, abs=1e-4),
        pytest.approx(offset, abs=1e-4),
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [0.1, 1, 50])
def test_the_fit_equals_scikit_learns(rng, scale, weighted):
    calibration = pytest.importorskip("sklearn.calibration", reason="compares with scikit-learn")
    scores, labels = random_scores(rng)
    weights = rng.exponential(1, len(scores)) if weighted else None
    slope, offset = calibration._sigmoid_calibration(scale * scores, labels, weights)
    scaling = PlattScaling.fit(scale * scores, labels, weights)
    assert scale * scaling.slope == pytest.approx(scale * slope, abs=1e-4)
    assert scaling.offset == pytest.approx(offset, abs=1e-4)


@given(st.floats(-3, 3), st.integers(-290, 290), st.floats(-100, 100), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=27)
def test_scores_on_another_scale_give_the_same_probabilities(lift, exponent, shift, seed):
    scores, labels = random_scores(np.random.default_rng(seed), 40, lift)
    other = (scores + shift) * 10.0**exponent
    expected = PlattScaling.fit(scores, labels).probability(scores)
    np.testing.assert_allclose(PlattScaling.fit(other, labels).probability(other), expected, atol=1e-7)


def test_a_weight_counts_samples(rng):
    scores, labels = random_scores(rng, 50)
    counts = rng.integers(1, 4, 50)
    weighted = PlattScaling.fit(scores, labels, counts)
    repeated = PlattScaling.fit(np.repeat(scores, counts), np.repeat(labels, counts))
    assert weighted.slope == pytest.approx(repeated.slope, abs=1e-9)
    assert weighted.offset == pytest.approx(repeated.offset, abs=1e-9)
    costs = Costs(3, 1)
    assert calibrated_threshold(scores, labels, costs, counts) == pytest.approx(
        calibrated_threshold(np.repeat(scores, counts), np.repeat(labels, counts), costs)
    )


@pytest.mark.parametrize("size", [1e-300, 1, 1e6, 1.7e308])
def test_separable_scores_of_any_size(size):
    labels = np.repeat([1, -1], 500)
    scaling = PlattScaling.fit(size * labels, labels)
    assert scaling.slope < 0
    np.testing.assert_allclose(scaling.probability([size, -size]), [501 / 502, 1 / 502], rtol=1e-6)
    assert abs(scaling.threshold(0.5)) < 1e-6 * size


@pytest.mark.parametrize("seed", range(20))
def test_the_threshold_is_where_the_probability_is_reached(seed):
    rng = np.random.default_rng(seed)
    scaling = PlattScaling.fit(*random_scores(rng))
    probability = rng.uniform(0.01, 0.99)
    threshold = scaling.threshold(probability)
    assert scaling.probability(threshold) == pytest.approx(probability)
    assert scaling.probability(threshold + 0.1) > probability


@pytest.mark.parametrize("score", [0.0, -7.5, 1e300])
def test_constant_scores_leave_the_base_rate(score):
    labels = np.array([1, 1, 1, -1])
    scaling = PlattScaling.fit(np.full(4, score), labels)
    assert scaling.slope == 0
    assert scaling.probability(score) == pytest.approx((3 * 4 / 5 + 1 / 3) / 4)
    assert calibrated_threshold(np.full(4, score), labels, Costs(1, 2.9)) == -math.inf
    assert calibrated_threshold(np.full(4, score), labels, Costs(1, 3.1)) == math.inf
    assert calibrated_threshold(np.full(4, score), labels, Costs(1, 3.1), [2, 1, 1, 1]) == -math.inf


def test_scores_that_say_the_opposite_are_of_no_use(rng):
    scores, labels = random_scores(rng)
    with pytest.raises(SettingsError, match="contradicts the labels"):
        PlattScaling.fit(-scores, labels).threshold(0.5)
    assert calibrated_threshold(-scores, labels, Costs(9, 1)) == -math.inf
    assert calibrated_threshold(-scores, labels, Costs(1, 9)) == math.inf


@pytest.mark.parametrize(
    ("scores", "labels", "weights", "message"),
    [
        ([1, 2], [1, 1], None, "there are no negatives"),
        ([1, 2], [-1, -1], None, "there are no positives"),
        ([1, 2], [1, -1], [0, 1], "there are no positives"),
        ([], [], None, "there are no positives"),
        ([1, 2, 3], [1, -1], None, r"scores \(3,\), labels \(2,\)"),
        ([1, math.nan], [1, -1], None, "score nan"),
        ([-math.inf, 1], [1, -1], None, "score -inf"),
        ([1, 2], [1, -1], [1, -1], "sample weight -1"),
        ([1, 2], [1, -1], [1, math.inf], "sample weight inf"),
    ],
)
def test_what_cannot_be_calibrated_is_named(scores, labels, weights, message):
    with pytest.raises(SettingsError, match=message):
        PlattScaling.fit(scores, labels, weights)


@pytest.mark.parametrize("probability", [0, 1, -0.1, math.nan])
def test_probabilities_out_of_range(probability):
    with pytest.raises(SettingsError, match=f"probability {probability}"):
        PlattScaling(-1, 0).threshold(probability)


# ---- Which threshold is right for whom -------------------------------------------------------------------------------

PRIOR, DISTANCE, COSTS = 0.3, 1.6, Costs(4, 1)
"""Two Gaussians of variance 1, so that all is known: log odds are linear in the feature."""


def draw(rng, n, n_features=1):
    labels = np.where(rng.random(n) < PRIOR, 1, -1).astype(np.int8)
    step = DISTANCE / math.sqrt(n_features)
    features = rng.normal(0, 1, (n, n_features)) + step * (labels[:, None] > 0)
    log_odds = math.log(PRIOR / (1 - PRIOR)) + step * features.sum(1) - DISTANCE**2 / 2
    return features, labels, log_odds


def rule_thresholds(scores, labels):
    """Return the threshold on the score by each way to calibrate and decide."""
    costs = COSTS.of(labels)
    plain, costed = PlattScaling.fit(scores, labels), PlattScaling.fit(scores, labels, costs / costs.mean())
    q = probability_threshold(COSTS)
    return {
        "plain, q": plain.threshold(q),
        "costed, 1/2": costed.threshold(0.5),
        "plain, 1/2": plain.threshold(0.5),
        "costed, q": costed.threshold(q),
        "plain, z": plain.threshold(skew(labels, COSTS)),
    }


RIGHT = {"plain, q", "costed, 1/2"}


@pytest.mark.parametrize(
    ("shift", "best"),
    [(0, theory_threshold(COSTS)), (-theory_threshold(COSTS), 0)],
    ids=["AdaBoost: half the log odds", "cost-generalized: half the costed log odds"],
)
def test_the_right_rules_are_the_same_whatever_the_score_aims_at(rng, shift, best):
    _, labels, log_odds = draw(rng, 40_000)
    scores = log_odds / 2 + shift
    found = rule_thresholds(scores, labels)
    for rule, threshold in found.items():
        if rule in RIGHT:
            assert threshold == pytest.approx(best, abs=0.05), rule
        else:
            assert abs(threshold - best) > 0.3, rule
    assert calibrated_threshold(scores, labels, COSTS) == found["plain, q"]


def stump_outputs(features, cuts):
    above = np.concatenate(
        [np.where(x[:, None] >= c, 1, -1) for x, c in zip(features.T, cuts, strict=True)], 1
    )
    return np.concatenate([above, -above, np.ones((len(above), 1))], 1).astype(np.int8)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("adaboost", {}),
        ("asymboost", {}),
        ("cost-generalized", {"prior": "class"}),
        ("cost-generalized", {"prior": "sample"}),
    ],
)
def test_the_right_rules_are_the_same_for_all_boosters(rng, name, options):
    """On boosted scores too, two rules come near Bayes' cost; the others count something twice, or nothing."""
    n_rounds, sums = 40, Counter()
    test_features, test_labels, log_odds = draw(rng, 20_000, 2)
    for _ in range(6):
        features, labels, _ = draw(rng, 1000, 2)
        cuts = np.quantile(features, np.linspace(0.02, 0.98, 25), axis=0).T
        pool = stump_outputs(features, cuts)
        half, other = split_halves(labels, rng)
        run = boost_pool(pool[half], labels[half], make_booster(name, COSTS, n_rounds, **options), n_rounds)
        test_scores = run.scores(stump_outputs(test_features, cuts))[-1]
        calls = {
            rule: test_scores >= threshold
            for rule, threshold in rule_thresholds(run.scores(pool[other])[-1], labels[other]).items()
        }
        calls["Bayes"] = log_odds >= 2 * theory_threshold(COSTS)
        for rule, positive in calls.items():
            sums[rule] += normalised_expected_cost(np.where(positive, 1, -1), test_labels, COSTS)
    best = sums["plain, q"]
    assert best < 1.15 * sums.pop("Bayes")
    for rule, cost in sums.items():
        assert (cost < 1.02 * best) if rule in RIGHT else (cost > 1.05 * best), rule


# ---- Halves ----------------------------------------------------------------------------------------------------------


@given(st.integers(2, 30), st.integers(2, 30), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_halves_share_each_class(n_positives, n_negatives, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat([1, -1], [n_positives, n_negatives]))
    halves = split_halves(labels, np.random.default_rng(seed))
    boost, calibrate = halves
    assert np.array_equal(np.sort(np.concatenate(halves)), np.arange(len(labels)))
    for half in halves:
        assert np.all(np.diff(half) > 0)
    assert np.sum(labels[boost] > 0) == math.ceil(n_positives / 2)
    assert np.sum(labels[calibrate] < 0) == n_negatives // 2
    assert all(map(np.array_equal, halves, split_halves(labels, np.random.default_rng(seed))))


def test_halves_differ_by_seed():
    labels = np.repeat([1, -1], 50)
    first, second = (split_halves(labels, np.random.default_rng(seed))[0] for seed in (1, 2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("labels", "message"), [([1, -1, -1], "2 positives.*there are 1"), ([1, 1], "2 negatives.*are 0")]
)
def test_halves_need_two_of_a_class(labels, message):
    with pytest.raises(SettingsError, match=message):
        split_halves(labels, np.random.default_rng(0))
