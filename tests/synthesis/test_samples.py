"""Altered samples: where the object lies, what light does, and that nothing depends on threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from easy_pictures import contents, easy_positive, save, soft_noise
from PIL import Image

from vjcascade.errors import SettingsError
from vjcascade.synthesis import Alterations, SampleMaker, read_originals, samples, write_samples
from vjcascade.training.data.backgrounds import open_background_images
from vjcascade.training.data.positives import load_positives
from vjcascade.types import Size

STILL = Alterations(strength=0)


@pytest.fixture
def crops(tmp_path, rng):
    """Return originals: boxes in photos, so that there is something around the crops."""
    save(tmp_path / "photos", [soft_noise(rng) for _ in range(6)])
    (tmp_path / "info.dat").write_text("".join(f"photos/{i:03}.png 1 {20 + i} 30 48 48\n" for i in range(6)))
    return read_originals(tmp_path / "info.dat", Size(24, 24))


@pytest.fixture
def square(tmp_path):
    """Return a white square as a cutout."""
    opacity = np.zeros((48, 48), np.uint8)
    opacity[9:39, 9:39] = 255
    Image.fromarray(np.stack([np.full_like(opacity, 255), opacity], axis=-1), "LA").save(tmp_path / "s.png")
    return read_originals(tmp_path / "s.png", Size(24, 24))


def test_unaltered_samples_are_the_crops(crops):
    maker = SampleMaker(crops, STILL)
    for index, original in enumerate(crops.originals):
        made = maker.sample(index, 0)
        assert np.abs(made.astype(int) - original.window).max() <= 2
        tile, plain = maker.tile(index, 0), maker.original_tile(index)
        assert tile.shape == plain.shape == (32, 32)
        assert np.count_nonzero(tile != plain) == np.count_nonzero(made != original.window)
        assert (maker.inner(plain) == original.window).all()


@pytest.mark.parametrize(("value", "axis", "sign"), [((0.1, 0), 1, 1), ((0, -0.1), 0, -1)])
def test_a_shift_moves_the_object(square, value, axis, sign, monkeypatch):
    still = STILL.drawn(np.random.default_rng(0))
    monkeypatch.setattr(Alterations, "drawn", lambda *_, **__: replace(still, shift=np.array(value)))
    tile = SampleMaker(square, STILL, photos=_black()).tile(0, 0)
    where = [np.average(np.arange(32), weights=tile.sum(axis=1 - along)) - 15.5 for along in (0, 1)]
    assert where[axis] == pytest.approx(sign * 0.1 * 24, abs=0.1)
    assert where[1 - axis] == pytest.approx(0, abs=0.1)


def _black():
    return open_background_images([np.zeros((200, 200), np.uint8)], Size(24, 24))


def test_a_cutout_fills_the_window_and_shows_the_photo_around(square):
    photo = open_background_images([np.full((90, 90), 77, np.uint8)], Size(24, 24))
    wide = replace(square, window=Size(48, 24), originals=(replace(square.originals[0], box=Size(60, 30)),))
    tile = SampleMaker(wide, STILL, photos=photo).tile(0, 0)
    inner = np.zeros((32, 64), bool)
    inner[5:27, 21:43] = True
    around = np.ones((32, 64), bool)
    around[3:29, 19:45] = False
    assert (tile[inner] == 255).all()
    assert (tile[around] == 77).all()
    assert ((tile[4, 21:43] > 220) & (tile[3, 21:43] < 110)).all()


def test_without_photos_there_is_another_grey_behind_each(square):
    maker = SampleMaker(square, Alterations(strength=0, scaling=0.5))
    corners = {int(maker.tile(0, number)[0, 0]) for number in range(10)}
    assert len(corners) > 5


@pytest.mark.parametrize(
    ("ranges", "effect"),
    [
        ({"brightness": 60}, lambda a, b: abs(a.mean() - b.mean()) > 3),
        ({"contrast": 2}, lambda a, b: abs(np.log(a.std() / b.std())) > 0.1),
        ({"gamma": 2}, lambda a, b: abs(a.mean() - b.mean()) > 3),
        ({"light": 200}, lambda a, b: np.ptp((a - b).mean(axis=0)) > 10 or np.ptp((a - b).mean(axis=1)) > 10),
        ({"blur": 6}, lambda a, b: a.std() < 0.95 * b.std()),
        ({"noise": 40}, lambda a, b: (a - b).std() > 3),
        ({"jpeg": 1}, lambda a, b: (a - b).std() > 0.5),
        ({"occlusion": 0.5}, lambda a, b: np.mean(a != b) > 0.01),
        ({"inverted": "yes"}, lambda a, b: np.corrcoef(a.ravel(), b.ravel())[0, 1] < -0.9),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_every_range_shows(crops, ranges, effect):
    plain, altered = SampleMaker(crops, STILL), SampleMaker(crops, replace(STILL, **ranges))
    shown = [
        effect(altered.sample(0, number).astype(float), plain.sample(0, number).astype(float))
        for number in range(12)
    ]
    assert sum(shown) >= 7


def test_what_is_mirrored(crops):
    maker = SampleMaker(replace(crops, may_mirror=True), STILL)
    window = crops.originals[0].window.astype(int)
    flipped = [
        min(np.abs(made - window).max(), 99) > np.abs(made[:, ::-1] - window).max()
        for made in (maker.sample(0, number).astype(int) for number in range(40))
    ]
    assert 8 < sum(flipped) < 32


def test_a_copy_depends_on_its_original_its_number_and_the_seed_alone(crops):
    maker = SampleMaker(crops, Alterations(), seed=4)
    alone = SampleMaker(replace(crops, originals=crops.originals[3:4]), Alterations(), seed=4)
    other = SampleMaker(crops, Alterations(), seed=5)
    assert (maker.tile(3, 7) == alone.tile(0, 7)).all()
    assert (maker.tile(3, 7) != other.tile(3, 7)).any()
    assert (maker.tile(3, 7) != maker.tile(3, 8)).any()


def test_a_folder_does_not_depend_on_threads_and_reads_as_it_was_made(crops, tmp_path):
    maker = SampleMaker(crops, Alterations(), photos=None)
    for n_threads in (1, 3):
        n = write_samples(tmp_path / str(n_threads), maker, 50, n_threads=n_threads)
        assert n == 56
    assert contents(tmp_path / "1") == contents(tmp_path / "3")
    read = load_positives(tmp_path / "1" / "info.dat", Size(24, 24))
    made = samples.sample_windows(maker, 50)
    assert {window.tobytes() for window in read.windows} == {window.tobytes() for window in made}
    assert len(set(read.groups.tolist())) == 6


def test_crops_of_one_photo_share_a_sheet(tmp_path, rng):
    save(tmp_path / "a b", [soft_noise(rng) for _ in range(2)])
    (tmp_path / "info.dat").write_text("".join(f"a b/{i:03}.png 2 5 5 40 40 60 60 40 40\n" for i in range(2)))
    maker = SampleMaker(read_originals(tmp_path / "info.dat"), Alterations())
    write_samples(tmp_path / "out", maker, 20)
    lines = (tmp_path / "out" / "info.dat").read_text().splitlines()
    assert [line.split()[:2] for line in lines] == [["00000-000.png", "12"], ["00001-001.png", "12"]]


def test_flat_copies_are_left_out(square):
    flat = open_background_images([np.full((90, 90), 255, np.uint8)], Size(24, 24))
    assert SampleMaker(square, STILL, photos=flat).sample(0, 0) is None
    assert len(samples.sample_windows(SampleMaker(square, STILL, photos=flat), 5)) == 0


def test_more_than_a_sheet_holds_is_refused(square, tmp_path):
    with pytest.raises(SettingsError, match="do not fit on one sheet"):
        write_samples(tmp_path / "out", SampleMaker(square, STILL), 10**6)
    assert not (tmp_path / "out").exists()


def test_an_error_leaves_no_folder(crops, tmp_path):
    before = contents(tmp_path)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_samples(tmp_path / "new" / "out", SampleMaker(crops, Alterations()), 5, progress=stop)
    assert contents(tmp_path) == before
    assert not (tmp_path / "new").exists()


def _easy(tmp_path, rng):
    save(tmp_path / "pos", [easy_positive(rng) for _ in range(3)])
    return read_originals(tmp_path / "pos")


def test_each_original_has_as_many_copies(tmp_path, rng):
    made = [index for index, _ in samples.made_samples(SampleMaker(_easy(tmp_path, rng), Alterations()), 11)]
    assert np.bincount(made).tolist() == [4, 4, 3]
