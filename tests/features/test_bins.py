"""Bins: where they are kept, and which bin a value falls into."""

from __future__ import annotations

import builders
import naive
import numpy as np
import pytest

from vjcascade.buffers import ReusableBuffer
from vjcascade.features import HaarMode, enumerate_haar, enumerate_lbp
from vjcascade.features.binning import EDGE_MARGIN, HaarBins
from vjcascade.features.bins import Bins
from vjcascade.features.families import family_of
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.kernels.haar import LEAST_SPAN, SAMPLES_AT_ONCE
from vjcascade.types import Size

WINDOW = Size(8, 7)


@pytest.mark.parametrize(("n_features", "n_samples"), [(1, 1), (64, 8), (65, 9), (200, 31)])
def test_rows_come_back(rng, n_features, n_samples):
    rows = rng.integers(0, 256, (n_features, n_samples)).astype(np.uint8)
    bins = Bins.of_rows(rows)
    features = rng.permutation(n_features)
    assert (len(bins), bins.n_samples) == (n_features, n_samples)
    assert np.array_equal(bins.rows(features), rows[features])
    some = np.flatnonzero(rng.random(n_samples) < 0.5)
    assert np.array_equal(bins.rows(features, some), rows[features][:, some])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_where_samples_lie_changes_no_row(rng, n_threads):
    rows = rng.integers(0, 256, (150, 20)).astype(np.uint8)
    bins, every = Bins.of_rows(rows), np.arange(150)
    for _ in range(3):
        bins.swap(*rng.permutation(20)[:12].reshape(2, 6), n_threads)
        assert np.array_equal(bins.rows(every), rows)
        assert np.array_equal(bins.rows(every, np.array([3, 17])), rows[:, [3, 17]])
    assert bins.columns.tolist() != list(range(20))
    assert np.array_equal(bins.tiles[0, bins.columns[7]], rows[:64, 7])


def windows_of(rng, n):
    return np.stack([builders.smooth_noise(rng, WINDOW.height, WINDOW.width) for _ in range(n)])


def all_rows(bins):
    return bins.rows(np.arange(len(bins)))


@pytest.mark.parametrize("n_positives", [1, 2, 3, 4, 40])
@pytest.mark.parametrize("mode", list(HaarMode))
def test_bins_are_those_of_the_values(rng, n_positives, mode):
    """Every value of a plain loop lies in its bin, but for rounding."""
    windows = windows_of(rng, 40)
    pool = enumerate_haar(WINDOW, mode)[::7]
    positives, integrals = (
        WindowIntegrals.of(some, tilted=mode is HaarMode.ALL) for some in (windows[:n_positives], windows)
    )
    rows = all_rows(HaarBins(pool, positives, n_threads=1).bins_of(integrals))
    norms = [naive.normalisation(w) or np.float32(0) for w in windows]
    for feature, row in zip(pool, rows, strict=True):
        values = np.array(
            [naive.feature_value(w, feature) * n for w, n in zip(windows, norms, strict=True)], float
        )
        rising = np.sort(values[:n_positives])
        low, high = (rising[1], rising[-2]) if n_positives > 3 else (rising[0], rising[-1])
        span = max(high - low, LEAST_SPAN * max(abs(low), 1))
        place = (values - (low - EDGE_MARGIN * span)) * 256 / ((1 + 2 * EDGE_MARGIN) * span)
        assert (
            np.abs(row - np.clip(np.floor(place), 0, 255)) <= (np.abs(place - np.rint(place)) < 0.1)
        ).all()


def test_windows_beyond_a_block_and_threads_change_nothing(rng):
    pool, windows = enumerate_haar(WINDOW), windows_of(rng, SAMPLES_AT_ONCE + 30)
    integrals = WindowIntegrals.of(windows)
    whole = all_rows(HaarBins(pool, integrals, n_threads=1).bins_of(integrals))
    assert np.array_equal(all_rows(HaarBins(pool, integrals, n_threads=3).bins_of(integrals)), whole)
    for some in (slice(0, 40), slice(SAMPLES_AT_ONCE - 5, None)):
        few = HaarBins(pool, integrals, n_threads=2).bins_of(WindowIntegrals.of(windows[some]))
        assert np.array_equal(all_rows(few), whole[:, some])


