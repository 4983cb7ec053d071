from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as stn

from vjcascade.boosters import BoostingState, Costs, Round, make_booster
from vjcascade.learning.samples import TableSamples
from vjcascade.learning.search import StumpSearch
from vjcascade.learning.trees import best_stump

COLUMNS = stn.arrays(
    np.float64, st.integers(2, 40), elements=st.sampled_from([-np.pi, -1.0, 0.0, 0.1, 1e300])
)


def bins_of(column, n_threads=1):
    return TableSamples(np.asarray(column, float)[:, None], 1, n_threads).bins.rows(np.array([0]))[0]


def test_labels_and_values(rng):
    table = rng.normal(size=(7, 3))
    samples = TableSamples(table, 2, 1)
    assert samples.labels.tolist() == [1, 1, -1, -1, -1, -1, -1]
    assert np.count_nonzero(samples.labels > 0) == 2
    assert (len(samples.bins), samples.bins.n_samples) == (3, 7)
    assert np.array_equal(samples.values(np.array([2, 0])), table.T[[2, 0]])


@settings(deadline=None)  # kernels are compiled on first use
@given(COLUMNS)
def test_few_values_have_a_bin_each(column):
    assert bins_of(column).tolist() == [sorted(set(column)).index(value) for value in column]


def test_256_values_still_have(rng):
    assert bins_of(rng.permutation(256) / 7).max() == 255


@pytest.mark.parametrize("n", [257, 300, 5000])
def test_many_values_share_bins_evenly(rng, n):
    values = rng.lognormal(sigma=5, size=n)
    bins = bins_of(values)
    counts = np.bincount(bins, minlength=256)
    assert counts.max() - counts.min() <= 1
    assert (np.diff(bins[np.argsort(values)].astype(int)) >= 0).all()


def test_copies_change_no_bin(rng):
    values = rng.normal(size=400)
    copies = rng.integers(1, 9, 400)
    assert np.array_equal(bins_of(np.repeat(values, copies)), np.repeat(bins_of(values), copies))


def test_threads_change_nothing(rng):
    table = rng.normal(size=(300, 50))
    one, other = (TableSamples(table, 9, n_threads).bins.rows(np.arange(50)) for n_threads in (1, 3))
    assert np.array_equal(one, other)


def test_columns_of_few_values_are_searched_exactly(rng):
    """More columns than are looked at exactly, more rows than bins, but no more values than bins."""
    table = rng.integers(0, 100, (280, 15)) / 3
    search = StumpSearch(TableSamples(table, 120, 1))
    weights = rng.random(280) ** 4
    round_ = Round.of_weights(weights / weights.sum(), BoostingState.start(search.labels))
    stump = best_stump(search, make_booster("adaboost", Costs()), round_)
    feature, error = naive.best_feature(list(table.T), search.labels, round_.weights)
    assert stump.feature == feature
    assert stump.error_p + stump.error_n == pytest.approx(error, abs=1e-12)
