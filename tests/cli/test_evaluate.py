"""``vjcascade evaluate``."""

from __future__ import annotations

import csv
import errno
import json
import os
import shutil

import numpy as np
import pytest
from pages import checked
from scene_files import model_and_scenes

from vjcascade.cascade import Cascade
from vjcascade.cli.evaluation_table import table_lines
from vjcascade.detection import Detector
from vjcascade.evaluation import Candidate, OperatingPoint, Protocol, evaluate, read_scenes
from vjcascade.evaluation.matching import IoU
from vjcascade.files import EVENTS_NAME
from vjcascade.imaging import read_gray

FILES = {"report.html", "results.json", "results.csv", "curve.csv"}


@pytest.fixture
def scenes(tmp_path, rng):
    """Return a folder with two models, and scenes in which the first two of three stages find the object."""
    cascade = model_and_scenes(tmp_path, rng)
    cascade.first_stages(2).save(tmp_path / "short.xml")
    return tmp_path


def words(scenes, *more):
    return ["evaluate", scenes / "model.xml", scenes / "short.xml", scenes / "scenes.txt", *more]


def test_two_models_side_by_side(run, scenes):
    ran = run(*words(scenes, "--output", scenes / "out", "--fppi", "5"))
    assert ran.code == 0
    assert [line for line in ran.err.splitlines() if not line.startswith("compiling kernels")] == []
    assert "scenes: 6 with " in ran.out
    assert "a hit: intersection over union at least 0.5" in ran.out
    assert " at 5 false alarms per picture: " in ran.out
    assert "recall at 5 false alarms per picture" in ran.out
    assert {path.name for path in (scenes / "out").iterdir()} == FILES
    values = json.loads((scenes / "out" / "results.json").read_text())
    assert [model["name"] for model in values["models"]] == ["model", "short"]
    assert values["verdict"][0] in ran.out
    assert values["command"].startswith("vjcascade evaluate ")
    assert values["command"].endswith("--fppi 5.0")
    for name in ("results.csv", "curve.csv"):
        rows = list(csv.DictReader((scenes / "out" / name).read_text().splitlines()))
        assert {row["model"] for row in rows} == {"model", "short"}
    page = checked((scenes / "out" / "report.html").read_text())
    assert values["verdict"][0] in page.text


def test_one_model_without_output_leaves_nothing(run, scenes):
    before = set(scenes.iterdir())
    ran = run("evaluate", scenes / "short.xml", scenes / "scenes.txt")
    assert ran.code == 0
    assert "short finds " in ran.out
    assert "report" not in ran.out
    assert set(scenes.iterdir()) == before


def point_counts(scenes, detector):
    """Return hits and false alarms of a detector in all scenes."""
    listed = read_scenes(scenes / "scenes.txt")
    hits = n = 0
    for scene in listed.scenes:
        found = detector.detect(read_gray(scene.path))
        hits += int(IoU().match(found.boxes, found.ranking_scores, scene.boxes).hits.sum())
        n += len(found)
    return {"n_hits": hits, "n_false_alarms": n - hits}


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ((), {"min_neighbors": 1, "min_ranking_score": 1.5, "scale_factor": 1.3}),
        (("--min-neighbors", "2"), {"min_neighbors": 2, "min_ranking_score": 1.5, "scale_factor": 1.3}),
        (("--untuned",), {}),
        (
            ("--untuned", "--min-size", "14x14", "--max-size", "30x30"),
            {"min_size": (14, 14), "max_size": (30, 30)},
        ),
    ],
)
def test_the_operating_point_is_used_unless_overridden(run, scenes, options, settings):
    point = OperatingPoint(n_stages=2, min_neighbors=1, min_ranking_score=1.5, scale_factor=1.3)
    point.applied(Cascade.load(scenes / "model.xml")).save(scenes / "tuned.xml")
    ran = run("evaluate", scenes / "tuned.xml", scenes / "scenes.txt", *options, "-o", scenes / "out")
    assert ran.code == 0
    assert ("(tuned)" in ran.out) == ("--untuned" not in options)
    (model,) = json.loads((scenes / "out" / "results.json").read_text())["models"]
    expected = point_counts(scenes, Detector(Cascade.load(scenes / "tuned.xml"), **settings))
    assert {name: model["used"][name] for name in expected} == expected
    assert model["tuned"] == ("--untuned" not in options)


def test_rules_scores_and_sizes_reach_the_results(run, scenes):
    options = ["--rule", "viola-jones", "--score", "neighbors", "--ties", "in-order", "--sizes", "12", "20"]
    ran = run(*words(scenes, *options, "--false-alarms", "1", "7", "-o", scenes / "out"))
    assert ran.code == 0
    assert "recall at 7 false alarms " in ran.out
    assert "recall, as used, 12 to 20 pixels" in ran.out
    values = json.loads((scenes / "out" / "results.json").read_text())
    assert values["protocol"]["rule"]["name"] == "viola-jones"
    assert (values["protocol"]["score"], values["protocol"]["ties"]) == ("neighbors", "in-order")
    assert values["command"].endswith(
        "--rule viola-jones --score neighbors --ties in-order --false-alarms 1 7 --sizes 12.0 20.0"
    )


def test_models_by_name_and_by_folder(run, scenes):
    (scenes / "runs").mkdir()
    shutil.copy(scenes / "short.xml", scenes / "runs" / "cascade.xml")
    (scenes / "runs" / EVENTS_NAME).touch()
    ran = run("evaluate", scenes / "runs", "frontalface", scenes / "scenes.txt")
    assert ran.code == 0
    assert "runs as used: " in ran.out
    assert "frontalface as used: " in ran.out


