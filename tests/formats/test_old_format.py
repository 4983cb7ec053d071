"""The old format, read as OpenCV 4.14 converts it."""

import re

import builders
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from model_files import lbp_cascade
from sample_cascades import accept_all, assert_same, cascade_with, random_cascades

from vjcascade.cascade import NODE_DTYPE, Cascade
from vjcascade.detection import evaluate_windows
from vjcascade.errors import ModelError
from vjcascade.formats.cascade_files import dump_cascade, load_cascade, parse_cascade
from vjcascade.types import Size

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


def chain():
    """Return a cascade of one tree: three nodes, each but the last the parent of the next."""
    rng = np.random.default_rng(8)
    nodes = [(0, 0.01, 1, 0), (1, -0.02, -1, 2), (2, 0.0, -2, -3)]
    return Cascade(
        Size(10, 8),
        builders.random_features(rng, 3, Size(10, 8)),
        np.array(nodes, NODE_DTYPE),
        np.array([0, 3], np.int32),
        np.array([1, -2, 3, -4], np.float32),
        np.array([0, 1], np.int32),
        np.zeros(1, np.float32),
    )


def child_first_old():
    """Return the chain in the old format, its last two nodes in each other's place."""
    head, root, middle, last = re.split(r"(?=<_>\s*<feature>)", dump_cascade(chain(), "old").decode())
    last, tail = re.split(r"(?=</_></trees>)", last)
    root = root.replace("<left_node>1<", "<left_node>2<")
    middle = middle.replace("<right_node>2<", "<right_node>1<")
    return f"{head}{root}{last}{middle}{tail}"


def child_first_new():
    """Return the same in the new format."""
    head, nodes, tail = re.split(r"(?<=<internalNodes>)|(?=</internalNodes>)", dump_cascade(chain()).decode())
    words = nodes.split()
    root, middle, last = words[:4], words[4:8], words[8:]
    root[0], middle[1] = "2", "1"
    return f"{head}{' '.join([*root, *last, *middle])}{tail}"


@pytest.mark.oracle
@pytest.mark.parametrize("form", ["old", "new"])
def test_children_may_come_before_their_parents(form, oracle, rng, tmp_path):
    text = child_first_new() if form == "new" else child_first_old()
    assert text != dump_cascade(chain(), form).decode()
    crops = np.stack([builders.smooth_noise(rng, 8, 10, 2) for _ in range(200)])
    cascade = read(text)
    passed, sums = evaluate_windows(cascade, crops)
    expected = evaluate_windows(chain(), crops)
    np.testing.assert_array_equal(passed, expected[0])
    np.testing.assert_array_equal(sums, expected[1])
    (tmp_path / "model.xml").write_text(text)
    np.testing.assert_array_equal(
        passed == 1, oracle("accept_crops", xml=tmp_path / "model.xml", crops=crops)["accepted"]
    )
    assert 20 < (passed == 1).sum() < 180
    assert len(set(sums)) == 4


NO_PIXELS = {
    "first": ("0 0 8 8 -1.", "3 1 0 8 -1."),
    "second": ("4 0 4 8 2.", "4 0 4 0 2."),
    "tilted third": ("8 4 1 3 0.5", "8 4 0 3 0.5"),
}


@pytest.mark.oracle
@pytest.mark.parametrize("form", ["old", "new"])
@pytest.mark.parametrize("which", NO_PIXELS)
def test_rectangles_without_pixels_add_nothing(form, which, oracle, rng, tmp_path):
    def changed(cascade):
        text = dump_cascade(cascade, form).decode()
        assert NO_PIXELS[which][0] in text
        return text.replace(*NO_PIXELS[which])

    crops = np.stack([builders.smooth_noise(rng, 18, 20, 2) for _ in range(100)])
    cascade = cascade_with()
    features = read(changed(cascade)).features[:2]
    values = [[naive.feature_value(c, f) * naive.normalisation(c) for c in crops] for f in features]
    cascade.nodes["threshold"] = np.median(values, axis=1)[[0, 1, 0]]  # so that every leaf votes
    (tmp_path / "model.xml").write_text(changed(cascade))
    cascade = load_cascade(tmp_path / "model.xml")
    passed, _ = evaluate_windows(cascade, crops)
    theirs = oracle("accept_crops", xml=tmp_path / "model.xml", crops=crops)["accepted"]
    np.testing.assert_array_equal(passed == 1, theirs)
    assert 20 < theirs.sum() < 90
    assert_same(read(dump_cascade(cascade).decode()), cascade)


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
