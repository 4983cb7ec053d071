"""Interrupt training and comparing, go on, and compare what is left with what an undisturbed run leaves; fail if it differs.

``python tools/check_interruptions.py`` trains small cascades from pictures inside scikit-image (from nothing, and going
on from a model), and compares boosters (on stages, on tables, by whole cascades), again and again, in folders that end up
with the same files, byte for byte:

* Runs are killed (signal 9), half of them at a random moment, the others at a random boundary of a system call that
  changes the run's folder: before a file is opened for writing, synchronised, renamed or removed. Of a file that is being
  synchronised only half is left, as after a power cut. Then they are resumed, and killed again or left to end.
* Runs write to disks of several sizes that are too small (file systems in memory, if we may mount some; else no file may
  grow beyond the size), say so, and are resumed when there is room.
* Runs begin at once in one folder, and are resumed at once after one was killed: one wins, the others say why they end.

After every kill and on every full disk, what is in the folder must be whole: some first stages of the undisturbed run's
model, some first lines of its results, nothing that is left half-written. In the runs' processes clocks stand still, or
their files would differ. What is for reports only (events, pictures, how long a stage of a whole cascade took) may lack
what was lost with a process that was killed.

The same seed gives the same plan; where a kill at a moment hits depends on the machine. Needs a system with `fork`.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import skimage

from vjcascade import Cascade
from vjcascade.cli.compare import FULL_CSV_NAME, FULL_JSON_NAME, FULL_REPORT_NAME
from vjcascade.cli.main import run as run_command
from vjcascade.comparison import full, measuring
from vjcascade.comparison.run_cache import RUNS_NAME
from vjcascade.files import EVENTS_NAME, MODEL_NAME, PICTURES_NAME
from vjcascade.formats import parse_cascade
from vjcascade.imaging import opencv, read_gray, write_image
from vjcascade.training import event_log, usage
from vjcascade.training.mining import collector

PHOTOS = ("brick.png", "chelsea.png", "coffee.png", "grass.png", "gravel.png", "moon.png")
"""Pictures of scikit-image without faces."""

MORE_PHOTOS = ("coins.png",)
"""The same, for runs that continue a model."""

N_FACES = 100
"""The first windows of scikit-image's `lfw_subset` are faces, the others are not."""

SIDE, PHOTO_SIDE = 16, 160
"""Pixels of the crops and of the photos."""

WINDOW = ["--window", "16x16", "--threads", "1"]

TRAINING = [*WINDOW, "--negatives", "150", "--max-weak", "6", "--hit-rate", "0.98", "--no-baseline"]
TRAINING += ["--target-false-alarm-rate", "1e-9"]

COMPARING = [
    "--boosters",
    "adaboost",
    "cost-generalized",
    "--costs",
    "1",
    "4",
    "--rounds",
    "4",
    "--seeds",
    "2",
]

KINDS = ("train", "continue", "stages", "tables", "cascades")

ENDS_AFTER_KILL = 0.5
"""How often a killed run is resumed to its end at once; else it is killed again."""

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate"}
"""Audit events, besides the opening of files, of system calls that change a folder."""

PAGE, ROOM = 4096, 2**26
"""Bytes: disks grow by the first; the second is room enough."""

TAKEN = re.compile("another run is writing into this folder|already holds a (model|comparison)")
"""What a run says that finds another one in its folder, or what it has left."""

TIMES = re.compile(rb'"\d+": {"seconds[^}]*}(, )?|"(seconds|processor_seconds|memory)": (null|[\d.]+)')
"""What files of whole cascades tell of a stage's time and memory: nobody knows them if its process was killed then."""

Content = dict[str, bytes]
"""Files of a folder by name."""


class Plan(NamedTuple):
    """When a run is to be killed: after some seconds, or before a system call by its number, or never."""

    seconds: float = float("inf")
    call: int | None = None


class Child(NamedTuple):
    """A process by its number, and the end of the pipe into which it says a few thousand bytes: they fit."""

    number: int
    reader: int


class End(NamedTuple):
    """How a run ended: its exit code, minus the signal that killed it, and what it said."""

    code: int
    said: str


class StoppedClock:
    """Stands for the module `time`."""

    time = perf_counter = process_time = monotonic = staticmethod(lambda: 0.0)


