from __future__ import annotations

import json
import math

import pytest

from vjcascade.boosters import Costs
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode
from vjcascade.training.settings import Preset, TrainingSettings, preset_settings

WRONG = [
    ("hit_rate", 0.0),
    ("hit_rate", 1.001),
    ("hit_rate", math.nan),
    ("false_alarm_rate", 0.0),
    ("false_alarm_rate", 1.0),
    ("false_alarm_rate", -0.5),
    ("target_false_alarm_rate", 0.0),
    ("target_false_alarm_rate", 2.0),
    ("held_out", -0.1),
    ("held_out", 0.51),
    ("held_out", math.nan),
    ("max_stages", 0),
    ("max_weak", 0),
    ("n_negatives", 9),
    ("max_samples", 19),
    ("max_windows", 0),
    ("seed", -1),
]
RIGHT = [
    ("hit_rate", 1.0),
    ("hit_rate", 0.001),
    ("target_false_alarm_rate", 1.0),
    ("held_out", 0.0),
    ("held_out", 0.5),
    ("max_stages", 1),
    ("n_negatives", None),
    ("n_negatives", 10),
    ("max_samples", 20),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_values_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(SettingsError) as caught:
        TrainingSettings(**{name: value})
    assert name.replace("_", " ") in str(caught.value)
    assert str(value) in str(caught.value)


@pytest.mark.parametrize(("name", "value"), RIGHT)
def test_values_at_the_edge_are_taken(name, value):
    assert getattr(TrainingSettings(**{name: value}), name) == value


@pytest.mark.parametrize("ratio", [0, -2, math.inf, math.nan])
def test_cost_ratios_out_of_range(ratio):
    with pytest.raises(SettingsError, match=f"cost {ratio}"):
        TrainingSettings(cost_ratio=ratio)


def test_unknown_boosters_are_refused_at_once():
    with pytest.raises(SettingsError, match="did you mean 'adaboost'"):
        TrainingSettings(booster="adabost")


def test_costs():
    assert TrainingSettings(cost_ratio=8).costs == Costs(8, 1)


@pytest.mark.parametrize(
    ("settings", "n_positives", "n_negatives"),
    [
        ({}, 10, 1000),  # never fewer than 1,000 ...
        ({}, 800, 1600),
        ({}, 6000, 6000),
        ({"max_samples": 600}, 10, 300),  # ... but where half of all samples are fewer
        ({"max_samples": 600}, 300, 300),
        ({"n_negatives": 7777}, 10, 7777),
    ],
)
def test_number_of_negatives(settings, n_positives, n_negatives):
    assert TrainingSettings(**settings).negatives_for(n_positives) == n_negatives


@pytest.mark.parametrize("preset", Preset)
def test_presets(preset):
    settings = preset_settings(preset)
    plain = settings.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert TrainingSettings(**{**plain, "mode": HaarMode(plain["mode"])}) == settings
    assert preset_settings(preset, seed=3, hit_rate=None, baseline=False) == TrainingSettings(
        **{**plain, "mode": HaarMode(plain["mode"]), "seed": 3, "baseline": False}
    )


def test_presets_put_in_ever_more_work():
    quick, normal, thorough = (preset_settings(preset) for preset in Preset)
    assert normal == TrainingSettings()
    for name in ("max_stages", "max_weak", "max_samples", "max_windows", "hit_rate", "false_alarm_rate"):
        assert getattr(quick, name) < getattr(normal, name) < getattr(thorough, name), name
    assert quick.target_false_alarm_rate > normal.target_false_alarm_rate > thorough.target_false_alarm_rate
