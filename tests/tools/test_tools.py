"""The developers' programs run."""

from __future__ import annotations

import json

import builders
import numpy as np
import pytest

from vjcascade import Size
from vjcascade.imaging import write_image


@pytest.fixture
def run(run_program):
    """Return `run(name, *arguments) -> str`: what a program prints; it must not fail."""

    def call(name, *arguments):
        done = run_program(name, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_training_benchmark(run):
    out = run("bench_training.py", "--samples", "60", "--window", "8x8", "--rounds", "1", "--threads", "1")
    assert "2,056 features x 60 windows" in out
    assert "| adaboost: a round, mean of 1 |" in out


def test_boosters_benchmark(run, tmp_path, rng):
    for folder, side in (("crops", 9), ("photos", 40)):
        (tmp_path / folder).mkdir()
        write_image(tmp_path / folder / "picture.png", builders.smooth_noise(rng, side, side))
    folders = ["--positives", str(tmp_path / "crops"), "--negatives", str(tmp_path / "photos")]
    size = ["--samples", "60", "--window", "8x8", "--features-step", "4", "--rounds", "3", "--threads", "1"]
    which = ["--ratios", "2", "10", "--boosters", "adacost", "cost-sensitive", "gentle"]
    lines = run("bench_boosters.py", *size, *folders, *which).splitlines()
    assert lines[0] == "514 features x 60 samples, 1 threads"
    assert [line.split("|")[1].strip() for line in lines if line.startswith("| ")] == [
        "booster, costs",
        "adacost, 2:1",
        "cost-sensitive, 2:1",
        "cost-sensitive, 10:1",
        "cost-sensitive sign=any, 2:1",
        "cost-sensitive sign=any, 10:1",
        "gentle, 2:1",
    ]
    assert "The greatest ratio of processor seconds is" in lines[-1]


@pytest.mark.parametrize("name", ["build_face_model.py", "face_scenes.py"])
def test_programs_explain_themselves(run, name):
    assert "usage:" in run(name, "--help")


def test_scenes_are_measured(program, tmp_path, monkeypatch, rng):
    face_scenes = program("face_scenes")
    write_image(tmp_path / "scene.png", rng.integers(0, 256, (24, 24), np.uint8))
    scene = {"file": "scene.png", "subset": "A", "faces": [{"box": [0, 0, 24, 24]}]}
    (tmp_path / "boxes.json").write_text(json.dumps([scene]))
    monkeypatch.setattr(face_scenes, "NEIGHBORS", (0,))
    figures = face_scenes.measure_set(builders.accept_all(Size(24, 24)), tmp_path)
    assert (figures.n_scenes, figures.n_faces, figures.by_neighbors) == (1, 1, {0: (1.0, 0)})
    assert figures.hit_rate_at[5] == 1.0
    assert "1.000 / 0" in face_scenes.table(face_scenes.Figures([figures], 100, 1))
