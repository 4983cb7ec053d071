"""Finished models are cut, shifted and freed of unused features; metadata claims no more than is still true."""

from __future__ import annotations

import builders
import numpy as np
import pytest
from sample_cascades import ARRAYS, assert_same

from vjcascade.cascade import CHANGES, Cascade
from vjcascade.detection import Scanner, evaluate_windows
from vjcascade.errors import ModelError, SettingsError
from vjcascade.types import FeatureType, Size

MADE = {"window": "12x10", "settings": {"seed": 3}, "data": {"photos": 5}}
RECORDS = [{"stage": n, "overall_hit_rate": 1 - n / 100} for n in (1, 2, 3)]


@pytest.fixture(params=[FeatureType.HAAR, FeatureType.LBP])
def cascade(request, rng):
    return builders.random_cascade(rng, Size(12, 10), (3, 4, 5), kind=request.param, tree_share=0.5)


@pytest.fixture
def windows(rng):
    noise = builders.smooth_noise(rng, 40, 40)
    return np.lib.stride_tricks.sliding_window_view(noise, (10, 12)).reshape(-1, 10, 12)


def test_first_stages_decide_as_the_whole_model(cascade, windows):
    passed, _ = evaluate_windows(cascade, windows)
    for n in range(4):
        assert (evaluate_windows(cascade.first_stages(n), windows)[0] == np.minimum(passed, n)).all()


def test_all_stages_are_the_model_itself(cascade):
    assert cascade.first_stages(3) is cascade
    assert cascade.with_shifted_thresholds(0) is cascade
    assert cascade.with_shifted_thresholds(1, 0) is cascade


@pytest.mark.parametrize("n", [-1, 4, 1.5, "2", True, None])
def test_other_numbers_of_stages_are_refused(cascade, n):
    with pytest.raises(SettingsError, match=rf"stages {n!r} is not a whole number from 0 to 3; as many as"):
        cascade.first_stages(n)


def test_thresholds_of_the_last_stages_are_shifted_in_float32(cascade):
    shifted = cascade.with_shifted_thresholds(-0.1, 2)
    wanted = cascade.stage_thresholds + np.float32([0, -0.1, -0.1])
    assert shifted.stage_thresholds.tobytes() == wanted.tobytes()
    for name in set(ARRAYS) - {"stage_thresholds"}:
        assert getattr(shifted, name) is getattr(cascade, name)
    assert (cascade.with_shifted_thresholds(0.25).stage_thresholds == cascade.stage_thresholds + 0.25).all()


def test_lower_thresholds_let_more_windows_pass(cascade, windows):
    n_passing = [
        (evaluate_windows(cascade.with_shifted_thresholds(shift), windows)[0] == 3).sum()
        for shift in (-2, 0, 2)
    ]
    assert n_passing == sorted(n_passing, reverse=True)
    assert n_passing[0] > n_passing[1] > 0


@pytest.mark.parametrize("shift", [np.nan, np.inf, -np.inf, "1", None])
def test_other_shifts_are_refused(cascade, shift):
    with pytest.raises(SettingsError, match=f"shift of the thresholds {shift!r} is not"):
        cascade.with_shifted_thresholds(shift)
    with pytest.raises(SettingsError, match="last stages 4 is not a whole number from 0 to 3"):
        cascade.with_shifted_thresholds(1, 4)
    with pytest.raises(ModelError, match="a stage threshold is not a finite number"):
        cascade.with_shifted_thresholds(1e39)


def test_unused_features_are_dropped(cascade, windows):
    bare = cascade.first_stages(1).without_unused_features()
    assert 0 < len(bare.features) < len(cascade.features)
    assert set(bare.nodes["feature"]) == set(range(len(bare.features)))
    whole = cascade.first_stages(1)
    assert (bare.features[bare.nodes["feature"]] == whole.features[whole.nodes["feature"]]).all()
    for got, wanted in zip(evaluate_windows(bare, windows), evaluate_windows(whole, windows), strict=True):
        assert got.tolist() == wanted.tolist()
    assert bare.metadata == whole.metadata
    assert bare.without_unused_features() is bare


