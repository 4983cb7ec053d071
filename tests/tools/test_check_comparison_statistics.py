"""Simulated comparisons: nothing is claimed where there is nothing, and what is there is found."""

from __future__ import annotations

import check_comparison_statistics as simulation
import numpy as np
import pytest

from vjcascade.comparison import Summary
from vjcascade.comparison.summary import Verdict

N_REPEATS = 15


@pytest.mark.parametrize("kind", simulation.KINDS, ids=lambda kind: kind.name)
def test_no_difference_is_claimed_where_there_is_none(kind):
    rng = np.random.default_rng(3)
    summaries = [Summary(simulation.simulated(rng, kind, 0.0)) for _ in range(N_REPEATS)]
    assert sum(map(simulation.claims_anything, summaries)) <= 2  # of 5 %, more are there once in 28 times
    assert sum(map(simulation.tells_ranks_apart, summaries)) <= 2


def test_without_a_correction_most_families_would_claim_one():
    """The simulation can fail: by their own p-values, nearly all comparisons would find something."""
    rng = np.random.default_rng(4)
    kind = simulation.KINDS[0]
    found = [Summary(simulation.simulated(rng, kind, 0.0)) for _ in range(N_REPEATS)]
    assert (
        sum(any((one.p < 0.05).any() for one in s.overall_differences.values()) for s in found)
        > N_REPEATS / 2
    )


@pytest.mark.parametrize("name", simulation.POWER_AT)
def test_a_known_difference_is_found(name):
    rng = np.random.default_rng(5)
    kind = next(kind for kind in simulation.KINDS if kind.name == name)
    effect = simulation.POWER_AT[name]
    summaries = [Summary(simulation.simulated(rng, kind, effect)) for _ in range(N_REPEATS)]
    assert sum(map(simulation.finds_it, summaries)) >= 0.7 * N_REPEATS
    entries = summaries[0].comparison.entries
    better = {
        entries[claim.entry].contender.booster
        for summary in summaries
        for claim in summary.claims
        if claim.verdict is Verdict.BETTER
    }
    assert better == {simulation.SHIFTED}
