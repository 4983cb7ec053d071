"""What a run leaves beside its model: written by real small runs, read from files that anybody may have written."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace

import doubles
import numpy as np
import pytest
from msgspec import structs

from vjcascade.imaging import write_image
from vjcascade.training import history as module
from vjcascade.training.event_log import event_line
from vjcascade.training.events import Ended, Progress, Rates, RoundDone, RunBegun, StageBegun, StageDone
from vjcascade.training.history import HistoryWriter, read_history
from vjcascade.types import Size

WINDOW = doubles.WINDOW
RECORD = doubles.stage_record(1)
SETTINGS = replace(doubles.SETTINGS, max_stages=2)


def round_done(n_weak, stage=1):
    return RoundDone(stage, n_weak, Rates(0.0, 1.0, 0.5), Rates(0.0, 0.9, 0.25))


def stage_done(record=RECORD, **changes):
    return StageDone(
        record, 5, **({"seconds": 2.0, "parts": {"mining": 1.5}, "memory": 7, "pass_rate": 0.5} | changes)
    )


def read(folder, *records):
    return read_history(folder, WINDOW, records or [RECORD])


def write(folder, *lines):
    """Write events, given as such or as bytes, into a folder."""
    data = b"".join(line if isinstance(line, bytes) else event_line(line) for line in lines)
    (folder / "events.jsonl").write_bytes(data)


def changed(event, /, **changes):
    """Return the line of an event, some of its values replaced."""
    return json.dumps(json.loads(event_line(event)) | changes).encode() + b"\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the folder of a small run with its history, the events that it told, and the model's bytes."""
    folder, events = tmp_path_factory.mktemp("run"), []
    with HistoryWriter(folder / "cascade.xml", pytest.fail) as writer:
        model = doubles.small_run(
            folder, SETTINGS, listener=lambda event: (writer(event), events.append(event))
        )
    return folder, events, model


def test_a_run_is_read_back(trained):
    folder, events, _ = trained
    done = [event for event in events if isinstance(event, StageDone)]
    history = read(folder, *(event.record for event in done))
    assert list(history.stages) == [1, 2]
    for event, stage in zip(done, history.stages.values(), strict=True):
        told = [e for e in events if isinstance(e, RoundDone) and e.stage == event.record.stage]
        assert stage.rounds == told
        assert (stage.seconds, stage.parts, stage.memory) == (event.seconds, event.parts, event.memory)
        assert stage.pass_rate == event.pass_rate
        np.testing.assert_array_equal(stage.false_alarms, event.false_alarms)
        assert len(stage.missed) == len(event.missed)
        np.testing.assert_array_equal(stage.missed.ravel(), event.missed.ravel())
    begun = next(event for event in events if isinstance(event, RunBegun))
    np.testing.assert_array_equal(history.mean_positive, begun.mean_positive)
    assert history.counts == begun.counts
    assert history.sources == {"positives": ("memory",), "negatives": ("memory",)}
    assert set(history.versions) >= {"vjcascade", "python", "numpy"}
    assert history.ended == "training ended with 2 stages: the maximum number of stages is reached"


def test_parts_and_memory_are_told(trained):
    done = next(event for event in trained[1] if isinstance(event, StageDone))
    assert set(done.parts) == {"survivors", "mining", "features", "boosting", "baseline"}
    assert 0 < sum(done.parts.values()) <= done.seconds
    assert done.memory is None or done.memory > 2**20


def test_the_model_does_not_depend_on_it(trained, tmp_path):
    assert doubles.small_run(tmp_path, SETTINGS) == trained[2]


def test_a_stage_that_was_trained_twice_counts_once(tmp_path):
    again = stage_done(seconds=3.0)
    lines = (
        StageBegun(1),
        round_done(1),
        round_done(2),
        StageBegun(1),
        round_done(1),
        stage_done(),
        StageBegun(1),
    )
    write(tmp_path, *lines, round_done(1), round_done(2), again)
    stage = read(tmp_path).stages[1]
    assert (len(stage.rounds), stage.seconds) == (2, 3.0)


