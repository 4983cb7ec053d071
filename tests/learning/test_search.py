from __future__ import annotations

import builders
import naive
import numpy as np
import pytest
from skimage.data import lfw_subset

from vjcascade.boosters import BoostingState, Costs, Round, booster_names, make_booster
from vjcascade.features import HaarMode, enumerate_haar
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.kernels import histogram
from vjcascade.learning import criteria, histograms, search as module
from vjcascade.learning.criteria import WeightedError
from vjcascade.learning.samples import samples_of
from vjcascade.learning.search import N_EXACT, StumpSearch
from vjcascade.learning.trees import best_stump, grow_tree
from vjcascade.learning.weak_splits import THRESHOLDS
from vjcascade.types import Size

WINDOW = Size(8, 7)
ADABOOST = make_booster("adaboost", Costs())


def windows_of(rng, n):
    return np.stack([builders.smooth_noise(rng, WINDOW.height, WINDOW.width) for _ in range(n)])


def make_search(rng, pool, n_positives=30, n_negatives=41, n_threads=1):
    integrals = WindowIntegrals.of(windows_of(rng, n_positives + n_negatives), tilted=True)
    return search_of(pool, integrals, n_positives, n_threads)


def search_of(pool, integrals, n_positives, n_threads=1):
    return StumpSearch(samples_of(pool, integrals, n_positives, n_threads), n_threads)


def outputs_of(search, stump):
    return np.where(search.values(stump.feature) < stump.threshold, *stump.sides)


def round_of(search, weights):
    return Round.of_weights(weights, BoostingState.start(search.labels))


def random_round(rng, search):
    weights = rng.random(len(search.labels)) ** 3
    return round_of(search, weights / weights.sum())


def all_bins(search):
    return search.samples.bins.rows(np.arange(len(search.samples.bins)))


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
    search = search_of(pool, WindowIntegrals.of(windows, tilted=True), 15)
    rows = [naive_values(windows, feature) for feature in pool]
    for _ in range(5):
        round_ = random_round(rng, search)
        candidates = search.candidates(round_, ADABOOST)
        assert [s.feature for s in candidates[:-2]] == list(range(n_features))
        stumps = candidates[:-2]
        best = stumps[ADABOOST.choose(errors_of(stumps), np.zeros(1), round_)]
        feature, error = naive.best_feature(rows, search.labels, round_.weights)
        assert best.feature == feature
        assert best.error_p + best.error_n == pytest.approx(error, abs=1e-12)


def test_what_a_stump_says_is_what_it_does(rng):
    """Errors, outputs and thresholds belong together, on the real values."""
    search = make_search(rng, enumerate_haar(WINDOW, HaarMode.ALL))
    round_ = random_round(rng, search)
    candidates = search.candidates(round_, ADABOOST)
    assert len(candidates) == N_EXACT + 2
    for stump in candidates[:-2]:
        values = search.values(stump.feature)
        assert not (values == stump.threshold).all()
        outputs = [stump.sides[0] if v < stump.threshold else stump.sides[1] for v in values]
        assert outputs_of(search, stump).tolist() == outputs
        expected = naive.weighted_errors(outputs, search.labels, round_.weights)
        assert (stump.error_p, stump.error_n) == pytest.approx(expected, abs=1e-13)
        _, error = naive.best_feature([values], search.labels, round_.weights)
        assert stump.error_p + stump.error_n == pytest.approx(error, abs=1e-12)


def test_the_features_with_the_least_binned_errors_are_looked_at(rng):
    search = make_search(rng, enumerate_haar(WINDOW)[::47], 20, 20)
    round_ = random_round(rng, search)
    binned = np.array(
        [naive.least_binned_error(row, search.labels, round_.weights) for row in all_bins(search)]
    )
    stumps = search.candidates(round_, ADABOOST)[:-2]
    assert {s.feature for s in stumps} == set(np.argsort(binned, kind="stable")[:N_EXACT])
    assert (errors_of(stumps) <= binned[[s.feature for s in stumps]] + 1e-12).all()  # bins are coarser


