from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import Costs
from vjcascade.errors import SettingsError
from vjcascade.evaluation import normalised_expected_cost, skew

signs = st.sampled_from([-1, 1])
costs_of_errors = st.builds(Costs, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))


@given(st.lists(st.tuples(signs, signs), min_size=1, max_size=30), costs_of_errors)
@settings(deadline=None)
def test_it_is_the_cost_as_a_share_of_the_worst(pairs, costs):
    pairs = [*pairs, (1, -1), (-1, 1)]
    paid = sum(costs.positive if y > 0 else costs.negative for p, y in pairs if p != y)
    worst = sum(costs.positive if y > 0 else costs.negative for _, y in pairs)
    predictions, labels = np.array(pairs, np.int8).T
    assert normalised_expected_cost(predictions, labels, costs) == pytest.approx(paid / worst)


@given(st.integers(1, 50), st.integers(1, 50), costs_of_errors)
@settings(deadline=None)
def test_it_is_the_papers_formula(n_p, n_n, costs):
    labels = np.repeat([1, -1], [n_p, n_n])
    share = n_p / (n_p + n_n)
    z = (1 - share) * costs.negative / ((1 - share) * costs.negative + share * costs.positive)
    assert skew(labels, costs) == pytest.approx(z)
    assert normalised_expected_cost(np.ones_like(labels), labels, costs) == pytest.approx(z)
    assert normalised_expected_cost(-np.ones_like(labels), labels, costs) == pytest.approx(1 - z)
    predictions = np.where(np.arange(n_p + n_n) % 3 == 0, -labels, labels)
    miss_rate, false_alarm_rate = np.mean(predictions[:n_p] < 0), np.mean(predictions[n_p:] > 0)
    expected = false_alarm_rate * z + miss_rate * (1 - z)
    assert normalised_expected_cost(predictions, labels, costs) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        ([1, 1], [1, 1], "samples of both classes"),
        ([-1, 1], [-1, -1], "samples of both classes"),
        ([], [], "samples of both classes"),
        ([1], [1, -1], r"predictions \(1,\) and labels \(2,\)"),
        ([1, 0], [1, -1], "predictions must be -1 and .1 only, not 0"),
        ([True, False], [1, -1], "predictions must be -1 and .1 only, not False"),
        ([0.3, -1], [1, -1], "predictions must be -1 and .1 only, not 0.3"),
        ([1, -1], [1, 0], "labels must be -1 and .1 only, not 0"),
    ],
)
def test_what_cannot_be_measured_is_named(predictions, labels, message):
    with pytest.raises(SettingsError, match=message):
        normalised_expected_cost(predictions, labels, Costs())
