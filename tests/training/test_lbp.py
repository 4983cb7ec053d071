"""Cascades over LBP features: stages, runs, and what OpenCV makes of the files."""

from __future__ import annotations

from dataclasses import replace

import builders
import doubles
import numpy as np
import pytest

from vjcascade.cascade import Cascade
from vjcascade.detection import detect, evaluate_windows
from vjcascade.features import enumerate_lbp
from vjcascade.training.stage import StageTrainer, StageWindows
from vjcascade.types import FeatureType

WINDOW = doubles.WINDOW
SETTINGS = replace(doubles.SETTINGS, features="lbp")


@pytest.fixture(scope="module")
def stage_windows():
    rng = np.random.default_rng(4)
    positives = doubles.hard_data(rng, n_positives=100)[0].windows
    noise = builders.smooth_noise(rng, 100, 100)
    negatives = np.stack([noise[y : y + 6, x : x + 6] for x, y in rng.integers(0, 94, (200, 2)).tolist()])
    return StageWindows(positives[:70], negatives[:140], positives[70:], negatives[140:])


def one_stage(windows, depth):
    """Return the result of a stage of trees, and a cascade of it."""
    settings = replace(SETTINGS, max_weak=6, false_alarm_rate=0.05, max_depth=depth)
    result = StageTrainer(enumerate_lbp(WINDOW), windows.positives, settings).train(windows)
    return result, Cascade.empty(WINDOW, FeatureType.LBP).with_stage(result.stage)


@pytest.mark.parametrize("depth", [1, 3])
def test_rates_are_those_of_the_detector(stage_windows, depth, tmp_path):
    result, cascade = one_stage(stage_windows, depth)
    cascade.save(tmp_path / "one.xml")
    saved = Cascade.load(tmp_path / "one.xml")
    assert saved.feature_type is FeatureType.LBP
    assert (len(saved.nodes) > saved.n_trees) == (depth > 1)
    assert result.hit_rate_on == "held-out"
    hits, false_alarms = (
        np.mean(evaluate_windows(saved, windows)[0] == 1)
        for windows in (stage_windows.held_out_positives, stage_windows.negatives)
    )
    assert (hits, false_alarms) == (result.tuned.hit_rate, result.tuned.false_alarm_rate)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the folder of a small run."""
    folder = tmp_path_factory.mktemp("lbp")
    doubles.small_run(folder, SETTINGS)
    return folder


def test_a_run_goes_on_where_it_ended(run, tmp_path):
    settings = replace(SETTINGS, max_stages=2)
    doubles.small_run(tmp_path, settings)
    whole = doubles.small_run(tmp_path, SETTINGS, n_threads=2, resume=True)
    assert whole == (run / "cascade.xml").read_bytes()
    cascade = Cascade.load(tmp_path / "cascade.xml")
    assert (cascade.feature_type, cascade.n_stages) == (FeatureType.LBP, 4)
    assert cascade.metadata["settings"]["features"] == "lbp"


def test_opencv_finds_the_same_raw_windows(oracle, run, stage_windows, tmp_path, rng):
    """With a run's stumps and with trees, in a picture that is flat in parts: LBP knows no contrast floor."""
    _, trees = one_stage(stage_windows, 3)
    trees.save(tmp_path / "trees.xml")
    picture = builders.smooth_noise(rng, 90, 120)
    picture[:20] = 90
    paths = [str(path) for path in (run / "cascade.xml", tmp_path / "trees.xml")]
    expected = oracle("raw_windows", paths=paths, gray=picture, scale_factor=1.1)
    found = [detect(picture, Cascade.load(path), scale_factor=1.1, min_neighbors=0) for path in paths]
    assert [len(some) for some in found] == expected["n_boxes"].tolist()
    assert np.array_equal(np.concatenate([some.boxes for some in found]), expected["boxes"])
    assert expected["n_boxes"].min() > 0


def test_flat_windows_are_negatives_too():
    flat = np.full((2, 6, 6), 128, np.uint8)
    assert evaluate_windows(Cascade.empty(WINDOW, FeatureType.LBP), flat)[0].tolist() == [0, 0]
