from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vjcascade.evaluation import detection_curve, match_detections
from vjcascade.evaluation.matching import overlaps

BOXES = st.lists(st.tuples(*[st.integers(0, 40)] * 2, *[st.integers(1, 40)] * 2), max_size=8)


@pytest.mark.parametrize(
    ("box", "expected"),
    [((0, 0, 10, 10), 1.0), ((5, 0, 10, 10), 1 / 3), ((10, 0, 10, 10), 0.0), ((0, 0, 20, 10), 0.5)],
)
def test_overlap(box, expected):
    assert overlaps([box], [(0, 0, 10, 10)])[0, 0] == pytest.approx(expected)


@given(BOXES, BOXES)
def test_each_object_is_found_at_most_once(boxes, truth):
    matches = match_detections(
        np.array(boxes).reshape(-1, 4), np.arange(len(boxes)), np.array(truth).reshape(-1, 4)
    )
    assert matches.hits.sum() <= len(truth)
    assert matches.n_objects == len(truth)


@given(BOXES.filter(len))
def test_true_boxes_find_themselves(boxes):
    assert match_detections(boxes, np.zeros(len(boxes)), boxes).hits.all()


def test_curve_counts_every_score_once():
    first = match_detections([[0, 0, 9, 9], [90, 0, 9, 9]], [3.0, 3.0], [[0, 0, 9, 9]])
    second = match_detections([[50, 0, 9, 9]], [1.0], [[0, 0, 9, 9]])
    curve = detection_curve([first, second])
    assert curve.scores.tolist() == [3.0, 1.0]
    assert curve.hit_rate.tolist() == [0.5, 0.5]
    assert curve.n_false_alarms.tolist() == [1, 2]


def test_no_detections_at_all():
    curve = detection_curve([match_detections(np.empty((0, 4)), [], [[0, 0, 9, 9]])])
    assert len(curve.scores) == 0
    assert curve.n_objects == 1


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], 1.0])
def test_every_box_needs_a_score(scores):
    with pytest.raises(ValueError, match="2 boxes need as many scores"):
        match_detections([[0, 0, 9, 9], [9, 9, 9, 9]], scores, [[0, 0, 9, 9]])


@pytest.mark.parametrize("min_overlap", [0, -0.5, 1.01, float("nan")])
def test_the_overlap_is_a_share(min_overlap):
    with pytest.raises(ValueError, match=f"min_overlap {min_overlap}"):
        match_detections([[0, 0, 9, 9]], [1.0], [[0, 0, 9, 9]], min_overlap=min_overlap)
    assert match_detections([[0, 0, 9, 9]], [1.0], [[0, 0, 9, 9]], min_overlap=1).hits.all()
