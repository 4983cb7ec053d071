"""Events as lines of JSON: what is documented is what is written, and trouble with the file never ends a run."""

import json
import re

import doubles
import numpy as np
import pytest

from vjcascade.errors import SettingsError
from vjcascade.training import event_log
from vjcascade.training.event_log import EVENT_NAMES, EventLog, check_event_file, event_line, log_events
from vjcascade.training.events import (
    Ended,
    MiningDone,
    Note,
    Progress,
    Rates,
    RoundDone,
    RunBegun,
    StageBegun,
    StageDone,
)

PICTURE = np.zeros((2, 2), np.uint8)
EVENTS = [
    RunBegun("24x24", {"seed": 3}, {"positives": 5}, (doubles.stage_record(1),), PICTURE, {"positives": "a"}),
    StageBegun(2),
    MiningDone(2, 20, 400, 0.05),
    RoundDone(2, 1, Rates(-0.5, 1.0, 0.7), Rates(1e-05, 0.9, 0.1)),
    StageDone(doubles.stage_record(2), 5, 2.5, {"mining": 1.5}, 2**20, 0.05, PICTURE[None]),
    Progress("mining", 1, 2),
    Note("é"),
    Ended("over"),
]


def test_every_event_has_the_fields_that_are_documented():
    documented = dict(re.findall(r"^(\w+) {2,}([\w, ]+)$", event_log.__doc__, re.MULTILINE))
    assert {type(event) for event in EVENTS} == set(EVENT_NAMES)
    for event in EVENTS:
        line = json.loads(event_line(event))
        assert (line.pop("v"), line.pop("time") > 1e9) == (1, True)
        assert sorted(documented[line.pop("event")].split(", ")) == sorted(line)


def test_records_come_back_as_they_are():
    line = json.loads(event_line(EVENTS[4]))
    assert line["record"] == doubles.stage_record(2).as_dict()


def test_each_line_is_there_at_once(tmp_path):
    told = []
    with log_events(tmp_path / "events", told.append) as listener:
        for n, event in enumerate(EVENTS):
            listener(event)
            lines = (tmp_path / "events").read_text().splitlines()
            assert [json.loads(line)["event"] for line in lines] == [
                EVENT_NAMES[type(e)] for e in EVENTS[: n + 1]
            ]
    assert told == EVENTS


def test_without_a_file_events_are_passed_on():
    told = []
    with log_events(None, told.append) as listener:
        listener(Note("a"))
    assert told == [Note("a")]


def test_a_torn_line_stays_alone(tmp_path):
    path = tmp_path / "events"
    path.write_bytes(event_line(Note("first")) + b'{"v": 1, "ev')
    with EventLog(path, pytest.fail) as log:
        log(Note("second"))
    lines = path.read_bytes().splitlines()
    assert json.loads(lines[0])["text"] == "first"
    assert json.loads(lines[2])["text"] == "second"


def test_lines_wait_for_a_file(tmp_path):
    with EventLog(tmp_path / "events", pytest.fail, wait_for=tmp_path / "model") as log:
        log(Note("first"))
        assert not (tmp_path / "events").exists()
        (tmp_path / "model").touch()
        log(Note("second"))
    assert (tmp_path / "events").read_bytes().count(b"\n") == 2


def test_what_cannot_be_written_is_told_once(tmp_path):
    complaints = []
    with EventLog(tmp_path / "none" / "events", complaints.append) as log:
        log(Note("first"))
        log(Note("second"))
    assert len(complaints) == 1
    assert "can no longer be written (No such file" in complaints[0]


def test_other_files_are_left_alone(tmp_path):
    (tmp_path / "crops.txt").write_text("pos/a.png")
    with pytest.raises(SettingsError, match="holds something else"):
        check_event_file(tmp_path / "crops.txt")
    (tmp_path / "old").write_bytes(event_line(Note("a")))
    for name in ("old", "new"):
        check_event_file(tmp_path / name)


@pytest.mark.parametrize("is_new", [True, False])
def test_a_full_disk_leaves_no_torn_line(tmp_path, leave_room, is_new):
    """Nor an empty file."""
    path, first = tmp_path / "events", event_line(Note("first"))
    if not is_new:
        path.write_bytes(first)
    leave_room(10)
    complaints = []
    with EventLog(path, complaints.append) as log:
        log(Note("second"))
    assert len(complaints) == 1
    assert "can no longer be written (No space left" in complaints[0]
    assert not path.exists() if is_new else path.read_bytes() == first
