from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Round
from vjcascade.buffers import ReusableBuffer
from vjcascade.features.bins import Bins, shape_of_tiles
from vjcascade.kernels import histogram
from vjcascade.kernels.stump import least_gini, least_on_line
from vjcascade.learning import histograms as module
from vjcascade.learning.criteria import GiniImpurity, WeightedError, _LineCriterion
from vjcascade.learning.histograms import Histograms
from vjcascade.learning.quantized_weights import QuantizedDifferences
from vjcascade.learning.weak_splits import SUBSETS, THRESHOLDS

N_POSITIVES, N_SAMPLES = 40, 90
LINES = np.array([[1.0, 1.0], [0.2, 3.0]])


class Lines(_LineCriterion):
    """What histograms need to know of the values of some lines."""

    exact = None


def lines_of(round_, lines=LINES, splits=THRESHOLDS):
    return Lines(lines, SimpleNamespace(splits=splits), round_)


def gini_of(round_, factors):
    return GiniImpurity(factors, SimpleNamespace(splits=THRESHOLDS), round_)


@pytest.fixture(autouse=True)
def keep_all(monkeypatch):
    monkeypatch.setattr(module, "MIN_SAMPLES_TO_KEEP", 1)


@pytest.fixture
def bins(rng):
    return rng.integers(0, 256, (37, N_SAMPLES)).astype(np.uint8)


def a_round(positive, negative):
    labels = np.where(np.arange(N_SAMPLES) < N_POSITIVES, 1, -1).astype(np.int8)
    return Round.of_parts(positive, negative, BoostingState.start(labels))


def round_of(weights):
    positive = np.arange(N_SAMPLES) < N_POSITIVES
    return a_round(weights * positive, weights * ~positive)


def exact_lines(bins, round_):
    values = np.empty((len(LINES), len(bins)))
    for (a, b), row in zip(LINES, values, strict=True):
        signed = a * round_.positive_part - b * round_.negative_part
        least_on_line(bins, signed, a * round_.positive_weight, b * round_.negative_weight, row)
    return values


def exact_gini(bins, round_, factors):
    losses = np.empty(len(bins))
    least_gini(bins, factors[0] * round_.positive_part, factors[1] * round_.negative_part, losses)
    return losses


def weights_of_a_run(rng, n_rounds, scale):
    """Yield weights that change as in boosting: by one factor, and where a weak classifier errs by another."""
    weights = np.full(N_SAMPLES, 1 / N_SAMPLES)
    for _ in range(n_rounds):
        yield weights
        weights = weights * np.where(rng.random(N_SAMPLES) < 0.3, scale * rng.uniform(1, 2), 1.0)
        weights = weights / weights.sum()


@pytest.mark.parametrize("scale", [1.0, 2.0, 1e3, 1e9])
def test_bounds_hold_in_every_round(rng, bins, scale):
    """Also where weights soar, so that bits have to go, or everything has to be added up anew."""
    one, other = Histograms(Bins.of_rows(bins)), Histograms(Bins.of_rows(bins))
    factors = np.array([0.5, 2.0])
    for weights in weights_of_a_run(rng, 60, scale):
        round_ = round_of(weights)
        lines, exact = one.measure(lines_of(round_)), exact_lines(bins, round_)
        assert (lines.lowest <= exact).all()
        assert (exact <= lines.highest).all()
        gini, exact = other.measure(gini_of(round_, factors)), exact_gini(bins, round_, factors)
        assert (gini.lowest <= exact).all()
        assert (exact <= gini.highest).all()


def test_bounds_are_as_close_as_is_tolerated(rng, bins):
    measured = Histograms(Bins.of_rows(bins))
    for weights in weights_of_a_run(rng, 30, 2.0):
        lines = measured.measure(lines_of(round_of(weights), LINES[:1]))
        assert (lines.highest - lines.lowest).max() <= 2.1 * module.FIRST_TOLERANCE


def test_bits_that_go_for_one_class_are_not_missed_in_the_other(bins):
    """A class that grows by most of its weight, again and again, takes bits off the other one, too."""
    measured = Histograms(Bins.of_rows(bins))
    positive, negative = np.zeros(N_SAMPLES), np.zeros(N_SAMPLES)
    negative[N_POSITIVES:] = 1 / (N_SAMPLES - N_POSITIVES)
    for i in range(40):
        positive[:N_POSITIVES] = np.where(np.arange(N_POSITIVES) % 3 == i % 3, 8.0, 1.0)
        positive /= positive.sum()
        lines = measured.measure(lines_of(a_round(positive, negative), LINES[:1]))
        assert (lines.highest - lines.lowest).max() <= 6.1 * module.FIRST_TOLERANCE


def test_both_parts_in_every_sample(rng, bins):
    measured = Histograms(Bins.of_rows(bins))
    for _ in range(5):
        round_ = a_round(rng.random(N_SAMPLES), rng.random(N_SAMPLES) ** 4)
        gini, exact = measured.measure(gini_of(round_, np.ones(2))), exact_gini(bins, round_, np.ones(2))
        assert (gini.lowest <= exact).all()
        assert (exact <= gini.highest).all()


