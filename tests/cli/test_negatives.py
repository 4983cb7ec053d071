"""``vjcascade negatives``: from false alarms on one's own pictures and videos to negatives."""

from __future__ import annotations

import re

import builders
import numpy as np
import pytest
from easy_pictures import easy_positive, save, soft_noise

from vjcascade import Cascade, Size, TrainingSettings, train
from vjcascade.imaging import read_gray, write_image
from vjcascade.training.data.backgrounds import open_background_images
from vjcascade.training.events import ProgressReporter
from vjcascade.training.mining.mining import MiningPlan, mine_negatives
from vjcascade.video import VideoSink


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return a weak model of bright left halves, with its crops and photos beside it."""
    rng = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("model")
    save(folder / "pos", [easy_positive(rng) for _ in range(60)])
    save(folder / "neg", [soft_noise(rng, 60) for _ in range(12)])
    settings = TrainingSettings(n_negatives=60, max_stages=2, max_weak=2, baseline=False)
    train(folder / "pos", folder / "neg", folder / "out", settings, window=Size(24, 24))
    return folder / "out" / "cascade.xml"


def scene(rng, at=None):
    """Return a picture of soft noise in which something at a place looks like the object."""
    picture = (soft_noise(rng, 120) // 4 + 96).astype(np.uint8)
    if at is not None:
        x, y = at
        picture[y : y + 24, x : x + 24] = easy_positive(rng)
    return picture


def kept(folder):
    return sorted(path.name for path in folder.iterdir())


def test_false_alarms_become_negatives(run, tmp_path, rng, model):
    """What the detector wrongly finds in pictures is what mining finds in the pictures that were kept."""
    save(tmp_path / "street", [scene(rng, place) for place in ((20, 30), (60, 50), None)])
    ran = run(
        "negatives", model, tmp_path / "street", "--output", tmp_path / "alarms", "--min-neighbors", "0"
    )
    assert ran.code == 0
    assert f"--continue {model} --more-negatives {tmp_path / 'alarms'}" in ran.out
    cascade = Cascade.load(model)
    photos = open_background_images(tmp_path / "alarms", cascade.window)
    plan = MiningPlan(expected_pass_rate=1.0, max_windows=10**9, seed=[0])
    options = {"n_threads": 1, "progress": ProgressReporter("")}
    mined = distinct(mine_negatives(photos, cascade, 10**6, plan, **options).windows)
    n_alarms = 0
    for picture in (tmp_path / "street").iterdir():
        gray = read_gray(picture)
        boxes = cascade.detect(gray, min_neighbors=0).boxes
        alarms = [gray[y : y + h, x : x + w] for x, y, w, h in boxes.tolist() if (w, h) == cascade.window]
        assert distinct(alarms) <= mined
        n_alarms += len(alarms)
    assert n_alarms >= 2


def distinct(windows):
    return {window.tobytes() for window in windows}


def test_photos_that_were_trained_on_are_named(run, tmp_path, rng, model):
    save(tmp_path / "street", [scene(rng, (20, 30))])
    trained_on = model.parent.parent / "neg"
    ran = run("negatives", model, trained_on, tmp_path / "street", "--output", tmp_path / "alarms")
    assert f"note: the model was trained on {trained_on}: " in ran.out
    assert f"trained on {tmp_path / 'street'}" not in ran.out


def test_the_next_model_has_learned_them(run, tmp_path, rng, model):
    save(tmp_path / "street", [scene(rng, (20 + i, 30)) for i in range(3)])
    assert (
        run("negatives", model, tmp_path / "street", "-o", tmp_path / "alarms", "--min-neighbors", "0").code
        == 0
    )
    ran = run(
        *("train", model.parents[1] / "pos", model.parents[1] / "neg", "--output", tmp_path / "new"),
        *("--continue", model, "--more-negatives", tmp_path / "alarms", "--stages", "3", "--max-weak", "2"),
        *("--negatives", "60", "--no-baseline", "--memory", "4GiB"),
    )
    assert ran.code == 0, ran.err
    assert "continuing from" in ran.out
    alarms = re.search(r"additional photos, now trained on, that pass: (\d+) before, (\d+) now", ran.out)
    assert int(alarms[1]) > int(alarms[2])
    assert f"To go back: `vjcascade convert MODEL OLD.xml --stages {Cascade.load(model).n_stages}`" in ran.out
    new = Cascade.load(tmp_path / "new" / "cascade.xml")
    assert new.n_stages == 3
    assert new.metadata["data"]["more_photos"] == len(kept(tmp_path / "alarms"))
    assert new.metadata["continued"]["model"] == "cascade.xml"
    told = run("inspect", tmp_path / "new" / "cascade.xml").out
    assert "continues cascade.xml: its 2 stages come first" in told
    assert "training record:" not in told


def test_of_a_video_each_false_alarm_is_kept_once(run, tmp_path, rng, model):
    still, other = scene(rng, (30, 40)), scene(rng, (70, 10))
    with VideoSink(tmp_path / "clip.avi", 10, Size(120, 120)) as sink:
        for frame in [still] * 4 + [other] * 3 + [scene(rng)]:
            sink.write(np.dstack([frame] * 3))
    search = ("negatives", model, tmp_path / "clip.avi", "--min-neighbors", "0", "--output")
    ran = run(*search, tmp_path / "alarms")
    assert ran.code == 0
    names = kept(tmp_path / "alarms")
    assert len(names) <= 3
    assert names[0].startswith("clip-000000-")
    assert any(name.startswith("clip-000004-") for name in names)
    assert "show nothing new" in ran.out
    assert run(*search, tmp_path / "alarms").code == 0
    assert kept(tmp_path / "alarms") == names
    assert run(*search, tmp_path / "few", "--every", "9").code == 0
    assert len(kept(tmp_path / "few")) == 1


def test_where_there_is_no_false_alarm_nothing_is_kept(run, tmp_path, model):
    write_image(tmp_path / "flat.png", np.full((60, 60), 90, np.uint8))
    ran = run("negatives", model, tmp_path / "flat.png", "--output", tmp_path / "alarms")
    assert (ran.code, kept(tmp_path / "alarms")) == (0, [])
    assert "kept: 0 pictures" in ran.out
    assert "--continue" not in ran.out


def test_a_search_that_finds_no_picture_leaves_no_folder(run, tmp_path, accept_all):
    assert run("negatives", accept_all, tmp_path / "gone.png", "--output", tmp_path / "a" / "b").code == 2
    assert not (tmp_path / "a").exists()


def test_what_cannot_be_searched_is_told(run, tmp_path, rng, accept_all):
    write_image(tmp_path / "a.png", builders.smooth_noise(rng, 24, 24))
    (tmp_path / "b.png").write_text("no picture")
    ran = run(
        "negatives",
        accept_all,
        tmp_path / "a.png",
        tmp_path / "b.png",
        "-o",
        tmp_path / "n",
        "--min-neighbors",
        "0",
    )
    assert ran.code == 2
    assert "cannot be searched" in ran.out
    assert len(kept(tmp_path / "n")) == 1
    assert run("negatives", accept_all).code == 2
    assert "give videos, pictures or folders" in run("negatives", accept_all).err
    ran = run("negatives", accept_all, tmp_path / "a.png", "--output", tmp_path / "b.png")
    assert ran.code == 2
    assert "--output needs a folder and this is a file" in ran.err


def test_a_search_that_is_stopped_keeps_what_it_has(run, tmp_path, rng, accept_all, monkeypatch):
    from vjcascade.cli.process import Terminated
    from vjcascade.detection import Detector

    save(tmp_path / "street", [builders.smooth_noise(rng, 24, 24) for _ in range(3)])
    detect, calls = Detector.detect, []

    def stopped(self, image):
        calls.append(image)
        if len(calls) == 2:
            raise Terminated
        return detect(self, image)

    monkeypatch.setattr(Detector, "detect", stopped)
    ran = run("negatives", accept_all, tmp_path / "street", "-o", tmp_path / "n", "--min-neighbors", "0")
    assert ran.code == 143
    assert "stopped; pictures kept so far remain" in ran.out
    assert len(kept(tmp_path / "n")) == 1


@pytest.mark.parametrize("output", ["photos", "photos/alarms", "photos/../photos/new"])
def test_the_output_is_not_searched_by_the_next_run(run, accept_all, output):
    (accept_all.parent / "photos").mkdir()
    ran = run("negatives", accept_all, accept_all.parent / "photos", "--output", accept_all.parent / output)
    assert ran.code == 2
    assert "the next run would search its own pictures" in ran.err
    assert not list((accept_all.parent / "photos").iterdir())
