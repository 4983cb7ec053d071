"""What windows of a scan meet: stages counted in every window, nodes as plain loops visit them."""

from __future__ import annotations

import builders
import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.detection.scales import scan_levels
from vjcascade.detection.scanner import evaluate_windows
from vjcascade.evaluation import scan_costs as module
from vjcascade.evaluation.features import features_of_stages
from vjcascade.evaluation.scan_costs import SCALE_FACTOR, nodes_visited, scan_costs, share_of_rows
from vjcascade.imaging import resize_exact
from vjcascade.types import FeatureType, Size

ARRAYS = ("n_reached", "n_passed", "n_features")


def windows_of_scan(gray, window):
    """Return every window that a detection with default settings visits, none skipped."""
    found = []
    for level in scan_levels(Size(gray.shape[1], gray.shape[0]), window, SCALE_FACTOR):
        image = resize_exact(gray, level.size)
        crops = np.lib.stride_tricks.sliding_window_view(image, (window.height, window.width))
        found.append(crops[level.rows, :: level.step].reshape(-1, window.height, window.width))
    return np.concatenate(found)


@pytest.mark.parametrize("kind", FeatureType)
def test_every_window_is_counted(rng, monkeypatch, kind):
    cascade = builders.random_cascade(rng, kind=kind, tree_share=0.6, tilted_share=0.4)
    pictures = [builders.smooth_noise(rng, 24, 30), builders.smooth_noise(rng, 16, 14)]
    pictures[0][:, 20:] = 128  # below the contrast floor
    monkeypatch.setattr(module, "WINDOWS_WALKED", 10**6)  # all
    costs = scan_costs(cascade, pictures)
    windows = np.concatenate([windows_of_scan(gray, cascade.window) for gray in pictures])
    passed, _ = evaluate_windows(cascade, windows)
    assert (costs.n_pictures, costs.n_windows) == (2, len(windows))
    for stage in range(cascade.n_stages):
        reaching = windows[passed >= stage]
        assert len(reaching) > 5
        assert costs.n_reached[stage] == len(reaching)
        assert costs.n_passed[stage] == (passed > stage).sum()
        visited = sum(naive.nodes_visited(cascade, stage, window) for window in reaching)
        assert costs.n_features[stage] == pytest.approx(visited / len(reaching))
    assert costs.reached[0] == pytest.approx((passed >= 0).mean())
    assert costs.rejected == pytest.approx(1 - costs.n_passed / costs.n_reached)
    assert costs.mean_features == pytest.approx((costs.n_reached * costs.n_features).sum() / len(windows))


@given(st.integers(0, 10**6), st.sampled_from(list(FeatureType)), st.floats(0, 1))
@settings(max_examples=15, deadline=None)
def test_nodes_are_those_of_plain_loops(seed, kind, tree_share):
    rng = np.random.default_rng(seed)
    cascade = builders.random_cascade(rng, kind=kind, tree_share=tree_share, tilted_share=0.5)
    windows = np.stack([builders.smooth_noise(rng, 10, 12) for _ in range(4)])
    for stage in range(cascade.n_stages):
        expected = [naive.nodes_visited(cascade, stage, window) for window in windows]
        assert nodes_visited(cascade, stage, windows).tolist() == expected


def test_of_stumps_each_has_one_feature(rng):
    cascade = builders.random_cascade(rng, stages=(3, 5))
    costs = scan_costs(cascade, [builders.smooth_noise(rng, 24, 30)])
    assert costs.n_features.tolist() == [3.0, 5.0]


def test_a_draw_is_near_the_whole_and_does_not_depend_on_threads(rng, monkeypatch):
    cascade = builders.random_cascade(rng, tree_share=0.5)
    pictures = [builders.smooth_noise(rng, 90, 120) for _ in range(3)]
    monkeypatch.setattr(module, "WINDOWS_WALKED", 50)
    whole = scan_costs(cascade, pictures)
    share = share_of_rows([Size(120, 90)] * 3, cascade.window, whole.n_windows // 4)
    assert share == pytest.approx(0.25, rel=0.01)
    drawn, again, other = (
        scan_costs(cascade, pictures, share=share, seed=seed, n_threads=n)
        for seed, n in ((1, 1), (1, 2), (2, 1))
    )
    assert 0.15 < drawn.n_windows / whole.n_windows < 0.35
    assert drawn.reached == pytest.approx(whole.reached, abs=0.06)
    assert drawn.mean_features == pytest.approx(whole.mean_features, rel=0.15)
    assert all(np.array_equal(getattr(drawn, name), getattr(again, name)) for name in ARRAYS)
    assert not np.array_equal(drawn.n_reached, other.n_reached)


def test_what_no_window_reaches_rejects_an_unknown_share(rng):
    cascade = builders.random_cascade(rng, tree_share=0.5, bar=1e6)
    costs = scan_costs(cascade, [builders.smooth_noise(rng, 24, 30)])
    assert costs.rejected[0] == 1
    assert np.isnan(costs.rejected[1:]).all()
    assert costs.n_features[1:].tolist() == pytest.approx(features_of_stages(cascade)[1:])
    assert costs.mean_features == pytest.approx(costs.reached[0] * costs.n_features[0])


@pytest.mark.parametrize("pictures", [[], [np.zeros((8, 40), np.uint8)]])
def test_without_windows_nothing_is_measured(rng, pictures):
    costs = scan_costs(builders.random_cascade(rng, tree_share=0.5), pictures)
    assert (costs.n_pictures, costs.n_windows, costs.mean_features) == (len(pictures), 0, 0.0)
