"""`train`: what it refuses, and what a run survives."""

from __future__ import annotations

from pathlib import Path

import builders
import numpy as np
import pytest
from easy_pictures import easy_positive, save, soft_noise

from vjcascade import TrainingSettings, train
from vjcascade.errors import ModelError, SettingsError, SourceError
from vjcascade.learning import histograms
from vjcascade.training import memory_plan as room, run, trainer
from vjcascade.training.events import Note, StageDone
from vjcascade.types import Size


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"window": Size(2, 2)}, "window 2x2 is not usable"),
        ({"window": (300, 300)}, r"window \(300, 300\) is not usable"),
        ({"window": (24.5, 24)}, r"window \(24.5, 24\)"),
        ({"window": "24x24"}, "window '24x24'"),
        ({"n_threads": 0}, "n_threads 0 is not a whole number, at least 1"),
        ({"n_threads": -3}, "n_threads -3"),
    ],
)
def test_what_cannot_be_used_is_refused_before_a_picture_is_read(tmp_path, options, sentence):
    with pytest.raises(SettingsError, match=sentence):
        train(tmp_path / "no pos", tmp_path / "no neg", tmp_path / "out", **options)


def test_a_pair_is_a_window(tmp_path, rng):
    save(tmp_path / "pos", [easy_positive(rng) for _ in range(12)])
    save(tmp_path / "neg", [soft_noise(rng, 60) for _ in range(2)])
    settings = TrainingSettings(n_negatives=np.int64(20), max_stages=1, max_weak=2)
    cascade = train(tmp_path / "pos", tmp_path / "neg", tmp_path / "out", settings, window=(12, 12))
    assert cascade.window == Size(12, 12)

    (tmp_path / "out" / "cascade.xml").write_bytes(b"<opencv_storage>")
    with pytest.raises(ModelError):
        train(tmp_path / "pos", tmp_path / "neg", tmp_path / "out", settings, window=(12, 12), resume=True)


def test_one_folder_cannot_be_both(tmp_path):
    with pytest.raises(SourceError, match="for positives and negatives"):
        train(tmp_path, tmp_path / ".." / tmp_path.name, tmp_path / "out")


def test_photos_inside_the_folder_of_the_crops_are_refused(tmp_path):
    (tmp_path / "neg").mkdir()
    with pytest.raises(SourceError, match="inside the folder of the positives"):
        train(tmp_path, tmp_path / "neg", tmp_path / "out")


def test_crops_inside_the_folder_of_the_photos_are_no_photos(pictures, rng):
    events = []
    save(pictures / "neg" / "pos", [rng.integers(0, 256, (8, 8)).astype(np.uint8) for _ in range(60)])
    train(
        pictures / "neg" / "pos",
        pictures / "neg",
        pictures / "out",
        BRIEF,
        window=(8, 8),
        listener=events.append,
    )
    notes = [event.text for event in events if isinstance(event, Note)]
    assert any(note.startswith("negatives:") and "skipped 60" in note for note in notes), notes
    assert any("is among the positives, too" in note for note in notes)


BRIEF = TrainingSettings(n_negatives=40, max_stages=3, max_weak=2, hit_rate=0.97, baseline=False)


@pytest.fixture
def pictures(tmp_path, rng):
    """Return a folder with crops in `pos` and photos in `neg`, hard to tell apart."""
    pattern = np.where(np.arange(8) < 4, 40, -40)
    save(tmp_path / "pos", np.clip(rng.normal(128 + pattern, 40, (60, 8, 8)), 0, 255).astype(np.uint8))
    save(tmp_path / "neg", [builders.smooth_noise(rng, 40, 50) for _ in range(4)])
    return tmp_path


def brief(pictures, output, **options):
    sources = pictures / "pos", pictures / "neg", pictures / output
    train(*sources, BRIEF, window=(8, 8), n_threads=1, **options)
    return (pictures / output / "cascade.xml").read_bytes()


def test_memory_does_not_matter(pictures, monkeypatch):
    """Where it is scarce, features are on disk and photos are read again: the model is the same."""
    monkeypatch.setattr(histograms, "MIN_SAMPLES_TO_KEEP", 1)
    notes = []
    expected = brief(pictures, "one")
    monkeypatch.setattr(trainer, "resident_memory", lambda: 0)
    monkeypatch.setattr(room, "WORKING_MEMORY", 64 * 2**20 - 3_000_000)  # leaves 3 MB of the 64 MiB
    monkeypatch.setattr(run, "PHOTOS_SHARE", 0.0)
    assert brief(pictures, "other", memory="64MiB", listener=notes.append) == expected
    assert any("features do not fit into memory" in getattr(note, "text", "") for note in notes)
    assert {path.name for path in (pictures / "other").iterdir()} == {
        path.name for path in (pictures / "one").iterdir()
    }


@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda path: save(path.parent, [np.eye(40, dtype=np.uint8)])]
)
def test_a_run_that_lost_a_photo_goes_on_when_it_is_back(pictures, monkeypatch, damage):
    monkeypatch.setattr(run, "PHOTOS_SHARE", 0.0)  # no photo is kept in memory
    expected = brief(pictures, "whole")
    photo = pictures / "neg" / "000.png"
    data = photo.read_bytes()

    def lose(event):
        if isinstance(event, StageDone) and event.record.stage == 1:
            damage(photo)

    with pytest.raises(SourceError, match=r"000\.png (can no longer be read|is not the picture it was)"):
        brief(pictures, "out", listener=lose)
    with pytest.raises(SettingsError, match=r"cannot be resumed[;:] .*photos"):
        brief(pictures, "out", resume=True)
    photo.write_bytes(data)
    assert brief(pictures, "out", resume=True) == expected


def test_two_runs_in_one_folder_are_refused(pictures):
    def second(event):
        with pytest.raises(SettingsError, match="another run is writing into this folder"):
            brief(pictures, "out", overwrite=True)
        del event

    first = brief(pictures, "out", listener=second)
    assert brief(pictures, "out", resume=True) == first


def test_what_killed_runs_left_is_removed(pictures):
    (pictures / "out").mkdir()
    (pictures / "out" / ".vjcascade-0123456789abcdef.tmp").write_bytes(b"half a mod")
    brief(pictures, "out")
    assert not list((pictures / "out").glob(".*"))
