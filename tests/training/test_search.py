from __future__ import annotations

import builders
import naive
import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Costs, Round, make_booster
from vjcascade.features import HaarMode, enumerate_features
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.training import search as module
from vjcascade.training.search import N_EXACT, Stump, StumpSearch, _between
from vjcascade.types import Size

WINDOW = Size(8, 7)


def windows_of(rng, n):
    return np.stack([builders.smooth_noise(rng, WINDOW.height, WINDOW.width) for _ in range(n)])


def make_search(rng, pool, n_positives=30, n_negatives=41, n_threads=1):
    integrals = WindowIntegrals.of(windows_of(rng, n_positives + n_negatives), tilted=True)
    return StumpSearch(pool, integrals, n_positives, n_threads)


def round_of(search, weights):
    positive = search.labels > 0
    mass_p, mass_n = float(weights[positive].sum()), float(weights[~positive].sum())
    return Round(weights, mass_p, mass_n, BoostingState.start(search.labels))


def random_round(rng, search):
    weights = rng.random(len(search.labels)) ** 3
    return round_of(search, weights / weights.sum())


def errors_of(stumps):
    return np.array([s.error_p + s.error_n for s in stumps])


def naive_values(windows, feature):
    return [
        np.float32(naive.feature_value(w, feature) * (naive.normalisation(w) or np.float32(0)))
        for w in windows
    ]


@pytest.mark.parametrize("n_features", [1, 3, N_EXACT])
def test_small_pools_equal_plain_loops(rng, n_features):
    pool = builders.random_features(rng, n_features, WINDOW, tilted_share=0.3)
    windows = windows_of(rng, 40)
    search = StumpSearch(pool, WindowIntegrals.of(windows, tilted=True), 15, 1)
    rows = [naive_values(windows, feature) for feature in pool]
    for _ in range(5):
        now = random_round(rng, search)
        candidates = search.candidates(now)
        assert [s.feature for s in candidates[:-2]] == list(range(n_features))
        stumps = candidates[:-2]
        best = stumps[make_booster("adaboost", Costs()).choose(errors_of(stumps), np.zeros(1), now)]
        feature, error = naive.best_feature(rows, search.labels, now.weights)
        assert best.feature == feature
        assert best.error_p + best.error_n == pytest.approx(error, abs=1e-12)


def test_what_a_stump_says_is_what_it_does(rng):
    """Errors, outputs and thresholds belong together, on the real values."""
    search = make_search(rng, enumerate_features(WINDOW, HaarMode.ALL))
    now = random_round(rng, search)
    candidates = search.candidates(now)
    assert len(candidates) == N_EXACT + 2
    for stump in candidates[:-2]:
        values = search.values(stump)
        assert not (values == stump.threshold).all()
        outputs = [stump.sides[0] if v < stump.threshold else stump.sides[1] for v in values]
        assert search.outputs(stump).tolist() == outputs
        expected = naive.weighted_errors(outputs, search.labels, now.weights)
        assert (stump.error_p, stump.error_n) == pytest.approx(expected, abs=1e-13)
        _, error = naive.best_feature([values], search.labels, now.weights)
        assert stump.error_p + stump.error_n == pytest.approx(error, abs=1e-12)


def test_the_features_with_the_least_binned_errors_are_looked_at(rng):
    search = make_search(rng, enumerate_features(WINDOW)[::47], 20, 20)
    now = random_round(rng, search)
    binned = np.array([naive.least_binned_error(row, search.labels, now.weights) for row in search._bins])
    stumps = search.candidates(now)[:-2]
    assert {s.feature for s in stumps} == set(np.argsort(binned, kind="stable")[:N_EXACT])
    assert (errors_of(stumps) <= binned[[s.feature for s in stumps]] + 1e-12).all()  # bins are coarser


