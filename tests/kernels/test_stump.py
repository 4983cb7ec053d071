from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.kernels.haar import N_BINS
from vjcascade.kernels.stump import (
    cuts_near_least,
    hull_of_cuts,
    least_gini,
    least_on_line,
    points_of_cuts,
    weights_below,
    weights_up_to,
)


def errors_of(bins, weights, n_positives):
    errors = np.full(len(bins), np.nan)
    signed = np.where(np.arange(len(weights)) < n_positives, weights, -weights)
    least_on_line(bins, signed, weights[:n_positives].sum(), weights[n_positives:].sum(), errors)
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


def test_a_feature_that_is_constant_costs_the_lighter_class():
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


def test_weights_below_each_cut(rng):
    row, parts = random_bins(rng, 1, 60)[0], rng.random((2, 60))
    below = np.empty((2, N_BINS + 1))
    weights_below(row, *parts, below)
    for cut in range(N_BINS + 1):
        assert below[:, cut] == pytest.approx(parts[:, row < cut].sum(axis=1), abs=1e-13)


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_weights_up_to_each_value(n, n_values, seed):
    rng = np.random.default_rng(seed)
    values, parts = rng.integers(-n_values, n_values, n).astype(np.float32), rng.random((2, n))
    order = np.argsort(values, kind="stable")
    ends, below = np.full(n, -1), np.full((2, n), np.nan)
    assert weights_up_to(values, order, *parts, ends, below) == len(set(values.tolist()))
    for i, value in enumerate(sorted(set(values.tolist()))):
        assert ends[i] == np.count_nonzero(values <= value) - 1
        assert below[:, i] == pytest.approx([sum(part[values <= value]) for part in parts], abs=1e-13)


@given(st.integers(2, 40), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_cuts_near_the_least_sum_of_errors(n, coarse, seed):
    """Cut by cut, both polarities, those of equal sums included."""
    rng = np.random.default_rng(seed)
    below = np.cumsum(rng.integers(0, 3, (2, n)) / 8 if coarse else rng.random((2, n)), axis=1)
    (sum_p, sum_n), slack = below[:, -1], rng.choice([0.0, 0.1, 1.0])
    everything = []
    for cut in range(n - 1):
        below_p, below_n = below[:, cut].tolist()
        everything.append((2 * cut, below_p, sum_n - below_n))
        everything.append((2 * cut + 1, sum_p - below_p, below_n))
    least = min(error_p + error_n for _, error_p, error_n in everything)
    expected = [one for one in everything if one[1] + one[2] <= least + slack]
    cuts, errors = np.full(2 * n, -1), np.full((2, 2 * n), np.nan)
    m = cuts_near_least(below, slack, cuts, errors)
    assert list(zip(cuts[:m].tolist(), *errors[:, :m].tolist(), strict=True)) == expected


@given(st.integers(2, 40), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_every_line_is_least_on_the_hull(n_cuts, coarse, seed):
    """Vertices are enough: whatever the slopes, no cut of either polarity is better than the best of them."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 3, (2, n_cuts)) / 8 if coarse else rng.random((2, n_cuts))
    steps[:, 0] = 0
    below = np.cumsum(steps, axis=1)
    cuts, errors = np.full(2 * n_cuts, -1), np.full((2, 2 * n_cuts), np.nan)
    n = hull_of_cuts(below, cuts, errors)
    mass_p, mass_n = below[:, -1]
    everything = np.array([[below[0], mass_n - below[1]], [mass_p - below[0], below[1]]])
    for cut, point in zip(cuts[:n], errors[:, :n].T, strict=True):
        assert point.tolist() == everything[cut % 2, :, cut // 2].tolist()
    for slopes in rng.random((20, 2)):
        least = np.min(np.tensordot(slopes, everything, (0, 1)))
        assert np.min(slopes @ errors[:, :n]) == pytest.approx(least, abs=1e-12)
    assert n <= 2 * n_cuts


@given(st.integers(1, 9), st.integers(2, 25), st.sampled_from([2, 256]), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_gini_equals_plain_loops(n_features, n_samples, n_bins, seed):
    """Here with both parts in every sample."""
    rng = np.random.default_rng(seed)
    bins, parts = random_bins(rng, n_features, n_samples, n_bins), rng.random((2, n_samples))
    losses = np.full(n_features, np.nan)
    least_gini(bins, *parts, losses)
    expected = [naive.least_binned_gini(row, *parts) for row in bins]
    np.testing.assert_allclose(losses, expected, rtol=1e-12)


def test_points_of_many_features_hold_the_best_of_each(rng):
    """For any weights of the two errors, no cut does better than both these points and the constant classifiers."""
    bins = random_bins(rng, 5, 40)
    bins[3] = 7
    positive, negative = rng.random((2, 40))
    counts, errors = np.empty(5, np.int64), np.empty((2, 5 * 2 * (N_BINS + 1)))
    n = points_of_cuts(bins, positive, negative, counts, errors)
    assert n == counts.sum()
    for row, own in zip(bins, np.split(errors[:, :n], np.cumsum(counts)[:-1], axis=1), strict=True):
        below = np.array(
            [[part[row < cut].sum() for cut in range(1, N_BINS)] for part in (positive, negative)]
        )
        above = np.array([[positive.sum()], [negative.sum()]]) - below
        cuts = np.hstack([[below[0], above[1]], [above[0], below[1]]])
        for a, b in rng.random((4, 2)):
            constant = min(a * positive.sum(), b * negative.sum())
            least, expected = (
                min(float((a * some[0] + b * some[1]).min()), constant) for some in (own, cuts)
            )
            assert least == pytest.approx(expected)