def test_ties_go_to_the_lowest_features(rng):
    """Many copies of a feature, and among them a few that are better."""
    both, windows = builders.random_features(rng, 2, WINDOW), windows_of(rng, 71)
    integrals = WindowIntegrals.of(windows)
    search = search_of(both, integrals, 30)
    round_ = random_round(rng, search)
    better, worse = np.argsort(errors_of(search.candidates(round_, ADABOOST)[:2]))
    pool = np.repeat(both[[worse]], 304)
    pool[[5, 150, 290]] = both[better]
    stumps = search_of(pool, integrals, 30).candidates(round_, ADABOOST)[:-2]
    assert [s.feature for s in stumps] == [0, 1, 2, 3, 4, 5, 150, 290]


def test_constants_are_offered(rng):
    search = make_search(rng, enumerate_haar(WINDOW)[:5])
    round_ = random_round(rng, search)
    everything, nothing = search.candidates(round_, ADABOOST)[-2:]
    assert (outputs_of(search, everything) == 1).all()
    assert (outputs_of(search, nothing) == -1).all()
    assert (everything.error_p, everything.error_n) == (0, round_.negative_weight)
    assert (nothing.error_p, nothing.error_n) == (round_.positive_weight, 0)


def test_a_feature_without_contrast_in_its_values_is_no_candidate(rng):
    pool = builders.random_features(rng, 1, WINDOW)
    windows = np.repeat(windows_of(rng, 1), 20, axis=0)
    search = search_of(pool, WindowIntegrals.of(windows), 10)
    assert [s.sides for s in search.candidates(random_round(rng, search), ADABOOST)] == [(1, 1), (-1, -1)]


def test_polarity(rng):
    """Left half bright: the same feature must serve both ways around."""
    bright_left = np.tile(np.where(np.arange(8) < 4, 180, 60), (7, 1))
    windows = np.clip(bright_left + rng.normal(0, 5, (20, 7, 8)), 0, 255).astype(np.uint8)
    flipped = windows[:, :, ::-1]
    pool = enumerate_haar(WINDOW)
    pool = pool[
        (pool["rects"][:, 0] == [0, 0, 8, 7]).all(axis=1) & (pool["rects"][:, 1] == [4, 0, 4, 7]).all(axis=1)
    ]
    for order, sides in ((windows, flipped), (1, -1)), ((flipped, windows), (-1, 1)):
        search = search_of(pool, WindowIntegrals.of(np.concatenate(order)), 20)
        stump = search.candidates(round_of(search, np.full(40, 1 / 40)), ADABOOST)[0]
        assert (stump.sides, stump.error_p, stump.error_n) == (sides, 0, 0)


def test_neighbouring_values_are_told_apart(rng):
    """No float32 lies between the two values, so the threshold is the higher one, which must go right."""
    search = make_search(rng, builders.random_features(rng, 1, WINDOW), 20, 20)
    low = np.float32(0.1)
    values = np.where(search.labels > 0, np.nextafter(low, np.float32(1)), low)
    stump = THRESHOLDS.best(0, values, random_round(rng, search), ADABOOST)
    assert (stump.sides, stump.error_p, stump.error_n) == ((-1, 1), 0, 0)
    assert np.where(values < stump.threshold, *stump.sides).tolist() == search.labels.tolist()


@pytest.mark.parametrize("n_threads", [2, 4])
def test_threads_do_not_matter(n_threads, monkeypatch):
    monkeypatch.setattr(histograms, "TILES_PER_TASK", 1)
    monkeypatch.setattr(criteria, "FEATURES_PER_TASK", 5)
    pool = enumerate_haar(WINDOW, HaarMode.ALL)
    results = []
    for threads in (1, n_threads):
        rng = np.random.default_rng(1)
        search = make_search(rng, pool, n_threads=threads)
        results.append([search.candidates(random_round(rng, search), ADABOOST) for _ in range(3)])
    assert results[0] == results[1]


