"""Operating points are chosen on scenes, and the figures that are told are those of a detector at the point."""

from __future__ import annotations

from dataclasses import replace

import builders
import numpy as np
import pytest

from vjcascade.detection import Detector
from vjcascade.errors import SettingsError
from vjcascade.evaluation import match_detections, tuning
from vjcascade.evaluation.goals import Figures, Goal
from vjcascade.evaluation.matching import FDDB, IoU, ViolaJones
from vjcascade.evaluation.operating_point import OperatingPoint
from vjcascade.evaluation.tuning import tune
from vjcascade.types import Size


@pytest.fixture(scope="module")
def cascade():
    return builders.random_cascade(np.random.default_rng(3), stages=(3, 4, 5, 5), bar=0.1)


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(4)
    return [builders.smooth_noise(rng, 50, 60) for _ in range(8)]


@pytest.fixture(scope="module")
def boxes(cascade, pictures):
    """Return as true boxes what the first three stages find: with them, recall and precision can be 1."""
    detector = Detector(cascade.first_stages(3), min_neighbors=2, n_threads=1)
    found = [detector.detect(picture).boxes for picture in pictures]
    assert sum(map(len, found)) >= 10
    return found


def measured(point, cascade, pictures, boxes):
    """Return the figures of a detector of the model that a point makes."""
    detector = point.detector(point.applied(cascade), n_threads=1)
    total = Figures(0, 0, 0, 0)
    for picture, truth in zip(pictures, boxes, strict=True):
        found = detector.detect(picture)
        hits = match_detections(found.boxes, found.ranking_scores, truth).hits
        total += Figures(1, len(truth), int(hits.sum()), int((~hits).sum()))
    return total


GOALS = (Goal(), Goal(recall=0.9), Goal(precision=0.9), Goal(false_alarms_per_picture=0.5))


@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_figures_are_those_of_a_detector_at_the_point(cascade, pictures, boxes, goal):
    tuned = tune(cascade, pictures, boxes, goal, n_threads=1)
    assert tuned.after == measured(tuned.point, cascade, pictures, boxes)
    assert tuned.before == measured(OperatingPoint(n_stages=4), cascade, pictures, boxes)
    assert tuned.meets_goal
    assert goal.quality(tuned.after) >= goal.quality(tuned.before)
    assert goal.quality(tuned.after) >= 0.9
    assert tuned.cross_validated.n_objects == tuned.after.n_objects
    assert tuned.cross_validated.n_scenes == 8
    assert tuned.as_dict()["after"]["n_hits"] == tuned.after.n_hits


def test_threads_do_not_matter(cascade, pictures, boxes):
    one, two = (tune(cascade, pictures, boxes, n_threads=n) for n in (1, 2))
    assert one == two


def test_cross_validation_is_without_the_scenes_that_are_measured(cascade, pictures, boxes):
    """Chosen on four fifths with `tune`, measured on the rest with a detector."""
    tuned = tune(cascade, pictures, boxes, n_threads=1)
    total = Figures(0, 0, 0, 0)
    # The grid of shifts is made from all pictures, which are known without boxes.
    judge = tuning._Judge(IoU(), [np.asarray(b, float) for b in boxes], [[]] * len(boxes))
    trials = tuning._Trials(cascade, pictures, judge, 1, lambda *_: None)
    for fold in range(5):
        others = np.arange(8) % 5 != fold
        point, _ = tuning._chosen(trials, Goal(), others)
        held_out = [i for i in range(8) if not others[i]]
        total += measured(point, cascade, [pictures[i] for i in held_out], [boxes[i] for i in held_out])
    assert tuned.cross_validated == total


def test_a_goal_out_of_reach(cascade, pictures):
    too_small = [np.array([[0, 0, 4, 4]])] * 8
    tuned = tune(cascade, pictures, too_small, Goal(recall=0.5), n_threads=1)
    assert not tuned.meets_goal
    assert tuned.after.recall < 0.5


def test_one_scene_cannot_be_cross_validated(cascade, pictures, boxes):
    which = next(i for i, one in enumerate(boxes) if len(one))
    assert tune(cascade, [pictures[which]], [boxes[which]], n_threads=1).cross_validated is None


