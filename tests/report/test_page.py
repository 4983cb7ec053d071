"""The report as a page: whole, safe whatever the files say, small; what it says is what was measured."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import builders
import doubles
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pages import HOSTILE, checked

from vjcascade.errors import ModelError, ModelNotFoundError
from vjcascade.report import charts, page as module
from vjcascade.report.cost import StageCost
from vjcascade.report.page import build_report, page_values
from vjcascade.report.training_run import Run, open_run
from vjcascade.training.events import Rates, RoundDone, RunBegun, SceneFigures, StageBegun, StageDone
from vjcascade.training.history import History, HistoryWriter, StageHistory
from vjcascade.training.settings import TrainingSettings
from vjcascade.types import FeatureType, Size


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the folder of a small run with its history."""
    folder = tmp_path_factory.mktemp("run")
    with HistoryWriter(folder / "cascade.xml", pytest.fail) as writer:
        doubles.small_run(folder, replace(doubles.SETTINGS, max_stages=2), listener=writer)
    return folder


def large_run(rng, n_stages, side, n_rounds):
    """Return a run that fills a report."""
    records = {
        i: doubles.stage_record(i, overall_false_alarm_rate=0.6**i, tuned=Rates(0.1, 0.995, 0.6))
        for i in range(1, n_stages + 1)
    }
    noise = rng.integers(0, 256, (25, side, side)).astype(np.uint8)
    rounds = [
        RoundDone(1, n + 1, *(Rates(0.0, *rng.random(2).tolist()) for _ in range(2))) for n in range(n_rounds)
    ]
    stages = {
        i: StageHistory(rounds, 50.0, {"mining": 20.0}, 2**31, 0.6**i, noise[:24], noise[:3]) for i in records
    }
    cascade = builders.random_cascade(rng, Size(side, side), stages=(8,) * n_stages, tilted_share=0.3)
    history = History(stages, counts={"positives": 5000}, mean_positive=noise[-1])
    return Run(Path("cascade.xml"), cascade, records, history, TrainingSettings(), {})


def test_a_trained_run(trained):
    html = build_report(trained)
    page = checked(html)
    run = open_run(trained)
    n_with_missed = sum(len(stage.missed) > 0 for stage in run.history.stages.values())
    assert (
        page.tags.count("img") == 2 + n_with_missed
    )  # the worst false alarms of both stages, and what they miss
    assert ("Missed objects" in page.text) == (n_with_missed > 0)
    assert "Share of positives that pass all stages so far" in page.text
    assert page.text.count(" rounds") >= 2
    last = run.records[2]
    assert f"one in {1 / last.overall_false_alarm_rate:,.0f} background windows" in page.text
    assert f"Of the held-out positives, {last.overall_held_out_hit_rate:.1%} pass" in page.text
    assert "measures recall on whole scenes" in page.text
    assert "Scenes" not in page.text
    for words in (
        "Chosen features",
        "Worst false alarms",
        "Cost of a window",
        "boosting:",
        "vjcascade train memory memory",
    ):
        assert words in page.text
    assert "target false alarm rate" in page.text


def test_stages_of_another_model_are_said_to_have_no_record(tmp_path):
    metadata = {"stages": [doubles.stage_record(i).as_dict() for i in (1, 2)]}
    builders.accept_all(n_stages=5).with_metadata(metadata).save(tmp_path / "cascade.xml")
    assert "The file has no records of the later stages." in checked(build_report(tmp_path)).text


def test_recall_in_scenes_by_stage(tmp_path):
    stages = [
        doubles.stage_record(i, scenes=SceneFigures(i, 6, 40, hits, 3, hits, 1, 0.5)).as_dict()
        for i, hits in ((1, 20), (2, 36), (3, 30))
    ]
    builders.accept_all(n_stages=3).with_metadata({"stages": stages}).save(tmp_path / "cascade.xml")
    page = checked(build_report(tmp_path))
    assert "On 6 labelled scenes with 40 objects, it reaches with 2 of its stages: recall 90.0%" in page.text
    assert "recall of 3 stages: 0.750" in page.text
    assert "best F1 of 2 stages: 0.935" in page.text
    assert "no records" not in page.text
    assert "290.0%30.93590.0%1" in "".join(page.text.split())  # the row of two stages


def test_hostile_figures_of_scenes(tmp_path):
    figures = {"n_stages": 99, **{name: 1 for name in SceneFigures.__struct_fields__ if name != "n_stages"}}
    for base in ({"n_stages": 1, "hit_rate": 0.5, "scenes": [figures]}, HOSTILE, {"hit_rate": 7}):
        metadata = {"stages": [doubles.stage_record(1).as_dict()], "base": base}
        builders.accept_all(n_stages=1).with_metadata(metadata).save(tmp_path / "cascade.xml")
        assert "In 1 labelled scene" not in checked(build_report(tmp_path)).text


def test_a_model_without_history(trained, tmp_path):
    (tmp_path / "alone.xml").write_bytes((trained / "cascade.xml").read_bytes())
    page = checked(build_report(tmp_path / "alone.xml"))
    assert "held out" in page.text
    assert "Chosen features" in page.text
    assert "Worst false alarms" not in page.text


