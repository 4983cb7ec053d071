"""Time a stage: values and bins of all features, then round after round, beside full scans and scikit-learn's stump.

``python tools/bench_training.py`` boosts faces against crops of photos (both from inside scikit-image, the faces in altered copies; or
from folders of yours) and prints seconds by the clock and of processors, averaged over all rounds: the first few, in which
most weights change, take longest. A full scan adds up all weights of all features. scikit-learn, the peer, fits an exact stump on a part
of the pool (its matrix of values must lie in memory whole); both are given as time for each feature and window, so that the
ratio holds for pools of any size.
"""

from __future__ import annotations

import resource
from itertools import islice

import numpy as np
from bench_data import Timed, parser, stage_samples, timed
from numpy.typing import NDArray

from vjcascade.boosters import BoostingState, Costs, Round, make_booster
from vjcascade.training.boosting import boost
from vjcascade.training.samples import HaarSamples
from vjcascade.training.search import StumpSearch

PEER_FEATURES = 2000
BOOSTERS = ("adaboost", "cost-generalized")
COSTS = Costs(2.0, 1.0)
LINE = np.ones(2)


def main() -> None:
    arguments = parser(__doc__, rounds=200).parse_args()
    measure(stage_samples(arguments, 500), 2, 1)  # kernels are compiled
    samples, took = timed(lambda: stage_samples(arguments))
    n_features, n_samples = samples.bins.shape
    print(f"{n_features:,} features x {n_samples:,} windows, {arguments.threads} threads\n")
    print("| what | s | processor s | ns a value |")
    print("|---|---|---|---|")
    print_row("windows, values and bins", took, samples)
    for name, times in measure(samples, arguments.rounds, arguments.threads).items():
        print_row(f"{name}: a round, mean of {len(times)}", mean(times), samples)
        print_row(f"{name}: a round, the last half", mean(times[len(times) // 2 :]), samples)
    search = StumpSearch(samples, arguments.threads)
    now = first_round(samples)
    every = np.arange(n_features)
    print_row("a full scan", timed(lambda: search._errors(LINE, now, every))[1], samples)
    peer = sklearn_stump(samples, now.weights)
    print(f"| scikit-learn's exact stump, one feature after the other | | | {peer:.2f} |")
    print(f"\npeak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


def measure(samples: HaarSamples, n_rounds: int, n_threads: int) -> dict[str, list[Timed]]:
    """Return what each round took, by the name of the booster."""
    found = {}
    for name in BOOSTERS:
        booster = make_booster(name, Costs() if name == "adaboost" else COSTS, n_rounds)
        rounds = islice(boost(StumpSearch(samples, n_threads), booster), n_rounds)
        times = []
        while (result := timed(lambda some=rounds: next(some, None)))[0] is not None:  # type: ignore[misc]
            times.append(result[1])
        found[name] = times
    return found


def first_round(samples: HaarSamples) -> Round:
    return make_booster("adaboost", Costs()).begin_round(BoostingState.start(samples.labels))


def mean(times: list[Timed]) -> Timed:
    """Return the means."""
    return Timed(*(float(np.mean(column)) for column in zip(*times, strict=True)))


def print_row(what: str, took: Timed, samples: HaarSamples) -> None:
    print(
        f"| {what} | {took.wall:.3f} | {took.cpu:.3f} | {took.cpu / samples.bins.size * 1e9:.3f} |",
        flush=True,
    )


def sklearn_stump(samples: HaarSamples, weights: NDArray[np.float64]) -> float:
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
    main()
