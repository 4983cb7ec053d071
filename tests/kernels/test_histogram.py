from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.features.bins import Bins
from vjcascade.kernels.haar import N_BINS
from vjcascade.kernels.histogram import (
    CLEAR,
    PART,
    add_changes,
    add_changes_and_measure,
    least_gini,
    least_on_lines,
    least_on_signed_line,
)
from vjcascade.kernels.tiles import GROUP, GROUPS, TILE
from vjcascade.learning.criteria import GINI_ROUNDING

SEEDS = st.integers(0, 2**32 - 1)


def grouped(histograms):
    """Return histograms of shape (2, n_features, N_BINS) as kernels keep them, with features of no weight after."""
    padded = np.zeros((2, -(-histograms.shape[1] // TILE) * TILE, N_BINS), np.int32)
    padded[:, : histograms.shape[1]] = histograms
    return np.ascontiguousarray(padded.reshape(2, -1, GROUP, N_BINS).transpose(1, 0, 3, 2)).reshape(
        -1, 2 * PART
    )


def ungrouped(histograms, n_features):
    apart = histograms.reshape(-1, 2, N_BINS, GROUP).transpose(1, 0, 3, 2)
    return apart.reshape(2, -1, N_BINS)[:, :n_features]


def add(bins, samples, changes, shift, histograms):
    """Change both parts of some samples."""
    places = np.tile(np.asarray(samples, np.uint32), 2)
    parts = np.repeat(np.array([0, PART], np.uint32), len(samples))
    add_changes(
        Bins.of_rows(bins).words, places, parts, np.asarray(changes, np.int32).ravel(), shift, histograms
    )


def random_bins(rng, n_features, n_samples):
    bins = rng.integers(0, rng.choice([2, 5, N_BINS]), (n_features, n_samples)).astype(np.uint8)
    bins[0, 0], bins[-1, -1] = 0, 255
    return bins


def histograms_of(bins, parts):
    """Return what adding up plainly gives, shape (2, n_features, N_BINS)."""
    return np.array([[np.bincount(row, part, N_BINS) for row in bins] for part in parts]).astype(np.int64)


@given(st.integers(1, 9), st.integers(1, 30), SEEDS)
@settings(max_examples=30, deadline=None)
def test_changes_lead_from_weights_to_weights(n_features, n_samples, seed):
    """Whatever the order and the signs: afterwards, histograms are those of the new weights."""
    rng = np.random.default_rng(seed)
    bins = random_bins(rng, n_features, n_samples)
    histograms = rng.integers(-9, 9, (GROUPS, 2 * PART)).astype(np.int32)  # whatever was there
    weights, shift = np.zeros((2, n_samples), np.int64), CLEAR
    for _ in range(3):
        samples = np.sort(rng.permutation(n_samples)[: rng.integers(0, n_samples + 1)])
        wanted = weights.copy()
        wanted[:, samples] = rng.integers(0, 2**26, (2, len(samples)))
        changes = (wanted - weights)[:, samples]
        add(bins, samples, changes, shift, histograms)
        weights, shift = wanted, 0
        assert np.array_equal(ungrouped(histograms, n_features), histograms_of(bins, weights))


@pytest.mark.parametrize("shift", [1, 5])
def test_bits_are_taken_off_before(rng, shift):
    bins, parts = random_bins(rng, 5, 40), rng.integers(0, 2**20, (2, 40))
    histograms, every = np.empty((GROUPS, 2 * PART), np.int32), np.arange(40)
    add(bins, every, parts, CLEAR, histograms)
    add(bins, every[:1], ([3], [-2]), shift, histograms)
    one = np.array([[3], [-2]])
    expected = (histograms_of(bins, parts) >> shift) + histograms_of(bins[:, :1], one)
    assert np.array_equal(ungrouped(histograms, 5), expected)


@given(st.integers(1, 6), st.integers(2, 25), SEEDS)
@settings(max_examples=25, deadline=None)
def test_lines_equal_plain_loops(n_features, n_samples, seed):
    """A line (a, b) is the weighted error with positives weighing a times, negatives b times as much."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n_samples) < rng.integers(1, n_samples), 1, -1)
    bins, weights = random_bins(rng, n_features, n_samples), rng.integers(0, 2**25, n_samples)
    lines, values = rng.random((3, 2)) * rng.choice([1e-6, 1.0, 1e6]), np.full((3, GROUPS, GROUP), np.nan)
    parts = weights * [labels > 0, labels < 0]
    least_on_lines(grouped(histograms_of(bins, parts)), parts.sum(axis=1).astype(float), lines, values)
    for (a, b), row in zip(lines, values.reshape(3, -1)[:, :n_features], strict=True):
        scaled = np.where(labels > 0, a * weights, b * weights)
        expected = [naive.least_binned_error(some, labels, scaled) for some in bins]
        np.testing.assert_allclose(row, expected, rtol=0, atol=4e-9 * scaled.sum())


@given(st.integers(1, TILE + 6), st.integers(2, 25), SEEDS)
@settings(max_examples=25, deadline=None)
def test_signed_weights_equal_plain_loops(n_features, n_samples, seed):
    """In any columns, and with samples that are left out."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n_samples) < rng.integers(1, n_samples), 1, -1)
    bins, weights = random_bins(rng, n_features, n_samples), rng.integers(0, 2**25, n_samples)
    weights[rng.random(n_samples) < 0.3] = 0
    columns = rng.permutation(n_samples).astype(np.uint32)
    inside = np.flatnonzero(weights)
    words = Bins.of_rows(bins[:, np.argsort(columns)]).words
    least = np.full((len(words) * GROUPS, GROUP), np.nan)
    weight_sums = np.array([weights[labels > 0].sum(), weights[labels < 0].sum()]) * 0.5
    signed = (labels * weights)[inside].astype(np.int32)
    least_on_signed_line(words, columns[inside], signed, 0.5, weight_sums, least)
    expected = [naive.least_binned_error(some, labels, 0.5 * weights) for some in bins]
    np.testing.assert_allclose(least.ravel()[:n_features], expected, rtol=1e-12, atol=1e-6)


@given(st.integers(1, 6), st.integers(2, 25), SEEDS)
@settings(max_examples=25, deadline=None)
def test_gini_equals_plain_loops(n_features, n_samples, seed):
    """Here with both parts in every sample, and a factor for each."""
    rng = np.random.default_rng(seed)
    bins, parts = random_bins(rng, n_features, n_samples), rng.integers(0, 2**25, (2, n_samples))
    losses, weight_sums = np.full((GROUPS, GROUP), np.nan), parts.sum(axis=1).astype(float)
    least_gini(grouped(histograms_of(bins, parts)), weight_sums, np.array([0.25, 3.0]), losses)
    expected = [naive.least_binned_gini(row, 0.25 * parts[0], 3.0 * parts[1]) for row in bins]
    slack = GINI_ROUNDING * (0.25 * parts[0] + 3.0 * parts[1]).sum()
    np.testing.assert_allclose(losses.ravel()[:n_features], expected, rtol=0, atol=slack)


def test_no_weight_at_all_is_no_error():
    nothing, values = np.zeros((1, 2 * PART), np.int32), np.full((1, 1, GROUP), np.nan)
    least_on_lines(nothing, np.zeros(2), np.ones((1, 2)), values)
    least_gini(nothing, np.zeros(2), np.ones(2), losses := np.full((1, GROUP), np.nan))
    assert not values.any()
    assert not losses.any()


def test_both_at_once_are_both_one_after_the_other(rng):
    bins, lines = random_bins(rng, 2 * TILE, 30), rng.random((2, 2))
    once = np.zeros((2 * GROUPS, 2 * PART), np.int32)
    after = once.copy()
    samples, parts = np.arange(30, dtype=np.uint32), np.where(np.arange(30) < 9, 0, PART).astype(np.uint32)
    changes = rng.integers(0, 999, 30).astype(np.int32)
    weight_sums = np.array([changes[:9].sum(), changes[9:].sum()], float)
    update = Bins.of_rows(bins).words, samples, parts, changes, CLEAR
    results = np.full((2, 2, 2 * GROUPS, GROUP), np.nan)
    add_changes_and_measure(*update, once, weight_sums, lines, results[0])
    add_changes(*update, after)
    least_on_lines(after, weight_sums, lines, results[1])
    assert np.array_equal(once, after)
    assert np.array_equal(results[0], results[1])
