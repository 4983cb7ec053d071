"""The numbers and words of a report: cost, command line, advice, features, pictures."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import builders
import doubles
import msgspec
import numpy as np
import pytest

from vjcascade.cascade import Cascade, Stage
from vjcascade.features import HaarMode
from vjcascade.report.command import command_of
from vjcascade.report.cost import expected_costs
from vjcascade.report.features import feature_drawing
from vjcascade.report.pictures import contact_sheet
from vjcascade.report.summary import about, advice, verdict
from vjcascade.report.training_run import Run
from vjcascade.training.events import Rates
from vjcascade.training.history import History, StageHistory
from vjcascade.training.settings import Mirror, TrainingSettings
from vjcascade.types import FEATURE_DTYPE, FeatureType, Size

NONE = np.empty((0, 1, 1), np.uint8)


def run_of(cascade, rates=(), **changes):
    """Return a run whose stages left these shares of all windows."""
    records = {
        i + 1: doubles.stage_record(i + 1, overall_false_alarm_rate=rate, overall_hit_rate=0.95)
        for i, rate in enumerate(rates)
    }
    known = {"records": records, "history": History(), "settings": TrainingSettings(), "metadata": {}}
    return Run(Path("model/cascade.xml"), cascade, **(known | changes))


def test_cost_of_known_shares(rng):
    cascade = builders.random_cascade(rng, stages=(2, 10, 100))
    costs = expected_costs(run_of(cascade, [0.5, 0.01, 0.001]))
    assert [cost.cost for cost in costs] == [2, 10 * 0.5, 100 * 0.01]
    assert costs[-1].so_far == 8
    history = History({1: StageHistory([], 1.0, {}, None, 0.5, NONE, NONE)})
    assert (
        expected_costs(run_of(cascade, [0.5, 0.01, 0.001], history=history))[0].cost == 1
    )  # half lack contrast


def test_cost_of_unknown_shares(rng):
    costs = expected_costs(run_of(builders.random_cascade(rng, stages=(2, 4))))
    assert [cost.reached for cost in costs] == [1, 0.5]


def test_cost_of_trees():
    """A tree of two nodes has leaves at depths 1, 2 and 2."""
    features = builders.random_features(np.random.default_rng(1), 3, Size(12, 10))
    stage = Stage(
        features=features,
        thresholds=np.zeros(3, np.float32),
        leaves=np.zeros(5, np.float32),
        threshold=np.float32(0),
        children=np.array([[0, 1], [-1, -2], [0, -1]], np.int32),
        tree_sizes=np.array([2, 1], np.int32),
    )
    cost = expected_costs(run_of(Cascade(Size(12, 10)).with_stage(stage)))[0]
    assert cost.n_features == pytest.approx(5 / 3 + 1)


SETTINGS = TrainingSettings(
    booster="adaboost",
    costs="3:2",
    mode=HaarMode.ALL,
    copies=4,
    mirror=Mirror.NO,
    hit_rate=0.99,
    false_alarm_rate=0.3,
    max_stages=3,
    max_weak=7,
    max_depth=2,
    target_false_alarm_rate=1e-5,
    n_negatives=70,
    max_samples=500,
    held_out=0.1,
    max_windows=12345,
    hardest_negatives=True,
    baseline=False,
    seed=9,
)


LBP_SETTINGS = TrainingSettings(features=FeatureType.LBP, max_stages=3)


def test_every_setting_is_tried():
    usual = TrainingSettings()
    for name in vars(usual):
        values = {str(getattr(settings, name)) for settings in (usual, SETTINGS, LBP_SETTINGS)}
        assert len(values) > 1, f"give {name} another value than the usual one"


@pytest.mark.parametrize("settings", [SETTINGS, LBP_SETTINGS])
def test_the_command_line_gives_the_same_settings(monkeypatch, capsys, settings):
    import vjcascade.training
    from vjcascade.cli.main import run

    seen = []

    def note(positives, negatives, output, wanted, **options):
        seen.append((str(positives), str(negatives), wanted, str(options["window"])))
        raise KeyboardInterrupt

    monkeypatch.setattr(vjcascade.training, "train", note)
    history = History(sources={"positives": ("my crops",), "negatives": ("it's $HOME",)})
    words = shlex.split(command_of(run_of(builders.accept_all(), settings=settings, history=history)))
    assert words[0] == "vjcascade"
    assert run(words[1:]) == 130
    capsys.readouterr()
    assert seen == [("my crops", "it's $HOME", settings, "24x24")]


def test_the_command_line_names_what_is_continued():
    metadata = {"continued": {"model": "a b.xml"}, "data": {"more_photos": "3"}}
    command = command_of(run_of(builders.accept_all(), metadata=metadata))
    assert command.startswith(
        "vjcascade train CROPS PHOTOS --continue 'a b.xml' --more-negatives MORE --output NEW"
    )
    sources = {
        "positives": ("crops",),
        "negatives": ("photos",),
        "continue_from": ("old/a b.xml",),
        "more_negatives": ("c d", "e"),
    }
    command = command_of(run_of(builders.accept_all(), metadata=metadata, history=History(sources=sources)))
    assert command.startswith(
        "vjcascade train crops photos --continue 'old/a b.xml' --more-negatives 'c d' e --output NEW"
    )
    assert command_of(run_of(builders.accept_all(), settings=None)) == ""


def test_the_answer_is_in_the_first_sentences():
    run = run_of(builders.accept_all(n_stages=2), [0.5, 0.001])
    text = "".join([*verdict(run), *about(run, expected_costs(run))])
    assert "2 stages and 2 weak classifiers over Haar features" in text
    assert "Of the training positives, 95.0% pass (none were held out" in text
    assert "one in 1,000 background windows" in text
    assert "costs 1.5 features on average" in text
    whole = msgspec.structs.replace(run.records[2], overall_held_out_hit_rate=0.5)
    run = replace(run, records={**run.records, 2: whole})
    assert "Of the held-out positives, 50.0% pass" in "".join(verdict(run))


@pytest.mark.parametrize(
    ("changes", "settings", "words"),
    [
        ({}, {"max_stages": 1}, "--stages 6"),
        ({}, {"max_stages": 9}, "--resume"),
        ({"overall_hit_rate": 0.5}, {}, "--hit-rate 0.9975"),
        ({}, {}, "--held-out 0.2"),
        ({"tuned": Rates(0.0, 1.0, 0.9), "overall_held_out_hit_rate": 1.0}, {}, "in stage 1: more features"),
        ({"tuned": Rates(0.0, 1.0, 0.9)}, {"features": "lbp"}, "(`--features haar`)"),
        ({"overall_false_alarm_rate": 1e-7}, {}, "detect model/cascade.xml"),
    ],
)
def test_advice_fits_what_was_found(changes, settings, words):
    record = doubles.stage_record(
        1, **({"overall_hit_rate": 0.95, "overall_false_alarm_rate": 0.1} | changes)
    )
    run = run_of(builders.accept_all(n_stages=1), settings=TrainingSettings(**settings))
    assert words in " ".join(advice(replace(run, records={1: record})))


def test_a_run_that_was_stopped_is_told_from_one_that_ended():
    stages = {1: StageHistory([], 1.0, {}, None, 0.5, NONE, NONE)}
    for ended in ("", "training ended early with 1 stage: no more negatives"):
        run = run_of(builders.accept_all(n_stages=1), [0.5], history=History(stages, ended=ended))
        assert ("continue with `--resume`" in " ".join(advice(run))) == (not ended)
        assert (
            "Training ended early with 1 stage: no more" in "".join(about(run, expected_costs(run)))
        ) == bool(ended)


def test_a_good_run_needs_no_advice():
    good = {"overall_false_alarm_rate": 1e-7, "overall_held_out_hit_rate": 0.99}
    run = run_of(builders.accept_all(n_stages=1))
    assert len(advice(replace(run, records={1: doubles.stage_record(1, **good)}))) == 3


def areas(drawn):
    """Return {kind: path} of a drawing of a feature."""
    return {
        kind: path for path, kind in re.findall(r'<path d="([^"]+)" fill-rule="evenodd" class="(\w+)"', drawn)
    }


@pytest.mark.parametrize("leaves", [(-1, 1), (1, -1)])
def test_white_is_what_is_bright_in_objects(leaves):
    feature = np.zeros(1, FEATURE_DTYPE)
    feature["rects"][0, :2] = (1, 2, 4, 6), (3, 2, 2, 6)
    feature["weights"][0, :2] = -1, 2
    stage = Stage(feature, np.zeros(1, np.float32), np.array([leaves], np.float32), np.float32(0))
    drawn = areas(feature_drawing(Cascade(Size(12, 10)).with_stage(stage), 0))
    inner, outer = ("white", "black") if leaves[1] > leaves[0] else ("black", "white")
    assert drawn == {inner: "M3 2h2v6h-2z", outer: "M1 2h4v6h-4zM3 2h2v6h-2z"}


def test_tilted_features_are_turned():
    feature = np.zeros(1, FEATURE_DTYPE)
    feature["rects"][0, :2] = (5, 1, 2, 4), (5, 1, 2, 2)
    feature["weights"][0, :2] = -1, 2
    feature["tilted"] = True
    stage = Stage(feature, np.zeros(1, np.float32), np.array([[-1, 1]], np.float32), np.float32(0))
    drawn = areas(feature_drawing(Cascade(Size(12, 10)).with_stage(stage), 0))
    assert drawn == {"white": "M5 1l2 2 -2 2 -2 -2z", "black": "M5 1l2 2 -4 4 -2 -2zM5 1l2 2 -2 2 -2 -2z"}


@pytest.mark.parametrize(
    ("n", "shape", "size"), [(1, (5, 5), (5, 5)), (14, (5, 5), (11, 71)), (7, (4, 9), (9, 59))]
)
def test_false_alarms_lie_in_rows(rng, n, shape, size):
    windows = rng.integers(0, 256, (n, *shape)).astype(np.uint8)
    sheet = contact_sheet(windows)
    assert sheet.shape == (*size, 2)
    assert (sheet[..., 1] == 255).sum() == n * shape[0] * shape[1]
    np.testing.assert_array_equal(
        sheet[-shape[0] :, : shape[1], 0], windows[0 if n == 1 else n - n % 6 if n == 7 else 12]
    )
