"""Run a comparison: every block, every seed, every boosting run that is not finished yet."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from vjcascade.comparison.design import Design, Run
from vjcascade.comparison.finished import FinishedRuns, Results
from vjcascade.comparison.measuring import boost_run, judge
from vjcascade.comparison.problems import Bench, Parts, Problem, TableProblem
from vjcascade.comparison.results import Block, Comparison
from vjcascade.training.events import Listener, Progress, ignore

ORIGIN = ("n_rounds", "hit_rate", "false_alarm_rate", "seed")
"""What the results of a run depend on, of the design; the others only say which runs there are."""


def compare(  # noqa: PLR0913  what, how, where, and who hears of it
    kind: str,
    blocks: Iterable[tuple[Problem, float | None]],
    n_blocks: int,
    design: Design,
    finished: FinishedRuns,
    *,
    told: Mapping[str, Mapping[str, Any]],
    n_threads: int = 1,
    listener: Listener = ignore,
) -> Comparison:
    """Compare boosters.

    Parameters
    ----------
    kind : {"stages", "tables"}
        What the blocks are.
    blocks : iterable of (Problem, float or None)
        Taken one after the other; with each the share of windows that reach it, for stages.
    n_blocks : int
        How many there will be at most, to tell how far it is.
    design : Design
        Who, and how.
    finished : FinishedRuns
        What is there already, and where results go.
    told : mapping
        What the report shall tell of data and versions.
    n_threads : int
        Threads that search a stage's features, or processes, each with a split of a table; no result but the seconds
        depends on it.
    listener : Listener
        Gets the progress.

    Returns
    -------
    Comparison
        Complete.

    Raises
    ------
    SettingsError
        If a problem has too few samples of a class to be split.
    OSError
        If results cannot be kept.
    """
    described: list[Block] = []
    cells: dict[tuple[int, int, int], Mapping[str, Any]] = {}
    for number, (problem, pass_rate) in enumerate(blocks):
        described.append(_described(problem, problem.split(_split_seed(design, 0)), pass_rate))
        runs = design.runs(trains_whole=problem.trains_whole)
        n_done, n_each = number * design.n_seeds * len(runs), design.n_seeds * len(runs)
        for place, (seed, name) in enumerate(_finish(problem, design, finished, n_threads)):
            detail = f"{problem.name}, split {seed + 1} of {design.n_seeds}: {name}"
            listener(Progress("comparing", n_done + place + 1, n_blocks * n_each, detail))
        cells |= _cells(number, problem, design, finished)
    return Comparison(kind, design, tuple(described), cells, told)


def origin_of(design: Design, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the results of runs depend on, for `FinishedRuns`."""
    values = design.as_dict()
    return {**{name: values[name] for name in ORIGIN}, **data}


def _finish(
    problem: Problem, design: Design, finished: FinishedRuns, n_threads: int
) -> Iterator[tuple[int, str]]:
    """Do all runs of a problem that are missing; yield seed and name of each run as it is there."""
    runs = design.runs(trains_whole=problem.trains_whole)
    missing = [
        [run for run in runs if not _is_there(problem, design, finished, seed, run)]
        for seed in range(design.n_seeds)
    ]
    with _trials(problem, design, missing, n_threads) as trials:
        for seed, results in enumerate(trials):
            yield from ((seed, run.name) for run in runs if run not in missing[seed])
            for run, result in results:
                finished.add(problem.name, seed, run.key, result)
                yield seed, run.name


@contextmanager
def _trials(
    problem: Problem, design: Design, missing: Sequence[Sequence[Run]], n_threads: int
) -> Iterator[Iterator[Iterable[tuple[Run, Results]]]]:
    """Yield an iterator over the seeds: the missing runs of each, with their results.

    Searching a table's few columns is hardly worth a second thread: there, each seed is a process's.
    """
    tasks = [(seed, runs) for seed, runs in enumerate(missing)]
    n_processes = min(n_threads, sum(map(bool, missing))) if isinstance(problem, TableProblem) else 1
    if n_processes <= 1:
        yield (_boosted(problem, design, n_threads, task) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")  # a fork would have locks of threads that it does not have
    with ProcessPoolExecutor(n_processes, context, initializer=_leave_interrupts_alone) as pool:
        try:
            yield pool.map(partial(_boosted_here, problem, design), tasks)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _leave_interrupts_alone() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for this one ends it


def _boosted_here(
    problem: Problem, design: Design, task: tuple[int, Sequence[Run]]
) -> list[tuple[Run, Results]]:
    return list(_boosted(problem, design, 1, task))


def _boosted(
    problem: Problem, design: Design, n_threads: int, task: tuple[int, Sequence[Run]]
) -> Iterator[tuple[Run, Results]]:
    """Yield runs of a seed with their results."""
    seed, runs = task
    trial = _Trial(problem, design, seed, n_threads)
    for run in runs:
        bench = trial.bench(run)
        entries = list(design.entries_of(run, trains_whole=problem.trains_whole))
        judged = judge(boost_run(bench, run, design.n_rounds), bench, entries, design)
        yield run, {entry.name: result for entry, result in zip(entries, judged, strict=True)}


class _Trial:
    """A problem split by one seed; what is trained on is made ready once for all runs that share it."""

    def __init__(self, problem: Problem, design: Design, seed: int, n_threads: int) -> None:
        self._problem, self._design, self._seed, self._n_threads = problem, design, seed, n_threads
        self._parts: Parts | None = None
        self._ready: tuple[tuple[bool, bool], Bench] | None = None

    def bench(self, run: Run) -> Bench:
        """Return what a run needs; only the last one made is kept, for they are large."""
        key = run.whole, run.contender.shuffled
        if self._parts is None:
            self._parts = self._problem.split(_split_seed(self._design, self._seed))
        if self._ready is None or self._ready[0] != key:
            self._ready = None
            trained = self._parts.trained_whole if run.whole else self._parts.train
            shuffle_seed = self._design.seed + self._seed if run.contender.shuffled else None
            self._ready = key, self._problem.bench(self._parts, trained, self._n_threads, shuffle_seed)
        return self._ready[1]


def _is_there(problem: Problem, design: Design, finished: FinishedRuns, seed: int, run: Run) -> bool:
    there = finished.results.get((problem.name, seed, run.key), {})
    return all(entry.name in there for entry in design.entries_of(run, trains_whole=problem.trains_whole))


def _cells(
    number: int, problem: Problem, design: Design, finished: FinishedRuns
) -> Iterator[tuple[tuple[int, int, int], Mapping[str, Any]]]:
    """Yield the cells of a block, by the numbers of block, entry and seed."""
    places = {entry.name: place for place, entry in enumerate(design.entries)}
    for run in design.runs(trains_whole=problem.trains_whole):
        for entry in design.entries_of(run, trains_whole=problem.trains_whole):
            for seed in range(design.n_seeds):
                results = finished.results[problem.name, seed, run.key]
                yield (number, places[entry.name], seed), results[entry.name]


def _split_seed(design: Design, seed: int) -> Sequence[int]:
    return design.seed, seed


def _described(problem: Problem, parts: Parts, pass_rate: float | None) -> Block:
    n_positives = int(np.count_nonzero(problem.labels > 0))
    sizes = (
        len(parts.trained_whole if problem.trains_whole else parts.train),
        len(parts.tune),
        len(parts.test),
    )
    return Block(problem.name, n_positives, len(problem.labels) - n_positives, *sizes, pass_rate)
