"""`train`: what it refuses, and what a run survives."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from pathlib import Path

import builders
import numpy as np
import pytest
from easy_pictures import contents, easy_positive, save, soft_noise

from vjcascade import TrainingSettings, imaging, train
from vjcascade.errors import MissingLibraryError, ModelError, SettingsError, SourceError
from vjcascade.imaging import read_gray, write_image
from vjcascade.learning import histograms
from vjcascade.training import memory_plan, run, trainer
from vjcascade.training.data import reading
from vjcascade.training.events import Note, RunBegun, StageDone
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
    assert any("is also among the positives" in note for note in notes)


BRIEF = TrainingSettings(n_negatives=40, max_stages=3, max_weak=2, copies=0, hit_rate=0.97, baseline=False)


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
    monkeypatch.setattr(memory_plan, "WORKING_MEMORY", 64 * 2**20 - 3_000_000)  # leaves 3 MB of the 64 MiB
    monkeypatch.setattr(run, "PHOTOS_SHARE", 0.0)
    assert brief(pictures, "other", memory="64MiB", listener=notes.append) == expected
    assert any("features do not fit into memory" in getattr(note, "text", "") for note in notes)
    assert {path.name for path in (pictures / "other").iterdir()} == {
        path.name for path in (pictures / "one").iterdir()
    }


@pytest.mark.parametrize("side", ["pos", "neg"])
def test_a_picture_that_does_not_fit_into_memory_is_refused_with_the_figure(pictures, rng, side):
    """It is not left out: which pictures are used must not depend on memory."""
    large = np.repeat(np.repeat(rng.integers(0, 256, (40, 40), np.uint8), 100, axis=0), 100, axis=1)
    write_image(pictures / side / "large.png", large)
    said = r"large\.png: decoding 4000x4000 pixels takes 71 MiB of memory; of the limit, only 32 MiB are left"
    with pytest.raises(SourceError, match=said):
        brief(pictures, "out", memory="64MiB")
    assert not (pictures / "out" / "cascade.xml").exists()


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

    with pytest.raises(SourceError, match=r"000\.png (can no longer be read|has changed since)"):
        brief(pictures, "out", listener=lose)
    with pytest.raises(SettingsError, match=r"cannot be resumed[;:] .*photos"):
        brief(pictures, "out", resume=True)
    photo.write_bytes(data)
    assert brief(pictures, "out", resume=True) == expected


def test_two_runs_in_one_folder_are_refused(pictures):
    def second(event):
        if not isinstance(event, StageDone):  # each attempt waits a moment
            return
        with pytest.raises(SettingsError, match="another run is writing into this folder"):
            brief(pictures, "out", overwrite=True)

    first = brief(pictures, "out", listener=second)
    assert brief(pictures, "out", resume=True) == first


def test_what_killed_runs_left_is_removed(pictures):
    (pictures / "out").mkdir()
    (pictures / "out" / ".vjcascade-0123456789abcdef.tmp").write_bytes(b"half a mod")
    brief(pictures, "out")
    assert not list((pictures / "out").glob(".*"))


def in_memory(pictures):
    """Return the pictures of a folder, sorted by name, as training from the folder sees them."""
    return [read_gray(path) for path in sorted(pictures.iterdir())]


def stages_of(cascade):
    parts = (getattr(cascade, field.name) for field in fields(cascade) if field.name != "metadata")
    return [part.tobytes() if isinstance(part, np.ndarray) else part for part in parts]


@pytest.mark.parametrize("window", [(8, 8), None])
def test_arrays_give_the_model_of_the_folder(pictures, window, monkeypatch):
    """Byte by byte, what the model says of its training included; and nothing is written."""
    sources = pictures / "pos", pictures / "neg"
    train(*sources, pictures / "out", BRIEF, window=window, n_threads=1)
    crops, photos = np.stack(in_memory(sources[0])), in_memory(sources[1])
    monkeypatch.chdir(pictures)
    before = contents(pictures)
    cascade = train(crops, photos, settings=BRIEF, window=window, n_threads=1)
    assert contents(pictures) == before
    cascade.save(pictures / "again.xml")
    assert (pictures / "again.xml").read_bytes() == (pictures / "out" / "cascade.xml").read_bytes()
    assert cascade.n_stages == 2  # there are no more false alarms

    kept = train(crops, photos, pictures / "kept", BRIEF, window=window, n_threads=1)
    assert (pictures / "kept" / "cascade.xml").read_bytes() == (pictures / "again.xml").read_bytes()
    assert stages_of(kept) == stages_of(cascade)
    assert stages_of(train(sources[0], photos, settings=BRIEF, window=window)) == stages_of(cascade)


def test_a_folder_without_output_writes_nothing(pictures):
    before = contents(pictures)
    notes = []
    cascade = train(pictures / "pos", pictures / "neg", settings=BRIEF, window=(8, 8), listener=notes.append)
    assert contents(pictures) == before
    stages = [event.record.stage for event in notes if isinstance(event, StageDone)]
    assert stages == [1, 2] == list(range(1, cascade.n_stages + 1))


def test_arrays_of_any_kind_are_pictures(pictures):
    """Colour, floats, several sizes, arrays that are not contiguous or must not be written to."""
    crops, photos = in_memory(pictures / "pos"), in_memory(pictures / "neg")
    expected = stages_of(train(crops, photos, settings=BRIEF, window=(8, 8)))
    colour = [np.dstack([photo] * 3) for photo in photos]
    stridden = [np.repeat(photo, 2, axis=1)[:, ::2] for photo in photos]
    for photo in photos:
        photo.flags.writeable = False
    floats = np.stack(crops) / 255
    for one, other in ((crops, colour), (floats, stridden), (tuple(crops), photos)):
        assert stages_of(train(one, other, settings=BRIEF, window=(8, 8))) == expected
    larger = [crops[0].repeat(2, axis=0).repeat(2, axis=1), *crops[1:]]
    assert train(larger, photos, settings=BRIEF, window=(8, 8)).n_stages > 0


def test_arrays_continue_a_model(pictures, tmp_path):
    crops, photos = in_memory(pictures / "pos"), in_memory(pictures / "neg")
    first = train(crops, photos, settings=replace(BRIEF, max_stages=1), window=(8, 8))
    first.save(tmp_path / "first.xml")
    notes = []
    options = {
        "continue_from": tmp_path / "first.xml",
        "more_negatives": [photos[:1], [photos[0][:30].copy()]],
    }
    longer = train(crops, photos, settings=BRIEF, listener=notes.append, **options)
    assert longer.n_stages == 3
    assert longer.stage_thresholds[0] == first.stage_thresholds[0]
    texts = [getattr(note, "text", "") for note in notes]
    assert f"continuing from {tmp_path / 'first.xml'}, 1 stage so far" in texts
    assert not any("were trained with" in text for text in texts)
    other = replace(BRIEF, booster="adaboost")
    train(crops, photos, settings=other, listener=notes.append, continue_from=tmp_path / "first.xml")
    told = "its stages were trained with the booster cost-generalized, the new ones are trained with adaboost"
    assert f"  note: {told}" in [getattr(note, "text", "") for note in notes]
    assert "  note: 1 photo of memory are in the folders before it, too, and count once" in texts
    begun = next(note for note in notes if isinstance(note, RunBegun))
    assert begun.sources["positives"] == "memory"
    assert begun.sources["more_negatives"] == ["memory", "memory"]


CROPS = np.random.default_rng(0).integers(0, 256, (12, 8, 8), np.uint8)


@pytest.mark.parametrize(
    ("crops", "photos", "sentence"),
    [
        (CROPS[0], [CROPS[1]], r"positives: an array of shape \(8, 8\) is neither a path nor a sequence"),
        (
            CROPS,
            np.zeros((40, 50, 3), np.uint8),
            r"negatives: an array of shape \(40, 50, 3\) is .* into a list",
        ),
        (
            CROPS.astype(np.int64),
            [CROPS[0]],
            "positives: array 0: a picture of dtype int64 has no fixed white",
        ),
        (
            CROPS,
            [CROPS[0], CROPS.ravel()],
            r"negatives: array 1: an array of shape \(768,\) is not a picture",
        ),
        (CROPS, [CROPS[0], np.zeros((0, 9), np.uint8)], r"negatives: array 1: an array of shape \(0, 9\)"),
        (CROPS, [-1.0 * CROPS[0]], "negatives: array 0: a float picture must have values from 0 to 1"),
        (CROPS, ["photo.png"], "negatives: array 0: a picture must be a numpy array, not str"),
        (CROPS, [], "negatives: there is no picture in the sequence given"),
        (CROPS, 7, "negatives: 7 is neither a path nor a sequence of pictures"),
        (CROPS[:9], [CROPS[0]], "9 of 9 arrays in memory can be used as positives, at least 10 are needed"),
        (CROPS, [CROPS[0, :7]], "1 of 1 negatives are smaller than the 8x8 window, for example array 0"),
        (CROPS, CROPS, "memory is given for positives and negatives"),
    ],
)
def test_arrays_that_are_no_pictures_are_met_with_a_sentence(crops, photos, sentence):
    with pytest.raises(SourceError, match=sentence):
        train(crops, photos, settings=BRIEF, window=(8, 8))


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((), {"resume": True}, "about the model in an output folder: give one"),
        ((), {"overwrite": True}, "about the model in an output folder: give one"),
        ((BRIEF,), {}, "settings are given as the output folder"),
    ],
)
def test_without_a_folder_there_is_nothing_to_go_on_with(arguments, options, sentence):
    with pytest.raises(SettingsError, match=sentence):
        train(CROPS, [CROPS[0]], *arguments, **options)


def test_a_missing_opencv_is_said_before_pictures_are_read(pictures, monkeypatch):
    read = []
    monkeypatch.setitem(sys.modules, "cv2", None)
    monkeypatch.setattr(reading, "opencv", imaging.opencv.__wrapped__)
    monkeypatch.setattr(run.Reader, "positives", lambda *_: read.append(1))
    with pytest.raises(MissingLibraryError, match="opencv-python-headless"):
        train(pictures / "pos", pictures / "neg", pictures / "out", BRIEF)
    assert not read
    assert not (pictures / "out").exists()


def test_the_output_is_no_file(pictures):
    with pytest.raises(SettingsError, match=r"a folder is needed; with .*signs, the model will be"):
        train(pictures / "pos", pictures / "neg", pictures / "signs.xml", BRIEF)
    assert not (pictures / "signs.xml").exists()


def test_nothing_to_resume_is_said(pictures):
    """A run may have been killed before its first stage was there."""
    events = []
    train(
        pictures / "pos",
        pictures / "neg",
        pictures / "out",
        BRIEF,
        window=(8, 8),
        resume=True,
        listener=events.append,
    )
    assert isinstance(events[0], Note)
    assert "there is no model to continue" in events[0].text


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"settings": {}}, r"settings \{\} are not TrainingSettings: .preset_settings"),
        ({"settings": "quick"}, r"settings 'quick' are not TrainingSettings"),
        ({"min_side": 2.5}, "min_side 2.5 is not a whole number, at least 1"),
        ({"min_side": -1}, "min_side -1"),
        ({"more_negatives": "neg"}, "more_negatives 'neg': put even one source into a list"),
        ({"more_negatives": 5}, "more_negatives 5: put even one source into a list"),
        ({"more_negatives": b"neg"}, "more_negatives b'neg': put"),
        ({"continue_from": 5}, "continue_from 5 is not a model file: give a path"),
        ({"continue_from": ["a.xml"]}, r"continue_from \['a.xml'\] is not a model file"),
        ({"listener": []}, r"listener \[\] is not a function of one event"),
        ({"strict": "no"}, "strict 'no'"),
        ({"output": 3}, "output 3 is not a folder"),
        ({"output": ""}, "output '' is not a folder"),
    ],
)
def test_values_of_other_kinds_are_refused_before_a_picture_is_read(tmp_path, options, sentence):
    with pytest.raises(SettingsError, match=sentence):
        train(tmp_path / "no pos", tmp_path / "no neg", **{"output": tmp_path / "out", **options})


def test_nobody_asks_for_so_many_weak_classifiers():
    with pytest.raises(SettingsError, match=r"max_weak 10{22} is not a whole number from 1 to 1,000,000"):
        TrainingSettings(max_weak=10**22)
