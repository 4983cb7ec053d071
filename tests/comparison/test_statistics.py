from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from vjcascade.boosters import Costs, make_booster
from vjcascade.comparison.statistics import (
    Interval,
    band,
    censored_median,
    critical_difference,
    friedman,
    groups_within,
    interval,
    mean_ranks,
    paired_difference,
    share_reached,
)
from vjcascade.errors import SettingsError
from vjcascade.learning.pool import boost_pool

INF, NAN = np.inf, np.nan
NOTHING = (pytest.approx(NAN, nan_ok=True),) * 3
small = st.sampled_from([0.0, 1.0, 2.0, 5.0, INF])
tables = st.integers(2, 6).flatmap(
    lambda k: arrays(float, st.tuples(st.integers(2, 8), st.just(k)), elements=small)
)


def ends(found):
    return found.mean, found.low, found.high


def test_without_overlap_it_is_the_t_interval(rng):
    values = rng.normal(size=7)
    expected = scipy.stats.t.interval(0.9, 6, values.mean(), scipy.stats.sem(values))
    assert ends(interval(values, 0.0, 0.9)) == pytest.approx((values.mean(), *expected))


def test_overlap_widens_it_as_the_rule_says(rng):
    values = rng.normal(size=5)
    plain, corrected = interval(values, 0.0), interval(values, 0.5)
    wider = (corrected.high - corrected.low) / (plain.high - plain.low)
    assert wider**2 == pytest.approx((1 / 5 + 0.5) / (1 / 5))


def test_one_seed_has_no_band_and_none_no_mean():
    assert ends(interval(np.array([0.25]), 1.0)) == (0.25, *NOTHING[1:])
    assert ends(interval(np.array([NAN, 0.25, NAN]), 1.0)) == (0.25, *NOTHING[1:])
    assert ends(interval(np.array([NAN, NAN]), 1.0)) == NOTHING


@pytest.mark.parametrize("values", [[1.0, INF, 2.0], [INF, INF], [INF, -INF], [NAN, INF]])
def test_infinite_values_have_no_mean(values):
    assert ends(interval(np.array(values), 1.0)) == NOTHING


@given(st.floats(-1e6, 1e6), st.integers(2, 20))
def test_equal_values_have_a_band_of_no_width(value, n):
    assert interval(np.full(n, value), 1.0) == Interval(value, value, value)


def test_a_band_ends_at_the_bounds():
    values = np.array([0.01, 0.9, 0.99])
    assert ends(interval(values, 1.0, bounds=(0, 1)))[1:] == (0.0, 1.0)
    assert interval(values, 1.0).low < 0


def test_differences_are_taken_seed_by_seed(rng):
    baseline = rng.normal(size=6)
    assert ends(paired_difference(baseline + 0.5, baseline, 1.0)) == pytest.approx((0.5,) * 3)
    assert paired_difference(baseline, baseline, 1.0) == Interval(0.0, 0.0, 0.0)
    values = rng.normal(size=6)
    assert paired_difference(values, baseline, 0.3, 0.8) == interval(values - baseline, 0.3, 0.8)


def test_differences_of_what_is_not_known_are_not_made_up():
    values, baseline = np.array([NAN, 3.0, 5.0, 6.0]), np.array([INF, 2.0, 3.0, NAN])
    assert paired_difference(values, baseline, 1.0) == interval(np.array([1.0, 2.0]), 1.0)
    reached, never = np.array([4.0, 5.0, INF]), np.array([4.0, 5.0, INF])
    assert ends(paired_difference(reached, never, 1.0)) == NOTHING


def test_a_band_is_the_interval_of_each_point(rng):
    curves = rng.normal(size=(5, 9))
    curves[2, 3] = curves[0, 7] = curves[1, 7] = curves[:, 5] = curves[1:, 8] = NAN
    curves[4, 1] = INF
    found = np.transpose(band(curves, 0.4, 0.9, (-1, 1)))
    expected = [ends(interval(column, 0.4, 0.9, (-1, 1))) for column in curves.T]
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.isfinite(found).all(axis=1).tolist() == [
        True,
        False,
        True,
        True,
        True,
        False,
        True,
        True,
        False,
    ]


def drawn(rng, n):
    """Return outputs of stumps on n positives, then n negatives, of two Gaussians."""
    rows = rng.normal(size=(2 * n, 3))
    rows[:n] += 0.7
    above = (rows[:, :, None] > np.linspace(-1.2, 1.9, 8)).reshape(2 * n, -1)
    return np.where(np.hstack([above, ~above]), 1, -1).astype(np.int8)


