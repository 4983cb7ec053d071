"""Show that two versions of vjcascade train the same models, byte for byte; fail if any differs.

``python tools/check_same_models.py --before PYTHON --after PYTHON --faces FOLDER --cars FOLDER --photos FOLDER`` runs
small trainings and comparisons in two environments, each given by its Python, and compares all files that they write.
Only the command line of vjcascade is used, so the versions may differ inside as much as they like. What cannot be equal
is left out: seconds, memory, versions, command lines, and sentences for people. HTML reports are not compared.

``--before PYTHON --record FILE`` keeps the hashes of one version; ``--expect FILE --after PYTHON`` compares with them
later.

Kernels that were compiled before are used again, and numba does not notice if another file that they were compiled from
has changed: ``--compile`` compiles all of them anew, which takes a minute for each environment.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

BOOSTERS = (
    "adaboost",
    "adaboostdb",
    "adac1",
    "adac2",
    "adac3",
    "adacost",
    "asymboost",
    "cost-generalized",
    "cost-generalized-gentle",
    "cost-generalized-logit",
    "cost-generalized-real",
    "cost-sensitive",
    "cost-sensitive-logit",
    "cost-sensitive-real",
    "csb0",
    "csb1",
    "csb2",
    "gentle",
    "logit",
    "real",
)
QUICK_BOOSTERS = ("adaboost", "adac2", "asymboost", "cost-sensitive", "cost-generalized-gentle", "logit")
"""Those that take part in ``--quick``."""

RULES = ("natural", "theory", "adamec", "hit-rate", "minimum-cost", "calibrated")

SUFFIXES = {".png", ".jpg", ".pgm"}
"""Of the files that are taken for pictures."""

N_CROPS, N_FEW_CROPS = 500, 150
N_PHOTOS, N_FEW_PHOTOS, N_MORE_PHOTOS, N_SCENES = 80, 40, 20, 20
FACES_PER_SCENE, SCENE_SIZE = 4, (320, 240)

INPUTS = "../../inputs"
"""Seen from the folder of a case. All paths are relative: some are written into models and results."""

TABLE = "patients"

SMALL = {"window": "16x16", "negatives": 200, "stages": 3, "max_weak": 12, "false_alarm_rate": 0.1}
"""Options of the smallest trainings."""

VARYING = {"time", "memory", "parts", "versions", "command", "ended", TABLE}
"""Columns and JSON keys that are not compared, besides those that hold seconds; `TABLE` is that of a sentence on the table."""

PROSE_EVENTS = {"note", "end"}
"""Lines of ``events.jsonl`` that hold nothing but a sentence."""

MODE = re.compile(rb"<mode>\w+</mode>")
"""Up to version 0.1, models trained with basic features said CORE; nobody reads it."""

METADATA = re.compile(rb"<!--.*?-->", re.DOTALL)
"""In a model file, what is said of its training."""

Files = dict[str, str]
"""Hashes by path."""


class Case(NamedTuple):
    """Command lines of vjcascade that are run one after the other in a folder of their own."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    is_quick: bool = False


class Result(NamedTuple):
    """What a case left, how long it took, and the last lines of a command that failed."""

    files: Files
    seconds: float
    error: str = ""


