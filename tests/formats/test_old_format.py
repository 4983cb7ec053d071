"""The old format, read as OpenCV 4.14 converts it."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from model_files import lbp_cascade
from sample_cascades import accept_all, assert_same, cascade_with, random_cascades

from vjcascade.errors import ModelError
from vjcascade.formats.cascade_files import dump_cascade, load_cascade, parse_cascade

OLD = dump_cascade(cascade_with({"note": "kept"}), "old").decode()


def edited(old, new):
    assert old in OLD
    return OLD.replace(old, new)


def read(text):
    return parse_cascade(text.encode(), "")


def votes(cascade):
    """Return the nodes as the old format has them: features and leaves in place."""
    nodes = cascade.nodes
    trees = np.repeat(np.arange(cascade.n_trees), np.diff(cascade.tree_starts))
    first_leaf = cascade.tree_starts[trees] + trees
    sides = [
        np.where(
            nodes[side] > 0, nodes[side], cascade.leaves[first_leaf - np.minimum(nodes[side], 0)]
        ).tolist()
        for side in ("left", "right")
    ]
    features = [[feature[name].tolist() for name in feature.dtype.names] for feature in cascade.features]
    return [features[i] for i in nodes["feature"]], nodes["threshold"].tolist(), sides


def test_what_is_written_is_read():
    cascade = cascade_with({"note": "kept"})
    again = read(OLD)
    assert votes(again) == votes(cascade)
    assert again.window == cascade.window
    assert again.metadata == cascade.metadata
    assert again.stage_thresholds.tolist() == cascade.stage_thresholds.tolist()
    assert again.nodes["feature"].tolist() == [0, 1, 2]
    assert_same(read(dump_cascade(again, "old").decode()), again)


@settings(deadline=None, max_examples=40)
@given(random_cascades())
def test_round_trip_changes_no_vote(cascade):
    try:
        again = read(dump_cascade(cascade, "old").decode())
    except ModelError as error:
        assert "OpenCV drops third rectangles of weight" in str(error)  # noqa: PT017
        return
    one, other = votes(cascade), votes(again)
    for feature, expected in zip(other[0], one[0], strict=True):
        assert feature == expected or expected[1][2] == 0  # a third rectangle of no weight is dropped
    assert one[1:] == other[1:]
    assert again.stage_starts.tolist() == cascade.stage_starts.tolist()


def test_layout_is_that_of_old_files():
    text = dump_cascade(accept_all(), "old").decode()
    assert re.sub(r"\s+", "", text) == (
        '<?xmlversion="1.0"?><opencv_storage><cascadetype_id="opencv-haar-classifier"><size>2424</size><stages>'
        "<_><!--stage0--><trees><_><!--tree0--><_><feature><rects><_>0022-1.</_><_>00122.</_></rects>"
        "<tilted>0</tilted></feature><threshold>0.</threshold><left_val>1.</left_val><right_val>1.</right_val></_></_>"
        "</trees><stage_threshold>0.</stage_threshold><parent>-1</parent><next>-1</next></_></stages></cascade>"
        "</opencv_storage>"
    )


ODD = {
    "as written": OLD,
    "one rectangle": re.sub(r"<_>\s+4 0 4 8 2.</_>", "", OLD),
    "light third rectangle": edited("8 4 1 3 0.5", "8 4 1 3 1.1e-7"),
    "third rectangle of no weight": edited("8 4 1 3 0.5", "8 4 1 3 0."),
    "second rectangle of no weight": edited("4 0 4 8 2.", "4 0 4 8 0."),
    "no tilt": re.sub(r"<tilted>\d</tilted>", "", OLD),
    "stages that were a tree": edited("<parent>-1</parent>", "<parent>3</parent>").replace(
        "<next>-1", "<next>7"
    ),
    "no parents": re.sub(r"<parent>.*</next>", "", OLD, flags=re.DOTALL),
    "padded exponents": edited("<threshold>0.1<", "<threshold>1.0000000000000001e-001<"),
    "whole numbers": edited("<left_val>-1.<", "<left_val>-1<").replace("4 0 4 8 2.", "4 0 4 8 2"),
    "another name and type": edited('cascade type_id="opencv-haar-classifier"', "a").replace(
        "</cascade>", "</a>"
    ),
    "right child": edited("<left_node>1</left_node>", "<left_val>7.</left_val>").replace(
        "<right_val>3.</right_val>", "<right_node>1</right_node>"
    ),
    "epsilon": edited("8 4 1 3 0.5", "8 4 1 3 1.19209289e-07"),  # below it in float64, and not in float32
}
assert len(set(ODD.values())) == len(ODD)


@pytest.mark.oracle
@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_files_are_read_as_opencv_converts_them(oracle, tmp_path, text):
    old, new = tmp_path / "old.xml", tmp_path / "new.xml"
    old.write_text(text)
    assert oracle("convert_old", source=old, target=new)["done"]
    ours, theirs = load_cascade(old), load_cascade(new)
    assert_same(ours.with_metadata({}), theirs)


def test_small_third_weight_is_not_written():
    cascade = read(edited("8 4 1 3 0.5", "8 4 1 3 1.2e-7"))  # not dropped
    cascade.features["weights"][2, 2] = 1e-8
    with pytest.raises(ModelError, match="feature 2: OpenCV drops third rectangles of weight"):
        dump_cascade(cascade, "old")


def test_lbp_features_are_not_written():
    with pytest.raises(ModelError, match="the old format has no LBP features"):
        dump_cascade(lbp_cascade(), "old")


@pytest.mark.parametrize("children", [[1, 0, 1, -2], [-1, 0, 0, -2]], ids=["a node", "a leaf"])
def test_shared_children_are_not_written(children):
    cascade = cascade_with()
    cascade.nodes["left"][1:], cascade.nodes["right"][1:] = children[::2], children[1::2]
    with pytest.raises(ModelError, match="tree 1: some nodes share a child or a leaf"):
        dump_cascade(cascade, "old")
