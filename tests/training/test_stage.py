from __future__ import annotations

from dataclasses import fields, replace

import builders
import doubles
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from vjcascade.boosters import booster_names
from vjcascade.cascade import THRESHOLD_EPSILON, Cascade
from vjcascade.detection import evaluate_windows
from vjcascade.features import HaarMode, enumerate_haar
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.learning.samples import samples_of
from vjcascade.training import stage
from vjcascade.training.events import Progress, RoundDone, null_listener
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.stage import NATURAL_THRESHOLD, StageTrainer, StageWindows, _file_threshold, _Panel
from vjcascade.training.usage import Stopwatch
from vjcascade.types import Size

WINDOW = doubles.WINDOW
POOL = enumerate_haar(WINDOW, HaarMode.ALL)
SETTINGS = TrainingSettings(hit_rate=0.9, false_alarm_rate=0.25, max_weak=12)
NONE = np.empty((0, WINDOW.height, WINDOW.width), np.uint8)


@pytest.fixture
def windows(rng):
    """Positives with a weak pattern and negatives without; 30 and 60 of them held out."""
    positives = doubles.hard_data(rng, n_positives=100)[0].windows
    noise = builders.smooth_noise(rng, 100, 100)
    negatives = np.stack([noise[y : y + 6, x : x + 6] for x, y in rng.integers(0, 94, (400, 2)).tolist()])
    seen, _ = evaluate_windows(Cascade(WINDOW), negatives)
    negatives = negatives[seen == 0][:200]
    assert (evaluate_windows(Cascade(WINDOW), positives)[0] == 0).all()
    return StageWindows(positives[:70], negatives[:140], positives[70:], negatives[140:])


def train(windows, settings=SETTINGS, pool=POOL, listener=null_listener):
    return StageTrainer(pool, windows.positives, settings, listener=listener).train(windows)


def pass_rate(stage, windows, threshold=None):
    """Share of windows that the detector lets pass."""
    if threshold is not None:
        stage = replace(stage, threshold=np.float32(threshold))
    passed, _ = evaluate_windows(Cascade(WINDOW).with_stage(stage), windows)
    return np.mean(passed == 1)


@pytest.mark.parametrize("tilted", [True, False])
@pytest.mark.parametrize("held_out", [True, False])
def test_rates_are_those_of_the_detector(windows, held_out, tilted, tmp_path):
    """Recorded rates are exactly what the saved stage does, at the tuned and at the natural threshold."""
    if not held_out:
        windows = replace(windows, held_out_positives=NONE, held_out_negatives=NONE)
    result = train(windows, replace(SETTINGS, false_alarm_rate=0.2), POOL[POOL["tilted"] == tilted])
    assert (result.hit_rate_on, result.false_alarm_rate_on) == (
        ("held-out",) * 2 if held_out else ("training",) * 2
    )
    assert (result.stage.features["tilted"] == tilted).all()
    measured = (
        (windows.held_out_positives, windows.held_out_negatives)
        if held_out
        else (windows.positives, windows.negatives)
    )
    Cascade(WINDOW).with_stage(result.stage).save(tmp_path / "one.xml")
    saved = Cascade.load(tmp_path / "one.xml")
    for kind, rate in zip(measured, (result.tuned.hit_rate, result.tuned.false_alarm_rate), strict=True):
        assert pass_rate(result.stage, kind) == rate
        assert np.mean(evaluate_windows(saved, kind)[0] == 1) == rate
    natural = result.natural
    assert pass_rate(result.stage, measured[0], natural.threshold) == natural.hit_rate
    assert pass_rate(result.stage, measured[1], natural.threshold) == natural.false_alarm_rate
    assert np.float32(natural.threshold) == THRESHOLD_EPSILON
    assert result.tuned.threshold == result.stage.threshold


