"""The bootstrap over scenes: what must hold whatever is drawn, and how often it is right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.errors import SettingsError
from vjcascade.evaluation import curves
from vjcascade.evaluation.curves import (
    AveragePrecision,
    BestF1,
    EqualPoint,
    LogAverageMissRate,
    RecallAt,
)
from vjcascade.evaluation.intervals import Difference, Interval, bootstrap, paired_differences, scene_weights
from vjcascade.evaluation.matching import Matches

MEASURES = (RecallAt(0.5, per_picture=True), BestF1(), LogAverageMissRate(), AveragePrecision())


def scene(scores, hits, n_objects):
    return Matches(np.array(scores, np.float64), np.array(hits, np.bool_), n_objects)


def random_scenes(rng, n, hit_rate=0.7):
    """Return scenes of one object each, which is found or not, and a false alarm in some."""
    return [
        scene(rng.random(2), [rng.random() < hit_rate, False], 1)
        if rng.random() < 0.5
        else scene(rng.random(1), [rng.random() < hit_rate], 1)
        for _ in range(n)
    ]


@settings(max_examples=20, deadline=None)
@given(
    st.integers(1, 9), st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=4), st.integers(0, 5)
)
def test_equal_scenes_have_intervals_without_width(n_scenes, found, seed):
    one = scene([s for s, _ in found], [h for _, h in found], sum(h for _, h in found) + 1)
    for interval in bootstrap([one] * n_scenes, MEASURES, n_resamples=20, seed=seed):
        assert interval.low == pytest.approx(interval.mean) == interval.high


def test_the_first_number_is_that_of_all_scenes(rng):
    scenes = random_scenes(rng, 30)
    measures = (*MEASURES, RecallAt(3))
    found = bootstrap(scenes, measures, n_resamples=50)
    assert [one.mean for one in found] == [m.of(curves.detection_curve(scenes)) for m in measures]
    assert all(one.low <= one.mean <= one.high for one in found)


def test_draws_depend_on_the_seed_alone(rng, monkeypatch):
    scenes = random_scenes(rng, 30)
    found = bootstrap(scenes, MEASURES, n_resamples=50)
    monkeypatch.setattr(curves, "MAX_NUMBERS", 100)  # a draw or two at a time
    assert bootstrap(scenes, MEASURES, n_resamples=50) == found
    assert bootstrap(scenes, MEASURES, n_resamples=50, seed=1) != found
    assert (scene_weights(30, 50).sum(axis=1) == 30).all()


def test_the_interval_holds_the_true_rate(rng):
    """Recall without a limit is a mean over scenes: its interval must hold 0.7 about 19 times in 20."""
    n_held = 0
    for _ in range(100):
        (found,) = bootstrap(random_scenes(rng, 60), [RecallAt(1000)], n_resamples=200)
        n_held += found.low <= 0.7 <= found.high
    assert 87 <= n_held <= 100


def test_a_wider_level_is_wider(rng):
    scenes = random_scenes(rng, 30)
    narrow, wide = (bootstrap(scenes, [BestF1()], level=level)[0] for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high
    with pytest.raises(SettingsError, match="level 95"):
        bootstrap(scenes, [BestF1()], level=95)


def test_draws_without_objects_are_left_out():
    scenes = [scene([1], [1], 1), scene([], [], 0)]  # a draw in four has no object
    (found,) = bootstrap(scenes, [RecallAt(0)])
    assert found == Interval(1.0, 1.0, 1.0)
    (nothing,) = bootstrap([scene([], [], 0)], [RecallAt(0)])
    assert math.isnan(nothing.mean)
    assert math.isnan(nothing.low)
    (too_few,) = bootstrap([scene([1], [1], 3)] * 4, [EqualPoint()])
    assert math.isnan(too_few.high)


def test_the_same_model_twice_does_not_differ(rng):
    scenes = random_scenes(rng, 20)
    for difference in paired_differences(scenes, scenes, MEASURES, n_resamples=50):
        assert difference.interval == Interval(0.0, 0.0, 0.0)
        assert not difference.is_significant


def test_pairs_tell_apart_what_single_intervals_do_not(rng):
    """The second misses eight of the objects that the first finds, and finds no other."""
    first = random_scenes(rng, 80)
    lost = [k for k, one in enumerate(first) if one.hits.any()][:8]
    second = [scene(one.scores, one.hits & (k not in lost), 1) for k, one in enumerate(first)]
    (alone,), (other,) = (bootstrap(some, [RecallAt(1000)]) for some in (first, second))
    assert alone.low < other.high
    (difference,) = paired_differences(first, second, [RecallAt(1000)])
    assert difference.interval.mean == pytest.approx(8 / 80)
    assert difference.is_significant
    assert "first is better than second by 10.0 points" in difference.verdict("first", "second")


@pytest.mark.parametrize(
    ("measure", "interval", "sentence"),
    [
        (BestF1(), (0.02, -0.01, 0.05), "best F1: no significant difference (95 % CI -1.0 to 5.0 points)"),
        (BestF1(), (0.02, 0.0, 0.05), "best F1: no significant difference (95 % CI 0.0 to 5.0 points)"),
        (BestF1(), (-0.05, -0.08, -0.02), "best F1: b is better than a by 5.0 points (95 % CI 2.0 to 8.0)"),
        (
            LogAverageMissRate(),
            (-0.05, -0.08, -0.02),
            "log-average miss rate: a is better than b by 5.0 points (95 % CI 2.0 to 8.0)",
        ),
        (EqualPoint(), (math.nan,) * 3, "recall = precision: not known from these scenes"),
    ],
)
def test_verdicts(measure, interval, sentence):
    assert Difference(measure, Interval(*interval), 0.95).verdict("a", "b") == sentence


def test_other_scenes_are_refused_and_none():
    with pytest.raises(SettingsError, match="there are no scenes"):
        bootstrap([], [BestF1()])
    with pytest.raises(SettingsError, match="1 and 2 scenes do not have the same objects"):
        paired_differences([scene([], [], 1)], [scene([], [], 1)] * 2, [BestF1()])
