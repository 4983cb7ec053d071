"""Feed the product with thousands of spoiled models, lists, pictures and command lines; fail if one of them is neither used nor refused in a sentence.

``python tools/fuzz.py`` takes 20,000 models, 5,000 lists, 5,000 pictures, 2,000 command lines and 5,000 files of every annotation format;
``--share 0.01`` a part of them. Each is either taken, and then used (a model is saved, loaded again and searched with, a list is read as
``vjcascade train`` reads it), or refused with an error of ``vjcascade.errors`` that names the file; a command ends with 0 or 2. Everything
else is a fault: another error, a crash, more than ten seconds, words printed by a library, a file of the input changed, a file left over,
a read outside an array (numba checks all bounds).

Inputs are tried in processes that are watched: a crash costs one input. The same seed makes the same inputs; ``--only models:17`` tries one
again, ``--keep FOLDER`` keeps those with faults.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from fuzz_annotations import N_FORMS, make_annotations
from fuzz_commands import make_command
from fuzz_inputs import Input, make_list, make_model, make_picture

from vjcascade.messages import duration

N_INPUTS = {
    "models": 20_000,
    "lists": 5_000,
    "pictures": 5_000,
    "commands": 2_000,
    "annotations": 5_400 * N_FORMS,  # so that each format has at least 5,000
}
"""Inputs of each kind in a whole run."""

START_SECONDS = 1200.0
"""A worker has so many to import and compile everything."""

REPORTS = 40
"""Lines of progress in a run."""

MEMORY = 6 * 2**30
"""Bytes of address space that a worker has: what needs more is a fault."""


class Case(NamedTuple):
    """An input by its kind and number."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"


def make_input(case: Case, seed: int) -> Input:
    """Return an input; the same arguments give the same one."""
    return MAKERS[case.kind](np.random.default_rng([seed, list(MAKERS).index(case.kind), case.number]))


MAKERS = {
    "models": make_model,
    "lists": make_list,
    "pictures": make_picture,
    "commands": make_command,
    "annotations": make_annotations,
}


class Outcome(NamedTuple):
    """What became of an input: "taken", "refused" or "fault", and the sentence or the traceback."""

    case: Case
    result: str
    text: str


