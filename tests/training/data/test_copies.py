"""Altered copies of crops: what they show, and on which side of a split they are."""

from __future__ import annotations

from pathlib import Path

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from PIL import Image

from vjcascade.formats.annotations.opencv_lists import Box
from vjcascade.imaging import sample_affine
from vjcascade.training.data import copies
from vjcascade.training.data.backgrounds import open_background_images
from vjcascade.training.data.copies import CopyRule, Region, make_copies, mirror_accuracy
from vjcascade.training.data.crops import cut_window
from vjcascade.training.data.positives import load_positives
from vjcascade.training.data.training_data import TrainingData
from vjcascade.training.settings import Mirror, TrainingSettings
from vjcascade.types import Size

WINDOW = Size(20, 12)


def noise(seed: int, shape: tuple[int, int] = (80, 120)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def one_sided(rng: np.random.Generator, n: int = 40) -> np.ndarray:
    """Crops that are lighter at the left."""
    light = np.where(np.arange(16) < 8, 170, 80)
    return rng.normal(light, 30, (n, 16, 16)).clip(0, 255).astype(np.uint8)


@settings(deadline=None)  # the first call imports SciPy
@given(
    seed=st.integers(0, 1000),
    angle=st.floats(-0.3, 0.3),
    scale=st.floats(0.5, 1.5),
    row=st.floats(-6, 20),
    column=st.floats(-6, 20),
)
def test_sampling_is_bilinear(seed: int, angle: float, scale: float, row: float, column: float) -> None:
    picture = noise(seed, (13, 17))
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found = sample_affine(picture, turn, np.array([row, column]), Size(9, 7))
    true = naive.sample_affine(picture, turn, (row, column), 9, 7)
    assert np.abs(found - np.array(true)).max() <= 0.5 + 1e-9


@pytest.mark.parametrize(
    "box", [Box(30, 20, 40, 24), Box(30, 20, 60, 36), Box(0, 0, 20, 12), Box(95, 60, 25, 15)]
)
def test_a_copy_that_lies_alike_is_the_crop(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_SHIFT", "MAX_SCALING", "MAX_TURN"):
        monkeypatch.setattr(copies, name, 0.0)
    picture = noise(1)
    region = Region.around(picture, box, WINDOW)
    crop = cut_window(picture, box, WINDOW)
    np.testing.assert_array_equal(region.altered(WINDOW, np.random.default_rng(0), is_mirrored=False), crop)
    np.testing.assert_array_equal(
        region.altered(WINDOW, np.random.default_rng(0), is_mirrored=True), crop[:, ::-1]
    )


def test_copies_show_what_is_around_the_box() -> None:
    """A white frame around a grey box comes into most copies, and never far."""
    picture = np.full((200, 200), 255, np.uint8)
    picture[60:140, 60:140] = np.kron(noise(2, (20, 20)) // 2, np.ones((4, 4), np.uint8))
    region = Region.around(picture, Box(60, 60, 80, 80), Size(20, 20))
    windows, _ = make_copies([region], Size(20, 20), 50, may_mirror=False, seed=0, n_threads=1)
    edges = np.concatenate(
        [windows[:, [0, -1]].reshape(50, -1), windows[:, :, [0, -1]].reshape(50, -1)], axis=1
    )
    assert (edges.max(axis=1) > 160).mean() > 0.7
    assert windows[:, 4:-4, 4:-4].max() < 160


def test_large_crops_are_kept_small() -> None:
    region = Region.around(noise(3, (2400, 4000)), Box(0, 0, 4000, 2400), WINDOW)
    assert region.box == Size(copies.MAX_DETAIL * WINDOW.width, copies.MAX_DETAIL * WINDOW.height)
    assert region.pixels.nbytes < 2 * region.box.width * region.box.height


def test_copies_follow_from_pixels_and_seed_alone() -> None:
    regions = [Region.around(noise(seed), Box(20, 10, 60, 40), WINDOW) for seed in range(12)]
    options = {"window": WINDOW, "n_copies": 3, "may_mirror": True}
    windows, crops = make_copies(regions, **options, seed=5, n_threads=1)
    assert crops.tolist() == np.repeat(np.arange(12), 3).tolist()
    in_threads, _ = make_copies(regions, **options, seed=5, n_threads=4)
    np.testing.assert_array_equal(windows, in_threads)
    backwards, _ = make_copies(regions[::-1], **options, seed=5, n_threads=1)
    np.testing.assert_array_equal(windows.reshape(12, 3, 12, 20), backwards.reshape(12, 3, 12, 20)[::-1])
    other_seed, _ = make_copies(regions, **options, seed=6, n_threads=1)
    assert (windows != other_seed).any(axis=(1, 2)).all()
    assert len(np.unique(windows, axis=0)) == 36


def test_flat_copies_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MAX_SHIFT", 0.14)
    picture = np.full((60, 60), 90, np.uint8)
    picture[20, 20:40] = 255  # a line at the upper edge of the box: gone where a copy is shifted down
    region = Region.around(picture, Box(20, 20, 20, 20), Size(20, 20))
    windows, crops = make_copies([region], Size(20, 20), 60, may_mirror=False, seed=0, n_threads=1)
    assert 0 < len(windows) < 60
    assert len(crops) == len(windows)


def test_who_looks_alike_in_the_mirror(rng: np.random.Generator) -> None:
    crops = one_sided(rng)
    assert mirror_accuracy(crops) == 1
    both_ways = np.concatenate([crops[:20], crops[20:, :, ::-1]])
    assert 0.2 < mirror_accuracy(both_ways) < copies.MOST_ALIKE
    assert mirror_accuracy(crops[:1]) == 0  # nothing to tell it by


@pytest.mark.parametrize(
    ("mirror", "facing", "is_mirrored"),
    [
        (Mirror.AUTO, "one", False),
        (Mirror.AUTO, "both", True),
        (Mirror.YES, "one", True),
        (Mirror.NO, "both", False),
    ],
)
def test_mirror(rng: np.random.Generator, mirror: Mirror, facing: str, is_mirrored: bool) -> None:
    crops = one_sided(rng)
    if facing == "both":
        crops[20:] = crops[20:, :, ::-1]
    positives = load_positives(crops, Size(16, 16), copies=CopyRule(2, mirror))
    halves = positives.windows.astype(int)
    is_light_left = halves[:, :, :8].mean(axis=(1, 2)) > halves[:, :, 8:].mean(axis=(1, 2))
    of_copies = is_light_left[40:].reshape(40, 2)
    assert (of_copies[:, 0] == (is_light_left[:40] != is_mirrored)).all()
    assert (of_copies[:, 1] == is_light_left[:40]).all()
    (note,) = [note for note in positives.report.notes if note.startswith("augmentation")]
    assert ("every second one mirrored" in note) == is_mirrored
    assert ("can be distinguished from their mirror images" in note) == (mirror is Mirror.AUTO)


def test_copies_stay_with_their_crops(tmp_path: Path, rng: np.random.Generator) -> None:
    crops = one_sided(rng, 120)
    positives = load_positives(crops, Size(16, 16), copies=CopyRule(4))
    assert (len(positives), positives.n_crops, positives.n_copies) == (600, 120, 480)
    np.testing.assert_array_equal(positives.groups[120:], np.repeat(np.arange(120), 4))
    Image.fromarray(noise(9)).save(tmp_path / "photo.png")
    photos = open_background_images(tmp_path, Size(16, 16))
    data = TrainingData.split(positives, photos, TrainingSettings())
    group_of = {
        window.tobytes(): group for window, group in zip(positives.windows, positives.groups, strict=True)
    }
    trained_on = {group_of[window.tobytes()] for window in data.positives}
    held_out = {group_of[window.tobytes()] for window in data.held_out_positives}
    assert (len(trained_on), len(held_out)) == (96, 24)
    assert not trained_on & held_out
    assert data.note(TrainingSettings()) == (
        "training on 480 positives (96 crops and their copies) and 1,000 negatives per stage; "
        "held out for validation: 120 positives (24 crops and their copies) and 0 photos; "
        "a stage may miss one of these positives, as they are too few for a hit rate of 0.995"
    )


def test_where_there_is_no_room_copies_go_first(tmp_path: Path, rng: np.random.Generator) -> None:
    positives = load_positives(one_sided(rng, 120), Size(16, 16), copies=CopyRule(4))
    Image.fromarray(noise(9)).save(tmp_path / "photo.png")
    photos = open_background_images(tmp_path, Size(16, 16))
    data = TrainingData.split(positives, photos, TrainingSettings(max_samples=300))
    crops = {window.tobytes() for window in positives.windows[:120]}
    assert len(data.positives) == 150
    assert sum(window.tobytes() in crops for window in data.positives) == 96
