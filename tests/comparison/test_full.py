"""Whole cascades compared: the same data for all, finished ones kept, and intervals that hold what is true."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import builders
import numpy as np
import pytest
from easy_pictures import contents, easy_positive, save, soft_noise

from vjcascade.boosters import Costs
from vjcascade.cascade import Cascade
from vjcascade.comparison import full as module
from vjcascade.comparison.design import Contender
from vjcascade.comparison.full import FOUND_NAME, STATE_NAME, compare_full
from vjcascade.comparison.full_results import (
    FALSE_ALARMS_PER_SCENE,
    MEANS,
    FullComparison,
    FullEntry,
    full_csv,
    full_entries,
    full_json,
    hit_rates,
)
from vjcascade.comparison.scenes import search_scenes
from vjcascade.detection.detector import Detector
from vjcascade.detection.scanner import Scanner
from vjcascade.errors import SettingsError, SourceError, TrainingError
from vjcascade.evaluation import detection_curve, match_detections
from vjcascade.evaluation.features import count_passed
from vjcascade.evaluation.scenes import read_scenes
from vjcascade.files import MODEL_NAME
from vjcascade.imaging import read_gray, write_image
from vjcascade.training.data.reading import Reader, Sources
from vjcascade.training.events import MiningDone, Note, StageBegun, StageDone, null_listener
from vjcascade.training.settings import TrainingSettings
from vjcascade.types import Size

BRIEF = TrainingSettings(n_negatives=40, max_stages=2, max_weak=2, hit_rate=0.9, held_out=0.3, seed=5)
TWO = full_entries([Contender("adaboost"), Contender("cost-generalized")], ["3:1"])
THREE = (*TWO, FullEntry(Contender("adaboost", copy=2), Costs()))
N_SCENES = 8


def make_scenes(folder, rng):
    """Write scenes with an object, two or none, and their list."""
    folder.mkdir()
    lines = []
    for i in range(N_SCENES):
        scene, boxes = soft_noise(rng, 70), [(6, 8), (40, 38)][: i % 3]
        for x, y in boxes:
            scene[y : y + 24, x : x + 24] = easy_positive(rng)
        write_image(folder / f"{i}.png", scene)
        lines.append(f"{i}.png {len(boxes)} {' '.join(f'{x} {y} 24 24' for x, y in boxes)}")
    (folder / "info.dat").write_text("\n".join(lines))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return sources and scenes."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(440)
    save(folder / "pos", [easy_positive(rng) for _ in range(30)])
    save(folder / "neg", [soft_noise(rng, 60) for _ in range(8)])
    make_scenes(folder / "scenes", rng)
    reader = Reader(1, strict=True, listener=null_listener)
    positives = reader.positives(folder / "pos", Size(12, 12), None)
    photos = reader.photos(folder / "neg", positives, 10**7)
    return Sources(positives, photos, photos.subset([])), read_scenes(folder / "scenes" / "info.dat")


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    """Return a finished comparison and its folder."""
    folder = tmp_path_factory.mktemp("out")
    return compare_full(*data, folder, THREE, BRIEF, n_threads=2), folder


def models(folder):
    return {path.parent.name: path.read_bytes() for path in folder.rglob(MODEL_NAME)}


def lasting(full):
    """Return everything but times and memory."""
    values = full.as_dict()
    for outcome in values["outcomes"]:
        for name in ("seconds", "processor_seconds", "memory"):
            del outcome[name]
    return values


def test_every_entry_has_a_cascade_of_its_own_trained_alike(finished, data):
    full, folder = finished
    cascades = [Cascade.load(folder / "full" / f"{entry.slug}-seed5" / MODEL_NAME) for entry in THREE]
    recorded = [cascade.metadata["settings"] for cascade in cascades]
    assert [(one["booster"], one["costs"]) for one in recorded] == [
        ("adaboost", [1.0, 1.0]),
        ("cost-generalized", [3.0, 1.0]),
        ("adaboost", [1.0, 1.0]),
    ]
    shared = [{k: v for k, v in one.items() if k not in {"booster", "costs"}} for one in recorded]
    assert shared[0] == shared[1] == shared[2]
    assert not shared[0]["baseline"]
    assert cascades[0].metadata["data"] == cascades[1].metadata["data"] == data[0].fingerprints()
    for (number, seed), outcome in full.outcomes.items():
        assert seed == 0
        assert (outcome.n_stages, outcome.n_weak) == (cascades[number].n_stages, cascades[number].n_trees)
        last = cascades[number].metadata["stages"][-1]
        assert outcome.held_out_hit_rate == last["overall_held_out_hit_rate"]
        assert outcome.false_alarm_rate == last["overall_false_alarm_rate"]
        assert outcome.seconds > 0
        assert outcome.processor_seconds > 0
        assert outcome.ended.startswith("training ended")


def test_objects_are_found(finished):
    full, _ = finished
    assert [curve[-1].mean > 0.5 for curve in full.curves[1]] == [True] * 3
    assert full.n_objects.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]


def test_a_booster_entered_twice_shows_no_difference(finished):
    full, folder = finished
    assert [row.entry.name for row in full.rows] == ["adaboost", "cost-generalized at 3:1", "adaboost (2)"]
    for difference in full.rows[2].differences:
        assert (difference.mean, difference.low, difference.high) == (0, 0, 0)
    assert full.rows[2].hit_rates == full.rows[0].hit_rates
    first, second = (folder / "full" / f"{name}-seed5" / FOUND_NAME for name in ("adaboost", "adaboost-2"))
    assert first.read_bytes() == second.read_bytes()


def test_the_number_of_threads_changes_nothing(finished, data, tmp_path):
    full, folder = finished
    again = compare_full(*data, tmp_path, THREE, BRIEF, n_threads=1)
    assert models(tmp_path) == models(folder)
    assert lasting(again) == lasting(full)
    means = [{name: row.means[name] for name in MEANS[:5]} for row in full.rows]
    assert [{name: row.means[name] for name in MEANS[:5]} for row in again.rows] == means


def test_json_keeps_everything(finished):
    full, _ = finished
    again = FullComparison.from_dict(json.loads(full_json(full)))
    assert again.as_dict() == full.as_dict()
    assert full_csv(again) == full_csv(full)


def test_csv_has_a_line_for_each_entry(finished):
    full, _ = finished
    lines = list(csv.DictReader(io.StringIO(full_csv(full))))
    assert [line["entry"] for line in lines] == [row.entry.name for row in full.rows]
    assert float(lines[1]["hit_rate_at_0.1_low"]) == pytest.approx(full.rows[1].main.low, abs=1e-5)
    assert float(lines[1]["features"]) == pytest.approx(full.outcomes[1, 0].found.features, rel=1e-5)
    assert lines[0]["costs"] == ""
    assert lines[1]["costs"] == "3:1"


def test_a_stopped_comparison_goes_on_and_keeps_what_is_finished(finished, data, tmp_path):
    _, folder = finished
    n_begun = 0

    def stop_second(event):
        nonlocal n_begun
        n_begun += isinstance(event, Note) and event.text.startswith("cascade ")
        if n_begun == 2 and isinstance(event, MiningDone) and event.stage == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare_full(*data, tmp_path, TWO, BRIEF, n_threads=1, listener=stop_second)
    first, second = (tmp_path / "full" / f"{entry.slug}-seed5" for entry in TWO)
    kept = contents(first)
    assert json.loads((second / STATE_NAME).read_bytes())["ended"] == ""

    events = []
    full = compare_full(*data, tmp_path, TWO, BRIEF, resume=True, n_threads=1, listener=events.append)
    assert contents(first) == kept
    assert [event.stage for event in events if isinstance(event, StageBegun)] == [2]
    whole = models(folder)
    assert models(tmp_path) == {entry: whole[entry] for entry in models(tmp_path)}
    assert full.outcomes[1, 0].seconds > sum(e.seconds for e in events if isinstance(e, StageDone)) - 0.001

    before = contents(tmp_path)
    again = compare_full(*data, tmp_path, TWO, BRIEF, resume=True, n_threads=1)
    assert again.as_dict() == full.as_dict()
    assert contents(tmp_path) == before


def test_overwriting_forgets_all_that_a_run_is_resumed_from(data, tmp_path):
    def stop(event):
        raise KeyboardInterrupt

    compare_full(*data, tmp_path, TWO, BRIEF, n_threads=1)
    with pytest.raises(KeyboardInterrupt):
        compare_full(*data, tmp_path, TWO, BRIEF, overwrite=True, n_threads=1, listener=stop)
    for entry in TWO:
        left = contents(tmp_path / "full" / f"{entry.slug}-seed5")
        assert {path.name for path in left if path.parent.name != "history"} == {"events.jsonl"}


@pytest.mark.parametrize(
    ("changes", "options", "sentence"),
    [
        ({}, {}, "already holds a model, cascade.xml: resume or overwrite"),
        ({"hit_rate": 0.95}, {"resume": True}, r"settings.hit_rate: 0.9 in the model, 0.95 now"),
        ({"max_stages": 1}, {"resume": True}, "max_stages: 2 in the model, 1 now"),
        ({"max_windows": 10**6}, {"resume": True}, "max_windows: 2000000000 in the model, 1000000 now"),
        ({}, {"resume": True, "overwrite": True}, "exclude each other"),
    ],
)
def test_what_was_trained_otherwise_is_refused_before_any_work(finished, data, changes, options, sentence):
    _, folder = finished
    before, events = contents(folder), []
    new = full_entries([Contender("adac2")], [2])
    with pytest.raises(SettingsError, match=sentence):
        compare_full(
            *data, folder, [*new, *TWO], replace(BRIEF, **changes), **options, listener=events.append
        )
    assert events == []
    assert contents(folder) == before


def test_other_scenes_are_searched_without_training(finished, data, tmp_path):
    sources, scenes = data
    compare_full(sources, scenes, tmp_path, TWO[:1], replace(BRIEF, max_stages=1), n_threads=1)
    fewer, events = replace(scenes, scenes=scenes.scenes[:5]), []
    full = compare_full(
        sources, fewer, tmp_path, TWO[:1], replace(BRIEF, max_stages=1), resume=True, listener=events.append
    )
    assert full.n_objects.tolist() == [0, 1, 2, 0, 1]
    assert max(full.outcomes[0, 0].found.scenes) < 5
    assert not any(isinstance(event, StageBegun) for event in events)

    longer = compare_full(sources, fewer, tmp_path, TWO[:1], BRIEF, resume=True)
    assert longer.outcomes[0, 0].n_stages == 2
    anew = compare_full(sources, fewer, tmp_path, TWO[:1], replace(BRIEF, max_stages=1), overwrite=True)
    assert lasting(anew) == lasting(full)


def failing(booster, real):
    """Return a training that finds nothing in the first stage with one booster."""

    def train(data, settings, state, **options):
        if booster in (settings.booster, "all"):
            options["listener"](StageBegun(1))
            raise TrainingError("no stage could be trained: there is no telling them apart")
        return real(data, settings, state, **options)

    return train


def test_a_booster_that_learns_nothing_does_not_stop_the_others(data, tmp_path, monkeypatch):
    settings = replace(BRIEF, max_stages=1)
    monkeypatch.setattr(module, "train_stages", failing("cost-generalized", module.train_stages))
    full = compare_full(*data, tmp_path, TWO, settings, n_seeds=2, n_threads=1)
    assert full.seeds == (5, 6)
    assert [row.n_trained for row in full.rows] == [2, 0]
    folders = [tmp_path / "full" / f"adaboost-seed{seed}" for seed in full.seeds]
    cascades = [Cascade.load(folder / MODEL_NAME) for folder in folders]
    assert [cascade.metadata["settings"]["seed"] for cascade in cascades] == [5, 6]
    assert full.outcomes[1, 1].ended.startswith("no stage could be trained")
    assert all(math.isnan(one.mean) for one in (*full.rows[1].hit_rates, *full.rows[1].differences))
    assert full.rows[0].means["n_stages"] == 1
    assert FullComparison.from_dict(json.loads(full_json(full))).as_dict() == full.as_dict()
    monkeypatch.setattr(module, "train_stages", failing("all", module.train_stages))
    with pytest.raises(
        TrainingError, match=r"adaboost, seed 5: no stage could be trained.*any other booster"
    ):
        compare_full(*data, tmp_path, TWO, settings, overwrite=True, n_threads=1)


@pytest.mark.parametrize(
    ("entries", "options", "sentence"),
    [
        ([], {}, "no booster to train"),
        ([TWO[0], TWO[0]], {}, "adaboost would train a cascade twice"),
        (TWO, {"n_seeds": 0}, "n_seeds 0 is not a whole number from 1 to 1,000"),
        (TWO, {"n_threads": 0}, "n_threads 0"),
    ],
)
def test_misuse_is_met_with_a_sentence(data, tmp_path, entries, options, sentence):
    with pytest.raises(SettingsError, match=sentence):
        compare_full(*data, tmp_path / "out", entries, BRIEF, **options)
    assert not (tmp_path / "out").exists()


def test_what_is_trained_on_is_not_tested_on(data, tmp_path):
    sources, scenes = data
    for source in (sources.positives.report.source, f"{sources.photos.report.source}/."):
        with pytest.raises(SourceError, match="is given for training and for testing"):
            compare_full(sources, replace(scenes, source=source), tmp_path, TWO, BRIEF)
    photo = sources.photos.photos[3].path
    mixed = replace(scenes, scenes=(*scenes.scenes, replace(scenes.scenes[1], path=photo)))
    with pytest.raises(SourceError, match=r"003.png is among the photos .* 1 of 9 scenes are: test on other"):
        compare_full(sources, mixed, tmp_path, TWO, BRIEF)


def test_the_output_does_not_lie_in_a_source(data, tmp_path):
    for source in (data[0].positives.report.source, data[0].photos.report.source):
        with pytest.raises(SettingsError, match=r"the output folder .* is inside .*; choose another"):
            compare_full(*data, Path(source) / "out", TWO, BRIEF)
        assert not (Path(source) / "out").exists()


def test_an_unknown_booster_is_told_near_names():
    with pytest.raises(SettingsError, match="no booster named 'adabost'; did you mean 'adaboost'"):
        full_entries([Contender("adabost")], [1])


def test_boosters_that_ignore_costs_train_once():
    entries = full_entries(
        [Contender("adaboost"), Contender("adac2"), Contender("adaboost", shuffled=True)], [1, "10:1"]
    )
    assert [entry.slug for entry in entries] == ["adaboost", "adac2-costs-1-1", "adac2-costs-10-1"]


def test_scenes_are_searched_as_the_detector_searches(data, rng):
    _, scenes = data
    cascade = builders.random_cascade(rng, stages=(2, 3), bar=0.1)
    found = search_scenes(cascade, scenes, 2)
    matches, detector = [], Detector(cascade, min_neighbors=1)
    for scene in scenes.scenes:
        one = detector.detect(read_gray(scene.path))
        matches.append(match_detections(one.boxes, one.neighbors + np.arctan(one.scores) / 4, scene.boxes))
    curve = detection_curve(matches)
    assert len(curve.scores) > N_SCENES
    limits = np.arange(0.0, 20)
    expected = [max([0.0, *curve.hit_rate[curve.n_false_alarms <= limit]]) for limit in limits]
    (rates,) = hit_rates(found, scenes.n_objects, np.ones((1, N_SCENES), np.int64), limits)
    assert rates.tolist() == pytest.approx(expected)
    scores = np.concatenate([one.scores for one in matches])
    order = np.sort(np.floor(scores) + (scores % 1) * 4 / np.pi + 0.5)[::-1]
    assert found.scores.tolist() == pytest.approx(order[: len(found.scores)].tolist(), abs=1e-6)


def test_features_of_all_windows_are_counted(data, rng):
    _, scenes = data
    cascade, total, n_windows = builders.random_cascade(rng, stages=(2, 3, 4)), 0, 0
    for scene in scenes.scenes:
        counts, n_looked_at = count_passed(Scanner(cascade), read_gray(scene.path))
        total += sum(n * cost for n, cost in zip(counts.tolist(), (2, 5, 9, 9), strict=True))
        n_windows += n_looked_at
    assert search_scenes(cascade, scenes, 1).features == pytest.approx(total / n_windows)


def test_without_the_baseline_there_is_no_difference(finished):
    full, _ = finished
    alone = FullComparison(full.entries[1:2], full.seeds, full.n_objects, {(0, 0): full.outcomes[1, 0]})
    assert alone.baseline is None
    assert all(math.isnan(one.mean) for one in alone.rows[0].differences)
    assert alone.rows[0].hit_rates == full.rows[1].hit_rates
    assert len(alone.rows[0].hit_rates) == len(FALSE_ALARMS_PER_SCENE)
