"""How good are models that are trained on few crops? Recall in development scenes by number of crops.

``python tools/bench_few_crops.py CROPS PHOTOS --counts 25 50 100 --draws 5 --log few.jsonl`` holds a part of the crops out, lays them
into a part of the photos (one or two a scene, in many sizes, with soft edges), trains a model on each draw of the other
crops and the other photos, and prints a table. Words behind ``--`` are options of ``vjcascade train``, as ``-- --copies 0``.
A run that was stopped goes on: what the log has is not trained again. The scenes are for choosing settings; few_crops_table.py
measures on real ones.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vjcascade import Cascade, Detector, Size
from vjcascade.cli.main import run
from vjcascade.evaluation import detection_curve, match_detections, read_scenes
from vjcascade.files import append_whole
from vjcascade.imaging import find_images, read_gray, resize_crop, write_image

LONGER_SIDE = 640
"""Of scenes, in pixels."""

WIDTHS = 0.09, 0.3
"""Of objects, in longer sides of their scenes."""

SOFT_EDGE = 0.08
"""Of an object's shorter side: over so much it fades into the photo."""

FALSE_ALARMS = 0, 5, 10
"""In all scenes together: where recall is read."""


@dataclass(frozen=True)
class Split:
    """What is trained on and what scenes are made of, without a picture in common."""

    crops: list[Path]
    photos: list[Path]
    scene_crops: list[Path]
    scene_photos: list[Path]

    @classmethod
    def of(cls, crops: Sequence[Path], photos: Sequence[Path], n_scenes: int) -> Split:
        """Hold out a quarter of the crops, and as many photos as there shall be scenes; the same in every run."""
        rng = np.random.default_rng(7)
        shuffled = [crops[i] for i in rng.permutation(len(crops))]
        others = [photos[i] for i in rng.permutation(len(photos))]
        n_held_out = len(crops) // 4
        return cls(shuffled[n_held_out:], others[n_scenes:], shuffled[:n_held_out], others[:n_scenes])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("crops", type=Path, help="folder of crops")
    parser.add_argument("photos", type=Path, help="folder of photos without the object")
    parser.add_argument(
        "--counts", type=int, nargs="+", default=[25, 50, 100, 200, 500], help="crops to train on"
    )
    parser.add_argument("--draws", type=int, default=5, help="models for each number of crops")
    parser.add_argument("--scenes", type=int, default=120, help="scenes to make")
    parser.add_argument("--log", type=Path, required=True, help="file of what was measured, as lines of JSON")
    words = sys.argv[1:]
    own = words[: words.index("--")] if "--" in words else words
    arguments, options = parser.parse_args(own), words[len(own) + 1 :]
    split = Split.of(
        find_images(arguments.crops).paths, find_images(arguments.photos).paths, arguments.scenes
    )
    same = {"options": shlex.join(options)}
    known = list(read_log(arguments.log))
    with tempfile.TemporaryDirectory() as folder:
        scenes = make_scenes(split, Path(folder))
        for count in arguments.counts:
            for draw in range(arguments.draws):
                key = {"crops": count, "draw": draw} | same
                if count <= len(split.crops) and not any(key.items() <= one.items() for one in known):
                    row = key | measured(split, count, draw, options, scenes, Path(folder) / "run")
                    append_row(arguments.log, row)
                    known.append(row)
    print(table([one for one in known if same.items() <= one.items()]))


def read_log(log: Path) -> Iterator[dict[str, object]]:
    """Yield what was measured before."""
    if log.exists():
        yield from map(json.loads, log.read_text(encoding="utf-8").splitlines())


def append_row(log: Path, row: dict[str, object]) -> None:
    """Write what was measured to the end of a log, and print it."""
    line = json.dumps(row)
    with log.open("ab", buffering=0) as file:
        append_whole(file, f"{line}\n".encode())
    print(line, flush=True)


def make_scenes(split: Split, folder: Path) -> Path:
    """Write scenes, and the list of what is in them."""
    rng = np.random.default_rng(0)
    lines, n_used = [], 0
    (folder / "scenes").mkdir()
    for number, path in enumerate(split.scene_photos):
        photo = scaled(read_gray(path), LONGER_SIDE)
        boxes: list[tuple[int, int, int, int]] = []
        for _ in range(rng.integers(1, 3)):
            crop = read_gray(split.scene_crops[n_used % len(split.scene_crops)])
            n_used += 1
            width = rng.uniform(*WIDTHS) * max(photo.shape)
            crop = scaled(crop, round(width * max(crop.shape) / crop.shape[1]))
            if box := free_place(photo.shape, crop.shape, boxes, rng):
                lay(photo, crop, box)
                boxes.append(box)
        write_image(folder / "scenes" / f"{number}.png", photo)
        lines.append(
            " ".join(map(str, [f"{number}.png", len(boxes), *(side for box in boxes for side in box)]))
        )
    (folder / "scenes" / "scenes.txt").write_text("\n".join(lines) + "\n")
    return folder / "scenes" / "scenes.txt"


