"""Time a stage: values and bins of all features, then round after round, beside full scans and scikit-learn's stump.

``python tools/bench_training.py`` boosts faces against crops of photos (both from inside scikit-image, the faces in altered copies; or
from folders of yours) and prints seconds by the clock and of processors, averaged over all rounds: the first few, in which
most weights change, take longest. A full scan adds up all weights of all features. scikit-learn, the peer, fits an exact stump on a part
of the pool (its matrix of values must lie in memory whole); both are given as time for each feature and window, so that the
ratio holds for pools of any size.

``--table`` prints what it takes with each kind of pool and 1,000 to 40,000 windows, or as many as are named: processes of their own
compute values and bins, in memory or on disk as `vjcascade train` would keep them, and boost `--rounds` rounds (50) with
Cost-Generalized AdaBoost.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from itertools import islice, product
from pathlib import Path

import numpy as np
from bench_data import Timed, parser, stage_samples, stage_windows, timed, window_samples
from numpy.typing import NDArray

from vjcascade.boosters import BoostingState, Costs, Round, make_booster
from vjcascade.buffers import ReusableBuffer
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode, count_haar
from vjcascade.learning.boosting import boost
from vjcascade.learning.criteria import WeightedError
from vjcascade.learning.samples import WindowSamples
from vjcascade.learning.search import StumpSearch
from vjcascade.parallel import checked_memory
from vjcascade.training.memory_plan import MemoryEstimate
from vjcascade.training.usage import resident_memory

PEER_FEATURES = 2000
BOOSTERS = ("adaboost", "cost-generalized")
COSTS = Costs(2.0, 1.0)
LINE = np.ones((1, 2))

ROUNDS, TABLE_ROUNDS = 200, 50
TABLE_SIZES = (1000, 2000, 5000, 10_000, 20_000, 40_000)
TABLE_HEADER = (
    "| features | windows | values and bins, s | processor s | a round, s | processor s | peak memory, GiB | bins |\n"
    "|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    arguments = options()
    if arguments.table is not None:
        print_table(arguments, arguments.table or TABLE_SIZES)
        return
    measure(stage_samples(arguments, 500), 2, 1)  # kernels are compiled
    samples, took = timed(lambda: stage_samples(arguments))
    n_features, n_samples = len(samples.bins), samples.bins.n_samples
    print(f"{n_features:,} features x {n_samples:,} windows, {arguments.threads} threads\n")
    print("| what | s | processor s | ns a value |")
    print("|---|---|---|---|")
    print_row("windows, values and bins", took, samples)
    for name, times in measure(samples, arguments.rounds, arguments.threads).items():
        print_row(f"{name}: a round, mean of {len(times)}", mean(times), samples)
        print_row(f"{name}: a round, the last half", mean(times[len(times) // 2 :]), samples)
    round_ = first_round(samples)
    every, errors = np.arange(n_features), WeightedError(LINE, samples, round_, arguments.threads)
    print_row("a full scan", timed(lambda: errors.exact(every))[1], samples)
    peer = sklearn_stump(samples, round_.weights)
    print(f"| scikit-learn's exact stump, one feature after the other | | | {peer:.2f} |")
    print(f"\npeak memory: {peak_memory():.2f} GiB")


def options() -> argparse.Namespace:
    made = parser(__doc__, rounds=ROUNDS)
    made.add_argument(
        "--table", nargs="*", type=int, metavar="SAMPLES", help="print a table of costs instead"
    )
    made.add_argument("--memory", help="for the table: as for vjcascade train, for example 4GiB")
    arguments = made.parse_args()
    if arguments.table is not None and arguments.rounds == ROUNDS:
        arguments.rounds = TABLE_ROUNDS
    return arguments


def print_table(arguments: argparse.Namespace, sizes: Sequence[int]) -> None:
    """Measure each case in a process of its own, so that its peak of memory is that of the case."""
    with (
        tempfile.TemporaryDirectory() as work,
        multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as processes,
    ):
        file = Path(work) / "windows.npy"
        processes.apply(
            save_windows, (file, argparse.Namespace(**{**vars(arguments), "samples": max(sizes)}))
        )
        print(
            f"{arguments.window} pixels, {arguments.rounds} rounds, {arguments.threads} threads\n\n{TABLE_HEADER}"
        )
        for row in processes.imap(partial(table_row, arguments, file), product(HaarMode, sizes)):
            print(row, flush=True)


def save_windows(file: Path, arguments: argparse.Namespace) -> None:
    np.save(file, stage_windows(arguments))


def table_row(arguments: argparse.Namespace, file: Path, case: tuple[HaarMode, int]) -> str:
    """Measure a pool with so many of the windows in a file; return a line of the table."""
    arguments.mode, n_windows = case
    every, half = np.load(file, mmap_mode="r"), n_windows // 2
    windows = np.concatenate([every[:half], every[len(every) // 2 :][:half]])
    rounds_of(
        "cost-generalized", window_samples(windows[:: max(half // 50, 1)], arguments, 500), 2, 1
    )  # compiles
    n_features = count_haar(arguments.window, arguments.mode)
    is_tilted, n_threads = arguments.mode is HaarMode.ALL, arguments.threads
    estimate = MemoryEstimate.of(
        arguments.window, n_features, len(windows), tilted=is_tilted, n_threads=n_threads
    )
    memory = estimate.plan(checked_memory(arguments.memory) - (resident_memory() or 0), file.parent)
    samples, took = timed(lambda: window_samples(windows, arguments, space=memory.bins))
    times = rounds_of("cost-generalized", samples, arguments.rounds, n_threads, memory.histograms)
    a_round = mean(times)
    return (
        f"| {arguments.mode}, {n_features:,} | {len(windows):,} | {took.wall:.2f} | {took.cpu:.2f} | {a_round.wall:.3f} "
        f"| {a_round.cpu:.3f} | {peak_memory():.2f} | {'on disk' if memory.bins.folder else 'in memory'} |"
    )


def peak_memory() -> float:
    """Return the GiB that this process has taken at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(samples: WindowSamples, n_rounds: int, n_threads: int) -> dict[str, list[Timed]]:
    """Return what each round took, by the name of the booster."""
    return {name: rounds_of(name, samples, n_rounds, n_threads) for name in BOOSTERS}


