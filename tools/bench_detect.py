"""Time detection beside OpenCV 4.14's, on the same pictures, with the same models and settings.

``python tools/bench_detect.py`` keeps each library in a process of its own and asks them in turn: OpenCV, vjcascade, OpenCV, and
so on, so that whatever else runs slows both. What is printed, as a Markdown table, are medians of the seconds by the
clock and of all processors, and of their ratios round by round (OpenCV's by vjcascade's), at scale factor 1.1 and 3 least neighbours,
after a warm-up; beside them, the ratio of each library's best rounds. The ratio that counts is the median of processor seconds.
The program fails if boxes differ.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_data import Timed, median
from detection_data import (
    BUNDLED,
    LBP_FILE,
    SHARED_DATA,
    Model,
    Pictures,
    find_models,
    find_oracle,
    loadable,
)
from library_process import LibraryError, LibraryProcess
from numpy.typing import NDArray

from vjcascade import Size
from vjcascade.imaging import read_gray, resize_exact

MODELS = (
    "frontalface_default",
    "frontalface_alt2",
    "eye",
    "fullbody",  # tilted features
    "lefteye_2splits",  # trees with tilted features
    LBP_FILE.stem,
)
GOALS = {"fullbody": (4.0, 3.0), "lefteye_2splits": (4.0, 3.0), LBP_FILE.stem: (4.0, 4.0)}
STUMP_GOALS = (6.0, 4.0)
"""So many times as fast as OpenCV, in processor seconds of one thread: on large pictures, and on small ones."""

SMALL = ("mixed", "300x300")
TWO_THREADS = (4.0, 2.5)
"""The same of two threads, by the clock."""

WARM_UP = 2
LEAST_ROUNDS = 5
QUICK_SECONDS = 1.0


class Case(NamedTuple):
    """What is timed."""

    model: str
    picture: str
    n_threads: int


class Measurement(NamedTuple):
    """Medians of a case; `ratio` is OpenCV's seconds by ours, round by round, and `best` that of the best rounds of each."""

    case: Case
    n_rounds: int
    opencv: Timed
    ours: Timed
    ratio: Timed
    best: Timed
    n_boxes: int
    equal: bool

    @property
    def goal(self) -> float:
        """The least ratio wanted."""
        goals = GOALS.get(self.case.model, STUMP_GOALS) if self.case.n_threads == 1 else TWO_THREADS
        return goals[self.case.picture in SMALL]

    @property
    def reached(self) -> float:
        """The ratio that counts: of processor seconds on one thread, by the clock on more."""
        return self.ratio.cpu if self.case.n_threads == 1 else self.ratio.wall

    def row(self) -> str:
        """Return a line of the table."""
        model, picture, n_threads = self.case
        return (
            f"| {model} | {picture} | {n_threads} | {1e3 * self.opencv.cpu:.1f} | {1e3 * self.ours.cpu:.1f} "
            f"| {self.ratio.cpu:.2f} | {self.best.cpu:.2f} | {1e3 * self.opencv.wall:.1f} | {1e3 * self.ours.wall:.1f} "
            f"| {self.ratio.wall:.2f} | {self.best.wall:.2f} "
            f"| {self.n_boxes} {'equal' if self.equal else 'DIFFERENT'} | {self.n_rounds} |"
        )