def scaled(gray: NDArray[np.uint8], longer: int) -> NDArray[np.uint8]:
    """Return a picture whose longer side has so many pixels."""
    height, width = (max(round(side * longer / max(gray.shape)), 1) for side in gray.shape)
    return resize_crop(gray, Size(width, height)).copy()


def free_place(
    photo: tuple[int, ...],
    crop: tuple[int, ...],
    taken: Sequence[tuple[int, int, int, int]],
    rng: np.random.Generator,
) -> tuple[int, int, int, int] | None:
    """Return a box for a crop that touches no other, if one is found."""
    height, width = crop
    if height >= photo[0] or width >= photo[1]:
        return None
    for _ in range(50):
        x, y = int(rng.integers(photo[1] - width)), int(rng.integers(photo[0] - height))
        if all(x >= u + w or u >= x + width or y >= v + h or v >= y + height for u, v, w, h in taken):
            return x, y, width, height
    return None


def lay(photo: NDArray[np.uint8], crop: NDArray[np.uint8], box: tuple[int, int, int, int]) -> None:
    """Put a crop into a photo, fading at its edges."""
    x, y, width, height = box
    edge = max(round(SOFT_EDGE * min(crop.shape)), 1)
    fade = [np.clip((np.minimum(np.arange(n), np.arange(n)[::-1]) + 1) / edge, 0, 1) for n in (height, width)]
    share = np.outer(*fade)
    under = photo[y : y + height, x : x + width]
    under[:] = np.rint(share * crop + (1 - share) * under).astype(np.uint8)


def measured(
    split: Split, count: int, draw: int, options: Sequence[str], scenes: Path, work: Path
) -> dict[str, object]:
    """Train a model on some of the crops, and return what it finds in the scenes."""
    chosen = np.random.default_rng([draw, count]).permutation(len(split.crops))[:count]
    cascade, seconds = trained([split.crops[i] for i in chosen], split.photos, work, options)
    return {
        "stages": cascade.n_stages,
        "weak": cascade.n_trees,
        "seconds": round(seconds),
        **found(cascade, scenes),
    }


def trained(
    crops: Sequence[Path],
    photos: Sequence[Path],
    work: Path,
    options: Sequence[str],
    program: Sequence[str] = (),
) -> tuple[Cascade, float]:
    """Train a model, by another program if one is given, and return it and how many seconds that took."""
    shutil.rmtree(work, ignore_errors=True)
    for name, paths in (("crops", crops), ("photos", photos)):
        (work / name).mkdir(parents=True)
        for number, path in enumerate(paths):
            (work / name / f"{number:05}{path.suffix}").symlink_to(path.resolve())
    began = time.perf_counter()
    words = ["train", str(work / "crops"), str(work / "photos"), "--output", str(work / "model"), *options]
    # Another version may not know the option, which only saves time.
    if subprocess.call([*program, *words]) if program else run([*words, "--no-baseline"]):
        raise SystemExit("training failed")
    return Cascade.load(work / "model" / "cascade.xml"), time.perf_counter() - began


def found(cascade: Cascade, scenes: Path) -> dict[str, object]:
    """Return recall at some numbers of false alarms, and at default settings."""
    listed = read_scenes(scenes).scenes
    detector, usual = Detector(cascade, min_neighbors=1), Detector(cascade)
    curve_of, as_used = [], []
    for scene in listed:
        gray = read_gray(scene.path)
        for one, matches in ((detector, curve_of), (usual, as_used)):
            boxes = one.detect(gray)
            matches.append(match_detections(boxes.boxes, boxes.ranking_scores, scene.boxes))
    curve = detection_curve(curve_of)
    recall = {
        f"recall_at_{n}": round(float(max(curve.hit_rate[curve.n_false_alarms <= n], default=0)), 4)
        for n in FALSE_ALARMS
    }
    n_objects = sum(len(scene.boxes) for scene in listed)
    n_hits = sum(int(one.hits.sum()) for one in as_used)
    return recall | {
        "best_f1": round(float(curve.f1.max(initial=0)), 4),
        "recall_as_used": round(n_hits / n_objects, 4),
        "false_alarms_as_used": sum(len(one.hits) for one in as_used) - n_hits,
    }


def table(rows: Sequence[dict[str, object]], keys: Sequence[str] = ("crops",)) -> str:
    """Return the mean of the draws for all that have the same keys, and the least and the most of them, in Markdown."""
    columns = [*(f"recall_at_{n}" for n in FALSE_ALARMS), "best_f1", "recall_as_used"]
    names = [*(f"recall at {n} false alarms" for n in FALSE_ALARMS), "best F1", "recall as used"]
    head = [*keys, "draws", *names, "false alarms as used", "weak classifiers", "seconds"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    groups: dict[tuple[object, ...], list[dict[str, object]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    for group, members in sorted(groups.items()):
        cells = [*map(str, group), str(len(members))]
        for column in columns:
            values = 100 * np.array([row[column] for row in members], np.float64)
            cells.append(f"{values.mean():.1f} ({values.min():.1f} to {values.max():.1f})")
        others = ("false_alarms_as_used", "weak", "seconds")
        cells += [f"{np.mean([row[column] for row in members]):.0f}" for column in others]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
