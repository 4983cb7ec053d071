from __future__ import annotations

import json
from pathlib import Path

import pytest

from vjcascade.comparison.run_cache import RUNS_NAME, RunCache
from vjcascade.errors import SettingsError

ORIGIN = {"n_rounds": 5, "positives": 3, "positives_sha256": "abc"}
RESULTS = {"adaboost 1:1, natural": {"cost": 0.1 + 0.2, "weak": None}}


def test_results_are_there_again(tmp_path):
    RunCache.open(tmp_path, ORIGIN).add("stage 1", 2, "adaboost|any|half", RESULTS)
    again = RunCache.open(tmp_path, ORIGIN, resume=True)
    assert again.results == {("stage 1", 2, "adaboost|any|half"): RESULTS}


@pytest.mark.parametrize("n_bytes", [1, 20, 60])
def test_a_torn_line_is_dropped(tmp_path, n_bytes):
    finished = RunCache.open(tmp_path, ORIGIN)
    finished.add("stage 1", 0, "a", RESULTS)
    finished.add("stage 1", 1, "a", RESULTS)
    whole = finished.path.read_bytes()
    finished.path.write_bytes(whole[:-n_bytes])
    again = RunCache.open(tmp_path, ORIGIN, resume=True)
    if n_bytes > 1:
        assert list(again.results) == [("stage 1", 0, "a")]
        again.add("stage 1", 1, "a", RESULTS)
    assert finished.path.read_bytes() == whole


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no disk that is always full")
def test_a_full_disk_is_told_with_the_file(tmp_path):
    finished = RunCache(Path("/dev/full"), {})
    with pytest.raises(OSError, match="No space left on device; finished runs are saved") as error:
        finished.add("stage 1", 0, "a", RESULTS)
    assert error.value.filename == "/dev/full"
    assert not finished.results


def test_what_is_there_is_not_lost_by_mistake(tmp_path):
    RunCache.open(tmp_path, ORIGIN).add("stage 1", 0, "a", RESULTS)
    with pytest.raises(SettingsError, match="already holds a comparison: resume or overwrite it"):
        RunCache.open(tmp_path, ORIGIN)
    assert not RunCache.open(tmp_path, ORIGIN, overwrite=True).results


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ({"n_rounds": 6}, "n_rounds: 5 there, 6 now. Restore it"),
        ({"positives": 4, "positives_sha256": "x"}, "cannot be resumed; positives: 3 there, 4 now"),
        ({"positives_sha256": "x"}, "other contents: positives. Restore"),
        ({"mode": "all"}, "mode: None there, all now"),
    ],
)
def test_other_settings_or_data_are_refused(tmp_path, now, message):
    RunCache.open(tmp_path, ORIGIN).add("stage 1", 0, "a", RESULTS)
    before = (tmp_path / RUNS_NAME).read_bytes()
    with pytest.raises(SettingsError, match=message):
        RunCache.open(tmp_path, {**ORIGIN, **now}, resume=True)
    assert (tmp_path / RUNS_NAME).read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"[1]\n", b"\xff\xfe\n", b'{"v": 7}\n', b"null\n{}\n"])
def test_what_is_no_record_is_refused(tmp_path, content):
    (tmp_path / RUNS_NAME).write_bytes(content)
    with pytest.raises(SettingsError, match="not a record of a comparison"):
        RunCache.open(tmp_path, ORIGIN, resume=True)


def test_lines_that_are_no_runs_are_left_out(tmp_path):
    finished = RunCache.open(tmp_path, ORIGIN)
    finished.add("stage 1", 0, "a", RESULTS)
    with finished.path.open("ab") as file:
        file.write(json.dumps({"block": "stage 1", "seed": [1], "run": "a", "results": 3}).encode() + b"\n")
        file.write(b'{"block": "stage 1"}\n' + b"[" * 100_000 + b"\n")
    assert list(RunCache.open(tmp_path, ORIGIN, resume=True).results) == [("stage 1", 0, "a")]


def test_a_full_disk_leaves_no_torn_line(tmp_path, leave_room):
    cache = RunCache.open(tmp_path, ORIGIN)
    cache.add("stage 1", 0, "a", RESULTS)
    before = cache.path.read_bytes()
    leave_room(10)
    with pytest.raises(OSError, match="free some space and resume"):
        cache.add("stage 1", 1, "a", RESULTS)
    assert cache.path.read_bytes() == before
