"""What copies are made of: crops, cutouts, and which of them."""

from __future__ import annotations

import numpy as np
import pytest
from easy_pictures import easy_positive, save
from PIL import Image

from vjcascade.errors import SettingsError, SourceError
from vjcascade.synthesis import read_originals
from vjcascade.types import Size


def write_cutout(path, gray, opacity):
    Image.fromarray(np.stack([gray, opacity], axis=-1), "LA").save(path)


@pytest.fixture
def disc(tmp_path):
    """Return the file of a disc of 60 pixels in an otherwise transparent picture."""
    y, x = np.mgrid[:80, :100] - np.array([39.5, 39.5])[:, np.newaxis, np.newaxis]
    opacity = np.where(y**2 + x**2 < 30**2, 255, 0).astype(np.uint8)
    gray = np.where(opacity > 0, 200, 13).astype(np.uint8)
    write_cutout(tmp_path / "disc.png", gray, opacity)
    return tmp_path / "disc.png"


def test_a_cutout_is_what_is_solid(disc):
    sources = read_originals(disc, Size(30, 20))
    (one,) = sources.originals
    assert one.is_cutout
    assert one.pixels.shape == one.opacity.shape == (60, 60)
    assert (one.pixels == 200).all()  # no colour of what is transparent at the edge
    assert one.box == Size(90, 60)
    assert np.ptp(one.outline, axis=0).tolist() == [60, 60]
    assert not sources.may_mirror


def test_a_grey_level_is_transparent(tmp_path):
    picture = np.full((50, 50), 240, np.uint8)
    picture[10:40, 15:35] = 100
    picture[10, 15] = 237
    Image.fromarray(picture).save(tmp_path / "a.png")
    (one,) = read_originals(tmp_path / "a.png", transparent=240, tolerance=5).originals
    assert one.pixels.shape == (30, 20)
    assert one.opacity[0, 0] == 0
    assert (one.opacity == 255).sum() == 599


def test_a_picture_without_transparency_is_a_crop_or_an_object_from_edge_to_edge(tmp_path, rng):
    Image.fromarray(easy_positive(rng)).save(tmp_path / "a.png")
    crop, sign = (read_originals(tmp_path / "a.png", as_cutout=flag).originals[0] for flag in (False, True))
    assert (crop.is_cutout, sign.is_cutout) == (False, True)
    assert (crop.name, sign.name) == ("a.png", "a.png")
    assert (sign.opacity == 255).all()
    assert crop.opacity[0, 0] < 255


def test_crops_keep_groups_and_names(tmp_path, rng):
    save(tmp_path / "pos", [np.tile(easy_positive(rng), (1, 2)) for _ in range(3)])
    (tmp_path / "info.dat").write_text("".join(f"pos/{i:03}.png 2 0 0 24 24 24 0 24 24\n" for i in range(3)))
    sources = read_originals(tmp_path / "info.dat", Size(24, 24), limit=5)
    # The two halves show the same, and count once.
    assert [one.group for one in sources.originals] == [0, 1, 2]
    assert sources.originals[0].name == "pos/000.png 0 0 24 24"


def test_crops_decide_whether_they_may_be_mirrored(tmp_path, rng):
    save(tmp_path / "one-way", [easy_positive(rng) for _ in range(20)])
    save(tmp_path / "both", [easy_positive(rng)[:, :: 1 - 2 * (i % 2)] for i in range(40)])
    save(tmp_path / "few", [easy_positive(rng)[:, :: 1 - 2 * (i % 2)] for i in range(4)])
    may = {name: read_originals(tmp_path / name).may_mirror for name in ("one-way", "both", "few")}
    assert may == {"one-way": False, "both": True, "few": False}
    assert read_originals(tmp_path / "few", mirror="yes").may_mirror


def test_what_cannot_be_used_is_refused(tmp_path, disc, rng):
    save(tmp_path / "pos", [easy_positive(rng)])
    with pytest.raises(SettingsError, match="is not one"):
        read_originals(tmp_path / "pos", transparent=3)
    with pytest.raises(SettingsError, match="give that level, too"):
        read_originals(disc, tolerance=3)
    with pytest.raises(SourceError, match="the whole picture is transparent"):
        read_originals(disc, transparent=200)
    with pytest.raises(SourceError, match="aspect ratio too far"):
        read_originals(disc, Size(200, 10))
    Image.fromarray(np.full((30, 30), 7, np.uint8)).save(tmp_path / "flat.png")
    with pytest.raises(SourceError, match=r"flat\.png: too little contrast"):
        read_originals(tmp_path / "flat.png")
    Image.fromarray(np.full((900, 3), 7, np.uint8)).save(tmp_path / "thin.png")
    with pytest.raises(SourceError, match=r"thin\.png: the ratio of width to height"):
        read_originals(tmp_path / "thin.png")