@pytest.mark.parametrize("kind", FeatureType)
def test_a_model_without_a_record(rng, tmp_path, kind):
    builders.random_cascade(rng, kind=kind, tree_share=0.5).save(tmp_path / "model.xml")
    page = checked(build_report(tmp_path / "model.xml"))
    assert "The file has no record of its training." in page.text
    assert "if every stage passes 50% of the background" in page.text
    assert kind in page.text or kind is FeatureType.HAAR


def test_a_model_whose_first_stages_have_no_record(tmp_path):
    metadata = {"settings": {}, "data": {}, "stages": [doubles.stage_record(3).as_dict()]}
    builders.accept_all(n_stages=3).with_metadata(metadata).save(tmp_path / "model.xml")
    page = checked(build_report(tmp_path / "model.xml"))
    assert "The file has no record of the training of its first 2 stages." in page.text


def test_a_model_without_stages_or_with_very_many(tmp_path):
    for n_stages in (1, 201):
        builders.accept_all(n_stages=n_stages).save(tmp_path / "model.xml")
        assert len(page_values(open_run(tmp_path / "model.xml"))["features"]) == min(n_stages, 200)
        checked(build_report(tmp_path / "model.xml"))


def test_hostile_files(tmp_path):
    model = tmp_path / "<b>&'\".xml"
    record = doubles.stage_record(1, ended_by=HOSTILE).as_dict()
    metadata = {"settings": {HOSTILE: HOSTILE}, "data": {HOSTILE: [HOSTILE]}, "stages": [record]}
    builders.accept_all(n_stages=1).with_metadata(metadata).save(model)
    begun = RunBegun(HOSTILE, {}, {HOSTILE: 3}, sources={"positives": HOSTILE, HOSTILE: HOSTILE})
    done = StageDone(doubles.stage_record(1, ended_by=HOSTILE), 1, 2.0, {HOSTILE: 1.0, "mining": 0.5})
    with HistoryWriter(model, pytest.fail) as writer:
        for event in (begun, StageBegun(1), RoundDone(1, 10**9, Rates(0, 1, 1), Rates(0, 1, 1)), done):
            writer(event)
    html = build_report(model)
    page = checked(html)
    assert HOSTILE in page.text
    assert "1,000,000,000 rounds" in page.text


@pytest.mark.parametrize(("measured_on", "mark"), [("training", "*"), ("held-out", "")])
def test_false_alarms_of_all_stages_carry_the_star(tmp_path, measured_on, mark):
    record = doubles.stage_record(1, false_alarm_rate_on=measured_on).as_dict()
    metadata = {"settings": {}, "data": {}, "stages": [record]}
    builders.accept_all(n_stages=1).with_metadata(metadata).save(tmp_path / "model.xml")
    html = build_report(tmp_path / "model.xml")
    assert f'<td>1.0e-07<span class="mark">{mark}</span></td>' in html


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9)
)
JSON = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
)


@settings(max_examples=15, deadline=None)
@given(st.dictionaries(st.sampled_from(["settings", "data", "stages", "continued"]), JSON))
def test_any_metadata(tmp_path_factory, metadata):
    folder = tmp_path_factory.mktemp("any")
    builders.accept_all(n_stages=1).with_metadata(metadata).save(folder / "model.xml")
    checked(build_report(folder / "model.xml"))


def test_a_long_run_stays_small(rng, monkeypatch):
    monkeypatch.setattr(module, "open_run", lambda _: large_run(rng, n_stages=50, side=32, n_rounds=60))
    html = build_report(Path("cascade.xml"))
    assert 1_000_000 < len(html.encode()) < 2_000_000
    assert checked(html).tags.count("img") == 100  # false alarms and missed objects of each stage


def test_what_there_is_no_report_of(tmp_path):
    with pytest.raises(ModelNotFoundError):
        build_report(tmp_path / "none")
    (tmp_path / "events.jsonl").write_text("")
    with pytest.raises(ModelNotFoundError, match="no stage is finished yet"):
        build_report(tmp_path)
    (tmp_path / "cascade.xml").write_text("<a/>")
    with pytest.raises(ModelError):
        build_report(tmp_path)


def test_labels_of_costs_have_room_whatever_the_numbers():
    """Also in a font whose digits are as wide as the widest that are usual."""
    costs = [StageCost(0.0123 / (i + 1), 1000.0 + i, 40.0, 123.4 * (i + 1)) for i in range(3)]
    drawn = charts.cost_chart(costs)
    for start, label in re.findall(r'<text x="([\d.]+)"[^>]*>([^<]*×[^<]*)</text>', drawn):
        assert float(start) + charts.CHARACTER * len(label) <= charts.WIDTH
    assert drawn.count("×") == 3


@pytest.mark.parametrize(
    ("rates", "lowest"), [([0.999, 0.985], "98%"), ([0.9, 0.4], "0%"), ([1.0], "98%"), ([0.0], "0%")]
)
def test_the_curve_of_hit_rates_is_scaled_to_what_it_shows(rates, lowest):
    records = {i: doubles.stage_record(i, overall_held_out_hit_rate=rate) for i, rate in enumerate(rates, 1)}
    drawn = charts.hits_chart(records, len(rates))
    assert re.findall(r">([\d.]+%)</text>", drawn)[-1] == lowest
    assert drawn.count("<circle") == len(rates)
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', drawn)]
    assert all(0 <= y <= 170 for y in heights)
