"""``vjcascade tune``, and how ``vjcascade detect`` uses what it stores."""

from __future__ import annotations

import json

import pytest
from scene_files import model_and_scenes

from vjcascade.cascade import OPERATING_POINT, Cascade
from vjcascade.detection import DenseDetector, Detector
from vjcascade.evaluation import OperatingPoint
from vjcascade.imaging import read_gray


@pytest.fixture
def scenes(tmp_path, rng):
    """Return a folder with a model, and scenes in which its first two stages find the object."""
    model_and_scenes(tmp_path, rng)
    return tmp_path


def words(scenes, *more):
    return ["tune", scenes / "model.xml", scenes / "scenes.txt", "--output", scenes / "tuned.xml", *more]


def test_a_model_is_tuned(run, scenes):
    ran = run(*words(scenes))
    assert (ran.code, ran.err.count("error")) == (0, 0)
    assert "goal: best F1; a hit: intersection over union at least 0.5" in ran.out
    before, after, elsewhere = (
        next(line for line in ran.out.splitlines() if line.startswith(start))
        for start in ("before: recall", "after: recall", "on other scenes: recall")
    )
    assert before.endswith("(default settings)")
    assert "so optimistic" in after
    assert "cross-validated" in elsewhere
    assert "are few; such figures may be off" in ran.out
    tuned = Cascade.load(scenes / "tuned.xml")
    point = OperatingPoint.of(tuned)
    assert f"chosen: {point.n_stages} of 3 stages" in ran.out
    record = tuned.metadata["tuning"]
    assert record["goal"] == "best F1"
    assert record["scenes"]["scenes"] == 6
    assert f"{record['after']['n_hits'] / record['after']['n_objects']:.1%}" in after
    assert f"tuned settings: {point}" in run("inspect", scenes / "tuned.xml").out


def test_scenes_with_several_kinds_of_objects(run, scenes):
    lines = ["file,x,y,w,h,label"]
    for line in (scenes / "scenes.txt").read_text().splitlines():
        name, _, *numbers = line.split()
        boxes = zip(*[iter(numbers)] * 4, strict=True)
        lines += [f"{name},1,2,9,9,other", *(",".join([name, *box, "object"]) for box in boxes)]
    (scenes / "boxes.csv").write_text("\n".join(lines))
    of_table = ["tune", scenes / "model.xml", scenes / "boxes.csv", "--output", scenes / "tuned.xml"]
    ran = run(*of_table)
    assert ran.code == 2
    assert "has objects of 2 kinds (object, other); choose one with --label" in ran.err
    of_table, of_list = run(*of_table, "--label", "object"), run(*words(scenes))
    assert of_table.code == of_list.code == 0
    assert of_table.out.splitlines()[:3] == of_list.out.splitlines()[:3]


@pytest.mark.parametrize(
    ("option", "value", "goal"),
    [
        ("--recall", "0.8", "recall at least 0.8"),
        ("--precision", "0.7", "precision at least 0.7"),
        ("--fppi", "2", "at most 2 false alarms per picture"),
    ],
)
def test_goals(run, scenes, option, value, goal):
    ran = run(*words(scenes, option, value))
    assert ran.code == 0
    assert f"goal: {goal}; " in ran.out
    assert Cascade.load(scenes / "tuned.xml").metadata["tuning"]["goal"] == goal


def test_the_rule_is_chosen_and_kept(run, scenes):
    ran = run(*words(scenes, "--rule", "viola-jones"))
    assert ran.code == 0
    assert "a hit: centres within 0.3 of the true width" in ran.out
    record = Cascade.load(scenes / "tuned.xml").metadata["tuning"]
    assert record["rule"] == {"name": "viola-jones", "max_offset": 0.3, "max_ratio": 2.0}


def test_scenes_of_other_formats_and_labels(run, scenes):
    rows = ["file,class,x,y,w,h", "0.png,car,3,4,20,20", "1.png,dog,3,4,20,20", "2.png,car,1,2,18,15"]
    (scenes / "scenes.txt").write_text("\n".join(rows))
    assert run(*words(scenes)).code == 2
    assert "scenes: 3 with 2 objects" in run(*words(scenes, "--label", "car")).out


def test_a_goal_out_of_reach_is_said(run, scenes):
    (scenes / "scenes.txt").write_text("0.png 1 0 0 4 4\n1.png 1 0 0 4 4\n")
    ran = run(*words(scenes, "--recall", "0.9"))
    assert ran.code == 0
    assert "recall at least 0.9 cannot be reached on these scenes; this comes closest:\n" in ran.out
    assert "on other scenes it is no better than the default settings" in ran.out


