"""`groupRectangles`: forms of its arguments, and what it refuses."""

import numpy as np
import pytest

import vjcascade.compat as cv2

BOXES = [[10, 10, 24, 24], [12, 10, 24, 24], [70, 10, 24, 24], [11, 11, 24, 24]]
FORMS = [
    BOXES,
    tuple(map(tuple, BOXES)),
    np.array(BOXES),
    np.array(BOXES, np.uint8),
    [np.array(row) for row in BOXES],
]


@pytest.mark.parametrize("boxes", FORMS, ids=lambda form: type(form).__name__)
def test_forms(boxes):
    groups, weights = cv2.groupRectangles(rectList=boxes, groupThreshold=1, eps=0.2)
    assert groups.tolist() == [[11, 10, 24, 24]]
    assert weights.tolist() == [3]
    assert groups.dtype == weights.dtype == np.int32


def test_without_a_threshold_the_boxes_come_back_as_a_copy():
    boxes = np.array(BOXES, np.int32)
    for threshold in (0, -1, None):
        groups, weights = cv2.groupRectangles(boxes, threshold)
        assert groups.tolist() == BOXES
        assert weights.tolist() == [1, 1, 1, 1]
        assert not np.shares_memory(groups, boxes)


@pytest.mark.parametrize("boxes", [[], (), None, np.empty((0, 4), np.int32)])
def test_no_boxes(boxes):
    assert cv2.groupRectangles(boxes, 1) == ((), ())


def test_no_class_that_is_large_enough():
    assert cv2.groupRectangles(BOXES, 9) == ((), ())


@pytest.mark.parametrize(
    "boxes",
    [[[1.5, 2, 3, 4]], [[1, 2, 3]], [[1, 2, 3, 4], [1, 2]], [1, 2, 3, 4], [[2**31, 0, 1, 1]], "boxes"],
)
def test_what_are_no_boxes(boxes):
    with pytest.raises(TypeError, match="rows of four whole numbers") as caught:
        cv2.groupRectangles(boxes, 1)
    assert isinstance(caught.value, cv2.error)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"groupThreshold": 1.0}, "groupThreshold 1.0"), ({"groupThreshold": 1, "eps": np.nan}, "eps is nan")],
)
def test_other_arguments(options, words):
    with pytest.raises(TypeError, match=words):
        cv2.groupRectangles(BOXES, **options)


def test_means_stay_within_32_bits():
    """Rounding a mean to float32 takes it beyond; the processor would turn it into another sign."""
    boxes, weights = cv2.groupRectangles([[2**31 - 1] * 4] * 5, 1)
    assert boxes.tolist() == [[2**31 - 1] * 4]
    assert weights.tolist() == [5]
