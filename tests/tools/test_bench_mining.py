"""The benchmark of mining: few photos, few stages; how a model is cut."""

from __future__ import annotations

import builders
import numpy as np
import pytest

from vjcascade.imaging import write_image


@pytest.fixture
def data(tmp_path, rng):
    (tmp_path / "negatives-train").mkdir()
    for name, shape in (("a", (480, 640)), ("b", (640, 480)), ("c", (100, 100))):
        write_image(tmp_path / "negatives-train" / f"{name}.png", builders.smooth_noise(rng, *shape))
    return ["--data", tmp_path, "--rounds", "1"]


def test_a_table_is_printed(run_program, data):
    done = run_program("bench_mining.py", *data, "--stages", "0", "99", "--wanted", "20")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("2 photos, 20 windows wanted")
    no_stage, all_stages = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines[4:6])
    assert (no_stage[0], no_stage[2]) == ("0", "20")
    assert float(all_stages[1]) < 1e-3


@pytest.mark.oracle
def test_opencv_stands_beside_it(run_program, data, oracle_python):
    done = run_program("bench_mining.py", *data, "--stages", "10", "--photos", "1", "--oracle", oracle_python)
    assert done.returncode == 0, done.stderr
    *_, theirs, ratio, _ = done.stdout.splitlines()[4].split("|")
    assert float(theirs) > 0
    assert float(ratio) > 0
    assert "two cores look at" in done.stdout


def test_photos_are_missed(run_program, tmp_path):
    done = run_program("bench_mining.py", "--data", tmp_path)
    assert done.returncode == 1
    assert "there are no photos of 640x480" in done.stderr


def test_the_goal_is_for_ten_stages(program):
    bench = program("bench_mining")

    def measured(n_stages, seconds):
        mined = bench.Mined(np.empty((0, 1, 1), np.uint8), 10**8, 0, exhausted=True)
        return bench.Measurement(n_stages, mined, bench.Timed(seconds, seconds), None)

    assert bench.verdict([measured(5, 1.0)]) == ""
    assert "200.0 million windows a second; the goal of 20 is reached" in bench.verdict([measured(10, 1.0)])
    assert "MISSED" in bench.verdict([measured(10, 11.0)])
