"""Curves and their numbers: cases worked out by hand, laws, and COCO's own program."""

from __future__ import annotations

import numpy as np
import pytest
from coco_program import coco_average_precision, random_scene
from hypothesis import given, strategies as st

from vjcascade.errors import SettingsError
from vjcascade.evaluation import detection_curve, match_detections
from vjcascade.evaluation.curves import (
    AveragePrecision,
    BestF1,
    EndFalseAlarms,
    EndPrecision,
    EndRecall,
    EqualPoint,
    LogAverageMissRate,
    RecallAt,
    Steps,
    Ties,
    points,
)
from vjcascade.evaluation.matching import FDDB, IoU, Matches

SCENES = st.lists(
    st.tuples(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=6), st.integers(0, 3)),
    min_size=1,
    max_size=6,
)
MEASURES = (RecallAt(2), RecallAt(0.5, per_picture=True), BestF1(), LogAverageMissRate(), AveragePrecision())


def scene(scores, hits, n_objects):
    return Matches(np.array(scores, np.float64), np.array(hits, np.bool_), n_objects)


def scenes_of(drawn):
    """Return scenes in which no more is found than there is."""
    return [
        scene([s for s, _ in found], [h for _, h in found], sum(h for _, h in found) + missed)
        for found, missed in drawn
    ]


# Two scenes with 4 objects: at 9 a hit; at 8 a false alarm; at 7 a hit and a false alarm; at 6 a hit.
HAND = [scene([9, 7, 7], [1, 0, 1], 2), scene([6, 8], [1, 0], 2)]


def test_a_curve_by_hand():
    curve = detection_curve(HAND)
    assert curve.scores.tolist() == [9, 8, 7, 6]
    assert curve.hit_rate.tolist() == [1 / 4, 1 / 4, 2 / 4, 3 / 4]
    assert curve.n_false_alarms.tolist() == [0, 1, 2, 2]
    assert curve.precision == pytest.approx([1, 1 / 2, 2 / 4, 3 / 5])
    assert curve.f1 == pytest.approx([2 / 5, 2 / 6, 4 / 8, 6 / 9])
    assert curve.false_alarms_per_picture.tolist() == [0, 0.5, 1, 1]
    assert curve.false_alarms_per_megawindow(4_000_000).tolist() == [0, 0.25, 0.5, 0.5]
    assert (curve.n_objects, curve.n_scenes) == (4, 2)
    assert points(curve)[2] == (7, 0.5, 0.5, 0.5, 2)


def test_its_numbers_by_hand():
    curve = detection_curve(HAND)
    assert [RecallAt(n).of(curve) for n in (0, 1, 2, 9)] == [1 / 4, 1 / 4, 3 / 4, 3 / 4]
    assert [RecallAt(n, per_picture=True).of(curve) for n in (0, 0.49, 1)] == [1 / 4, 1 / 4, 3 / 4]
    assert BestF1().of(curve) == pytest.approx(6 / 9)
    # Precisions made to fall: 1, 0.6, 0.6, 0.6; 26 of the 101 hit rates are at most 0.25, 50 more at most 0.75.
    assert AveragePrecision().of(curve) == pytest.approx((26 * 1 + 50 * 0.6) / 101)
    # False alarms per picture are below 0.5 at the points 0.01 to 0.316 (7 of 9), from 0.5 at 0.562, and 1 at 1.
    assert LogAverageMissRate().of(curve) == pytest.approx((0.75**8 * 0.25) ** (1 / 9))
    # 4 detections for 4 objects at the score 7, with 2 hits.
    assert EqualPoint().of(curve) == 0.5


def test_the_miss_rate_where_the_curve_has_no_point():
    # The first step has 2 false alarms in 4 scenes: up to 0.316 per picture (7 of 9 points) nothing is found.
    late = [scene([1, 1, 1, 1], [1, 1, 0, 0], 4), *[scene([], [], 0)] * 3]
    assert LogAverageMissRate().of(detection_curve(late)) == pytest.approx((1**7 * 0.5**2) ** (1 / 9))
    # The curve ends at 0 false alarms, with half of the objects found.
    assert LogAverageMissRate().of(detection_curve([scene([1], [1], 2)])) == pytest.approx(0.5)
    # Nothing is missed: the logarithm of 0 is not taken.
    assert LogAverageMissRate().of(detection_curve([scene([1], [1], 1)])) == pytest.approx(1e-10)


