"""Which windows pass the stages so far: known without looking at any of them twice."""

from __future__ import annotations

from dataclasses import replace

import doubles
import numpy as np
import pytest

from vjcascade.cascade import Cascade
from vjcascade.detection import evaluate_windows
from vjcascade.errors import TrainingError
from vjcascade.features.binning import HaarBins
from vjcascade.files import MODEL_NAME
from vjcascade.training import survivors as module
from vjcascade.training.data.training_data import TrainingData
from vjcascade.training.events import MiningDone, StageDone
from vjcascade.training.mining.retained_negatives import RetainedNegatives
from vjcascade.training.stage import StagePassed, StageWindows
from vjcascade.training.survivors import Survivors

SETTINGS = doubles.SETTINGS


@pytest.fixture
def evaluated(monkeypatch):
    """Return a list that gets, for every window that meets a cascade, its bytes and how many stages it meets."""
    seen = []

    def spy(cascade, windows, n_threads=None):
        seen.extend((window.tobytes(), cascade.n_stages) for window in windows)
        return evaluate_windows(cascade, windows, n_threads)

    monkeypatch.setattr(module, "evaluate_windows", spy)
    return seen


@pytest.fixture
def data(rng):
    return TrainingData.split(*doubles.hard_data(rng), SETTINGS)


def random_passed(rng, windows):
    names = ("positives", "negatives", "held_out_positives", "held_out_negatives")
    kept = {name: np.flatnonzero(rng.random(len(getattr(windows, name))) < 0.6) for name in names}
    return StagePassed(**kept)


def all_positives():
    data = TrainingData.split(*doubles.hard_data(np.random.default_rng(440)), SETTINGS)
    return [window.tobytes() for window in (*data.positives, *data.held_out_positives)]


def test_in_a_run_every_positive_meets_the_stages_once(tmp_path, evaluated):
    """Each stage's training says what passes it; before, positives are only looked at for their contrast."""
    doubles.small_run(tmp_path)
    assert sorted(evaluated) == sorted((window, 0) for window in all_positives())


def test_a_resumed_run_looks_at_the_stages_before_once(tmp_path, evaluated):
    doubles.small_run(tmp_path, replace(SETTINGS, max_stages=2))
    evaluated.clear()
    doubles.small_run(tmp_path, resume=True)
    assert sorted(evaluated) == sorted((window, 2) for window in all_positives())


def test_records_say_what_the_model_lets_pass(tmp_path):
    records = []
    doubles.small_run(tmp_path, listener=records.append)
    records = [event.record for event in records if isinstance(event, StageDone)]
    cascade = Cascade.load(tmp_path / MODEL_NAME)
    data = TrainingData.split(*doubles.hard_data(np.random.default_rng(440)), SETTINGS)
    passed, _ = evaluate_windows(cascade, data.positives)
    held_out, _ = evaluate_windows(cascade, data.held_out_positives)
    for record in records:
        assert record.overall_held_out_hit_rate == np.mean(held_out >= record.stage)
        assert record.n_positives == np.count_nonzero(passed >= record.stage - 1)
        assert record.n_held_out_positives == np.count_nonzero(held_out >= record.stage - 1)


def test_bins_are_computed_once_for_every_window(tmp_path, monkeypatch):
    """No more windows are binned in a stage than were mined for it."""
    filled, mined, events = [], [], []
    fill = HaarBins._fill

    def spy(self, integrals, *arguments):
        filled.append(len(integrals))
        return fill(self, integrals, *arguments)

    monkeypatch.setattr(HaarBins, "_fill", spy)
    doubles.small_run(tmp_path, listener=events.append)
    records = [event.record for event in events if isinstance(event, StageDone)]
    mined = [event.n_negatives for event in events if isinstance(event, MiningDone)]
    assert filled[0] == records[0].n_positives + mined[0]
    for record, n_negatives, n_filled in zip(records[1:], mined[1:], filled[1:], strict=True):
        assert n_filled < n_negatives  # the false alarms of the stage before are known
        assert record.n_positives > 0