def test_a_cut_model_is_written_and_scans_as_the_whole_one(cascade, rng, tmp_path):
    cut = cascade.first_stages(2).without_unused_features()
    cut.save(tmp_path / "cut.xml")
    back = Cascade.load(tmp_path / "cut.xml")
    assert_same(back, cut)
    level = builders.smooth_noise(rng, 60, 50)
    whole, part = Scanner(cascade), Scanner(back)
    wanted = whole.scan_rows(whole.integrals(level), skip=True, min_stages=2)
    found = part.scan_rows(part.integrals(level), skip=True)
    assert found.positions.tolist() == wanted.positions.tolist()


def test_metadata_of_a_part(cascade):
    whole = cascade.with_metadata({**MADE, "stages": RECORDS, "carried_sha256": "ab", "recall": 0.9})
    cut = whole.first_stages(2)
    assert cut.metadata == {**MADE, "stages": RECORDS[:2], CHANGES: [{"first_stages": 2, "of": 3}]}
    assert whole.metadata["recall"] == 0.9
    shifted = cut.with_shifted_thresholds(-0.5, 1)
    changes = [{"first_stages": 2, "of": 3}, {"threshold_shift": -0.5, "last_stages": 1}]
    assert shifted.metadata == {**MADE, CHANGES: changes}


@pytest.mark.parametrize(
    "metadata", [{}, {"stages": "two"}, {"stages": [3, {}, {"stage": "1"}, {"stage": 3}]}, {CHANGES: "none"}]
)
def test_metadata_of_others(cascade, metadata):
    cut = cascade.with_metadata(metadata).first_stages(2)
    assert cut.metadata == {CHANGES: [{"first_stages": 2, "of": 3}]}


@pytest.mark.parametrize("skip", [0, 1, 3])
def test_two_models_in_a_row_accept_what_both_accept(cascade, windows, rng, skip):
    kind = cascade.feature_type
    other = builders.random_cascade(rng, Size(12, 10), (2, 6, 3), kind=kind, tree_share=0.5)
    rest = cascade.first_stages(2).followed_by(other, skip)
    assert rest.n_stages == 5 - skip
    first, passed = (evaluate_windows(one, windows)[0] for one in (cascade.first_stages(2), rest))
    assert (passed[first < 2] == first[first < 2]).all()
    if skip == 0:
        both = (first == 2) & (evaluate_windows(other, windows)[0] == 3)
        assert ((passed == 5) == both).all()
        assert 0 < both.sum() < (first == 2).sum()


def test_a_model_and_its_own_rest_are_the_whole_model(cascade, tmp_path):
    joined = cascade.first_stages(1).followed_by(cascade, skip=1)
    for name in set(ARRAYS) - {"features", "nodes"}:
        assert getattr(joined, name).tobytes() == getattr(cascade, name).tobytes(), name
    of_nodes, wanted = (one.features[one.nodes["feature"]] for one in (joined, cascade))
    assert of_nodes.tobytes() == wanted.tobytes()
    joined.save(tmp_path / "joined.xml")
    assert_same(Cascade.load(tmp_path / "joined.xml").with_metadata({}), joined.with_metadata({}))


def test_metadata_of_two_models_in_a_row_says_how_both_were_made(cascade):
    whole = cascade.with_metadata({**MADE, "stages": RECORDS, "baseline": {}})
    other = cascade.with_metadata({"window": "12x10", "settings": {"seed": 4}, "stages": RECORDS})
    change = {"followed_by": {"window": "12x10", "settings": {"seed": 4}}, "stages": 2, "skipped": 1}
    assert whole.followed_by(other, 1).metadata == {**MADE, "stages": RECORDS, CHANGES: [change]}


def test_what_cannot_follow_is_refused(cascade, rng):
    with pytest.raises(SettingsError, match="stages to skip 4 is not a whole number from 0 to 3"):
        cascade.followed_by(cascade, 4)
    wider = builders.random_cascade(rng, Size(14, 10), (1,), kind=cascade.feature_type)
    with pytest.raises(ModelError, match=r"a cascade of 14x10 and \w+ features cannot follow one of 12x10"):
        cascade.followed_by(wider)