def test_stages_that_are_not_the_models_do_not_count(tmp_path):
    other = structs.replace(RECORD, n_weak=99)
    write(
        tmp_path,
        StageBegun(1),
        stage_done(other),
        StageBegun(2),
        stage_done(structs.replace(RECORD, stage=2)),
    )
    assert read(tmp_path).stages == {}
    assert list(read(tmp_path, other).stages) == [1]


@pytest.mark.parametrize(
    "junk",
    [
        b'{"v": 1, "event": "stage", "re\n',
        b"\xff\xfe\x00\n",
        b"[" * 5000 + b"\n",
        changed(stage_done(), seconds=-1)[:-2]
        + b', "deep": '
        + b'{"a":' * 9999
        + b"1"
        + b"}" * 9999
        + b"}\n",
        changed(stage_done())[:-2] + b', "seconds": -1}\n',
        changed(stage_done(), seconds=10**400),
        changed(stage_done(), false_alarms=[[[0]]], seconds=9),
        changed(RunBegun("6x6", {}, {}), counts={"positives": 7}, mean_positive=[[0]]),
        b"9" * 5000 + b"\n",
        b"x" * (module.MAX_LINE + 5) + b"\n",
        b"[1]\nnull\n3\n",
        changed(stage_done(), v=2, seconds=9),
        changed(stage_done(), seconds=-1),
        changed(stage_done(), seconds=float("nan")),
        changed(stage_done(), seconds="9"),
        changed(stage_done(), parts=[1]),
        changed(stage_done(), parts={"mining": "x"}),
        changed(stage_done(), memory=1.5),
        changed(stage_done(), pass_rate=2),
        changed(stage_done(), record=3),
        changed(stage_done(), record={}),
        changed(stage_done(), record={"stage": [1]}),
        changed(round_done(2), n_weak=10**30),
        changed(round_done(2), tuned={"threshold": 0, "hit_rate": 1.5, "false_alarm_rate": 0}),
        changed(round_done(2), natural=None),
        changed(round_done(2), stage="1"),
        changed(round_done(2), stage=True),
        changed(RunBegun("6x6", {}, {}), counts={"positives": "many"}),
        changed(RunBegun("6x6", {}, {}), sources=["a"], versions=3),
        changed(RunBegun("6x6", {}, {}), event={}),
    ],
)
def test_junk_between_the_lines_is_left_out(tmp_path, junk):
    write(tmp_path, StageBegun(1), round_done(1), stage_done(), b"")
    stage = read(tmp_path).stages[1]
    write(tmp_path, StageBegun(1), round_done(1), junk, stage_done(), junk, b'{"v": 1')
    history = read(tmp_path)
    assert vars(history.stages[1]) | {"false_alarms": 0, "missed": 0} == vars(stage) | {
        "false_alarms": 0,
        "missed": 0,
    }
    assert history.counts == {}


def test_a_run_that_goes_on_has_not_ended(tmp_path):
    write(tmp_path, StageBegun(1), stage_done(), Ended("training ended"))
    assert read(tmp_path).ended == "training ended"
    write(tmp_path, StageBegun(1), stage_done(), Ended("training ended"), StageBegun(2))
    assert read(tmp_path).ended == ""


def test_texts_are_bounded(tmp_path):
    many = {str(i): "x" * 5000 for i in range(100)}
    write(tmp_path, changed(RunBegun("6x6", {}, {}), sources=many))
    sources = read(tmp_path).sources
    assert len(sources) <= 20
    assert max(len(path) for paths in sources.values() for path in paths) < 1000


