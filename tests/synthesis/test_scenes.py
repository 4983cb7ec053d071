"""Scenes: their boxes are true, in the picture, and apart from each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from easy_pictures import contents
from hypothesis import given, settings, strategies as st
from PIL import Image

from vjcascade.evaluation import read_scenes
from vjcascade.synthesis import Alterations, SceneMaker, read_originals, write_scenes
from vjcascade.training.data.backgrounds import open_background_images
from vjcascade.types import Size

STRONG = Alterations(strength=0, turn=40, tilt_x=40, tilt_y=40)


@pytest.fixture(scope="module")
def maker(tmp_path_factory):
    """Return what pastes a white ellipse into black photos."""
    file = tmp_path_factory.mktemp("scenes") / "ellipse.png"
    y, x = np.mgrid[:60, :100] - np.array([29.5, 49.5])[:, np.newaxis, np.newaxis]
    opacity = np.where((y / 30) ** 2 + (x / 50) ** 2 < 1, 255, 0).astype(np.uint8)
    Image.fromarray(np.stack([np.full_like(opacity, 255), opacity], axis=-1), "LA").save(file)
    sources = read_originals(file, Size(25, 15))
    photos = open_background_images(
        [np.zeros((150, 200), np.uint8), np.zeros((120, 90), np.uint8)], sources.window
    )
    return SceneMaker(sources, STRONG, photos)


@settings(deadline=None, max_examples=40)
@given(number=st.integers(0, 10**6), max_objects=st.integers(1, 5))
def test_boxes_are_around_what_is_seen(maker, number, max_objects):
    scene = replace(maker, max_objects=max_objects).scene(number)
    assert 1 <= len(scene.boxes) <= max_objects
    left = scene.gray.copy()
    for x, y, width, height in scene.boxes:
        assert min(x, y) >= 0
        assert x + width <= scene.gray.shape[1]
        assert y + height <= scene.gray.shape[0]
        ys, xs = np.nonzero(left[max(y - 2, 0) : y + height + 2, max(x - 2, 0) : x + width + 2] > 127)
        seen = np.ptp(xs) + 1, np.ptp(ys) + 1
        assert seen == pytest.approx((width, height), abs=2)
        left[max(y - 2, 0) : y + height + 2, max(x - 2, 0) : x + width + 2] = 0
    assert left.max() < 127  # nothing is seen elsewhere, so no two overlap


def test_sizes_are_those_asked_for(maker):
    def widths(**changes):
        still = Alterations(strength=0)
        changed = replace(maker, alterations=still, max_objects=1, **changes)
        return [changed.scene(number).boxes[0].width for number in range(0, 80, 2)]

    assert min(widths()) >= 24
    assert 80 < max(widths()) <= 100  # no larger than the original
    assert max(widths(max_scale=2)) <= 51


def test_every_photo_is_used_before_one_is_used_again(maker):
    shapes = [maker.scene(number).gray.shape for number in range(4)]
    assert set(shapes[:2]) == {(150, 200), (120, 90)}
    assert shapes[:2] == shapes[2:]


def test_a_folder_does_not_depend_on_threads_and_is_read(maker, tmp_path):
    n_objects = [write_scenes(tmp_path / str(n), maker, 5, n_threads=n) for n in (1, 3)]
    assert contents(tmp_path / "1") == contents(tmp_path / "3")
    scenes = read_scenes(tmp_path / "1" / "info.dat")
    assert scenes.n_objects.sum() == n_objects[0] == n_objects[1]
    assert scenes.scenes[2].boxes.tolist() == [list(box) for box in maker.scene(2).boxes]
    other = replace(maker, seed=9)
    assert other.scene(0).boxes != maker.scene(0).boxes
