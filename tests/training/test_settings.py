from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from vjcascade.boosters import Costs
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode
from vjcascade.training.settings import Preset, TrainingSettings, preset_settings
from vjcascade.types import FeatureType

COUNTS = ("max_stages", "max_weak", "max_depth", "n_negatives", "max_samples", "max_windows", "seed")
NUMBERS = ("hit_rate", "false_alarm_rate", "target_false_alarm_rate", "held_out")
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
    ("max_depth", 0),
    ("max_depth", 5),
    ("n_negatives", 19),
    ("max_samples", 39),
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
    ("max_depth", 1),
    ("max_depth", 4),
    ("n_negatives", None),
    ("n_negatives", 20),
    ("max_samples", 40),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_values_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(SettingsError) as caught:
        TrainingSettings(**{name: value})
    assert f"{name} {value}" in str(caught.value)


@pytest.mark.parametrize(("name", "value"), RIGHT)
def test_values_at_the_edge_are_taken(name, value):
    assert getattr(TrainingSettings(**{name: value}), name) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, value) for name in COUNTS for value in (2.5, "9", math.nan, True, [50])],
        *[(name, value) for name in NUMBERS for value in ("x", None, True, 10**400, 0.5j)],
        *[(name, value) for name in ("baseline", "hardest_negatives") for value in ("yes", 1, None)],
        *[("booster", value) for value in (None, ["adaboost"])],
        *[(name, value) for name in ("mode", "features") for value in ("nonsense", None, 1)],
    ],
)
def test_values_of_another_kind_are_refused_by_name(name, value):
    with pytest.raises(SettingsError) as caught:
        TrainingSettings(**{name: value})
    assert f"{name} {value!r}" in str(caught.value)


def test_values_are_brought_to_plain_types():
    settings = TrainingSettings(
        seed=np.int64(3),
        n_negatives=np.uint16(50),
        hit_rate=np.float64(0.9),
        held_out=0,
        mode="all",
        baseline=np.bool_(False),
    )
    plain = settings.as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert settings.mode is HaarMode.ALL
    assert settings.baseline is False
    assert {type(getattr(settings, name)) for name in COUNTS} == {int}
    assert {type(getattr(settings, name)) for name in NUMBERS} == {float}


def test_features_are_haar_or_lbp():
    assert TrainingSettings().features is FeatureType.HAAR
    settings = TrainingSettings(features="lbp")
    assert settings.features is FeatureType.LBP
    assert TrainingSettings(**settings.as_dict()) == settings
    assert preset_settings(Preset.THOROUGH, features="lbp").features is FeatureType.LBP


@pytest.mark.parametrize("features", ["lbp", FeatureType.LBP])
def test_a_mode_of_haar_features_does_not_go_with_lbp(features):
    with pytest.raises(SettingsError, match="mode all chooses among Haar features, but features are lbp"):
        preset_settings(Preset.QUICK, features=features, mode=HaarMode.ALL)


def test_negatives_must_leave_room_for_positives():
    for n_negatives in (100_000, 1000, 981):
        with pytest.raises(SettingsError, match=f"n_negatives {n_negatives} .* max_samples 1000"):
            TrainingSettings(max_samples=1000, n_negatives=n_negatives)
    assert TrainingSettings(max_samples=1000, n_negatives=980).max_positives == 20
    assert TrainingSettings(max_samples=1000, n_negatives=300).max_positives == 500
    assert TrainingSettings(max_samples=1000).max_positives == 500


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: TrainingSettings(mode="basik"), "there is no mode 'basik'; did you mean 'basic'"),
        (lambda: TrainingSettings(mode="nonsense"), "choose from: basic, core, all"),
        (lambda: preset_settings("quik"), "there is no preset 'quik'; did you mean 'quick'"),
        (lambda: preset_settings("fast"), "'fast'; choose from: quick, normal, thorough"),
    ],
)
def test_unknown_names_are_refused_at_once(make, sentence):
    with pytest.raises(SettingsError, match=sentence):
        make()
    assert preset_settings("quick") == preset_settings(Preset.QUICK)


def test_unknown_boosters_are_refused_at_once():
    with pytest.raises(SettingsError, match="did you mean 'adaboost'"):
        TrainingSettings(booster="adabost")


@pytest.mark.parametrize(
    "costs",
    [8, "8:1", "8,1", [8, 1], np.array([8, 1]), Costs(8, 1), {"ratio": 8}, [[0, 8], [1, 0]]],
    ids=repr,
)
def test_costs_in_all_spellings(costs):
    settings = TrainingSettings(costs=costs)
    assert settings.costs == Costs(8, 1)
    assert settings.as_dict()["costs"] == [8.0, 1.0]
    assert replace(TrainingSettings(), costs=costs) == settings


@pytest.mark.parametrize(
    ("costs", "sentence"),
    [
        (0.0, "cost ratio 0.0 is not"),
        (-2, "cost ratio -2 is not"),
        (math.nan, "cost ratio nan is not"),
        ([4, 0], "negative cost 0 is not"),
        ("x", "costs 'x' cannot be read; write, for example, 4 .*, 4:1 .*, gamma=0.8 or matrix=0,4;1,0"),
        (None, "costs None cannot be read"),
        (True, "costs True cannot be read"),
        ([[0, 1], [0, 1]], "is not reasonable"),
    ],
    ids=repr,
)
def test_bad_costs(costs, sentence):
    with pytest.raises(SettingsError, match=sentence):
        TrainingSettings(costs=costs)


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
    assert TrainingSettings(**json.loads(json.dumps(plain))) == settings
    assert preset_settings(preset, seed=3, hit_rate=None, baseline=False) == TrainingSettings(
        **{**plain, "seed": 3, "baseline": False}
    )


def test_presets_put_in_ever_more_work():
    quick, normal, thorough = (preset_settings(preset) for preset in Preset)
    assert normal == TrainingSettings()
    for name in ("max_stages", "max_weak", "max_samples", "max_windows", "hit_rate", "false_alarm_rate"):
        assert getattr(quick, name) < getattr(normal, name) < getattr(thorough, name), name
    assert quick.target_false_alarm_rate > normal.target_false_alarm_rate > thorough.target_false_alarm_rate
