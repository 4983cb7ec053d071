"""A check names what is spoiled, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from easy_pictures import soft_noise
from PIL import Image

from vjcascade.checking import Level, Topic, check
from vjcascade.checking.results import as_json, next_steps, text_lines, verdict
from vjcascade.errors import SourceError
from vjcascade.imaging import read_image, resize_crop
from vjcascade.types import Size

N_CROPS = 90


def object_crop(rng):
    """Return a crop of an object with a top, a left and a middle: a light disc over a dark bar, on changing ground."""
    y, x = np.indices((32, 32)) / 31
    dy, dx = rng.normal(0, 0.01, 2)
    crop = soft_noise(rng, 32).astype(float)
    crop = np.where(np.hypot(y - 0.33 - dy, x - 0.36 - dx) < 0.19, 215, crop)
    crop = np.where((np.abs(y - 0.76 - dy) < 0.09) & (np.abs(x - 0.5 - dx) < 0.33), 35, crop)
    return (crop + rng.normal(0, 10, crop.shape)).clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def good():
    """Return crops and photos of which nothing is wrong."""
    rng = np.random.default_rng(4)
    return [object_crop(rng) for _ in range(N_CROPS)], [soft_noise(rng, 100) for _ in range(50)]


def topics(result):
    """Return the names of pictures by topic, warnings only."""
    return {one.topic: [item.name for item in one.items] for one in result.warnings}


@pytest.fixture(scope="module")
def clean(good):
    return check(*good, window=(16, 16), n_threads=1)


def test_nothing_is_named_where_nothing_is_wrong(clean):
    assert set(topics(clean)) <= {Topic.FEW, Topic.REACH}  # 90 crops are few
    assert Topic.FEW in topics(clean)
    assert clean.not_done == ()
    assert clean.n_searched == 50
    assert clean.alignment.within(0.9) < 0.1


def slanted(crop):
    """Return a crop turned by 20 degrees."""
    padded = Image.fromarray(np.pad(crop, 32, mode="edge"))
    return np.asarray(padded.rotate(20, Image.Resampling.BILINEAR))[32:64, 32:64]


def spoiled_crops(crops):
    """Return crops, some of them spoiled, and which ones by the topic they belong to."""
    rng = np.random.default_rng(7)
    crops, spoiled = [crop.copy() for crop in crops], {}

    def spoil(topic, first, make):
        for i in (first, first + 1):
            crops[i] = np.ascontiguousarray(make(crops[i]))
        spoiled[topic] = [f"array {first}", f"array {first + 1}"]

    spoil(Topic.UPSIDE_DOWN, 3, lambda crop: crop[::-1, ::-1])
    spoil(Topic.TURNED, 10, np.rot90)
    spoil(Topic.SLANTED, 75, slanted)
    spoil(Topic.INVERTED, 20, lambda crop: 255 - crop)
    spoil(Topic.NOT_OBJECT, 30, lambda _: soft_noise(rng, 32))
    spoil(Topic.FLAT, 40, lambda crop: np.full_like(crop, 90 + rng.integers(9)))
    spoil(Topic.FAINT, 50, lambda crop: (128 + (crop.astype(float) - 128) / 10).astype(np.uint8))
    spoil(Topic.SHAPE, 60, lambda crop: crop[:, :16])
    spoil(Topic.SMALL, 70, lambda crop: resize_crop(crop, Size(9, 9)))
    crops[80], crops[81] = crops[0].copy(), (crops[1] * 0.9 + 9).astype(np.uint8)
    spoiled |= {Topic.COPIES: ["array 80"], Topic.NEAR_COPIES: ["array 81"]}
    return crops, spoiled


def test_what_is_spoiled_is_named(good):
    crops, spoiled = spoiled_crops(good[0])
    photos = [*good[1], crops[5].copy(), resize_crop(crops[6], Size(40, 40))]
    ground = soft_noise(np.random.default_rng(5), 100)
    ground[20:60, 30:70] = resize_crop(crops[7], Size(40, 40))
    result = check(crops, [*photos, ground], window=(16, 16), n_threads=1)
    found = topics(result)
    for topic, names in spoiled.items():
        assert set(found[topic]) >= set(names), topic
    assert found[Topic.IN_BOTH] == ["array 50", "array 51"]
    assert "array 52" in found[Topic.OBJECT_IN_NEGATIVES]
    named = {name for topic, names in found.items() if topic is not Topic.HELD_OUT for name in names}
    all_spoiled = {name for names in spoiled.values() for name in names} | {
        f"array {i}" for i in (50, 51, 52)
    }
    assert len(named - all_spoiled) <= 1  # of two copies, either may be the copy
    assert verdict(result).startswith(f"Fix {len(result.warnings)} problems before training: ")


def test_text_names_what_is_wrong_first_and_what_to_do(clean):
    lines = list(text_lines(clean))
    assert lines[0] == verdict(clean)
    assert any("window: 16x16" in line for line in lines)
    assert sum(line.startswith("   to do: ") for line in lines) == len(clean.findings)
    assert lines[-1].startswith("next: ")
    assert next_steps(clean)[-1].endswith("vjcascade train memory memory")
    assert next_steps(replace(clean, label="stop sign"))[-1].endswith(" memory memory --label 'stop sign'")


def test_json_holds_all(clean):
    values = json.loads(as_json(clean))
    assert values["format"] == 1
    assert values["positives"] | {"notes": []} == {
        "source": "memory",
        "unit": "arrays",
        "found": N_CROPS,
        "used": N_CROPS,
        "median_size": [32, 32],
        "notes": [],
    }
    assert values["window"] == [16, 16]
    assert values["warnings"] == len(clean.warnings)
    assert values["reach"]["windows"] == clean.reach.n_windows > 10_000


def test_few_crops_are_not_compared(good):
    result = check(good[0][:20], good[1], window=(16, 16), n_threads=1)
    assert "20 crops are too few" in result.not_done[0]
    assert result.n_searched == 0
    assert Topic.FEW in topics(result)


def test_nothing_usable_is_refused(good):
    with pytest.raises(SourceError, match="at least 10 are needed"):
        check([np.full((32, 32), 9, np.uint8)] * 30, good[1])


def test_files_are_named_with_what_exif_did(good, tmp_path):
    for kind, pictures in (("pos", good[0]), ("neg", good[1])):
        (tmp_path / kind).mkdir()
        for i, picture in enumerate(pictures):
            Image.fromarray(picture).save(tmp_path / kind / f"{i:03}.png")
    exif = Image.Exif()
    exif[274] = 3
    image = Image.fromarray(good[0][2])
    image.save(
        tmp_path / "pos" / "002.jpg", quality=95, exif=exif
    )  # the file says that it is upside down: it is not
    Image.fromarray(good[0][3][::-1, ::-1]).save(tmp_path / "pos" / "003.jpg", quality=95, exif=exif)
    for name in ("002.png", "003.png"):
        (tmp_path / "pos" / name).unlink()
    (tmp_path / "pos" / "cut.jpg").write_bytes((tmp_path / "pos" / "002.jpg").read_bytes()[:500])
    result = check(tmp_path / "pos", tmp_path / "neg", window=(16, 16), n_threads=1)
    found = {(one.topic, one.level): one.items for one in result.findings}
    assert [item.name for item in found[Topic.UNREADABLE, Level.WARNING]] == ["cut.jpg"]
    items = found[Topic.UPSIDE_DOWN, Level.WARNING]
    assert "002.jpg (rotated as its EXIF orientation says)" in [str(item) for item in items]
    assert "003.jpg" not in [item.name for item in items]
    assert [item.name for item in found[Topic.EXIF, Level.NOTE]] == ["002.jpg", "003.jpg"]


@pytest.mark.data
def test_clean_faces_have_no_other_warning_than_that_they_are_few(shared_data):
    faces = sorted((shared_data("faces-train") / "lfw" / "val").iterdir())[::12]
    photos = sorted(path for path in shared_data("negatives-test").rglob("*") if path.suffix == ".jpg")[::20]
    result = check([read_image(path) for path in faces], [read_image(path) for path in photos])
    assert set(topics(result)) <= {Topic.FEW, Topic.REACH}  # few of either
