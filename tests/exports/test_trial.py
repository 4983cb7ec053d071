"""Trials: they must be hard, and the same every time."""

import numpy as np
from builders import accept_all
from sample_cascades import assert_same

import vjcascade
from vjcascade.cascade import Cascade
from vjcascade.exports import trial as trial_module
from vjcascade.exports.trial import MAX_RAW, Trial, evolved_windows
from vjcascade.types import Size


def test_windows_stop_at_every_stage_and_some_are_accepted(model, trial):
    counts = np.bincount(trial.passed + 1, minlength=model.n_stages + 2)
    assert (counts[1:] > 20).all()
    assert trial.n_accepted == counts[-1]
    assert len(trial.raw) > 100
    assert 0 < len(trial.found) < len(trial.raw)


def test_the_same_seed_the_same_windows(model, trial):
    again = Trial.of(model, len(trial.windows))
    assert (again.windows == trial.windows).all()
    assert (again.picture == trial.picture).all()
    other, _ = evolved_windows(model, 500, np.random.default_rng(1))
    assert (other != trial.windows[:500]).any()


def test_a_real_model_is_tried_to_its_last_stage():
    cascade = Cascade.load(vjcascade.compat.data.find("frontalface"))
    _, passed = evolved_windows(cascade, 12_000, np.random.default_rng(0))
    assert set(range(cascade.n_stages + 1)) <= set(passed.tolist())


def test_windows_are_bred_in_several_generations_also_where_they_are_large(monkeypatch):
    monkeypatch.setattr(trial_module, "GENERATION_PIXELS", 40_000)
    windows, passed = evolved_windows(accept_all(Size(64, 32), n_stages=1), 60, np.random.default_rng(0))
    assert windows.shape == (60, 32, 64)
    assert (passed == 1).sum() > 30


def test_a_model_that_accepts_everything_gets_a_small_picture():
    trial = Trial.of(accept_all(n_stages=1), 100)
    assert 0 < len(trial.raw) <= MAX_RAW


def test_the_operating_point_decides_what_is_tried(model):
    point = {"n_stages": 2, "min_neighbors": 1}
    trial = Trial.of(model.with_metadata({"operating_point": point}), 500)
    assert_same(
        trial.cascade.with_metadata({}), model.first_stages(2).without_unused_features().with_metadata({})
    )
    assert trial.point.min_neighbors == 1
