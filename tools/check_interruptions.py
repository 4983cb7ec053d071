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
import json
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from interrupted_runs import KINDS, ROOM, Content, Disk, End, Plan, Runner, content_of, made_runner

from vjcascade import Cascade
from vjcascade.cli.compare import FULL_CSV_NAME, FULL_JSON_NAME, FULL_REPORT_NAME
from vjcascade.comparison.full import STATE_NAME
from vjcascade.comparison.run_cache import RUNS_NAME
from vjcascade.files import EVENTS_NAME, MODEL_NAME, PICTURES_NAME
from vjcascade.formats import parse_cascade
from vjcascade.imaging import opencv

ENDS_AFTER_KILL = 0.5
"""How often a killed run is resumed to its end at once; else it is killed again."""

TAKEN = re.compile("another run is writing into this folder|already holds a (model|comparison)")
"""What a run says that finds another one in its folder, or what it has left."""

TIMES = re.compile(rb'"\d+": {"seconds[^}]*}(, )?|"(seconds|processor_seconds|memory)": (null|[\d.]+)')
"""What files of whole cascades tell of a stage's time and memory: nobody knows them if its process was killed then."""


def check_end(runner: Runner, end: End, *, after: str) -> None:
    """End the program unless a run has ended well, with what an undisturbed one leaves."""
    if end.code:
        sys.exit(f"{runner.kind}: after {after}, a run ended with code {end.code}: {end.said}")
    left = [str(path) for path in runner.temporary.iterdir()]
    wrong = differences(content_of(runner.folder), runner.expected)
    refuse(runner, [*wrong, *empty_folders(runner.folder), *left], after=after)


def check_whole(runner: Runner, *, after: str, was_killed: bool) -> None:
    """End the program if what is in the folder of a run that was stopped is not whole."""
    wrong = not_whole(runner.folder, runner.expected, was_killed=was_killed)
    refuse(runner, wrong if was_killed else [*wrong, *empty_folders(runner.folder)], after=after)


def refuse(runner: Runner, names: Sequence[str], *, after: str) -> None:
    """End the program if there are files as they should not be."""
    if names:
        sys.exit(f"{runner.kind}: after {after}, these are not the undisturbed run's: {', '.join(names)}")


def empty_folders(folder: Path) -> list[str]:
    """Return the folder and those below it that nothing is in."""
    folders = [folder, *folder.rglob("*")] if folder.exists() else []
    return [str(path) for path in folders if path.is_dir() and not any(path.iterdir())]


def differences(found: Content, expected: Content) -> list[str]:
    """Return the names of files that are not those of the undisturbed run, but for what may be lost with a process."""
    names = [name for name in {**expected, **found} if found.get(name) != expected.get(name)]
    lost_times = any(Path(name).name == STATE_NAME for name in names)
    return [name for name in names if not may_differ(name, found, expected, lost_times=lost_times)]


def may_differ(name: str, found: Content, expected: Content, *, lost_times: bool) -> bool:
    """Tell whether a file may be other than the undisturbed run's: it tells of times, or serves for reports only."""
    if name not in expected or name not in found:
        return name in expected and Path(name).parent.name == PICTURES_NAME
    if lost_times and name in (FULL_CSV_NAME, FULL_REPORT_NAME):
        return True
    if lost_times and Path(name).name in (STATE_NAME, FULL_JSON_NAME):
        return TIMES.sub(b"", found[name]) == TIMES.sub(b"", expected[name])
    return Path(name).name == EVENTS_NAME


def not_whole(folder: Path, expected: Content, *, was_killed: bool) -> list[str]:
    """Return the names of files that are not on the way to those of the undisturbed run.

    Parameters
    ----------
    folder : Path
        Of a run that was stopped.
    expected : dict
        What the undisturbed run leaves.
    was_killed : bool
        There may be files that the next run removes, and torn lines.
    """
    found = content_of(folder)
    return [name for name in found if not _is_whole(folder / name, name, expected, was_killed=was_killed)]


def _is_whole(path: Path, name: str, expected: Content, *, was_killed: bool) -> bool:
    data, there = path.read_bytes(), expected.get(name)
    has_whole_lines = was_killed or data.endswith(b"\n")
    whole = data == there
    if path.name.startswith(".vjcascade-"):
        whole = was_killed
    elif path.name == MODEL_NAME:
        whole = there is not None and begins(path, there)
    elif path.name.startswith("negatives-"):  # of whatever stage; beside a model, unless a kill came between
        whole = was_killed or path.with_name(MODEL_NAME).exists()
    elif path.name == EVENTS_NAME:
        whole = has_whole_lines
    elif path.name == RUNS_NAME:
        whole = has_whole_lines and there is not None and there.startswith(data)
    elif path.name in (STATE_NAME, FULL_JSON_NAME):
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
            check_whole(runner, after=f"{killed.total()} kills, {plan}", was_killed=True)
            resume = True
        else:
            check_end(runner, end, after=f"{killed.total()} kills")
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
        check_whole(runner, after=f"a disk of {size:,} bytes", was_killed=False)
        ends[end.code] += 1
        disk.make_room()
        check_end(runner, runner.run(Plan(), resume=True), after=f"a disk of {size:,} bytes that got room")
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
        check_end(runner, End(0, ""), after=f"{n_runs} runs at once")
        shutil.rmtree(runner.folder)
    print(
        f"{n_runs} runs at once, begun and resumed: {n_refused} were sent away, the others left what one leaves"
    )


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
