"""What is made of the answers of programs that tried an export."""

import sys
from pathlib import Path

import numpy as np
import pytest
from export_models import trial_of

from vjcascade.errors import ModelError
from vjcascade.exports import programs
from vjcascade.exports.base import check_answers
from vjcascade.exports.programs import parsed_answers, run_program


def test_boxes_must_be_the_detectors():
    trial = trial_of("stump")
    raw, found = trial.raw.boxes, trial.found.boxes
    check_answers(trial, trial.passed, raw, found)
    moved = found + np.array([1, 0, 0, 0], np.int32)
    for wrong, what in (
        ((raw[1:], found), "windows"),
        ((raw, moved), "detections"),
        ((raw[::-1], found), "windows"),
    ):
        with pytest.raises(ModelError, match=rf"the export finds [\d]+ {what} in a picture, the detector "):
            check_answers(trial, trial.passed, *wrong)


def test_every_window_must_be_answered_for():
    trial = trial_of("stump")
    with pytest.raises(ModelError, match=r"returned 2499 results for 2,500 windows"):
        check_answers(trial, trial.passed[1:], trial.raw.boxes, trial.found.boxes)


def test_answers_are_taken_apart():
    numbers = [7, -1, 2, *range(8), 1, 9, 9, 9, 9]
    passed, raw, found = parsed_answers(np.array(numbers, np.int32).tobytes(), 2)
    assert (passed.tolist(), raw.tolist(), found.tolist()) == (
        [7, -1],
        [[0, 1, 2, 3], [4, 5, 6, 7]],
        [[9, 9, 9, 9]],
    )


@pytest.mark.parametrize(
    "numbers", [[], [7], [7, -1], [7, -1, 0], [7, -1, 1, 1, 1, 1, 0], [7, -1, 0, 0, 0], [7, -1, -1, 0]]
)
def test_other_bytes_are_no_answers(numbers):
    with pytest.raises(ModelError, match=r"bytes has the wrong length"):
        parsed_answers(np.array(numbers, np.int32).tobytes(), 2)
    with pytest.raises(ModelError, match=r"5 bytes has the wrong length"):
        parsed_answers(b"12345", 0)


def test_programs_that_hang_or_are_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "TIMEOUT", 0.2)
    with pytest.raises(ModelError, match=r"could not be tested: python.* failed \(.*timed out"):
        run_program([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path)
    with pytest.raises(ModelError, match=r"could not be tested: nothing failed"):
        run_program([str(Path(tmp_path) / "nothing")], tmp_path)
