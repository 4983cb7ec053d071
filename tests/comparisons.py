"""Comparisons with made-up results, for what is done with results."""

from __future__ import annotations

import numpy as np

from vjcascade.comparison.design import Rule
from vjcascade.comparison.results import CURVES, MEASURES, Comparison, Dataset
from vjcascade.training.stage import BASELINE


def plain_cell(weak=10, cost=0.1, **others):
    """Return a result in which only what is named matters."""
    others = dict.fromkeys(MEASURES, 0.5) | {"threshold": 0.0} | others
    return {**others, "weak": weak, "cost": cost}


def comparison_of(design, weak, kind="stages", pass_rates=None, cost=None):
    """Return a comparison with these weak classifiers, shape (n_datasets, n_entries, n_seeds); 0 for not reached."""
    weak = np.asarray(weak)
    cost = np.full(weak.shape, 0.1) if cost is None else np.asarray(cost)
    curve = {name: [0.5] * len(design.kept_rounds) for name in CURVES}
    cells = {
        place: plain_cell(int(n) or None, float(cost[place]), curve=curve)
        for place, n in np.ndenumerate(weak)
    }
    rates = pass_rates or [None] * len(weak)
    datasets = [Dataset(f"{kind[:-1]} {i + 1}", 100, 100, 100, 50, 50, rate) for i, rate in enumerate(rates)]
    return Comparison(kind, design, tuple(datasets), cells)


def made_up(rng, design, n_datasets, kind="stages", names=None):
    """Return a comparison like a real one: stages get harder, and boosters differ a little."""
    rounds = np.arange(1, design.n_rounds + 1)
    n = 1000
    datasets = [
        Dataset(
            names[i] if names else f"{kind[:-1]} {i + 1}",
            *(2 * n, 2 * n, 2 * n, n, n),
            0.55**i if kind == "stages" else None,
        )
        for i in range(n_datasets)
    ]
    skills = {one: rng.normal(0.0 if one.booster == BASELINE else 0.05, 0.1) for one in design.contenders}
    cells = {}
    for place in np.ndindex(n_datasets, len(design.entries), design.n_seeds):
        entry = design.entries[place[1]]
        speed = 0.35 * np.exp(skills[entry.contender] + rng.normal(0, 0.06)) / (1 + place[0]) ** 0.3
        speed *= 1 - 0.04 * abs(np.log(entry.costs.ratio) - 1.5) * entry.contender.uses_costs
        cells[place] = _cell(rng, entry, design, rounds, 0.0 if entry.contender.shuffled else speed)
    metadata = {
        "data": {"positives": 4000, "photos": 395},
        "versions": {"numpy": np.__version__},
        "command": {"command": "vjcascade compare stages faces photos"},
    }
    return Comparison(kind, design, tuple(datasets), cells, metadata)


def _cell(rng, entry, design, rounds, speed):
    false_alarms = np.clip(np.exp(-speed * rounds**0.75) + rng.normal(0, 0.01, len(rounds)), 0, 1).round(3)
    tuned = entry.rule is Rule.HIT_RATE
    hits = np.clip(design.hit_rate * (1 - (not tuned) * false_alarms / 3) + rng.normal(0, 0.002), 0, 1).round(
        3
    )
    reached = (false_alarms <= design.false_alarm_rate) & (tuned | (hits >= design.hit_rate))
    costs = entry.costs.gamma * (1 - hits) + (1 - entry.costs.gamma) * false_alarms
    kept = np.array(design.kept_rounds) - 1
    return {
        "weak": int(np.argmax(reached)) + 1 if reached.any() else None,
        "hit_rate": float(hits[-1]),
        "false_alarm_rate": float(false_alarms[-1]),
        "cost": float(costs[-1]),
        "threshold": float(rng.normal()),
        "auc": float(np.clip(0.5 + 0.49 * np.tanh(4 * speed) + rng.normal(0, 0.003), 0, 1)),
        "calibration_error": float(abs(rng.normal(0.1, 0.02))),
        "calibration_error_platt": float(abs(rng.normal(0.02, 0.01))),
        "seconds": float(rng.uniform(5, 9)),
        "curve": {
            name: rate[kept].tolist() for name, rate in zip(CURVES, (hits, false_alarms, costs), strict=True)
        },
    }
