"""Scenes with objects that a model finds, and some that it does not (`import scene_files`)."""

from __future__ import annotations

import builders

from vjcascade.detection import Detector
from vjcascade.imaging import write_image
from vjcascade.types import Size


def model_and_scenes(folder, rng, n_scenes=6):
    """Write `model.xml`, pictures, and `scenes.txt` whose objects the model's first two of three stages find."""
    cascade = builders.random_cascade(rng, Size(12, 10), (3, 4, 5), bar=0.1)
    cascade.save(folder / "model.xml")
    detector = Detector(cascade.first_stages(2), min_neighbors=2, n_threads=1)
    lines = []
    for i in range(n_scenes):
        picture = builders.smooth_noise(rng, 40, 50)
        write_image(folder / f"{i}.png", picture)
        boxes = detector.detect(picture).boxes
        lines.append(" ".join(map(str, [f"{i}.png", len(boxes), *boxes.ravel()])))
    (folder / "scenes.txt").write_text("\n".join(lines) + "\n")
    return cascade
