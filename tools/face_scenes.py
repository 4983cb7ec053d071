"""Measure face detectors on the test scenes: found faces against false alarms.

``python tools/face_scenes.py MODEL... --data FOLDER`` prints a table for each model file.
"""

from __future__ import annotations

import argparse
import json
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench_data import Photos

from vjcascade import Cascade, Detector, Size
from vjcascade.evaluation import detection_curve, match_detections
from vjcascade.imaging import read_gray
from vjcascade.training.events import ProgressReporter
from vjcascade.training.mining.mining import MiningPlan, count_windows, mine_negatives

SETS = ("faces-test-mitcmu", "faces-test-caltech")
MIN_FACE = Size(20, 20)
NEIGHBORS = (1, 2, 3, 5)
FALSE_ALARMS = (5, 10, 20, 50, 100)
"""Numbers of false alarms in a set at which the hit rate is read off its curve."""


@dataclass(frozen=True)
class SetFigures:
    """Hit rate and false alarms of a set for each minimum of neighbours, and along the curve of scores."""

    name: str
    n_scenes: int
    n_faces: int
    by_neighbors: dict[int, tuple[float, int]]
    hit_rate_at: dict[int, float]


@dataclass(frozen=True)
class Figures:
    """What was measured of a model."""

    sets: list[SetFigures]
    windows_searched: int
    windows_accepted: int


def measure(cascade: Cascade, data: Path) -> Figures:
    """Run a model over the test scenes, and over every window of the test negatives."""
    with tempfile.TemporaryDirectory() as folder:
        for name in (*SETS, "negatives-test"):
            with tarfile.open(data / f"{name}.tar.gz") as tar:
                tar.extractall(folder, filter="data")
        sets = [measure_set(cascade, Path(folder) / name) for name in SETS]
        searched, accepted = count_false_alarms(cascade, Path(folder) / "negatives-test")
    return Figures(sets, searched, accepted)


def measure_set(cascade: Cascade, folder: Path) -> SetFigures:
    """Run a model over one set of scenes."""
    scenes = [s for s in json.loads((folder / "boxes.json").read_text()) if s.get("subset") != "rotated"]
    pictures = [read_gray(find(folder, scene["file"])) for scene in scenes]
    truth = [np.array([f["box"] for f in scene["faces"] if f.get("frontal", True)]) for scene in scenes]
    ignored = [np.array([f["box"] for f in scene["faces"] if not f.get("frontal", True)]) for scene in scenes]
    by_neighbors, hit_rate_at = {}, {}
    for n in NEIGHBORS:
        detector = Detector(cascade, min_neighbors=n, min_size=MIN_FACE)
        matches = []
        for picture, boxes, others in zip(pictures, truth, ignored, strict=True):
            found = detector.detect(picture)
            spared = match_detections(found.boxes, found.neighbors, others).hits
            matches.append(match_detections(found.boxes[~spared], found.neighbors[~spared], boxes))
        curve = detection_curve(matches)
        by_neighbors[n] = (
            (float(curve.hit_rate[-1]), int(curve.n_false_alarms[-1])) if len(curve.hit_rate) else (0.0, 0)
        )
        if n == min(NEIGHBORS):
            for limit in FALSE_ALARMS:
                within = curve.hit_rate[curve.n_false_alarms <= limit]
                hit_rate_at[limit] = float(within[-1]) if len(within) else 0.0
    return SetFigures(folder.name, len(scenes), sum(map(len, truth)), by_neighbors, hit_rate_at)


def find(folder: Path, name: str) -> Path:
    """Return where a scene's picture lies."""
    return next(path for path in (folder / name, folder / "images" / name) if path.exists())


def count_false_alarms(cascade: Cascade, folder: Path) -> tuple[int, int]:
    """Count the windows of photos without faces, at all scales and places, and those the model accepts."""
    photos = Photos(read_gray(path) for path in sorted(folder.glob("*.jpg")))
    n_windows = count_windows(photos, cascade.window)
    plan = MiningPlan(expected_pass_rate=1e-9, max_windows=n_windows, seed=[0])
    mined = mine_negatives(photos, cascade, n_windows, plan, n_threads=2, progress=ProgressReporter(""))
    return mined.n_searched, mined.n_accepted


def table(figures: Figures) -> str:
    """Return the figures in Markdown."""
    head = " | ".join(f"found / false, neighbours > {n}" for n in NEIGHBORS)
    more = " | ".join(f"found at {limit} false" for limit in FALSE_ALARMS)
    lines = [
        f"| set | scenes | faces | {head} | {more} |",
        "|---" * (3 + len(NEIGHBORS) + len(FALSE_ALARMS)) + "|",
    ]
    for one in figures.sets:
        pairs = " | ".join(f"{rate:.3f} / {false}" for rate, false in one.by_neighbors.values())
        rates = " | ".join(f"{rate:.3f}" for rate in one.hit_rate_at.values())
        lines.append(f"| {one.name} | {one.n_scenes} | {one.n_faces} | {pairs} | {rates} |")
    rate = figures.windows_accepted / figures.windows_searched
    return "\n".join(lines) + (
        f"\n\nWindows: {figures.windows_accepted:,} of {figures.windows_searched:,} windows of the test negatives are accepted, "
        f"{rate:.1e} of all (every window of every level at scale factor 1.1)."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--data", type=Path, required=True, help="folder of the archives")
    arguments = parser.parse_args()
    for model in arguments.models:
        print(f"{model}\n\n{table(measure(Cascade.load(model), arguments.data))}\n")


if __name__ == "__main__":
    main()
