"""Compare detection with OpenCV 4.14's on real pictures: every model, many settings; fail if anything differs.

``python tools/check_equality.py`` runs the 17 model files that come with OpenCV and scikit-image's LBP file on pictures of mixed
sizes: those inside scikit-image, and a choice of those in ``../shared/data``, colour and grey, some cut to odd sizes. Each model meets
each picture in some of the kinds of cases below: scale factors, 0 or 3 least neighbours, bounds on the size, sensible or not.
What `detectMultiScale3` and `detectMultiScale2` return is compared: rectangles (raw windows where the least neighbours are 0), counts,
levels and level weights, and their order. Which cases a picture gets depends on its name and on the seed alone, not on what else is compared.

``python tools/check_equality.py --files FOLDER --photos FOLDER`` compares all cascade files in any folder so, on given pictures, which stay
uncut. Files that only one of the libraries loads are named; one that only OpenCV loads is a difference, too.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from detection_data import (
    SHARED_DATA,
    Model,
    Pictures,
    bgr,
    files_in,
    find_models,
    find_oracle,
    loadable,
    pictures_in,
)
from library_process import COLUMNS, LibraryError, LibraryProcess
from numpy.typing import NDArray

from vjcascade import Size
from vjcascade.imaging import to_gray

SHARES = {
    "faces-test-caltech": 50,
    "faces-scenes-train": 40,
    "faces-test-mitcmu": 45,
    "negatives-test": 25,
    "negatives-train": 15,
    "free": 8,
    "cars-uiuc": 15,
    "faces-train": 6,  # crops of 24 and 32 pixels: smaller than most models' windows, or just larger
    "cbcl": 2,  # 19 pixels
}
"""How many pictures of each archive are taken, besides all that are inside scikit-image."""

CUT_SHARE = 1 / 3
"""So many of the pictures are cut at random."""

SHOWN = 5
"""Differences that are printed."""

PROGRESS_SECONDS = 10.0


def kinds(rng: np.random.Generator, size: Size) -> list[tuple[float, int, Size, Size]]:
    """Return a case of every kind for a picture: scale factor, least neighbours, least and greatest size; 0x0 for no bound."""
    free, side = Size(0, 0), min(size)
    low, high = (int(side * share) for share in (rng.uniform(0.05, 0.3), rng.uniform(0.4, 0.9)))
    return [
        (1.1, 0, free, free),
        (1.1, 3, free, free),
        (1.2, 0, free, free),
        (1.37, 3, free, free),
        (float(rng.uniform(1.06, 2.5)), 0, free, free),
        (1.05, 3, Size(low, low), free),
        (1.1, 0, free, Size(high, high)),
        (1.15, 3, Size(low, low + 3), Size(high + 5, high)),
        (1.1, 0, Size(high, high), Size(max(low, 1), max(low, 1))),  # the least above the greatest
        (1.25, 0, Size(size.width + 9, size.height + 9), free),  # larger than the picture
        (1.2, 3, Size(0, low), Size(high, 0)),  # half a bound
        (1.1, 0, free, Size(1, 1)),  # smaller than any window
        (1.3, 0, Size(high, 1), free),  # one side decides
        (2.5, 3, free, free),
    ]


class Picture(NamedTuple):
    """A picture as OpenCV has it: grey, or BGR."""

    name: str
    pixels: NDArray[np.uint8]

    @property
    def size(self) -> Size:
        """Width and height."""
        return Size(self.pixels.shape[1], self.pixels.shape[0])

    @property
    def shown(self) -> dict[str, NDArray[np.uint8]]:
        """The picture, and a grey copy if it is in colour."""
        if self.pixels.ndim == 2:
            return {"grey": self.pixels}
        return {"colour": self.pixels, "grey": to_gray(self.pixels[:, :, ::-1])}


class Run(NamedTuple):
    """One case of a model and a picture: what the libraries found, rows of `COLUMNS`, in order."""

    model: str
    where: str
    raw: bool
    theirs: list[tuple[float, ...]]
    ours: list[tuple[float, ...]]

    def difference(self) -> str:
        """Say what only one library found, or where the order differs; nothing if all is equal."""
        if self.theirs == self.ours:
            return ""
        theirs, ours = Counter(self.theirs), Counter(self.ours)
        if theirs == ours:
            place = next(i for i, (a, b) in enumerate(zip(self.theirs, self.ours, strict=True)) if a != b)
            return f"{self.model}, {self.where}: another order, from row {place} of {len(self.ours)} on"
        parts = (("OpenCV", theirs - ours), ("vjcascade", ours - theirs))
        only = (f"only {name}: {rows.total()}, as {min(rows)}" for name, rows in parts if rows)
        return f"{self.model}, {self.where}: {'; '.join(only)} ({', '.join(COLUMNS)})"


@dataclass
class Tally:
    """What was compared with one model: runs, OpenCV's raw windows and groups, and a sentence for each difference."""

    n_runs: int = 0
    n_windows: int = 0
    n_groups: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, run: Run) -> None:
        """Count a run."""
        self.n_runs += 1
        if run.raw:
            self.n_windows += len(run.theirs)
        else:
            self.n_groups += len(run.theirs)
        if difference := run.difference():
            self.differences.append(difference)