def test_one_scene(run, scenes):
    (scenes / "scenes.txt").write_text("0.png 1 0 0 20 20\n")
    assert "on other scenes: unknown; cross-validation needs more scenes" in run(*words(scenes)).out


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("--recall", "0"), "recall 0.0 is not in (0, 1]"),
        (("--recall", "0.5", "--precision", "0.5"), "--recall and --precision cannot both be the goal"),
        (("--min-overlap", "1.5"), "--min-overlap 1.5"),
        (("--rule", "uiucs"), "there is no matching rule 'uiucs'; did you mean 'uiuc'?"),
        (("--rule", "uiuc", "--min-overlap", "0.4"), "the matching rule uiuc has no --min-overlap"),
        (("--label", "car"), "which has no categories"),
    ],
)
def test_wrong_settings(run, scenes, more, reason):
    ran = run(*words(scenes, *more))
    assert ran.code == 2
    assert reason in ran.err
    assert not (scenes / "tuned.xml").exists()


def test_the_model_is_not_overwritten(run, scenes):
    ran = run("tune", scenes / "model.xml", scenes / "scenes.txt", "-o", scenes / "model.xml")
    assert ran.code == 2
    assert "would overwrite the model" in ran.err


@pytest.fixture
def tuned(scenes):
    """Return a tuned model with settings far from the defaults."""
    point = OperatingPoint(n_stages=2, min_neighbors=1, min_ranking_score=1.5, scale_factor=1.3)
    point.applied(Cascade.load(scenes / "model.xml")).save(scenes / "tuned.xml")
    return scenes / "tuned.xml"


def found(ran):
    return [[d[side] for side in "xywh"] for d in json.loads(ran.out)["detections"]]


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ((), {"min_neighbors": 1, "min_ranking_score": 1.5, "scale_factor": 1.3}),
        (("--min-neighbors", "2"), {"min_neighbors": 2, "min_ranking_score": 1.5, "scale_factor": 1.3}),
        (("--min-ranking-score", "0"), {"min_neighbors": 1, "scale_factor": 1.3}),
        (("--untuned",), {}),
        (("--untuned", "--scale-factor", "1.2"), {"scale_factor": 1.2}),
    ],
)
def test_detect_uses_the_point_unless_overridden(run, scenes, tuned, options, settings):
    ran = run("detect", tuned, scenes / "0.png", "--format", "jsonl", *options)
    wanted = Detector(Cascade.load(tuned), **settings).detect(read_gray(scenes / "0.png"))
    assert found(ran) == wanted.boxes.tolist()
    assert ("tuned settings of the model" in ran.err) == ("--untuned" not in options)


def test_detect_uses_the_stages_of_the_point(run, scenes):
    cascade = Cascade.load(scenes / "model.xml")
    point = OperatingPoint(n_stages=1, min_neighbors=1)
    assert cascade.n_stages > 1
    cascade.with_metadata({OPERATING_POINT: point.as_dict()}).save(scenes / "long.xml")
    said = f"; the first 1 of its {cascade.n_stages} stages\n"
    for options, used in (((), cascade.first_stages(1)), (("--untuned", "--min-neighbors", "1"), cascade)):
        ran = run("detect", scenes / "long.xml", scenes / "0.png", "--format", "jsonl", *options)
        wanted = Detector(used, min_neighbors=1).detect(read_gray(scenes / "0.png"))
        assert found(ran) == wanted.boxes.tolist()
        assert (said in ran.err) == (options == ())
    assert said in run("inspect", scenes / "long.xml").out


def test_dense_detection_has_settings_of_its_own(run, scenes, tuned):
    ran = run("detect", tuned, scenes / "0.png", "--dense", "--format", "jsonl")
    wanted = DenseDetector(Cascade.load(tuned)).detect(read_gray(scenes / "0.png"))
    assert "tuned settings" not in ran.err
    assert found(ran) == wanted.boxes.tolist()


def test_damaged_points_are_refused_and_can_be_left_aside(run, scenes, tuned):
    cascade = Cascade.load(tuned)
    broken = {**cascade.metadata[OPERATING_POINT], "scale_factor": 1.0000001}
    cascade.with_metadata({OPERATING_POINT: broken}).save(tuned)
    ran = run("detect", tuned, scenes / "0.png")
    assert ran.code == 2
    assert "scale_factor 1.0000001 is not in [1.001, 100]; --untuned ignores it" in ran.err
    assert run("detect", tuned, scenes / "0.png", "--untuned").code == 0
    assert "metadata is damaged: scale_factor 1.0000001" in run("inspect", tuned).out
