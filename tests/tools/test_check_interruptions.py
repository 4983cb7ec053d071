"""Runs that are killed."""

from __future__ import annotations

import os

import numpy as np
import pytest

from vjcascade import Cascade

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system with fork")


def test_killed_runs_make_the_model_of_an_undisturbed_one(run_program):
    done = run_program("kill_training.py", "--kills", "1", "--stages", "2", "--seed", "1")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [lines[0], lines[4]] == ["runs that go on from 0 stages", "runs that go on from 1 stage"]
    for undisturbed, killed, resumed in (lines[1:4], lines[5:8]):
        assert undisturbed.startswith("undisturbed: 2 stages")
        assert killed.startswith("killed: 1 runs")
        assert int(resumed.split()[4]) >= 1
        assert resumed.endswith("all with the undisturbed run's model, byte for byte")


def test_a_model_that_is_not_whole_is_noticed(program, tmp_path):
    import builders
    import doubles

    kill_training = program("kill_training")
    records = [doubles.stage_record(stage).as_dict() for stage in (1, 2)]
    whole = builders.accept_all(n_stages=2).with_metadata({"stages": records})
    assert kill_training.n_whole_stages(tmp_path, whole) == 0
    builders.accept_all(n_stages=1).with_metadata({"stages": records[:1]}).save(tmp_path / "cascade.xml")
    assert kill_training.n_whole_stages(tmp_path, whole) == 1
    other = builders.random_cascade(np.random.default_rng(0), stages=(1,))
    other.with_metadata({"stages": records[:1]}).save(tmp_path / "cascade.xml")
    with pytest.raises(SystemExit, match="is not the beginning of the undisturbed one"):
        kill_training.n_whole_stages(tmp_path, whole)
    assert Cascade.load(tmp_path / "cascade.xml").n_stages == 1
