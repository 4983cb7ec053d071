"""Run a comparison: every dataset, every seed, every boosting run that is not finished yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from vjcascade.clusters import Cluster
from vjcascade.comparison.design import Design, Run
from vjcascade.comparison.measuring import boost_run, is_result, judge
from vjcascade.comparison.problems import Problem, Split, TableProblem, Trial
from vjcascade.comparison.processes import processes
from vjcascade.comparison.results import Comparison, Dataset
from vjcascade.comparison.run_cache import Results, RunCache
from vjcascade.training.events import Listener, Progress, null_listener

ORIGIN = ("n_rounds", "hit_rate", "false_alarm_rate", "seed")
"""What the results of a run depend on, of the design; the others only say which runs there are."""


def compare(  # noqa: PLR0913  what, how, where, and who hears of it
    kind: str,
    datasets: Iterable[tuple[Problem, float | None]],
    n_datasets: int,
    design: Design,
    cache: RunCache,
    *,
    metadata: Mapping[str, Mapping[str, Any]],
    n_threads: int = 1,
    cluster: Cluster | None = None,
    listener: Listener = null_listener,
) -> Comparison:
    """Compare boosters.

    Parameters
    ----------
    kind : {"stages", "tables"}
        What the datasets are.
    datasets : iterable of (Problem, float or None)
        Taken one after the other; with each the share of windows that reach it, for stages.
    n_datasets : int
        How many there will be at most, to tell how far it is.
    design : Design
        Who, and how.
    cache : RunCache
        What is there already, and where results go.
    metadata : mapping
        What the report shall tell of data and versions.
    n_threads : int
        Threads that search a stage's features, or processes, each with a run on a table; no result but the seconds
        depends on it.
    cluster : Cluster, optional
        Its workers do the runs, each with one thread.
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
    described: list[Dataset] = []
    cells: dict[tuple[int, int, int], Mapping[str, Any]] = {}
    for number, (problem, pass_rate) in enumerate(datasets):
        described.append(_described(problem, problem.split(_split_seed(design, 0)), pass_rate))
        runs = design.runs(trains_whole=problem.trains_whole)
        n_done, n_each = number * design.n_seeds * len(runs), design.n_seeds * len(runs)
        for place, (seed, name) in enumerate(_run_missing(problem, design, cache, cluster or n_threads)):
            detail = f"{problem.name}, split {seed + 1} of {design.n_seeds}: {name}"
            listener(Progress("comparing", n_done + place + 1, n_datasets * n_each, detail))
        cells |= _cells(number, problem, design, cache)
    return Comparison(kind, design, tuple(described), cells, metadata)


def origin_of(design: Design, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the results of runs depend on, for `RunCache`."""
    values = design.as_dict()
    return {**{name: values[name] for name in ORIGIN}, **data}


def _run_missing(
    problem: Problem, design: Design, cache: RunCache, workers: Cluster | int
) -> Iterator[tuple[int, str]]:
    """Do all runs of a problem that are missing; yield seed and name of each run as it is there."""
    runs = design.runs(trains_whole=problem.trains_whole)
    missing = []
    for seed in range(design.n_seeds):
        for run in runs:
            if _is_there(problem, design, cache, seed, run):
                yield seed, run.name
            else:
                missing.append((seed, run))
    with _done(missing, problem, design, workers) as results:
        for (seed, run), result in zip(missing, results, strict=True):
            cache.add(problem.name, seed, run.key, result)
            yield seed, run.name


@contextmanager
def _done(
    tasks: Sequence[tuple[int, Run]], problem: Problem, design: Design, workers: Cluster | int
) -> Iterator[Iterator[Results]]:
    """Yield an iterator over the results of runs, each of a seed, done by a cluster or by so many threads.

    Searching a table's few columns is hardly worth a second thread: there, each run is a process's.
    """
    if isinstance(workers, Cluster):
        yield workers.ordered_map(_boosted, _Boosting(problem, design, 1), tasks)
        return
    n_threads = workers
    n_processes = min(n_threads, len(tasks)) if isinstance(problem, TableProblem) else 1
    if n_processes <= 1:
        yield map(_Boosting(problem, design, n_threads), tasks)
        return
    with processes(n_processes, _Boosting(problem, design, 1)) as mapped:
        yield mapped(tasks)


def _boosted(boosting: _Boosting, task: tuple[int, Run]) -> Results:
    """Do a run on a worker of a cluster, which keeps what it has made ready."""
    return boosting(task)


class _Boosting:
    """Boosts and judges; a split, and what is trained on, is kept for the next run that shares it."""

    def __init__(self, problem: Problem, design: Design, n_threads: int) -> None:
        self._problem, self._design, self._n_threads = problem, design, n_threads
        self._split: tuple[int, Split] | None = None
        self._ready: tuple[tuple[int, bool, bool], Trial] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out what is kept: other processes make their own."""
        return type(self), (self._problem, self._design, self._n_threads)

    def __call__(self, task: tuple[int, Run]) -> Results:
        """Return the results of a seed's run."""
        seed, run = task
        trial = self._trial(seed, run)
        entries = list(self._design.entries_of(run, trains_whole=self._problem.trains_whole))
        judged = judge(boost_run(trial, run, self._design.n_rounds), trial, entries, self._design)
        return {entry.name: result for entry, result in zip(entries, judged, strict=True)}

    def _trial(self, seed: int, run: Run) -> Trial:
        """Return what a run needs; only the last one made is kept, for they are large.

        Threads of a cluster's worker may be here together.
        """
        key = seed, run.whole, run.contender.shuffled
        kept = self._split
        if kept is None or kept[0] != seed:
            kept = self._split = seed, self._problem.split(_split_seed(self._design, seed))
        ready = self._ready
        if ready is None or ready[0] != key:
            ready = self._ready = None
            split = kept[1]
            trained = split.trained_whole if run.whole else split.train
            shuffle_seed = self._design.seed + seed if run.contender.shuffled else None
            ready = self._ready = key, self._problem.trial(split, trained, self._n_threads, shuffle_seed)
        return ready[1]


def _is_there(problem: Problem, design: Design, cache: RunCache, seed: int, run: Run) -> bool:
    there = cache.results.get((problem.name, seed, run.key), {})
    return all(
        is_result(there.get(entry.name), design)
        for entry in design.entries_of(run, trains_whole=problem.trains_whole)
    )


def _cells(
    number: int, problem: Problem, design: Design, cache: RunCache
) -> Iterator[tuple[tuple[int, int, int], Mapping[str, Any]]]:
    """Yield the cells of a dataset, by the numbers of dataset, entry and seed."""
    places = {entry.name: place for place, entry in enumerate(design.entries)}
    for run in design.runs(trains_whole=problem.trains_whole):
        for entry in design.entries_of(run, trains_whole=problem.trains_whole):
            for seed in range(design.n_seeds):
                results = cache.results[problem.name, seed, run.key]
                yield (number, places[entry.name], seed), results[entry.name]


def _split_seed(design: Design, seed: int) -> Sequence[int]:
    return design.seed, seed


def _described(problem: Problem, split: Split, pass_rate: float | None) -> Dataset:
    n_positives = int(np.count_nonzero(problem.labels > 0))
    sizes = (
        len(split.trained_whole if problem.trains_whole else split.train),
        len(split.tune),
        len(split.test),
    )
    n_negatives = len(problem.labels) - n_positives
    return Dataset(problem.name, n_positives, n_negatives, *sizes, pass_rate, problem.is_drawn)
