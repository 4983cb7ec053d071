"""Grouping against plain loops and OpenCV."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.detection.grouping import best_first, class_labels, group_in_bounds, group_windows
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


@settings(max_examples=60, deadline=None)
@given(boxes=boxes_of, threshold=st.integers(1, 3), weighted=st.none() | st.booleans())
def test_ranking_scores_add_up_over_the_windows_of_a_group(boxes, threshold, weighted):
    windows = raw(boxes, np.linspace(-1, 9, len(boxes)))
    labels, _ = class_labels(windows.boxes, 0.2)
    sums = {}
    for label, score in zip(labels.tolist(), windows.scores.tolist(), strict=True):
        sums[label] = sums.get(label, 0.0) + max(score, 0.0) ** 0.5
    if weighted is None:
        groups = group_windows(windows, threshold)
    else:
        groups = group_in_bounds(windows, threshold, weighted=weighted)
    assert groups.ranking_scores.dtype == np.float64
    known = sorted(sums.values())
    for score in groups.ranking_scores:
        assert any(score == pytest.approx(total) for total in known)
    if len(sums) == 1 and len(boxes) > threshold:
        assert groups.ranking_scores.tolist() == pytest.approx(known)


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


scored_boxes = st.lists(
    st.tuples(
        st.integers(0, 40), st.integers(0, 40), st.integers(1, 30), st.integers(1, 30), st.integers(-3, 9)
    ),
    max_size=30,
)


def scored(rows):
    rows = np.array(rows, np.int64).reshape(-1, 5)
    return raw(rows[:, :4], rows[:, 4])


@settings(max_examples=100, deadline=None)
@given(rows=scored_boxes, threshold=st.integers(0, 3), weighted=st.booleans())
def test_honest_groups_are_the_same_classes(rows, threshold, weighted):
    """Boxes are rounded in another way; which windows belong together, and what of them stays, is not changed."""
    windows = scored(rows)
    groups = group_in_bounds(windows, threshold, weighted=weighted)
    labels = np.array(naive.group_labels(windows.boxes.tolist()), np.intp)
    counts, best = (
        np.bincount(labels),
        [windows.scores[labels == label].max() for label in range(len(set(labels)))],
    )
    classes = {(int(n), score) for n, score in zip(counts, best, strict=True) if n > threshold}
    assert {(int(n), score) for n, score in zip(groups.neighbors, groups.scores, strict=True)} <= classes
    assert (len(groups) == 0) == (len(classes) == 0)
    assert (np.diff(groups.scores) <= 0).all()


@settings(max_examples=100, deadline=None)
@given(rows=scored_boxes, weighted=st.booleans(), x=st.integers(-500, 500), y=st.integers(-500, 500))
def test_moved_windows_give_moved_groups(rows, weighted, x, y):
    windows = scored(rows)
    moved = raw(windows.boxes + np.array([x, y, 0, 0], np.int32), windows.scores)
    expected = group_in_bounds(windows, 0, weighted=weighted)
    groups = group_in_bounds(moved, 0, weighted=weighted)
    np.testing.assert_array_equal(groups.boxes, expected.boxes + np.array([x, y, 0, 0]))


@settings(max_examples=100, deadline=None)
@given(rows=scored_boxes, weighted=st.booleans())
def test_a_group_keeps_within_its_windows(rows, weighted):
    windows = scored(rows)
    labels = np.array(naive.group_labels(windows.boxes.tolist()), np.intp)
    groups = group_in_bounds(windows, 0, weighted=weighted)
    for box in groups.boxes:
        fits = []
        for label in set(labels.tolist()):
            members = windows.boxes[labels == label]
            low, high = members.min(axis=0), members.max(axis=0)
            furthest = (members[:, :2] + members[:, 2:]).max(axis=0)
            fits.append((box >= low).all() and (box <= high).all() and (box[:2] + box[2:] <= furthest).all())
        assert any(fits)


def test_weights_are_scores():
    windows = raw([[0, 0, 20, 20], [4, 0, 20, 20]], [3.0, 1.0])
    assert group_in_bounds(windows, 1, weighted=False).boxes.tolist() == [[2, 0, 20, 20]]
    assert group_in_bounds(windows, 1, weighted=True).boxes.tolist() == [[1, 0, 20, 20]]


@pytest.mark.parametrize("score", [0.0, -2.0])
def test_without_a_score_above_zero_all_count_alike(score):
    windows = raw([[0, 0, 20, 20], [4, 0, 20, 20]], [score, score])
    assert group_in_bounds(windows, 1, weighted=True).boxes.tolist() == [[2, 0, 20, 20]]


def test_a_group_is_what_its_best_window_is():
    """More stages beat a larger score; the first of equals is the best."""
    boxes = np.array([[0, 0, 20, 20], [1, 0, 20, 20], [2, 0, 20, 20], [0, 1, 20, 20]], np.int32)
    windows = Detections(
        boxes,
        np.array([9.0, 2.0, 3.0, 3.0]),
        np.ones(4, np.int32),
        np.array([4, 5, 5, 5], np.int32),
        np.array([0.0, 10.0, 20.0, 30.0]),
    )
    for groups in (group_windows(windows, 1), group_in_bounds(windows, 1, weighted=False)):
        assert (groups.scores.tolist(), groups.stages.tolist(), groups.angles.tolist()) == (
            [3.0],
            [5],
            [20.0],
        )
        assert groups.neighbors.tolist() == [4]
    assert best_first(windows).tolist() == [2, 3, 1, 0]


def test_what_is_not_a_number_is_no_best_score():
    """Scores of other programs may be anything; the best one is that of sorting."""
    boxes = np.tile(np.array([[0, 0, 20, 20]], np.int32), (4, 1))
    scores = np.array([np.nan, -1.0, np.nan, -2.0])
    windows = Detections(boxes, scores, np.ones(4, np.int32), ranking_scores=np.ones(4))
    assert group_windows(windows, 1).scores.tolist() == [scores[best_first(windows)[0]]] == [-1.0]


def test_a_group_does_not_reach_beyond_its_windows():
    """Rounded each for itself, left side and width would take it a pixel further right."""
    windows = raw([[0, 0, 21, 20], [1, 0, 20, 20]])
    assert group_in_bounds(windows, 1, weighted=False).boxes.tolist() == [[0, 0, 21, 20]]


def test_small_groups_do_not_drop_each_other():
    """Each lies inside the other, a little enlarged: OpenCV's rule drops both."""
    windows = raw([[10, 10, 20, 20], [10, 13, 17, 21]])
    assert len(set(naive.group_labels(windows.boxes.tolist()))) == 2
    assert naive.group_boxes(windows.boxes.tolist(), windows.scores, 0) == []
    assert len(group_in_bounds(windows, 0, weighted=False)) == 2


def test_a_group_inside_a_larger_one_goes():
    windows = raw([[10, 10, 60, 60], [10, 10, 60, 60], [20, 20, 20, 20]])
    assert group_in_bounds(windows, 0, weighted=False).boxes.tolist() == [[10, 10, 60, 60]]
