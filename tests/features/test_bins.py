"""Bins: where they are kept, and which bin a value falls into."""

from __future__ import annotations

import builders
import naive
import numpy as np
import pytest

from vjcascade.features import HaarMode, enumerate_features
from vjcascade.features.binning import N_EDGE_SAMPLES, bin_features
from vjcascade.features.bins import Bins
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.kernels import haar
from vjcascade.scratch import Space
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


@pytest.mark.parametrize("n_windows", [1, 2, 40])
@pytest.mark.parametrize("mode", list(HaarMode))
def test_bins_are_those_of_the_values(rng, monkeypatch, n_windows, mode):
    """Every value of a plain loop lies in its bin, but for rounding; also where windows come in several blocks."""
    windows = windows_of(rng, n_windows)
    pool = enumerate_features(WINDOW, mode)[::7]
    integrals = WindowIntegrals.of(windows, tilted=mode is HaarMode.ALL)
    rows = bin_features(pool, integrals, n_threads=1).rows(np.arange(len(pool)))
    norms = [naive.normalisation(w) or np.float32(0) for w in windows]
    for feature, row in zip(pool, rows, strict=True):
        values = np.array(
            [naive.feature_value(w, feature) * n for w, n in zip(windows, norms, strict=True)], float
        )
        rising = np.sort(values)
        low, high = (rising[1], rising[-2]) if n_windows > 1 else (rising[0], rising[0])
        place = (values - low) * (256 / (high - low) if high > low else 0)
        for off in (-1e-2, 1e-2):
            assert (np.abs(row - np.clip(place + off, 0, 255)) < 1.02).all()


def test_windows_beyond_a_block_and_threads_change_nothing(rng, monkeypatch):
    windows = windows_of(rng, N_EDGE_SAMPLES // 2)
    pool, integrals = enumerate_features(WINDOW), WindowIntegrals.of(windows)
    every = np.arange(len(pool))
    whole = bin_features(pool, integrals, n_threads=1).rows(every)
    assert np.array_equal(bin_features(pool, integrals, n_threads=3).rows(every), whole)
    many = WindowIntegrals.of(np.concatenate([windows] * 5))
    assert len(many) > haar.SAMPLES_AT_ONCE
    # the windows whose values lay out the bins are other copies of the same ones, not all of them
    rows = bin_features(pool, many, n_threads=2).rows(every)
    first = rows[:, : len(windows)]
    assert all(np.array_equal(first, rows[:, i * len(windows) : (i + 1) * len(windows)]) for i in range(1, 5))


def test_bins_take_the_place_of_the_last_ones(rng):
    space, pool = Space(), enumerate_features(WINDOW)[::50]
    first = bin_features(pool, WindowIntegrals.of(windows_of(rng, 30)), 1, space)
    windows = WindowIntegrals.of(windows_of(rng, 20))
    second = bin_features(pool, windows, 1, space)
    assert np.shares_memory(first.tiles, second.tiles)
    assert np.array_equal(second.tiles, bin_features(pool, windows, 1).tiles)