@pytest.mark.parametrize(
    ("n_held_out", "tuned_on", "n_missed"), [(60, "held-out", 1), (30, "training", None)]
)
def test_one_held_out_positive_may_be_missed_where_there_are_too_few(rng, n_held_out, tuned_on, n_missed):
    """99.5 % of 60 would be all of them: the oddest one alone would say where the threshold lies."""
    positives = doubles.hard_data(rng, n_positives=160)[0].windows
    noise = builders.smooth_noise(rng, 100, 100)
    negatives = np.stack([noise[y : y + 6, x : x + 6] for x, y in rng.integers(0, 94, (300, 2)).tolist()])
    negatives = negatives[evaluate_windows(Cascade(WINDOW), negatives)[0] == 0]
    few = StageWindows(positives[:100], negatives, positives[100 : 100 + n_held_out], NONE)
    result = train(few, replace(SETTINGS, hit_rate=0.995, max_weak=3))
    assert result.hit_rate_on == tuned_on
    if n_missed is not None:
        assert n_held_out - len(result.passed.held_out_positives) == n_missed
        assert result.tuned.hit_rate == 1 - n_missed / n_held_out


@pytest.fixture
def odd(rng, windows):
    """Nine held-out crops with four copies each, of which the one numbered 7 is a negative print."""
    positives = doubles.hard_data(rng, n_positives=106)[0].windows
    held_out = positives[70:106].copy()
    crops = np.tile(np.arange(9), 4)
    held_out[crops == 7] = 255 - held_out[crops == 7]
    order = rng.permutation(len(crops))
    return replace(windows, held_out_positives=held_out[order], held_out_crops=crops[order])


STRICT = replace(SETTINGS, hit_rate=0.99, max_weak=12, false_alarm_rate=0.4, baseline=False)


@pytest.fixture
def tuned_on_few(monkeypatch):
    monkeypatch.setattr(stage, "MIN_TO_TUNE_ON", 20)


@pytest.mark.usefixtures("tuned_on_few")
@pytest.mark.parametrize("target", [0.4, 0.2])
def test_a_crop_is_excluded_where_it_alone_makes_a_stage_miss_its_target(odd, target):
    """Then the stage goes on to its target, also if it is below half of what passed before."""
    settings = replace(STRICT, false_alarm_rate=target)
    kept, without = train(odd, settings), train(replace(odd, max_outliers=1), settings)
    assert kept.outliers == ()
    assert kept.tuned.false_alarm_rate > target
    assert without.outliers == (7,)
    assert without.tuned.false_alarm_rate <= target
    rate = f"{kept.tuned.false_alarm_rate:.1%}"
    expected = f"1 held-out crop excluded from tuning, with which {rate} of the negatives would pass"
    assert without.ended_by == expected
    others = odd.held_out_positives[odd.held_out_crops != 7]
    assert pass_rate(without.stage, others) >= 1 - 1 / len(others)
    assert pass_rate(without.stage, odd.held_out_positives) == without.tuned.hit_rate < kept.tuned.hit_rate


@pytest.mark.usefixtures("tuned_on_few")
def test_no_crop_is_excluded_for_a_narrow_miss(odd, monkeypatch):
    missed_by = train(odd, STRICT).tuned.false_alarm_rate / STRICT.false_alarm_rate
    for threshold, expected in ((0.99 * missed_by, (7,)), (1.01 * missed_by, ())):
        monkeypatch.setattr(stage, "FAR_ABOVE_TARGET", threshold)
        assert train(replace(odd, max_outliers=1), STRICT).outliers == expected


@pytest.mark.usefixtures("tuned_on_few")
def test_thresholds_are_not_tuned_on_what_was_excluded_before(odd):
    before = replace(odd, held_out_crops=np.where(odd.held_out_crops == 7, -1, odd.held_out_crops))
    result = train(before, STRICT)
    assert result.ended_by == "targets reached"
    assert result.tuned.threshold == train(replace(odd, max_outliers=1), STRICT).tuned.threshold


