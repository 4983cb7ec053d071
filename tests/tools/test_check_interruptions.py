"""Runs that are killed, that have no room on their disk, and that begin at once."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

from vjcascade.formats.cascade_files import dump_cascade

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system with fork")


@pytest.fixture
def check(program):
    return program("check_interruptions")


@pytest.mark.parametrize(("kind", "n_files"), [("train", 8), ("tables", 6)])
def test_interrupted_runs_leave_what_an_undisturbed_one_leaves(run_program, kind, n_files):
    options = ("--kills", "1", "--disks", "1", "--at-once", "2", "--stages", "2", "--seed", "1")
    done = run_program("check_interruptions.py", "--kinds", kind, *options)
    assert done.returncode == 0, done.stderr
    undisturbed, killed, resumed, disks, at_once = done.stdout.splitlines()
    assert undisturbed.startswith(f"{kind}: undisturbed, {n_files} files in ")
    assert killed.startswith("killed: 1 runs while they ran")
    assert re.fullmatch(r"resumed to the end: [1-9] runs, all with the undisturbed .* byte for byte", resumed)
    assert re.search(r": 1 sizes, .* \(exit code 2 of 1\), all resumed$", disks)
    assert re.match(r"2 runs at once, begun and resumed: [12] were sent away, the others left what", at_once)


def test_a_model_that_is_not_whole_is_noticed(check, tmp_path):
    import builders
    import doubles

    records = [doubles.stage_record(stage).as_dict() for stage in (1, 2)]
    whole = {"cascade.xml": dump_cascade(builders.accept_all(n_stages=2).with_metadata({"stages": records}))}
    assert check.not_whole(tmp_path, whole, was_killed=False) == []
    builders.accept_all(n_stages=1).with_metadata({"stages": records[:1]}).save(tmp_path / "cascade.xml")
    assert check.not_whole(tmp_path, whole, was_killed=False) == []
    other = builders.random_cascade(np.random.default_rng(0), stages=(1,))
    other.with_metadata({"stages": records[:1]}).save(tmp_path / "cascade.xml")
    assert check.not_whole(tmp_path, whole, was_killed=True) == ["cascade.xml"]


@pytest.mark.parametrize(
    ("name", "data", "after_kill", "else_"),
    [
        ("runs.jsonl", b"1\n2\n", True, True),
        ("runs.jsonl", b"1\n2", True, False),
        ("runs.jsonl", b"1\n3\n", False, False),
        ("events.jsonl", b'{"v"', True, False),
        ("results.csv", b"a,b", True, True),
        ("results.csv", b"a,", False, False),
        (".vjcascade-0123456789abcdef.tmp", b"", True, False),
        ("negatives-1.npz", b"without a model", True, False),
        ("core", b"", False, False),
    ],
)
def test_what_is_half_written_is_noticed(check, tmp_path, name, data, after_kill, else_):
    expected = {"runs.jsonl": b"1\n2\n3\n", "events.jsonl": b"", "results.csv": b"a,b"}
    (tmp_path / name).write_bytes(data)
    for was_killed, is_whole in ((True, after_kill), (False, else_)):
        assert check.not_whole(tmp_path, expected, was_killed=was_killed) == ([] if is_whole else [name])


def test_what_is_left_over_missing_or_other_is_noticed(check, tmp_path):
    expected = {"cascade.xml": b"whole", "events.jsonl": b"1", "history/mean-positive.png": b"picture"}
    found = {"cascade.xml": b"whole", "events.jsonl": b"2"}
    assert check.differences(expected, expected) == check.differences(found, expected) == []
    assert check.differences({**found, "cascade.xml": b"other"}, expected) == ["cascade.xml"]
    assert check.differences({**found, "negatives-1.npz": b""}, expected) == ["negatives-1.npz"]
    assert check.differences({"cascade.xml": b"whole"}, expected) == ["events.jsonl"]
    (tmp_path / "history").mkdir()
    assert check.empty_folders(tmp_path) == [str(tmp_path / "history")]


def test_only_times_may_be_lost_with_a_process(check):
    expected = {
        "full/a/run.json": b'{"stages": {"1": {"seconds": 0.0, "memory": null}, "2": {"seconds": 0.0}}, "ended": "x"}',
        "full.json": b'{"n_stages": 2, "seconds": 0.0}',
    }
    found = {
        "full/a/run.json": b'{"stages": {"2": {"seconds": 0.0}}, "ended": "x"}',
        "full.json": b'{"n_stages": 2, "seconds": null}',
    }
    assert check.differences(found, expected) == []
    found["full.json"] = found["full.json"].replace(b"2", b"3")
    assert check.differences(found, expected) == ["full.json"]