class Worker:
    """A process that tries inputs; another one takes its place when it has crashed or hangs.

    Parameters
    ----------
    options : argparse.Namespace
        Those of the program.
    folder : Path
        For its inputs.
    """

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self._options, self._folder = options, folder
        folder.mkdir()
        self._process: Any = None

    def start(self) -> None:
        """Start the process, if there is none, and wait until it is ready."""
        if self._process is None:
            self._process = self._new_process()
            if self._answer(START_SECONDS) is None:
                sys.exit("a worker does not start")

    def try_input(self, case: Case) -> Outcome:
        """Have an input tried."""
        self.start()
        self._process.stdin.write(f"{case.kind} {case.number}\n".encode())
        self._process.stdin.flush()
        answer = self._answer(self._options.limit)
        if answer is None:
            return Outcome(case, "fault", self._end())
        return Outcome(case, *json.loads(answer))

    def stop(self) -> None:
        """End the process, and those that it has started."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _new_process(self) -> Any:
        command = [
            sys.executable,
            "-W",
            "error",
            __file__,
            "--work-in",
            str(self._folder),
            "--seed",
            str(self._options.seed),
        ]
        command += ["--first", str(self._options.first)] if self._options.first else []
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._options.environment,
            start_new_session=True,
        )

    def _answer(self, seconds: float) -> bytes | None:
        """Return a line of the process; None if it does not come in time, or never will."""
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return (self._process.stdout.readline() or None) if ready else None

    def _end(self) -> str:
        """Do without the process, and say what was wrong with it."""
        try:
            code = self._process.wait(1)
            said = f"the process ended with {signal.Signals(-code).name if code < 0 else code}"
        except subprocess.TimeoutExpired:
            self.stop()
            said = f"it has not ended after {self._options.limit:g} s"
        self._process = None
        return said


# In the worker.


def work(options: argparse.Namespace) -> None:
    """Try the inputs that standard input names, one a line, and answer with a line each."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    printed = options.work_in / "printed"
    for stream in (1, 2):
        os.dup2(os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    _limit_memory()
    if options.first:
        exec(compile(options.first.read_text(), options.first, "exec"), {})
    _warm_up()
    answers.write("ready\n")
    for line in sys.stdin:
        kind, number = line.split()
        os.truncate(printed, 0)
        answers.write(json.dumps(try_input(Case(kind, int(number)), options.seed, options.work_in)) + "\n")


def try_input(case: Case, seed: int, work_in: Path) -> tuple[str, str]:
    """Try an input in this process; return the result and what there is to say."""
    from fuzz_rules import KINDS, Place, check_left, listing

    folder, printed = work_in / "input", work_in / "printed"
    try:
        given = make_input(case, seed)
        shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
        given.write(folder)
        before = listing(folder)
        sentence = KINDS[case.kind].try_input(given, Place(folder, case.number, printed))
        check_left(folder, before, given, is_refused=sentence is not None)
        if case.kind != "commands" and printed.stat().st_size:
            return "fault", f"a library printed: {printed.read_text(errors='replace')[:500]!r}"
    except BaseException:
        return "fault", traceback.format_exc()
    return ("taken", "") if sentence is None else ("refused", sentence)


def _limit_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _warm_up() -> None:
    """Compile and import all that inputs may need, so that none takes long because it is the first."""
    from vjcascade.cli.main import run

    if run(["warmup"]):
        sys.exit("the kernels cannot be compiled")
    make_input(Case("commands", 0), 0)


# In the program that watches.


def try_all(options: argparse.Namespace, cases: Sequence[Case]) -> Iterator[Outcome]:
    """Yield the outcome of every input, as they come."""
    with tempfile.TemporaryDirectory() as folder:
        outcomes: SimpleQueue[Outcome] = SimpleQueue()
        left, lock = iter(cases), threading.Lock()

        def try_some(worker: Worker) -> None:
            while True:
                with lock:
                    case = next(left, None)
                if case is None:
                    return
                outcomes.put(worker.try_input(case))

        with workers(options, Path(folder), min(options.workers, len(cases))) as started:
            threads = [threading.Thread(target=try_some, args=(worker,), daemon=True) for worker in started]
            for thread in threads:
                thread.start()
            for _ in cases:
                yield outcomes.get()


@contextmanager
def workers(options: argparse.Namespace, folder: Path, n: int) -> Iterator[list[Worker]]:
    """Start workers, one after the other: the first compiles for all."""
    started: list[Worker] = []
    try:
        for i in range(n):
            started.append(Worker(options, folder / str(i)))
            started[-1].start()
        yield started
    finally:
        for worker in started:
            worker.stop()


class Report:
    """Prints progress, faults and the table at the end; keeps inputs with faults."""

    def __init__(self, options: argparse.Namespace, cases: Sequence[Case]) -> None:
        self._options, self._n_all = options, len(cases)
        self._began = time.monotonic()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, outcome: Outcome) -> None:
        """Count an input, and tell of a fault."""
        self._counts[outcome.case.kind, outcome.result] += 1
        if outcome.result == "fault":
            print(f"fault, {outcome.case}: {outcome.text}", flush=True)
            self._keep(outcome)
        elif self._options.only:
            print(f"{outcome.case}: {outcome.result} {outcome.text}")
        n_done = self._counts.total()
        if n_done * REPORTS // self._n_all > (n_done - 1) * REPORTS // self._n_all:
            seconds = time.monotonic() - self._began
            left = duration(seconds / n_done * (self._n_all - n_done))
            print(
                f"{n_done:,} of {self._n_all:,} inputs in {duration(seconds)}, {left} left, {self.n_faults} faults",
                flush=True,
            )

    @property
    def n_faults(self) -> int:
        """Faults so far."""
        return sum(n for (_, result), n in self._counts.items() if result == "fault")

    def table(self) -> str:
        """Return how many inputs were taken, refused, and at fault."""
        lines = ["| kind | inputs | taken | refused | faults |", "|---|--:|--:|--:|--:|"]
        for kind in dict.fromkeys(kind for kind in N_INPUTS if any(kind == one for one, _ in self._counts)):
            numbers = [self._counts[kind, result] for result in ("taken", "refused", "fault")]
            lines.append(f"| {kind} | " + " | ".join(f"{n:,}" for n in (sum(numbers), *numbers)) + " |")
        return "\n".join(lines)

    def _keep(self, outcome: Outcome) -> None:
        if self._options.keep is None:
            return
        case = outcome.case
        folder = self._options.keep / f"{case.kind}-{case.number}"
        shutil.rmtree(folder, ignore_errors=True)
        given = make_input(case, self._options.seed)
        given.write(folder / "input")
        (folder / "fault.txt").write_text(f"{given.words!r}\n\n{outcome.text}", errors="backslashreplace")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the program."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--kinds",
        nargs="+",
        choices=N_INPUTS,
        default=list(N_INPUTS),
        help="kinds of inputs; all if not given",
    )
    parser.add_argument("--share", type=float, default=1.0, help="of the inputs of a whole run, those to try")
    parser.add_argument("--inputs", type=int, help="how many to try of each kind")
    parser.add_argument(
        "--only", type=_case, action="append", help="try this input alone, as models:17; may be repeated"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the inputs")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds that an input may take")
    parser.add_argument("--workers", type=int, default=2, help="processes that try inputs")
    parser.add_argument("--keep", type=Path, help="folder for inputs with faults")
    parser.add_argument(
        "--cache",
        type=Path,
        help="folder for kernels with bounds checks; if not given, they are compiled anew",
    )
    parser.add_argument(
        "--no-bounds-checks", action="store_true", help="use the kernels that are compiled already"
    )
    parser.add_argument(
        "--first", type=Path, help="Python file that workers run before all else, as to plant a fault"
    )
    parser.add_argument("--work-in", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _case(text: str) -> Case:
    kind, _, number = text.partition(":")
    if kind not in N_INPUTS:
        raise ValueError(text)
    return Case(kind, int(number))


def chosen(options: argparse.Namespace) -> list[Case]:
    """Return the inputs to try, all kinds mixed."""
    if options.only:
        return options.only
    numbers = [
        [Case(kind, i) for i in range(options.inputs or max(round(options.share * N_INPUTS[kind]), 1))]
        for kind in options.kinds
    ]
    return [case for cases in itertools.zip_longest(*numbers) for case in cases if case is not None]


def main(arguments: Sequence[str] | None = None) -> None:
    """Try inputs."""
    options = parsed(arguments)
    if options.work_in:
        work(options)
        return
    cases = chosen(options)
    report = Report(options, cases)
    with tempfile.TemporaryDirectory() as folder:
        options.environment = dict(os.environ)
        if not options.no_bounds_checks:
            options.environment |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(options.cache or folder)}
        for outcome in try_all(options, cases):
            report.add(outcome)
    print(report.table())
    if report.n_faults:
        sys.exit(1)


if __name__ == "__main__":
    main()
