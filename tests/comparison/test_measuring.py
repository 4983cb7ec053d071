from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from vjcascade.boosters import Costs
from vjcascade.boosters.calibration import PlattScaling
from vjcascade.boosters.decision import DecisionRule, decision_threshold
from vjcascade.comparison.design import Contender, Design, Entry, Rule, Run
from vjcascade.comparison.measuring import (
    Trained,
    auc,
    boost_run,
    calibration_error,
    is_result,
    judge,
    weak_to_reach,
)
from vjcascade.comparison.problems import EvalSet, TableProblem, Trial
from vjcascade.comparison.results import CURVES
from vjcascade.evaluation import normalised_expected_cost

LABELS = np.array([1, 1, 1, 1, -1, -1, -1, -1], np.int8)


def trial_of(tune_labels=LABELS, test_labels=LABELS):
    return Trial(None, *(EvalSet(labels, None) for labels in (tune_labels, test_labels)))


def test_auc_is_scikit_learns(rng):
    metrics = pytest.importorskip("sklearn.metrics", reason="compares with scikit-learn")
    for scores in (rng.normal(size=50), rng.integers(0, 4, 50).astype(float)):
        positive = rng.random(50) < 0.4
        assert auc(scores, positive) == pytest.approx(metrics.roc_auc_score(positive, scores), abs=1e-12)


def test_calibration_error_of_the_right_and_the_opposite():
    positive = np.array([True, False, True, False])
    assert calibration_error(positive.astype(float), positive) == 0
    assert calibration_error(1.0 - positive, positive) == 1


@pytest.mark.parametrize(
    ("rule", "expected"), [(Rule.NATURAL, 3), (Rule.HIT_RATE, 2), (Rule.MINIMUM_COST, 3)]
)
def test_targets_are_reached_in_the_first_round_that_holds_them(rule, expected):
    design = Design(boosters=("adaboost",), hit_rate=0.9, false_alarm_rate=0.5)
    hits, false_alarms = np.array([0.95, 0.8, 0.9, 1.0]), np.array([0.6, 0.4, 0.5, 0.1])
    assert weak_to_reach(hits, false_alarms, rule, design) == expected
    assert weak_to_reach(hits, false_alarms + 0.5, rule, design) is None


@pytest.mark.parametrize("rule", list(Rule))
@pytest.mark.parametrize("ratio", [1, 4, 0.25])
def test_measures_are_those_of_the_decisions(rng, rule, ratio):
    tune, test = (LABELS * 0.5 + rng.normal(size=(3, 8)) for _ in range(2))
    trained = Trained(tune, test, np.array([1.0, 0.5, 0.2]), 0.1)
    entry = Entry(Contender("adaboost"), Costs.from_ratio(ratio), rule)
    design = Design(boosters=("adaboost",), hit_rate=0.75)
    (result,) = judge(trained, trial_of(), [entry], design)
    threshold = result["threshold"]
    threshold = threshold if threshold is not None else (-np.inf if result["hit_rate"] == 1 else np.inf)
    calls = np.where(test[-1] >= threshold, 1, -1)
    assert result["hit_rate"] == np.mean(calls[:4] > 0)
    assert result["false_alarm_rate"] == np.mean(calls[4:] > 0)
    assert result["cost"] == pytest.approx(normalised_expected_cost(calls, LABELS, entry.costs))
    design = replace(design, n_rounds=3)
    (result,) = judge(trained, trial_of(), [entry], design)
    assert [result["curve"][name][-1] for name in CURVES] == pytest.approx([result[name] for name in CURVES])
    assert is_result(json.loads(json.dumps(result)), design)
    if rule is Rule.NATURAL:
        assert threshold == 0
    if rule is Rule.HIT_RATE:
        assert np.mean(tune[-1][:4] >= threshold) >= 0.75


@pytest.mark.parametrize("rule", [Rule.THEORY, Rule.ADAMEC, Rule.MINIMUM_COST, Rule.CALIBRATED])
def test_thresholds_are_the_rule_s_for_the_costs_of_the_entry(rng, rule):
    tune, test = (np.repeat(LABELS, 5) * 0.5 + rng.normal(size=(3, 40)) for _ in range(2))
    labels, costs = np.repeat(LABELS, 5), Costs(4, 1)
    trained = Trained(tune, test, np.array([1.0, 0.5, 0.2]), 0.1)
    entry = Entry(Contender("adaboost"), costs, rule)
    (result,) = judge(trained, trial_of(labels, labels), [entry], Design(boosters=("adaboost",)))
    expected, other = (
        decision_threshold(DecisionRule(rule), costs=one, total_alpha=1.7, scores=tune[-1], labels=labels)
        for one in (costs, Costs())
    )
    assert result["threshold"] == pytest.approx(expected)
    assert expected < other  # or this shows less than it says


