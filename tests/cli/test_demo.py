"""``vjcascade demo`` finds the face that it promises."""

import json

import numpy as np

from vjcascade import read_image


def test_demo(run, tmp_path):
    demo = tmp_path / "demo"
    ran = run("demo", "--output", demo)
    assert ran.code == 0
    assert f"$ vjcascade train {demo / 'faces'} {demo / 'photos'}" in ran.out
    assert str(demo / "astronaut.png") in ran.out.splitlines()[-1]
    assert len(list((demo / "faces").iterdir())) == 200
    drawn = read_image(demo / "astronaut.png")
    assert (drawn == np.array([0, 255, 0])).all(axis=2).any()

    ran = run("detect", demo / "model" / "cascade.xml", data_file("astronaut.png"), "--format", "jsonl")
    (face,) = json.loads(ran.out)["detections"]
    assert 170 < face["x"] + face["w"] / 2 < 275
    assert 65 < face["y"] + face["h"] / 2 < 190


def test_a_demo_that_cannot_be_written_says_so(run, tmp_path):
    (tmp_path / "demo").write_text("in the way")
    ran = run("demo", "--output", tmp_path / "demo")
    assert ran.code == 2
    assert "demo" in ran.err


def data_file(name):
    from pathlib import Path

    import skimage

    return Path(skimage.__file__).parent / "data" / name
