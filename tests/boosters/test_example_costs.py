"""Costs of single examples, split into class costs and sample weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vjcascade.boosters.costs import Costs
from vjcascade.boosters.example_costs import read_example_costs, split_example_costs
from vjcascade.errors import SettingsError

LABELS = np.array([1, 1, -1, -1, -1], np.int8)
costed = st.lists(st.tuples(st.floats(1e-3, 1e3), st.sampled_from([1, -1])), min_size=2, max_size=30).filter(
    lambda rows: {label for _, label in rows} == {1, -1}
)


@given(costed)
def test_class_cost_times_weight_is_the_cost_given(rows):
    costs, labels = (np.array(column) for column in zip(*rows, strict=True))
    class_costs, weight = split_example_costs(costs, labels)
    np.testing.assert_allclose(class_costs.of(labels) * weight, costs, rtol=1e-12)
    for label in (1, -1):
        assert weight[labels == label].mean() == pytest.approx(1, rel=1e-12)


@given(costed)
def test_the_papers_asymmetry(rows):
    """Weights in proportion to the costs have the paper's gamma and class-conditional distributions (eq. asym_eqn)."""
    costs, labels = (np.array(column) for column in zip(*rows, strict=True))
    class_costs, weight = split_example_costs(costs, labels)
    start = class_costs.of(labels) * weight
    start /= start.sum()
    gamma = start[labels > 0].sum()
    n_p, n_n = (labels > 0).sum(), (labels < 0).sum()
    assert gamma == pytest.approx(Costs(n_p * class_costs.positive, n_n * class_costs.negative).gamma)
    np.testing.assert_allclose(start[labels > 0] / gamma, weight[labels > 0] / n_p)


def test_equal_costs_in_a_class_need_no_weights():
    class_costs, weight = split_example_costs([4, 4, 0.5, 0.5, 0.5], LABELS)
    assert class_costs == Costs(4, 0.5)
    assert weight.tolist() == [1] * 5


def test_costs_from_a_function_are_those_of_a_column(rng):
    samples = rng.uniform(1, 2, (5, 3))
    by_function = read_example_costs(lambda row: row[1] * 2, samples)
    by_column = read_example_costs(samples[:, 1] * 2, samples)
    assert by_function.tolist() == by_column.tolist()
    assert read_example_costs(len, ["a", "bcd"]).tolist() == [1, 3]


def test_the_costs_given_are_not_shared():
    given = np.ones(5)
    read_example_costs(given, LABELS)[0] = 7
    assert given[0] == 1


@pytest.mark.parametrize(
    ("costs", "sentence"),
    [
        ([1, 2, 3], "there are 3 example costs for 5 samples"),
        ([1] * 6, "there are 6 example costs for 5 samples"),
        ([], "there are 0 example costs for 5 samples"),
        ([1, -1, 1, 1, 1], "the cost of sample 1 is -1, not a finite number, at least 0$"),
        ([1, 1, 1, -2.5, 1], "the cost of sample 3 is -2.5, not"),
        ([1, math.nan, 1, math.inf, 0], r"the cost of sample 1 is nan, not .* \(and so are 1 others\)"),
        (["1", "2", "3", "4", "5"], r"example costs \['1', .* are not a list of numbers"),
        ([True] * 5, "are not a list of numbers"),
        ([1, 1, 1, 1, None], "are not a list of numbers"),
        ([1, 1, 1, 1, [1]], "are not a list of numbers"),
        (np.ones((5, 1)), "are not a list of numbers"),
        (4, "example costs 4 are not a list of numbers"),
        (lambda label: label, "the cost of sample 2 is -1, not"),
        (lambda label: [label], "are not a list of numbers"),
    ],
)
def test_bad_example_costs(costs, sentence):
    with pytest.raises(SettingsError, match=sentence):
        read_example_costs(costs, LABELS)


@pytest.mark.parametrize(("label", "missing"), [(1, "negatives"), (-1, "positives")])
def test_both_classes_are_needed(label, missing):
    with pytest.raises(SettingsError, match=f"there are no {missing} among 3 samples"):
        split_example_costs([1, 2, 3], np.full(3, label, np.int8))


@given(costed, st.data())
def test_a_cost_of_zero_is_a_sample_that_does_not_count(rows, data):
    costs, labels = (np.array(column) for column in zip(*rows, strict=True))
    place = data.draw(st.integers(0, len(rows)))
    class_costs, weight = split_example_costs(np.insert(costs, place, 0), np.insert(labels, place, 1))
    expected_costs, expected_weight = split_example_costs(costs, labels)
    assert class_costs == expected_costs
    assert weight.tolist() == np.insert(expected_weight, place, 0).tolist()


def test_a_class_that_costs_nothing_is_missing():
    with pytest.raises(
        SettingsError, match="no positives among 5 samples, 2 of which cost nothing: both classes"
    ):
        split_example_costs([0, 0, 1, 1, 1], LABELS)
