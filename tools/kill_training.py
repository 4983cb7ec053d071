"""Kill training runs at random moments, resume them, and compare the models with that of a run that nothing disturbed; fail if any differs.

``python tools/kill_training.py --kills 50`` trains a small cascade from pictures inside scikit-image, again and again. Half of the runs
are killed (signal 9) at a random moment; the others at a random boundary of a system call that changes the run's folder: before a file
is opened for writing, synchronised, renamed or removed. Of a file that is being synchronised only half is left, as after a power cut.
After every kill, the model in the folder must be a whole one: some first stages of the undisturbed run's. Then the run is resumed, and
killed again or left to end; a run that ends must have made the undisturbed run's model, byte for byte.
As many runs again are killed that add stages to a model that was trained before, with more negatives (``--continue``).

The same seed gives the same plan; where a kill at a moment hits depends on the machine. Needs a system with `fork`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import skimage

from vjcascade import Cascade
from vjcascade.cli.main import run as run_command
from vjcascade.files import MODEL_NAME
from vjcascade.imaging import opencv, read_gray, write_image
from vjcascade.messages import pluralize

PHOTOS = ("brick.png", "chelsea.png", "coffee.png", "grass.png", "gravel.png", "moon.png")
"""Pictures of scikit-image without faces."""

N_FACES = 100
"""The first windows of scikit-image's `lfw_subset` are faces, the others are not."""

MORE_PHOTOS = ("coins.png",)
"""The same, for runs that continue a model."""

SIDE, PHOTO_SIDE = 16, 160
"""Pixels of the crops and of the photos."""

OPTIONS = [
    "--window",
    "16x16",
    "--negatives",
    "150",
    "--max-weak",
    "6",
    "--hit-rate",
    "0.98",
    "--target-false-alarm-rate",
    "1e-9",
    "--no-baseline",
]

ENDS_AFTER_KILL = 0.5
"""How often a killed run is resumed to its end at once; else it is killed again."""

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod"}
"""Audit events, besides the opening of files, of system calls that change a folder."""


class Plan(NamedTuple):
    """When a run is to be killed: after some seconds, or before a system call by its number, or never."""

    seconds: float | None = None
    call: int | None = None


class Trainer:
    """Trains in processes of its own.

    Parameters
    ----------
    work : Path
        An empty folder.
    n_stages : int
        Stages of the cascade.
    n_continued : int
        Those of them that are trained before, to be continued.
    """

    def __init__(self, work: Path, n_stages: int, n_continued: int = 0) -> None:
        self.folder = work / "run"
        self._calls = work / "calls"
        make_pictures(work)
        words = ["train", str(work / "faces"), str(work / "photos"), *OPTIONS]
        self._words = [*words, "--output", str(self.folder), "--stages", str(n_stages)]
        if n_continued:
            train_here([*words, "--output", str(work / "base"), "--stages", str(n_continued)])
            self._words += ["--continue", str(work / "base" / MODEL_NAME)]
            self._words += ["--more-negatives", str(work / "more")]

    def prepare(self) -> None:
        """Train in this process, so that those forked from it have all kernels compiled and loaded."""
        train_here(self._words)
        shutil.rmtree(self.folder)

    def run(self, plan: Plan, *, resume: bool) -> bool:
        """Train, or be killed; return whether the run has ended by itself."""
        child = os.fork()
        if child == 0:
            self._train(plan, resume=resume)
        deadline = time.monotonic() + (float("inf") if plan.seconds is None else plan.seconds)
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() >= deadline:
                os.kill(child, signal.SIGKILL)
                ended = os.waitpid(child, 0)
                break
            time.sleep(0.002)
        code = os.waitstatus_to_exitcode(ended[1])
        if code not in (0, -signal.SIGKILL):
            sys.exit(f"a run ended with code {code}, resume={resume}, {plan}")
        return code == 0

    def n_calls(self) -> int:
        """Return how many system calls the last run that ended has made that change its folder."""
        return int(self._calls.read_text())

    def _train(self, plan: Plan, *, resume: bool) -> NoReturn:
        """Run the command line, in the child, and leave it."""
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        calls = watch_calls(self.folder, plan.call)
        code = 1
        try:
            code = run_command([*self._words, *(["--resume"] if resume else [])])
            self._calls.write_text(str(calls["made"]))
        finally:
            os._exit(code)


def train_here(words: Sequence[str]) -> None:
    """Run the command line in this process, and say nothing."""
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        if run_command(words):
            sys.exit("the undisturbed run fails")


