"""Grouping against plain loops and OpenCV."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.detection.grouping import group_windows
from vjcascade.types import Detections


def raw(boxes, scores=None):
    boxes = np.array(boxes, np.int32).reshape(-1, 4)
    scores = np.zeros(len(boxes)) if scores is None else np.asarray(scores, np.float64)
    return Detections(boxes, scores, np.ones(len(boxes), np.int32))


def random_boxes(rng, n):
    """Return boxes that crowd around few places, of a few sizes."""
    centres = rng.integers(0, 200, (1 + n // 8, 2))
    sides = rng.choice([20, 24, 40, 90], 1 + n // 8)
    which = rng.integers(0, len(centres), n)
    boxes = np.empty((n, 4), np.int32)
    boxes[:, :2] = centres[which] + rng.integers(-6, 7, (n, 2))
    boxes[:, 2] = sides[which] + rng.integers(-5, 6, n)
    boxes[:, 3] = sides[which] + rng.integers(-5, 6, n)
    return boxes


boxes_of = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 30), st.integers(1, 30)), max_size=30
)


@settings(max_examples=100, deadline=None)
@given(boxes=boxes_of, threshold=st.integers(1, 4))
def test_equals_plain_loops(boxes, threshold):
    scores = np.linspace(-1, 1, len(boxes))
    groups = group_windows(raw(boxes, scores), threshold)
    expected = naive.group_boxes(boxes, scores, threshold)
    assert groups.boxes.tolist() == [box for box, _, _ in expected]
    assert groups.neighbors.tolist() == [count for _, count, _ in expected]
    assert groups.scores.tolist() == [score for _, _, score in expected]


def test_zero_returns_raw_windows():
    windows = raw([[1, 2, 3, 4]])
    assert group_windows(windows, 0) is windows


def test_a_class_as_small_as_the_threshold_is_dropped():
    boxes = [[10, 10, 24, 24]] * 3
    assert len(group_windows(raw(boxes), 3)) == 0
    assert group_windows(raw(boxes * 2), 3).neighbors.tolist() == [6]


def test_nothing_to_group():
    groups = group_windows(Detections.empty(), 3)
    assert groups.boxes.shape == (0, 4)
    assert groups.boxes.dtype == np.int32


@pytest.mark.oracle
def test_equals_opencv(oracle, rng):
    sets = [random_boxes(rng, int(n)) for n in rng.integers(1, 60, 2000)]
    thresholds = rng.integers(1, 5, len(sets))
    expected = oracle(
        "group_rectangles",
        boxes=np.concatenate(sets),
        set_sizes=np.array([len(boxes) for boxes in sets]),
        thresholds=thresholds,
    )
    groups = [group_windows(raw(boxes), int(t)) for boxes, t in zip(sets, thresholds, strict=True)]
    assert [len(g) for g in groups] == expected["n_groups"].tolist()
    np.testing.assert_array_equal(np.concatenate([g.boxes for g in groups]), expected["boxes"])
    np.testing.assert_array_equal(np.concatenate([g.neighbors for g in groups]), expected["counts"])
