"""``vjcascade demo`` finds the face that it promises."""

import json
import sys

import numpy as np
import pytest

from vjcascade import imaging, read_image
from vjcascade.cli import demo as module, main


def test_demo(run, tmp_path, monkeypatch):
    """But for most of its stages: `.ci/run` runs the whole, and looks for the one face."""
    monkeypatch.setattr(module, "OPTIONS", (*module.OPTIONS, "--stages", "4"))
    demo = tmp_path / "demo"
    ran = run("demo", "--output", demo)
    assert ran.code == 0
    assert f"$ vjcascade train {demo / 'faces'} {demo / 'photos'}" in ran.out
    assert str(demo / "astronaut.found.png") in ran.out.splitlines()[-1]
    assert len(list((demo / "faces").iterdir())) == 100
    drawn = read_image(demo / "astronaut.found.png")
    assert (drawn == np.array([0, 255, 0])).all(axis=2).any()

    words = ["--min-neighbors", module.MIN_NEIGHBORS, "--format", "jsonl"]
    ran = run("detect", demo / "model" / "cascade.xml", data_file("astronaut.png"), *words)
    centres = [
        (found["x"] + found["w"] / 2, found["y"] + found["h"] / 2)
        for found in json.loads(ran.out)["detections"]
    ]
    assert any(170 < x < 275 and 65 < y < 190 for x, y in centres)


@pytest.mark.parametrize("threads", [[], ["--threads", "1"]])
def test_threads_are_handed_on_and_the_demo_can_be_repeated(run, tmp_path, monkeypatch, threads):
    commands = []
    monkeypatch.setattr(module, "N_FACES", 2)
    monkeypatch.setattr(main, "run", lambda words: commands.append(words) or 0)
    for _ in range(2):
        ran = run("demo", "--output", tmp_path, *threads)
        assert ran.code == 0
        assert str(tmp_path / "astronaut.found.png") in ran.out
    assert [words[0] for words in commands] == ["train", "detect"] * 2
    assert all(("--threads" in words) == bool(threads) for words in commands)
    assert all(words[-2:] == threads for words in commands if threads)


def test_a_demo_that_cannot_be_written_says_so(run, tmp_path):
    (tmp_path / "demo").write_text("in the way")
    ran = run("demo", "--output", tmp_path / "demo")
    assert ran.code == 2
    assert "demo" in ran.err


def test_a_missing_opencv_is_said_before_files_are_written(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    monkeypatch.setattr(imaging, "opencv", imaging.opencv.__wrapped__)
    ran = run("demo", "--output", tmp_path / "demo")
    assert (ran.code, "OpenCV cannot be used" in ran.err) == (2, True)
    assert not (tmp_path / "demo").exists()


def test_missing_pictures_are_said_before_files_are_written(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    ran = run("demo", "--output", tmp_path / "demo")
    assert (ran.code, "pip install scikit-image" in ran.err) == (2, True)
    assert not (tmp_path / "demo").exists()


def data_file(name):
    from pathlib import Path

    import skimage

    return Path(skimage.__file__).parent / "data" / name
