from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import builders
import doubles
import numpy as np
import pytest

from vjcascade.cascade import Cascade
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode
from vjcascade.files import MODEL_NAME
from vjcascade.training import checkpoint
from vjcascade.training.checkpoint import Checkpoint
from vjcascade.training.mining.retained_negatives import RetainedNegatives
from vjcascade.training.settings import Mirror, TrainingSettings
from vjcascade.training.warm_start import BaseModel
from vjcascade.types import FeatureType, Size

WINDOW = Size(24, 24)
SETTINGS = TrainingSettings(n_negatives=50)
DATA = {"positives": 61, "positives_sha256": "ab" * 32, "photos": 7}


def begin(folder, *, window=WINDOW, settings=SETTINGS, data=DATA, **options):
    return Checkpoint.open(folder, window, settings, data, **options)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a model of two stages."""
    folder = tmp_path / "new" / "run"
    checkpoint = begin(folder)
    for stage in (1, 2):
        checkpoint.save(builders.accept_all(WINDOW, stage), doubles.stage_record(stage))
    return folder


def test_a_new_run_begins_empty_and_writes_nothing(tmp_path):
    for options in ({}, {"resume": True}, {"overwrite": True}):
        checkpoint = begin(tmp_path / "run", **options)
        assert (checkpoint.cascade.n_stages, checkpoint.cascade.window, checkpoint.records) == (0, WINDOW, [])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("changes", [{}, {"baseline": None, "overall_held_out_hit_rate": 1 / 7}])
def test_records_survive_the_file(tmp_path, changes):
    checkpoint = begin(tmp_path)
    records = [doubles.stage_record(1, **changes), doubles.stage_record(2)]
    for n_stages, record in enumerate(records, start=1):
        checkpoint.save(builders.accept_all(WINDOW, n_stages), record)
    again = begin(tmp_path, resume=True)
    assert again.records == records
    assert again.cascade.n_stages == 2
    before = (tmp_path / MODEL_NAME).read_bytes()
    again.cascade.save(tmp_path / MODEL_NAME)
    assert (tmp_path / MODEL_NAME).read_bytes() == before


def test_save_returns_what_is_in_the_file(tmp_path):
    saved = begin(tmp_path).save(builders.accept_all(WINDOW, 1), doubles.stage_record(1))
    loaded = Cascade.load(tmp_path / MODEL_NAME)
    assert saved.metadata == loaded.metadata
    assert loaded.metadata["settings"] == SETTINGS.as_dict()
    assert loaded.metadata["data"] == DATA
    assert loaded.metadata["window"] == "24x24"
    assert names(tmp_path) == [MODEL_NAME, "negatives-1.npz"]


def test_a_model_in_the_way_is_refused(folder):
    before = (folder / MODEL_NAME).read_bytes()
    with pytest.raises(
        SettingsError, match=r"already holds a model, cascade\.xml: resume or overwrite it"
    ) as e:
        begin(folder)
    assert str(folder) in str(e.value)
    assert "--" not in str(e.value)  # flags are the command line's
    with pytest.raises(SettingsError, match=r"^resume and overwrite exclude each other"):
        begin(folder, resume=True, overwrite=True)
    assert (folder / MODEL_NAME).read_bytes() == before


def test_overwriting_begins_anew_but_keeps_the_model_until_the_first_stage(folder):
    before = (folder / MODEL_NAME).read_bytes()
    checkpoint = begin(folder, overwrite=True, window=Size(20, 20), settings=replace(SETTINGS, seed=9))
    assert (checkpoint.cascade.n_stages, checkpoint.cascade.window) == (0, Size(20, 20))
    assert (folder / MODEL_NAME).read_bytes() == before
    checkpoint.save(builders.accept_all(Size(20, 20), 1), doubles.stage_record(1))
    assert begin(folder, resume=True, window=Size(20, 20), settings=replace(SETTINGS, seed=9)).records == [
        doubles.stage_record(1)
    ]


CHANGES = {
    "booster": "adaboost",
    "costs": 3.5,
    "mode": HaarMode.ALL,
    "copies": 5,
    "mirror": Mirror.NO,
    "hit_rate": 0.97,
    "false_alarm_rate": 0.123,
    "max_weak": 77,
    "max_depth": 2,
    "n_negatives": None,
    "max_samples": 8_000,
    "held_out": 0.125,
    "features": FeatureType.LBP,
    "hardest_negatives": True,
    "baseline": False,
    "seed": 12,
}
MAY_CHANGE = {"max_stages": 3, "target_false_alarm_rate": 1e-3, "max_windows": 99}


def test_every_setting_is_considered_here():
    assert set(CHANGES) | set(MAY_CHANGE) == set(SETTINGS.as_dict())


@pytest.mark.parametrize("name", CHANGES)
def test_other_settings_are_refused_with_both_values(folder, name):
    before = (folder / MODEL_NAME).read_bytes()
    changed = replace(SETTINGS, **{name: CHANGES[name]})
    with pytest.raises(SettingsError, match="trained differently and cannot be resumed") as caught:
        begin(folder, resume=True, settings=changed)
    old, new = SETTINGS.as_dict()[name], changed.as_dict()[name]
    assert f"settings.{name}: {old} in the model, {new} now" in str(caught.value)
    assert str(caught.value).count(" in the model") == 1
    assert str(folder / MODEL_NAME) in str(caught.value)
    assert (folder / MODEL_NAME).read_bytes() == before


def test_another_version_of_a_plugin_is_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "code_digest", lambda _: "0123")
    with pytest.raises(SettingsError, match=r"cannot be resumed; the code of the booster has changed\. Give"):
        begin(folder, resume=True)
    begin(tmp_path / "other").save(builders.accept_all(WINDOW, 1), doubles.stage_record(1))
    assert begin(tmp_path / "other", resume=True).cascade.n_stages == 1


@pytest.mark.parametrize("name", MAY_CHANGE)
def test_when_to_end_may_change(folder, name):
    again = begin(folder, resume=True, settings=replace(SETTINGS, **{name: MAY_CHANGE[name]}))
    assert len(again.records) == 2


def test_all_differences_are_named_at_once(folder):
    before = (folder / MODEL_NAME).read_bytes()
    with pytest.raises(SettingsError) as caught:
        begin(
            folder,
            resume=True,
            window=Size(20, 20),
            settings=replace(SETTINGS, seed=5),
            data={**DATA, "positives_sha256": "cd" * 32, "photos": 8},
        )
    for text in (
        "window: 24x24 in the model, 20x20 now",
        "settings.seed: 0 in the model, 5 now",
        "data.photos: 7 in the model, 8 now",
    ):
        assert text in str(caught.value)
    assert "sha256" not in str(caught.value)
    assert (folder / MODEL_NAME).read_bytes() == before


def test_a_foreign_model_cannot_be_resumed(tmp_path):
    builders.accept_all(WINDOW, 1).save(tmp_path / MODEL_NAME)
    with pytest.raises(SettingsError, match="it has no record of its training"):
        begin(tmp_path, resume=True)


def test_a_run_on_other_pictures_is_refused(tmp_path):
    """What a real run has saved is what is compared."""
    settings = replace(doubles.SETTINGS, max_stages=1)
    model = doubles.small_run(tmp_path, settings)
    data = Cascade.load(tmp_path / MODEL_NAME).metadata["data"]
    other = {**data, "positives_sha256": "0" * 64}
    with pytest.raises(
        SettingsError, match="positives are as many as before, but pictures or their order changed"
    ):
        Checkpoint.open(tmp_path, doubles.WINDOW, settings, other, resume=True)
    assert (tmp_path / MODEL_NAME).read_bytes() == model


@pytest.fixture
def retained(rng):
    return RetainedNegatives(
        rng.integers(0, 256, (5, 24, 24), np.uint8), rng.integers(0, 256, (3, 24, 24), np.uint8)
    )


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_false_alarms_are_kept_with_their_model(folder, retained):
    checkpoint = begin(folder, resume=True)
    for stage in (3, 4):
        checkpoint.save(builders.accept_all(WINDOW, stage), doubles.stage_record(stage), retained)
        assert names(folder) == [MODEL_NAME, f"negatives-{stage}.npz"]
        assert begin(folder, resume=True).retained.digest == retained.digest
    checkpoint.save(builders.accept_all(WINDOW, 5), doubles.stage_record(5), RetainedNegatives.none(WINDOW))
    assert names(folder) == [MODEL_NAME, "negatives-5.npz"]
    assert begin(folder, resume=True).retained.is_empty
    (folder / "negatives-5.npz").unlink()  # earlier versions wrote none
    assert begin(folder, resume=True).retained.is_empty


def test_a_model_without_its_false_alarms_cannot_be_resumed(folder, retained):
    begin(folder, resume=True).save(builders.accept_all(WINDOW, 3), doubles.stage_record(3), retained)
    (folder / "negatives-3.npz").unlink()
    with pytest.raises(SettingsError, match=r"negatives-3\.npz is needed to resume, and cannot be read"):
        begin(folder, resume=True)
    fewer = RetainedNegatives(retained.training, retained.held_out[:1])
    (folder / "negatives-3.npz").write_bytes(fewer.packed(Cascade.load(folder / MODEL_NAME).stages_digest))
    with pytest.raises(SettingsError, match="is not the file of this model"):
        begin(folder, resume=True)


def with_other_threshold(cascade):
    return replace(cascade, stage_thresholds=cascade.stage_thresholds - np.float32(0.5))


def with_other_leaf(cascade):
    return replace(cascade, leaves=np.append(cascade.leaves[:-1], np.float32(7)))


def with_fewer_stages(cascade):
    return cascade.first_stages(1).with_metadata(cascade.metadata)


def without_any_trace_of_a_stage(cascade):
    metadata = {**cascade.metadata, "stages": cascade.metadata["stages"][:1]}
    return cascade.first_stages(1).with_metadata(metadata)


EDITS = [with_other_threshold, with_other_leaf, with_fewer_stages, without_any_trace_of_a_stage]


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("edit", EDITS)
def test_a_model_that_was_edited_is_not_resumed(tmp_path, retained, edit, keeps):
    """Whether its last stage has left false alarms or not."""
    checkpoint = begin(tmp_path)
    for stage in (1, 2):
        checkpoint.save(
            builders.accept_all(WINDOW, stage), doubles.stage_record(stage), retained if keeps else None
        )
    path = tmp_path / MODEL_NAME
    saved = path.read_bytes()
    edit(Cascade.load(path)).save(path)
    edited = path.read_bytes()
    with pytest.raises(SettingsError) as caught:
        begin(tmp_path, resume=True)
    if edit is without_any_trace_of_a_stage:
        assert "negatives-1.npz is needed to resume, and cannot be read" in str(caught.value)
    else:
        assert f"{path} cannot be resumed: it is not the model that this run saved" in str(caught.value)
        assert (
            "Restore the one that was saved, or overwrite it; to train on from this one, give it as continue_from"
            in str(caught.value)
        )
    assert (path.read_bytes(), names(tmp_path)) == (edited, [MODEL_NAME, "negatives-2.npz"])
    path.write_bytes(saved)
    assert len(begin(tmp_path, resume=True).records) == 2


def test_a_model_that_is_continued_is_not_resumed_edited(tmp_path):
    """Before the run has a stage of its own, too."""
    builders.accept_all(WINDOW, 2).save(tmp_path / "base.xml")
    base = BaseModel.load(tmp_path / "base.xml", FeatureType.HAAR)
    begin(tmp_path / "run", base=base).begin()
    path = tmp_path / "run" / MODEL_NAME
    assert begin(tmp_path / "run", resume=True).n_continued == 2
    with_other_threshold(Cascade.load(path)).save(path)
    with pytest.raises(SettingsError, match="it is not the model that this run saved"):
        begin(tmp_path / "run", resume=True)


def test_what_is_no_stage_may_be_edited(folder):
    """And how the file is written."""
    path = folder / MODEL_NAME
    cascade = Cascade.load(path)
    cascade.with_metadata({**cascade.metadata, "note": "mine"}).save(path)
    path.write_bytes(path.read_bytes().replace(b"  ", b" "))
    assert len(begin(folder, resume=True).records) == 2


class Death(BaseException):
    """What a killed process does: nothing more."""


@pytest.mark.parametrize("moment", range(4))
def test_at_every_moment_there_is_a_model_with_its_false_alarms(folder, retained, monkeypatch, moment):
    """Nothing is replaced in an order that a kill between two steps would show."""
    checkpoint = begin(folder, resume=True)
    checkpoint.save(builders.accept_all(WINDOW, 3), doubles.stage_record(3), retained)
    steps = []

    def dying(step):
        def call(path, *arguments, **options):
            steps.append(path)
            if len(steps) > moment:
                raise Death
            return step(path, *arguments, **options)

        return call

    monkeypatch.setattr(Path, "replace", dying(Path.replace))
    monkeypatch.setattr(Path, "unlink", dying(Path.unlink))
    other = RetainedNegatives(retained.training[1:], retained.held_out)
    with suppress(Death):
        checkpoint.save(builders.accept_all(WINDOW, 4), doubles.stage_record(4), other)
    monkeypatch.undo()
    again = begin(folder, resume=True)
    assert again.cascade.n_stages == (3 if moment < 2 else 4)
    assert again.retained.digest == (retained if moment < 2 else other).digest


def fill_disk(monkeypatch, n_written):
    """Have so many files written, and then no more."""
    synchronised, synchronise = [], os.fsync

    def full(file):
        if stat.S_ISREG(os.fstat(file).st_mode):
            synchronised.append(file)
            if len(synchronised) > n_written:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synchronise(file)

    monkeypatch.setattr(os, "fsync", full)


@pytest.mark.parametrize("n_written", [0, 1])
def test_a_disk_that_is_full_from_the_first_leaves_nothing(tmp_path, retained, monkeypatch, n_written):
    """The false alarms of a model that has no room are no use."""
    checkpoint = begin(tmp_path / "run")
    fill_disk(monkeypatch, n_written)
    with pytest.raises(OSError, match="1 stage is not saved, free some space and start again"):
        checkpoint.save(builders.accept_all(WINDOW, 1), doubles.stage_record(1), retained)
    assert not (tmp_path / "run").exists()


def test_a_full_disk_keeps_the_model_that_was_to_be_overwritten(folder, retained, monkeypatch):
    """And its false alarms, though those of the new one have the same name."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    anew = begin(folder, overwrite=True)
    fill_disk(monkeypatch, 1)
    with pytest.raises(OSError, match="2 stages is not saved"):
        anew.save(builders.accept_all(WINDOW, 2), doubles.stage_record(2), retained)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("n_killed", [2, 4])
