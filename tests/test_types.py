from __future__ import annotations

import numpy as np
import pytest

from vjcascade.errors import SettingsError
from vjcascade.types import Detections, Size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("24x20", (24, 20)),
        ("24", (24, 24)),
        ("24X20", (24, 20)),
        (" 24 x 20 ", (24, 20)),
        ("24×20", (24, 20)),
    ],
)
def test_sizes_that_can_be_read(text, size):
    assert Size.parse(text) == size
    assert Size.parse(str(Size.parse(text))) == size


@pytest.mark.parametrize(
    "text", ["", "x", "24x", "x24", "24x20x3", "0x24", "24x0", "-24x20", "24.5x20", "24,20", "²x²", "a"]
)
def test_sizes_that_cannot_be_read(text):
    with pytest.raises(SettingsError, match="is not WIDTHxHEIGHT") as caught:
        Size.parse(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["9" * 5000, "24x" + "9" * 5000, "1000000", "24x1000000"])
def test_sizes_of_too_many_digits(text):
    with pytest.raises(SettingsError, match="is not WIDTHxHEIGHT") as caught:
        Size.parse(text)
    assert len(str(caught.value)) < 120
    assert Size.parse("999999x24") == (999999, 24)


def test_size_is_width_first():
    assert (Size(24, 20).width, Size(24, 20).height, str(Size(24, 20))) == (24, 20, "24x20")


@pytest.mark.parametrize(
    ("boxes", "scores", "neighbors"), [((2, 4), 3, 2), ((2, 4), 2, 1), ((2, 3), 2, 2), ((0,), 0, 0)]
)
def test_detections_are_parallel_arrays(boxes, scores, neighbors):
    with pytest.raises(ValueError, match="must have the shapes") as caught:
        Detections(np.zeros(boxes, np.int32), np.zeros(scores), np.zeros(neighbors, np.int32))
    assert str(boxes) in str(caught.value)


def test_length_is_the_number_of_boxes():
    assert len(Detections(np.zeros((3, 4), np.int32), np.zeros(3), np.ones(3, np.int32))) == 3


def some_detections():
    return Detections(
        np.arange(12, dtype=np.int32).reshape(3, 4),
        np.array([0.5, 1.5, 2.5]),
        np.array([1, 2, 3], np.int32),
        np.array([7, 8, 9], np.int32),
        np.array([0.0, 30.0, -30.0]),
        np.array([3.0, 4.0, 5.0]),
    )


def test_ranking_scores_are_those_of_single_windows_if_not_given():
    found = Detections(np.zeros((3, 4), np.int32), np.array([4.0, 0.25, -9.0]), np.ones(3, np.int32))
    assert (found.ranking_scores.tolist(), found.ranking_scores.dtype) == ([2.0, 0.5, 0.0], np.float64)


def test_stages_and_angles_are_zeros_if_not_given():
    found = Detections(np.zeros((2, 4), np.int32), np.zeros(2), np.ones(2, np.int32))
    assert (found.stages.tolist(), found.stages.dtype) == ([0, 0], np.int32)
    assert (found.angles.tolist(), found.angles.dtype) == ([0, 0], np.float64)


@pytest.mark.parametrize("column", ["stages", "angles", "ranking_scores"])
def test_other_columns_are_parallel_too(column):
    with pytest.raises(ValueError, match=rf"{column} \(3,\)"):
        Detections(np.zeros((2, 4), np.int32), np.zeros(2), np.ones(2, np.int32), **{column: np.zeros(3)})


@pytest.mark.parametrize("rows", [np.array([False, True, True]), np.array([2, 0, 0]), np.array([], np.intp)])
def test_rows_are_selected_in_every_column(rows):
    found = some_detections()
    part = found.select(rows)
    for column in ("boxes", "scores", "neighbors", "stages", "angles", "ranking_scores"):
        np.testing.assert_array_equal(getattr(part, column), getattr(found, column)[rows])


def test_parts_are_joined_in_order():
    found = some_detections()
    joined = Detections.joined(found.select(np.array([i])) for i in (0, 1, 2))
    for column in ("boxes", "scores", "neighbors", "stages", "angles", "ranking_scores"):
        np.testing.assert_array_equal(getattr(joined, column), getattr(found, column))
        assert getattr(joined, column).dtype == getattr(found, column).dtype


def test_no_detections_have_the_usual_dtypes():
    none = Detections.empty()
    assert (none.boxes.dtype, none.scores.dtype, none.neighbors.dtype) == (np.int32, np.float64, np.int32)
    assert (none.boxes.shape, none.scores.shape, none.neighbors.shape) == ((0, 4), (0,), (0,))
