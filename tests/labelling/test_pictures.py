"""Copies of photos and cuts out of them: how large they are, which are kept, and that they are made ahead."""

from __future__ import annotations

import io

import numpy as np
import pytest
from label_server import eventually
from PIL import Image

from vjcascade.errors import ImageError, SettingsError
from vjcascade.imaging import write_image
from vjcascade.labelling import pictures as pictures_module
from vjcascade.labelling.photos import Photos
from vjcascade.labelling.pictures import CUT_SIDE, Copy, Cut, Pictures, copies_inside
from vjcascade.types import Size


@pytest.fixture
def made(monkeypatch):
    """Return the list of files that are decoded."""
    files = []
    real = pictures_module.read_reduced

    def read(path, side):
        files.append(path.name)
        return real(path, side)

    monkeypatch.setattr(pictures_module, "read_reduced", read)
    return files


@pytest.fixture
def folder(tmp_path):
    """Return a folder of a wide and a high photo, and a file that is none."""
    write_image(
        tmp_path / "wide.jpg", np.repeat(np.arange(200, dtype=np.uint8), 4)[np.newaxis].repeat(400, 0)
    )
    write_image(tmp_path / "high.png", np.zeros((700, 350), np.uint8))
    (tmp_path / "odd.png").write_bytes(b"no picture")
    return Photos.below(tmp_path)


@pytest.fixture
def pictures(folder):
    kept = Pictures(folder)
    yield kept
    kept.close()


def size_of(data):
    return Image.open(io.BytesIO(data)).size


def test_copies_are_as_large_as_needed_and_no_larger(pictures, folder):
    assert size_of(pictures.get(Copy.of_side("wide.jpg", 300))) == (400, 200)
    assert size_of(pictures.get(Copy.of_side("wide.jpg", 2000))) == (800, 400)
    assert [*copies_inside(folder, ["wide.jpg", "odd.png", "high.png"], Size(600, 300))] == [
        Copy("wide.jpg", 640),
        Copy("high.png", 320),
    ]


def test_cuts_show_their_part_of_the_photo(pictures):
    part, whole = pictures.cuts([Cut("wide.jpg", (400, 100, 100, 80)), Cut("wide.jpg", (0, 0, 800, 400))])
    small = np.asarray(Image.open(io.BytesIO(part)))
    assert small.shape == (80, 100)
    assert small[:, 0].mean() == pytest.approx(100, abs=3)
    assert small[:, -1].mean() == pytest.approx(125, abs=3)
    assert max(size_of(whole)) == CUT_SIDE


def test_each_photo_is_decoded_once_for_all_of_its_cuts(pictures, made):
    cuts = [
        Cut("wide.jpg", (400, 100, 100, 80)),
        Cut("high.png", (0, 0, 50, 50)),
        Cut("odd.png", (0, 0, 9, 9)),
        Cut("wide.jpg", (0, 0, 800, 400)),
    ]
    wide, _, odd, whole = first = pictures.cuts(cuts)
    assert sorted(made) == ["high.png", "wide.jpg"]
    assert odd == b""
    assert [size_of(one) for one in (wide, whole)] == [(100, 80), (200, 100)]
    assert pictures.cuts(cuts) == first
    assert sorted(made) == ["high.png", "wide.jpg"]


def test_a_picture_is_made_once_and_a_larger_copy_serves(pictures, made):
    larger = pictures.get(Copy("wide.jpg", 640))
    assert pictures.get(Copy("wide.jpg", 640)) == pictures.get(Copy("wide.jpg", 320)) == larger
    assert made == ["wide.jpg"]


def test_what_is_expected_is_made_before_it_is_asked_for(pictures, made, folder):
    pictures.expect([Copy("odd.png", 320), *copies_inside(folder, ["high.png", "wide.jpg"], Size(300, 300))])
    eventually(lambda: made[1:] == ["high.png", "wide.jpg"])
    pictures.get(Copy("wide.jpg", 320))
    pictures.get(Copy("high.png", 320))
    assert len(made) == 3


def test_no_more_is_kept_than_the_memory_holds(folder, made):
    pictures = Pictures(folder, memory=1)
    try:
        for name in ("wide.jpg", "high.png", "wide.jpg"):
            pictures.get(Copy(name, 320))
        assert made == ["wide.jpg", "high.png", "wide.jpg"]
    finally:
        pictures.close()


def test_what_cannot_be_shown_is_said(pictures):
    with pytest.raises(ImageError, match=r"odd\.png"):
        pictures.get(Copy("odd.png", 320))
    with pytest.raises(SettingsError, match="not one of the photos"):
        pictures.get(Copy("../wide.jpg", 320))
