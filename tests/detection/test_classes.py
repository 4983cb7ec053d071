"""Classes of similar boxes, and those inside others, against plain loops."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.detection import grouping
from vjcascade.detection.grouping import class_labels, inside_others

boxes_of = st.lists(
    st.tuples(st.integers(-5, 60), st.integers(-5, 60), st.integers(1, 40), st.integers(1, 40)), max_size=25
)
odd_boxes_of = st.lists(
    st.tuples(*[st.integers(-9, 9) | st.integers(-(2**31), 2**31 - 1)] * 4)
    | st.tuples(*[st.integers(-9, 30)] * 4),
    max_size=12,
)


def labels_of(boxes):
    return class_labels(boxes, 0.2)


@settings(max_examples=150, deadline=None)
@given(boxes=boxes_of)
def test_labels_equal_plain_loops(boxes):
    boxes = np.array(boxes, np.int32).reshape(-1, 4)
    labels, n_classes = labels_of(boxes)
    expected = naive.group_labels(boxes)
    assert labels.tolist() == expected
    assert n_classes == max(expected, default=-1) + 1


@settings(max_examples=150, deadline=None)
@given(boxes=odd_boxes_of, eps=st.sampled_from([0.0, 0.2, 1.0, 30.0]))
def test_labels_of_odd_boxes_equal_plain_loops(boxes, eps):
    """Sides of 0 and below, coordinates up to the ends of int32, any tolerance."""
    boxes = np.array(boxes, np.int32).reshape(-1, 4)
    assert class_labels(boxes, eps)[0].tolist() == naive.group_labels(boxes, eps)


def test_an_interrupt_is_heard(rng, monkeypatch):
    """Kernels do not see signals: grouping millions of windows comes back to Python again and again."""
    calls = []
    join = grouping.join_similar
    monkeypatch.setattr(grouping, "join_similar", lambda *args: (calls.append(len(args[7])), join(*args)))
    monkeypatch.setattr(grouping, "CELLS_AT_ONCE", 100)
    told = []
    boxes = np.column_stack([rng.permutation(1000), *np.full((3, 1000), 1)]).astype(np.int32)
    assert class_labels(boxes, 0.2, lambda *numbers: told.append(numbers))[1] == 1000
    assert calls == [100] * 10
    assert told == [(done, 1000) for done in range(0, 1000, 100)]


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.05])
def test_labels_of_all_windows_of_a_picture_equal_plain_loops(rng, step, share):
    """Windows as a scan gives them: cells are full, neighbouring sizes are similar, too."""
    boxes = [
        (x, y, side, side)
        for side in (20, 22, 24, 41)
        for y in range(0, 30, step)
        for x in range(0, 30, step)
    ]
    boxes = np.array(boxes, np.int32)
    boxes = boxes[rng.random(len(boxes)) < share * step * step / 9]
    for ordered in (boxes, rng.permutation(boxes)):
        assert labels_of(ordered)[0].tolist() == naive.group_labels(ordered)


def test_pairs_in_a_class_already_are_not_looked_at(monkeypatch):
    """All of a million windows are similar to hundreds of others: the time is that of cells, not of pairs."""
    boxes = np.array([(x, y, 40, 40) for y in range(1000) for x in range(1000)], np.int32)
    monkeypatch.setattr(grouping, "CELLS_AT_ONCE", 2**30)
    n_cells = []
    join = grouping.join_similar
    monkeypatch.setattr(grouping, "join_similar", lambda *args: (n_cells.append(len(args[7])), join(*args)))
    assert labels_of(boxes)[1] == 1
    assert n_cells == [112**2]  # 9 x 9 pixels each


def test_a_chain_is_one_class():
    boxes = np.array([[4 * i, 0, 20, 20] for i in range(50)], np.int32)
    assert labels_of(boxes)[1] == 1
    assert labels_of(boxes[::2])[1] == 25


def test_distance_at_the_limit_is_similar():
    assert labels_of(np.array([[0, 0, 25, 25], [5, 0, 25, 25]], np.int32))[1] == 1
    assert labels_of(np.array([[0, 0, 25, 25], [6, 0, 25, 25]], np.int32))[1] == 2


def test_many_boxes(rng):
    boxes = np.empty((100_000, 4), np.int32)
    boxes[:, :2] = rng.integers(0, 1000, (100_000, 2))
    boxes[:, 2:] = 40
    labels, n_classes = labels_of(boxes)
    assert n_classes == 1
    assert not labels.any()


def test_inside_needs_more_windows():
    boxes = np.array([[10, 10, 20, 20], [0, 0, 100, 100]], np.int32)
    for counts, expected in (((4, 5), [True, False]), ((5, 5), [False, False]), ((2, 2), [True, False])):
        assert inside_others(boxes, np.array(counts, np.int32), 0.2).tolist() == expected


@settings(max_examples=150, deadline=None)
@given(boxes=boxes_of | odd_boxes_of, eps=st.sampled_from([-0.5, 0.0, 0.2, 1.0]), data=st.data())
def test_inside_equals_plain_loops(boxes, eps, data):
    counts = data.draw(st.lists(st.integers(1, 6), min_size=len(boxes), max_size=len(boxes)))
    boxes = np.array(boxes, np.int32).reshape(-1, 4)
    inside = inside_others(boxes, np.array(counts, np.int32), eps)
    assert inside.tolist() == naive.inside_others(boxes, counts, eps)


@pytest.mark.parametrize("n", [0, 1])
def test_few_boxes(n):
    boxes = np.zeros((n, 4), np.int32)
    assert class_labels(boxes, 0.2)[1] == n
    assert not inside_others(boxes, np.ones(n, np.int32), 0.2).any()
