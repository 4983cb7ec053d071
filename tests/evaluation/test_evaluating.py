"""Models side by side: figures are those of detectors and of COCO's own program, from one scan of each picture."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import builders
import numpy as np
import pytest
from coco_program import coco_average_precision, random_scene
from scene_files import model_and_scenes

from vjcascade.detection import Detector
from vjcascade.errors import SettingsError
from vjcascade.evaluation import (
    Candidate,
    Protocol,
    Score,
    Ties,
    detection_curve,
    evaluate,
    evaluating,
    read_scenes,
)
from vjcascade.evaluation.curves import RecallAt, Steps
from vjcascade.evaluation.evaluating import NEIGHBORS_TRIED, Findings
from vjcascade.evaluation.figures import COCO, COCO_OVERLAPS, CURVE, POINT, figure_values, figures_for
from vjcascade.evaluation.goals import Figures
from vjcascade.evaluation.intervals import bootstrap, paired_differences, scene_weights
from vjcascade.evaluation.matching import FDDB, IoU, Matches, ViolaJones
from vjcascade.evaluation.results import curve_csv, notes, results_csv, results_json, verdict
from vjcascade.imaging import read_gray
from vjcascade.types import Detections, Size

FAST = Protocol(n_resamples=30)


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    """Return a cascade and scenes in which its first two stages find the objects."""
    folder = tmp_path_factory.mktemp("scenes")
    cascade = model_and_scenes(folder, np.random.default_rng(3), 8)
    return cascade, read_scenes(folder / "scenes.txt")


def candidates(cascade, **settings):
    whole, short = (
        Detector(cascade, **settings),
        Detector(cascade.first_stages(2), min_neighbors=2, **settings),
    )
    return [Candidate("whole", whole), Candidate("short", short)]


def matches_of(detector, scenes, rule=None, score=Score.RANKING):
    """Run a detector on each scene, and judge what it finds."""
    rule, matches = rule or IoU(), []
    for scene in scenes.scenes:
        found = detector.detect(read_gray(scene.path))
        matches.append(rule.match(found.boxes, score.of(found), scene.boxes, scene.ignored))
    return matches


def figure(evaluation, model, key):
    return dict(zip([one.key for one in evaluation.figures], evaluation.intervals(model), strict=True))[key]


@pytest.mark.parametrize("score", Score)
@pytest.mark.parametrize(
    "settings", [{}, {"min_size": (14, 14), "max_size": (30, 30), "scale_factor": 1.2}], ids=str
)
def test_a_curve_from_one_scan_is_that_of_separate_runs(setting, score, settings):
    cascade, scenes = setting
    rule = ViolaJones()
    evaluation = evaluate(candidates(cascade, **settings), scenes, replace(FAST, rule=rule, score=score))
    for model, n_stages in zip(evaluation.models, (3, 2), strict=True):
        changed = cascade.first_stages(n_stages)
        expected = detection_curve(
            matches_of(Detector(changed, min_neighbors=1, **settings), scenes, rule, score)
        )
        for name in ("scores", "hit_rate", "n_false_alarms", "n_objects", "n_scenes"):
            assert np.array_equal(getattr(model.curve, name), getattr(expected, name))
        for (stages, min_neighbors), figures in model.tried.items():
            separate = Detector(cascade.first_stages(stages), min_neighbors=min_neighbors, **settings)
            judged = matches_of(separate, scenes, rule, score)
            n_hits, n_false = (
                sum(int(column.sum()) for column in columns)
                for columns in ([one.hits for one in judged], [one.false_alarms for one in judged])
            )
            assert figures == Figures(len(scenes), evaluation.n_objects, n_hits, n_false)
        assert set(model.tried) == {(n, k) for n in range(1, n_stages + 1) for k in NEIGHBORS_TRIED}


def test_figures_of_the_settings_in_use_are_those_of_a_detector(setting):
    cascade, scenes = setting
    detector = Detector(cascade.first_stages(2), min_neighbors=2, min_ranking_score=1.5, scale_factor=1.2)
    (model,) = (evaluation := evaluate([Candidate("a", detector)], scenes, FAST)).models
    matches = matches_of(detector, scenes)
    n_hits = sum(int(one.hits.sum()) for one in matches)
    n_false = sum(int(one.false_alarms.sum()) for one in matches)
    assert model.used == Figures(len(scenes), evaluation.n_objects, n_hits, n_false)
    assert 0 < n_hits < evaluation.n_objects
    assert figure(evaluation, model, "point_recall").mean == pytest.approx(model.used.recall)
    assert figure(evaluation, model, "point_precision").mean == pytest.approx(model.used.precision)
    assert figure(evaluation, model, "point_false_alarms_per_picture").mean == pytest.approx(
        n_false / len(scenes)
    )


def test_pictures_are_searched_once_for_each_model(setting, monkeypatch):
    cascade, scenes = setting
    scanned, scan = [], evaluating.scan_margins
    monkeypatch.setattr(evaluating, "scan_margins", lambda *a, **k: scanned.append(1) or scan(*a, **k))
    told = []
    evaluate(candidates(cascade), scenes, FAST, n_threads=1, progress=lambda *step: told.append(step))
    assert len(scanned) == 2 * len(scenes)
    assert told[:2] == [("whole", 1, 16), ("whole", 2, 16)]
    assert told[-1] == ("short", 16, 16)


def test_results_depend_neither_on_threads_nor_on_other_models(setting):
    cascade, scenes = setting
    one = evaluate(candidates(cascade)[:1], scenes, FAST, n_threads=1)
    two = evaluate(candidates(cascade)[::-1], scenes, FAST, n_threads=3)
    assert np.array_equal(one.models[0].values, two.models[1].values, equal_nan=True)


def test_intervals_and_differences_are_those_of_the_bootstrap(setting):
    cascade, scenes = setting
    evaluation = evaluate(candidates(cascade), scenes, replace(FAST, counts=(3,)))
    first, second = evaluation.models
    matches = [[one.matches for one in model.findings] for model in evaluation.models]
    (expected,) = bootstrap(matches[0], [RecallAt(3)], n_resamples=30)
    assert figure(evaluation, first, "recall_at_3") == expected
    (difference,) = paired_differences(*matches, [RecallAt(3)], n_resamples=30)
    column = [one.key for one in evaluation.figures].index("recall_at_3")
    assert evaluation.differences(first, second)[column] == difference


@pytest.mark.parametrize("seed", range(4))
def test_average_precisions_equal_pycocotools(seed):
    """At 0.5, and in the mean over 0.5 to 0.95, on random scenes with crowds."""
    rng = np.random.default_rng(seed)
    scenes = [random_scene(rng, int(rng.integers(0, 9)), int(rng.integers(0, 25))) for _ in range(20)]
    figures = [one for one in figures_for(1, ()) if one.key.startswith("ap_")]
    curves = {
        name: Steps.of([IoU(overlap).match(*one) for one in scenes])
        for name, overlap in zip(COCO, COCO_OVERLAPS, strict=True)
    }
    ap_50, ap_coco = figure_values(figures, curves, np.ones((1, 20), np.int64), 1e6)[0]
    each = [coco_average_precision(scenes, overlap) for overlap in COCO_OVERLAPS]
    assert ap_50 == pytest.approx(each[0], abs=1e-9)
    assert ap_coco == pytest.approx(np.mean(each), abs=1e-9)
    assert 0 < ap_coco < ap_50 < 1


def findings(scores, hits, n_objects, n_windows=0):
    """Return what was found in a scene, used as it is."""
    matches = Matches(np.array(scores, float), np.array(hits, bool), n_objects)
    n = len(scores)
    found = Detections(np.ones((n, 4), np.int32), matches.scores, np.ones(n, np.int32))
    return Findings(found, matches, found, matches, n_windows, {})


def test_all_figures_by_hand():
    """Two scenes with 4 objects: at 9 a hit; at 8 a false alarm; at 7 a hit; at 6 a hit; at 5 a false alarm."""
    scenes = [findings([9, 7], [1, 1], 2), findings([6, 8, 5], [1, 0, 0], 2)]
    steps = Steps.of([one.matches for one in scenes])
    figures = [one for one in figures_for(0.5, (0, 2)) if not one.key.startswith("ap_")]
    weights = scene_weights(2, 0)
    values = dict(
        zip(
            [one.key for one in figures],
            figure_values(figures, {CURVE: steps, POINT: steps}, weights, 500_000)[0].tolist(),
            strict=True,
        )
    )
    assert values.pop("log_average_miss_rate") == pytest.approx(
        np.exp((7 * np.log(3 / 4) + 2 * np.log(1 / 4)) / 9)
    )
    assert values == pytest.approx({
        "point_recall": 3 / 4,
        "point_precision": 3 / 5,
        "point_false_alarms_per_picture": 1.0,
        "recall_at_0.1_per_picture": 1 / 4,
        "recall_at_0.5_per_picture": 3 / 4,
        "recall_at_1_per_picture": 3 / 4,
        "recall_at_0": 1 / 4,
        "recall_at_2": 3 / 4,
        "recall_at_1_per_megawindow": 3 / 4,  # a million windows in both scenes: one false alarm
        "best_f1": 6 / 8,
        "equal_point": 3 / 4,
    })  # fmt: skip


def test_objects_by_size(setting):
    cascade, scenes = setting
    evaluation = evaluate(candidates(cascade), scenes, replace(FAST, size_bounds=(14,)))
    small, large = evaluation.sizes
    assert (str(small), str(large)) == ("below 14 pixels", "14 pixels and more")
    model = evaluation.models[0]
    recall = [evaluation.size_intervals(model, number)[0].mean for number in (0, 1)]
    heights = np.concatenate([scene.boxes[:, 3] for scene in scenes.scenes])
    n_found = [recall[0] * (heights < 14).sum(), recall[1] * (heights >= 14).sum()]
    assert sum(n_found) == pytest.approx(model.used.n_hits)


def test_rules_that_assign_anew_have_no_sizes(setting):
    cascade, scenes = setting
    evaluation = evaluate(candidates(cascade)[:1], scenes, replace(FAST, rule=FDDB()))
    assert evaluation.sizes == ()
    assert any("fddb-discrete reassigns" in note for note in notes(evaluation))
    assert json.loads(results_json(evaluation))["models"][0]["sizes"] == []


def test_a_model_that_passes_too_much_is_tried_with_its_last_stage_only(setting, monkeypatch):
    cascade, scenes = setting
    scan = evaluating.scan_margins

    def narrow(gray, cascade, n_fixed, **settings):
        if n_fixed < cascade.n_stages:
            raise SettingsError("too many")
        return scan(gray, cascade, n_fixed, **settings)

    monkeypatch.setattr(evaluating, "scan_margins", narrow)
    (model,) = evaluate(candidates(cascade)[:1], scenes, FAST).models
    assert {n_stages for n_stages, _ in model.tried} == {3}
    monkeypatch.setattr(evaluating, "scan_margins", lambda *_, **__: narrow(None, cascade, 1))
    with pytest.raises(
        SettingsError, match=r"whole: more than 1,000,000 windows of .*png pass the whole model"
    ):
        evaluate(candidates(cascade)[:1], scenes, FAST)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda _: [], "there is no model"),
        (lambda one: [one, one], "two models have the name 'whole'"),
        (
            lambda one: [Candidate("none", Detector(one.cascade.first_stages(0)))],
            "none: a cascade without stages",
        ),
    ],
)
def test_models_that_cannot_be_evaluated(setting, change, reason):
    cascade, scenes = setting
    with pytest.raises(SettingsError, match=reason):
        evaluate(change(candidates(cascade)[0]), scenes)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"false_alarms_per_picture": 0}, "false alarms per picture 0"),
        ({"counts": (-1,)}, "a number of false alarms -1"),
        ({"level": 1}, "level of confidence 1"),
        ({"n_resamples": 0}, "draws of scenes 0"),
    ],
)
def test_wrong_protocols(change, reason):
    with pytest.raises(SettingsError, match=reason):
        Protocol(**change)


# What is said.


class Stub:
    """Scenes with an object each, as far as an evaluation needs them."""

    notes = ()
    fingerprint = "5c3e"

    def __init__(self, n):
        self.n_objects = np.ones(n, np.int64)

    def __len__(self):
        return len(self.n_objects)


def stub_evaluation(rates, n=60, n_false=0, metadata=None):
    """Return an evaluation of models that find such shares of the objects, with so many false alarms each."""
    cascade = builders.accept_all(Size(12, 10), 1).with_metadata(metadata or {})
    protocol, figures = replace(FAST, n_resamples=400), Protocol().figures
    weights, models = scene_weights(n, 400), []
    for number, rate in enumerate(rates):
        hits = [int(i < round(rate * n)) for i in range(n)]
        found = [findings([1.0] * hit + [0.5] * n_false, [1] * hit + [0] * n_false, 1) for hit in hits]
        matches = [one.matches for one in found]
        steps = Steps.of(matches)
        curves = dict.fromkeys((CURVE, POINT, *COCO), steps)
        models.append(
            evaluating.ModelResult(
                Candidate("ABC"[number], Detector(cascade)),
                tuple(found),
                detection_curve(matches),
                figure_values(figures, curves, weights, 1.0),
                np.empty((0, 401, 3)),
            )
        )
    return evaluating.Evaluation(Stub(n), protocol, tuple(models), (), ())


def test_the_verdict_on_a_model_that_finds_more():
    (sentence,) = verdict(stub_evaluation([0.5, 0.9]))
    start = "B finds more than A at 0.1 false alarms per picture: 90.0% against 50.0%, difference 40.0 points (95 % CI "
    assert sentence.startswith(start)
    low, high = map(float, sentence.removeprefix(start).removesuffix(").").split(" to "))
    assert 20 < low < 40 < high < 60


def test_the_verdict_where_there_is_no_evidence():
    (sentence,) = verdict(stub_evaluation([0.9, 55 / 60]))
    assert sentence.startswith(
        "No evidence either way between B and A at 0.1 false alarms per picture: 91.7% against 90.0%"
    )


def test_the_verdict_on_one_and_on_three():
    assert verdict(stub_evaluation([0.5]))[0].startswith("A finds 50.0% (")
    assert verdict(stub_evaluation([0.5]))[0].endswith(") of 60 objects at 0.1 false alarms per picture.")
    sentences = verdict(stub_evaluation([0.5, 0.9, 0.1]))
    assert [one.split(" at ")[0] for one in sentences[:2]] == ["B finds more than A", "B finds more than C"]
    assert "the best of 3 on these scenes" in sentences[2]


def test_the_verdict_says_that_settings_in_use_are_lax():
    assert verdict(stub_evaluation([0.5, 0.9], n_false=2))[-1] == (
        "With the settings in use, false alarms per picture: A 2.00, B 2.00; vjcascade tune chooses settings for fewer."
    )


@pytest.mark.parametrize(
    ("metadata", "is_told"),
    [
        ({"tuning": {"scenes": {"sha256": "5c3e"}}}, True),
        ({"data": {"scenes_sha256": "5c3e"}}, True),
        ({"tuning": {"scenes": {"sha256": "77"}}, "data": {}}, False),
        ({"tuning": 3, "data": [1]}, False),
    ],
)
def test_notes_tell_that_a_model_has_seen_the_scenes(metadata, is_told):
    told = [
        note for note in notes(stub_evaluation([0.5], metadata=metadata)) if "chosen on these scenes" in note
    ]
    assert bool(told) == is_told


def test_notes_tell_of_short_curves_and_few_objects():
    found = notes(stub_evaluation([0.5], 30))
    assert "30 objects are few; such figures may be off by ten points." in found
    assert any(
        note.startswith("At 0.1 false alarms per picture, all detections of A count") for note in found
    )
    told = notes(stub_evaluation([0.5, 0.9]))
    assert any("of B, A count: they include fewer false alarms (0, 0)" in note for note in told)


def test_tables_hold_what_was_measured(setting):
    cascade, scenes = setting
    evaluation = evaluate(candidates(cascade), scenes, replace(FAST, ties=Ties.IN_ORDER))
    rows = list(csv.DictReader(io.StringIO(results_csv(evaluation))))
    n_figures = len(evaluation.figures) + len(evaluation.sizes) * len(evaluation.size_figures)
    assert len(rows) == 2 * n_figures
    values = json.loads(results_json(evaluation, "vjcascade evaluate"))
    assert values["command"] == "vjcascade evaluate"
    assert values["protocol"]["ties"] == "in-order"
    assert values["verdict"] == verdict(evaluation)
    for model, written in zip(evaluation.models, values["models"], strict=True):
        assert written["used"]["n_hits"] == model.used.n_hits
        for row in (one for one in rows if one["model"] == model.name and one["objects"].startswith("all")):
            found = written["figures"][row["figure"]]
            assert [row["value"], row["low"]] == [
                "" if v is None else f"{v:.6g}" for v in (found["mean"], found["low"])
            ]
            assert row["difference"] == "" or model is not evaluation.models[0]
            assert row["value"] or not (row["low"] or row["difference_low"])
    steps = list(csv.DictReader(io.StringIO(curve_csv(evaluation))))
    assert len(steps) == sum(len(model.curve.scores) for model in evaluation.models)
    last = [one for one in steps if one["model"] == "short"][-1]
    short = evaluation.models[1]
    assert float(last["recall"]) == pytest.approx(short.curve.hit_rate[-1], abs=1e-6)
    per_megawindow = short.curve.n_false_alarms[-1] / short.n_windows * 1e6
    assert float(last["false_alarms_per_megawindow"]) == pytest.approx(per_megawindow, rel=1e-5)
