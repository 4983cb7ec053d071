"""Negatives of a stage: what is carried over, what is mined, and what they say of the photos."""

from __future__ import annotations

import re

import builders
import doubles
import numpy as np
import pytest

from vjcascade.cascade import Cascade
from vjcascade.detection import evaluate_windows
from vjcascade.training.mining import negatives
from vjcascade.training.mining.mining import Mined, count_windows
from vjcascade.training.mining.negatives import Negatives, NegativesSearch, expected_pass_rate, why_too_few
from vjcascade.training.settings import TrainingSettings
from vjcascade.types import FeatureType

WINDOW = doubles.WINDOW


@pytest.fixture
def photos(rng):
    return doubles.backgrounds_of([builders.smooth_noise(rng, 20, 24) for _ in range(4)])


@pytest.fixture
def cascade(rng):
    """Return a cascade that some of the windows pass."""
    return builders.random_cascade(rng, WINDOW, (3, 3), bar=0.2)


def search(photos, **settings):
    return NegativesSearch(photos, photos.subset([]), TrainingSettings(**settings), 1, lambda _: None)


def distinct(windows):
    return {window.tobytes() for window in windows}


def test_known_windows_come_first_and_only_the_others_are_mined(photos, cascade):
    everything = search(photos).find(cascade, 10**6, np.empty((0, 6, 6), np.uint8), 1.0)
    n_all = len(everything)
    assert n_all > 50
    assert everything.mined.exhausted
    retained = everything.windows[::3]
    again = search(photos).find(cascade, 10**6, retained, 0.5)
    assert again.windows[: len(retained)].tobytes() == retained.tobytes()
    assert len(again) == n_all
    assert distinct(again.windows) == distinct(everything.windows)
    assert again.pass_rate == everything.pass_rate  # of the photos, not of what was missing
    some = search(photos).find(cascade, len(retained) + 7, retained, 0.5)
    assert len(some) == len(retained) + 7
    assert (evaluate_windows(cascade, some.windows)[0] == 2).all()


def test_nothing_is_mined_where_nothing_is_missing(photos, cascade):
    retained = search(photos).find(cascade, 30, np.empty((0, 6, 6), np.uint8), 1.0).windows
    found = search(photos).find(cascade, 30, retained, 0.25)
    assert found.windows.tobytes() == retained.tobytes()
    assert (found.mined.n_searched, found.pass_rate) == (0, 0.25)
    none = search(photos).find(cascade, 30, retained[:0], 0.25, held_out=True)  # there are no such photos
    assert (len(none), none.pass_rate) == (0, 0.25)


def test_a_pass_rate_is_never_zero(photos):
    nothing_passes = builders.random_cascade(np.random.default_rng(1), WINDOW, (2,), bar=9.0)
    found = search(photos).find(nothing_passes, 30, np.empty((0, 6, 6), np.uint8), 0.5)
    assert len(found) == 0
    assert found.pass_rate == 1 / count_windows(photos, WINDOW)


def test_the_forecast_counts_what_is_missing(photos):
    n_windows = count_windows(photos, WINDOW)
    told = search(photos).forecast(Cascade(WINDOW), 100, 0, 0.5)
    assert (
        told
        == f"stage 1: 100 new negatives, expected in about 200 windows; up to {n_windows:,} can be scanned"
    )
    told = search(photos).forecast(builders.accept_all(WINDOW, 2), 100, 40, 40 / n_windows + 0.1)
    assert told.startswith(
        "stage 3: 40 false alarms of the last stage and 60 new negatives, expected in about 600 w"
    )
    assert not told.endswith("expect fewer negatives")
    told = search(photos, max_windows=500).forecast(
        builders.accept_all(WINDOW, 2), 100, 40, 40 / n_windows + 0.1
    )
    assert told.endswith("up to 500 can be scanned: too few, so expect fewer negatives")
    told = search(photos).forecast(builders.accept_all(WINDOW, 2), 100, 40, 40 / n_windows)
    assert f"expected in about {60 * n_windows:,} windows" in told


def test_what_is_expected_is_what_was_measured_last():
    records = [doubles.stage_record(3, overall_false_alarm_rate=rate) for rate in (0.5, 0.125)]
    assert expected_pass_rate(records, 7) == 0.125
    assert expected_pass_rate([doubles.stage_record(4, overall_false_alarm_rate=1e-300)], 7) == 1e-12
    assert expected_pass_rate([], 4) == 1 / 16
    assert expected_pass_rate([], 10_000) > 0


@pytest.mark.parametrize(
    ("n_found", "n_stages", "exhausted", "sentence"),
    [
        (0, 0, True, "no negative window can be found above the contrast .* Give photos with more contrast"),
        (
            19,
            2,
            True,
            "only 19 negative windows can be found that the stages so far accept; 1,234 .* all the",
        ),
        (1, 2, False, "only 1 negative window can .* the limit for a stage. Raise max_windows"),
        (20, 2, True, "^$"),
    ],
)
def test_why_there_are_too_few(n_found, n_stages, exhausted, sentence):
    windows = np.zeros((n_found, 6, 6), np.uint8)
    found = Negatives(windows, Mined(windows[:0], 1234, 5, exhausted=exhausted), 0.5)
    cascade = builders.accept_all(WINDOW, n_stages) if n_stages else Cascade(WINDOW)
    assert re.search(sentence, why_too_few(cascade, found))


@pytest.mark.parametrize(("n_found", "how_many"), [(0, "no negative window"), (3, "only 3 negative windows")])
def test_lbp_has_no_contrast_floor(n_found, how_many):
    windows = np.zeros((n_found, 6, 6), np.uint8)
    found = Negatives(windows, Mined(windows, 1234, 5, exhausted=True), 0.5)
    assert why_too_few(Cascade.empty(WINDOW, FeatureType.LBP), found) == (
        f"{how_many} can be found; 1,234 windows were scanned, all there are. Add more photos, with more varied "
        "content"
    )


@pytest.mark.parametrize("hardest", [False, True])
def test_only_what_is_trained_on_may_be_the_hardest(photos, cascade, monkeypatch, hardest):
    """What is measured on must be what the photos have."""
    seen, mine = [], negatives.mine_negatives

    def spy(photos, cascade, n_wanted, plan, **options):
        seen.append(plan.hardest)
        return mine(photos, cascade, n_wanted, plan, **options)

    monkeypatch.setattr(negatives, "mine_negatives", spy)
    settings = TrainingSettings(hardest_negatives=hardest)
    finder = NegativesSearch(photos, photos.subset([0, 1]), settings, 1, lambda _: None)
    for held_out in (False, True):
        found = finder.find(cascade, 10, np.empty((0, 6, 6), np.uint8), 0.5, held_out=held_out)
        assert len(found) == 10
    assert seen == [hardest, False]
