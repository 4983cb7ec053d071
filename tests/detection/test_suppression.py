"""Laws of non-maximum suppression."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.detection import grouping
from vjcascade.detection.grouping import best_first, overlaps, suppress_overlaps
from vjcascade.errors import SettingsError
from vjcascade.types import Detections

rows_of = st.lists(
    st.tuples(
        st.integers(0, 30), st.integers(0, 30), st.integers(1, 20), st.integers(1, 20), st.integers(0, 5)
    ),
    max_size=25,
)
shares = st.floats(0, 1)


def windows(rows):
    rows = np.array(rows, np.int64).reshape(-1, 5)
    return Detections(rows[:, :4].astype(np.int32), rows[:, 4].astype(float), np.ones(len(rows), np.int32))


def share(a, b):
    """Count pixels."""
    first = {(x, y) for x in range(a[0], a[0] + a[2]) for y in range(a[1], a[1] + a[3])}
    second = {(x, y) for x in range(b[0], b[0] + b[2]) for y in range(b[1], b[1] + b[3])}
    return len(first & second) / len(first | second)


@settings(max_examples=100, deadline=None)
@given(rows=rows_of, max_overlap=shares)
def test_equals_plain_loops(rows, max_overlap):
    order = sorted(range(len(rows)), key=lambda i: (-rows[i][4], i))
    expected = []
    while order:
        best = order.pop(0)
        left = [i for i in order if share(rows[best], rows[i]) <= max_overlap]
        taken = [best, *(i for i in order if i not in left)]
        ranking = sum(max(rows[i][4], 0.0) ** 0.5 for i in taken)
        expected.append((rows[best], len(taken), ranking))
        order = left
    found = suppress_overlaps(windows(rows), max_overlap)
    assert found.boxes.tolist() == [list(row[:4]) for row, _, _ in expected]
    assert found.scores.tolist() == [row[4] for row, _, _ in expected]
    assert found.neighbors.tolist() == [count for _, count, _ in expected]
    assert found.ranking_scores.tolist() == pytest.approx([ranking for _, _, ranking in expected])


@settings(max_examples=50, deadline=None)
@given(rows=rows_of, max_overlap=shares)
def test_what_stays_stays_again(rows, max_overlap):
    once = suppress_overlaps(windows(rows), max_overlap)
    twice = suppress_overlaps(once, max_overlap)
    assert once.neighbors.sum() == len(rows)
    np.testing.assert_array_equal(twice.boxes, once.boxes)
    np.testing.assert_array_equal(twice.neighbors, once.neighbors)


@settings(max_examples=50, deadline=None)
@given(rows=rows_of, max_overlap=shares, least=st.integers(0, 3))
def test_a_minimum_drops_those_that_few_speak_for(rows, max_overlap, least):
    every = suppress_overlaps(windows(rows), max_overlap)
    found = suppress_overlaps(windows(rows), max_overlap, least)
    np.testing.assert_array_equal(found.boxes, every.boxes[every.neighbors > least])


def test_stages_come_before_scores():
    raw = windows([(0, 0, 10, 10, 5), (1, 0, 10, 10, 1)])
    raw.stages[:] = [2, 3]
    raw.angles[:] = [0, 30]
    found = suppress_overlaps(raw, 0.3)
    assert (found.boxes.tolist(), found.stages.tolist(), found.angles.tolist()) == (
        [[1, 0, 10, 10]],
        [3],
        [30.0],
    )


@pytest.mark.parametrize(("max_overlap", "n"), [(1.0, 3), (0.99, 1)])
def test_copies_stay_only_where_everything_does(max_overlap, n):
    assert len(suppress_overlaps(windows([(3, 4, 5, 6, 1)] * 3), max_overlap)) == n


def test_large_boxes_do_not_overflow():
    huge = np.array([[0, 0, 100_000, 100_000], [0, 0, 100_000, 50_000]], np.int32)
    assert overlaps(huge[0], huge).tolist() == [1.0, 0.5]


@pytest.mark.parametrize("max_overlap", [0.0, 0.3, 0.9])
def test_boxes_far_apart_and_of_very_different_sizes(rng, max_overlap):
    """Those that a box may take are looked up among boxes near it, of all sizes: none is missed."""
    sides = rng.choice([10, 13, 40, 300], 400)
    rows = np.column_stack([rng.integers(-200, 600, (400, 2)), sides, sides, rng.integers(0, 1000, 400)])
    raw = windows(rows)
    left, expected = best_first(raw), []
    while len(left):
        taken = overlaps(raw.boxes[left[0]], raw.boxes[left]) > max_overlap
        expected.append((raw.boxes[left[0]].tolist(), int(taken.sum())))
        left = left[~taken]
    found = suppress_overlaps(raw, max_overlap)
    assert list(zip(found.boxes.tolist(), found.neighbors.tolist(), strict=True)) == expected
    assert found.neighbors.dtype == np.int32


def test_an_interrupt_is_heard(monkeypatch):
    monkeypatch.setattr(grouping, "WINDOWS_AT_ONCE", 100)
    told = []
    raw = windows([(30 * i, 0, 20, 20, 1) for i in range(250)])
    assert len(suppress_overlaps(raw, 0.3, progress=lambda *numbers: told.append(numbers))) == 250
    assert told == [(0, 250), (100, 250), (200, 250)]


@pytest.mark.parametrize("max_overlap", [-0.1, 1.5, float("nan")])
def test_a_share_of_overlap_lies_between_0_and_1(max_overlap):
    with pytest.raises(SettingsError, match="max_overlap"):
        suppress_overlaps(windows([(0, 0, 5, 5, 1)]), max_overlap)


def test_nothing_to_suppress():
    assert len(suppress_overlaps(Detections.empty(), 0.3)) == 0