def rounds_of(
    name: str, samples: WindowSamples, n_rounds: int, n_threads: int, space: ReusableBuffer | None = None
) -> list[Timed]:
    """Return what each round of a booster took; histograms are kept in a space of their own or a given one."""
    booster = make_booster(name, Costs() if name == "adaboost" else COSTS, n_rounds)
    rounds = islice(boost(StumpSearch(samples, n_threads, space), booster), n_rounds)
    times = []
    while (result := timed(lambda: next(rounds, None)))[0] is not None:
        times.append(result[1])
    return times


def first_round(samples: WindowSamples) -> Round:
    return make_booster("adaboost", Costs()).begin_round(BoostingState.start(samples.labels))


def mean(times: list[Timed]) -> Timed:
    """Return the means."""
    return Timed(*(float(np.mean(column)) for column in zip(*times, strict=True)))


def print_row(what: str, took: Timed, samples: WindowSamples) -> None:
    print(
        f"| {what} | {took.wall:.3f} | {took.cpu:.3f} | {took.cpu / (len(samples.bins) * samples.bins.n_samples) * 1e9:.3f} |",
        flush=True,
    )


def sklearn_stump(samples: WindowSamples, weights: NDArray[np.float64]) -> float:
    """Return nanoseconds a value that scikit-learn takes for a stump."""
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        return float("nan")
    n_features = len(samples.bins)
    features = np.linspace(0, n_features - 1, min(PEER_FEATURES, n_features)).astype(np.intp)
    values = np.ascontiguousarray(samples.values(features).T)
    tree = DecisionTreeClassifier(max_depth=1)
    cpu = min(timed(lambda: tree.fit(values, samples.labels, weights))[1].cpu for _ in range(3))
    return cpu / values.size * 1e9


if __name__ == "__main__":
    try:
        main()
    except SettingsError as error:  # there is no room in memory and on disk
        sys.exit(str(error))
