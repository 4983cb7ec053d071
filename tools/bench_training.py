"""Time one boosting round and the binning before it, beside scikit-learn's stump on the same values.

``python tools/bench_training.py`` prints wall and processor seconds and the peak memory. scikit-learn, the peer, fits an exact
stump on a part of the pool (its matrix of values must lie in memory whole); both are given as time for each feature
and window, so that the ratio holds for pools of any size. Windows are cut from the photos inside scikit-image.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import skimage

from vjcascade import Size
from vjcascade.boosters import BoostingState, Costs, make_booster
from vjcascade.features import HaarMode, enumerate_features
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.imaging import read_gray
from vjcascade.parallel import default_threads
from vjcascade.training.search import StumpSearch

PHOTOS = (
    "astronaut.png",
    "brick.png",
    "camera.png",
    "chelsea.png",
    "coffee.png",
    "coins.png",
    "grass.png",
    "gravel.png",
)
PEER_FEATURES = 2000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--window", type=Size.parse, default=Size(24, 24))
    parser.add_argument("--mode", type=HaarMode, default=HaarMode.BASIC)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=default_threads())
    arguments = parser.parse_args()

    pool = enumerate_features(arguments.window, arguments.mode)
    windows = cut_windows(arguments.samples, arguments.window)
    n_values = len(pool) * len(windows)
    print(f"{len(pool):,} features x {len(windows):,} windows, {arguments.threads} threads")
    StumpSearch(pool[:100], WindowIntegrals.of(windows[:100]), 50, 1).candidates(
        first_round(windows[:100], 50)
    )

    def prepare() -> StumpSearch:
        integrals = WindowIntegrals.of(windows, tilted=arguments.mode is HaarMode.ALL)
        return StumpSearch(pool, integrals, len(windows) // 2, arguments.threads)

    search, wall, cpu = timed(prepare)
    print(
        f"values and bins: {wall:.2f} s wall, {cpu:.2f} s of processors, {cpu / n_values * 1e9:.2f} ns a value"
    )
    now = first_round(windows, len(windows) // 2)
    rounds = [timed(lambda: search.candidates(now)) for _ in range(arguments.rounds)]
    wall, cpu = (float(np.median([r[i] for r in rounds])) for i in (1, 2))
    ours = cpu / n_values * 1e9
    print(
        f"one round: {wall:.3f} s wall, {cpu:.3f} s of processors (medians of {len(rounds)}), {ours:.3f} ns a value"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory: {peak:.2f} GiB")
    peer = sklearn_stump(search, now.weights)
    print(
        f"scikit-learn, exact stump: {peer:.2f} ns a value of processor time, {peer / ours:.0f} times as much"
    )


def cut_windows(n: int, window: Size) -> np.ndarray:
    """Cut windows with contrast at random from photos."""
    rng = np.random.default_rng(0)
    photos = [read_gray(Path(skimage.__file__).parent / "data" / name) for name in PHOTOS]
    windows = []
    while len(windows) < n:
        photo = photos[len(windows) % len(photos)]
        y = rng.integers(photo.shape[0] - window.height)
        x = rng.integers(photo.shape[1] - window.width)
        crop = photo[y : y + window.height, x : x + window.width]
        if crop[1:-1, 1:-1].std() > 10:
            windows.append(crop)
    return np.array(windows)


def first_round(windows: np.ndarray, n_positives: int) -> Any:
    """Return the first round of plain AdaBoost."""
    labels = np.where(np.arange(len(windows)) < n_positives, 1, -1).astype(np.int8)
    return make_booster("adaboost", Costs()).begin_round(BoostingState.start(labels))


def timed(function: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result, wall seconds and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def sklearn_stump(search: StumpSearch, weights: np.ndarray) -> float:
    """Return nanoseconds a value that scikit-learn takes for a stump."""
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        return float("nan")
    features = np.linspace(0, len(search.pool) - 1, min(PEER_FEATURES, len(search.pool))).astype(int)
    values = np.ascontiguousarray(search.integrals.values(search.pool[features]).T)
    tree = DecisionTreeClassifier(max_depth=1)
    cpu = min(timed(lambda: tree.fit(values, search.labels, weights))[2] for _ in range(3))
    return cpu / values.size * 1e9


if __name__ == "__main__":
    main()
