from __future__ import annotations

import numpy as np
import pytest

from vjcascade.boosters import Costs
from vjcascade.boosters.calibration import calibrated_threshold
from vjcascade.boosters.decision import DecisionRule, decision_threshold
from vjcascade.boosters.thresholds import adamec_threshold, minimum_cost_threshold, theory_threshold
from vjcascade.errors import SettingsError

COSTS = Costs(5, 2)


@pytest.fixture
def held_out(rng):
    labels = np.where(rng.random(60) < 0.4, 1, -1).astype(np.int8)
    return {
        "scores": rng.normal(0, 1, 60) + labels,
        "labels": labels,
        "sample_weight": rng.exponential(1, 60),
    }


def test_each_rule_has_its_threshold(held_out):
    expected = {
        "natural": 0,
        "theory": theory_threshold(COSTS),
        "adamec": adamec_threshold(7.5, COSTS),
        "calibrated": calibrated_threshold(
            held_out["scores"], held_out["labels"], COSTS, held_out["sample_weight"]
        ),
        "minimum-cost": minimum_cost_threshold(costs=COSTS, **held_out)[0],
    }
    assert set(expected) == set(DecisionRule)
    assert len(set(expected.values())) == len(expected)
    for rule, threshold in expected.items():
        assert decision_threshold(rule, costs=COSTS, total_alpha=7.5, **held_out) == threshold
        assert decision_threshold(DecisionRule(rule), costs=COSTS, total_alpha=7.5, **held_out) == threshold


@pytest.mark.parametrize("rule", DecisionRule)
def test_some_rules_need_samples(rule, held_out):
    def threshold(**given):
        return decision_threshold(rule, costs=COSTS, total_alpha=7.5, **given)

    if not rule.needs_samples:
        assert threshold() == threshold(**held_out)
        return
    for lacking in ({}, {"scores": held_out["scores"]}, {"labels": held_out["labels"]}):
        with pytest.raises(SettingsError, match=f"rule {rule} needs scores and labels"):
            threshold(**lacking)


def test_near_names_are_told():
    with pytest.raises(SettingsError, match="no decision rule 'calibratd'; did you mean 'calibrated'"):
        decision_threshold("calibratd", costs=COSTS, total_alpha=1)
    with pytest.raises(SettingsError, match="choose from: natural, theory, adamec, calibrated, minimum-cost"):
        decision_threshold("zzz", costs=COSTS, total_alpha=1)


def test_an_ensemble_without_votes_has_no_mean_vote():
    with pytest.raises(SettingsError, match="total_alpha 0"):
        decision_threshold("adamec", costs=COSTS, total_alpha=0)
