"""The search over LBP features."""

from __future__ import annotations

from itertools import islice

import builders
import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Costs, booster_names, make_booster
from vjcascade.features import enumerate_lbp
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.learning import histograms, search as module
from vjcascade.learning.boosting import boost
from vjcascade.learning.samples import samples_of
from vjcascade.learning.search import N_EXACT, StumpSearch
from vjcascade.learning.trees import grow_tree
from vjcascade.types import Size


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
@pytest.mark.parametrize("min_samples", [1, 10**6])
def test_every_round_finds_the_best_features(rng, monkeypatch, name, min_samples):
    """Histograms are never up to date, and still the features with the least loss of all are found."""
    monkeypatch.setattr(histograms, "MIN_SAMPLES_TO_KEEP", min_samples)
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
