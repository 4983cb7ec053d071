"""Boxes of face scenes become COCO's JSON, and figures published for OpenCV's models come out of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vjcascade import Cascade, Detector
from vjcascade.evaluation import Candidate, Protocol, Score, Ties, evaluate, read_scenes
from vjcascade.evaluation.matching import ViolaJones
from vjcascade.imaging import write_image


def test_scenes_are_read_again(run_program, tmp_path):
    (tmp_path / "images").mkdir()
    for name in ("a.png", "images/b.png", "c.png"):
        write_image(tmp_path / name, np.zeros((40, 50), np.uint8))
    side = {"box": [20, 5, 10, 10], "frontal": False}
    scenes = [
        {"file": "a.png", "width": 50, "height": 40, "faces": [{"box": [1.5, 2, 10, 10]}]},
        {"file": "b.png", "width": 50, "height": 40, "faces": [side]},
        {"file": "c.png", "width": 50, "height": 40, "subset": "rotated", "faces": [{"box": [1, 2, 10, 10]}]},
    ]
    (tmp_path / "boxes.json").write_text(json.dumps(scenes))
    words = [tmp_path, "--output", tmp_path / "out.json", "--without", "rotated"]
    ran = run_program("boxes_to_coco.py", *words)
    assert (ran.stdout, ran.stderr) == ("2 scenes, 1 faces, 1 to ignore\n", "")
    first, second = read_scenes(tmp_path / "out.json").scenes
    assert first.boxes.tolist() == [[1.5, 2, 10, 10]]
    assert (second.boxes.tolist(), second.ignored.tolist()) == ([], [[20, 5, 10, 10]])


@pytest.mark.data
@pytest.mark.oracle
def test_published_figures_of_a_model_of_opencv(run_program, opencv_models, shared_data, tmp_path):
    """Ranked by group size, equal ones in order: recall at 0, 5, 10, 31 and 50 false alarms, in percent."""
    folder = shared_data("faces-test-mitcmu")
    run_program("boxes_to_coco.py", folder, "--output", tmp_path / "scenes.json", "--without", "rotated")
    scenes = read_scenes(tmp_path / "scenes.json", pictures=folder)
    counts = (0, 5, 10, 31, 50)
    protocol = Protocol(
        rule=ViolaJones(), score=Score.NEIGHBORS, ties=Ties.IN_ORDER, counts=counts, n_resamples=1
    )
    alt2 = Detector(Cascade.load(opencv_models / "haarcascade_frontalface_alt2.xml"))
    evaluation = evaluate([Candidate("alt2", alt2)], scenes, protocol)
    columns = [[one.key for one in evaluation.figures].index(f"recall_at_{n}") for n in counts]
    found = (100 * evaluation.models[0].values[0, columns]).round(1).tolist()
    assert found == [69.3, 87.5, 88.1, 90.8, 91.4]
