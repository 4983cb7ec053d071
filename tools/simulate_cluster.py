"""How much faster would many workers train a stage? Recorded times of every part, put together.

``python tools/simulate_cluster.py`` boosts a stage on this machine, once as one thread does it, and for each number of workers
as these would: some of their shards, in their true size, one after the other in this process. A round then takes
what the main process does itself, the slowest shard of each question, and the ways there and back: the processor time of a real
scheduler that asks as many workers, the time in which one of two real ones answers, and the bytes that are sent, over a network of ``--gigabits``. The stage of one thread
is recorded with a part of the pool (``--share``), and its searches are multiplied; the recorded shards are as large a part.

Left out: workers of different speed, and a network that others use, too.
"""

from __future__ import annotations

import argparse
import pickle
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from bench_clusters import Stage
from numpy.typing import NDArray

from vjcascade.clusters import Cluster, open_cluster
from vjcascade.kernels.tiles import TILE
from vjcascade.learning.sharding import ask_shard, ask_shards, dealt
from vjcascade.training.memory_plan import MemoryPlan

REPEATS = 20
"""Of the messages whose time is measured."""


@dataclass
class Times:
    """Seconds of a stage, recorded.

    Attributes
    ----------
    first : float
        Until the first round is done: windows, bins, histograms.
    rounds : list of float
        Of the others.
    """

    first: float = 0.0
    rounds: list[float] = field(default_factory=list)

    @property
    def a_round(self) -> float:
        """Mean of the rounds after the first."""
        return statistics.fmean(self.rounds)

    def stage(self, n_rounds: int) -> float:
        """Seconds of a stage with so many rounds."""
        return self.first + (n_rounds - 1) * self.a_round


@dataclass
class Stopwatch:
    """Adds up seconds that are counted apart."""

    seconds: float = 0.0

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function and count its time."""
        began = time.perf_counter()
        try:
            return function(*arguments)
        finally:
            self.seconds += time.perf_counter() - began

    def taken(self) -> float:
        """Return the seconds since the last time this was asked."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


