"""The fast path of the scan: nodes in another order, read with 16 bits where their values fit."""

from dataclasses import replace

import builders
import numpy as np
import pytest

from vjcascade.cascade import Cascade, Stage
from vjcascade.detection.compiled import CompiledModel, Layout
from vjcascade.detection.fast_nodes import MAX_LEVEL, MAX_SHORT, fast_nodes
from vjcascade.detection.scanner import Scanner, evaluate_windows
from vjcascade.features.families import family_of
from vjcascade.features.haar import HaarMode, enumerate_haar
from vjcascade.features.lbp_pool import enumerate_lbp
from vjcascade.kernels.fast_lanes import CHECKERBOARD, EDGE, LINE, LONG, MARK, TWO
from vjcascade.types import FeatureType, Size


def glaring(rng, height, width):
    """Return a picture of black and white blocks, in which values come near what they can be."""
    blocks = rng.integers(0, 2, (height // 8 + 1, width // 8 + 1))
    picture = np.kron(blocks, np.ones((8, 8), int))[:height, :width] * 255
    return np.where(rng.random((height, width)) < 0.02, 128, picture).astype(np.uint8)


def check_every_window(cascade, picture, step=1):
    """Compare each window's stages passed with what it passes alone, cut out."""
    scanner, (width, height) = Scanner(cascade), cascade.window
    found = scanner.scan_rows(scanner.integrals(picture, step), min_stages=0)
    crops = np.array([picture[y : y + height, x : x + width] for x, y in found.positions])
    passed, sums = evaluate_windows(cascade, crops)
    np.testing.assert_array_equal(found.stages, passed)
    np.testing.assert_array_equal(found.sums, sums)
    assert len(crops) > 500


def stumps(rng, window, features, n_stages=6):
    """Return a cascade of stumps over these features, which about half of the windows pass in each stage."""
    cascade = Cascade(window)
    for part in np.array_split(features, n_stages):
        leaves = rng.normal(0, 1, (len(part), 2)).astype(np.float32)
        thresholds = rng.normal(0, 0.1, len(part)).astype(np.float32)
        cascade = cascade.with_stage(Stage(part, thresholds, leaves, np.float32(-0.5)))
    return cascade


@pytest.mark.parametrize("mode", HaarMode)
@pytest.mark.parametrize("window", [Size(20, 20), Size(40, 30)])
def test_features_of_every_shape_and_size_are_read_right(rng, mode, window):
    pool = enumerate_haar(window, mode)
    for step in (1, 2):
        cascade = stumps(rng, window, pool[rng.integers(0, len(pool), 90)])
        check_every_window(cascade, glaring(rng, 70, 140), step)


@pytest.mark.parametrize("window", [Size(24, 24), Size(60, 57)])
def test_cells_of_every_size_are_read_right(rng, window):
    pool = enumerate_lbp(window)
    features = pool[rng.integers(0, len(pool), 60)]
    nodes = builders.random_cascade(rng, kind=FeatureType.LBP, window=window, stages=(20, 20, 20))
    cascade = replace(nodes, features=np.resize(features, len(nodes.features)))
    check_every_window(cascade, glaring(rng, 110, 150))


@pytest.mark.parametrize("weights", [(-1, 2.5, 0), (-2, 3, 0), (1, -3, 0), (-1, 17, 0), (-1, 2, 3)])
def test_other_weights_are_read_right(rng, weights):
    window = Size(20, 18)
    pool = enumerate_haar(window, HaarMode.BASIC)
    features = pool[rng.integers(0, len(pool), 60)]
    used = features["weights"] != 0
    features["weights"] = np.where(used, weights, 0)
    check_every_window(stumps(rng, window, features), glaring(rng, 60, 90))


def shapes_of(window, features):
    cascade = Cascade(window).with_stage(
        Stage(
            features,
            np.zeros(len(features), np.float32),
            np.zeros((len(features), 2), np.float32),
            np.float32(0),
        )
    )
    corners = family_of(cascade.features).corners(cascade.features[cascade.nodes["feature"]], window)
    nodes = fast_nodes(cascade, corners)
    order = np.argsort(nodes.corners @ np.arange(8))  # any order will do
    return nodes.table[order, MARK] & 255


def test_values_that_fit_into_16_bits_are_read_so():
    window = Size(40, 36)
    pool = enumerate_haar(window, HaarMode.BASIC)[::97]
    weights = np.zeros((len(pool), 36, 40))
    for pixels, feature in zip(weights, pool, strict=True):
        for (x, y, w, h), weight in zip(feature["rects"], feature["weights"], strict=True):
            pixels[y : y + h, x : x + w] += weight
    highest = MAX_LEVEL * np.maximum(weights, 0).sum(axis=(1, 2))
    lowest = MAX_LEVEL * np.minimum(weights, 0).sum(axis=(1, 2))
    n_fitting = ((highest <= MAX_SHORT) & (lowest >= -MAX_SHORT)).sum()
    shapes = shapes_of(window, pool)
    assert (shapes != LONG).sum() == n_fitting
    assert 0 < n_fitting < len(pool)
    assert set(shapes) == {LONG, EDGE, LINE, CHECKERBOARD}


def test_wide_lines_and_tilted_features_are_two_rectangles():
    pool = enumerate_haar(Size(20, 20), HaarMode.ALL)
    tilted = pool[pool["tilted"] != 0][::50]
    assert (shapes_of(Size(20, 20), tilted) == TWO).mean() > 0.9


def test_trees_of_four_nodes_take_the_other_way(rng):
    cascade = builders.random_cascade(rng)
    corners = family_of(cascade.features).corners(cascade.features[cascade.nodes["feature"]], cascade.window)
    assert fast_nodes(cascade, corners) is not None
    four = np.zeros(4, cascade.nodes.dtype)
    four["left"], four["right"] = [1, 2, 3, 0], [0, -1, -2, -3]
    four["right"][3] = -4
    deep = Cascade(
        cascade.window,
        cascade.features,
        four,
        np.array([0, 4], np.int32),
        np.arange(5, dtype=np.float32),
        np.array([0, 1], np.int32),
        np.array([1.5], np.float32),
    )
    assert fast_nodes(deep, corners[:4]) is None
    check_every_window(deep, builders.smooth_noise(rng, 60, 90))


def test_few_layouts_serve_pictures_of_all_sizes():
    widths, steps = range(4, 1040), (1, 2, 3)
    layouts = [(width, Layout.fitting(width, 50, step)) for width in widths for step in steps]
    assert all(width <= layout.stride <= max(1.3 * width, width + 32) for width, layout in layouts)
    assert all(
        layout.stride % layout.step == 0 and layout.plane >= 50 * layout.stride for _, layout in layouts
    )
    assert len({layout[::2] for _, layout in layouts}) <= 75
    model = CompiledModel(Cascade(Size(24, 24)))
    model.for_layout(Layout.fitting(100, 50, 1))
    assert model.for_layout(Layout.fitting(100, 90, 1)) is model.for_layout(Layout.fitting(103, 40, 1))
