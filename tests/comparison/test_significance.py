"""Corrections for many comparisons: known values, laws, and how often they err."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as stn
from scipy.stats import ttest_1samp

from vjcascade.comparison.significance import holm, max_t, p_values
from vjcascade.comparison.statistics import interval
from vjcascade.errors import SettingsError

PROBABILITIES = stn.arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1))


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        # R: p.adjust(p, "holm")
        ([0.01, 0.02, 0.03, 0.04, 0.05], [0.05, 0.08, 0.09, 0.09, 0.09]),
        ([0.001, 0.5, 0.02, 0.6], [0.004, 1.0, 0.06, 1.0]),
        # statsmodels: multipletests(p, method="holm")
        ([0.04, 0.01, 0.03, 0.005], [0.06, 0.03, 0.06, 0.02]),
    ],
)
def test_holm_gives_known_values(p, expected):
    assert holm(np.array(p)) == pytest.approx(expected)


@given(PROBABILITIES)
def test_holm_lies_between_nothing_and_bonferroni(p):
    corrected = holm(p)
    assert (corrected >= p).all()
    assert (corrected <= np.minimum(p * len(p), 1)).all()
    assert (np.diff(corrected[np.argsort(p, kind="stable")]) >= 0).all()


@given(PROBABILITIES, st.randoms(use_true_random=False))
def test_holm_does_not_depend_on_the_order_or_on_what_is_not_known(p, random):
    order = list(range(len(p)))
    random.shuffle(order)
    assert (holm(p[order]) == holm(p)[order]).all()
    with_gap = np.insert(p, len(p) // 2, np.nan)
    assert holm(with_gap)[~np.isnan(with_gap)] == pytest.approx(holm(p))


def test_what_is_no_p_value_is_refused():
    with pytest.raises(SettingsError, match=r"1\.5 is not a p-value"):
        holm(np.array([0.1, 1.5]))
    assert holm(np.array([])).shape == (0,)


def test_p_values_are_those_of_the_t_test(rng):
    differences = rng.normal(0.4, 1, (5, 8))
    assert p_values(differences, 0.0) == pytest.approx(ttest_1samp(differences, 0, axis=1).pvalue)


@pytest.mark.parametrize("test_share", [0.0, 0.5])
def test_a_p_value_is_small_where_the_interval_leaves_0_out(rng, test_share):
    differences = rng.normal(0.7, 1, (200, 6))
    bands = [interval(one, test_share) for one in differences]
    leaves_out = [band.low > 0 or band.high < 0 for band in bands]
    assert (p_values(differences, test_share) < 0.05).tolist() == leaves_out
    assert 0 < sum(leaves_out) < 200


def test_equal_differences_say_no_more_than_their_signs():
    differences = np.array([[2.0] * 8, [0.0] * 8, [2.0] * 3 + [np.nan] * 5, [np.nan] * 8])
    assert p_values(differences, 0.5).tolist() == pytest.approx([2**-7, 1, 0.25, np.nan], nan_ok=True)


def test_max_t_holds_its_level_where_figures_depend_on_each_other(rng):
    wrong = 0
    for _ in range(200):
        common = rng.normal(0, 1, 40)
        data = 0.8 * common[:, np.newaxis] + rng.normal(0, 0.6, (40, 10))
        weights = rng.multinomial(40, np.full(40, 1 / 40), 300) / 40
        corrected, _ = max_t(np.concatenate([data.mean(axis=0)[np.newaxis], weights @ data]))
        wrong += corrected.min() < 0.05
    assert wrong <= 22  # of a rate of 5 %, as many or more are there once in 1,000 times


def test_max_t_finds_what_is_there_and_nothing_where_nothing_varies(rng):
    draws = np.column_stack([rng.normal(5, 1, 500), np.full(500, 0.3), np.full(500, np.nan)])
    corrected, factor = max_t(np.concatenate([[[5.0, 0.3, np.nan]], draws]))
    assert corrected[0] < 0.01
    assert corrected[1] == 1
    assert np.isnan(corrected[2])
    assert factor == pytest.approx(1.96, abs=0.2)
    assert np.isnan(max_t(np.zeros((10, 2)))[1])
