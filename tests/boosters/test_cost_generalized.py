"""Cost-generalized boosters are others from initial weights that carry the costs; nothing else changes."""

from __future__ import annotations

import numpy as np
import pools
import pytest
from hypothesis import given, settings

from vjcascade.boosters import BoostingState, Costs, make_booster
from vjcascade.errors import SettingsError
from vjcascade.learning.pool import boost_pool

PLAIN = {
    "cost-generalized": "adaboost",
    "cost-generalized-real": "real",
    "cost-generalized-gentle": "gentle",
    "cost-generalized-logit": "logit",
}


def first_weights(labels, costs, prior, sample_weight=None):
    booster = make_booster("cost-generalized", costs, prior=prior)
    return booster.begin_round(BoostingState.start(np.array(labels, np.int8), sample_weight)).weights


def test_costs_weigh_classes_or_samples():
    labels, costs = [1, -1, -1, -1], Costs(3, 1)
    np.testing.assert_allclose(first_weights(labels, costs, "class"), [0.75, 1 / 12, 1 / 12, 1 / 12])
    np.testing.assert_allclose(first_weights(labels, costs, "sample"), [0.5, 1 / 6, 1 / 6, 1 / 6])


def test_costs_weigh_on_top_of_sample_weights():
    labels, costs, given_weights = [1, 1, -1, -1], Costs(3, 1), np.array([1.0, 3, 0, 4])
    np.testing.assert_allclose(
        first_weights(labels, costs, "class", given_weights), [3 / 16, 9 / 16, 0, 0.25]
    )
    np.testing.assert_allclose(
        first_weights(labels, costs, "sample", given_weights), [3 / 16, 9 / 16, 0, 0.25]
    )
    given_weights = np.array([1.0, 3, 0, 1])
    np.testing.assert_allclose(
        first_weights(labels, costs, "class", given_weights), [3 / 16, 9 / 16, 0, 0.25]
    )
    np.testing.assert_allclose(
        first_weights(labels, costs, "sample", given_weights), np.array([3, 9, 0, 1]) / 13
    )


def test_balanced_classes_each_weigh_one():
    state = BoostingState.start(np.array([1, -1, -1], np.int8), np.array([5.0, 1, 3]))
    np.testing.assert_allclose(np.exp(state.balanced_log_prior), [1, 0.25, 0.75])


@pytest.mark.parametrize("name", PLAIN)
@given(pools.seeds, pools.far_costs)
@settings(max_examples=9, deadline=None)
def test_they_are_the_plain_booster_with_these_sample_weights(name, seed, costs):
    pool, labels = pools.random_pool(seed)
    sizes = np.where(labels > 0, (labels > 0).sum(), (labels < 0).sum())
    for prior, weights in (("class", costs.of(labels) / sizes), ("sample", costs.of(labels))):
        costly = boost_pool(pool, labels, make_booster(name, costs, prior=prior), 6, literal=True)
        plain = boost_pool(
            pool, labels, make_booster(PLAIN[name], costs), 6, sample_weight=weights, literal=True
        )
        assert costly.chosen == plain.chosen
        np.testing.assert_allclose(costly.leaves, plain.leaves, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PLAIN)
def test_a_prior_of_another_name_is_refused(name):
    with pytest.raises(SettingsError, match="prior 'clas' is not one of class, sample"):
        make_booster(name, Costs(), prior="clas")
