"""Every command of the tutorials works, one after the other, on pictures made on the spot."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from easy_pictures import easy_positive, save, soft_noise
from markdown_pages import PROJECT, code_blocks, command_lines, run_command
from PIL import Image

from vjcascade import Cascade
from vjcascade.formats.annotations.pictures import AnnotatedObject, AnnotatedPicture
from vjcascade.formats.annotations.writing import write_annotations
from vjcascade.training import train
from vjcascade.training.settings import Preset, preset_settings
from vjcascade.types import Size

TUTORIALS = PROJECT / "docs" / "tutorials"


def annotated(folder: Path, n: int, rng: np.random.Generator) -> list[AnnotatedPicture]:
    """Write photos with two signs each, and return what is in them."""
    photos, described = [], []
    for number in range(n):
        photo = soft_noise(rng)
        objects = []
        for x, y in rng.integers(2, 30, (2, 2)) + np.array([[0, 0], [60, 60]]):
            photo[y : y + 24, x : x + 24] = easy_positive(rng)
            objects.append(AnnotatedObject((int(x), int(y), 24, 24), "sign"))
        photos.append(photo)
        name = f"{number:03}.png"
        described.append(AnnotatedPicture(number + 1, name, folder / name, tuple(objects), Size(120, 120)))
    save(folder, photos)
    return described


def lay_out_phone_photos(folder, rng):
    for name, n in (("signs", 20), ("street", 6)):
        write_annotations(folder / name, annotated(folder / name, n, rng), "voc")
    save(folder / "places", [soft_noise(rng) for _ in range(12)])
    logo = np.zeros((24, 24, 2), np.uint8)
    logo[2:22, 2:22] = [40, 255]
    logo[2:22, 12:22, 0] = 220
    Image.fromarray(logo, "LA").save(folder / "logo.png")


def lay_out_coco(folder, rng):
    for name, n in (("annotations", 20), ("validation", 6)):
        write_annotations(folder / f"{name}.json", annotated(folder / name, n, rng), "coco")
    save(folder / "background", [soft_noise(rng) for _ in range(12)])
    annotated(folder / "new-photos", 2, rng)


def lay_out_opencv_traincascade(folder, rng):
    lines = [
        f"photos/{one.name} 2 {' '.join(str(side) for thing in one.objects for side in thing.box)}\n"
        for one in annotated(folder / "photos", 20, rng)
    ]
    (folder / "info.dat").write_text("".join(lines))
    save(folder / "background", [soft_noise(rng) for _ in range(12)])
    (folder / "bg.txt").write_text("".join(f"background/{i:03}.png\n" for i in range(12)))


def lay_out_openmv_and_web(folder, rng):
    settings = preset_settings(Preset.QUICK, max_stages=2, baseline=False, copies=0)
    crops, photos = ([make(rng) for _ in range(n)] for make, n in ((easy_positive, 40), (soft_noise, 12)))
    train(crops, photos, folder / "model", settings)
    Image.fromarray(soft_noise(rng)).save(folder / "picture.pgm")


LAY_OUT = {
    "phone-photos": lay_out_phone_photos,
    "coco": lay_out_coco,
    "opencv-traincascade": lay_out_opencv_traincascade,
    "openmv-and-web": lay_out_openmv_and_web,
}
MADE = {
    "phone-photos": ["check.html", "model/cascade.xml", "found", "sign.xml", "samples.png", "logo-model/cascade.xml"],
    "coco": ["model/cascade.xml", "model-of-one-file/cascade.xml", "found.json", "scenes/annotations.json"],
    "opencv-traincascade": ["pos.vec", "classifier/cascade.xml", "classifier2/cascade.xml", "old.xml", "model"],
    "openmv-and-web": ["sign.html", "sign.js", "sign.cascade", "short.cascade", "sign.h", "sign.py"],
}  # fmt: skip


IN_THE_README_S_FOLDER = {"migrating-from-cv2", "operating-point"}
"""Run by `test_readme`, whose pictures and model they use."""


def text_of(tutorial: str) -> str:
    return (TUTORIALS / f"{tutorial}.md").read_text(encoding="utf-8")


def test_there_is_a_test_for_every_tutorial():
    names = {path.stem for path in TUTORIALS.glob("*.md")}
    assert names == {"index", *LAY_OUT, *IN_THE_README_S_FOLDER}


@pytest.mark.parametrize("tutorial", LAY_OUT)
def test_commands_run(tutorial, tmp_path, rng):
    LAY_OUT[tutorial](tmp_path, rng)
    lines = command_lines(text_of(tutorial))
    assert lines
    for words in lines:
        run_command(words, tmp_path)
    assert [name for name in MADE[tutorial] if not (tmp_path / name).exists()] == []
    if tutorial == "coco":
        assert {one["file_name"] for one in json.loads((tmp_path / "found.json").read_text())["images"]} == {
            "new-photos/000.png",
            "new-photos/001.png",
        }
    if tutorial == "opencv-traincascade":
        assert Cascade.load(tmp_path / "classifier" / "cascade.xml").window == Size(24, 24)


def test_snippets_for_cameras_are_python():
    for block in code_blocks(text_of("openmv-and-web"), "python"):
        compile(block, "snippet", "exec")