def test_positives_that_are_all_alike_are_told_from_what_lies_on_either_side(rng):
    """The only cuts that can be wanted are there."""
    alike, others = windows_of(rng, 1), windows_of(rng, 60)
    pool = enumerate_haar(WINDOW)[::20]
    store = HaarBins(pool, WindowIntegrals.of(np.repeat(alike, 9, axis=0)), n_threads=1)
    both = WindowIntegrals.of(np.concatenate([alike, others]))
    rows, values = all_rows(store.bins_of(both)), both.values(pool)
    far = np.abs(values - values[:, :1]) > 1e-3
    assert far.mean() > 0.9
    assert (np.sign(rows - rows[:, :1].astype(int))[far] == np.sign(values - values[:, :1])[far]).all()


def a_store(kind, window, positives, n_threads=1, space=None):
    pool = enumerate_haar(window)[::5] if kind == "haar" else enumerate_lbp(window)
    return family_of(pool).bin_store(pool, positives, n_threads, space)


@pytest.mark.parametrize("kind", ["haar", "lbp"])
def test_windows_that_stay_keep_their_columns(rng, kind, monkeypatch, tmp_path):
    """Of any next set, only what is new is computed: the others' bins are those they had, also after swaps."""
    everything = windows_of(rng, 90)
    positives = WindowIntegrals.of(everything[:30])
    store = a_store(kind, WINDOW, positives, 2, ReusableBuffer(tmp_path))
    computed = []
    fill = type(store)._fill
    monkeypatch.setattr(
        type(store),
        "_fill",
        lambda self, some, *where: computed.append(len(some)) or fill(self, some, *where),
    )
    last, n_columns = np.array([], int), 0
    for n, n_stayed in ((40, 0), (40, 23), (25, 25), (40, 11), (60, 30), (60, 42)):
        stayed = rng.permutation(len(last))[:n_stayed]
        chosen = np.concatenate([last[stayed], rng.permutation(np.setdiff1d(np.arange(90), last))])[:n]
        integrals = WindowIntegrals.of(everything[chosen])
        bins = store.bins_of(integrals, stayed)
        alone = a_store(kind, WINDOW, positives)
        n_computed = computed.pop()
        assert np.array_equal(all_rows(bins), all_rows(alone.bins_of(integrals)))
        computed.pop()
        had_room, n_columns = n <= n_columns, bins.tiles.shape[1]
        assert n_computed == (n - n_stayed if had_room else n)
        assert len(np.unique(bins.columns)) == n == len(chosen)
        bins.swap(*rng.permutation(n)[:20].reshape(2, 10), n_threads=1)
        last = chosen


def test_two_copies_of_a_window_have_a_column_each(rng):
    windows = windows_of(rng, 5)[[0, 1, 1, 2, 1]]
    store = a_store("haar", WINDOW, WindowIntegrals.of(windows))
    last = windows[:0]
    for stayed, new in (([], [0, 1, 2, 3, 4]), ([1, 2, 4], [0]), ([0, 2], [2, 1, 3])):
        chosen = np.concatenate([last[np.array(stayed, int)], windows[new]])
        bins = store.bins_of(WindowIntegrals.of(chosen), np.array(stayed, int))
        assert len(np.unique(bins.columns)) == len(chosen)
        alone = a_store("haar", WINDOW, WindowIntegrals.of(windows))
        assert np.array_equal(all_rows(bins), all_rows(alone.bins_of(WindowIntegrals.of(chosen))))
        last = chosen


def test_bins_take_the_place_of_the_last_ones(rng):
    positives = WindowIntegrals.of(windows_of(rng, 30))
    store = a_store("haar", WINDOW, positives)
    first = store.bins_of(positives)
    assert np.shares_memory(first.tiles, store.bins_of(WindowIntegrals.of(windows_of(rng, 20))).tiles)


def test_windows_of_another_size_than_the_positives_are_refused(rng):
    store = a_store("haar", WINDOW, WindowIntegrals.of(windows_of(rng, 9)))
    with pytest.raises(ValueError, match="81 corners; the positives had 72"):
        store.bins_of(WindowIntegrals.of(rng.integers(0, 256, (9, 8, 8), np.uint8)))


def test_what_was_interrupted_is_not_taken_for_computed(rng, monkeypatch):
    windows = WindowIntegrals.of(windows_of(rng, 20))
    store = a_store("haar", WINDOW, windows)
    with monkeypatch.context() as patched:
        patched.setattr(type(store), "_fill", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            store.bins_of(windows)
    assert np.array_equal(
        all_rows(store.bins_of(windows)), all_rows(a_store("haar", WINDOW, windows).bins_of(windows))
    )