class RecordingCluster(Cluster):
    """Does what the workers would do, one shard after the other, and records their seconds and bytes."""

    def __init__(self, n_workers: int, n_recorded: int, n_in_pool: int) -> None:
        self._n_workers, self._n_in_pool = n_workers, n_in_pool
        self._threads = {f"worker {i:03}": 1 for i in range(n_recorded)}
        self._seconds: list[float] = []
        self._n_bytes = 0

    def workers(self) -> dict[str, int]:
        """Return the recorded workers."""
        return self._threads

    def submit_to(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Do the work at once."""
        del worker
        if function is not ask_shard:
            return function(*arguments)
        key, spec, n_threads, question = arguments
        if spec is not None:  # the recorded shards are not the whole pool
            spec = replace(spec, n_in_pool=self._n_in_pool)
        answer = self._timed(function, key, spec, n_threads, question)
        self._n_bytes += len(pickle.dumps(arguments)) + len(pickle.dumps(answer))
        return answer

    def _timed(self, function: Callable[..., Any], *arguments: Any) -> Any:
        began = time.perf_counter()
        answer = function(*arguments)
        self._seconds.append(time.perf_counter() - began)
        return answer

    def ask_at_once(
        self, workers: Sequence[str], function: Callable[..., Any], *arguments: Any
    ) -> dict[str, Any]:
        """Do the work of all workers, whose shards are all in this process, one after the other."""
        keys, question = arguments
        assert function is ask_shards
        answers = {}
        for key in keys:
            answers |= self._timed(ask_shards, (key,), question)
        self._n_bytes += len(keys) * len(pickle.dumps(question)) + len(pickle.dumps(answers))
        return {workers[0]: answers}

    def is_done(self, future: Any, seconds: float = 0.0) -> bool:
        """Return True."""
        del future, seconds
        return True

    def died_of(self, future: Any) -> bool:
        """Return False."""
        del future
        return False

    def result(self, future: Any) -> Any:
        """Return the answer."""
        return future

    def taken(self) -> tuple[NDArray[np.float64], float]:
        """Return the seconds of each shard for each question, and the bytes that all workers would be sent and send."""
        seconds = np.reshape(self._seconds, (-1, len(self._threads)))
        n_bytes = self._n_bytes * self._n_workers / len(self._threads)
        self._seconds, self._n_bytes = [], 0
        return seconds, n_bytes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--windows", type=int, default=200_000)
    parser.add_argument("--side", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=50, help="recorded rounds")
    parser.add_argument("--stage", type=int, default=200, help="rounds of the stage that is told of")
    parser.add_argument("--workers", type=int, nargs="+", default=[16, 64], help="of one thread each")
    parser.add_argument("--share", type=int, default=4, help="a so manieth part of the pool is recorded")
    parser.add_argument(
        "--gigabits", type=float, default=10.0, help="of the main process's network, per second"
    )
    parser.add_argument("--threads", type=int, default=2, help="of the main process")
    arguments = parser.parse_args()
    stage = Stage(arguments.windows, arguments.side)
    print(
        f"{arguments.windows:,} windows, {len(stage.pool):,} features, a stage of {arguments.stage} rounds\n"
    )
    print(
        "| workers | bins, s | round, s | slowest shard | main process | messages | sent in a round | stage, s | faster |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    alone = record_alone(stage, arguments)
    whole = alone.stage(arguments.stage)
    print(f"| one thread | {alone.first:.0f} | {alone.a_round:.2f} | | | | | {whole:,.0f} | |", flush=True)
    with open_cluster("local:2") as cluster:
        assert cluster is not None
        waits = [seconds_of_messages(cluster, n_workers) for n_workers in arguments.workers]
    for n_workers, wait in zip(arguments.workers, waits, strict=True):
        times, parts = record_workers(stage, n_workers, wait, arguments)
        seconds = times.stage(arguments.stage)
        print(
            f"| {n_workers} | {times.first:.0f} | {times.a_round:.2f} | {parts} | {seconds:,.0f} | {whole / seconds:.1f} |",
            flush=True,
        )


def record_alone(stage: Stage, arguments: argparse.Namespace) -> Times:
    """Record one thread with a part of the pool."""
    share, pool = arguments.share, stage.pool
    tiles = np.arange(0, len(pool), TILE * share)
    part = np.concatenate([np.arange(tile, min(tile + TILE, len(pool))) for tile in tiles])
    factor = len(pool) / len(part)
    stage.pool = pool[part]
    watch, times = Stopwatch(), Times()
    began = time.perf_counter()
    search = watch.run(stage.search_here, 1, MemoryPlan())
    search.find = partial(watch.run, search.find)  # what grows with the number of features is counted apart
    rounds = stage.rounds(search, arguments.rounds)
    for number, _ in enumerate(rounds):
        now = time.perf_counter()
        searched = watch.taken()
        seconds = now - began - searched + factor * searched
        if number == 0:
            times.first = seconds
        else:
            times.rounds.append(seconds)
        began = time.perf_counter()
    stage.pool = pool
    return times


def record_workers(
    stage: Stage, n_workers: int, wait: float, arguments: argparse.Namespace
) -> tuple[Times, str]:
    """Record some of the shards of so many workers, and return what they take together, and its parts."""
    pool, n_recorded = stage.pool, max(n_workers // arguments.share, 1)
    shares = dealt(len(pool), [1] * n_workers)
    which = np.linspace(0, n_workers - 1, n_recorded).astype(np.intp)
    stage.pool = pool[np.sort(np.concatenate([shares[i] for i in which]))]
    cluster, times = RecordingCluster(n_workers, n_recorded, len(pool)), Times()
    slowest, own, ways, n_bytes = [], [], [], []
    began = time.perf_counter()
    with stage.search_there(cluster, arguments.threads) as search:
        for number, _ in enumerate(stage.rounds(search, arguments.rounds)):
            now = time.perf_counter()
            shards, sent = cluster.taken()
            here, slow = now - began - float(shards.sum()), float(shards.max(axis=1).sum())
            way = len(shards) * wait + 8 * sent / (arguments.gigabits * 1e9)
            if number == 0:
                times.first = here + slow + way
            else:
                times.rounds.append(here + slow + way)
                slowest.append(slow)
                own.append(here)
                ways.append(way)
                n_bytes.append(sent)
            began = time.perf_counter()
    stage.pool = pool
    means = [statistics.fmean(values) for values in (slowest, own, ways, n_bytes)]
    return times, f"{means[0]:.3f} | {means[1]:.3f} | {means[2]:.3f} | {means[3] / 1000:,.0f} kB"


def seconds_of_messages(cluster: Cluster, n_workers: int) -> float:
    """Return how long a scheduler takes to ask so many workers, if answers take no time; the median of some rounds.

    Two real workers take turns where so many would answer at the same time: what counts is the processor time of this
    process, in which the scheduler runs, and what a single worker takes.
    """
    workers = list(cluster.workers())
    asked = [workers[i % len(workers)] for i in range(n_workers)]
    here, alone = [], []
    for _ in range(REPEATS):
        began = time.process_time()
        cluster.ask_at_once(asked, _nothing, b"x" * 1000)
        here.append(time.process_time() - began)
        began = time.perf_counter()
        cluster.ask_at_once(workers[:1], _nothing, b"x" * 1000)
        alone.append(time.perf_counter() - began)
    return statistics.median(here) + statistics.median(alone)


def _nothing(message: bytes) -> bytes:
    return message


if __name__ == "__main__":
    main()