def test_only_what_changed_by_another_factor_is_added_up(rng, bins, monkeypatch):
    seen = []
    add = histogram.add_changes_and_measure
    monkeypatch.setattr(
        histogram, "add_changes_and_measure", lambda *some: seen.append(some[1].tolist()) or add(*some)
    )
    monkeypatch.setattr(module, "FIRST_TOLERANCE", 1e-5)
    measured = Histograms(Bins.of_rows(bins))
    weights = rng.uniform(0.5, 1, N_SAMPLES)
    measured.measure(lines_of(round_of(weights)))
    changed = [3, 20, 55]
    weights[changed] *= 4
    weights[:N_POSITIVES] *= 0.1
    measured.measure(lines_of(round_of(weights)))
    assert seen[0] == list(range(N_SAMPLES))
    assert seen[1] == changed


def test_samples_that_change_often_come_to_the_front(bins, rng, monkeypatch):
    """Bounds hold as before."""
    monkeypatch.setattr(module, "FIRST_TOLERANCE", 1e-4)
    mine = Bins.of_rows(bins)
    moving = Histograms(mine)
    often = np.arange(0, N_SAMPLES, 10)
    weights = np.full(N_SAMPLES, 1 / N_SAMPLES)
    for _ in range(40):
        weights[often] = rng.uniform(0.5, 2, len(often)) / N_SAMPLES
        round_ = round_of(weights / weights.sum())
        lines, exact = moving.measure(lines_of(round_)), exact_lines(bins, round_)
        assert (lines.lowest <= exact).all()
        assert (exact <= lines.highest).all()
    assert (mine.columns[often] < module.FRONT_SHARE * N_SAMPLES).all()
    assert np.array_equal(mine.rows(np.arange(len(bins))), bins)


def spread_of(measured):
    return (measured.highest - measured.lowest).max()


@pytest.mark.parametrize(("scale", "n_threads", "share"), [(1.0, 1, 0.7), (2.0, 3, 0.7), (1e3, 1, 1.0)])
def test_bounds_of_some_features_can_be_refined(rng, scale, n_threads, share):
    """Of lines and of impurities; few features or many, in any order. Bits that were lost do not come back."""
    bins = rng.integers(0, 256, (150, N_SAMPLES)).astype(np.uint8)
    few, many = np.array([130, 2, 17]), rng.permutation(len(bins))
    one, other = (Histograms(Bins.of_rows(bins), n_threads) for _ in range(2))
    factors = np.array([0.5, 2.0])
    for weights in weights_of_a_run(rng, 20, scale):
        round_ = round_of(weights)
        of_lines, of_gini = lines_of(round_), gini_of(round_, factors)
        lines, exact = one.measure(of_lines), exact_lines(bins, round_)
        gini, exact_impurity = other.measure(of_gini), exact_gini(bins, round_, factors)
        for features in (few, many):
            refined = one.refine(of_lines, features)
            assert (refined.lowest <= exact[:, features]).all()
            assert (exact[:, features] <= refined.highest).all()
            assert spread_of(refined) <= max(spread_of(lines) * share, 2e-5)
            refined = other.refine(of_gini, features)
            assert (refined.lowest <= exact_impurity[features]).all()
            assert (exact_impurity[features] <= refined.highest).all()
            assert spread_of(refined) <= max(spread_of(gini) * share, 2e-5)


def test_bounds_of_subsets_hold(rng, bins):
    """Also when they are made refined."""
    every = np.arange(len(bins))
    measured = Histograms(Bins.of_rows(bins), 2)
    for weights in weights_of_a_run(rng, 10, 2.0):
        round_ = round_of(weights)
        exact = np.empty((len(LINES), len(bins)))
        for (a, b), row in zip(LINES, exact, strict=True):
            row[:] = SUBSETS.exact_least_error(bins, a * round_.positive_part, b * round_.negative_part)
        criterion = lines_of(round_, splits=SUBSETS)
        for lines in (measured.measure(criterion), measured.refine(criterion, every)):
            assert (lines.lowest <= exact).all()
            assert (exact <= lines.highest).all()


def test_where_histograms_and_bins_are_kept_changes_nothing(rng, tmp_path):
    """With samples that move to the front."""
    rows = rng.integers(0, 256, (150, N_SAMPLES)).astype(np.uint8)
    on_disk = Bins(
        len(rows),
        ReusableBuffer(tmp_path).array(shape_of_tiles(*rows.shape), np.uint8),
        np.arange(N_SAMPLES, dtype=np.uint32),
    )
    in_memory = Bins.of_rows(rows)
    on_disk.tiles[:] = in_memory.tiles
    one, other = Histograms(in_memory), Histograms(on_disk, space=ReusableBuffer(tmp_path))
    for weights in weights_of_a_run(rng, 20, 2.0):
        criterion = lines_of(round_of(weights))
        assert one.measure(criterion).lowest.tobytes() == other.measure(criterion).lowest.tobytes()
        features = rng.permutation(150)[:70]
        refined = [some.refine(criterion, features).lowest.tobytes() for some in (one, other)]
        assert refined[0] == refined[1]
    assert np.array_equal(in_memory.columns, on_disk.columns)