def test_models_of_the_same_name_are_named_as_given(run, scenes):
    (scenes / "other").mkdir()
    shutil.copy(scenes / "short.xml", scenes / "other" / "model.xml")
    ran = run("evaluate", scenes / "model.xml", scenes / "other" / "model.xml", scenes / "scenes.txt")
    assert ran.code == 0
    assert f"{scenes / 'other' / 'model.xml'} as used" in ran.out


def test_regions_to_ignore(run, scenes):
    rows = ["file,x,y,w,h,ignore", "0.png,0,0,50,40,1", "0.png,3,3,12,10,0"]
    (scenes / "boxes.csv").write_text("\n".join(rows))
    ran = run("evaluate", scenes / "short.xml", scenes / "boxes.csv", "-o", scenes / "out")
    assert ran.code == 0
    (model,) = json.loads((scenes / "out" / "results.json").read_text())["models"]
    assert model["used"]["n_false_alarms"] == 0


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("--rule", "voila-jones"), "did you mean 'viola-jones'?"),
        (("--rule", "uiuc", "--aspect", "4.4"), "the matching rule uiuc has no aspect"),
        (("--fppi", "0"), "false alarms per picture 0"),
        (("--sizes", "0"), "is not a height in pixels"),
        (("--false-alarms", "-1"), "-1"),
        (("--scale-factor", "1"), "--scale-factor 1.0"),
        (("--label", "car"), "which has no categories"),
    ],
)
def test_wrong_settings(run, scenes, more, reason):
    ran = run(*words(scenes, *more, "--output", scenes / "out"))
    assert ran.code == 2
    assert reason in ran.err
    assert not (scenes / "out").exists()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([], "give one model or more"),
        (["model.xml"], "give one model or more"),
        (["no such.xml", "scenes.txt"], "no such.xml"),
        (["frontalfaces", "scenes.txt"], "no model file 'frontalfaces'"),
        (["model.xml", "scene.txt"], "did you mean scenes.txt?"),
        (["model.xml", "model.xml", "scenes.txt"], "two models have the name"),
    ],
)
def test_wrong_words(run, scenes, monkeypatch, given, reason):
    monkeypatch.chdir(scenes)
    ran = run("evaluate", *given)
    assert ran.code == 2
    assert reason in ran.err


def test_a_folder_that_is_a_file_is_refused_before_the_work(run, scenes):
    ran = run(*words(scenes, "--output", scenes / "model.xml"))
    assert ran.code == 2
    assert "--output needs a folder and this is a file" in ran.err
    assert "finds" not in ran.out


def test_files_of_others_are_not_overwritten(run, scenes):
    shutil.copy(scenes / "short.xml", scenes / "cascade.xml")
    (scenes / EVENTS_NAME).touch()
    ran = run(*words(scenes, "--output", scenes))
    assert ran.code == 2
    assert "this is a training run" in ran.err
    (scenes / EVENTS_NAME).unlink()
    shutil.copy(scenes / "scenes.txt", scenes / "results.csv")
    ran = run("evaluate", scenes / "short.xml", scenes / "results.csv", "--output", scenes)
    assert ran.code == 2
    assert "would overwrite the model or an input" in ran.err


def test_the_option_for_pictures_elsewhere_is_named(run, scenes, tmp_path):
    (tmp_path / "list.txt").write_text("away.png 1 3 3 12 10\n")
    words = "evaluate", scenes / "short.xml", tmp_path / "list.txt"
    assert run(*words).err.rstrip().endswith("name their folder: --pictures FOLDER")
    assert "--pictures FOLDER" not in run(*words, "--pictures", tmp_path).err


def test_scenes_in_front_of_the_model_are_told(run, scenes):
    ran = run("evaluate", scenes / "scenes.txt", scenes / "short.xml")
    assert ran.code == 2
    assert f"{scenes / 'short.xml'} is a model: give the models first, and the scenes last" in ran.err


def test_a_model_of_a_run_is_named_after_its_folder(run, scenes):
    (scenes / "better").mkdir()
    shutil.copy(scenes / "short.xml", scenes / "better" / "cascade.xml")
    ran = run("evaluate", scenes / "better" / "cascade.xml", scenes / "scenes.txt")
    assert "better as used: " in ran.out


def test_nothing_is_written_where_not_all_fits(run, scenes, monkeypatch):
    (scenes / "out").mkdir()
    (scenes / "out" / "results.csv").write_text("older")
    synced, sync = [], os.fsync

    def full(file):
        synced.append(file)
        if len(synced) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(file)

    monkeypatch.setattr(os, "fsync", full)
    ran = run(*words(scenes, "--output", scenes / "out"))
    assert ran.code == 2
    assert {path.name for path in (scenes / "out").iterdir()} == {"results.csv"}
    assert (scenes / "out" / "results.csv").read_text() == "older"


def test_columns_that_do_not_fit_come_below(scenes):
    cascade = Cascade.load(scenes / "model.xml")
    models = [Candidate(name, Detector(cascade)) for name in ("first", "second", "x" * 40)]
    evaluation = evaluate(models, read_scenes(scenes / "scenes.txt"), Protocol(n_resamples=5))
    wide, narrow = table_lines(evaluation, 300), table_lines(evaluation, 70)
    assert len(narrow) > 2 * len(wide)
    assert all(len(line) <= 300 for line in wide)
    assert wide[0].split() == ["first", "second", "x" * 23 + "…"]
    assert narrow[0].split() == ["first"]
    labels = [line for line in narrow if line.startswith("best F1")]
    assert len(labels) == 3
    found = evaluation.intervals(evaluation.models[0])
    f1 = [figure.key for figure in evaluation.figures].index("best_f1")
    assert f"{100 * found[f1].mean:.1f} %" in labels[0]
    assert np.isfinite(found[f1].low)