@pytest.mark.usefixtures("tuned_on_few")
def test_no_crop_is_excluded_where_that_brings_too_little(odd):
    """With two odd crops, excluding one of them is not enough; both are excluded if both may be, and no other."""
    held_out = odd.held_out_positives.copy()
    held_out[odd.held_out_crops == 2] = 255 - held_out[odd.held_out_crops == 2]
    two = replace(odd, held_out_positives=held_out)
    for n_most, expected in ((1, ()), (2, (2, 7)), (4, (2, 7))):
        assert train(replace(two, max_outliers=n_most), STRICT).outliers == expected


@pytest.mark.usefixtures("tuned_on_few")
def test_a_stage_that_knows_its_windows_by_heart_excludes_outliers_too(odd):
    """One stump tells all training windows apart."""
    opposite = 255 - odd.positives
    windows = replace(odd, negatives=opposite, held_out_negatives=opposite[::2], max_outliers=1)
    result = train(windows, replace(STRICT, max_weak=3))
    assert result.tuned.hit_rate < 1
    assert result.outliers == (7,)


@pytest.mark.usefixtures("tuned_on_few")
@pytest.mark.parametrize(
    ("n_crops", "min_windows", "expected"), [(9, 20, (7,)), (9, 33, ()), (4, 20, ()), (1, 20, ())]
)
def test_enough_crops_and_windows_stay_to_tune_on(odd, monkeypatch, n_crops, min_windows, expected):
    """Five crops at least, or each would be too large a share; and as many windows as thresholds can be tuned on."""
    monkeypatch.setattr(stage, "MIN_TO_TUNE_ON", min_windows)
    crops = np.where(odd.held_out_crops == 7, 7, odd.held_out_crops % max(n_crops - 1, 1))
    if n_crops == 1:
        crops = np.full_like(crops, 7)
    assert train(replace(odd, held_out_crops=crops, max_outliers=3), STRICT).outliers == expected


@pytest.mark.parametrize(
    ("booster", "max_depth"),
    [*((name, 1) for name in booster_names()), ("cost-generalized", 2), ("gentle", 3), ("adaboostdb", 2)],
)
def test_every_booster_trains_a_stage_that_the_detector_runs(windows, tmp_path, booster, max_depth):
    """The saved file passes exactly the windows that training counted, for every booster, with stumps and trees."""
    settings = replace(SETTINGS, booster=booster, costs=2.0, max_depth=max_depth, max_weak=4, baseline=False)
    result = train(windows, settings, POOL[::5])
    saved = tmp_path / "one.xml"
    Cascade(WINDOW).with_stage(result.stage).save(saved)
    cascade = Cascade.load(saved)
    assert cascade.n_trees == result.stage.n_trees
    assert (max(np.diff(cascade.tree_starts)) > 1) == (max_depth > 1)
    for kind, rate in (
        (windows.held_out_positives, result.tuned.hit_rate),
        (windows.held_out_negatives, result.tuned.false_alarm_rate),
    ):
        assert np.mean(evaluate_windows(cascade, kind)[0] == 1) == rate
    for field in fields(result.passed):
        passed, _ = evaluate_windows(cascade, getattr(windows, field.name))
        assert getattr(result.passed, field.name).tolist() == np.flatnonzero(passed == 1).tolist()
        assert 0 < np.count_nonzero(passed == 1) < len(passed) or field.name.endswith("positives")


@pytest.mark.oracle
@pytest.mark.parametrize("max_depth", [1, 3])
def test_opencv_accepts_the_same_windows(windows, tmp_path, oracle, max_depth):
    settings = replace(SETTINGS, booster="gentle", max_depth=max_depth, max_weak=6, baseline=False)
    cascade = Cascade(WINDOW).with_stage(train(windows, settings).stage)
    cascade.save(tmp_path / "one.xml")
    both = np.concatenate([windows.positives, windows.negatives])
    ours = evaluate_windows(cascade, both)[0] == 1
    theirs = oracle("accept_crops", xml=tmp_path / "one.xml", crops=both)["accepted"]
    assert ours.tolist() == theirs.astype(bool).tolist()
    assert ours.any()
    assert not ours.all()


