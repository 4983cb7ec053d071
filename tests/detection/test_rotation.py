"""Turning pictures, and mapping boxes back."""

import builders
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.detection.rotation import Rotation
from vjcascade.types import Size


def blob(height, width, x, y):
    rows, columns = np.indices((height, width)) + 0.5
    return (255 * np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / 18)).astype(np.uint8)


def centre_of_mass(picture):
    rows, columns = np.indices(picture.shape) + 0.5
    weights = picture.astype(float)
    return np.array([(columns * weights).sum(), (rows * weights).sum()]) / weights.sum()


@pytest.mark.parametrize("angle", [10, 30, -30, 45, 90, 135, -170, 200.5])
def test_boxes_go_back_to_where_their_pixels_came_from(angle):
    rotation = Rotation(Size(80, 60), angle)
    turned = rotation.upright(blob(60, 80, 25, 40))
    assert turned.shape == rotation.canvas[::-1]
    x, y = centre_of_mass(turned)
    box = np.array([[round(x - 4), round(y - 4), 8, 8]], np.int32)
    back = rotation.to_picture(box)
    assert np.abs(back[0, :2] + back[0, 2:] / 2 - [25, 40]).max() <= 1.5
    assert back[0, 2:].tolist() == [8, 8]


def test_positive_angles_are_counter_clockwise():
    """What was turned counter-clockwise by numpy stands upright again."""
    picture = builders.picture("camera.png")[:50, :70]
    for quarters in range(4):
        rotation = Rotation(Size(*np.rot90(picture, quarters).shape[::-1]), 90 * quarters)
        upright = rotation.upright(np.ascontiguousarray(np.rot90(picture, quarters)))
        np.testing.assert_array_equal(upright, picture)


def test_nothing_to_turn():
    picture = np.zeros((3, 4), np.uint8)
    for angle in (0, 360, -720.0):
        assert Rotation(Size(4, 3), angle).upright(picture) is picture


def test_edges_are_repeated():
    assert (Rotation(Size(30, 20), 40).upright(np.full((20, 30), 77, np.uint8)) == 77).all()


@pytest.mark.parametrize(
    ("angle", "sideways"), [(0, False), (44, False), (46, True), (-90, True), (170, False)]
)
def test_boxes_lie_down_with_the_picture(angle, sideways):
    rotation = Rotation(Size(100, 100), angle)
    sides = rotation.to_picture(np.array([[60, 60, 20, 10]], np.int32))[0, 2:].tolist()
    assert sides == ([10, 20] if sideways else [20, 10])


@settings(max_examples=100, deadline=None)
@given(width=st.integers(1, 300), height=st.integers(1, 300), angle=st.floats(-1000, 1000))
def test_the_canvas_holds_the_whole_picture(width, height, angle):
    rotation = Rotation(Size(width, height), angle)
    way_back = np.linalg.inv(rotation._matrix())
    corners = np.array([[x, y] for x in (-width / 2, width / 2) for y in (-height / 2, height / 2)])
    assert (np.abs(corners @ way_back.T) <= np.array(rotation.canvas) / 2 + 1e-6).all()
