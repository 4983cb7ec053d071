from dataclasses import replace

import numpy as np
import pytest

from vjcascade.cascade import LBP_NODE_DTYPE, NODE_DTYPE, Cascade, Stage, checked_window
from vjcascade.errors import ModelError, SettingsError
from vjcascade.types import FEATURE_DTYPE, LBP_DTYPE, FeatureType, Size

WINDOW = Size(20, 20)
EDGE = ([[0, 0, 8, 4], [0, 0, 4, 4], [0, 0, 0, 0]], [-1, 2, 0], False)
LINE = ([[0, 0, 9, 4], [3, 0, 3, 4], [0, 0, 0, 0]], [-1, 3, 0], False)
TILTED = ([[6, 2, 3, 3], [6, 2, 1, 3], [8, 4, 1, 3]], [-1, 3, 1], True)


def features(*items):
    return np.array(list(items), FEATURE_DTYPE)


def stage(*items, threshold=0.5):
    n = len(items)
    leaves = np.tile(np.float32([-1, 1]), (n, 1))
    return Stage(features(*items), np.arange(n, dtype=np.float32), leaves, np.float32(threshold))


def cascade():
    """Return two stages: a stump and a tree of two nodes; a stump."""
    return Cascade(
        WINDOW,
        features(EDGE, TILTED),
        np.array([(0, 0.5, 0, -1), (1, 0.5, 1, 0), (0, 0.5, -1, -2), (1, 0.5, 0, -1)], NODE_DTYPE),
        np.array([0, 1, 3, 4], np.int32),
        np.arange(7, dtype=np.float32),
        np.array([0, 2, 3], np.int32),
        np.array([0.5, 1], np.float32),
    )


def with_node(place, **fields):
    nodes = cascade().nodes.copy()
    for name, value in fields.items():
        nodes[name][place] = value
    return {"nodes": nodes}


def with_rects(rects, weights=(-1, 2, 0), tilted=False):
    return {"features": features((rects, weights, tilted), TILTED)}


def int32s(*values):
    return np.array(values, np.int32)


def float32s(*values):
    return np.array(values, np.float32)


def test_counts():
    assert (cascade().n_stages, cascade().n_trees) == (2, 3)
    assert cascade().stage_sizes.tolist() == [2, 1]


def test_empty_cascade():
    empty = Cascade(WINDOW)
    assert (empty.n_stages, empty.n_trees, len(empty.stage_sizes), len(empty.effective_thresholds)) == (
        0,
        0,
        0,
        0,
    )


def test_effective_thresholds_are_float32():
    effective = cascade().effective_thresholds
    assert effective.dtype == np.float32
    assert effective[1] == np.float32(1) - np.float32(1e-5)


def test_windows_may_be_pairs():
    for pair in ((20, 24), [20, 24], np.array([20, 24]), Size(np.int64(20), np.uint8(24))):
        window = Cascade(pair).window
        assert (window, type(window), type(window.width)) == (Size(20, 24), Size, int)


@pytest.mark.parametrize("window", [(2, 24), (24, 257), (24.0, 24), "ab", None])
def test_windows_that_cannot_be_used(window):
    with pytest.raises(SettingsError, match="whole numbers of pixels, 3 to 256"):
        checked_window(window)
    assert [checked_window((side, 3)).width for side in (3, 256)] == [3, 256]


def test_with_stage_shares_features():
    grown = Cascade(WINDOW).with_stage(stage(EDGE, LINE, EDGE)).with_stage(stage(TILTED, LINE, threshold=-1))
    assert np.array_equal(grown.features, features(EDGE, LINE, TILTED))
    assert grown.nodes["feature"].tolist() == [0, 1, 0, 2, 1]
    assert grown.nodes["threshold"].tolist() == [0, 1, 2, 0, 1]
    assert grown.tree_starts.tolist() == [0, 1, 2, 3, 4, 5]
    assert grown.stage_starts.tolist() == [0, 3, 5]
    assert grown.stage_thresholds.tolist() == [0.5, -1]
    assert grown.leaves.tolist() == [-1, 1] * 5
    assert grown.tree_starts.dtype == grown.stage_starts.dtype == np.int32


def test_with_stage_after_features_that_are_not_shared():
    old = replace(cascade(), features=features(EDGE, EDGE))
    grown = old.with_stage(stage(LINE, EDGE))
    assert np.array_equal(grown.features[grown.nodes["feature"][-2:]], features(LINE, EDGE))


