"""Every command and snippet of the README and the how-to pages works, and says what the project's own files say.

They share a folder, and are run in the order of `PAGES`, each once: a model is trained before others use it.
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import skimage
from markdown_pages import PROJECT, code_blocks, each_once, run, run_command, run_snippet
from PIL import Image

from vjcascade import Cascade, Size
from vjcascade.compat.data import find
from vjcascade.evaluation import OperatingPoint
from vjcascade.imaging import read_gray, read_image, resize_crop, write_image
from vjcascade.video import VideoSink

README = (PROJECT / "README.md").read_text(encoding="utf-8")
HOW_TO = PROJECT / "docs" / "how-to"
NAMES = re.findall(r"^([\w-]+)$", (HOW_TO / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
TUTORIALS = ("migrating-from-cv2", "operating-point")
"""Those that have no pictures of their own; `test_tutorials` runs the others."""
FILES = [
    PROJECT / "README.md",
    *(HOW_TO / f"{name}.md" for name in NAMES),
    *(PROJECT / "docs" / "tutorials" / f"{name}.md" for name in TUTORIALS),
    PROJECT / "docs" / "reference" / "events.md",
]
PAGES = [path.read_text(encoding="utf-8") for path in FILES]
SNIPPETS = list(dict.fromkeys(block for page in PAGES for block in code_blocks(page, "python")))
PICTURES = Path(skimage.__file__).parent / "data"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the pages talk of, their commands run in it.

    Crops are small, which makes a small window, and photos few and plain, so that training ends early.
    """
    folder = tmp_path_factory.mktemp("readme")
    for name in ("crops", "photos"):
        (folder / name).mkdir()
    faces = np.load(PICTURES / "lfw_subset.npy")[:60]
    for i, face in enumerate(faces):
        small = resize_crop(np.round(face * 255).astype(np.uint8), Size(14, 14))
        write_image(folder / "crops" / f"{i}.png", small)
    bricks = read_image(PICTURES / "brick.png")
    for i in range(12):
        write_image(folder / "photos" / f"{i}.png", bricks[40 * i : 40 * i + 30, :40])
    astronaut = read_image(PICTURES / "astronaut.png")
    write_image(folder / "picture.png", astronaut)
    logo = np.zeros((20, 20, 4), np.uint8)
    logo[2:18, 2:18] = [200, 30, 30, 255]
    logo[8:12, 4:16, :3] = 255
    Image.fromarray(logo, "RGBA").save(folder / "logo.png")
    with VideoSink(folder / "drive.mp4", 10, Size(60, 60)) as sink:
        for left in range(140, 152, 4):
            sink.write(np.ascontiguousarray(astronaut[420:480, left : left + 60]))
    scene = read_gray(PICTURES / "coins.png")[:80, :100].copy()
    scene[20:45, 30:55] = np.round(faces[1] * 255)
    write_image(folder / "scene.png", scene)
    (folder / "scenes.txt").write_text("scene.png 1 30 20 25 25\npicture.png 0\n")
    rows = np.random.default_rng(0).normal(size=(80, 2)) + (np.arange(80) % 2)[:, np.newaxis]
    table = [f"{age:.3f},{weight:.3f},{i % 2}" for i, (age, weight) in enumerate(rows)]
    (folder / "patients.csv").write_text("\n".join(["age,weight,ill", *table]) + "\n")
    names = sorted(path.name for path in (folder / "crops").iterdir())
    (folder / "info.dat").write_text("".join(f"crops/{name} 1 0 0 14 14\n" for name in names))
    (folder / "bg.txt").write_text("".join(f"photos/{i}.png\n" for i in range(12)))
    commands = each_once(PAGES)
    assert len(commands) >= 20
    for words in commands:
        run_command(words, folder)
    return folder


def test_all_pages_are_there():
    assert {path.stem for path in HOW_TO.glob("*.md")} == {*NAMES, "index"}


