"""The golden runs: every choice, alpha and score of a brute-force reference."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Costs, make_booster
from vjcascade.boosters.thresholds import hit_rate_threshold, minimum_cost_threshold, theory_threshold

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "boosters.json"
BOOSTERS = {
    "adaboost": ("adaboost", {}),
    "cga": ("cost-generalized", {"prior": "class"}),
    "cga_sample": ("cost-generalized", {"prior": "sample"}),
}


@pytest.fixture(scope="module")
def golden() -> dict:
    if not GOLDEN.exists():
        pytest.skip("shared/golden is not beside the project")
    return json.loads(GOLDEN.read_text())


def boost(pool, labels, booster, n_rounds):
    """Boost over an explicit pool of outputs, shape (n, n_features); literal policy: alpha <= 0 goes on."""
    state = BoostingState.start(labels)
    wrong = pool != labels[:, None]
    positive = labels > 0
    chosen, alphas = [], []
    for _ in range(n_rounds):
        now = booster.begin_round(state)
        errors_p = now.weights[positive] @ wrong[positive]
        errors_n = now.weights[~positive] @ wrong[~positive]
        best = booster.choose(errors_p, errors_n, now)
        alpha = booster.alpha(errors_p[best], errors_n[best], now)
        state.add(pool[:, best], alpha)
        chosen.append(best)
        alphas.append(alpha)
    return chosen, alphas, state.score


@pytest.mark.parametrize("algorithm", BOOSTERS)
@pytest.mark.parametrize("name", ["A", "B", "C"])
def test_golden_runs(golden, name, algorithm):
    data = golden["sets"][name]
    pool, labels = np.array(data["H"], np.int8), np.array(data["y"], np.int8)
    runs = [run for run in data["runs"] if run["algorithm"] == algorithm]
    assert len(runs) == len(golden["costs"])
    registered, options = BOOSTERS[algorithm]
    for run in runs:
        booster = make_booster(registered, Costs(run["CP"], run["CN"]), golden["T"], **options)
        chosen, alphas, score = boost(pool, labels, booster, golden["T"])
        assert chosen == run["idx"]
        np.testing.assert_allclose(alphas, run["alpha"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(score, run["score"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["A", "B", "C"])
def test_golden_thresholds(golden, name):
    data = golden["sets"][name]
    labels = np.array(data["y"], np.int8)
    for entry in data["a_posteriori"]:
        costs = Costs(entry["CP"], entry["CN"])
        run = next(
            r
            for r in data["runs"]
            if (r["algorithm"], r["CP"], r["CN"]) == ("adaboost", entry["CP"], entry["CN"])
        )
        scores = np.array(run["score"])
        assert theory_threshold(costs) == pytest.approx(entry["phi_theory"], abs=1e-12)
        threshold, cost = minimum_cost_threshold(scores, labels, costs)
        assert cost == pytest.approx(entry["min_cost"], abs=1e-12)
        assert threshold == pytest.approx(entry["phi_min_cost"], abs=1e-12)
        assert hit_rate_threshold(scores[labels > 0], 0.95) == pytest.approx(
            entry["phi_detection_095"], abs=1e-12
        )
