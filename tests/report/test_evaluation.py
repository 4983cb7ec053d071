"""The report on an evaluation: whole, safe, and it shows what was measured where it is."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from pages import HOSTILE, checked
from scene_files import model_and_scenes

from vjcascade.detection import Detector
from vjcascade.evaluation import Candidate, Protocol, evaluate, read_scenes
from vjcascade.evaluation.curves import EndFalseAlarms, EndRecall
from vjcascade.evaluation.figures import Figure
from vjcascade.evaluation.intervals import Difference, Interval
from vjcascade.evaluation.matching import FDDB, IoU, overlaps
from vjcascade.imaging import read_gray
from vjcascade.report import evaluation as page, evaluation_charts as charts, examples
from vjcascade.report.evaluation import build_evaluation_report, page_values
from vjcascade.report.examples import NEAR, cuts, false_alarms, misses

PROTOCOL = Protocol(n_resamples=20)


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    """Return a cascade and scenes in which its first two stages find the objects."""
    folder = tmp_path_factory.mktemp("scenes")
    cascade = model_and_scenes(folder, np.random.default_rng(3), 8)
    return cascade, read_scenes(folder / "scenes.txt")


@pytest.fixture(scope="module")
def evaluation(setting):
    cascade, scenes = setting
    short = Detector(cascade.first_stages(2), min_neighbors=1)
    models = [Candidate("whole", Detector(cascade)), Candidate(HOSTILE, short, is_tuned=True)]
    return evaluate(models, scenes, PROTOCOL)


def test_the_page_is_whole_and_says_the_numbers(evaluation):
    html = build_evaluation_report(evaluation, f"vjcascade evaluate {HOSTILE}")
    checked_page = checked(html)
    for row in page_values(evaluation)["figures"]:
        assert row["name"] in checked_page.text
        assert all(words in checked_page.text for words, _ in row["cells"])
    assert checked_page.text.count(HOSTILE) >= 8
    assert "nan" not in checked_page.text.lower().replace("nance", "").replace(HOSTILE, "")
    assert f"vjcascade evaluate {HOSTILE}" in checked_page.text
    n_cuts = html.count("<figure>")
    assert checked_page.tags.count("svg") == 2 + n_cuts
    assert checked_page.tags.count("image") == n_cuts > 10


def test_one_model_has_no_differences(setting):
    cascade, scenes = setting
    checked_page = checked(
        build_evaluation_report(evaluate([Candidate("a", Detector(cascade))], scenes, PROTOCOL))
    )
    assert "difference" not in checked_page.text.lower()


def test_without_sizes(setting):
    cascade, scenes = setting
    protocol = replace(PROTOCOL, rule=FDDB(is_continuous=True))
    checked_page = checked(
        build_evaluation_report(evaluate([Candidate("a", Detector(cascade))], scenes, protocol))
    )
    assert "By size" not in checked_page.text


def test_models_that_find_nothing(setting):
    cascade, scenes = setting
    nothing = cascade.with_shifted_thresholds(1e6, 1)
    evaluation = evaluate([Candidate("a", Detector(nothing))], scenes, PROTOCOL)
    values = page_values(evaluation)
    assert checked(build_evaluation_report(evaluation)).tags.count("figure") == len(
        cuts(misses(evaluation.models[0], evaluation), evaluation)
    )
    _, kinds = values["examples"][0]
    assert [(kind, n) for kind, n, _ in kinds] == [
        ("misses", evaluation.n_objects),
        ("false alarms", 0),
        ("near misses", 0),
    ]
    assert {row["name"]: row["cells"][0] for row in values["figures"]}["precision, as used"] == ("–", "")


@pytest.mark.parametrize(
    ("measure", "ends", "way"),
    [
        (EndRecall(), (0.1, 0.3), "better"),
        (EndRecall(), (-0.3, -0.1), "worse"),
        (EndRecall(), (-0.1, 0.1), ""),
        (EndFalseAlarms(), (0.1, 0.3), "worse"),
        (EndFalseAlarms(), (-0.3, -0.1), "better"),
    ],
)
def test_differences_are_marked_by_their_direction(measure, ends, way):
    difference = Difference(measure, Interval(sum(ends) / 2, *ends), 0.95)
    figure = Figure("a", measure, is_share=isinstance(measure, EndRecall))
    assert page._difference(figure, difference)[2] == way


def test_curves_rise_from_corner_to_corner(evaluation):
    chart = charts.recall_chart(evaluation)
    lines = re.findall(r'points="([^"]+)" class="curve model-(\d)"', chart)
    assert [number for _, number in lines] == ["0", "1"]
    for (line, _), model in zip(lines, evaluation.models, strict=True):
        points = [tuple(map(float, point.split(","))) for point in line.split()]
        assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in pairwise(points))
        assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(points))
        bottom, floor = charts.HEIGHT - charts.BOTTOM, 0.0
        share = 1 - (points[-1][1] - charts.TOP) / (bottom - charts.TOP)
        assert share * (1 - floor) + floor == pytest.approx(model.curve.hit_rate.max(), abs=1e-3)
    assert "NaN" not in chart + charts.precision_chart(evaluation)


def test_the_dots_lie_at_the_settings_in_use(evaluation):
    chart = charts.precision_chart(evaluation)
    dots = re.findall(r'cx="([\d.]+)" cy="([\d.]+)" r="4.5"', chart)
    across = charts.WIDTH - charts.LEFT - charts.RIGHT
    recalls = [(float(x) - charts.LEFT) / across for x, _ in dots]
    assert recalls == pytest.approx([model.used.recall for model in evaluation.models], abs=1e-4)


def test_long_curves_stay_small():
    points = [(i / 1000, i / 100_000) for i in range(1, 100_000)]
    thinned = charts._thinned(points)
    assert len(thinned) <= charts.MAX_POINTS
    assert (thinned[0], thinned[-1]) == (points[0], points[-1])


def test_examples_are_all_faults_worst_first(setting, evaluation):
    _, scenes = setting
    for model in evaluation.models:
        missed = misses(model, evaluation)
        assert len(missed) == evaluation.n_objects - model.used.n_hits
        boxes = [scenes.scenes[one.scene].boxes for one in missed]
        assert all((one.truth[0] == some).all(axis=1).any() for one, some in zip(missed, boxes, strict=True))
        near, far = (false_alarms(model, evaluation, near=one) for one in (True, False))
        assert len(near) + len(far) == model.used.n_false_alarms
        for kind in (missed, near, far):
            assert [one.badness for one in kind] == sorted((one.badness for one in kind), reverse=True)
        for one in far:
            assert overlaps(one.found, scenes.scenes[one.scene].boxes).max(initial=0) < NEAR
        for one in near:
            shared = overlaps(one.found, one.truth)[0, 0]
            assert f"IoU {shared:.2f}" in one.caption
            assert shared >= NEAR


@pytest.mark.parametrize(
    ("score", "caption"), [(1085.3, "score 1,085"), (158.44, "score 158"), (-2.5, "score -2.5")]
)
def test_scores_are_never_in_powers_of_ten(score, caption):
    assert examples._score(score) == caption


def test_second_detections_of_an_object_are_said_to_be(setting):
    cascade, scenes = setting
    detector = Detector(cascade.first_stages(2), min_neighbors=0)
    evaluation = evaluate([Candidate("loose", detector)], scenes, replace(PROTOCOL, rule=IoU(0.2)))
    near = false_alarms(evaluation.models[0], evaluation, near=True)
    assert any("found already" in one.caption for one in near)


def test_cuts_show_the_boxes_where_they_are(setting, evaluation):
    _, scenes = setting
    (example, *_) = misses(evaluation.models[0], evaluation)
    ((drawn, caption), *_) = cuts([example], evaluation)
    assert caption == example.caption
    width, height = map(int, re.search(r'viewBox="0 0 (\d+) (\d+)"', drawn).groups())
    picture = read_gray(scenes.scenes[example.scene].path)
    sides = re.search(
        r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" class="truth"', drawn
    )
    x, y, w, h = map(float, sides.groups())
    assert (w, h) == tuple(example.truth[0, 2:])
    assert x >= 0
    assert x + w <= width <= picture.shape[1]
    assert y >= 0
    assert y + h <= height <= picture.shape[0]