def test_where_recall_equals_precision():
    # 3 objects; the second score brings 4 detections of which 1 is a hit. After the first: 1 of 1. The equal point is
    # at 3 detections, half way: 1 + 1 * 2 / 4 = 1.5 hits.
    assert EqualPoint().of(detection_curve([scene([2, 1, 1, 1, 1], [1, 1, 0, 0, 0], 3)])) == pytest.approx(
        0.5
    )
    assert np.isnan(EqualPoint().of(detection_curve([scene([2], [1], 3)])))


def test_curve_counts_every_score_once():
    first = match_detections([[0, 0, 9, 9], [90, 0, 9, 9]], [3.0, 3.0], [[0, 0, 9, 9]])
    second = match_detections([[50, 0, 9, 9]], [1.0], [[0, 0, 9, 9]])
    curve = detection_curve([first, second])
    assert curve.scores.tolist() == [3.0, 1.0]
    assert curve.hit_rate.tolist() == [0.5, 0.5]
    assert curve.n_false_alarms.tolist() == [1, 2]


def test_what_is_ignored_is_no_step():
    one = IoU().match([[0, 0, 9, 9], [50, 0, 9, 9]], [1.0, 2.0], [[0, 0, 9, 9]], [[40, 0, 30, 30]])
    assert detection_curve([one]).scores.tolist() == [1.0]
    assert AveragePrecision().of(detection_curve([one])) == 1


def test_no_detections_at_all():
    for scenes in ([match_detections(np.empty((0, 4)), [], [[0, 0, 9, 9]])], []):
        curve = detection_curve(scenes)
        assert len(curve.scores) == 0
        assert curve.n_objects == len(scenes)
    curve = detection_curve([scene([], [], 1)])
    assert [measure.of(curve) for measure in MEASURES] == pytest.approx([0, 0, 0, 1, 0])


def test_equal_scores_in_order_by_hand():
    curve = detection_curve(HAND, Ties.IN_ORDER)  # at 7 the hit or the false alarm: as they are given
    assert curve.scores.tolist() == [9, 8, 7, 7, 6]
    assert curve.n_hits.tolist() == [1, 1, 1, 2, 3]
    assert curve.n_false_alarms.tolist() == [0, 1, 2, 2, 2]
    assert [float(RecallAt(n).of(curve)) for n in (0, 1, 2)] == [1 / 4, 1 / 4, 3 / 4]


@given(SCENES)
def test_steps_of_equal_scores_end_where_those_one_by_one_pass(drawn):
    scenes = scenes_of(drawn)
    together, in_order = detection_curve(scenes), detection_curve(scenes, Ties.IN_ORDER)
    last = np.searchsorted(-in_order.scores, -together.scores, side="right") - 1
    assert in_order.n_hits[last] == pytest.approx(together.n_hits)
    assert in_order.n_false_alarms[last].tolist() == together.n_false_alarms.tolist()
    for limit in (0, 1, 3):
        assert RecallAt(limit).of(in_order) >= RecallAt(limit).of(together)


def test_the_end_of_the_curve_by_hand():
    curve = detection_curve(HAND)
    assert [float(one.of(curve)) for one in (EndRecall(), EndPrecision(), EndFalseAlarms())] == [0.75, 0.6, 1]
    nothing = detection_curve([scene([], [], 1)])
    assert (EndRecall().of(nothing), EndFalseAlarms().of(nothing)) == (0, 0)
    assert np.isnan(EndPrecision().of(nothing))
    many = Steps.of(HAND).curve(np.array([[1, 1], [2, 0]]))
    assert EndPrecision().of(many).tolist() == [0.6, 4 / 6]


