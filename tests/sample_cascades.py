"""Cascades made by hand and drawn at random, for tests of model files."""

import numpy as np
from hypothesis import strategies as st

from vjcascade.cascade import NODE_DTYPE, Cascade
from vjcascade.types import FEATURE_DTYPE, Size

ARRAYS = ("features", "nodes", "tree_starts", "leaves", "stage_starts", "stage_thresholds")


def cascade_with(metadata=None, leaves=(-1, 2, 3, -4, 5), thresholds=(0.25,)):
    """Return one stage of a stump and a tree of two nodes; an upright and a tilted feature of 2 and 3 rectangles."""
    features = [
        ([[0, 0, 8, 8], [4, 0, 4, 8], [0, 0, 0, 0]], [-1, 2, 0], False),
        ([[6, 2, 3, 3], [6, 2, 1, 3], [8, 4, 1, 3]], [-1, 3, 0.5], True),
    ]
    nodes = [(0, 0.1, 0, -1), (1, -2, 1, 0), (0, 1e-30, -1, -2)]
    return Cascade(
        Size(20, 18),
        np.array(features, FEATURE_DTYPE),
        np.array(nodes, NODE_DTYPE),
        np.array([0, 1, 3], np.int32),
        np.array(leaves, np.float32),
        np.array([0, 2], np.int32),
        np.array(thresholds, np.float32),
        metadata or {},
    )


def accept_all():
    """Return one stage of one stump that votes the same on both sides."""
    features = np.array([([[0, 0, 2, 2], [0, 0, 1, 2], [0, 0, 0, 0]], [-1, 2, 0], False)], FEATURE_DTYPE)
    nodes = np.array([(0, 0, 0, -1)], NODE_DTYPE)
    starts = np.array([0, 1], np.int32)
    ones = np.ones(2, np.float32)
    return Cascade(Size(24, 24), features, nodes, starts, ones, starts, np.zeros(1, np.float32))


def assert_same(one, other):
    assert one.window == other.window
    for name in ARRAYS:
        assert getattr(one, name).dtype == getattr(other, name).dtype
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert one.metadata == other.metadata


float32s = st.floats(width=32, allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)


@st.composite
def rects(draw, window, tilted):
    if not tilted:
        x, y = draw(st.integers(0, window.width - 1)), draw(st.integers(0, window.height - 1))
        return [x, y, draw(st.integers(1, window.width - x)), draw(st.integers(1, window.height - y))]
    w = draw(st.integers(1, min(window) - 1))
    h = draw(st.integers(1, min(window) - w))
    return [draw(st.integers(h, window.width - w)), draw(st.integers(0, window.height - w - h)), w, h]


@st.composite
def features(draw, window):
    tilted = draw(st.booleans())
    places = draw(st.lists(rects(window, tilted), min_size=2, max_size=3))
    weights = [draw(float32s) for _ in places]
    absent = 3 - len(places)
    return places + absent * [[0, 0, 0, 0]], weights + absent * [0.0], tilted


@st.composite
def trees(draw, n_features):
    """Draw the nodes of a tree, in breadth-first order."""
    n_nodes = draw(st.integers(1, 5))
    n_seen, n_leaves, nodes = 1, 0, []
    for place in range(n_nodes):
        children = []
        for side in range(2):
            n_slots_left = 2 * (n_seen - place) - side
            if n_seen < n_nodes and (n_slots_left == 1 or draw(st.booleans())):
                children.append(n_seen)
                n_seen += 1
            else:
                children.append(-n_leaves)
                n_leaves += 1
        nodes.append((draw(st.integers(0, n_features - 1)), draw(float32s), *children))
    return nodes


@st.composite
def random_cascades(draw):
    window = Size(draw(st.integers(3, 40)), draw(st.integers(3, 40)))
    pool = draw(st.lists(features(window), min_size=1, max_size=4))
    stages = draw(st.lists(st.lists(trees(len(pool)), min_size=1, max_size=3), min_size=1, max_size=3))
    all_trees = [tree for stage in stages for tree in stage]
    n_leaves = sum(len(tree) + 1 for tree in all_trees)
    return Cascade(
        window,
        np.array(pool, FEATURE_DTYPE),
        np.array([node for tree in all_trees for node in tree], NODE_DTYPE),
        np.cumsum([0] + [len(tree) for tree in all_trees], dtype=np.int32),
        np.array(draw(st.lists(float32s, min_size=n_leaves, max_size=n_leaves)), np.float32),
        np.cumsum([0] + [len(stage) for stage in stages], dtype=np.int32),
        np.array(draw(st.lists(float32s, min_size=len(stages), max_size=len(stages))), np.float32),
        draw(st.dictionaries(st.text(), json_values, max_size=3)),
    )
