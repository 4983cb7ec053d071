"""Cascades over LBP features: the search, stages, runs, and what OpenCV makes of the files."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import builders
import doubles
import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Costs, booster_names, make_booster
from vjcascade.cascade import Cascade
from vjcascade.detection import detect, evaluate_windows
from vjcascade.features import enumerate_lbp
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.learning import histograms, search as module
from vjcascade.learning.boosting import boost
from vjcascade.learning.samples import samples_of
from vjcascade.learning.search import N_EXACT, StumpSearch
from vjcascade.learning.trees import grow_tree
from vjcascade.training.stage import StageTrainer, StageWindows
from vjcascade.types import FeatureType, Size

WINDOW = doubles.WINDOW
SETTINGS = replace(doubles.SETTINGS, features="lbp")


def make_search(rng, window, n_positives, n_negatives, step=1, n_threads=1):
    """Return a search over noise, and over positives that have something in common."""
    shape = window.height, window.width
    windows = np.stack([builders.smooth_noise(rng, *shape) for _ in range(n_positives + n_negatives)])
    windows[:n_positives, :, : window.width // 2] //= 2
    integrals = WindowIntegrals.of(windows)
    return StumpSearch(
        samples_of(enumerate_lbp(window)[::step], integrals, n_positives, n_threads), n_threads
    )


def losses_of(search, round_, booster):
    """Return every feature's least loss over its subsets, and the chosen features' ones, constants aside."""
    every = np.arange(len(search.samples.bins))
    counts, errors = search.samples.splits.points(search.samples.bins.rows(every), round_)
    losses = np.split(booster.loss(*errors, round_), np.cumsum(counts)[:-1])
    return np.array([some.min() for some in losses])


@pytest.mark.parametrize("name", booster_names())
def test_every_round_finds_the_best_features(rng, monkeypatch, name):
    """Histograms are never up to date, and still the features with the least loss of all are found."""
    monkeypatch.setattr(histograms, "MIN_SAMPLES_TO_KEEP", 1)
    monkeypatch.setattr(module, "N_LIKELY", 20)
    booster, search = make_booster(name, Costs(2, 1), 12), make_search(rng, Size(12, 12), 60, 90, step=2)
    state = BoostingState.start(search.labels)
    for _ in range(6):
        round_ = booster.begin_round(state)
        features, losses = search.best_features(round_, booster), losses_of(search, round_, booster)
        assert np.sort(losses[features]) == pytest.approx(np.sort(losses)[:N_EXACT], abs=1e-9)
        tree = grow_tree(search, booster, round_, 1)
        where = tree.leaves_of(search.values)
        vote = booster.weigh(*round_.weight_sums(where, len(tree.sides)), tree.sides, round_)
        state.add(vote.outputs[where], vote.alpha)


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr(histograms, "TILES_PER_TASK", 1)
    results = []
    for n_threads in (1, 3):
        search = make_search(np.random.default_rng(1), Size(12, 12), 60, 90, n_threads=n_threads)
        booster = make_booster("gentle", Costs())
        results.append([one.tree.stumps for one in islice(boost(search, booster), 5)])
    assert results[0] == results[1]


@pytest.mark.parametrize("name", ["cost-generalized", "gentle"])
def test_deeper_trees_fit_better(rng, name):
    search = make_search(rng, Size(9, 9), 70, 90, step=3)
    wrong = []
    for depth in (1, 2, 4):
        weak = list(islice(boost(search, make_booster(name, Costs()), max_depth=depth), 4))
        scores = sum(one.votes(search.values) for one in weak)
        wrong.append(int(np.count_nonzero((scores >= 0) != (search.labels > 0))))
    assert wrong[2] <= wrong[1] <= wrong[0]
    assert wrong[2] < wrong[0]


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