def test_a_run_that_goes_on_may_leave_out_the_model_that_it_continues(tmp_path):
    told = {"positives": "p", "more_negatives": ["a", "b"], "continue_from": "m.xml"}
    first, again = (
        RunBegun("6x6", {}, {}, sources=told),
        RunBegun("6x6", {}, {}, (RECORD,), sources={"positives": "q"}),
    )
    write(tmp_path, first, again)
    assert read(tmp_path).sources == {"positives": ("q",), "continue_from": ("m.xml",)}
    write(tmp_path, first)
    assert read(tmp_path).sources == {
        "positives": ("p",),
        "more_negatives": ("a", "b"),
        "continue_from": ("m.xml",),
    }
    write(tmp_path, first, replace(again, records=()))  # another run in the same folder
    assert read(tmp_path).sources == {"positives": ("q",)}


@pytest.mark.parametrize("shape", [(6, 6 * 25), (6, 7), (5, 6), (12, 6)])
def test_pictures_of_another_size_are_left_out(tmp_path, shape):
    write(tmp_path, stage_done())
    (tmp_path / "history").mkdir()
    for name in ("mean-positive", "false-alarms-01", "missed-01"):
        write_image(tmp_path / "history" / f"{name}.png", np.zeros(shape, np.uint8))
    history = read(tmp_path)
    assert history.mean_positive is None
    assert len(history.stages[1].false_alarms) == len(history.stages[1].missed) == 0


def test_objects_missed_by_a_run_before_do_not_stay(tmp_path):
    missed = np.arange(72, dtype=np.uint8).reshape(2, 6, 6)
    for windows, n_kept in ((missed, 2), (missed[:0], 0)):
        with HistoryWriter(tmp_path / "cascade.xml", pytest.fail) as writer:
            writer(stage_done(missed=windows))
        write(tmp_path, stage_done())
        kept = read(tmp_path).stages[1].missed
        np.testing.assert_array_equal(kept.reshape(-1, 6, 6), windows)
        assert len(kept) == n_kept


def test_broken_pictures_are_left_out(tmp_path):
    write(tmp_path, stage_done())
    (tmp_path / "history" / "mean-positive.png").mkdir(parents=True)
    (tmp_path / "history" / "false-alarms-01.png").write_text("no picture")
    assert len(read(tmp_path).stages[1].false_alarms) == 0


def test_there_may_be_nothing(tmp_path):
    history = read_history(tmp_path, Size(24, 24), [])
    assert (history.stages, history.mean_positive) == ({}, None)
    (tmp_path / "events.jsonl").mkdir()
    assert read(tmp_path).stages == {}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "events.jsonl")
    assert read(tmp_path).stages == {}


def test_nothing_is_written_before_the_model(tmp_path):
    with HistoryWriter(tmp_path / "cascade.xml", pytest.fail) as writer:
        writer(RunBegun("6x6", {}, {}))
        assert list(tmp_path.iterdir()) == []
        (tmp_path / "cascade.xml").touch()
        writer(Progress("mining", 1, 2))
        writer(StageBegun(1))
    assert (tmp_path / "events.jsonl").read_bytes().count(b"\n") == 2


def test_pictures_that_cannot_be_written_end_no_run(tmp_path):
    complaints = []
    (tmp_path / "history").write_text("a file in the place of the folder")
    (tmp_path / "cascade.xml").touch()
    with HistoryWriter(tmp_path / "cascade.xml", complaints.append) as writer:
        writer(stage_done(false_alarms=np.zeros((2, 6, 6), np.uint8)))
    assert len(complaints) == 1
    assert "the report will lack pictures" in complaints[0]
    assert list(read(tmp_path).stages) == [1]


def test_a_full_disk_leaves_no_empty_folder_of_pictures(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "write_image", full)
    complaints = []
    with HistoryWriter(tmp_path / "cascade.xml", complaints.append) as writer:
        writer(stage_done(false_alarms=np.zeros((1, 8, 8), np.uint8)))
    assert complaints == [f"{tmp_path / 'history'}: the report will lack pictures (No space left on device)"]
    assert list(tmp_path.iterdir()) == []
