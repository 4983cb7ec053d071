from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.kernels.stump import least_errors


def errors_of(bins, weights, n_positives):
    errors = np.full(len(bins), np.nan)
    least_errors(bins, weights, n_positives, errors)
    return errors


def random_bins(rng, n_features, n_samples, n_bins=256):
    return rng.integers(0, n_bins, (n_features, n_samples)).astype(np.uint8)


@given(st.integers(1, 9), st.integers(2, 25), st.sampled_from([2, 5, 256]), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_equals_plain_loops(n_features, n_samples, n_bins, seed):
    rng = np.random.default_rng(seed)
    n_positives = int(rng.integers(1, n_samples))
    labels = np.where(np.arange(n_samples) < n_positives, 1, -1)
    bins = random_bins(rng, n_features, n_samples, n_bins)
    bins[0, 0], bins[-1, -1] = 0, 255
    weights = rng.random(n_samples) * (rng.random(n_samples) < 0.8)  # some are zero
    weights[:n_positives] *= rng.choice([1.0, 1e-9])  # a class of next to no mass
    expected = [naive.least_binned_error(row, labels, weights) for row in bins]
    np.testing.assert_allclose(errors_of(bins, weights, n_positives), expected, rtol=0, atol=1e-13)


def test_a_constant_costs_the_lighter_class():
    bins = np.full((1, 5), 77, np.uint8)
    weights = np.array([0.5, 0.125, 0.125, 0.125, 0.125])
    assert errors_of(bins, weights, 1).tolist() == [0.5]
    assert errors_of(bins, weights, 2).tolist() == [0.375]


def test_both_ways_around():
    rising, falling = [9, 255, 0, 8], [8, 0, 9, 255]
    bins = np.array([rising, falling], np.uint8)
    assert errors_of(bins, np.full(4, 0.25), 2).tolist() == [0, 0]


@pytest.mark.parametrize("block", [1, 2, 3, 4, 5, 7])
def test_any_blocks_of_features_give_the_same_bits(rng, block):
    bins, weights = random_bins(rng, 23, 301), rng.random(301)
    whole = errors_of(bins, weights, 120)
    parts = [errors_of(bins[i : i + block], weights, 120) for i in range(0, len(bins), block)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()
