"""From a boosting run to numbers: what its ensemble reaches under every rule, round by round."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Costs
from vjcascade.boosters.calibration import PlattScaling
from vjcascade.boosters.decision import DecisionRule, decision_threshold
from vjcascade.boosters.state import Floats
from vjcascade.boosters.thresholds import hit_rate_threshold
from vjcascade.comparison.design import Design, Entry, Rule, Run, spread_rounds
from vjcascade.comparison.problems import EvalSet, Trial
from vjcascade.comparison.results import CURVES, MEASURES
from vjcascade.evaluation.costs import skew
from vjcascade.learning.boosting import boost

N_CALIBRATION_BINS = 10

MAX_KEPT = 1e300
"""A greater number on disk is damage."""


@dataclass(frozen=True, eq=False)
class Trained:
    """What an ensemble scores after each round.

    Attributes
    ----------
    tune, test : ndarray of shape (n_rounds, n), dtype float64
        Sums of the votes on the two sets.
    alphas : ndarray of shape (n_rounds,), dtype float64
        Weights of the weak classifiers.
    seconds : float
        CPU time of the search and the booster.
    """

    tune: Floats
    test: Floats
    alphas: Floats
    seconds: float


def boost_run(trial: Trial, run: Run, n_rounds: int) -> Trained:
    """Boost, and score the samples to tune and to test on.

    Parameters
    ----------
    trial : Trial
        Made ready from the samples of the run.
    run : Run
        Booster and costs.
    n_rounds : int
        Weak classifiers at most; fewer if none helps any more, or one is perfect.

    Returns
    -------
    Trained
        At least one row: an ensemble without weak classifiers scores 0 everywhere.
    """
    booster = run.contender.made(run.costs or Costs(), n_rounds)
    tune, test = ([np.zeros(len(samples.labels))] for samples in (trial.tune, trial.test))
    alphas: list[float] = []
    began = time.process_time()
    spent = 0.0
    for weak in islice(boost(trial.search, booster), n_rounds):
        spent += time.process_time() - began
        alphas.append(weak.alpha)
        for scores, samples in ((tune, trial.tune), (test, trial.test)):
            scores.append(scores[-1] + weak.votes(samples.values_of))
        began = time.process_time()
    first = min(1, len(alphas))
    return Trained(np.array(tune[first:]), np.array(test[first:]), np.array(alphas or [0.0]), spent)


def judge(trained: Trained, trial: Trial, entries: list[Entry], design: Design) -> list[dict[str, Any]]:
    """Measure an ensemble under costs and rules.

    Parameters
    ----------
    trained : Trained
        Scores.
    trial : Trial
        Labels.
    entries : list of Entry
        Rows of the comparison that the run serves.
    design : Design
        Targets.

    Returns
    -------
    list of dict
        For each entry its `MEASURES` as plain JSON numbers, None where there is none; and a curve, of `CURVES`.
    """
    positive = trial.test.labels > 0
    shared = {
        "auc": auc(trained.test[-1], positive),
        **_calibration(trained, trial),
        "seconds": round(trained.seconds, 3),
    }
    return [{**_judged(trained, trial, entry, design), **shared} for entry in entries]


def is_result(result: object, design: Design) -> bool:
    """Tell whether something is what `judge` may return for an entry, as files may be damaged.

    Parameters
    ----------
    result : object
        Plain JSON values.
    design : Design
        Its rounds bound "weak".

    Returns
    -------
    bool
        Whether all measures are there, and within their bounds.
    """
    if not isinstance(result, dict) or result.keys() != {*MEASURES, "threshold", "curve"}:
        return False
    if not _is_within(result["weak"], 1, design.n_rounds) and result["weak"] is not None:
        return False
    if not _is_within(result["threshold"], -math.inf, math.inf) and result["threshold"] is not None:
        return False
    others = (name for name in MEASURES if name != "weak")
    if not all(_is_within(result[name], *MEASURES[name].bounds) for name in others):
        return False
    return _is_curve(result["curve"], design)


def _is_curve(result: object, design: Design) -> bool:
    if not isinstance(result, dict) or result.keys() != set(CURVES):
        return False
    n = len(design.kept_rounds)
    return all(
        isinstance(rate, list) and len(rate) == n and all(_is_within(one, 0, 1) for one in rate)
        for rate in result.values()
    )


def _is_within(value: object, low: float, high: float) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return low <= value <= high and abs(value) <= MAX_KEPT


def _judged(trained: Trained, trial: Trial, entry: Entry, design: Design) -> dict[str, Any]:
    positive = trial.test.labels > 0
    n_rounds = len(trained.test)
    looked_at = rounds_looked_at(n_rounds, entry.rule)
    thresholds = np.array(list(_thresholds(trained, looked_at, trial.tune, entry, design)))
    passed = trained.test[looked_at] >= thresholds[:, np.newaxis]
    rates = np.stack([passed[:, positive].mean(axis=1), passed[:, ~positive].mean(axis=1)])
    every = np.arange(n_rounds)
    hits, false_alarms = rates[:, np.searchsorted(looked_at, every, side="right") - 1]
    z = skew(trial.test.labels, entry.costs)
    costs = z * false_alarms + (1 - z) * (1 - hits)
    kept = np.minimum(design.kept_rounds, n_rounds) - 1
    curves = zip(CURVES, (hits, false_alarms, costs), strict=True)
    return {
        "weak": weak_to_reach(hits, false_alarms, entry.rule, design),
        "hit_rate": float(hits[-1]),
        "false_alarm_rate": float(false_alarms[-1]),
        "cost": float(costs[-1]),
        "threshold": _finite(float(thresholds[-1])),
        "curve": {name: rate[kept].round(6).tolist() for name, rate in curves},
    }


def weak_to_reach(hits: Floats, false_alarms: Floats, rule: Rule, design: Design) -> int | None:
    """Return how many weak classifiers reach the targets, or None.

    Parameters
    ----------
    hits, false_alarms : ndarray of shape (n_rounds,), dtype float64
        On the test samples, after each round.
    rule : Rule
        `HIT_RATE` sets its threshold so that the hit rate holds on the samples to tune on; with it, only the
        false-alarm rate is asked of the test samples. With the others both are.
    design : Design
        Targets.

    Returns
    -------
    int or None
        The least number after which they hold; None if they never do.

    Examples
    --------
    >>> design = Design(boosters=("adaboost",), hit_rate=0.9, false_alarm_rate=0.5)
    >>> weak_to_reach(np.array([0.8, 0.95]), np.array([0.4, 0.3]), Rule.NATURAL, design)
    2
    >>> weak_to_reach(np.array([0.8, 0.95]), np.array([0.4, 0.3]), Rule.HIT_RATE, design)
    1
    """
    reached = false_alarms <= design.false_alarm_rate
    if rule is not Rule.HIT_RATE:
        reached &= hits >= design.hit_rate
    return int(np.argmax(reached)) + 1 if reached.any() else None


def rounds_looked_at(n_rounds: int, rule: Rule) -> NDArray[np.intp]:
    """Return the rounds, from 0, after which a rule's threshold is found; until the next, its rates are taken to hold.

    A calibrated threshold is fitted, which takes longer than the round: it is found only after some of them.

    Examples
    --------
    >>> rounds_looked_at(60, Rule.CALIBRATED) + 1
    array([ 1,  2,  3,  4,  5,  6,  8, 10, 12, 15, 18, 22, 27, 33, 40, 48, 58,
           60])
    """
    return np.arange(n_rounds) if rule is not Rule.CALIBRATED else np.array(spread_rounds(n_rounds)) - 1


def _thresholds(
    trained: Trained, rounds: NDArray[np.intp], tune: EvalSet, entry: Entry, design: Design
) -> Iterator[float]:
    """Yield the threshold after each of some rounds."""
    totals = np.cumsum(trained.alphas)
    for number in rounds:
        yield _threshold(trained.tune[number], float(totals[number]), tune.labels, entry, design)


def _threshold(scores: Floats, total: float, labels: NDArray[np.int8], entry: Entry, design: Design) -> float:
    if entry.rule is Rule.HIT_RATE:
        return hit_rate_threshold(scores[labels > 0], design.hit_rate)
    # A booster that was trained with the costs has met them in its score; they must not be counted twice.
    rule = DecisionRule(entry.rule)
    if rule is DecisionRule.ADAMEC and total <= 0:
        return 0.0
    return decision_threshold(rule, costs=entry.costs, total_alpha=total, scores=scores, labels=labels)


def auc(scores: Floats, positive: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve: how often a positive scores above a negative, ties counting half.

    Examples
    --------
    >>> auc(np.array([3.0, 1.0, 2.0, 0.0]), np.array([True, True, False, False]))
    0.75
    """
    from scipy.stats import rankdata  # type: ignore[import-untyped]

    ranks = rankdata(scores)
    n_positive = int(positive.sum())
    n_pairs = n_positive * (len(positive) - n_positive)
    return float((ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / n_pairs)


def calibration_error(probabilities: Floats, positive: NDArray[np.bool_]) -> float:
    """Return how far probabilities are from frequencies: the expected calibration error over ten equal bins.

    Examples
    --------
    >>> calibration_error(np.array([0.25, 0.25, 0.25, 0.25]), np.array([True, False, False, False]))
    0.0
    """
    bins = np.minimum((probabilities * N_CALIBRATION_BINS).astype(np.intp), N_CALIBRATION_BINS - 1)
    gaps = np.bincount(bins, probabilities - positive, N_CALIBRATION_BINS)
    return float(np.abs(gaps).sum() / len(positive))


def _calibration(trained: Trained, trial: Trial) -> dict[str, float]:
    """Return the calibration error of the score as half log odds, and of Platt's sigmoid on it."""
    positive, scores = trial.test.labels > 0, trained.test[-1]
    plain = PlattScaling(-2.0, 0.0).probability(scores)
    fitted = PlattScaling.fit(trained.tune[-1], trial.tune.labels).probability(scores)
    return {
        "calibration_error": calibration_error(plain, positive),
        "calibration_error_platt": calibration_error(fitted, positive),
    }


def _finite(number: float) -> float | None:
    return number if np.isfinite(number) else None
