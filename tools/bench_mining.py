"""Time mining: windows looked at a second, by the clock and by processors, with a model cut to its first stages.

``python tools/bench_mining.py`` mines in photos of 640x480 pixels, decoded beforehand, with no stage, 5, 10 and all
stages of the project's face model, and prints a Markdown table. Each case is repeated; the run with the fewest processor
seconds counts. With few stages, few windows of each photo are looked at, and what counts is how long it takes; with many,
all are. Beside it, with ``--oracle``, stands the detection of OpenCV 4.14 in the same photos, by the windows that it visits.
What other programs do to the clock, they do less to processor seconds: "per core" is windows by these.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench_data import Photos, Timed, timed
from detection_data import PROJECT, SHARED_DATA, Pictures, find_oracle
from library_process import LibraryError, LibraryProcess
from numpy.typing import NDArray

from vjcascade import Cascade, Size
from vjcascade.detection.scales import scan_levels
from vjcascade.detection.scanner import Scanner
from vjcascade.imaging import image_size, read_gray, resize_exact
from vjcascade.parallel import default_threads
from vjcascade.training.events import ProgressReporter
from vjcascade.training.mining.mining import Mined, MiningPlan, mine_negatives

SHAPES = (Size(640, 480), Size(480, 640))
TRIAL = 4
"""Photos that tell the pass rate; kernels are compiled on them."""

GOAL, GOAL_STAGES = 20.0, 10
"""Million windows a second on two cores, with so many stages."""


class Measurement(NamedTuple):
    """A case; `opencv` is million windows a processor second, if it was asked."""

    n_stages: int
    mined: Mined
    took: Timed
    opencv: float | None

    @property
    def per_core(self) -> float:
        """Million windows a processor second."""
        return self.mined.n_searched / self.took.cpu / 1e6

    def row(self) -> str:
        """Return a line of the table."""
        mined, took = self.mined, self.took
        theirs = "" if self.opencv is None else f"{self.opencv:.2f} | {self.per_core / self.opencv:.1f}"
        return (
            f"| {self.n_stages} | {mined.pass_rate:.1e} | {len(mined.windows):,} | {mined.n_searched / 1e6:.1f} "
            f"| {took.wall:.2f} | {took.cpu:.2f} | {mined.n_searched / took.wall / 1e6:.1f} | {self.per_core:.1f} "
            f"| {theirs or ' | '} |"
        )


def main() -> None:
    arguments = options()
    model = Cascade.load(arguments.model)
    with tempfile.TemporaryDirectory() as work:
        photos = vga_photos(Pictures(arguments.data, Path(work)).paths("negatives-train"), arguments.photos)
        print(f"{len(photos)} photos, {arguments.wanted:,} windows wanted, {arguments.threads} threads\n")
        print(
            "| stages | pass rate | found | million windows | wall s | CPU s | million/s, wall | per core "
            "| OpenCV per core | ratio |\n|---|---|---|---|---|---|---|---|---|---|"
        )
        measured = []
        for n_stages in sorted(
            {min(n, model.n_stages) for n in arguments.stages or (0, 5, 10, model.n_stages)}
        ):
            measured.append(measure(model.first_stages(n_stages), photos, arguments, Path(work)))
            print(measured[-1].row(), flush=True)
    print(verdict(measured))


def options() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--model", type=Path, default=PROJECT / "models" / "frontalface.xml")
    made.add_argument("--stages", nargs="+", type=int, metavar="N", help="the model's first so many")
    made.add_argument("--photos", type=int, default=100)
    made.add_argument("--wanted", type=int, default=5000, help="windows")
    made.add_argument("--rounds", type=int, default=3)
    made.add_argument("--threads", type=int, default=default_threads())
    made.add_argument("--data", type=Path, default=SHARED_DATA, help="folder of the archives of pictures")
    made.add_argument("--oracle", type=Path, help="Python of an environment with OpenCV 4.14")
    return made.parse_args()


def vga_photos(paths: Sequence[Path], n: int) -> Photos:
    """Return the first photos of the right size, in random order."""
    shuffled = np.random.default_rng(0).permutation(np.array(paths, object))
    photos = Photos()
    for path in shuffled.tolist():
        if len(photos) < n and image_size(path) in SHAPES:
            photos.append(read_gray(path))
    if not photos:
        raise SystemExit(f"there are no photos of {SHAPES[0]} in negatives-train; name its folder by --data")
    return photos


def measure(cascade: Cascade, photos: Photos, arguments: argparse.Namespace, folder: Path) -> Measurement:
    """Mine some times, and detect with OpenCV."""
    options = {"n_threads": arguments.threads, "progress": ProgressReporter("mining")}
    plan = MiningPlan(expected_pass_rate=1e-9, max_windows=10**12, seed=[0])
    trial = mine_negatives(Photos(photos[:TRIAL]), cascade, 1000, plan, **options)
    plan = replace(plan, expected_pass_rate=max(trial.pass_rate, 1e-9))
    runs = [
        timed(lambda: mine_negatives(photos, cascade, arguments.wanted, plan, **options))
        for _ in range(arguments.rounds)
    ]
    mined, took = min(runs, key=lambda run: run[1].cpu)
    opencv = (
        measure_opencv(cascade, photos, arguments, folder) if arguments.oracle and cascade.n_stages else None
    )
    return Measurement(cascade.n_stages, mined, took, opencv)


def measure_opencv(cascade: Cascade, photos: Photos, arguments: argparse.Namespace, folder: Path) -> float:
    """Return million windows a processor second."""
    file = folder / f"{cascade.n_stages}.xml"
    cascade.save(file)
    n_windows, seconds = 0, 0.0
    with LibraryProcess(find_oracle(arguments.oracle), "cv2") as cv:
        for photo in photos:
            cv.ask("prepare", xml=file, n_threads=1, picture=photo)
            seconds += cv.ask("measure")["cpu"]
            n_windows += sum(visited(Scanner(cascade), photo))
    return n_windows / seconds / 1e6


def visited(scanner: Scanner, photo: NDArray[np.uint8]) -> Iterator[int]:
    """Yield how many windows OpenCV visits at each level."""
    for level in scan_levels(Size(*photo.shape[::-1]), scanner.cascade.window, 1.1):
        integrals = scanner.integrals(resize_exact(photo, level.size), level.step)
        yield scanner.scan_rows(integrals, level.rows, skip=True).n_windows


def verdict(measured: Sequence[Measurement]) -> str:
    """Say whether the goal is reached."""
    figures = [2 * found.per_core for found in measured if found.n_stages == GOAL_STAGES]
    if not figures:
        return ""
    kept = "reached" if figures[0] >= GOAL else "MISSED"
    return (
        f"\nWith {GOAL_STAGES} stages, two cores look at {figures[0]:.1f} million windows a second; "
        f"the goal of {GOAL:g} is {kept}."
    )


if __name__ == "__main__":
    try:
        main()
    except LibraryError as error:
        sys.exit(str(error))