def test_platt_s_sigmoid_is_fitted_on_the_samples_to_tune_on(rng):
    labels = np.repeat(LABELS, 5)
    tune, test = (labels * scale + rng.normal(size=(1, 40)) for scale in (0.2, 2.0))
    trained = Trained(tune, test, np.ones(1), 0.1)
    entry = Entry(Contender("adaboost"), Costs(), Rule.NATURAL)
    (result,) = judge(trained, trial_of(labels, labels), [entry], Design(boosters=("adaboost",)))
    fitted = PlattScaling.fit(tune[-1], labels).probability(test[-1])
    assert result["calibration_error_platt"] == calibration_error(fitted, labels > 0)


def test_curves_hold_what_was_reached_after_every_kept_round(rng):
    """Positives are dear, and all of them are missed in the first round."""
    scores = np.array([-LABELS, LABELS, np.full(8, -1)]).astype(float)
    trained = Trained(scores, scores, np.ones(3), 0.0)
    entry = Entry(Contender("csb2"), Costs(4, 1), Rule.NATURAL)
    design = Design(boosters=("csb2",), n_rounds=5)  # the ensemble ended early
    curve = judge(trained, trial_of(), [entry], design)[0]["curve"]
    assert curve["hit_rate"] == [0, 1, 0, 0, 0]
    assert curve["false_alarm_rate"] == [1, 0, 0, 0, 0]
    assert curve["cost"] == pytest.approx([1, 0, 0.8, 0.8, 0.8])


def table_problem(rng, n=120):
    labels = np.where(np.arange(n) < n // 2, 1, -1).astype(np.int8)
    return TableProblem("rows", rng.normal(size=(n, 4)) + 0.8 * labels[:, None], labels, np.arange(n))


def test_scores_are_sums_of_votes(rng):
    problem = table_problem(rng)
    split = problem.split([0])
    trial = problem.trial(split, split.train, 1)
    trained = boost_run(trial, Run(Contender("cost-generalized"), Costs(4, 1), whole=False), 10)
    assert trained.test.shape == (10, len(split.test))
    assert trained.tune.shape == (10, len(split.tune))
    steps = np.diff(trained.test, axis=0)
    assert np.allclose(np.abs(steps), trained.alphas[1:, None], rtol=1e-6)  # votes are float32
    assert auc(trained.test[-1], trial.test.labels > 0) > 0.8


def test_a_perfect_weak_classifier_ends_a_run(rng):
    problem = table_problem(rng)
    problem.table[:, 2] = problem.labels
    split = problem.split([0])
    trained = boost_run(
        problem.trial(split, split.train, 1), Run(Contender("adaboost"), None, whole=False), 10
    )
    assert len(trained.test) == len(trained.alphas) == 1


def test_nothing_to_learn_scores_nothing():
    problem = TableProblem(
        "rows", np.zeros((40, 1)), np.repeat(np.array([1, -1], np.int8), 20), np.arange(40)
    )
    split = problem.split([0])
    trial = problem.trial(split, split.train, 1)
    trained = boost_run(trial, Run(Contender("adaboost"), None, whole=False), 10)
    assert not trained.test.any()
    entries = [Entry(Contender("adaboost"), Costs(2, 1), rule) for rule in Rule]
    for result in judge(trained, trial, entries, Design(boosters=("adaboost",))):
        assert result["auc"] == 0.5


@pytest.mark.parametrize(
    "damage",
    [
        {"weak": -1},
        {"weak": 4},
        {"weak": 10**400},
        {"cost": None},
        {"cost": 1.5},
        {"cost": float("nan")},
        {"cost": "0.1"},
        {"auc": True},
        {"seconds": float("inf")},
        {"threshold": "=1"},
        {"more": 1},
        {"curve": None},
        {"curve": {"hit_rate": [1.0] * 3, "false_alarm_rate": [0.5] * 3}},
        {"curve": {"hit_rate": [1.0] * 3, "false_alarm_rate": [], "cost": [0.5] * 3}},
        {"curve": {"hit_rate": [2.0] * 3, "false_alarm_rate": [0.5] * 3, "cost": [0.5] * 3}},
        {"curve": {"hit_rate": [1.0] * 4, "false_alarm_rate": [1.0] * 4, "cost": [0.5] * 4}},
    ],
)
def test_damaged_results_are_none(rng, damage):
    design = Design(boosters=("adaboost",), n_rounds=3)
    scores = rng.normal(size=(2, 3, 8))
    entry = Entry(Contender("adaboost"), Costs(), Rule.NATURAL)
    (result,) = judge(Trained(*scores, np.array([1.0, 0.5, 0.2]), 0.1), trial_of(), [entry], design)
    assert is_result(result, design)
    assert not is_result({**result, **damage}, design)
    for name in result:
        assert not is_result({key: result[key] for key in result if key != name}, design)
    assert not is_result(None, design)
