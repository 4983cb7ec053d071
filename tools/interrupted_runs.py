"""Command lines that work on small data in processes of their own, to be killed there, and on disks that may be too small."""

from __future__ import annotations

import contextlib
import errno
import os
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

from vjcascade.cli.main import run as run_command
from vjcascade.comparison import full, measuring
from vjcascade.files import MODEL_NAME
from vjcascade.imaging import read_gray, write_image
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

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate"}
"""Audit events, besides the opening of files, of system calls that change a folder."""

PAGE, ROOM = 4096, 2**26
"""Bytes: disks grow by the first; the second is room enough."""

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

    Attributes
    ----------
    folder : Path
        Where the command writes.
    temporary : Path
        What its processes take for the system's folder for temporary files.
    expected : dict
        What an undisturbed run leaves in its folder.
    seconds, n_calls : float, int
        How long that takes, and how many system calls that change the folder.
    """

    def __init__(self, kind: str, work: Path, n_stages: int, disk: Disk) -> None:
        self.kind = kind
        self.folder = disk.path / "run"
        self.temporary = work / "temporary"
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

    def _run_here(self, plan: Plan, writer: int, *, resume: bool) -> NoReturn:
        """Run the command line, in the child, and leave it."""
        sys.stdout = sys.stderr = os.fdopen(writer, "w", buffering=1)
        tempfile.tempdir = str(self.temporary)
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


@contextlib.contextmanager
def made_runner(kind: str, n_stages: int) -> Iterator[tuple[Runner, Disk]]:
    """Yield what runs a command line, and the disk that it writes to."""
    with tempfile.TemporaryDirectory() as work:
        disk = Disk(Path(work) / "disk")
        try:
            yield Runner(kind, Path(work), n_stages, disk), disk
        finally:
            disk.end()


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
