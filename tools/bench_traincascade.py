"""Train what OpenCV's trainer was timed with, and compare time, memory and quality.

``python tools/bench_traincascade.py`` trains the first four stages of a face cascade: the first 2,000 crops of
`faces-train/opencv24` as positives, 4,000 negatives a stage from 500 photos of `negatives-train`, 24x24 pixels, upright
features, Gentle AdaBoost, hit rate 0.995 and false-alarm rate 0.5 a stage, thresholds tuned on the training positives. The
archives are those of ``../shared/data`` (``--data``). Hit rate: on the crops of `opencv24/val`. False-alarm rate: on
200,000 random square crops of `negatives-test`, resized to 24x24 pixels.

``--features lbp`` trains 14 stages of LBP features instead.

``--opencv PATH`` runs an ``opencv_traincascade`` (3.4 or older) on the same data in the same run. Without it, what version 3.4.18
took on a machine with two such cores stands beside, and the quality of the cascades it made: with upright features it took 745
processor seconds, with LBP about 370, and 500 by the clock.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from detection_data import SHARED_DATA
from numpy.typing import NDArray

from vjcascade import Cascade, Size
from vjcascade.detection.scanner import evaluate_windows
from vjcascade.imaging import find_images, read_gray, resize_crop

WINDOW = Size(24, 24)
N_POSITIVES, N_NEGATIVES, N_PHOTOS = 2000, 4000, 500
N_CROPS = 200_000

SPARE = 25
"""Positives that OpenCV's trainer gets for each stage to replace those that the stages before reject."""


class Reference(NamedTuple):
    """What OpenCV's trainer made, and what it took: seconds by the clock and of processors, and GiB of memory."""

    file: str
    n_stages: int
    wall: float
    cpu: float
    memory: float


REFERENCES = {
    "haar": Reference("haar-basic-4-stages.xml", 4, 745.0, 745.0, 7.5),
    "lbp": Reference("lbp-14-stages.xml", 14, 500.0, 370.0, 0.22),
}


class Task(NamedTuple):
    """What is to be trained: from folders of positives and photos, features of a kind, so many stages."""

    positives: Path
    photos: Path
    features: str
    n_stages: int


class Trained(NamedTuple):
    """A cascade, and what it took: seconds by the clock and of processors, and GiB of memory at most."""

    name: str
    cascade: Cascade
    wall: float
    cpu: float
    memory: float


def main() -> None:
    arguments = _parser().parse_args()
    with tempfile.TemporaryDirectory() as work:
        data = Path(work)
        for name in ("faces-train", "negatives-train", "negatives-test"):
            with tarfile.open(arguments.data / f"{name}.tar.gz") as archive:
                archive.extractall(data, filter="data")
        positives, photos = _choose(data)
        reference = REFERENCES[arguments.features]
        task = Task(positives, photos, arguments.features, arguments.stages or reference.n_stages)
        runs = [_ours(task, data / "ours")]
        if arguments.opencv:
            runs.append(_opencv(task, arguments.opencv, data / "opencv"))
        else:
            file, _, *took = reference
            runs.append(Trained("3.4.18", Cascade.load(arguments.data / "opencv-trained" / file), *took))
        hits = np.array(
            [read_gray(path) for path in find_images(data / "faces-train" / "opencv24" / "val").paths]
        )
        crops = np.array(list(_random_crops(data / "negatives-test", arguments.crops)))
        _print_table(runs, hits, crops)


def _choose(data: Path) -> tuple[Path, Path]:
    """Return folders of the first positives and of the photos."""
    positives, photos = data / "positives", data / "photos"
    crops = sorted((data / "faces-train" / "opencv24").glob("*/*.png"), key=lambda path: path.name)
    for folder, paths in (
        (positives, crops[:N_POSITIVES]),
        (photos, find_images(data / "negatives-train").paths[:N_PHOTOS]),
    ):
        folder.mkdir()
        for path in paths:
            shutil.copy(path, folder)
    return positives, photos