def test_nothing_holds_histograms_that_nobody_needs(bins, rng):
    """Not even until garbage is collected: they are large."""
    gc.disable()
    try:
        measured = Histograms(Bins.of_rows(bins))
        measured.measure(lines_of(round_of(rng.random(N_SAMPLES))))
        measured.measure(gini_of(round_of(rng.random(N_SAMPLES)), np.ones(2)))
        watched = weakref.ref(measured)
        del measured
        assert watched() is None
    finally:
        gc.enable()


def test_what_is_not_kept_cannot_be_refined(rng, bins, monkeypatch):
    monkeypatch.setattr(module, "MIN_SAMPLES_TO_KEEP", N_SAMPLES + 1)
    measured = Histograms(Bins.of_rows(bins))
    criterion = lines_of(round_of(rng.random(N_SAMPLES)))
    measured.measure(criterion)
    assert measured.refine(criterion, np.array([1])) is None


@pytest.mark.parametrize("splits", [THRESHOLDS, SUBSETS])
@pytest.mark.parametrize("both", [False, True])
def test_bounds_of_histograms_that_are_not_kept_hold(rng, bins, monkeypatch, splits, both):
    """With weights of any size, in both classes at once or in one; and they are as close as is tolerated."""
    monkeypatch.setattr(module, "MIN_SAMPLES_TO_KEEP", N_SAMPLES + 1)
    mine = Bins.of_rows(bins)
    mine.swap(np.arange(10), np.arange(50, 60), n_threads=1)
    measured = Histograms(mine, 2)
    for weights in weights_of_a_run(rng, 30, 2.0):
        round_ = a_round(weights, weights * rng.random(N_SAMPLES) ** 4) if both else round_of(weights)
        samples = SimpleNamespace(splits=splits, bins=mine)
        criterion = WeightedError(LINES[1:], samples, round_)
        error, exact = measured.measure(criterion), criterion.exact(np.arange(len(bins)))
        assert (error.lowest <= exact).all()
        assert (exact <= error.highest).all()
        assert spread_of(error) <= 2.1 * module.FIRST_TOLERANCE * LINES[1] @ [
            round_.positive_weight,
            round_.negative_weight,
        ]


def test_samples_of_little_weight_are_left_out_as_far_as_is_tolerated():
    found = QuantizedDifferences.of(np.array([0.01, -0.4, 0.0, 0.55, -0.03, 0.01]), 1.0, 0.05)
    assert found.samples.tolist() == [1, 3]
    assert found.units * found.unit == pytest.approx([-0.4, 0.55])
    assert found.error == pytest.approx(0.03, abs=1e-6)  # sums lack at most 0.02 upwards, 0.03 downwards


def test_a_part_of_the_samples_leaves_what_is_kept(rng, bins):
    """A tree's node has its own weights; the next round's are near the whole round's."""
    measured = Histograms(Bins.of_rows(bins))
    round_ = round_of(rng.random(N_SAMPLES))
    measured.measure(lines_of(round_))
    kept, histograms = measured._kept, measured._histograms.copy()
    inside = round_.within(rng.random(N_SAMPLES) < 0.5)
    lines, exact = measured.measure(lines_of(inside)), exact_lines(bins, inside)
    assert (lines.lowest <= exact).all()
    assert (exact <= lines.highest).all()
    assert measured._kept is kept
    assert np.array_equal(measured._histograms, histograms)


def test_a_class_without_weight(rng, bins):
    measured = Histograms(Bins.of_rows(bins))
    for positive in (rng.random(N_SAMPLES), np.zeros(N_SAMPLES), rng.random(N_SAMPLES)):
        round_ = a_round(positive, rng.random(N_SAMPLES))
        lines, exact = measured.measure(lines_of(round_)), exact_lines(bins, round_)
        assert (lines.lowest <= exact).all()
        assert (exact <= lines.highest).all()


def test_threads_and_blocks_do_not_matter(rng, bins, monkeypatch):
    weights = list(weights_of_a_run(rng, 4, 2.0))
    results = []
    bins = rng.integers(0, 256, (300, N_SAMPLES)).astype(np.uint8)
    for per_task, n_threads in ((16, 1), (1, 2), (2, 3)):
        monkeypatch.setattr(module, "TILES_PER_TASK", per_task)
        measured = Histograms(Bins.of_rows(bins), n_threads)
        results.append([measured.measure(lines_of(round_of(some))).lowest.tobytes() for some in weights])
    assert results[0] == results[1] == results[2]


def test_tolerance_follows_what_bounds_leave_open(bins):
    measured = Histograms(Bins.of_rows(bins))
    measured.adapt_tolerance(len(bins))
    assert measured._tolerance < module.FIRST_TOLERANCE
    for _ in range(40):
        measured.adapt_tolerance(0)
    assert measured._tolerance == module.TOLERANCES[1]
