"""The golden runs: every choice, alpha, score and weight of a brute-force reference, through the package."""

from __future__ import annotations

import json
from pathlib import Path

import naive_boosters
import numpy as np
import pytest

from vjcascade.boosters import Costs, make_booster
from vjcascade.boosters.thresholds import (
    adamec_threshold,
    hit_rate_threshold,
    minimum_cost_threshold,
    theory_threshold,
)
from vjcascade.learning.pool import boost_pool

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "boosters.json"
SETS = ["A", "B", "C"]
exactly = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(scope="module")
def golden() -> dict:
    if not GOLDEN.exists():
        pytest.skip("shared/golden is not beside the project")
    return json.loads(GOLDEN.read_text())


def read_set(golden, name):
    data = golden["sets"][name]
    return np.array(data["H"], np.int8), np.array(data["y"], np.int8), data["runs"]


def boost(golden, name, entry, algorithm, **options):
    pool, labels, _ = read_set(golden, name)
    booster = make_booster(algorithm, Costs(entry["CP"], entry["CN"]), golden["T"], **options)
    return booster, boost_pool(pool, labels, booster, golden["T"], literal=True)


def last_weights(run, algorithm, entry):
    """Return D after the last round; the file's AsymBoost has dealt out the next round's factor as well."""
    weights = np.array(entry["D"])
    if algorithm == "asymboost":
        n_rounds = len(entry["idx"])
        weights *= (entry["CP"] / entry["CN"]) ** (-run.state.labels / (2 * n_rounds))
    return weights / weights.sum()


def test_there_are_270_runs_of_all_algorithms(golden):
    runs = [run for name in SETS for run in golden["sets"][name]["runs"]]
    assert len(runs) == 270
    assert {run["algorithm"] for run in runs} == set(naive_boosters.NAMES)


@pytest.mark.parametrize("algorithm", naive_boosters.NAMES)
@pytest.mark.parametrize("name", SETS)
def test_golden_runs(golden, name, algorithm):
    pool, _, runs = read_set(golden, name)
    entries = [entry for entry in runs if entry["algorithm"] == algorithm]
    assert len(entries) == len(golden["costs"])
    registered, options = naive_boosters.NAMES[algorithm]
    for entry in entries:
        booster, run = boost(golden, name, entry, registered, **options)
        assert run.chosen == entry["idx"]
        np.testing.assert_allclose(run.alphas, entry["alpha"], **exactly)
        np.testing.assert_allclose(run.scores(pool)[-1], entry["score"], **exactly)
        logs = booster.log_weights(run.state)
        weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
        np.testing.assert_allclose(weights, last_weights(run, algorithm, entry), **exactly)


@pytest.mark.parametrize(("algorithm", "prior"), [("csa_balanced", "balanced"), ("csa_uniform", "uniform")])
@pytest.mark.parametrize("name", SETS)
def test_double_base_by_least_loss_is_cost_sensitive_adaboost(golden, name, algorithm, prior):
    for entry in read_set(golden, name)[2]:
        if entry["algorithm"] == algorithm:
            _, run = boost(golden, name, entry, "adaboostdb", prior=prior, select="minloss")
            assert run.chosen == entry["idx"]
            np.testing.assert_allclose(run.alphas, entry["alpha"], **exactly)


@pytest.mark.parametrize("name", SETS)
def test_golden_thresholds(golden, name):
    _, labels, runs = read_set(golden, name)
    entries = golden["sets"][name]["a_posteriori"]
    assert len(entries) == len(golden["costs"])
    for entry in entries:
        costs = Costs(entry["CP"], entry["CN"])
        key = ("adaboost", entry["CP"], entry["CN"])
        run = next(run for run in runs if (run["algorithm"], run["CP"], run["CN"]) == key)
        scores = np.array(run["score"])
        threshold, cost = minimum_cost_threshold(scores, labels, costs)
        hit_rate = hit_rate_threshold(scores[labels > 0], 0.95)
        assert theory_threshold(costs) == pytest.approx(entry["phi_theory"], abs=1e-12)
        assert adamec_threshold(sum(run["alpha"]), costs) == pytest.approx(entry["phi_vote"], abs=1e-12)
        assert cost == pytest.approx(entry["min_cost"], abs=1e-12)
        assert threshold == pytest.approx(entry["phi_min_cost"], abs=1e-12)
        assert hit_rate == pytest.approx(entry["phi_detection_095"], abs=1e-12)


@pytest.mark.parametrize("algorithm", naive_boosters.NAMES)
def test_the_naive_recipes_are_golden_too(golden, algorithm):
    """They judge the package on other pools, so they are judged here."""
    pool, labels, runs = read_set(golden, "B")
    entry = next(run for run in runs if run["algorithm"] == algorithm and run["CP"] == 3.5)
    naive = naive_boosters.boost(algorithm, pool, labels, (3.5, 1), 6, planned=golden["T"])
    assert naive.chosen == entry["idx"][:6]
    np.testing.assert_allclose(naive.alphas, entry["alpha"][:6], **exactly)