class Environment:
    """An installed version of vjcascade.

    Parameters
    ----------
    python : str
        Its interpreter.
    work : Path
        Cases are run in folders inside it.
    compile_anew : bool
        Compile all kernels, whatever has been compiled before.
    """

    def __init__(self, python: str, work: Path, *, compile_anew: bool) -> None:
        found = shutil.which(python)
        if found is None:
            sys.exit(f"{python} is no program")
        self._python = str(Path(found).absolute())  # not resolved: a virtual environment's is a link
        self._work = work
        self._variables = dict(os.environ)
        if compile_anew:
            self._variables["NUMBA_CACHE_DIR"] = str(work / "kernels")
        work.mkdir()

    def location(self) -> str:
        """Return the folder that vjcascade is imported from."""
        done = self._call("-c", "import vjcascade; print(vjcascade.__file__)", folder=self._work)
        if done.returncode:
            sys.exit(f"{self._python} has no vjcascade: {last_lines(done.stderr)}")
        return str(Path(done.stdout.strip()).parent)

    def warm_up(self) -> None:
        """Compile what is not compiled yet, so that no case has to wait for it."""
        self._call("-m", "vjcascade", "warmup", folder=self._work)

    def run(self, case: Case) -> Result:
        """Run the commands of a case until one fails."""
        folder = self._work / case.name
        folder.mkdir()
        began = time.monotonic()
        for command in case.commands:
            done = self._call("-m", "vjcascade", *command, folder=folder)
            if done.returncode:
                return Result({}, time.monotonic() - began, last_lines(done.stderr or done.stdout))
        return Result(hashes(folder), time.monotonic() - began)

    def _call(self, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._python, *words],
            cwd=folder,
            env=self._variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )


def last_lines(text: str) -> str:
    """Return the last three lines of an output as one."""
    return " ".join(text.split("\n")[-4:]).strip()


def train(positives: str = "faces", negatives: str = "photos", /, **options: Any) -> tuple[str, ...]:
    """Return the command line of a training with the quick preset if no other is given."""
    pictures = (f"{INPUTS}/{positives}", f"{INPUTS}/{negatives}")
    return "train", *pictures, *words({"output": "model", "preset": "quick", "seed": 7, **options})


def train_few(**options: Any) -> tuple[str, ...]:
    """Return the command line of one of the smallest trainings."""
    return train("few-faces", "few-photos", **{**SMALL, **options})