def test_targets_end_a_stage(windows):
    settings = replace(SETTINGS, hit_rate=0.99, false_alarm_rate=0.05)
    windows = replace(windows, held_out_positives=NONE, held_out_negatives=NONE)
    result = train(windows, settings)
    n_weak = len(result.stage.thresholds)
    assert result.ended_by == "targets reached"
    assert result.tuned.hit_rate >= settings.hit_rate
    assert result.tuned.false_alarm_rate <= settings.false_alarm_rate
    assert 1 < n_weak < settings.max_weak
    shorter = train(windows, replace(settings, max_weak=n_weak - 1))
    assert shorter.tuned.false_alarm_rate > settings.false_alarm_rate  # it stopped as soon as it could


def test_max_weak_ends_a_stage(windows):
    result = train(windows, replace(SETTINGS, max_weak=2, false_alarm_rate=1e-3))
    assert result.ended_by == "2 weak classifiers, the most allowed"
    assert len(result.stage.thresholds) == 2


def test_perfection_ends_a_stage(rng):
    bright_left = np.where(np.arange(6) < 3, 190, 60)
    positives = rng.integers(0, 40, (30, 6, 6)) + bright_left
    windows = StageWindows(positives.astype(np.uint8), positives[:, :, ::-1].astype(np.uint8), NONE, NONE)
    result = train(windows, replace(SETTINGS, hit_rate=1.0))
    assert (result.ended_by, len(result.stage.thresholds)) == ("targets reached", 1)
    assert (result.tuned.hit_rate, result.tuned.false_alarm_rate) == (1, 0)
    held_out = np.repeat(positives[:1], 60, axis=0).astype(
        np.uint8
    )  # false alarms that training does not see
    result = train(replace(windows, held_out_negatives=held_out))
    assert result.ended_by == "every training window is classified rightly"
    assert len(result.stage.thresholds) == 1
    assert result.tuned.false_alarm_rate == 1


def test_what_helps_no_more_ends_a_stage(windows, monkeypatch):
    """The stage is the best one so far, as if it had ended there, and the detector passes what training counted."""
    alike = windows.positives[:20]  # nothing tells them apart
    windows = replace(
        windows,
        negatives=np.concatenate([windows.negatives, alike]),
        held_out_negatives=NONE,
    )
    wanted = replace(SETTINGS, false_alarm_rate=1e-3, max_weak=30, baseline=False)
    events = []
    whole = train(windows, wanted, listener=events.append)
    rates = [event.tuned.false_alarm_rate for event in events if isinstance(event, RoundDone)]
    assert len(rates) == len(whole.stage.thresholds) > 10
    monkeypatch.setattr(stage, "PATIENCE", 4)
    n_best = next(n for n in range(1, 26) if min(rates[n : n + 4]) >= rates[n - 1] == min(rates[:n]))
    result = train(windows, wanted)
    assert result.ended_by == "4 more weak classifiers let no fewer false alarms pass"
    assert len(result.stage.thresholds) == n_best < len(rates)
    assert result.tuned.false_alarm_rate == rates[n_best - 1]
    assert result.stage.thresholds.tolist() == whole.stage.thresholds[:n_best].tolist()
    assert pass_rate(result.stage, windows.held_out_positives) == result.tuned.hit_rate
    assert pass_rate(result.stage, windows.negatives) == result.tuned.false_alarm_rate
    at_once = train(windows, replace(wanted, max_weak=n_best))
    assert at_once.stage.threshold == result.stage.threshold


def test_chance_ends_a_stage(windows):
    same = replace(windows, negatives=windows.positives, held_out_positives=NONE, held_out_negatives=NONE)
    result = train(same, replace(SETTINGS, costs=4.0))
    assert result.ended_by == "no further weak classifier is better than chance"
    assert result.stage.leaves.tolist() == [pytest.approx(np.log(2))] * 2  # all positive, once
    assert result.tuned.false_alarm_rate == 1
    assert train(same, replace(SETTINGS, booster="adaboost")) is None