def test_what_a_killed_run_left_is_removed_when_it_is_resumed(folder, retained, n_killed):
    """It was killed before it removed false alarms of the stage before, or before it saved the next model."""
    begin(folder, resume=True).save(builders.accept_all(WINDOW, 3), doubles.stage_record(3), retained)
    (folder / f"negatives-{n_killed}.npz").write_bytes(b"left")
    begin(folder, resume=True)
    assert names(folder) == [MODEL_NAME, "negatives-3.npz"]


@pytest.mark.parametrize("n_written", [0, 1])
def test_a_full_disk_is_told_and_loses_one_stage(folder, retained, monkeypatch, n_written):
    checkpoint = begin(folder, resume=True)
    checkpoint.save(builders.accept_all(WINDOW, 3), doubles.stage_record(3), retained)
    before = (folder / MODEL_NAME).read_bytes()
    fill_disk(monkeypatch, n_written)
    with pytest.raises(OSError, match=r"No space left on device; .* 4 stages is not saved") as caught:
        checkpoint.save(builders.accept_all(WINDOW, 4), doubles.stage_record(4), retained)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(folder / ("negatives-4.npz", MODEL_NAME)[n_written])
    assert "that of 3 stages is: free some space and resume" in str(caught.value)
    assert (folder / MODEL_NAME).read_bytes() == before
    assert names(folder) == [MODEL_NAME, "negatives-3.npz"]
    monkeypatch.undo()
    again = begin(folder, resume=True)
    assert (again.cascade.n_stages, again.retained.digest) == (3, retained.digest)


