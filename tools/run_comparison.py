"""Run the whole comparison that samples/comparison tells of, part by part, as often interrupted as need be.

``python tools/run_comparison.py --data FOLDER --output FOLDER`` runs what is missing, and is run again to go on, on this or on
another machine: ``--keep FOLDER`` writes what is finished of each part into a small file there, and ``--take FOLDER`` takes it
up. The folder of data holds their archives, unpacked: ``faces-train``, ``cars-uiuc``, ``plates-eu``, ``negatives-train`` and
``uci``. Every finished run is on disk at once. The parts:

=================  ===================================================================================  =====
part               what                                                                                 hours
=================  ===================================================================================  =====
tables             25 tables, 9 cost ratios, 10 splits; AdaBoost, its rivals and both priors            2
stages-OBJECT      three stages, independent draws, all features; faces and plates 8, cars 4            4
curves-faces       1,000 rounds at 5:1, two stages, as many draws                                       2
cascades-OBJECT    whole cascades of five contenders, three seeds, on test scenes; cars and plates      4
=================  ===================================================================================  =====

Hours are those of one processor, estimated from single runs: 0.05 to 0.3 seconds for a table, 0.09 seconds a round for 600 windows
and all 162,336 features.

``--estimate`` says what is there and how long the rest takes, from the runs that are; ``--small`` is a trial of everything in
minutes, with numbers that mean nothing. ``--publish FOLDER`` writes the tables of finished parts
(see comparison_tables.py), with answers to the questions of ``contrasts.toml`` in that folder, and of whole cascades every
detection.

Before a part is begun, ``probe.json`` of comparison_probe.py is kept in its folder. If the code gives other numbers when the
part is gone on with, that is refused: results of two versions are never mixed.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from build_models import RECIPES, found, photos_of
from comparison_probe import PROBE_NAME, differences, probe, write_probe
from comparison_tables import write_cascades, write_tables

from vjcascade.comparison import (
    Comparison,
    Design,
    StagePlan,
    answer,
    compare_full,
    compare_stages,
    compare_tables,
    full_entries,
    nikolaou_design,
    results_json,
)
from vjcascade.comparison.design import Contender, Rule
from vjcascade.comparison.full import FOUND_NAME
from vjcascade.comparison.full_results import FullComparison, full_json
from vjcascade.comparison.run_cache import RUNS_NAME
from vjcascade.errors import CascadeError
from vjcascade.evaluation import read_scenes
from vjcascade.files import write_atomic
from vjcascade.parallel import default_threads
from vjcascade.report.full import full_answer
from vjcascade.training import TrainingSettings
from vjcascade.training.data.reading import Reader, Sources
from vjcascade.training.events import Event, Note, Progress
from vjcascade.types import Size

RESULTS_NAME, FULL_NAME = "results.json", "full.json"

CONTRASTS_NAME = "contrasts.toml"

KEPT_SUFFIXES = {".json", ".jsonl", ".xml"}
"""Of files that are kept to go on with: no windows of photos."""

PHOTOS_MEMORY = 2**30

NO_FEATURES = {"wpbc": "time", "oil_spill": "x1"}
"""Columns to leave out: the follow-up time, and the patch number."""

STAGE_BOOSTERS = (
    "adaboost",
    "cost-generalized",
    "cost-generalized:sample",
    "cost-sensitive",
    "adaboostdb",
    "asymboost",
    "adac2",
    "csb2",
    "gentle",
    "real",
    "cost-generalized-gentle",
    "cost-generalized-real",
)
STAGE_RULES = (Rule.NATURAL, Rule.THEORY, Rule.HIT_RATE, Rule.MINIMUM_COST, Rule.CALIBRATED)
STAGE_COSTS = (1, 2, 5, 20)

CURVE_BOOSTERS = ("adaboost", "cost-generalized", "cost-generalized:sample", "cost-sensitive", "adaboostdb")

CASCADE_BOOSTERS = ("adaboost", "cost-generalized", "cost-sensitive", "gentle", "cost-generalized-gentle")
CASCADE_COSTS = (2,)


@dataclass(frozen=True)
class Thing:
    """An object to be found.

    Attributes
    ----------
    recipe : str
        Of build_models.py: which pictures.
    window : Size
        Of training.
    draws : int
        Independent ones; fewer where there are few crops.
    samples : int
        Windows of each class that a draw trains on, at most.
    crops : tuple of str
        Patterns of crops, if not those of the recipe.
    scenes : str
        Boxes of the test scenes, below the data; empty for none.
    """

    recipe: str
    window: Size
    draws: int
    samples: int
    crops: tuple[str, ...] = ()
    scenes: str = ""


THINGS = {
    "faces": Thing("frontalface", Size(24, 24), 8, 300, crops=("faces-train/caltech10k/train/*.png",)),
    "cars": Thing("car", Size(38, 15), 4, 60, scenes="cars-uiuc/boxes_TestImages_Scale.csv"),
    "plates": Thing("plate", Size(48, 12), 8, 75, scenes="plates-eu/boxes_test.csv"),
}


@dataclass(frozen=True)
class Part:
    """A part of the comparison.

    Attributes
    ----------
    name : str
        And its folder.
    run : callable
        Runs what is missing in that folder, and returns an answer in sentences.
    n_runs : int
        Lines that its record of runs has when it is finished; 0 for cascades.
    """

    name: str
    run: Callable[[Path], Sequence[str]]
    n_runs: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the unpacked archives")
    parser.add_argument("--output", type=Path, required=True, help="folder of finished runs")
    parser.add_argument("--only", nargs="+", metavar="PART", help="parts to run; all if not given")
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--small", action="store_true", help="try everything, in minutes")
    parser.add_argument(
        "--estimate", action="store_true", help="run nothing, and say how long the rest takes"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="run nothing, and write what is finished there, to go on with",
    )
    parser.add_argument(
        "--take",
        type=Path,
        metavar="FOLDER",
        help="run nothing, and unpack what was kept there into the output",
    )
    parser.add_argument("--publish", type=Path, metavar="FOLDER", help="run nothing, and write tables there")
    arguments = parser.parse_args()
    parts = {part.name: part for part in all_parts(arguments.data, arguments.threads, small=arguments.small)}
    unknown = set(arguments.only or ()) - parts.keys()
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    chosen = [parts[name] for name in arguments.only or parts]
    try:
        if arguments.estimate:
            print("\n".join(estimate(part, arguments.output / part.name) for part in chosen))
        elif arguments.keep:
            keep(chosen, arguments.output, arguments.keep)
        elif arguments.take:
            take(chosen, arguments.output, arguments.take)
        elif arguments.publish:
            publish(chosen, arguments.output, arguments.publish)
        else:
            run(chosen, arguments.output)
    except (CascadeError, OSError) as error:
        sys.exit(f"error: {error}")


def run(parts: Sequence[Part], output: Path) -> None:
    """Run what is missing, with the code that what is there was made with."""
    now = probe()
    for part in parts:
        folder = output / part.name
        folder.mkdir(parents=True, exist_ok=True)
        kept = folder / PROBE_NAME
        if kept.exists():
            changed = differences(json.loads(kept.read_text(encoding="utf-8")), now)
            if changed:
                sys.exit(
                    f"error: {folder} was begun with code that gives other numbers ({len(changed)} of {len(now)} differ, as "
                    f"{changed[0]}): go on with that code, or remove the folder"
                )
        else:
            write_probe(folder, now)
        print(f"== {part.name}", flush=True)
        print("\n".join(part.run(folder)), flush=True)


def estimate(part: Part, folder: Path) -> str:
    """Return what is there of a part, and how many processor hours the rest takes if it is like that."""
    if not part.n_runs:
        n_there = len(list(folder.glob("full/*/scenes.json")))
        return f"{part.name}: {n_there} cascades are there"
    path = folder / RUNS_NAME
    lines = path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
    if not lines:
        return f"{part.name}: {part.n_runs:,} runs to do"
    seconds = [next(iter(json.loads(line)["results"].values()))["seconds"] for line in lines]
    rest = (part.n_runs - len(lines)) * sum(seconds) / len(seconds) / 3600
    there = sum(seconds) / 3600
    return (
        f"{part.name}: {len(lines):,} of {part.n_runs:,} runs are there, {there:.2f} processor hours of boosting; about "
        f"{rest:.2f} for the rest"
    )


def keep(parts: Sequence[Part], output: Path, folder: Path) -> None:
    """Write what is finished of each part into an archive: results and models, no pictures."""
    for part in parts:
        own = output / part.name
        whole = [path.parent for path in own.glob(f"full/*/{FOUND_NAME}")]
        files = [
            own / PROBE_NAME,
            own / RUNS_NAME,
            *(path for one in whole for path in sorted(one.iterdir())),
        ]
        files = [path for path in files if path.suffix in KEPT_SUFFIXES and path.is_file()]
        if not whole and own / RUNS_NAME not in files:
            continue
        packed = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file,
            tarfile.open(fileobj=file, mode="w") as archive,
        ):
            for path in files:
                entry = tarfile.TarInfo(path.relative_to(output).as_posix())
                data = path.read_bytes()
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / f"{part.name}.tar.gz", packed.getvalue())
        print(
            f"{part.name}: {len(files)} files, {len(packed.getvalue()):,} bytes, in {folder / part.name}.tar.gz"
        )


def take(parts: Sequence[Part], output: Path, folder: Path) -> None:
    """Unpack what was kept of each part, if nothing of it is there."""
    for part in parts:
        path, own = folder / f"{part.name}.tar.gz", output / part.name
        if path.exists() and (own / PROBE_NAME).exists():
            print(f"{part.name}: {own} was begun already; nothing is taken from {path}")
        elif path.exists():
            with tarfile.open(path) as archive:
                archive.extractall(output, filter="data")
            print(f"{part.name}: taken from {path}")


def publish(parts: Sequence[Part], output: Path, folder: Path) -> None:
    """Write the tables of finished parts."""
    for part in parts:
        own = output / part.name
        results, whole = own / RESULTS_NAME, own / FULL_NAME
        if results.exists():
            comparison = Comparison.from_dict(json.loads(results.read_text(encoding="utf-8")))
            kept = (own / PROBE_NAME).read_bytes()
            write_tables(comparison, kept, folder / part.name, folder / CONTRASTS_NAME)
        elif whole.exists():
            full = FullComparison.from_dict(json.loads(whole.read_text(encoding="utf-8")))
            write_cascades(full, (own / PROBE_NAME).read_bytes(), folder / part.name)
        else:
            continue
        print(f"tables of {part.name} written to {folder}")


def all_parts(data: Path, n_threads: int, *, small: bool) -> Iterator[Part]:
    """Yield the parts, those first that take least."""
    tables, design = sorted((data / "uci").glob("*.csv")), replace(nikolaou_design(n_seeds=10), seed=0)
    tables = [path for path in tables if path.stem != "index"]
    if small:
        tables = [path for path in tables if path.stem in {"parkinsons", "heart"}]
        design = replace(design, costs=design.costs[3:6], n_rounds=10, n_seeds=2)
    n_runs = len(design.runs(trains_whole=True)) * design.n_seeds * len(tables)
    yield Part("tables", partial(run_tables, tables, design, n_threads), n_runs)
    for name, thing in THINGS.items():
        n_draws = 2 if small else thing.draws
        stage_design = Design(
            STAGE_BOOSTERS[:3] if small else STAGE_BOOSTERS,
            STAGE_COSTS[1:2] if small else STAGE_COSTS,
            STAGE_RULES,
            n_rounds=5 if small else 100,
            n_seeds=n_draws,
            hit_rate=0.99,
            false_alarm_rate=0.4,
        )
        plan = StagePlan(
            n_stages=1 if small else 3,
            n_samples=min(thing.samples, 40) if small else thing.samples,
            n_features=500 if small else None,
            n_draws=n_draws,
        )
        yield stages_part(f"stages-{name}", data, thing, stage_design, plan, n_threads)
        if name == "faces":
            long = replace(stage_design, boosters=CURVE_BOOSTERS, costs=(5,), n_rounds=10 if small else 1000)
            two = replace(plan, n_stages=min(plan.n_stages, 2))
            yield stages_part(f"curves-{name}", data, thing, long, two, n_threads)
    for name, thing in THINGS.items():
        if thing.scenes:
            yield Part(f"cascades-{name}", partial(run_cascades, data, thing, n_threads, small=small), 0)


def stages_part(name: str, data: Path, thing: Thing, design: Design, plan: StagePlan, n_threads: int) -> Part:
    """Return a part that compares on stages."""
    n_runs = len(design.runs(trains_whole=False)) * design.n_seeds * plan.n_stages
    return Part(name, partial(run_stages, data, thing, design, plan, n_threads), n_runs)


def run_tables(tables: Sequence[Path], design: Design, n_threads: int, folder: Path) -> list[str]:
    """Run the tables."""
    (folder / "tables").mkdir(exist_ok=True)
    copies = [folder / "tables" / path.name for path in tables]
    for path, copy in zip(tables, copies, strict=True):
        lines = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
        left_out = NO_FEATURES.get(path.stem)
        kept = [i for i, name in enumerate(lines[0]) if name != left_out]
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([line[i] for i in kept] for line in lines)
        write_atomic(copy, text.getvalue().encode())
    comparison = compare_tables(
        copies, "y", folder, design, resume=True, n_threads=n_threads, listener=Console()
    )
    return finished(comparison, folder)


def run_stages(
    data: Path, thing: Thing, design: Design, plan: StagePlan, n_threads: int, folder: Path
) -> list[str]:
    """Run the stages of an object."""
    crops, photos = pictures(data, thing, folder)
    comparison = compare_stages(
        crops,
        photos,
        folder,
        design,
        plan,
        window=thing.window,
        resume=True,
        n_threads=n_threads,
        listener=Console(),
    )
    return finished(comparison, folder)


def run_cascades(data: Path, thing: Thing, n_threads: int, folder: Path, *, small: bool) -> list[str]:
    """Train and try the cascades of an object."""
    crops, photos = pictures(data, thing, folder)
    settings = TrainingSettings(
        max_stages=2 if small else 10, max_samples=200 if small else 1000, baseline=False
    )
    listener = Console()
    reader = Reader(n_threads, strict=False, listener=listener)
    positives = reader.positives(crops, thing.window, None)
    negatives = reader.photos(photos, positives, PHOTOS_MEMORY)
    boosters = CASCADE_BOOSTERS[:2] if small else CASCADE_BOOSTERS
    full = compare_full(
        Sources(positives, negatives, negatives.subset([])),
        read_scenes(data / thing.scenes),
        folder,
        full_entries([Contender(one) for one in boosters], CASCADE_COSTS),
        settings,
        n_seeds=1 if small else 3,
        resume=True,
        n_threads=n_threads,
        listener=listener,
    )
    write_atomic(folder / FULL_NAME, full_json(full).encode())
    return full_answer(full)


def finished(comparison: Comparison, folder: Path) -> list[str]:
    """Keep the results of a part, and return its answer."""
    write_atomic(folder / RESULTS_NAME, results_json(comparison).encode())
    return answer(comparison)


def pictures(data: Path, thing: Thing, folder: Path) -> tuple[Path, Path]:
    """Gather crops and photos as links in two folders, and return these."""
    recipe = RECIPES[thing.recipe]
    crops = found(data, thing.crops or recipe.positives)
    for kind, paths in (("crops", crops), ("photos", photos_of(recipe, data))):
        (folder / kind).mkdir(exist_ok=True)
        for path in paths:
            link = folder / kind / path.name
            link.unlink(missing_ok=True)  # of another machine, perhaps
            link.symlink_to(path.absolute())
    return folder / "crops", folder / "photos"


class Console:
    """Prints notes, and now and then how far a part is."""

    def __init__(self) -> None:
        self._shown = -1

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, Note):
            print(event.text, flush=True)
        elif isinstance(event, Progress) and event.total:
            hundredth = 100 * event.done // event.total
            if event.part == "comparing" and hundredth != self._shown:
                self._shown = hundredth
                print(f"{hundredth} %: {event.detail}", flush=True)


if __name__ == "__main__":
    main()