CONCAVE = [
    ("cost-sensitive", Costs(2, 1), {}),
    ("cost-sensitive", Costs(30, 1), {"prior": "balanced"}),
    ("cost-sensitive", Costs(1, 5), {}),
    ("adaboostdb", Costs(2, 1), {}),
    ("adaboostdb", Costs(1, 3.5), {}),
    ("adaboostdb", Costs(100, 1), {}),
    ("adaboostdb", Costs(1000, 1), {}),
    ("cost-sensitive", Costs(1, 1000), {}),
    ("adaboostdb", Costs(4, 1), {"select": "minloss"}),
    ("gentle", Costs(), {}),
    ("real", Costs(), {"criterion": "exponential"}),
    ("logit", Costs(), {}),
    ("cost-sensitive-real", Costs(4, 1), {}),
    ("cost-sensitive-logit", Costs(4, 1), {}),
]


def binned_losses(bins, round_, booster):
    """Return each feature's least loss over all cuts between bins and both polarities, by brute force."""
    below = np.arange(1, 256)[:, None, None] > bins
    left_p, left_n = below @ round_.positive_part, below @ round_.negative_part
    right_p, right_n = round_.positive_weight - left_p, round_.negative_weight - left_n
    errors_p, errors_n = np.maximum([left_p, right_p], 0), np.maximum([right_n, left_n], 0)
    losses = booster.loss(errors_p.ravel(), errors_n.ravel(), round_)
    return losses.reshape(-1, len(bins)).min(axis=0)


@pytest.mark.parametrize(("name", "costs", "options"), CONCAVE)
def test_concave_losses_equal_brute_force_over_all_features(rng, monkeypatch, name, costs, options):
    """In a real run, every round's best features are those of least loss over the whole pool.

    Where the booster gives bounds or its guide is the loss itself, exactly; where it is a mere guide, almost.
    """
    monkeypatch.setattr(module, "N_GUIDED", 40)
    monkeypatch.setattr(histograms, "MIN_SAMPLES_TO_KEEP", 1)
    booster = make_booster(name, costs, 12, **options)
    search = make_search(rng, enumerate_haar(WINDOW)[::18], 60, 90)
    state = BoostingState.start(search.labels)
    for _ in range(5):
        round_ = booster.begin_round(state)
        losses = binned_losses(all_bins(search), round_, booster)
        features = search.best_features(round_, booster)
        if name in {"real", "cost-sensitive-real"}:
            drop = booster.loss(np.zeros(1), np.array([round_.negative_weight]), round_)[0] - losses.min()
            assert losses[features].min() <= losses.min() + 0.02 * drop
        else:
            assert np.sort(losses[features]) == pytest.approx(np.sort(losses)[:N_EXACT], abs=1e-9)
        add_a_round(state, search, booster)


def a_stage(n_positives=100):
    """Return the search for a stage of real faces, of a pool of which many features are alike."""
    lfw = (lfw_subset() * 255).astype(np.uint8)
    pool = enumerate_haar(Size(25, 25))[::97]
    return search_of(pool, WindowIntegrals.of(lfw), n_positives, 2)


def add_a_round(state, search, booster):
    round_ = booster.begin_round(state)
    tree = grow_tree(search, booster, round_, 1)
    where = tree.leaves_of(search.values)
    vote = booster.weigh(*round_.weight_sums(where, len(tree.sides)), tree.sides, round_)
    state.add(vote.outputs[where], vote.alpha)


LINEAR = [name for name in booster_names() if make_booster(name, Costs()).loss_is_linear]


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("min_samples", [1, 10**6])
def test_every_round_equals_a_full_scan(name, min_samples, monkeypatch):
    """Histograms are never up to date, whether they are kept or not; what is found must be the same all the same."""
    monkeypatch.setattr(histograms, "MIN_SAMPLES_TO_KEEP", min_samples)
    booster, search = make_booster(name, Costs(2, 1), 25), a_stage()
    state = BoostingState.start(search.labels)
    every = np.arange(len(search.samples.bins))
    for _ in range(25):
        round_ = booster.begin_round(state)
        errors = WeightedError(booster.loss_bounds(0.0, 0.0, round_).lines, search.samples, round_).exact(
            every
        )
        assert (
            search.best_features(round_, booster).tolist()
            == np.sort(np.argsort(errors, kind="stable")[:N_EXACT]).tolist()
        )
        add_a_round(state, search, booster)