def watch_calls(folder: Path, fatal: int | None) -> Counter[str]:
    """Count the system calls of this process that change a folder, and kill it before one of them."""
    calls: Counter[str] = Counter()
    synchronise = os.fsync

    def count() -> bool:
        calls["made"] += 1
        return calls["made"] == fatal

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        writes = (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if (event in CHANGES or writes) and str(arguments[0]).startswith(str(folder)) and count():
            os.kill(os.getpid(), signal.SIGKILL)

    def fsync(file: int) -> None:
        if count():
            tear(file)
            os.kill(os.getpid(), signal.SIGKILL)
        synchronise(file)

    sys.addaudithook(hook)
    os.fsync = fsync
    return calls


def tear(file: int) -> None:
    """Leave the first half of a file; a folder is left as it is."""
    try:
        os.ftruncate(file, os.fstat(file).st_size // 2)
    except OSError:  # a folder
        return


def make_pictures(work: Path) -> None:
    """Write the crops and photos to train with."""
    pictures = Path(skimage.__file__).parent / "data"
    for name in ("faces", "photos", "more"):
        (work / name).mkdir(parents=True)
    edge = (25 - SIDE) // 2
    faces = np.rint(255 * np.load(pictures / "lfw_subset.npy")[:N_FACES]).astype(np.uint8)
    for i, face in enumerate(faces[:, edge : edge + SIDE, edge : edge + SIDE]):
        write_image(work / "faces" / f"{i:03}.png", face)
    for folder, names in (("photos", PHOTOS), ("more", MORE_PHOTOS)):
        for name in names:
            photo = read_gray(pictures / name)[:PHOTO_SIDE, :PHOTO_SIDE]
            write_image(work / folder / f"{Path(name).stem}.png", photo)


def n_whole_stages(folder: Path, whole: Cascade) -> int:
    """Return how many stages the model in a folder has; end if they are not the first of the whole one's."""
    if not (folder / MODEL_NAME).exists():
        return 0
    cascade = Cascade.load(folder / MODEL_NAME)  # raises if it is not whole
    n = cascade.n_stages
    n_leaves = len(cascade.leaves)
    if (
        cascade.metadata["stages"] != whole.metadata["stages"][:n]
        or (cascade.leaves != whole.leaves[:n_leaves]).any()
    ):
        sys.exit(f"the model of {n} stages in {folder} is not the beginning of the undisturbed one")
    return n


def kill_runs(trainer: Trainer, n_kills: int, rng: np.random.Generator) -> tuple[Counter[int], int]:
    """Kill runs; return how many stages they had by then, and how many ended with the undisturbed run's model."""
    trainer.prepare()
    began = time.monotonic()
    trainer.run(Plan(), resume=False)
    seconds, n_calls = time.monotonic() - began, trainer.n_calls()
    model = trainer.folder / MODEL_NAME
    expected, whole = model.read_bytes(), Cascade.load(model)
    print(
        f"undisturbed: {whole.n_stages} stages in {seconds:.1f} s, {n_calls} system calls that change the folder"
    )
    shutil.rmtree(trainer.folder)
    stages: Counter[int] = Counter()
    n_equal, resume = 0, False
    while stages.total() < n_kills or resume:
        is_last = stages.total() >= n_kills or (resume and rng.random() < ENDS_AFTER_KILL)
        plan = Plan() if is_last else random_plan(rng, seconds, n_calls)
        if trainer.run(plan, resume=resume):
            if model.read_bytes() != expected:
                sys.exit(f"after {stages.total()} kills, a resumed run made another model: {model}")
            n_equal += resume
            shutil.rmtree(trainer.folder)
            resume = False
        else:
            stages[n_whole_stages(trainer.folder, whole)] += 1
            resume = True
    return stages, n_equal


def random_plan(rng: np.random.Generator, seconds: float, n_calls: int) -> Plan:
    """Return a random moment or a random system call of a run."""
    at_call = rng.random() < 0.5
    moment, call = rng.uniform(0, seconds), int(rng.integers(1, n_calls + 1))
    return Plan(call=call) if at_call else Plan(seconds=moment)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and kill."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=50, help="how many runs to kill of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--stages", type=int, default=6, help="of the cascade")
    options = parser.parse_args(arguments)
    opencv().setNumThreads(1)  # threads do not survive a fork
    for n_continued in sorted({0, options.stages // 2}):
        print(f"runs that go on from {pluralize(n_continued, 'stage')}")
        with tempfile.TemporaryDirectory() as work:
            trainer = Trainer(Path(work), options.stages, n_continued)
            stages, n_equal = kill_runs(trainer, options.kills, np.random.default_rng(options.seed))
        table = ", ".join(f"{n} with {k}" for k, n in sorted(stages.items()))
        print(f"killed: {stages.total()} runs (stages finished by then: {table}), seed {options.seed}")
        print(f"resumed to the end: {n_equal} runs, all with the undisturbed run's model, byte for byte")


if __name__ == "__main__":
    main()