def test_indices_follow_stage_after_stage(data, rng):
    """What is left, and where it was in the stage before, are those windows that passed all stages."""
    survivors = Survivors(data, Cascade(doubles.WINDOW), RetainedNegatives.none(doubles.WINDOW), 1)
    negatives, before = np.empty((0, 6, 6), np.uint8), None
    for _ in range(4):
        negatives = np.concatenate([negatives, rng.integers(0, 256, (20, 6, 6), np.uint8)])
        held_out = np.concatenate([survivors.retained.held_out, rng.integers(0, 256, (9, 6, 6), np.uint8)])
        positives, held_out_positives = survivors.positive_windows()
        windows = StageWindows(positives, negatives, held_out_positives, held_out, survivors.stayed)
        training = np.concatenate([positives, negatives])
        if before is not None:
            assert np.array_equal(training[: len(windows.stayed)], before[windows.stayed])
            assert len(training) == len(windows.stayed) + 20
        passed = random_passed(rng, windows)
        survivors.update(windows, passed)
        before, negatives = training, survivors.retained.training
        assert np.array_equal(survivors.positive_windows()[0], positives[passed.positives])
        assert np.array_equal(survivors.positive_windows()[1], held_out_positives[passed.held_out_positives])
        assert np.array_equal(survivors.retained.held_out, held_out[passed.held_out_negatives])
        assert survivors.hit_rate == len(passed.positives) / len(data.positives)
        assert survivors.held_out_hit_rate == len(passed.held_out_positives) / len(data.held_out_positives)


def test_crops_outliers_decide_nothing_from_then_on(data):
    """Copies have the names of their crops. Also after the run was interrupted, and where a name is unknown."""
    n = len(data.held_out_positives)
    named = replace(data, held_out_names=tuple(f"{i % 6}.png" for i in range(n)))
    start = named, Cascade(doubles.WINDOW), RetainedNegatives.none(doubles.WINDOW), 1
    survivors = Survivors(*start)
    assert survivors.tuning_crops.tolist() == [i % 6 for i in range(n)]
    assert survivors.max_outliers(0.995) == 1
    assert survivors.exclude((4,)) == ("4.png",)
    expected = [-1 if i % 6 == 4 else i % 6 for i in range(n)]
    assert survivors.tuning_crops.tolist() == expected
    assert survivors.max_outliers(0.995) == 0
    again = Survivors(*start, outliers=["4.png", "of another run.png"])
    assert again.tuning_crops.tolist() == expected
    assert again.max_outliers(0.995) == 0


@pytest.mark.parametrize(
    ("n_crops", "expected"), [(4, 0), (5, 1), (9, 1), (10, 2), (40, 2), (60, 4), (199, 14), (200, 0)]
)
def test_as_many_crops_may_be_outliers_as_all_stages_may_lose_or_chance_may_bring(data, n_crops, expected):
    """0.995 to the power of 15 stages is 0.928. With 200, a stage may miss one in any case."""
    windows = np.repeat(data.held_out_positives[:1], n_crops, axis=0)
    survivors = Survivors(
        replace(data, held_out_positives=windows, n_held_out_copies=0, held_out_names=()),
        Cascade(doubles.WINDOW),
        RetainedNegatives.none(doubles.WINDOW),
        1,
    )
    assert survivors.max_outliers(0.995) == expected
    assert survivors.max_outliers(1.0) == 0
    for hit_rate in (0.5, 0.9, 0.95, 0.99):
        assert 0 <= survivors.max_outliers(hit_rate) < n_crops / 2


def test_a_run_without_positives_left_ends(data):
    survivors = Survivors(data, Cascade(doubles.WINDOW), RetainedNegatives.none(doubles.WINDOW), 1)
    nothing = np.empty(0, np.intp)
    windows = StageWindows(*survivors.positive_windows(), *survivors.positive_windows())
    survivors.update(windows, StagePassed(nothing, nothing, nothing, nothing))
    with pytest.raises(TrainingError, match="no positive passes the stages so far"):
        survivors.positive_windows()