def test_scenes_must_be_known_for_rates_per_picture():
    with pytest.raises(SettingsError, match="does not know its number of scenes"):
        _ = detection_curve([]).false_alarms_per_picture


def test_continuous_gains_may_be_any_share():
    # One detection of a face, IoU 0.8; another of it, which may take 0.
    found = [[0, 0, 10, 8], [0, 0, 10, 10]]
    curve = detection_curve([FDDB(is_continuous=True).match(found, [2.0, 1.0], [[0, 0, 10, 10]])])
    assert curve.hit_rate == pytest.approx([0.8, 1.0])
    assert curve.n_false_alarms.tolist() == [0, 1]


@given(SCENES)
def test_curves_never_fall(drawn):
    curve = detection_curve(scenes_of(drawn))
    assert (np.diff(curve.hit_rate) >= 0).all()
    assert (np.diff(curve.n_false_alarms) >= 0).all()
    assert (np.diff(curve.scores) < 0).all()


@given(SCENES, st.randoms())
def test_the_order_of_equal_scores_is_no_matter(drawn, random):
    scenes = scenes_of(drawn)
    shuffled = [scene_of_order(one, random.sample(range(len(one.scores)), len(one.scores))) for one in scenes]
    random.shuffle(shuffled)
    for measure in MEASURES:
        assert measure.of(detection_curve(scenes)) == pytest.approx(measure.of(detection_curve(shuffled)))


def scene_of_order(one, order):
    return Matches(one.scores[order], one.hits[order], one.n_objects)


@given(SCENES)
def test_numbers_are_shares(drawn):
    curve = detection_curve(scenes_of(drawn))
    for measure in MEASURES:
        assert 0 <= measure.of(curve) <= 1


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_a_perfect_detector(n_objects):
    curve = detection_curve([scene(range(n), [1] * n, n) for n in n_objects])
    assert [measure.of(curve) for measure in (*MEASURES, EqualPoint())] == pytest.approx(
        [1, 1, 1, 1e-10, 1, 1]
    )


@given(SCENES, st.data())
def test_many_curves_at_once_are_the_curves_one_by_one(drawn, data):
    scenes = scenes_of(drawn)
    picks = st.lists(st.integers(0, len(scenes) - 1), min_size=len(scenes), max_size=len(scenes))
    chosen = data.draw(st.lists(picks, min_size=1, max_size=3))
    counts = np.array([np.bincount(pick, minlength=len(scenes)) for pick in chosen])
    curves = Steps.of(scenes).curve(counts)
    for measure in (*MEASURES, EqualPoint()):
        alone = [measure.of(detection_curve([scenes[i] for i in pick])) for pick in chosen]
        assert measure.of(curves) == pytest.approx(alone, nan_ok=True)


# COCO's own program.


@pytest.mark.parametrize("min_overlap", [0.3, 0.5, 0.75])
@pytest.mark.parametrize("seed", range(8))
def test_average_precision_equals_pycocotools(seed, min_overlap):
    rng = np.random.default_rng(seed)
    scenes = [random_scene(rng, int(rng.integers(0, 9)), int(rng.integers(0, 25))) for _ in range(20)]
    expected = coco_average_precision(scenes, min_overlap)
    curve = detection_curve([IoU(min_overlap).match(*one) for one in scenes])
    assert 0 < expected < 1
    assert AveragePrecision().of(curve) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_of_equal_scores_pycocotools_takes_the_first_and_this_the_worst(seed):
    """One detection a scene, so that the order within a scene is no matter; false alarms come first."""
    rng = np.random.default_rng(seed)
    scenes = [random_scene(rng, 1, 1, ties=True) for _ in range(40)]
    matches = [IoU().match(*one) for one in scenes]
    ours = AveragePrecision().of(detection_curve(matches))
    worst_first = np.argsort([one.hits.sum() for one in matches], kind="stable")
    assert ours == pytest.approx(coco_average_precision([scenes[i] for i in worst_first], 0.5), abs=1e-9)
    assert ours <= coco_average_precision([scenes[i] for i in worst_first[::-1]], 0.5) + 1e-9
