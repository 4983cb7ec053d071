"""The trained models: they load, tell how they were made, and find the same in OpenCV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import skimage

from vjcascade import Cascade
from vjcascade.cascade import CHANGES
from vjcascade.imaging import read_gray

MODELS = sorted((Path(__file__).parents[1] / "models").glob("*.xml"))
FACES = next(path for path in MODELS if path.stem == "frontalface")
PICTURES = Path(skimage.__file__).parent / "data"


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_model_tells_how_it_was_made(path):
    cascade = Cascade.load(path)
    stages = cascade.metadata["stages"]
    added = sum(change.get("stages", 0) for change in cascade.metadata.get(CHANGES, ()))  # another model's
    assert [stage["n_weak"] for stage in stages] == cascade.stage_sizes[: cascade.n_stages - added].tolist()
    assert stages[-1]["overall_false_alarm_rate"] <= 1e-4
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    weak = "stumps" if len(cascade.nodes) == cascade.n_trees else "trees"
    assert f"{cascade.n_stages} stages, {cascade.n_trees} {weak}" in card


def test_the_face_model_finds_the_astronaut():
    found = Cascade.load(FACES).detect(read_gray(PICTURES / "astronaut.png"))
    assert len(found) == 1
    x, y, w, h = found.boxes[0]
    assert x < 224 < x + w  # the nose
    assert y < 115 < y + h


@pytest.mark.oracle
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_opencv_finds_the_same(oracle, path):
    pictures = {
        name: read_gray(PICTURES / f"{name}.png") for name in ("astronaut", "coffee", "motorcycle_left")
    }
    theirs = oracle("detect", xml=path, settings=np.array([[1.1, 0, 0, 0, 0, 0]]), **pictures)
    cascade = Cascade.load(path)
    ours = [cascade.detect(gray, min_neighbors=0).boxes for gray in pictures.values()]
    assert [len(boxes) for boxes in ours] == theirs["n_boxes"].tolist()
    assert np.concatenate(ours).tolist() == theirs["boxes"].tolist()
