"""Hit rates over false alarms, and intervals that hold what is true."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st

from vjcascade.comparison import full_results
from vjcascade.comparison.design import Contender
from vjcascade.comparison.full_results import FullComparison, Outcome, full_csv, full_entries, hit_rates
from vjcascade.comparison.scenes import Found
from vjcascade.errors import SettingsError

TWO = full_entries([Contender("adaboost"), Contender("cost-generalized")], ["3:1"])


def random_found(rng, n, n_scenes):
    """Return detections with many equal scores, each scene with as many objects as hits or more."""
    scores = np.sort(rng.integers(1, 6, n).astype(float))[::-1]
    found = Found(rng.integers(0, n_scenes, n), scores, rng.random(n) < 0.5, 1.0)
    return found, np.bincount(found.scenes[found.hits], minlength=n_scenes) + rng.integers(0, 2, n_scenes)


@given(st.integers(0, 2**32 - 1))
@hypothesis_settings(max_examples=40, deadline=None)
def test_a_scene_that_counts_twice_is_as_two(seed):
    rng = np.random.default_rng(seed)
    n_scenes = int(rng.integers(1, 5))
    found, n_objects = random_found(rng, int(rng.integers(0, 12)), n_scenes)
    weight = rng.integers(0, 3, n_scenes)
    limits = np.array([0.0, 1.0, 2.5, 100.0])
    (rates,) = hit_rates(found, n_objects, weight[np.newaxis], limits)
    repeated = [k for k, times in enumerate(weight) for _ in range(times)]
    total = sum(n_objects[k] for k in repeated)
    for rate, limit in zip(rates, limits, strict=True):
        best = 0
        for bar in set(found.scores.tolist()):
            kept = [found.hits[(found.scenes == k) & (found.scores >= bar)] for k in repeated]
            if sum(int((~hits).sum()) for hits in kept) <= limit:
                best = max(best, sum(int(hits.sum()) for hits in kept))
        assert (math.isnan(rate) and total == 0) or rate == pytest.approx(best / total)


def simulated(rng, n_scenes):
    """Return a comparison of two cascades on scenes of an object each; the second finds four in five of the first."""
    outcomes = {}
    seen = rng.random(n_scenes) < 0.8
    for entry, hit in enumerate((seen, seen & (rng.random(n_scenes) < 0.8))):
        scenes = np.arange(n_scenes)[hit]
        scores = np.sort(rng.random(len(scenes)))[::-1]
        found = Found(scenes, scores, np.ones(len(scenes), np.bool_), 1.0)
        outcomes[entry, 0] = Outcome(found, "")
    return FullComparison(TWO, (0,), np.ones(n_scenes, np.int64), outcomes)


def test_intervals_hold_the_true_rates_and_their_difference(rng, monkeypatch):
    monkeypatch.setattr(full_results, "N_RESAMPLES", 150)
    covered = np.zeros(2)
    for _ in range(70):
        row = simulated(rng, 80).rows[1]
        covered += [
            row.main.low <= 0.64 <= row.main.high,
            row.main_difference.low <= -0.16 <= row.main_difference.high,
        ]
    assert 60 <= covered[0] <= 69
    assert 60 <= covered[1] <= 69


def test_seeds_that_differ_widen_the_intervals(rng):
    n_scenes = 50
    found = [Found(np.arange(n), np.arange(n, 0.0, -1), np.ones(n, np.bool_), 1.0) for n in (40, 40, 20)]
    alike, apart = (
        FullComparison(
            TWO[:1],
            (0, 1),
            np.ones(n_scenes, np.int64),
            {(0, k): Outcome(one, "") for k, one in enumerate(pair)},
        )
        for pair in (found[:2], found[1:])
    )
    widths = [full.rows[0].main.high - full.rows[0].main.low for full in (alike, apart)]
    assert widths[1] > 1.5 * widths[0]
    assert apart.rows[0].main.mean == pytest.approx(0.6)


def test_corrected_p_values_tell_a_difference_from_chance(rng):
    worse = simulated(rng, 80)
    assert np.isnan(worse.rows[0].corrected).all()  # the baseline
    assert worse.rows[1].main_corrected < 0.05
    same = FullComparison(TWO, (0,), worse.n_objects, {(k, 0): worse.outcomes[0, 0] for k in (0, 1)})
    assert same.rows[1].corrected == (1, 1, 1)
    alone = FullComparison(TWO[1:], (0,), worse.n_objects, {(0, 0): worse.outcomes[0, 0]})
    assert np.isnan(alone.rows[0].corrected).all()
    (_, line) = csv.DictReader(full_csv(worse).splitlines())
    assert float(line["difference_at_0.1_corrected_p"]) == pytest.approx(
        worse.rows[1].main_corrected, rel=1e-4
    )


def test_priors_are_not_for_whole_cascades():
    with pytest.raises(SettingsError, match="leave cost-generalized:sample out"):
        full_entries([Contender("cost-generalized:sample")], [2])