def test_with_stage_leaves_the_old_cascade_alone():
    old = cascade()
    old.with_stage(stage(LINE))
    assert (old.n_stages, len(old.features)) == (2, 2)


def test_with_metadata():
    assert cascade().with_metadata({"a": 1}).metadata == {"a": 1}
    assert cascade().metadata == {}


def test_the_digest_of_stages_is_of_what_decides(tmp_path):
    """It survives a file, and metadata do not matter; every number of a stage does."""
    one = cascade()
    one.with_metadata({"a": 1}).save(tmp_path / "model.xml")
    assert Cascade.load(tmp_path / "model.xml").stages_digest == one.stages_digest
    others = [
        replace(one, window=Size(21, 20)),
        replace(one, stage_thresholds=float32s(0.5, np.nextafter(np.float32(1), np.float32(2)))),
        replace(one, leaves=one.leaves[::-1].copy()),
        replace(one, **with_node(0, threshold=0.25)),
        replace(one, features=features(EDGE, LINE)),
        replace(one, stage_starts=int32s(0, 1, 3)),
    ]
    assert len({other.stages_digest for other in [one, *others]}) == 7


def test_save_and_load(tmp_path):
    cascade().save(str(tmp_path / "model.xml"))
    assert Cascade.load(str(tmp_path / "model.xml")).nodes.tobytes() == cascade().nodes.tobytes()


@pytest.mark.parametrize(
    "changes",
    [
        with_rects([[0, 0, 20, 20], [19, 19, 1, 1], [0, 0, 0, 0]]),
        with_rects([[1, 0, 19, 1], [19, 0, 1, 1], [10, 0, 10, 10]], weights=(-1, 1, 1), tilted=True),
        with_rects([[0, 0, 8, 4], [0, 0, 4, 4], [1, 1, 2, 2]], weights=(0, 0, 0)),
        with_node(1, left=-2, right=1) | {"stage_thresholds": float32s(-1e38, 1e-45)},
    ],
    ids=["corners", "tilted corners", "weights of zero", "leaves in any order"],
)
def test_accepts(changes):
    replace(cascade(), **changes)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"window": Size(2, 20)}, "window 2x20"),
        ({"window": Size(20, 513)}, "window 20x513"),
        ({"window": Size(24.5, 24)}, "window 24.5x24"),
        ({"window": (24, 2)}, "window (24, 2)"),
        ({"window": 24}, "window 24 is"),
        ({"window": (24, 24, 24)}, "window (24, 24, 24)"),
        ({"window": "24x24"}, "window '24x24'"),
        ({"window": None}, "window None"),
        ({"features": np.zeros((2, 61), np.uint8)}, "features must be a 1-D array"),
        ({"nodes": cascade().nodes[None]}, "nodes must be a 1-D array"),
        ({"leaves": np.zeros(7)}, "leaves must be a 1-D array of float32, not 1-D of float64"),
        ({"tree_starts": np.array([0, 1, 3, 4], np.int64)}, "tree_starts must be a 1-D array of int32"),
        (with_rects([[13, 0, 8, 4], [0, 0, 4, 4], [0, 0, 0, 0]]), "feature 0: rectangle [13, 0, 8, 4]"),
        (with_rects([[0, 17, 8, 4], [0, 0, 4, 4], [0, 0, 0, 0]]), "feature 0: rectangle [0, 17, 8, 4]"),
        (with_rects([[-1, 0, 8, 4], [0, 0, 4, 4], [0, 0, 0, 0]]), "feature 0: rectangle [-1, 0, 8, 4]"),
        (with_rects([[0, 0, 8, 4], [0, 0, 0, 4], [0, 0, 0, 0]]), "feature 0: rectangle [0, 0, 0, 4]"),
        (with_rects([[2**31 - 1, 0, 2**31 - 1, 4]] * 3), "feature 0: rectangle [2147483647, 0"),
        (
            with_rects([[0, 0, 8, 4], [0, 0, 0, 0], [0, 0, 4, 4]], weights=(-1, 0, 2)),
            "rectangle [0, 0, 0, 0]",
        ),
        (
            with_rects([[0, 0, 8, 4], [0, 0, 4, 4], [0, 0, 0, 0]], weights=(-1, 2, 1)),
            "rectangle [0, 0, 0, 0]",
        ),
        (with_rects([[2, 0, 3, 3]] * 3, tilted=True), "rectangle [2, 0, 3, 3] (x, y, w, h, tilted)"),
        (with_rects([[18, 0, 3, 3]] * 3, tilted=True), "rectangle [18, 0, 3, 3]"),
        (with_rects([[8, 15, 3, 3]] * 3, tilted=True), "rectangle [8, 15, 3, 3]"),
        (
            with_rects([[0, 0, 8, 4]] * 3, weights=(-1, np.inf, 1)),
            "a rectangle weight is not a finite number",
        ),
        (with_node(0, threshold=np.nan), "a node threshold is not a finite number"),
        ({"leaves": float32s(0, 1, 2, np.inf, 4, 5, 6)}, "a leaf value is not a finite number"),
        ({"stage_thresholds": float32s(0, np.nan)}, "a stage threshold is not a finite number"),
        ({"tree_starts": int32s()}, "tree_starts must run from 0 to 4"),
        ({"tree_starts": int32s(0, 1, 3)}, "tree_starts must run from 0 to 4"),
        ({"tree_starts": int32s(1, 2, 3, 4)}, "tree_starts must run from 0 to 4"),
        ({"tree_starts": int32s(0, 3, 3, 4)}, "tree 1 is empty"),
        ({"tree_starts": int32s(0, 2**31 - 1, -(2**31), 4)}, "tree 1 is empty"),
        ({"stage_starts": int32s(0, 0, 3)}, "stage 0 is empty"),
        ({"stage_starts": int32s(0, 2, 4)}, "stage_starts must run from 0 to 3"),
        ({"leaves": float32s(0, 1, 2)}, "3 leaf values do not fit 4 nodes in 3 trees"),
        ({"stage_thresholds": float32s(0)}, "1 stage thresholds do not fit 2 stages"),
        (with_node(3, feature=2), "node 3 has feature 2, but there are 2 features"),
        (with_node(3, feature=-1), "node 3 has feature -1, but there are 2 features"),
        (with_node(2, left=1), "node 2: left child 1 is not a later node or a leaf of its tree"),
        (with_node(1, left=2), "node 1: left child 2"),
        (with_node(2, right=-3), "node 2: right child -3"),
        (with_node(2, right=-(2**31)), "node 2: right child -2147483648"),
        (with_node(0, left=-1, right=0), "node 0 is a stump"),
    ],
)
def test_refuses(changes, sentence):
    with pytest.raises(ModelError) as caught:
        replace(cascade(), **changes)
    assert sentence in str(caught.value)