@pytest.mark.parametrize("name", ["adaboost", "adaboostdb", "gentle", "real"])
@pytest.mark.parametrize("min_samples", [1, 10**6])
def test_the_order_of_columns_changes_nothing(name, min_samples, monkeypatch):
    """Where the bins of a sample lie, its weight must be looked for, whatever a booster's search needs it for."""
    monkeypatch.setattr(histograms, "MIN_SAMPLES_TO_KEEP", min_samples)
    booster, plain, moved = make_booster(name, Costs(2, 1), 10), a_stage(), a_stage()
    halves = np.random.default_rng(1).permutation(len(moved.labels)).reshape(2, -1)
    moved.samples.bins.swap(*halves, n_threads=1)
    state = BoostingState.start(plain.labels)
    for _ in range(5):
        round_ = booster.begin_round(state)
        assert moved.candidates(round_, booster) == plain.candidates(round_, booster)
        add_a_round(state, plain, booster)


def test_few_features_are_measured_exactly(monkeypatch):
    """Bounds prune nearly all features, though most weights are left as they were in earlier rounds."""
    monkeypatch.setattr(histograms, "MIN_SAMPLES_TO_KEEP", 1)
    measured, changed = [], []
    exact, add = WeightedError.exact, histogram.add_changes_and_measure
    monkeypatch.setattr(WeightedError, "exact", lambda *some: measured.append(len(some[1])) or exact(*some))
    monkeypatch.setattr(
        histogram, "add_changes_and_measure", lambda *some: changed.append(len(some[1])) or add(*some)
    )
    search, booster = a_stage(), ADABOOST
    state = BoostingState.start(search.labels)
    for _ in range(20):
        add_a_round(state, search, booster)
    n_features, n_samples = len(search.samples.bins), len(search.labels)
    assert sum(measured) < 20 * n_features / 5
    assert np.mean(changed) < n_samples / 2


@pytest.mark.parametrize("name", booster_names())
def test_every_booster_finds_its_best_stump_on_real_values(rng, name):
    """Over all features, cuts and polarities, no stump has a lower loss than the one chosen."""
    booster = make_booster(name, Costs(3, 1), 10)
    pool = builders.random_features(rng, N_EXACT, WINDOW)
    search = make_search(rng, pool, 25, 35)
    state = BoostingState.start(search.labels)
    for _ in range(6):
        round_ = booster.begin_round(state)
        stump = best_stump(search, booster, round_)
        errors = [(0.0, round_.negative_weight), (round_.positive_weight, 0.0)]
        for values in search.samples.values(np.arange(len(pool))):
            for threshold in np.unique(values):
                called = np.where(values < threshold, -1, 1)
                errors += [
                    (round_.positive_part[outputs < 0].sum(), round_.negative_part[outputs > 0].sum())
                    for outputs in (called, -called)
                ]
        losses = booster.loss(*np.array(errors).T, round_)
        chosen = booster.loss(np.array([stump.error_p]), np.array([stump.error_n]), round_)[0]
        assert chosen == pytest.approx(losses.min(), abs=1e-10)
        outputs = outputs_of(search, stump)
        expected = round_.positive_part[outputs < 0].sum(), round_.negative_part[outputs > 0].sum()
        assert (stump.error_p, stump.error_n) == pytest.approx(expected, abs=1e-13)
        where = (outputs > 0).astype(int)
        vote = booster.weigh(*round_.weight_sums(where, 2), np.array([-1, 1], np.int8), round_)
        state.add(vote.outputs[where], vote.alpha)
