from __future__ import annotations

import naive_subsets
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.features.bins import Bins
from vjcascade.kernels import histogram, subset
from vjcascade.kernels.haar import N_BINS
from vjcascade.kernels.histogram import PART
from vjcascade.kernels.tiles import GROUP, GROUPS
from vjcascade.learning.criteria import GINI_ROUNDING


def some_codes(rng, n_features, n_samples):
    """Return features of at most six codes each, and the weights of both classes."""
    codes = rng.choice(rng.integers(0, 256, (n_features, 6)), 1)[0]
    rows = np.stack([rng.choice(codes, n_samples) for _ in range(n_features)]).astype(np.uint8)
    is_positive = rng.random(n_samples) < 0.4
    weights = rng.random(n_samples) * (rng.random(n_samples) < 0.8)  # some are zero
    return rows, weights * is_positive, weights * ~is_positive


@given(st.integers(1, 6), st.integers(2, 25), st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_exact_values_equal_brute_force_over_all_subsets(n_features, n_samples, seed):
    codes, positive, negative = some_codes(np.random.default_rng(seed), n_features, n_samples)
    errors, ginis = np.full((2, n_features), np.nan)
    subset.least_on_line(codes, positive - negative, positive.sum(), errors)
    subset.least_gini(codes, positive, negative, ginis)
    expected = [naive_subsets.least_subset_error(row, positive, negative) for row in codes]
    np.testing.assert_allclose(errors, expected, rtol=0, atol=1e-12)
    expected = [naive_subsets.least_subset_gini(row, positive, negative) for row in codes]
    np.testing.assert_allclose(ginis, expected, rtol=0, atol=1e-12)


def histograms_of(codes, weights):
    histograms = np.zeros((GROUPS, 2 * PART), np.int32)
    samples = np.tile(np.arange(codes.shape[1], dtype=np.uint32), 2)
    parts = np.repeat(np.array([0, PART], np.uint32), codes.shape[1])
    changes = weights.astype(np.int32).ravel()
    histogram.add_changes(Bins.of_rows(codes).words, samples, parts, changes, histogram.CLEAR, histograms)
    return histograms


@pytest.mark.parametrize("n_lines", [1, 4])
def test_values_from_histograms_equal_brute_force(rng, n_lines):
    codes, positive, negative = some_codes(rng, 9, 40)
    positive, negative = np.rint(1e6 * positive), np.rint(1e6 * negative)
    histograms = histograms_of(codes, np.stack([positive, negative]))
    lines = rng.random((n_lines, 2))
    least = np.full((n_lines, GROUPS, GROUP), np.nan)
    subset.least_on_lines(histograms, lines, least)
    for (a, b), row in zip(lines, least.reshape(n_lines, -1), strict=True):
        expected = [naive_subsets.least_subset_error(one, a * positive, b * negative) for one in codes]
        np.testing.assert_allclose(row[: len(codes)], expected, rtol=1e-12)
    arranged, losses = np.empty_like(histograms), np.empty((GROUPS, GROUP))
    subset.arrange(histograms, arranged)
    by_feature = (GROUPS, 2, N_BINS, GROUP)
    both = (np.sort(some.reshape(by_feature), axis=2) for some in (arranged, histograms))
    assert np.array_equal(*both)
    weight_sums = np.array([positive.sum(), negative.sum()])
    histogram.least_gini(arranged, weight_sums, np.array([0.5, 2.0]), losses)
    expected = [naive_subsets.least_subset_gini(one, 0.5 * positive, 2.0 * negative) for one in codes]
    slack = GINI_ROUNDING * weight_sums @ [0.5, 2.0]
    np.testing.assert_allclose(losses.ravel()[: len(codes)], expected, rtol=0, atol=slack)


def test_signed_weights_equal_brute_force(rng):
    codes, positive, negative = some_codes(rng, 9, 40)
    signed = np.rint(1e6 * (positive - negative)).astype(np.int32)
    inside = rng.permutation(np.flatnonzero(signed)).astype(np.uint32)
    words, least = Bins.of_rows(codes).words, np.full((GROUPS, GROUP), np.nan)
    sum_p = 0.5 * float(signed[signed > 0].sum())
    subset.least_on_signed_line(words, inside, signed[inside], 0.5, sum_p, least)
    parts = 0.5 * np.maximum(signed, 0), 0.5 * np.maximum(-signed, 0)
    expected = [naive_subsets.least_subset_error(one, *parts) for one in codes]
    np.testing.assert_allclose(least.ravel()[: len(codes)], expected, rtol=1e-12)


def test_codes_come_in_the_order_of_their_share():
    weights = np.zeros((2, N_BINS))
    weights[:, [200, 7, 31, 32]] = [[1, 3, 2, 0], [1, 1, 2, 5]]  # shares 1/2, 3/4, 1/2, 0
    order = np.empty(N_BINS, np.int64)
    assert subset.codes_by_share(weights, order) == 4
    assert order[:4].tolist() == [32, 31, 200, 7]
    assert sorted(order.tolist()) == list(range(N_BINS))