class Disk:
    """A place for the folders of runs, with as much room as wanted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.limit: int | None = None  # of the size of a file, where nothing can be mounted
        path.mkdir()
        self.is_mounted = self._mount(f"size={ROOM}")

    def renew(self, size: int) -> None:
        """Empty the disk, and give it another size, in bytes."""
        if self.is_mounted:
            self.end()
            self._mount(f"size={size}")
        else:
            for path in self.path.iterdir():
                shutil.rmtree(path)
            self.limit = None if size == ROOM else size

    def make_room(self) -> None:
        """Have room enough, and keep what is there."""
        self.limit = None
        if self.is_mounted:
            self._mount(f"remount,size={ROOM}")

    def too_small(self, files: Content, n_sizes: int) -> list[int]:
        """Return sizes, in bytes, with which some of the files cannot be written."""
        sizes = [len(data) for data in files.values()]
        if not self.is_mounted:
            return np.unique(np.linspace(1, max(sizes) - 1, n_sizes).astype(int)).tolist()
        n_pages = sum(-(-size // PAGE) for size in sizes)
        return (PAGE * np.unique(np.linspace(1, n_pages - 1, n_sizes).round().astype(int))).tolist()

    @property
    def reason(self) -> str:
        """What the system says of a file for which there is no room."""
        return os.strerror(errno.ENOSPC if self.is_mounted else errno.EFBIG)

    def end(self) -> None:
        """Take the disk away."""
        if self.is_mounted:
            subprocess.run(["umount", self.path], check=True)

    def _mount(self, options: str) -> bool:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.path]
        return (
            bool(shutil.which("mount"))
            and not subprocess.run(command, check=False, capture_output=True).returncode
        )


class Runner:
    """Runs a command line in processes of its own.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    work : Path
        An empty folder.
    n_stages : int
        Stages of cascades, and to compare on.
    disk : Disk
        Where its folder is.
    """

    def __init__(self, kind: str, work: Path, n_stages: int, disk: Disk) -> None:
        self.kind = kind
        self.folder = disk.path / "run"
        self._work, self._disk = work, disk
        self._words = make_command(kind, work, n_stages, self.folder)
        run_here(self._words)  # those forked from this process have all kernels compiled and loaded
        disk.renew(ROOM)
        began = time.monotonic()
        end = self.wait(self.start(Plan()), Plan())
        self.seconds = time.monotonic() - began
        if end.code:
            sys.exit(f"{self.kind}: the undisturbed run fails: {end.said}")
        self.n_calls = int((work / "calls").read_text())
        self.expected = content_of(self.folder)
        disk.renew(ROOM)

    def run(self, plan: Plan, *, resume: bool = False) -> End:
        """Run, or be killed."""
        return self.wait(self.start(plan, resume=resume), plan)

    def start(self, plan: Plan, *, resume: bool = False) -> Child:
        """Begin a process."""
        sys.stdout.flush()
        reader, writer = os.pipe()
        number = os.fork()
        if number == 0:
            self._run_here(plan, writer, resume=resume)
        os.close(writer)
        return Child(number, reader)

    def wait(self, child: Child, plan: Plan) -> End:
        """Return how a process ended; kill it when its time has come."""
        deadline = time.monotonic() + plan.seconds
        while not (ended := os.waitpid(child.number, os.WNOHANG))[0]:
            if time.monotonic() >= deadline:
                os.kill(child.number, signal.SIGKILL)
                ended = os.waitpid(child.number, 0)
                break
            time.sleep(0.002)
        with os.fdopen(child.reader) as said:
            return End(os.waitstatus_to_exitcode(ended[1]), said.read())

    def check_end(self, end: End, *, after: str) -> None:
        """End the program unless a run has ended well, with what an undisturbed one leaves."""
        if end.code:
            sys.exit(f"{self.kind}: after {after}, a run ended with code {end.code}: {end.said}")
        self._refuse(after, differences(content_of(self.folder), self.expected))
        self._refuse(after, empty_folders(self.folder))
        self._refuse(after, [str(path) for path in (self._work / "temporary").iterdir()])

    def check_whole(self, *, after: str, temporary: bool) -> None:
        """End the program if what is in the folder of a run that was stopped is not whole."""
        self._refuse(after, [] if temporary else empty_folders(self.folder))
        self._refuse(after, not_whole(self.folder, self.expected, temporary=temporary))

    def _refuse(self, after: str, names: Sequence[str]) -> None:
        if names:
            sys.exit(f"{self.kind}: after {after}, these are not the undisturbed run's: {', '.join(names)}")

    def _run_here(self, plan: Plan, writer: int, *, resume: bool) -> NoReturn:
        """Run the command line, in the child, and leave it."""
        for stream in (sys.stdout, sys.stderr):
            os.dup2(writer, stream.fileno())
        tempfile.tempdir = str(self._work / "temporary")
        stop_clocks()
        calls = watch_calls(self.folder, plan.call)
        if self._disk.limit is not None:
            limit_files(self._disk.limit)
        code = 1
        try:
            code = run_command([*self._words, *(["--resume"] if resume else [])])
            if not (resume or self._disk.limit):
                (self._work / "calls").write_text(str(calls["made"]))
        finally:
            os._exit(code)


def make_command(kind: str, work: Path, n_stages: int, folder: Path) -> list[str]:
    """Make data, and return the command line that works with it."""
    (work / "temporary").mkdir()
    make_pictures(work)
    pictures, output = [str(work / "faces"), str(work / "photos")], ["--output", str(folder)]
    stages = ["--stages", str(n_stages)]
    if kind == "train":
        return ["train", *pictures, *TRAINING, *stages, *output]
    if kind == "continue":
        n_before = str(max(n_stages // 2, 1))
        run_here(["train", *pictures, *TRAINING, "--stages", n_before, "--output", str(work / "base")])
        more = ["--continue", str(work / "base" / MODEL_NAME), "--more-negatives", str(work / "more")]
        return ["train", *pictures, *TRAINING, *stages, *more, *output]
    if kind == "stages":
        samples = ["--samples", "100", "--pool", "300"]
        return ["compare", "stages", *pictures, *WINDOW, *samples, *stages, *COMPARING, *output]
    if kind == "tables":
        make_table(work / "table.csv")
        table = [str(work / "table.csv"), "--target", "is_large", "--threads", "1"]
        return ["compare", "tables", *table, *COMPARING, *output]
    scenes = ["--scenes", str(work / "scenes.txt"), "--samples", "100"]
    return ["compare", "cascades", *pictures, *WINDOW, *scenes, *stages, *COMPARING, *output]


def make_pictures(work: Path) -> None:
    """Write crops and photos to train with, and a scene to test on."""
    pictures = Path(skimage.__file__).parent / "data"
    for name in ("faces", "photos", "more"):
        (work / name).mkdir(parents=True)
    edge = (25 - SIDE) // 2
    faces = np.rint(255 * np.load(pictures / "lfw_subset.npy")[:N_FACES]).astype(np.uint8)
    faces = faces[:, edge : edge + SIDE, edge : edge + SIDE]
    for i, face in enumerate(faces):
        write_image(work / "faces" / f"{i:03}.png", face)
    for folder, names in (("photos", PHOTOS), ("more", MORE_PHOTOS)):
        for name in names:
            photo = read_gray(pictures / name)[:PHOTO_SIDE, :PHOTO_SIDE]
            write_image(work / folder / f"{Path(name).stem}.png", photo)
    scene = read_gray(pictures / MORE_PHOTOS[0])[:PHOTO_SIDE, :PHOTO_SIDE].copy()
    scene[20 : 20 + SIDE, 30 : 30 + SIDE] = faces[0]
    write_image(work / "scene.png", scene)
    (work / "scenes.txt").write_text(f"scene.png 1 30 20 {SIDE} {SIDE}\n")


def make_table(path: Path) -> None:
    """Write a table whose classes overlap."""
    rng = np.random.default_rng(0)
    rows = [(i % 2, *rng.normal(i % 2, 1, 3)) for i in range(120)]
    lines = [f"{'yes' if large else 'no'},{a:.4f},{b:.4f},{c:.4f}" for large, a, b, c in rows]
    path.write_text("\n".join(["is_large,a,b,c", *lines, ""]))


def run_here(words: Sequence[str]) -> None:
    """Run the command line in this process, and say nothing."""
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        if run_command(words):
            sys.exit("the undisturbed run fails")


def stop_clocks() -> None:
    """Have the package measure no time and no memory in this process."""
    for module in (collector, event_log, full, measuring, usage):
        module.time = StoppedClock  # type: ignore[attr-defined]
    usage.resident_memory = lambda: None


def limit_files(size: int) -> None:
    """Let no file of this process grow beyond a size."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


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
    with contextlib.suppress(OSError):  # a folder
        os.ftruncate(file, os.fstat(file).st_size // 2)


def content_of(folder: Path) -> Content:
    """Return all files below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def empty_folders(folder: Path) -> list[str]:
    """Return the folder and those below it that nothing is in."""
    folders = [folder, *folder.rglob("*")] if folder.exists() else []
    return [str(path) for path in folders if path.is_dir() and not any(path.iterdir())]


def differences(found: Content, expected: Content) -> list[str]:
    """Return the names of files that are not those of the undisturbed run, but for what may be lost with a process."""
    names = [name for name in {**expected, **found} if found.get(name) != expected.get(name)]
    lost_times = any(Path(name).name == full.STATE_NAME for name in names)
    return [name for name in names if not may_differ(name, found, expected, lost_times=lost_times)]


def may_differ(name: str, found: Content, expected: Content, *, lost_times: bool) -> bool:
    """Tell whether a file may be other than the undisturbed run's: it tells of times, or serves for reports only."""
    if name not in expected or name not in found:
        return name in expected and Path(name).parent.name == PICTURES_NAME
    if lost_times and name in (FULL_CSV_NAME, FULL_REPORT_NAME):
        return True
    if lost_times and Path(name).name in (full.STATE_NAME, FULL_JSON_NAME):
        return TIMES.sub(b"", found[name]) == TIMES.sub(b"", expected[name])
    return Path(name).name == EVENTS_NAME


def not_whole(folder: Path, expected: Content, *, temporary: bool) -> list[str]:
    """Return the names of files that are not on the way to those of the undisturbed run.

    Parameters
    ----------
    folder : Path
        Of a run that was stopped.
    expected : dict
        What the undisturbed run leaves.
    temporary : bool
        Whether there may be files that the next run removes.
    """
    found = content_of(folder)
    return [name for name in found if not _is_whole(folder / name, name, expected, temporary=temporary)]


def _is_whole(path: Path, name: str, expected: Content, *, temporary: bool) -> bool:
    data, there = path.read_bytes(), expected.get(name)
    has_whole_lines = temporary or data.endswith(b"\n")
    whole = data == there
    if path.name.startswith(".vjcascade-"):
        whole = temporary
    elif path.name == MODEL_NAME:
        whole = there is not None and begins(path, there)
    elif path.name.startswith("negatives-"):  # of whatever stage; beside a model, unless a kill came between
        whole = temporary or path.with_name(MODEL_NAME).exists()
    elif path.name == EVENTS_NAME:
        whole = has_whole_lines
    elif path.name == RUNS_NAME:
        whole = has_whole_lines and there is not None and there.startswith(data)
    elif path.name in (full.STATE_NAME, FULL_JSON_NAME):
        whole = isinstance(json.loads(data), dict)
    return whole


def begins(path: Path, whole: bytes) -> bool:
    """Tell whether a model has the first stages of a whole one; raises if it is no model."""
    cascade, expected = Cascade.load(path), parse_cascade(whole, MODEL_NAME)
    n, n_leaves = cascade.n_stages, len(cascade.leaves)
    same_records = cascade.metadata["stages"] == expected.metadata["stages"][:n]
    return same_records and bool((cascade.leaves == expected.leaves[:n_leaves]).all())


def kill_runs(runner: Runner, n_kills: int, rng: np.random.Generator) -> None:
    """Kill runs, resume them, and tell how many."""
    killed: Counter[str] = Counter()
    n_resumed = n_missed = 0
    resume = False
    while killed.total() < n_kills or resume:
        is_last = killed.total() >= n_kills or (resume and rng.random() < ENDS_AFTER_KILL)
        plan = Plan() if is_last else random_plan(rng, runner)
        end = runner.run(plan, resume=resume)
        if end.code == -signal.SIGKILL:
            killed["at a moment" if plan.call is None else "before a system call"] += 1
            runner.check_whole(after=f"{killed.total()} kills, {plan}", temporary=True)
            resume = True
        else:
            runner.check_end(end, after=f"{killed.total()} kills")
            n_resumed, n_missed = n_resumed + resume, n_missed + (plan != Plan())
            shutil.rmtree(runner.folder)
            resume = False
    table = ", ".join(f"{n} {where}" for where, n in sorted(killed.items()))
    print(f"killed: {killed.total()} runs while they ran ({table}); {n_missed} ended before they were to be")
    print(f"resumed to the end: {n_resumed} runs, all with the undisturbed run's files, byte for byte")


def random_plan(rng: np.random.Generator, runner: Runner) -> Plan:
    """Return a random moment or a random system call of a run."""
    at_call = rng.random() < 0.5
    moment, call = rng.uniform(0, runner.seconds), int(rng.integers(1, runner.n_calls + 1))
    return Plan(call=call) if at_call else Plan(seconds=moment)


def fill_disks(runner: Runner, disk: Disk, n_sizes: int) -> None:
    """Run on disks that are too small, make room and resume; tell how many."""
    ends: Counter[int] = Counter()
    sizes = disk.too_small(runner.expected, n_sizes)
    for size in sizes:
        disk.renew(size)
        end = runner.run(Plan())
        check_refusal(end, runner, disk.reason, after=f"a disk of {size:,} bytes")
        runner.check_whole(after=f"a disk of {size:,} bytes", temporary=False)
        ends[end.code] += 1
        disk.make_room()
        runner.check_end(runner.run(Plan(), resume=True), after=f"a disk of {size:,} bytes that got room")
    disk.renew(ROOM)
    kind = "full disks" if disk.is_mounted else "files that may not grow, as nothing can be mounted here"
    table = ", ".join(f"exit code {code} of {n}" for code, n in sorted(ends.items()))
    print(f"{kind}: {len(sizes)} sizes, {sizes[0]:,} to {sizes[-1]:,} bytes ({table}), all resumed")


def check_refusal(end: End, runner: Runner, reason: str, *, after: str) -> None:
    """End the program unless a run has said, in one sentence, which file has no room, or that its report lacks something."""
    errors = [line for line in end.said.splitlines() if line.startswith("vjcascade: error: ")]
    told = errors if end.code == 2 else end.said.splitlines()
    tells = any(str(runner.folder) in line and reason in line for line in told)
    if end.code not in (0, 2) or len(errors) != (end.code == 2) or not tells:
        sys.exit(f"{runner.kind}: after {after}, a run ended with code {end.code} and said: {end.said}")


def run_at_once(runner: Runner, n_runs: int) -> None:
    """Begin runs at once in one folder, also with one to resume there; tell how many were sent away."""
    n_refused = 0
    for resume in (False, True):
        if resume:
            runner.run(Plan(seconds=runner.seconds / 2))
        children = [runner.start(Plan(), resume=resume) for _ in range(n_runs)]
        ends = [runner.wait(child, Plan()) for child in children]
        lost = [end for end in ends if end.code]
        n_refused += len(lost)
        has_winner = len(lost) < n_runs if resume else len(lost) == n_runs - 1
        if not has_winner or any(end.code != 2 or not TAKEN.search(end.said) for end in lost):
            sys.exit(f"{runner.kind}: {n_runs} runs at once ended with {ends}")
        runner.check_end(End(0, ""), after=f"{n_runs} runs at once")
        shutil.rmtree(runner.folder)
    print(
        f"{n_runs} runs at once, begun and resumed: {n_refused} were sent away, the others left what one leaves"
    )


@contextlib.contextmanager
def made_runner(kind: str, n_stages: int) -> Iterator[tuple[Runner, Disk]]:
    """Yield what runs a command line, and the disk that it writes to."""
    with tempfile.TemporaryDirectory() as work:
        disk = Disk(Path(work) / "disk")
        try:
            yield Runner(kind, Path(work), n_stages, disk), disk
        finally:
            disk.end()


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and interrupt."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="what is interrupted")
    parser.add_argument("--kills", type=int, default=50, help="how many runs of each kind to kill")
    parser.add_argument(
        "--disks", type=int, default=10, help="how many sizes of disks to fill with each kind"
    )
    parser.add_argument("--at-once", type=int, default=3, help="how many runs to begin at once")
    parser.add_argument("--seed", type=int, default=0, help="of the kills")
    parser.add_argument("--stages", type=int, default=6, help="of cascades, and to compare on")
    options = parser.parse_args(arguments)
    opencv().setNumThreads(1)  # threads do not survive a fork
    for kind in options.kinds:
        with made_runner(kind, options.stages) as (runner, disk):
            n_files = len(runner.expected)
            print(
                f"{kind}: undisturbed, {n_files} files in {runner.seconds:.1f} s, {runner.n_calls} system calls"
            )
            if options.kills:
                kill_runs(runner, options.kills, np.random.default_rng(options.seed))
            if options.disks:
                fill_disks(runner, disk, options.disks)
            if options.at_once > 1:
                run_at_once(runner, options.at_once)


if __name__ == "__main__":
    main()