def test_refuses_a_stage_without_weak_classifiers():
    with pytest.raises(ModelError, match="stage 2 is empty"):
        cascade().with_stage(stage())


def test_is_shown_in_one_line():
    assert repr(cascade()) == "<Cascade: window 20x20, 2 stages, 3 weak classifiers, 2 Haar features>"


def lbp_stage(*cells):
    subsets = np.arange(8 * len(cells), dtype=np.uint32).reshape(-1, 8)
    leaves = np.tile(np.float32([-1, 1]), (len(cells), 1))
    some = np.array([(cell,) for cell in cells], LBP_DTYPE)
    return Stage(some, np.zeros(len(cells), np.float32), leaves, np.float32(0.5), subsets=subsets)


def test_stages_over_lbp_features_share_them():
    first, second = (1, 2, 3, 4), (0, 0, 2, 2)
    longer = Cascade.empty(WINDOW, FeatureType.LBP).with_stage(lbp_stage(first, second))
    longer = longer.with_stage(lbp_stage(second))
    assert longer.feature_type is FeatureType.LBP
    assert longer.features["cell"].tolist() == [list(first), list(second)]
    assert longer.nodes.dtype == LBP_NODE_DTYPE
    assert longer.nodes["feature"].tolist() == [0, 1, 1]
    assert longer.nodes["subset"][:, 7].tolist() == [7, 15, 7]


def test_stages_over_features_of_two_types_do_not_fit():
    with pytest.raises(ModelError, match="cannot be added to a cascade over HAAR features"):
        Cascade(WINDOW).with_stage(lbp_stage((0, 0, 2, 2)))
    with pytest.raises(ModelError, match="cannot be added to a cascade over LBP features"):
        Cascade.empty(WINDOW, FeatureType.LBP).with_stage(stage(EDGE))
