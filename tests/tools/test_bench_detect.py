"""The benchmark of detection: a picture and two models; what it says of answers made up."""

import json
from itertools import cycle

import numpy as np
import pytest

LBP = "lbpcascade_frontalface_opencv"


@pytest.mark.oracle
def test_both_libraries_are_timed_and_agree(run_program, oracle_python, tmp_path):
    which = ["--models", "eye", LBP, "--pictures", "512x512", "crowd", "--threads", "2"]
    few = ["--rounds", "2", "--oracle", oracle_python]
    done = run_program(
        "bench_detect.py", *which, *few, "--data", tmp_path, "--json", tmp_path / "figures.json"
    )
    assert done.returncode == 0, done.stderr
    assert "OpenCV 4.14" in done.stdout
    assert "crowd is skipped: there is no faces-scenes-train" in done.stdout
    assert "Boxes differ in 0 of 2." in done.stdout
    rows = json.loads((tmp_path / "figures.json").read_text())["measurements"]
    assert [(row["model"], row["picture"], row["n_threads"]) for row in rows] == [
        ("eye", "512x512", 2),
        (LBP, "512x512", 2),
    ]
    for row in rows:
        assert row["equal"]
        assert row["boxes"] > 0
        assert row["rounds"] == 2
        assert min(row[who][clock] for who in ("opencv", "ours", "ratio") for clock in ("wall", "cpu")) > 0


class MadeUp:
    """A library that answers as it is told."""

    def __init__(self, boxes, seconds):
        self.boxes = np.array(boxes, np.int32).reshape(-1, 4)
        self.seconds = cycle(seconds)

    def ask(self, command, **_):
        if command != "measure":
            return {}
        seconds = next(self.seconds)
        return {"boxes": self.boxes, "wall": seconds, "cpu": 2 * seconds}


def test_other_boxes_are_told(program):
    bench = program("bench_detect")
    arguments = bench.argparse.Namespace(rounds=9, seconds=1.0)
    data = (bench.Model("eye", "ours.xml", "theirs.xml"), [])

    def measure(ours):
        theirs = MadeUp([[1, 2, 3, 4], [5, 6, 7, 8]], seconds=[6.0])
        return bench.measure(
            bench.Case("eye", "VGA", 1), theirs, MadeUp(ours, seconds=[2.0]), data, arguments
        )

    same, other = measure([[5, 6, 7, 8], [1, 2, 3, 4]]), measure([[5, 6, 7, 8]])
    assert (same.equal, same.ratio, same.n_rounds) == (True, (3.0, 3.0), bench.LEAST_ROUNDS)
    assert not other.equal
    assert "DIFFERENT" in other.row()
    told = bench.verdict([same, other])
    assert "3.00 (not 6) eye VGA 1" in told
    assert "Boxes differ in 1 of 2." in told


def test_the_best_rounds_stand_beside_the_medians(program):
    bench = program("bench_detect")
    theirs, ours = (
        MadeUp([], seconds=[0.6, 0.8, 0.8, 0.8, 0.8]),
        MadeUp([], seconds=[0.2, 0.2, 0.2, 0.2, 0.1]),
    )
    arguments = bench.argparse.Namespace(rounds=5, seconds=1.0)
    case, data = bench.Case("eye", "VGA", 1), (bench.Model("eye", "ours.xml", "theirs.xml"), [])
    found = bench.measure(case, theirs, ours, data, arguments)
    assert found.ratio == pytest.approx((4, 4))
    assert found.best == pytest.approx((6, 6))
    assert found.row().count("| 4.00 | 6.00 |") == 2


def test_pictures_are_cut_to_shape(program):
    bench = program("bench_detect")
    picture = np.zeros((30, 60), np.uint8)
    picture[:, 20:40] = 200
    fitted = bench.fitted(picture, bench.Size(40, 60))
    assert fitted.shape == (60, 40)
    assert (fitted == 200).all()


def test_the_environment_of_opencv_is_asked_for(run_program, tmp_path):
    done = run_program("bench_detect.py", "--oracle", tmp_path / "python")
    assert done.returncode == 1
    assert "does not exist: name the Python of an environment with OpenCV 4.14" in done.stderr
