"""Classes of similar boxes against plain loops."""

import naive
import numpy as np
from hypothesis import given, settings, strategies as st

from vjcascade.kernels.group import class_labels, lies_inside

boxes_of = st.lists(
    st.tuples(st.integers(-5, 60), st.integers(-5, 60), st.integers(1, 40), st.integers(1, 40)), max_size=25
)


def labels_of(boxes):
    return class_labels(boxes, np.argsort(boxes[:, 0], kind="stable"), 0.2)


@settings(max_examples=150, deadline=None)
@given(boxes=boxes_of)
def test_labels_equal_plain_loops(boxes):
    boxes = np.array(boxes, np.int32).reshape(-1, 4)
    labels, n_classes = labels_of(boxes)
    expected = naive.group_labels(boxes)
    assert labels.tolist() == expected
    assert n_classes == max(expected, default=-1) + 1


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
        inside = np.empty(2, np.bool_)
        lies_inside(boxes, np.array(counts, np.int32), 0.2, inside)
        assert inside.tolist() == expected
