"""Time one boosting round and the binning before it, beside scikit-learn's stump on the same values.

``python tools/bench_training.py`` prints wall and processor seconds and the peak memory. scikit-learn, the peer, fits an exact
stump on a part of the pool (its matrix of values must lie in memory whole); both are given as time for each feature
and window, so that the ratio holds for pools of any size. Windows are cut from the photos inside scikit-image.
"""

from __future__ import annotations

import resource

import numpy as np
from bench_data import median, parser, photo_windows, timed
from numpy.typing import NDArray

from vjcascade.boosters import BoostingState, Costs, make_booster
from vjcascade.features import HaarMode, enumerate_features
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.training.samples import HaarSamples
from vjcascade.training.search import StumpSearch

PEER_FEATURES = 2000


def main() -> None:
    arguments = parser(__doc__, rounds=20).parse_args()
    pool = enumerate_features(arguments.window, arguments.mode)
    windows = photo_windows(arguments.samples, arguments.window)
    n_values = len(pool) * len(windows)
    print(f"{len(pool):,} features x {len(windows):,} windows, {arguments.threads} threads")

    def prepare(features: NDArray[np.void]) -> HaarSamples:
        integrals = WindowIntegrals.of(windows, tilted=arguments.mode is HaarMode.ALL)
        return HaarSamples(features, integrals, len(windows) // 2, arguments.threads)

    booster = make_booster("adaboost", Costs())
    few = prepare(pool[:100])
    now = booster.begin_round(BoostingState.start(few.labels))
    StumpSearch(few).candidates(now, booster)  # kernels are compiled

    samples, took = timed(lambda: prepare(pool))
    a_value = took.cpu / n_values * 1e9
    print(
        f"values and bins: {took.wall:.2f} s wall, {took.cpu:.2f} s of processors, {a_value:.2f} ns a value"
    )
    search = StumpSearch(samples, arguments.threads)
    took = median([timed(lambda: search.candidates(now, booster))[1] for _ in range(arguments.rounds)])
    ours = took.cpu / n_values * 1e9
    print(
        f"one round: {took.wall:.3f} s wall, {took.cpu:.3f} s of processors (medians of {arguments.rounds}), "
        f"{ours:.3f} ns a value"
    )
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")
    peer = sklearn_stump(samples, now.weights)
    print(
        f"scikit-learn, exact stump: {peer:.2f} ns a value of processor time, {peer / ours:.0f} times as much"
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