def main() -> None:
    arguments = options()
    with contextlib.ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cv = stack.enter_context(LibraryProcess(find_oracle(arguments.oracle), "cv2"))
        ours = stack.enter_context(LibraryProcess(sys.executable, "vjcascade"))
        about = cv.ask("about")
        print(f"{about['version']} and {ours.ask('about')['version']}, seed {arguments.seed}")
        files = arguments.files
        wanted = files_in(files) if files else find_models(about["models"], work, arguments.models)
        models, skipped = loadable(wanted, cv, ours)
        paths, absent = chosen_paths(arguments, work)
        print(
            "\n".join([*absent, *map(str, skipped), f"{len(models)} models, {len(paths)} pictures"]),
            flush=True,
        )
        tallies = {model.name: Tally() for model in models}
        cut_share = 0.0 if arguments.photos else CUT_SHARE
        for picture in with_progress(paths, arguments.seed, cut_share):
            cases = cases_of(picture, models, arguments)
            for model, model_cases in zip(models, cases, strict=True):
                compare(picture, model, model_cases, (cv, ours), tallies[model.name])
    print(f"\n{table(tallies)}\n")
    differences = [text for tally in tallies.values() for text in tally.differences]
    print("\n".join(differences[:SHOWN]))
    n_only_theirs = sum(not refusal.theirs for refusal in skipped)
    print(
        f"{len(differences)} runs differ; {len(skipped)} models skipped, {n_only_theirs} of them loaded by OpenCV"
    )
    sys.exit(bool(differences) or n_only_theirs > 0)


def options() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--models", nargs="+", metavar="NAME", help="such as eye; all if not given")
    made.add_argument("--files", type=Path, metavar="FOLDER", help="of cascade files to compare instead")
    made.add_argument("--photos", type=Path, nargs="+", metavar="PATH", help="pictures, or folders of them")
    made.add_argument("--pictures", type=int, metavar="N", help="the first N of the shuffled pictures")
    made.add_argument(
        "--archives", nargs="*", choices=list(SHARES), default=list(SHARES), metavar="NAME", help="of --data"
    )
    made.add_argument("--cases", type=int, default=5, help="kinds of cases for each model and picture")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--oracle", type=Path, help="Python of the environment with OpenCV 4.14")
    made.add_argument("--data", type=Path, default=SHARED_DATA, help="folder of the archives of pictures")
    return made.parse_args()


def chosen_paths(arguments: argparse.Namespace, work: Path) -> tuple[list[Path], list[str]]:
    """Return the pictures that were given, or those of the archives, and a sentence for each archive that is not there."""
    if arguments.photos:
        paths = [
            file for path in arguments.photos for file in (pictures_in(path) if path.is_dir() else [path])
        ]
        return paths[: arguments.pictures], []
    paths, absent = shuffled_paths(Pictures(arguments.data, work), arguments.archives, arguments.seed)
    return paths[: arguments.pictures], absent