def error(training, test):
    """Return the error of AdaBoost after three rounds."""
    is_positive, is_positive_test = (np.arange(len(rows)) < len(rows) // 2 for rows in (training, test))
    labels = np.where(is_positive, 1, -1).astype(np.int8)
    run = boost_pool(training, labels, make_booster("adaboost", Costs()), 3)
    return np.mean((run.scores(test)[-1] >= 0) != is_positive_test)


def test_bands_contain_the_true_error_of_a_booster(rng):
    """200 data sets of 100 + 100 samples, split in halves four times each; the plain t interval fails."""
    n, half, n_seeds = 100, 50, 4
    true_error = np.mean([error(drawn(rng, half), drawn(rng, 500)) for _ in range(200)])
    corrected = plain = 0
    for _ in range(200):
        rows = drawn(rng, n)
        errors = np.empty(n_seeds)
        for seed in range(n_seeds):
            order = np.stack([rng.permutation(n), n + rng.permutation(n)])
            errors[seed] = error(rows[order[:, :half].ravel()], rows[order[:, half:].ravel()])
        covers = [
            found.low <= true_error <= found.high for found in (interval(errors, 1.0), interval(errors, 0.0))
        ]
        corrected, plain = corrected + covers[0], plain + covers[1]
    assert 180 <= corrected <= 198
    assert plain < 180


@given(tables)
@settings(deadline=None, max_examples=40)
def test_ranks_count_those_that_are_better_and_half_of_those_as_good(table):
    better = (table[:, None] < table[:, :, None]).sum(axis=2)
    as_good = (table[:, None] == table[:, :, None]).sum(axis=2)
    assert np.array_equal(mean_ranks(table), (better + (as_good + 1) / 2).mean(axis=0))


def test_incomplete_blocks_have_no_ranks():
    table = np.array([[3.0, 1, 2], [NAN, 1, 2], [2, 1, 3]])
    assert mean_ranks(table).tolist() == [2.5, 1.0, 2.5]
    assert np.isnan(mean_ranks(table[1:2])).all()
    found = friedman(np.vstack([table, table]))
    assert (found.n_blocks, found.n_entries) == (4, 3)
    assert friedman(table[:2]) is None
    assert friedman(table[:, :2]) is None


@given(tables.filter(lambda table: table.shape[1] > 2))
@settings(deadline=None, max_examples=40)
def test_friedman_is_the_f_form_of_scipys_chi_square(table):
    """Equality holds with ties too, for both allow for them alike; and F is the analysis of variance of the ranks."""
    found = friedman(table)
    ranks = scipy.stats.rankdata(table, axis=1)
    if (ranks == ranks[0]).all():
        assert found.statistic == (0 if (ranks == ranks[0, 0]).all() else INF)
        return
    n, k = table.shape
    chi_square = scipy.stats.friedmanchisquare(*table.T).statistic
    expected = (n - 1) * chi_square / (n * (k - 1) - chi_square)
    assert found.statistic == pytest.approx(expected, abs=1e-9)
    assert found.p_value == pytest.approx(scipy.stats.f.sf(expected, k - 1, (k - 1) * (n - 1)), abs=1e-9)


def test_friedman_of_blocks_that_agree_is_exact():
    assert friedman(np.array([[1.0, 2, 3, 4]] * 3)).p_value == pytest.approx(1 / math.factorial(4) ** 2)
    assert friedman(np.array([[1.0, 2, 2, 2]] * 3)).p_value == pytest.approx(1 / 4**2)
    tied = friedman(np.full((3, 4), INF))
    assert (tied.statistic, tied.p_value) == (0, pytest.approx(1))


def test_friedman_rarely_finds_what_is_not_there(rng):
    p_values = [friedman(rng.normal(size=(6, 5))).p_value for _ in range(400)]
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.08


Q_05 = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
Q_10 = [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]


@pytest.mark.parametrize(("level", "table"), [(0.95, Q_05), (0.9, Q_10)])
def test_critical_differences_are_those_of_demsars_table(level, table):
    for k, q in enumerate(table, 2):
        expected = q * math.sqrt(k * (k + 1) / (6 * 14))
        assert critical_difference(k, 14, level) == pytest.approx(expected, rel=3e-4)


@given(arrays(float, st.integers(0, 9), elements=st.integers(2, 20).map(lambda i: i / 2) | st.just(NAN)))
def test_groups_are_the_largest_that_lie_within(ranks):
    found = groups_within(ranks, 2.0)
    assert all(list(ranks[list(group)]) == sorted(ranks[list(group)]) for group in found)
    close = {
        pair for pair in combinations(range(len(ranks)), 2) if abs(ranks[pair[0]] - ranks[pair[1]]) < 2.0
    }
    together = {tuple(sorted(pair)) for group in found for pair in combinations(group, 2)}
    assert together == close
    assert not any(set(one) < set(other) for one in found for other in found)
    assert [ranks[group[0]] for group in found] == sorted({ranks[group[0]] for group in found})


@pytest.mark.parametrize(
    ("values", "median", "share"),
    [
        ([3, 1, 2], 2, 1),
        ([3, INF, 2], 3, 2 / 3),
        ([3, INF], INF, 1 / 2),
        ([INF, INF, 1], INF, 1 / 3),
        ([INF, INF], INF, 0),
        ([NAN, 4], 4, 1),
        ([NAN], NAN, NAN),
    ],
)
def test_censored_numbers(values, median, share):
    values = np.array(values, float)
    assert censored_median(values) == pytest.approx(median, nan_ok=True)
    assert share_reached(values) == pytest.approx(share, nan_ok=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: interval(np.ones((2, 2)), 1.0), r"shape \(2, 2\) are not one number for each seed"),
        (lambda: interval(np.ones(0), 1.0), "do not have one row per seed"),
        (lambda: band(np.ones(3), 1.0), r"shape \(3,\) do not have one row per seed"),
        (lambda: interval(np.ones(3), -0.1), "test share -0.1"),
        (lambda: interval(np.ones(3), INF), "test share inf"),
        (lambda: interval(np.ones(3), 1.0, 95), "level 95 .* for example 0.95"),
        (lambda: paired_difference(np.ones(3), np.ones(2), 1.0), r"values \(3,\) and baseline \(2,\)"),
        (lambda: critical_difference(1, 5), "1 entries in 5 blocks"),
        (lambda: critical_difference(3, 0), "3 entries in 0 blocks"),
        (lambda: critical_difference(3, 5, 1.0), "level 1.0"),
        (lambda: mean_ranks(np.ones(3)), r"table of shape \(3,\)"),
        (lambda: friedman(np.ones((2, 2, 2))), r"table of shape \(2, 2, 2\)"),
    ],
)
def test_misuse_is_named(call, message):
    with pytest.raises(SettingsError, match=message):
        call()