def test_ties_go_to_the_lowest_features(rng):
    """Many copies of a feature, and among them a few that are better."""
    both, windows = builders.random_features(rng, 2, WINDOW), windows_of(rng, 71)
    integrals = WindowIntegrals.of(windows)
    search = StumpSearch(both, integrals, 30, 1)
    now = random_round(rng, search)
    better, worse = np.argsort(errors_of(search.candidates(now)[:2]))
    pool = np.repeat(both[[worse]], 304)
    pool[[5, 150, 290]] = both[better]
    stumps = StumpSearch(pool, integrals, 30, 1).candidates(now)[:-2]
    assert [s.feature for s in stumps] == [0, 1, 2, 3, 4, 5, 150, 290]


def test_constants_are_offered(rng):
    search = make_search(rng, enumerate_features(WINDOW)[:5])
    now = random_round(rng, search)
    everything, nothing = search.candidates(now)[-2:]
    assert (search.outputs(everything) == 1).all()
    assert (search.outputs(nothing) == -1).all()
    assert (everything.error_p, everything.error_n) == (0, now.negative_mass)
    assert (nothing.error_p, nothing.error_n) == (now.positive_mass, 0)


def test_a_feature_without_contrast_in_its_values_is_no_candidate(rng):
    pool = builders.random_features(rng, 1, WINDOW)
    windows = np.repeat(windows_of(rng, 1), 20, axis=0)
    search = StumpSearch(pool, WindowIntegrals.of(windows), 10, 1)
    assert [s.sides for s in search.candidates(random_round(rng, search))] == [(1, 1), (-1, -1)]


def test_polarity(rng):
    """Left half bright: the same feature must serve both ways around."""
    bright_left = np.tile(np.where(np.arange(8) < 4, 180, 60), (7, 1))
    windows = np.clip(bright_left + rng.normal(0, 5, (20, 7, 8)), 0, 255).astype(np.uint8)
    flipped = windows[:, :, ::-1]
    pool = enumerate_features(WINDOW)
    pool = pool[
        (pool["rects"][:, 0] == [0, 0, 8, 7]).all(axis=1) & (pool["rects"][:, 1] == [4, 0, 4, 7]).all(axis=1)
    ]
    for order, sides in ((windows, flipped), (1, -1)), ((flipped, windows), (-1, 1)):
        search = StumpSearch(pool, WindowIntegrals.of(np.concatenate(order)), 20, 1)
        stump = search.candidates(round_of(search, np.full(40, 1 / 40)))[0]
        assert (stump.sides, stump.error_p, stump.error_n) == (sides, 0, 0)


def test_neighbouring_values_are_told_apart(rng):
    """No float32 lies between the two values, so the threshold is the higher one, which must go right."""
    search = make_search(rng, builders.random_features(rng, 1, WINDOW), 20, 20)
    low = np.float32(0.1)
    values = np.where(search.labels > 0, np.nextafter(low, np.float32(1)), low)
    (stump,) = search._best_stump(0, values, random_round(rng, search))
    assert (stump.sides, stump.error_p, stump.error_n) == ((-1, 1), 0, 0)
    assert stump.outputs(values).tolist() == search.labels.tolist()


@pytest.mark.parametrize("n_threads", [2, 4])
def test_threads_do_not_matter(n_threads, monkeypatch):
    monkeypatch.setattr(module, "FEATURES_PER_TASK", 97)
    pool = enumerate_features(WINDOW, HaarMode.ALL)
    results = []
    for threads in (1, n_threads):
        rng = np.random.default_rng(1)
        search = make_search(rng, pool, n_threads=threads)
        results.append([search.candidates(random_round(rng, search)) for _ in range(3)])
    assert results[0] == results[1]


def test_sides_and_threshold():
    stump = Stump(0, np.float32(0.5), (1, -1), 0, 0)
    assert stump.outputs(np.array([0.4, 0.5, 0.6], np.float32)).tolist() == [1, -1, -1]


def test_between():
    one = np.float32(1)
    after = np.nextafter(one, np.float32(2))
    big = np.float32(3e38)
    assert _between(one, np.float32(2)) == 1.5
    assert _between(one, after) == after
    assert _between(big, np.nextafter(big, np.float32(np.inf))) > big
    assert _between(-after, -one) == -one