@pytest.mark.parametrize(
    ("n_positives", "n_negatives", "expected"),
    [
        (0, 0, ("training", "training")),
        (9, 39, ("training", "training")),
        (10, 39, ("held-out", "training")),  # one miss in ten is allowed
        (9, 40, ("training", "held-out")),  # ten false alarms of forty are allowed
        (10, 40, ("held-out", "held-out")),
    ],
)
def test_rates_are_taken_from_held_out_windows_where_there_are_enough(
    windows, n_positives, n_negatives, expected
):
    windows = replace(
        windows,
        held_out_positives=windows.held_out_positives[:n_positives],
        held_out_negatives=windows.held_out_negatives[:n_negatives],
    )
    result = train(windows)
    assert (result.hit_rate_on, result.false_alarm_rate_on) == expected
    positives = windows.held_out_positives if expected[0] == "held-out" else windows.positives
    negatives = windows.held_out_negatives if expected[1] == "held-out" else windows.negatives
    assert result.tuned.hit_rate == pass_rate(result.stage, positives)
    assert result.tuned.false_alarm_rate == pass_rate(result.stage, negatives)


def test_the_baseline_is_adaboost_of_the_same_size(windows):
    windows = replace(windows, held_out_positives=NONE, held_out_negatives=NONE)
    settings = replace(SETTINGS, hit_rate=0.99, false_alarm_rate=0.05, costs=3.0)
    result = train(windows, settings)
    n_weak = len(result.stage.thresholds)
    plain = replace(settings, booster="adaboost", costs=1.0, max_weak=n_weak, false_alarm_rate=1e-6)
    alone = train(windows, plain)
    assert len(alone.stage.thresholds) == n_weak > 1
    assert alone.baseline is None
    assert result.baseline == alone.tuned != result.tuned
    assert train(windows, replace(settings, baseline=False)).baseline is None


def test_costs_lean_towards_positives(windows):
    """At the natural threshold a higher cost ratio misses fewer positives."""
    settings = replace(SETTINGS, max_weak=5, false_alarm_rate=1e-3)
    misses = [
        1 - train(windows, replace(settings, costs=ratio)).natural.hit_rate for ratio in (0.2, 1.0, 20.0)
    ]
    assert misses[0] > misses[1] > misses[2] or misses[0] > misses[1] == misses[2] == 0


def test_progress_goes_forward(windows):
    events = []
    result = train(windows, listener=events.append)
    told = [event for event in events if isinstance(event, Progress)]
    boosting = [event.done for event in told if event.part == "stage 1: boosting"]
    compared = [(e.done, e.total) for e in told if e.part == "stage 1: comparing with plain AdaBoost"]
    n_weak = len(result.stage.thresholds)
    assert len(boosting) + len(compared) == len(told)
    assert boosting == sorted(boosting)
    assert boosting[-1] == n_weak
    assert compared == [(done, n_weak) for done in range(1, n_weak + 1)]  # its share of the work is known
    assert f"{len(POOL):,} features of 210 windows" in told[0].detail


def test_every_round_is_told(windows):
    events = []
    clock = Stopwatch()
    result = StageTrainer(POOL, windows.positives, SETTINGS, listener=events.append).train(windows, 7, clock)
    rounds = [event for event in events if isinstance(event, RoundDone)]
    assert [event.n_weak for event in rounds] == list(range(1, result.stage.n_trees + 1))
    assert {event.stage for event in rounds} == {7}
    assert (rounds[-1].tuned, rounds[-1].natural) == (result.tuned, result.natural)
    assert list(clock.seconds) == ["features", "boosting", "baseline"]


def test_the_worst_false_alarms_are_kept(windows):
    """No negative that is left out scores better than the last one that is kept."""
    result = train(windows)
    assert result.false_alarms.shape == (24, 6, 6)
    cascade = Cascade(WINDOW).with_stage(replace(result.stage, threshold=np.float32(-1e9)))
    kept = evaluate_windows(cascade, result.false_alarms)[1]
    assert (np.diff(kept) <= 0).all()
    assert np.sum(evaluate_windows(cascade, windows.negatives)[1] > kept[-1]) < 24


