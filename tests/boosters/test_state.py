"""A run's state and its rounds: what is counted, split and refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Round, make_booster
from vjcascade.errors import SettingsError

LABELS = np.array([1, -1, -1], np.int8)


def is_soft(round_):
    """Whether some sample counts as both classes."""
    return bool((round_.positive_part * round_.negative_part > 0).any())


@pytest.mark.parametrize("label", [1, -1])
def test_one_class_is_refused(label):
    with pytest.raises(SettingsError, match=r"needs samples of both classes: there are [03] positives"):
        BoostingState.start(np.full(3, label, np.int8))


def test_no_samples_are_refused():
    with pytest.raises(SettingsError, match="0 positives and 0 negatives"):
        BoostingState.start(np.array([], np.int8))


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf, -math.inf])
def test_bad_sample_weights_are_named(weight):
    with pytest.raises(
        SettingsError, match=f"sample weight {float(weight)} of sample 1 is not a finite number"
    ):
        BoostingState.start(LABELS, np.array([1.0, weight, 2.0]))


@pytest.mark.parametrize("weights", [[1.0, 2.0], [1.0] * 4, [[1.0]] * 3])
def test_sample_weights_of_another_shape_are_refused(weights):
    with pytest.raises(SettingsError, match=rf"{len(weights)} sample weights do not fit 3 samples"):
        BoostingState.start(LABELS, np.array(weights))


@pytest.mark.parametrize(
    ("weights", "what"),
    [
        ([0, 1, 1], "all 1 positives"),
        ([1, 0, 0], "all 2 negatives"),
        ([1e-300, 1e300, 1], "all 1 positives"),
    ],
)
def test_a_class_without_weight_is_named(weights, what):
    with pytest.raises(SettingsError, match=f"{what} have sample weight 0"):
        BoostingState.start(LABELS, np.array(weights, np.float64))


@pytest.mark.parametrize("scale", [1, 1e-300, 1e308])
def test_sample_weights_have_any_scale(scale):
    state = BoostingState.start(LABELS, scale * np.array([1.0, 0.5, 0.5]))
    np.testing.assert_allclose(np.exp(state.log_prior), [0.5, 0.25, 0.25])


def test_whole_numbers_are_sample_weights():
    assert np.exp(BoostingState.start(LABELS, [2, 1, 0]).log_prior).round(9).tolist() == [
        round(2 / 3, 9),
        round(1 / 3, 9),
        0,
    ]


def test_the_state_counts():
    state = BoostingState.start(LABELS)
    state.add(np.array([1, 1, -1], np.int8), 0.5)
    state.add(np.array([-1, 1, -1], np.int8), 0.25)
    assert state.score.tolist() == [0.25, 0.75, -0.75]
    assert state.votes.tolist() == [0, 2, -2]
    assert state.mistakes.tolist() == [1, 2, 0]
    assert (state.total_alpha, state.n_rounds) == (0.75, 2)


def test_of_real_outputs_votes_and_mistakes_count_the_signs():
    """0 counts as positive, as everywhere."""
    state = BoostingState.start(LABELS)
    state.add(np.array([0.3, 0.0, -2.5]), 1.0)
    assert state.score.tolist() == [0.3, 0.0, -2.5]
    assert state.votes.tolist() == [1, 1, -1]
    assert state.mistakes.tolist() == [0, 1, 0]


def test_states_do_not_share_what_they_count():
    one, other = BoostingState.start(LABELS), BoostingState.start(LABELS)
    one.add(LABELS, 1.0)
    assert not other.score.any()
    assert one.log_prior.tolist() == other.log_prior.tolist()


# ---- Rounds ----------------------------------------------------------------------------------------------------------


def test_weights_count_as_what_their_samples_are_labelled():
    round_ = Round.of_weights(np.array([0.5, 0.2, 0.3]), BoostingState.start(LABELS))
    assert round_.positive_part.tolist() == [0.5, 0, 0]
    assert round_.negative_part.tolist() == [0, 0.2, 0.3]
    assert (round_.positive_weight, round_.negative_weight) == (0.5, 0.5)
    assert round_.weights.tolist() == [0.5, 0.2, 0.3]
    assert not is_soft(round_)


def test_parts_may_split_a_sample():
    round_ = Round.of_parts(np.array([0.3, 0.1, 0.0]), np.array([0.2, 0.0, 0.4]), BoostingState.start(LABELS))
    assert is_soft(round_)
    np.testing.assert_allclose(round_.weights, [0.5, 0.1, 0.4])
    np.testing.assert_allclose([round_.positive_weight, round_.negative_weight], [0.4, 0.6])


def test_scaled_and_masked_rounds_keep_their_masses():
    round_ = Round.of_weights(np.array([0.5, 0.2, 0.3]), BoostingState.start(LABELS)).scaled(2.0, 10.0)
    assert round_.weights.tolist() == [1, 2, 3]
    assert (round_.positive_weight, round_.negative_weight) == (1, 5)
    inside = round_.within(np.array([True, False, True]))
    assert inside.weights.tolist() == [1, 0, 3]
    assert (inside.positive_weight, inside.negative_weight) == (1, 3)


def test_masses_of_groups():
    round_ = Round.of_weights(np.array([0.5, 0.2, 0.3]), BoostingState.start(LABELS))
    sums_p, sums_n = round_.weight_sums(np.array([2, 0, 2]), 4)
    assert sums_p.tolist() == [0, 0, 0.5, 0]
    assert sums_n.tolist() == [0.2, 0, 0.3, 0]


def test_only_logitboost_splits_samples():
    state = BoostingState.start(LABELS)
    assert is_soft(make_booster("logit", 1).begin_round(state))
    assert not is_soft(make_booster("gentle", 1).begin_round(state))