def main() -> None:
    arguments = options()
    with contextlib.ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cv = stack.enter_context(LibraryProcess(find_oracle(arguments.oracle), "cv2"))
        ours = stack.enter_context(LibraryProcess(sys.executable, "vjcascade"))
        machine = describe_machine(cv, ours)
        print("\n".join(f"{key}: {value}" for key, value in machine.items()))
        models = find_models(cv.ask("about")["models"], work, arguments.models)
        models, skipped = loadable(models, cv, ours)
        pictures, absent = bench_pictures(Pictures(arguments.data, work), arguments.pictures)
        print("\n".join(["", *skipped, *absent]))
        measured = []
        print(
            "| model | picture | threads | OpenCV, CPU ms | ours, CPU ms | CPU ratio, median | CPU ratio, best "
            "| OpenCV, wall ms | ours, wall ms | wall ratio, median | wall ratio, best | boxes | rounds |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
        for case, model, picture in cases(models, pictures, arguments.threads):
            found = measure(case, cv, ours, (model, picture), arguments)
            print(found.row(), flush=True)
            measured.append(found)
    print(f"\n{verdict(measured)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(report(machine, measured, [*skipped, *absent]), indent=1) + "\n")
    sys.exit(any(not found.equal for found in measured))


def options() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--models", nargs="+", default=MODELS, metavar="NAME")
    made.add_argument("--pictures", nargs="+", choices=list(PICTURES), default=list(PICTURES))
    made.add_argument("--threads", nargs="+", type=int, default=(1, 2))
    made.add_argument("--rounds", type=int, default=25, help="measurements of each library")
    made.add_argument(
        "--seconds", type=float, default=15.0, help=f"no more rounds after this, if there are {LEAST_ROUNDS}"
    )
    made.add_argument("--quick", action="store_true", help=f"--seconds {QUICK_SECONDS}")
    made.add_argument("--oracle", type=Path, help="Python of the environment with OpenCV 4.14")
    made.add_argument("--data", type=Path, default=SHARED_DATA, help="folder of the archives of pictures")
    made.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    arguments = made.parse_args()
    if arguments.quick:
        arguments.seconds = QUICK_SECONDS
    return arguments


def describe_machine(cv: LibraryProcess, ours: LibraryProcess) -> dict[str, str]:
    """Return what the figures depend on."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return {
        "processor": f"{name or platform.processor() or platform.machine()} x {os.cpu_count()}{load}",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "libraries": f"{cv.ask('about')['version']}, {ours.ask('about')['version']}",
    }


def bench_pictures(
    pictures: Pictures, wanted: list[str]
) -> tuple[dict[str, list[NDArray[np.uint8]]], list[str]]:
    """Return the grey pictures by name, and a sentence for each that is not there."""
    made, absent = {}, []
    for name in wanted:
        archive, file, *shapes = PICTURES[name]
        folder = pictures.folder(archive) if archive else BUNDLED
        if folder is None:
            absent.append(f"{name} is skipped: there is no {archive} in the folder of --data")
        else:
            made[name] = [fitted(read_gray(folder / file), shape) for shape in shapes]
    return made, absent


MIXED = (
    (100, 100),
    (160, 120),
    (120, 200),
    (199, 210),
    (240, 180),
    (250, 333),
    (301, 201),
    (320, 240),
    (345, 399),
)
MIXED += ((400, 300), (480, 360), (600, 400))

PICTURES = {
    "mixed": (None, "astronaut.png", *(Size(*size) for size in MIXED)),
    "300x300": (None, "astronaut.png", Size(300, 300)),
    "512x512": (None, "astronaut.png", Size(512, 512)),
    "VGA": (None, "coffee.png", Size(640, 480)),
    "crowd": ("faces-scenes-train", "images/pic08832.jpg", Size(746, 567)),  # 18 faces
    "1080p": ("faces-scenes-train", "images/pic00850.jpg", Size(1920, 1080)),
}
"""Archive (None: inside scikit-image), file, and the sizes it is cut and resized to: all of them are timed together."""


def fitted(picture: NDArray[np.uint8], size: Size) -> NDArray[np.uint8]:
    """Cut the middle with the shape of `size` out of a picture, and resize it."""
    height, width = picture.shape
    scale = min(width / size.width, height / size.height)
    w, h = round(size.width * scale), round(size.height * scale)
    x, y = (width - w) // 2, (height - h) // 2
    return resize_exact(np.ascontiguousarray(picture[y : y + h, x : x + w]), size)


def cases(
    models: list[Model], pictures: dict[str, list[NDArray[np.uint8]]], threads: list[int]
) -> Iterator[tuple[Case, Model, list[NDArray[np.uint8]]]]:
    for name, picture in pictures.items():
        for model in models:
            for n_threads in threads:
                yield Case(model.name, name, n_threads), model, picture


def measure(
    case: Case,
    cv: LibraryProcess,
    ours: LibraryProcess,
    data: tuple[Model, list[NDArray[np.uint8]]],
    arguments: argparse.Namespace,
) -> Measurement:
    """Time both libraries in turn."""
    model, pictures = data
    shown = {f"picture{i}": picture for i, picture in enumerate(pictures)}
    cv.ask("prepare", xml=model.theirs, n_threads=case.n_threads, **shown)
    ours.ask("prepare", xml=model.ours, n_threads=case.n_threads, **shown)
    for _ in range(WARM_UP):
        theirs, found = cv.ask("measure"), ours.ask("measure")
    equal = np.array_equal(ordered(theirs["boxes"]), ordered(found["boxes"]))
    rounds: list[tuple[Timed, Timed]] = []
    while len(rounds) < arguments.rounds:
        if len(rounds) >= LEAST_ROUNDS and sum(a.wall + b.wall for a, b in rounds) > arguments.seconds:
            break
        rounds.append((seconds(cv), seconds(ours)))
    theirs_each, ours_each = zip(*rounds, strict=True)
    return Measurement(
        case,
        len(rounds),
        median(theirs_each),
        median(ours_each),
        median([quotient(a, b) for a, b in rounds]),
        quotient(least(theirs_each), least(ours_each)),
        len(found["boxes"]),
        equal,
    )


def quotient(theirs: Timed, ours: Timed) -> Timed:
    """Return how many times as long theirs took."""
    return Timed(theirs.wall / ours.wall, theirs.cpu / ours.cpu)


def least(rounds: Sequence[Timed]) -> Timed:
    """Return the least seconds of any round, by each clock: what other programs disturb least."""
    return Timed(min(each.wall for each in rounds), min(each.cpu for each in rounds))


def seconds(library: LibraryProcess) -> Timed:
    """Return what one detection took."""
    answer = library.ask("measure")
    return Timed(answer["wall"], answer["cpu"])


def ordered(boxes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the boxes in an order that depends on nothing but themselves."""
    return boxes[np.lexsort(boxes.T[::-1])]


def verdict(measured: list[Measurement]) -> str:
    """Say which ratios are too small, and whether boxes differ."""
    slow = [
        f"{found.reached:.2f} (not {found.goal:g}) {' '.join(str(part) for part in found.case)}"
        for found in measured
        if found.reached < found.goal
    ]
    different = sum(not found.equal for found in measured)
    return (
        f"Ratios below their goals (one thread: processor seconds; more: by the clock), {len(slow)} of {len(measured)}: "
        f"{'; '.join(slow) or 'none'}. Boxes differ in {different} of {len(measured)}."
    )


def report(machine: dict[str, str], measured: list[Measurement], skipped: list[str]) -> dict[str, Any]:
    """Return everything as JSON can hold it."""
    rows = [
        {
            **found.case._asdict(),
            "rounds": found.n_rounds,
            "opencv": found.opencv._asdict(),
            "ours": found.ours._asdict(),
            "ratio": found.ratio._asdict(),
            "best_ratio": found.best._asdict(),
            "boxes": found.n_boxes,
            "equal": bool(found.equal),
        }
        for found in measured
    ]
    return {"machine": machine, "skipped": skipped, "measurements": rows}


if __name__ == "__main__":
    try:
        main()
    except LibraryError as error:
        sys.exit(str(error))