def shuffled_paths(pictures: Pictures, archives: Sequence[str], seed: int) -> tuple[list[Path], list[str]]:
    """Return the files, shuffled, and a sentence for each archive that is not there."""
    paths, absent = pictures.bundled(), []
    for archive in archives:
        there = pictures.paths(archive)
        rng = generator(seed, archive)
        paths += [there[i] for i in rng.permutation(len(there))[: SHARES[archive]]]
        if not there:
            absent.append(f"no pictures of {archive}: it is not in the folder of --data")
    return [paths[i] for i in generator(seed, "order").permutation(len(paths))], absent


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return random numbers that depend on the seed and on names."""
    return np.random.default_rng([seed, *(zlib.crc32(name.encode()) for name in names)])


def with_progress(paths: Sequence[Path], seed: int, cut_share: float) -> Iterator[Picture]:
    """Yield the pictures; say now and then how long the rest will take."""
    start = said = time.perf_counter()
    for n_done, path in enumerate(paths):
        round_ = time.perf_counter()
        if n_done and round_ - said > PROGRESS_SECONDS:
            said, left = round_, (round_ - start) / n_done * (len(paths) - n_done)
            print(f"{n_done} of {len(paths)} pictures, about {left:.0f} s left", file=sys.stderr)
        yield read_picture(path, seed, cut_share)


def read_picture(path: Path, seed: int, cut_share: float) -> Picture:
    """Read a picture; cut a share of them to a size of their own."""
    picture = Picture(path.name, bgr(path))
    rng = generator(seed, path.name)
    if rng.random() >= cut_share:
        return picture
    height, width = (int(rng.integers(max(side // 3, 1), side + 1)) for side in picture.pixels.shape[:2])
    y, x = (
        int(rng.integers(whole - part + 1))
        for whole, part in zip(picture.pixels.shape[:2], (height, width), strict=True)
    )
    return Picture(path.name, np.ascontiguousarray(picture.pixels[y : y + height, x : x + width]))


def cases_of(picture: Picture, models: Sequence[Model], arguments: argparse.Namespace) -> NDArray[np.float64]:
    """Return the cases of each model, (n_models, n_cases, 7), for `library_process.Library.compare`."""
    made = []
    for model in models:
        rng = generator(arguments.seed, picture.name, model.name)
        every = kinds(rng, picture.size)
        chosen = rng.permutation(len(every))[: arguments.cases]
        shown = rng.integers(len(picture.shown), size=len(chosen))
        made.append(
            [(*every[i][:2], *every[i][2], *every[i][3], n) for i, n in zip(chosen, shown, strict=True)]
        )
    return np.array(made)


def compare(
    picture: Picture,
    model: Model,
    cases: NDArray[np.float64],
    libraries: tuple[LibraryProcess, LibraryProcess],
    tally: Tally,
) -> None:
    """Let both libraries look for one model's object in a picture, at the same time; count what they find."""
    for library, xml in zip(libraries, (model.theirs, model.ours), strict=True):
        library.send("compare", models=[str(xml)], cases=cases[np.newaxis], **picture.shown)
    (theirs, *their_error), (ours, *our_error) = map(received, libraries)
    for name, errors in (("OpenCV", their_error), ("vjcascade", our_error)):
        tally.differences += [f"{model.name}, {picture.name}: {name} fails: {error}" for error in errors]
    kinds_shown = list(picture.shown)
    for case, their_rows, our_rows in zip(cases, theirs, ours, strict=False):  # nothing after an error
        where = (
            f"{picture.name} {picture.size}, {kinds_shown[int(case[6])]}, scale factor {case[0]:.17g}, "
            f"least neighbours {case[1]:g}, sizes from {case[2]:g}x{case[3]:g} to {case[4]:g}x{case[5]:g}"
        )
        tally.add(Run(model.name, where, case[1] == 0, their_rows, our_rows))


def received(library: LibraryProcess) -> tuple[Any, ...]:
    """Return the rows of each run, in order; none and the error if the library failed."""
    try:
        answer = library.receive()
    except LibraryError as error:
        return [], error
    ends = np.cumsum(answer["n_rows"])
    return ([list(map(tuple, rows.tolist())) for rows in np.split(answer["rows"], ends[:-1])],)


def table(tallies: dict[str, Tally]) -> str:
    """Return what was compared, as Markdown."""
    total = Tally(
        *(
            sum(getattr(tally, name) for tally in tallies.values())
            for name in ("n_runs", "n_windows", "n_groups")
        ),
        [text for tally in tallies.values() for text in tally.differences],
    )
    lines = [
        f"| {name} | {tally.n_runs:,} | {tally.n_windows:,} | {tally.n_groups:,} | {len(tally.differences)} |"
        for name, tally in [*tallies.items(), ("all", total)]
    ]
    return "\n".join(
        ["| model | runs | raw windows | groups | runs that differ |", "|---|---|---|---|---|", *lines]
    )


if __name__ == "__main__":
    try:
        main()
    except LibraryError as error:
        sys.exit(str(error))
