from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as stn

from vjcascade.boosters import BoostingState, Costs, Round, booster_names, make_booster
from vjcascade.boosters.base import TIE_TOLERANCE
from vjcascade.learning.weak_splits import NO_CODES, SUBSETS, THRESHOLDS, Stump, between, rising

ADABOOST = make_booster("adaboost", Costs())


def a_round(labels, weights):
    return Round.of_weights(weights / weights.sum(), BoostingState.start(np.asarray(labels, np.int8)))


def codes_and_round(rng, n=60):
    """Return values of one feature of six codes, and a round."""
    labels = np.where(np.arange(n) < n // 2, 1, -1)
    codes = rng.choice(np.array([0, 31, 32, 100, 129, 255], np.uint8), n)
    return codes, a_round(labels, rng.random(n))


@pytest.mark.parametrize("name", booster_names())
def test_no_subset_of_codes_is_better(rng, name):
    booster = make_booster(name, Costs(3, 1), 10)
    for _ in range(5):
        codes, round_ = codes_and_round(rng)
        stumps = [
            SUBSETS.constant(1, round_),
            SUBSETS.constant(-1, round_),
            SUBSETS.best(3, codes, round_, booster),
        ]
        there = np.unique(codes)
        subsets = chain.from_iterable(combinations(there, k) for k in range(len(there) + 1))
        called = np.array([np.where(np.isin(codes, subset), -1, 1) for subset in subsets])
        errors_p, errors_n = (called < 0) @ round_.positive_part, (called > 0) @ round_.negative_part
        offered = booster.loss(*np.array([(one.error_p, one.error_n) for one in stumps if one]).T, round_)
        assert offered.min() == pytest.approx(booster.loss(errors_p, errors_n, round_).min(), abs=1e-12)


def test_what_a_stump_over_codes_says_is_what_it_does(rng):
    codes, round_ = codes_and_round(rng)
    stump = SUBSETS.best(3, codes, round_, ADABOOST)
    assert stump.feature == 3
    outputs = [stump.sides[not (stump.subset[code // 32] >> (code % 32) & 1)] for code in codes.tolist()]
    assert np.where(stump.goes_left(codes), *stump.sides).tolist() == outputs
    errors = (
        round_.positive_part[np.array(outputs) < 0].sum(),
        round_.negative_part[np.array(outputs) > 0].sum(),
    )
    assert (stump.error_p, stump.error_n) == pytest.approx(errors, abs=1e-15)


def test_codes_without_weight_are_called_negative(rng):
    codes, round_ = codes_and_round(rng)
    others = np.setdiff1d(np.arange(256), codes).astype(np.uint8)
    stump = SUBSETS.best(0, codes, round_, ADABOOST)
    assert (np.where(stump.goes_left(others), *stump.sides) == -1).all()
    part = round_.within(codes != 255)
    stump = SUBSETS.best(0, codes, part, ADABOOST)
    assert np.where(stump.goes_left(np.array([255])), *stump.sides).tolist() == [-1]


def test_a_single_code_has_no_stump(rng):
    _, round_ = codes_and_round(rng)
    assert SUBSETS.best(0, np.full(60, 9, np.uint8), round_, ADABOOST) is None
    assert SUBSETS.points(np.full((1, 60), 9, np.uint8), round_)[1].shape == (2, 1)


@pytest.mark.parametrize("splits", [SUBSETS, THRESHOLDS])
def test_constants(rng, splits):
    codes, round_ = codes_and_round(rng)
    for side, errors in ((1, (0, round_.negative_weight)), (-1, (round_.positive_weight, 0))):
        stump = splits.constant(side, round_)
        assert (np.where(stump.goes_left(codes), *stump.sides) == side).all()
        assert (stump.error_p, stump.error_n) == errors
    assert SUBSETS.constant(1, round_).subset == NO_CODES


def test_words_are_those_of_the_model_file():
    """Bit ``code & 31`` of word ``code >> 5``."""
    stump = Stump(0, np.float32(0), (-1, 1), 0.0, 0.0, (0, 1 << 5, 0, 0, 0, 0, 0, 1 << 31))
    assert np.flatnonzero(stump.goes_left(np.arange(256))).tolist() == [37, 255]


def test_between():
    one = np.float32(1)
    after = np.nextafter(one, np.float32(2))
    big = np.float32(3e38)
    assert between(one, np.float32(2)) == 1.5
    assert between(one, after) == after
    assert between(big, np.nextafter(big, np.float32(np.inf))) > big
    assert between(-after, -one) == -one


@given(
    stn.arrays(
        st.sampled_from([np.float32, np.float64, np.uint8]),
        st.integers(0, 40),
        elements=st.sampled_from([0.0, 1.0, 2.0, 7.0, 200.0]),
    )
)
def test_equal_values_stay_in_order(values):
    assert rising(values).tolist() == np.argsort(values, kind="stable").tolist()


@given(
    stn.arrays(
        np.float32,
        st.integers(1, 60),
        elements=st.floats(width=32, allow_nan=False) | st.sampled_from([0.0, -0.0, np.inf, -np.inf]),
    )
)
def test_of_any_sign_and_size(values):
    assert rising(values).tolist() == np.argsort(values, kind="stable").tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_threshold_lies_above_the_lower_value(dtype):
    low = dtype(0.1)
    assert between(low, np.nextafter(low, dtype(1))) > low
    assert between(dtype(1), dtype(2)) == 1.5


@pytest.mark.parametrize("all_weight", [1.0, 1e-4, 1e-9])
def test_of_cuts_that_count_as_equal_the_first_is_taken(all_weight):
    """Also in a tree's node with next to no weight: what counts as equal does not depend on it."""
    labels = np.array([-1, 1, -1, 1], np.int8)
    weights = np.array([0.5, 0.1, 0.1, 0.3]) * all_weight
    weights[2] += TIE_TOLERANCE / 2  # the last cut is better by so much
    parts = np.where(labels > 0, weights, 0.0), np.where(labels > 0, 0.0, weights)
    round_ = Round.of_parts(*parts, BoostingState.start(labels))
    best = THRESHOLDS.best(0, np.arange(4, dtype=np.float32), round_, ADABOOST)
    assert best.threshold == 0.5