def _ours(task: Task, output: Path) -> Trained:
    wanted = {
        "--features": task.features,
        "--booster": "gentle",
        "--costs": 1,
        "--window": WINDOW,
        "--negatives": N_NEGATIVES,
        "--hit-rate": 0.995,
        "--false-alarm-rate": 0.5,
        "--stages": task.n_stages,
        "--held-out": 0,
        "--output": output,
    }
    options = [str(word) for pair in wanted.items() for word in pair]
    command = [
        sys.executable,
        "-m",
        "vjcascade",
        "train",
        str(task.positives),
        str(task.photos),
        *options,
        "--no-baseline",
    ]
    took = _run(command)
    return Trained("vjcascade", Cascade.load(output / "cascade.xml"), *took)


def _opencv(task: Task, program: Path, output: Path) -> Trained:
    output.mkdir()
    vec, background = output / "faces.vec", output / "bg.txt"
    _write_vec(vec, [read_gray(path) for path in find_images(task.positives).paths])
    background.write_text("".join(f"{path}\n" for path in find_images(task.photos).paths))
    n_positives = N_POSITIVES - SPARE * task.n_stages
    options = f"-numPos {n_positives} -numNeg {N_NEGATIVES} -numStages {task.n_stages} -w 24 -h 24 -bt GAB"
    features = "-featureType LBP" if task.features == "lbp" else "-featureType HAAR -mode BASIC"
    buffers = "-minHitRate 0.995 -maxFalseAlarmRate 0.5 -precalcValBufSize 3800 -precalcIdxBufSize 1900"
    files = ["-data", str(output), "-vec", str(vec), "-bg", str(background)]
    took = _run([str(program), *files, *options.split(), *features.split(), *buffers.split()])
    return Trained(program.name, Cascade.load(output / "cascade.xml"), *took)


def _run(command: Sequence[str]) -> tuple[float, float, float]:
    """Run a program; return its seconds by the clock and of processors, and the GiB it took."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=sys.stderr)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_maxrss / 2**20


def _write_vec(path: Path, crops: Sequence[NDArray[np.uint8]]) -> None:
    """Write OpenCV's file of samples."""
    with path.open("wb") as file:
        file.write(np.array([len(crops), crops[0].size], "<i4").tobytes() + bytes(4))
        for crop in crops:
            file.write(b"\0" + crop.astype("<i2").tobytes())


def _random_crops(photos: Path, n: int) -> Iterator[NDArray[np.uint8]]:
    """Yield square crops of random places and sizes, the same number from each photo."""
    rng = np.random.default_rng(0)
    pictures = [read_gray(path) for path in find_images(photos).paths]
    for i in range(n):
        picture = pictures[i % len(pictures)]
        shorter = min(picture.shape)
        side = int(np.exp(rng.uniform(np.log(WINDOW.width), np.log(shorter))))
        y, x = (int(rng.integers(0, length - side + 1)) for length in picture.shape)
        yield resize_crop(picture[y : y + side, x : x + side], WINDOW)


def _print_table(runs: Sequence[Trained], hits: NDArray[np.uint8], crops: NDArray[np.uint8]) -> None:
    print("| trainer | stages, weak classifiers | s | processor s | GiB | hit rate | false-alarm rate |")
    print("|---|---|---|---|---|---|---|")
    for run in runs:
        rates = []
        for windows in (hits, crops):
            passed, _ = evaluate_windows(run.cascade, windows, 1)
            rates.append(f"{np.mean(passed == run.cascade.n_stages):.4g}")
        sizes = f"{run.cascade.n_stages}, {run.cascade.n_trees}"
        print(
            f"| {run.name} | {sizes} | {run.wall:.1f} | {run.cpu:.1f} | {run.memory:.2f} | {' | '.join(rates)} |"
        )
    ours, theirs = runs[0], runs[-1]
    print(
        f"\n{theirs.wall / ours.wall:.0f} times less by the clock, {theirs.cpu / ours.cpu:.0f} by processors"
    )


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--data", type=Path, default=SHARED_DATA, help="folder of the archives of pictures")
    made.add_argument("--opencv", type=Path, help="an opencv_traincascade to run on the same data")
    made.add_argument("--features", choices=list(REFERENCES), default="haar")
    made.add_argument("--stages", type=int, help="4 with haar, 14 with lbp if not given")
    made.add_argument("--crops", type=int, default=N_CROPS, help="to measure the false-alarm rate on")
    return made


if __name__ == "__main__":
    main()
