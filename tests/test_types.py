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


def test_no_detections_have_the_usual_dtypes():
    none = Detections.empty()
    assert (none.boxes.dtype, none.scores.dtype, none.neighbors.dtype) == (np.int32, np.float64, np.int32)
    assert (none.boxes.shape, none.scores.shape, none.neighbors.shape) == ((0, 4), (0,), (0,))
