"""How far do few crops get with synthesis? Recall in development scenes, of real crops alone and with made samples.

``python tools/bench_synthesis.py PHOTOS --crops CROPS --counts 1 10 50 300 --draws 3 --log synthesis.jsonl`` holds a part of
the crops and of the photos out and makes scenes of them, as `bench_few_crops.py` does. Then it trains on some of the other
crops: alone, with the copies that training makes, and with samples of ``vjcascade samples``. Without ``--crops``, a logo is drawn
and pasted into the photos; crops of some of these stand for real ones, scenes are made of others, and models are also
trained on samples of the drawing alone (0 crops). Words behind ``--`` are options of ``vjcascade train``, as
``-- --preset quick``. A run that was stopped goes on: what the log has is not trained again.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench_few_crops import Split, append_row, found, make_scenes, read_log, table
from PIL import Image, ImageDraw

from vjcascade import Cascade
from vjcascade.cli.main import run
from vjcascade.evaluation import read_scenes
from vjcascade.imaging import find_images, read_gray, write_image
from vjcascade.training.data.positives import MIN_POSITIVES

ALONE, COPIES, SAMPLES = "alone", "with training's copies", "with samples"


@dataclass(frozen=True)
class Task:
    """What is trained on, and the scenes that models are tried in; no picture is in both.

    Attributes
    ----------
    crops, photos : list of Path
        To train on.
    scenes : Path
        List of the scenes with their boxes.
    drawing : Path or None
        The one picture that crops show, where there is one.
    """

    crops: list[Path]
    photos: list[Path]
    scenes: Path
    drawing: Path | None = None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("photos", type=Path, help="folder of photos without the object")
    parser.add_argument("--crops", type=Path, help="folder of crops; a logo is drawn if not given")
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 10, 50, 300], help="crops to train on")
    parser.add_argument("--made", type=int, default=1000, help="samples to make of them")
    parser.add_argument("--draws", type=int, default=3, help="models for each number of crops and each way")
    parser.add_argument("--scenes", type=int, default=120, help="scenes to make")
    parser.add_argument("--log", type=Path, required=True, help="file of what was measured, as lines of JSON")
    words = sys.argv[1:]
    own = words[: words.index("--")] if "--" in words else words
    arguments, options = parser.parse_args(own), words[len(own) + 1 :]
    settings = {
        "object": str(arguments.crops or "logo"),
        "made": arguments.made,
        "options": shlex.join(options),
    }
    known = list(read_log(arguments.log))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        photos = find_images(arguments.photos).paths
        if arguments.crops:
            split = Split.of(find_images(arguments.crops).paths, photos, arguments.scenes)
            task = Task(split.crops, split.photos, make_scenes(split, folder))
        else:
            task = logo_task(photos, arguments.scenes, folder)
        for key in keys(task, arguments.counts, arguments.draws):
            if not any((settings | key).items() <= one.items() for one in known):
                row = settings | key | measured(task, key, arguments.made, options, folder / "run")
                append_row(arguments.log, row)
                known.append(row)
    print(table([one for one in known if settings.items() <= one.items()], ("crops", "way")))


def keys(task: Task, counts: Sequence[int], n_draws: int) -> Iterator[dict[str, object]]:
    """Yield what is trained: how many crops, in which way, which draw of them."""
    for draw in range(n_draws):
        for count in ([0] if task.drawing else []) + [n for n in counts if 0 < n <= len(task.crops)]:
            for way in (ALONE, COPIES, SAMPLES):
                if way == SAMPLES or count >= MIN_POSITIVES:
                    yield {"crops": count, "way": way, "draw": draw}


def logo_task(photos: Sequence[Path], n_scenes: int, folder: Path) -> Task:
    """Draw a logo, and paste it into photos: a third of them to cut crops from, and so many more for scenes."""
    photos = [photos[i] for i in np.random.default_rng(7).permutation(len(photos))]
    n_seen = (len(photos) - n_scenes) // 3
    for_scenes, seen, others = (
        photos[:n_scenes],
        photos[n_scenes : n_scenes + n_seen],
        photos[n_scenes + n_seen :],
    )
    drawing = folder / "logo.png"
    draw_logo(drawing)
    for name, paths in (("scenes", for_scenes), ("seen", seen)):
        link(paths, folder / f"{name}-photos")
        made = [
            "--scenes",
            "--photos",
            str(folder / f"{name}-photos"),
            "--max-scale",
            "8",
            "--seed",
            str(len(name)),
        ]
        if run(["samples", str(drawing), str(folder / name), *made]):
            raise SystemExit("no scenes were made")
    crops = []
    (folder / "crops").mkdir()
    for scene in read_scenes(folder / "seen" / "info.dat").scenes:
        gray = read_gray(scene.path)
        for x, y, w, h in scene.boxes.astype(int).tolist():
            crops.append(folder / "crops" / f"{len(crops):05}.png")
            write_image(crops[-1], gray[y : y + h, x : x + w])
    return Task(crops, others, folder / "scenes" / "info.dat", drawing)


def draw_logo(path: Path) -> None:
    """Write a picture of a logo, transparent around it: a shield with a ring and a bar."""
    image = Image.new("RGBA", (240, 240))
    pen = ImageDraw.Draw(image)
    pen.polygon([(20, 10), (220, 10), (220, 150), (120, 230), (20, 150)], fill=(20, 60, 140, 255))
    pen.ellipse((70, 40, 170, 140), outline=(255, 255, 255, 255), width=18)
    pen.rectangle((50, 160, 190, 178), fill=(250, 200, 30, 255))
    image.save(path)


def link(paths: Sequence[Path], folder: Path) -> Path:
    """Return a new folder with links to pictures."""
    folder.mkdir(parents=True)
    for number, path in enumerate(paths):
        (folder / f"{number:05}{path.suffix}").symlink_to(path.resolve())
    return folder


def measured(
    task: Task, key: dict[str, object], n_made: int, options: Sequence[str], work: Path
) -> dict[str, object]:
    """Train a model in one way, and return what it finds in the scenes."""
    shutil.rmtree(work, ignore_errors=True)
    count, way, draw = key["crops"], key["way"], key["draw"]
    chosen = np.random.default_rng([draw, count]).permutation(len(task.crops))[:count]
    positives = link([task.crops[i] for i in chosen], work / "crops") if count else task.drawing
    photos = link(task.photos, work / "photos")
    began = time.perf_counter()
    if way == SAMPLES:
        behind = [] if count else ["--photos", str(photos)]
        made = ["--make", str(n_made), "--seed", str(draw), *behind]
        if run(["samples", str(positives), str(work / "made"), *made]):
            raise SystemExit("no samples were made")
        positives = work / "made" / "info.dat"
    no_copies = [] if way == COPIES else ["--copies", "0"]
    words = ["train", str(positives), str(photos), "--output", str(work / "model"), "--no-baseline"]
    if run([*words, *no_copies, *options]):
        raise SystemExit("training failed")
    seconds = time.perf_counter() - began
    cascade = Cascade.load(work / "model" / "cascade.xml")
    sizes = {"stages": cascade.n_stages, "weak": cascade.n_trees, "seconds": round(seconds)}
    return sizes | found(cascade, task.scenes)


if __name__ == "__main__":
    main()
