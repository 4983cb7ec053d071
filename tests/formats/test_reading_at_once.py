"""Lists of numbers, features and trees are read as a whole; that gives what reading them one by one gives."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vjcascade.errors import ModelError
from vjcascade.formats import _parts, _tree as tree, new_format
from vjcascade.formats._storage import first_element
from vjcascade.types import FEATURE_DTYPE

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.xml"))

numbers = st.one_of(
    st.integers(-(2**33), 2**33).map(str),
    st.floats(width=32).map(repr),
    st.floats(-1e40, 1e40).map(str),
    st.sampled_from(
        ["01", "+1", "-0", "1.", ".5", "1e", "0x1", "1_0", "1 2", " 1", "1\n", "", "nan", "inf", "٣"]
    ),
)
"""Words as files and mutations of them have them; in JSON, a word may have blanks."""

READERS = [(tree.all_integers, tree.integer), (tree.all_reals, tree.real)]


@pytest.mark.parametrize(("read_all", "read"), READERS)
@given(words=st.lists(numbers, max_size=4))
def test_numbers_are_those_of_reading_one_by_one(read_all, read, words):
    try:
        expected = [read(word) for word in words]
    except ModelError:
        with pytest.raises(tree.NotPlainError):
            read_all(words)
    else:
        assert read_all(words).tolist() == expected


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_models_are_those_of_reading_one_by_one(path):
    _, root = first_element(path.read_bytes())
    assert isinstance(root, dict)
    is_lbp = root["featureType"] == "LBP"
    items = tree.items(root, "features")
    if not is_lbp:
        slow = np.array([_parts.haar_feature(item) for item in items], FEATURE_DTYPE)
        assert (_parts._plain_haar_features(items) == slow).all()
    for stage in tree.items(root, "stages"):
        trees = tree.items(stage, "weakClassifiers")
        fast, slow_stage = (
            new_format._plain_stage(0.0, trees, is_lbp),
            new_format._any_stage(0.0, trees, is_lbp, "tree"),
        )
        assert all(np.array_equal(a, b) for a, b in zip(fast, slow_stage, strict=True))
        assert [part.dtype for part in fast[2:]] == [part.dtype for part in slow_stage[2:]]


RECT = ["2", "3", "4", "5", "-1"]
PLAIN = {"rects": [RECT, ["2", "3", "2", "5", "2"]], "tilted": "0"}


@pytest.mark.parametrize(
    "odd",
    [
        {"rects": PLAIN["rects"]},
        {"rects": [RECT], "tilted": "0"},
        {"rects": [*PLAIN["rects"], ["0", "0", "0", "0", "0."]], "tilted": "0"},
        {"rects": [RECT, ["2", "3", "0", "5", "2"]], "tilted": "1"},
    ],
    ids=["no tilt", "one rectangle", "rectangle of zeros", "no pixels"],
)
def test_odd_features_are_read_one_by_one(odd):
    nodes = [PLAIN, odd, PLAIN]
    with pytest.raises(tree.NotPlainError):
        _parts._plain_haar_features(nodes)
    expected = np.array([_parts.haar_feature(node) for node in nodes], FEATURE_DTYPE)
    assert (_parts.haar_features(nodes) == expected).all()


BROKEN_FEATURES = [
    "word",
    ["list"],
    {},
    {"rects": "12345", "tilted": "0"},
    {"rects": ["12345", "12345"], "tilted": "0"},
    {"rects": [RECT[:4], RECT], "tilted": "0"},
    {"rects": [RECT, RECT], "tilted": "2"},
    {"rects": [RECT, [*RECT[:4], ["1"]]], "tilted": "0"},
    {"rects": 4 * [RECT], "tilted": "0"},
]


@pytest.mark.parametrize("broken", BROKEN_FEATURES, ids=str)
def test_a_broken_feature_is_named(broken):
    with pytest.raises(ModelError, match=r"^feature 1: "):
        _parts.haar_features([PLAIN, broken])


STUMP = {"internalNodes": ["0", "-1", "7", "1.5"], "leafValues": ["-1", "1"]}
TREE = {"internalNodes": ["1", "-2", "0", "0.5", "0", "-1", "1", "2"], "leafValues": ["3", "4", "5"]}
BACKWARDS = {"internalNodes": ["2", "-2", "0", "0.5", "0", "-1", "1", "2", "1", "-3", "4", "2"]}
BACKWARDS["leafValues"] = ["3", "4", "5", "6"]


def test_trees_with_children_before_parents_are_put_in_order():
    found = new_format._any_stage(0.0, [STUMP, BACKWARDS, TREE], False, "tree")
    read = new_format.read_stage(
        {"stageThreshold": "0", "weakClassifiers": [STUMP, BACKWARDS, TREE]}, "stage", is_lbp=False
    )
    assert all(np.array_equal(a, b) for a, b in zip(read, found, strict=True))
    assert read.nodes["feature"].tolist() == [7, 0, 4, 1, 0, 1]


BROKEN_TREES = [
    "word",
    {"internalNodes": STUMP["internalNodes"]},
    {**STUMP, "leafValues": "1"},
    {**STUMP, "leafValues": ["1", "2", "3"]},
    {**STUMP, "internalNodes": ["0", "-1", "7", "nan"]},
    {**STUMP, "internalNodes": ["0", "-1", "7.5", "1"]},
    {**STUMP, "leafValues": ["1", "1e39"]},
]


@pytest.mark.parametrize("broken", BROKEN_TREES, ids=str)
def test_a_broken_tree_is_named(broken):
    stage = {"stageThreshold": "0", "weakClassifiers": [STUMP, TREE, broken]}
    with pytest.raises(ModelError, match=r"^stage 3, tree 2: "):
        new_format.read_stage(stage, "stage 3", is_lbp=False)