def test_no_page_has_snippets_that_nobody_runs():
    docs = PROJECT / "docs"
    others = set(docs.rglob("*.md")) - {*FILES, docs / "readme.md"}
    texts = {path: path.read_text(encoding="utf-8") for path in others if path.parent.name != "tutorials"}
    with_code = [
        path.name for path, text in texts.items() if code_blocks(text, "sh") or code_blocks(text, "python")
    ]
    assert with_code == []


def test_commands_run(folder):
    assert (folder / "model" / "cascade.xml").exists()
    assert len((folder / "found.jsonl").read_text().splitlines()) == 12
    assert len((folder / "drive.jsonl").read_text().splitlines()) == 3
    assert {path.name for path in (folder / "drawn").iterdir()} == {"picture.found.png", "drive.found.mp4"}
    assert "opencv-haar-classifier" in (folder / "old.xml").read_text()
    assert "<svg" in (folder / "report.html").read_text()
    assert OperatingPoint.of(Cascade.load(folder / "tuned.xml")) is not None
    assert list((folder / "false-alarms").glob("*.png"))
    assert Cascade.load(folder / "old" / "cascade.xml").window == Size(14, 14)
    assert (folder / "faces.vec").read_bytes() == (folder / "crops.vec").read_bytes()
    assert {"look.png", "logos", "more-crops"} <= {path.name for path in folder.iterdir()}
    assert len((folder / "scenes" / "info.dat").read_text().splitlines()) == 5
    for page in ("comparison/report.html", "tables/report.html", "whole/full.html", "measured/report.html"):
        assert "<svg" in (folder / page).read_text()
    longer, model = (Cascade.load(folder / name / "cascade.xml") for name in ("better", "model"))
    assert longer.stage_thresholds[: model.n_stages].tolist() == model.stage_thresholds.tolist()


def test_snippets_run(folder, tmp_path, monkeypatch):
    """One of them loads a file of OpenCV's, which may not be on this machine: any model will do."""
    (tmp_path / "haarcascades").mkdir()
    shutil.copy(find("car"), tmp_path / "haarcascades" / "haarcascade_frontalface_default.xml")
    monkeypatch.setenv("VJCASCADE_DATA", str(tmp_path))
    for block in SNIPPETS:
        if "import cv2" in block or ("sklearn" in block and find_spec("sklearn") is None):
            continue
        run_snippet(block, folder)


@pytest.mark.oracle
def test_snippet_for_opencv_finds_the_same(folder, oracle_python):
    block = next(block for block in SNIPPETS if "import cv2" in block)
    block = block.replace("1.1, 3)", "1.1, 0)")  # every window that passes
    (folder / "snippet.py").write_text(
        f"{block}print(sorted(map(list, boxes.tolist())) if len(boxes) else [])\n"
    )
    theirs = json.loads(run([str(oracle_python), "snippet.py"], folder))
    ours = Cascade.load(folder / "model" / "cascade.xml").detect(
        read_image(folder / "picture.png"), min_neighbors=0
    )
    assert sorted(ours.boxes.tolist()) == theirs
    assert theirs


def test_dependencies_are_those_of_the_project():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    wanted = {re.split(r"[<>=]", name)[0] for name in project["dependencies"]} - {"opencv-python"}
    line = next(line for line in README.splitlines() if "--no-deps ." in line)
    assert set(line.split("pip install ")[-1].split()) - {"opencv-python-headless"} == wanted


def test_programs_are_installed_as_the_readme_names_them():
    scripts = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["scripts"]
    assert set(scripts) == {"vjcascade", "train-cascade"}
    assert all(f"{name} " in README for name in scripts)


def test_files_it_names_are_there():
    for name in re.findall(r"`((?:models|samples|tools|\.ci)/[^` ]*)`", "".join(PAGES)):
        assert (PROJECT / name).exists(), name
    assert list((PROJECT / "models").glob("*.xml"))


def test_first_screen_has_a_picture_and_both_commands():
    first = README.split("\n## ")[0]
    pictures = re.findall(r"!\[.+\]\((.+)\)", first)
    assert pictures
    assert all((PROJECT / picture).exists() for picture in pictures)
    assert sum(line.startswith("python3 -m venv .venv && ") for line in first.splitlines()) == 2


def test_it_is_short():
    assert len(README.splitlines()) <= 200