def test_wide_ranges_come_before_spikes_and_the_model_as_it_is_before_others():
    points = {
        (i, 2, k): OperatingPoint(n_stages=i + 1, min_neighbors=n)
        for i in range(3)
        for k, n in enumerate((1, 2, 3))
    }
    spike = {place: (0.95 if place == (0, 2, 0) else 0.1, point) for place, point in points.items()}
    plateau = spike | {place: (0.945, points[place]) for place in points if place[0] == 2}
    assert tuning._most_robust(plateau, tie=0.01)[1] == points[2, 2, 1]
    flat = {place: (0.9, point) for place, point in points.items()}
    assert tuning._most_robust(flat, tie=0.01)[1] == points[2, 2, 2]
    assert tuning._most_robust(plateau, tie=0.001)[1] == points[0, 2, 0]


def test_what_misses_the_goal_is_no_tie():
    near = {(0, 2, 0): (0.004, OperatingPoint(n_stages=1)), (1, 2, 0): (-0.001, OperatingPoint(n_stages=2))}
    assert tuning._most_robust(near, tie=0.01)[1].n_stages == 1


@pytest.mark.parametrize(("low", "high"), [(1.0, 2.0), (0.1234567, 0.1234568), (3.0, np.nextafter(3.0, 4))])
def test_limits_lie_between_scores(low, high):
    assert low < tuning.limit_between(low, high) <= high


def test_limits_are_short():
    assert tuning.limit_between(1.12345, 1.98765) == 1.6


def test_more_stages_stay_fixed_where_too_many_windows_pass(cascade, pictures, boxes, monkeypatch):
    everything = tune(cascade, pictures, boxes, n_threads=1)
    monkeypatch.setattr(tuning, "TOTAL_WINDOWS", 2000)
    fewer = tune(cascade, pictures, boxes, n_threads=1)
    assert fewer.before == everything.before
    assert fewer.after == measured(fewer.point, cascade, pictures, boxes)
    monkeypatch.setattr(tuning, "TOTAL_WINDOWS", 10)
    with pytest.raises(SettingsError, match="too many windows of the scenes pass the whole model"):
        tune(cascade, pictures, boxes, n_threads=1)


def test_small_objects_are_left_out_where_that_helps(cascade, pictures):
    """Only objects of twice the window count, so that all smaller detections are false alarms."""
    detector = Detector(cascade, min_neighbors=1, min_size=(22, 20), n_threads=1)
    boxes = [detector.detect(picture).boxes for picture in pictures]
    tuned = tune(cascade, pictures, boxes, n_threads=1)
    smallest = min(int(one[:, 2].min()) for one in boxes if len(one))
    assert tuned.point.min_size is None or tuned.point.min_size <= Size(smallest, smallest)
    assert tuned.after == measured(tuned.point, cascade, pictures, boxes)


def test_progress_ends_where_it_said(cascade, pictures, boxes):
    told = []
    tune(cascade, pictures, boxes, n_threads=1, progress=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"boxes": [np.empty((0, 4))] * 8}, "the scenes have no boxes"),
        ({"boxes": [np.empty((0, 4))] * 7}, "8 pictures need as many sets of boxes, these are 7"),
        (
            {"ignored": [np.empty((0, 4))] * 7},
            "8 pictures need as many sets of regions to ignore, these are 7",
        ),
        ({"rule": FDDB(is_continuous=True)}, "fddb-continuous counts shares of objects"),
    ],
)
def test_what_cannot_be_tuned(cascade, pictures, boxes, change, reason):
    with pytest.raises(SettingsError, match=reason):
        tune(cascade, pictures, **{"boxes": boxes, "n_threads": 1, **change})
    with pytest.raises(SettingsError, match="a cascade without stages"):
        tune(cascade.first_stages(0), pictures, boxes)


def test_the_rule_says_what_a_hit_is_and_regions_to_ignore_do_not_count(cascade, pictures, boxes):
    by_place = tune(cascade, pictures, boxes, rule=ViolaJones(), n_threads=1)
    detector = by_place.point.detector(by_place.point.applied(cascade), n_threads=1)
    matches = [
        ViolaJones().match(found.boxes, found.ranking_scores, truth)
        for found, truth in zip(map(detector.detect, pictures), boxes, strict=True)
    ]
    assert by_place.after.n_hits == sum(one.hits.sum() for one in matches)
    assert by_place.after.n_false_alarms == sum(one.false_alarms.sum() for one in matches)
    everywhere = [[[0, 0, *picture.shape[::-1]]] for picture in pictures]
    assert tune(cascade, pictures, boxes, ignored=everywhere, n_threads=1).after.n_false_alarms == 0


def test_stages_without_spread_have_no_shifts(pictures, rng):
    everything = replace(builders.accept_all(Size(12, 10), 2), leaves=np.ones(4, np.float32))
    boxes = [[[0, 0, 12, 10]]] * 8
    assert tune(everything, pictures, boxes, n_threads=1).point.threshold_shift == 0