def words(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield options as words of a command line: ``max_depth=2`` as ``--max-depth 2``."""
    for name, value in options.items():
        option = name.strip("_").replace("_", "-")
        if isinstance(value, bool):
            yield f"--{option}" if value else f"--no-{option}"
        else:
            values = value if isinstance(value, tuple) else (value,)
            yield from (f"--{option}", *map(str, values))


def all_cases() -> list[Case]:
    """Return every case."""
    return [*picture_cases(), *setting_cases(), *running_cases(), *booster_cases(), *comparison_cases()]


def picture_cases() -> Iterator[Case]:
    """Yield trainings with different pictures, features and weak classifiers."""
    yield Case("faces", (train(stages=5, false_alarm_rate=0.25),), is_quick=True)
    yield Case("cars", (train("cars", stages=3, window="32x13"),), is_quick=True)
    yield Case("cars-window-proposed", (train("cars", stages=2, features="lbp"),))
    lists = train("scenes.dat", "ignored.dat", **SMALL)
    yield Case("lists-with-boxes", (lists,), is_quick=True)
    yield Case("lbp", (train(stages=5, features="lbp", false_alarm_rate=0.1),), is_quick=True)
    yield Case("trees", (train(stages=3, window="20x20", max_depth=2, false_alarm_rate=0.1),), is_quick=True)
    yield Case("deep-trees", (train_few(max_depth=4, false_alarm_rate=0.005),))
    yield Case("lbp-trees", (train(stages=3, features="lbp", max_depth=2, false_alarm_rate=0.05),))
    yield Case("core-features", (train_few(mode="core"),))
    yield Case("tilted-features", (train(stages=3, window="16x16", mode="all"),), is_quick=True)


def setting_cases() -> Iterator[Case]:
    """Yield trainings with different settings."""
    yield Case("normal-preset", (train_few(preset="normal"),))
    yield Case("hardest-negatives", (train_few(hardest_negatives=True),))
    yield Case("nothing-held-out", (train_few(held_out=0, baseline=False),))
    yield Case("few-samples", (train_few(max_samples=280, min_side=20),))
    yield Case("few-windows-searched", (train_few(max_windows=20_000, stages=6),))
    yield Case("costs-gamma", (train_few(costs="gamma=0.8"),))
    yield Case("costs-matrix", (train_few(costs="matrix=0,1;5,0"),))
    yield Case("settings-file", (train_few(settings=f"{INPUTS}/settings.toml"),), is_quick=True)


def running_cases() -> Iterator[Case]:
    """Yield trainings that are limited, interrupted or continued."""
    on_disk = {"stages": 2, "threads": 2}
    yield Case("bins-on-disk", (train(**on_disk, memory="900MB"),))
    yield Case("bins-and-histograms-on-disk", (train(**on_disk, memory="640MB"),), is_quick=True)
    yield Case("one-thread", (train_few(threads=1),))
    yield Case("resume", (train_few(stages=1), train_few(stages=3, resume=True)))
    going_on = {"continue_": "base/cascade.xml", "stages": 4}
    more = train_few(**going_on, more_negatives=f"{INPUTS}/more-photos")
    yield Case("continue", (train_few(stages=2, output="base"), more), is_quick=True)
    base = train_few(features="lbp", stages=2, output="base")
    yield Case("continue-lbp", (base, train_few(**going_on, features="lbp", booster="real")))


def booster_cases() -> Iterator[Case]:
    """Yield a training of every booster with Haar stumps, and one with trees of LBP features."""
    for name in BOOSTERS:
        stumps = train_few(booster=name, costs="3:1")
        yield Case(f"booster-{name}", (stumps,), is_quick=name in QUICK_BOOSTERS)
        trees = train_few(booster=name, costs="3:1", features="lbp", max_depth=2, false_alarm_rate=0.02)
        yield Case(f"booster-{name}-lbp-trees", (trees,), is_quick=name in QUICK_BOOSTERS)


def comparison_cases() -> Iterator[Case]:
    """Yield comparisons of stages, whole cascades and tables."""
    pictures = ("compare", f"{INPUTS}/few-faces", f"{INPUTS}/few-photos")
    every = {"boosters": "all", "costs": (1, 4), "rules": RULES, "seeds": 2, "sanity": True, "seed": 7}
    few = {"boosters": ("adaboost", "gentle", "csb2"), "costs": (1, 2), "seeds": 2, "seed": 7}
    sizes = {"window": "16x16", "samples": 100, "rounds": 8}
    stages = (*pictures, *words({**every, **sizes, "stages": 2, "pool": 1500}))
    yield Case("compare-stages", (stages,), is_quick=True)
    base = train_few(stages=2, features="lbp", output="base")
    stages = (*pictures, *words({**few, **sizes, "features": "lbp", "reference": "base/cascade.xml"}))
    yield Case("compare-stages-lbp", (base, stages))
    full = (*pictures, *words({**few, **sizes, "full": True, "scenes": f"{INPUTS}/scenes.dat", "stages": 3}))
    yield Case("compare-full", (full,))
    table = {"table": f"{INPUTS}/{TABLE}.csv", "target": "ill", "ignore_column": "number", "rounds": 10}
    yield Case("compare-table", (("compare", *words({**table, **every})),), is_quick=True)
    published = {"preset": "nikolaou", "seeds": 2, "seed": 3}
    yield Case("compare-table-nikolaou", (("compare", *words({**table, **published})),))


def make_inputs(folder: Path, faces: Path, cars: Path, photos: Path) -> None:
    """Copy some of the pictures, and make scenes with faces, settings and a table."""
    crops = spread(crop_files(faces), N_CROPS, faces)
    copy(crops, folder / "faces")
    copy(spread(crops, N_FEW_CROPS, faces), folder / "few-faces")
    copy(spread(crop_files(cars), N_CROPS, cars), folder / "cars")
    chosen = spread(picture_files(photos), N_PHOTOS + N_MORE_PHOTOS + N_SCENES, photos)
    copy(chosen[:N_PHOTOS], folder / "photos")
    copy(chosen[:N_FEW_PHOTOS], folder / "few-photos")
    copy(chosen[N_PHOTOS:-N_SCENES], folder / "more-photos")
    make_scenes(folder, chosen[-N_SCENES:], crops)
    (folder / "settings.toml").write_text(
        'booster = "cost-generalized-real"\ncosts = { gamma = 0.75 }\nfalse-alarm-rate = 0.35\nmax_depth = 2\n'
    )
    make_table(folder / f"{TABLE}.csv")


def picture_files(folder: Path) -> list[Path]:
    """Return all pictures in a folder and those inside it, sorted."""
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)


def crop_files(folder: Path) -> list[Path]:
    """Return the pictures of objects: in UIUC's folder of cars there are others as well."""
    return [path for path in picture_files(folder) if not path.name.startswith("neg-")]


def spread(paths: Sequence[Path], n: int, folder: Path) -> list[Path]:
    """Return so many of the files of a folder, from all over it."""
    if len(paths) < n:
        sys.exit(f"{folder} holds {len(paths)} pictures; at least {n} are needed")
    return [paths[i * len(paths) // n] for i in range(n)]


def copy(paths: Sequence[Path], folder: Path) -> None:
    """Copy files, numbered: names may occur twice."""
    folder.mkdir(parents=True)
    for number, path in enumerate(paths):
        shutil.copyfile(path, folder / f"{number:04}{path.suffix}")


def make_scenes(folder: Path, photos: Sequence[Path], faces: Sequence[Path]) -> None:
    """Paste faces into photos; write lists of them with a box for each face, and for half of the faces."""
    rng = random.Random(0)
    lines: dict[str, list[str]] = {"scenes.dat": [], "ignored.dat": []}
    (folder / "scenes").mkdir()
    for number, path in enumerate(photos):
        scene = Image.open(path).convert("L").resize(SCENE_SIZE)
        boxes = [paste(scene, rng.choice(faces), place, rng) for place in range(FACES_PER_SCENE)]
        name = f"scenes/{number:02}.png"
        scene.save(folder / name)
        for list_name, n in (("scenes.dat", FACES_PER_SCENE), ("ignored.dat", FACES_PER_SCENE // 2)):
            lines[list_name].append(f"{name} {n} {' '.join(boxes[:n])}\n")
    for list_name, written in lines.items():
        (folder / list_name).write_text("".join(written))


def paste(scene: Image.Image, face: Path, place: int, rng: random.Random) -> str:
    """Paste a face somewhere into a quarter of a scene; return its box as the lists have it."""
    width, height = (length // 2 for length in SCENE_SIZE)
    side = rng.randint(24, 72)
    x = place % 2 * width + rng.randint(0, width - side)
    y = place // 2 * height + rng.randint(0, height - side)
    scene.paste(Image.open(face).convert("L").resize((side, side)), (x, y))
    return f"{x} {y} {side} {side}"


def make_table(path: Path) -> None:
    """Write a table with numbers, text and missing values."""
    rng = random.Random(0)
    lines = ["number,age,dose,kind,ill"]
    for number in range(300):
        is_ill = rng.random() < 0.3
        age = f"{rng.gauss(50 + 8 * is_ill, 10):.1f}"
        dose = "" if rng.random() < 0.1 else f"{rng.gauss(1 - is_ill, 1.5):.3f}"
        kind = rng.choice("aabc" if is_ill else "abcc")
        lines.append(f"{number},{age},{dose},{kind},{'yes' if is_ill else 'no'}")
    path.write_text("\n".join(lines) + "\n")


def inputs_hash(folder: Path) -> str:
    """Return a hash of all inputs."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    contents = (path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() for path in paths)
    return sha256(b"".join(hashlib.sha256(content).digest() for content in contents))


def sha256(content: bytes) -> str:
    """Return a hash as it is written."""
    return hashlib.sha256(content).hexdigest()


def hashes(folder: Path) -> Files:
    """Return the hash of what is compared of each file that a case left; of a model, also without its metadata."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".html":
            name, content = path.relative_to(folder).as_posix(), path.read_bytes()
            if path.suffix == ".npz" and not windows(content):
                continue  # earlier versions wrote none where there are no false alarms
            found[name] = sha256(compared(path.suffix, content))
            if path.suffix == ".xml":
                found[f"{name} (without metadata)"] = sha256(METADATA.sub(b"", MODE.sub(b"", content)))
    return found


def compared(suffix: str, content: bytes) -> bytes:
    """Return what is compared of a file: all of it but what is never the same twice."""
    if suffix == ".xml":
        return MODE.sub(b"", content)
    if suffix == ".npz":
        return windows(content)
    if suffix == ".csv":
        return steady_csv(content.decode())
    if suffix == ".json":
        return steady_json(json.loads(content))
    if suffix == ".jsonl":
        lines = [json.loads(line) for line in content.splitlines()]
        return b"\n".join(steady_json(line) for line in lines if line.get("event") not in PROSE_EVENTS)
    return content


def windows(content: bytes) -> bytes:
    """Return the pixels of false alarms that a run keeps, without the digest of the stages that they belong to."""
    with np.load(io.BytesIO(content)) as arrays:
        return b"".join(arrays[name].tobytes() for name in ("training", "held_out"))


def varies(name: str) -> bool:
    """Return whether a column or key holds what is never the same twice, or a sentence."""
    return name in VARYING or "seconds" in name


def steady_csv(text: str) -> bytes:
    """Return a table without the columns that vary."""
    rows = list(csv.reader(io.StringIO(text)))
    kept = [place for place, name in enumerate(rows[0]) if not varies(name)]
    return "\n".join(repr([row[place] for place in kept]) for row in rows).encode()


def steady_json(value: Any) -> bytes:
    """Return JSON without the keys that vary, the others sorted."""
    return json.dumps(steady(value), sort_keys=True).encode()


def steady(value: Any) -> Any:
    """Return JSON values without the keys that vary."""
    if isinstance(value, dict):
        return {name: steady(inner) for name, inner in value.items() if not varies(name)}
    return [steady(inner) for inner in value] if isinstance(value, list) else value


def differences(before: Files, after: Files) -> list[str]:
    """Return what to say of each file that is not the same."""
    found = [f"{name} differs" for name in before if name in after and before[name] != after[name]]
    found += [f"{name} is missing after" for name in before if name not in after]
    return found + [f"{name} is new after" for name in after if name not in before]


class Checker:
    """Runs cases in one or two environments, and compares.

    Parameters
    ----------
    before, after : Environment or None
        One of them may be missing: then nothing is compared, or with what is expected.
    expected : mapping
        Files by case, as recorded.
    """

    def __init__(
        self, before: Environment | None, after: Environment | None, expected: Mapping[str, Files]
    ) -> None:
        self._before, self._after, self._expected = before, after, expected
        self.recorded: dict[str, Files] = {}
        self.tally: Counter[str] = Counter()

    def check(self, case: Case) -> str:
        """Run a case; return a line on it, and one for each difference."""
        results = [one.run(case) for one in (self._before, self._after) if one is not None]
        verdict, reasons = self._judge(case, results)
        self.tally[verdict] += 1
        seconds = "".join(f"{result.seconds:7.1f} s" for result in results)
        return "\n    ".join([f"{case.name:42}{verdict:8}{seconds}", *reasons])

    def _judge(self, case: Case, results: Sequence[Result]) -> tuple[str, list[str]]:
        if errors := [result.error for result in results if result.error]:
            return "FAILS", errors
        if self._before is not None:
            self.recorded[case.name] = results[0].files
        if self._after is None:
            return "trained", []
        files = self._expected[case.name] if self._before is None else results[0].files
        reasons = differences(files, results[-1].files)
        return ("DIFFERS" if reasons else "equal"), reasons


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options, checked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", metavar="PYTHON", help="of the environment with the old version")
    parser.add_argument("--after", metavar="PYTHON", help="of the environment with the new version")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep the hashes of --before (JSON)")
    parser.add_argument("--expect", type=Path, metavar="FILE", help="recorded hashes, in place of --before")
    for name, what in (
        ("faces", "crops of faces"),
        ("cars", "crops of cars (neg-* is left out)"),
        ("photos", "photos without faces"),
    ):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FOLDER", help=what)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run these cases alone")
    parser.add_argument("--quick", action="store_true", help="run a third of the cases")
    parser.add_argument("--compile", action="store_true", help="compile all kernels anew")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="run in this new folder, and keep it")
    options = parser.parse_args(arguments)
    if bool(options.before) == bool(options.expect):
        parser.error("give either --before or --expect")
    if not (options.after or options.record):
        parser.error("give --after to compare, or --record to keep hashes for later")
    if options.record and not options.before:
        parser.error("--record keeps the hashes of --before")
    return options


def chosen_cases(options: argparse.Namespace) -> list[Case]:
    """Return the cases that are asked for."""
    cases = all_cases()
    names = {case.name for case in cases}
    if unknown := [name for name in options.only or () if name not in names]:
        sys.exit(f"there are no cases {', '.join(unknown)}; there are {', '.join(sorted(names))}")
    if options.only:
        return [case for case in cases if case.name in options.only]
    return [case for case in cases if case.is_quick or not options.quick]


def read_record(path: Path, inputs: str, cases: Sequence[Case]) -> dict[str, Files]:
    """Return the recorded files of the cases."""
    record = json.loads(path.read_text())
    if record["inputs"] != inputs:
        sys.exit(f"{path} was recorded with other pictures, or another version of this program or of Pillow")
    if missing := [case.name for case in cases if case.name not in record["cases"]]:
        sys.exit(f"{path} has no hashes of {', '.join(missing)}")
    return record["cases"]


def make_environments(options: argparse.Namespace, work: Path) -> list[Environment | None]:
    """Return the environments before and after, ready to run cases; None for one that is not given."""
    made = {
        name: Environment(python, work / name, compile_anew=options.compile)
        for name in ("before", "after")
        if (python := getattr(options, name))
    }
    locations = {name: environment.location() for name, environment in made.items()}
    for name, location in locations.items():
        print(f"{name}: {location}", flush=True)
    if len(set(locations.values())) < len(locations):
        sys.exit("both environments import the same vjcascade: is PYTHONPATH set?")
    for environment in made.values():
        environment.warm_up()
    return [made.get("before"), made.get("after")]


def check(options: argparse.Namespace, work: Path) -> bool:
    """Run the cases that are asked for; return whether all is well."""
    cases = chosen_cases(options)
    make_inputs(work / "inputs", options.faces, options.cars, options.photos)
    inputs = inputs_hash(work / "inputs")
    expected = read_record(options.expect, inputs, cases) if options.expect else {}
    checker = Checker(*make_environments(options, work), expected)
    began = time.monotonic()
    for case in cases:
        print(checker.check(case), flush=True)
    if options.record:
        record = {"inputs": inputs, "cases": checker.recorded}
        options.record.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    tally = ", ".join(f"{n} {verdict}" for verdict, n in sorted(checker.tally.items()))
    print(f"{len(cases)} cases in {time.monotonic() - began:.0f} s: {tally}")
    return not (checker.tally["DIFFERS"] or checker.tally["FAILS"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and check."""
    options = parse(arguments)
    if options.keep:
        options.keep.mkdir(parents=True)
        sys.exit(not check(options, options.keep.absolute()))
    with tempfile.TemporaryDirectory() as work:
        sys.exit(not check(options, Path(work)))


if __name__ == "__main__":
    main()
