"""Bounds of feature values hold in every window, and are close in the worst one."""

from __future__ import annotations

import builders
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from model_files import lbp_cascade

from vjcascade.cascade import NODE_DTYPE, Cascade
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.inspection.feature_bounds import imbalances, one_way_nodes, value_bounds
from vjcascade.types import FEATURE_DTYPE, Size

WINDOW = Size(12, 10)


def coefficients(feature):
    """Return by which number a feature multiplies each pixel, shape (height, width); for upright ones."""
    image = np.zeros((WINDOW.height, WINDOW.width))
    for (x, y, w, h), weight in zip(feature["rects"], feature["weights"], strict=True):
        image[y : y + h, x : x + w] += weight
    return image


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_no_value_is_out_of_bounds(seed):
    rng = np.random.default_rng(seed)
    features = builders.random_features(rng, 20, WINDOW, tilted_share=0.2)
    bounds = value_bounds(Cascade(WINDOW, features))
    windows = [rng.integers(0, 256, (10, 12)).astype(np.uint8)]
    for feature in features[~features["tilted"]]:  # the window that Cauchy and Schwarz say is the worst
        pattern = coefficients(feature)
        windows.append(np.rint(127.5 + 127 * pattern / max(np.abs(pattern).max(), 1e-9)).astype(np.uint8))
    values = WindowIntegrals.of(np.stack(windows), tilted=True).values(features)
    assert (np.abs(values) <= bounds[:, np.newaxis]).all()


def test_the_bound_is_close():
    feature = np.zeros(1, FEATURE_DTYPE)
    feature["rects"][0, :2] = [(1, 1, 10, 8), (1, 1, 5, 8)]  # all of what contrast is measured in
    feature["weights"][0, :2] = [-1, 2]
    window = np.full((10, 12), 128, np.uint8)
    window[1:9, 1:6], window[1:9, 6:11] = 200, 56
    value = WindowIntegrals.of(window[np.newaxis]).values(feature)[0, 0]
    (bound,) = value_bounds(Cascade(WINDOW, feature))
    assert value == pytest.approx(1.0)
    assert value < bound < 1.01 * value


@pytest.mark.parametrize(
    ("change", "is_bounded"),
    [
        ({}, True),
        ({"rects": [(1, 1, 4, 4), (1, 1, 2, 4), (0, 0, 0, 0)]}, True),
        ({"rects": [(0, 1, 4, 4), (0, 1, 2, 4), (0, 0, 0, 0)]}, False),
        ({"rects": [(2, 6, 4, 4), (2, 6, 2, 4), (0, 0, 0, 0)]}, False),
        ({"weights": [-1, 3, 0]}, False),
        ({"tilted": True, "rects": [(6, 1, 2, 2), (6, 1, 1, 2), (0, 0, 0, 0)]}, False),
    ],
)
def test_only_what_is_proved_is_bounded(change, is_bounded):
    feature = np.zeros(1, FEATURE_DTYPE)
    feature["rects"][0, :2] = [(2, 2, 4, 4), (2, 2, 2, 4)]
    feature["weights"][0, :2] = [-1, 2]
    for name, value in change.items():
        feature[name] = value
    assert np.isfinite(value_bounds(Cascade(WINDOW, feature))).tolist() == [is_bounded]


def test_nodes_that_send_all_windows_one_way():
    feature = np.zeros(1, FEATURE_DTYPE)
    feature["rects"][0, :2] = [(2, 2, 4, 4), (2, 2, 2, 4)]
    feature["weights"][0, :2] = [-1, 2]
    (bound,) = value_bounds(Cascade(WINDOW, feature))
    nodes = np.array([(0, threshold, 0, -1) for threshold in (0, 0.9 * bound, -1.1 * bound, 5)], NODE_DTYPE)
    starts = np.arange(5, dtype=np.int32)
    leaves, one_stage = np.ones(8, np.float32), np.array([0, 4], np.int32)
    cascade = Cascade(WINDOW, feature, nodes, starts, leaves, one_stage, np.zeros(1, np.float32))
    assert one_way_nodes(cascade).tolist() == [False, False, True, True]
    assert one_way_nodes(lbp_cascade()).tolist() == [False, True, True]  # subsets of no code, and of all


def test_imbalances():
    features = np.zeros(3, FEATURE_DTYPE)
    features["rects"][:, :2] = [(2, 2, 6, 4), (4, 2, 2, 4)]
    features["weights"][:, :2] = [(-1, 3), (-1, 2), (1, 1)]
    assert imbalances(Cascade(WINDOW, features)) == pytest.approx([0, 0.2, 1])
