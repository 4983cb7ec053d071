from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.kernels.haar import N_BINS
from vjcascade.kernels.histogram import CLEAR, add_changes, least_gini, least_on_lines

SEEDS = st.integers(0, 2**32 - 1)


def packed(parts):
    """Return weights as positives and as negatives, shape (2, ...), in one number."""
    return (np.asarray(parts[0], np.int64) << 32) + np.asarray(parts[1], np.int64)


def unpacked(histograms):
    negatives = histograms.astype(np.int32).astype(np.int64)
    return np.stack([(histograms - negatives) >> 32, negatives])


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
    histograms = rng.integers(-9, 9, (n_features, N_BINS))  # whatever was there
    weights, shift = np.zeros((2, n_samples), np.int64), CLEAR
    for _ in range(3):
        samples = np.sort(rng.permutation(n_samples)[: rng.integers(0, n_samples + 1)])
        wanted = weights.copy()
        wanted[:, samples] = rng.integers(0, 2**26, (2, len(samples)))
        changes = (wanted - weights)[:, samples]
        add_changes(bins, samples.astype(np.uint32), packed(changes), shift, histograms)
        weights, shift = wanted, 0
        assert np.array_equal(unpacked(histograms), histograms_of(bins, weights))


@pytest.mark.parametrize("shift", [1, 5])
def test_bits_are_taken_off_before(rng, shift):
    bins, parts = random_bins(rng, 5, 40), rng.integers(0, 2**20, (2, 40))
    histograms, every = np.empty((5, N_BINS), np.int64), np.arange(40, dtype=np.uint32)
    add_changes(bins, every, packed(parts), CLEAR, histograms)
    add_changes(bins, every[:1], packed(([3], [-2])), shift, histograms)
    one = np.array([[3], [-2]])
    expected = (histograms_of(bins, parts) >> shift) + histograms_of(bins[:, :1], one)
    assert np.array_equal(unpacked(histograms), expected)


@given(st.integers(1, 6), st.integers(2, 25), SEEDS)
@settings(max_examples=25, deadline=None)
def test_lines_equal_plain_loops(n_features, n_samples, seed):
    """A line (a, b) is the weighted error with positives weighing a times, negatives b times as much."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n_samples) < rng.integers(1, n_samples), 1, -1)
    bins, weights = random_bins(rng, n_features, n_samples), rng.integers(0, 2**25, n_samples)
    lines, values = rng.random((3, 2)) * rng.choice([1e-6, 1.0, 1e6]), np.full((3, n_features), np.nan)
    histograms = packed(histograms_of(bins, weights * [labels > 0, labels < 0]))
    least_on_lines(histograms, lines, values)
    for (a, b), row in zip(lines, values, strict=True):
        scaled = np.where(labels > 0, a * weights, b * weights)
        expected = [naive.least_binned_error(some, labels, scaled) for some in bins]
        np.testing.assert_allclose(row, expected, rtol=0, atol=4e-9 * scaled.sum())


@given(st.integers(1, 6), st.integers(2, 25), SEEDS)
@settings(max_examples=25, deadline=None)
def test_gini_equals_plain_loops(n_features, n_samples, seed):
    """Here with both parts in every sample, and a factor for each."""
    rng = np.random.default_rng(seed)
    bins, parts = random_bins(rng, n_features, n_samples), rng.integers(0, 2**25, (2, n_samples))
    losses = np.full(n_features, np.nan)
    least_gini(packed(histograms_of(bins, parts)), np.array([0.25, 3.0]), losses)
    expected = [naive.least_binned_gini(row, 0.25 * parts[0], 3.0 * parts[1]) for row in bins]
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-8 * (0.25 * parts[0] + 3.0 * parts[1]).sum())


def test_no_weight_at_all_is_no_error():
    nothing, values = np.zeros((2, N_BINS), np.int64), np.full((1, 2), np.nan)
    least_on_lines(nothing, np.ones((1, 2)), values)
    least_gini(nothing, np.ones(2), losses := np.full(2, np.nan))
    assert not values.any()
    assert not losses.any()
