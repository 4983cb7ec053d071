"""From boxes to windows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vjcascade.cascade import Cascade
from vjcascade.detection import evaluate_windows
from vjcascade.formats.annotations.opencv_lists import Box
from vjcascade.training.data.crops import clip_box, cut_window, grow_to_shape, growth, has_contrast
from vjcascade.types import Size

SIDES = st.integers(1, 200)
SIZES = st.builds(Size, SIDES, SIDES)


@pytest.mark.parametrize(
    ("box", "inside"),
    [
        (Box(10, 10, 24, 24), Box(10, 10, 24, 24)),
        (Box(90, 70, 24, 24), Box(90, 70, 10, 10)),
        (Box(-5, -6, 24, 24), Box(0, 0, 19, 18)),
        (Box(-10, -10, 500, 500), Box(0, 0, 100, 80)),
    ],
)
def test_clip(box: Box, inside: Box) -> None:
    assert clip_box(box, Size(100, 80)) == inside


def test_clip_outside_is_empty() -> None:
    outside = clip_box(Box(200, 200, 24, 24), Size(100, 80))
    assert (outside.width, outside.height) == (0, 0)


@given(size=SIZES, window=SIZES)
def test_growing_never_crops_and_reaches_the_shape(size: Size, window: Size) -> None:
    box = Box(7, -3, *size)
    grown = grow_to_shape(box, window)
    assert grown.x <= box.x
    assert grown.y <= box.y
    assert grown.x + grown.width >= box.x + box.width
    assert grown.y + grown.height >= box.y + box.height
    assert (grown.width == box.width) or (grown.height == box.height)
    assert abs(2 * (grown.x - box.x) + grown.width - box.width) <= 1  # same centre
    too_narrow = window.width - grown.width * window.height / grown.height  # in window pixels
    too_low = window.height - grown.height * window.width / grown.width
    lost_in_rounding = abs(grown.width - grown.height * window.width / window.height) <= 0.5 or (
        abs(grown.height - grown.width * window.height / window.width) <= 0.5
    )
    assert lost_in_rounding or max(too_narrow, too_low) <= 0.5
    assert growth(box, window) == grown.width * grown.height / (box.width * box.height)


def test_beyond_the_border_edge_pixels_are_repeated() -> None:
    gray = np.tile(np.arange(0, 200, 20, dtype=np.uint8), (20, 1))  # 10 wide, 20 high
    window = cut_window(gray, Box(0, 0, 10, 20), Size(20, 20))
    np.testing.assert_array_equal(window, np.pad(gray, ((0, 0), (5, 5)), mode="edge"))


def test_inside_a_photo_its_own_pixels_are_taken(rng: np.random.Generator) -> None:
    photo = rng.integers(0, 256, (60, 80), np.uint8)
    window = cut_window(photo, Box(30, 20, 10, 20), Size(20, 20))
    np.testing.assert_array_equal(window, photo[20:40, 25:45])


@pytest.mark.parametrize(("amplitude", "seen"), [(0, False), (10, False), (11, True)])
def test_contrast_floor_ignores_the_border(amplitude: int, seen: bool) -> None:
    checkerboard = np.indices((24, 24)).sum(axis=0) % 2
    window = (128 + amplitude * (2 * checkerboard - 1)).astype(np.uint8)
    window[0] = window[:, -1] = 255
    assert has_contrast(window) is seen


def test_contrast_is_that_of_the_detector(rng: np.random.Generator) -> None:
    """Windows around the floor: what is taken for training is what an empty cascade accepts."""
    spread = rng.uniform(8, 12, (400, 1, 1))
    windows = rng.normal(128, spread, (400, 15, 20)).clip(0, 255).astype(np.uint8)
    passed, _ = evaluate_windows(Cascade(Size(20, 15)), windows)
    seen = [has_contrast(window) for window in windows]
    np.testing.assert_array_equal(seen, passed == 0)
    assert 0 < sum(seen) < 400