def test_a_run_on_other_sources_is_refused(tmp_path):
    for given, now in ((DATA, {**DATA, "more_photos": 3}), ({**DATA, "more_photos": 3}, DATA)):
        begin(tmp_path, data=given, overwrite=True).save(
            builders.accept_all(WINDOW, 1), doubles.stage_record(1)
        )
        with pytest.raises(SettingsError, match=r"data\.more_photos: \w+ in the model, \w+ now"):
            begin(tmp_path, data=now, resume=True)


def damaged(name, value):
    return lambda stages: [stages[0], {**stages[1], name: value}]


DAMAGES = [
    ("overall_false_alarm_rate", "x"),
    ("overall_false_alarm_rate", 0.0),
    ("overall_false_alarm_rate", True),
    ("overall_hit_rate", None),
    ("overall_hit_rate", 1.5),
    ("overall_held_out_hit_rate", -0.1),
    ("n_weak", 1.5),
    ("n_positives", -1),
    ("ended_by", 3),
    ("natural", None),
    ("baseline", 0.5),
]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda stages: stages[:1], "it has 2 stages and records of 1"),
        (lambda stages: [stages[0], {**stages[1], "unknown": 1}], "record of stages is damaged .*unknown"),
        (lambda stages: [stages[0], {**stages[1], "tuned": 0.5}], "record of stages is damaged"),
        (lambda stages: [stages[0], {"stage": 2}], "record of stages is damaged .*n_weak"),
        (lambda stages: [stages[0], "stage 2"], "record of stages is damaged .*'stage 2'"),
        *[(damaged(name, value), f"record of stages is damaged .*{name} ") for name, value in DAMAGES],
        (damaged("tuned", {"threshold": 0.5, "hit_rate": 2.0, "false_alarm_rate": 0.5}), r"hit_rate 2\.0"),
    ],
)
def test_damaged_records_cannot_be_resumed(folder, damage, message):
    path = folder / MODEL_NAME
    cascade = Cascade.load(path)
    stages = damage(cascade.metadata["stages"])
    cascade.with_metadata({**cascade.metadata, "stages": stages}).save(path)
    with pytest.raises(SettingsError, match=message) as caught:
        begin(folder, resume=True)
    assert str(path) in str(caught.value)


def test_an_output_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for folder in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(SettingsError, match=r"cannot be the output folder: .*file is a file"):
            begin(folder)


def test_an_output_folder_of_an_impossible_name_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="cannot be the output folder"):
        begin(tmp_path / ("x" * 5000))
