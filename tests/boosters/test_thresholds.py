from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import Costs
from vjcascade.boosters.thresholds import (
    hit_rate_threshold,
    minimum_cost_threshold,
    n_allowed_misses,
    theory_threshold,
)
from vjcascade.errors import SettingsError

scores_lists = st.lists(st.integers(-5, 5).map(float), min_size=2, max_size=20)


def test_theory():
    assert theory_threshold(Costs(1, 1)) == 0
    assert theory_threshold(Costs(1, 9)) == pytest.approx(math.log(3))


@given(scores_lists, st.floats(0.1, 10), st.floats(0.1, 10), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_minimum_cost_equals_trying_all(scores, cost_p, cost_n, seed):
    labels = np.random.default_rng(seed).choice([-1, 1], len(scores)).astype(np.int8)

    def cost_at(threshold):
        pairs = zip(scores, labels, strict=True)
        return sum((cost_p if y > 0 else cost_n) for s, y in pairs if (s >= threshold) != (y > 0))

    threshold, cost = minimum_cost_threshold(np.array(scores), labels, Costs(cost_p, cost_n))
    cuts = [-math.inf, *(v + 0.25 for v in sorted(set(scores))[:-1]), math.inf]
    assert cost == pytest.approx(cost_at(threshold))
    assert cost == pytest.approx(min(cost_at(cut) for cut in cuts))


@given(scores_lists, st.floats(0.01, 1))
@settings(deadline=None)
def test_hit_rate_threshold_is_the_highest(scores, hit_rate):
    threshold = hit_rate_threshold(np.array(scores), hit_rate)
    allowed = n_allowed_misses(len(scores), hit_rate)
    assert sum(s < threshold for s in scores) <= allowed
    higher = [s for s in scores if s > threshold]
    if higher:
        assert sum(s < min(higher) for s in scores) > allowed


@given(st.integers(1, 5000), st.floats(0.001, 1))
@settings(deadline=None)
def test_allowed_misses_keep_the_hit_rate(n, hit_rate):
    misses = n_allowed_misses(n, hit_rate)
    assert 0 <= misses < n
    assert (n - misses) / n >= hit_rate - 1e-8
    assert misses == n - 1 or (n - misses - 1) / n < hit_rate


@pytest.mark.parametrize(
    ("n", "hit_rate", "misses"), [(10, 0.9, 1), (100, 0.99, 1), (200, 0.995, 1), (1000, 0.999, 1), (5, 1, 0)]
)
def test_round_numbers_are_not_lost_to_rounding(n, hit_rate, misses):
    assert n_allowed_misses(n, hit_rate) == misses


def test_positives_are_used_up_slowly():
    left, history = 20, []
    for _ in range(10):
        left -= n_allowed_misses(left, 0.9)
        history.append(left)
    assert history == [18, 17, 16, 15, 14, 13, 12, 11, 10, 9]


@pytest.mark.parametrize("hit_rate", [0, -0.1, 1.01, math.nan])
def test_hit_rates_out_of_range(hit_rate):
    with pytest.raises(SettingsError, match=f"hit rate {hit_rate}"):
        hit_rate_threshold(np.zeros(3), hit_rate)


def test_no_positive_no_threshold():
    with pytest.raises(SettingsError, match="at least one positive"):
        hit_rate_threshold(np.zeros(0), 0.9)