@given(st.floats(-500, 500))
@example(300.0)
@example(300.00002)
@example(-0.25)
@example(0.0)
@settings(max_examples=300, deadline=None)
def test_a_window_with_the_threshold_score_passes_in_opencv(score):
    threshold = _file_threshold(score)
    assert threshold.dtype == np.float32
    assert np.float64(threshold - np.float32(1e-5)) <= score
    assert score - np.float64(threshold) <= 2 * np.spacing(np.float32(max(abs(score), 1e-30)))


def test_the_worst_of_the_missed_positives_are_kept(windows):
    no_objects = windows.held_out_negatives[:9]
    windows = replace(windows, positives=np.concatenate([windows.positives[:50], no_objects]))
    result = train(windows, replace(SETTINGS, max_weak=2))
    every = np.concatenate([windows.positives, windows.held_out_positives])
    accepted, scores = evaluate_windows(Cascade(WINDOW).with_stage(result.stage), every)
    missed = np.flatnonzero(accepted != 1)
    assert len(missed) > 1
    worst = missed[np.argsort(scores[missed], kind="stable")][:24]
    np.testing.assert_array_equal(result.missed, every[worst])


@pytest.mark.parametrize("score", [0.25, -3.0, 300.0])
def test_rates_follow_opencvs_rule(windows, score):
    """A window passes if its score is not below float32(threshold - 1e-5), compared in float64."""
    integrals = WindowIntegrals.of(np.concatenate([windows.positives, windows.negatives]))
    panel = _Panel(samples_of(POOL[:1], integrals, 70, 1), windows, replace(SETTINGS, max_weak=1))
    panel.hit_rate_on = panel.false_alarm_rate_on = "training"
    bar = np.float64(np.float32(score) - np.float32(1e-5))
    panel._training.positives[:] = bar
    panel._training.negatives[:] = np.nextafter(bar, -np.inf)
    rates = panel.rates(np.float32(score))
    assert (rates.hit_rate, rates.false_alarm_rate) == (1, 0)
    panel._training.positives[:] = score
    assert panel.rates(panel.tuned_threshold()).hit_rate == 1


def test_the_window_size_is_free(rng):
    window = Size(7, 4)
    windows = rng.integers(0, 256, (60, 4, 7), np.uint8)
    empty = windows[:0]
    result = train(StageWindows(windows[:25], windows[25:], empty, empty), pool=enumerate_haar(window))
    cascade = Cascade(window).with_stage(result.stage)
    assert np.mean(evaluate_windows(cascade, windows[:25])[0] == 1) == result.tuned.hit_rate


def test_a_rate_at_the_target_is_enough(windows):
    windows = replace(windows, held_out_positives=NONE, held_out_negatives=NONE)
    result = train(windows)
    met = replace(SETTINGS, false_alarm_rate=result.tuned.false_alarm_rate)
    assert len(train(windows, met).stage.thresholds) == len(result.stage.thresholds)


def test_training_positives_do_not_raise_the_threshold(windows):
    """Held-out positives may move the threshold both ways; training positives, which score too well, only down."""
    only_training = replace(windows, held_out_positives=NONE)
    by_training = [train(only_training, replace(SETTINGS, hit_rate=r, max_weak=3)) for r in (0.5, 1.0)]
    assert [r.hit_rate_on for r in by_training] == ["training"] * 2
    assert by_training[0].stage.threshold == NATURAL_THRESHOLD
    assert by_training[0].tuned == by_training[0].natural
    assert by_training[1].stage.threshold < NATURAL_THRESHOLD
    assert by_training[1].tuned.hit_rate == 1
    by_held_out = train(windows, replace(SETTINGS, hit_rate=0.5, max_weak=3))
    assert by_held_out.hit_rate_on == "held-out"
    assert by_held_out.stage.threshold > NATURAL_THRESHOLD
