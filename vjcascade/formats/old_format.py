"""OpenCV's old format, `opencv-haar-classifier`, as `opencv_haartraining` and `haarconv` wrote it.

OpenCV 3 and older ran such a cascade in a detector of its own. OpenCV 4 converts it into the new format as it
loads it, and has no other detector; what 4.14 makes of a file is what is read here:

* Each node holds its feature; features are numbered as nodes are, and not shared.
* A node's side is a leaf if it has `left_val` (`right_val`), otherwise `left_node` is the number of a node of
  the same tree, which may come before its parent; such nodes are put in order here. Leaves are numbered as they come,
  left before right.
* `parent` and `next` are not looked at: stages that were a tree (as once in `frontalface_alt_tree`) are run one
  after the other.
* A third rectangle whose weight is smaller than the float32 epsilon is dropped, and any missing rectangle is one of
  weight 0. More than three overrun an array in OpenCV, and are refused here.

Numbers are decimals of float32 and float64 there, of 17 digits; `1.6915600746870041e-002` is common.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import NODE_DTYPE, Cascade
from vjcascade.errors import ModelError
from vjcascade.formats import _tree as tree
from vjcascade.formats._parts import (
    haar_feature,
    metadata_text,
    number_text,
    parents_first,
    read_metadata,
    rect_texts,
)
from vjcascade.formats._tree import Node, explained
from vjcascade.messages import pluralize
from vjcascade.types import FEATURE_DTYPE, FeatureType, Size

_EPSILON = np.finfo(np.float32).eps

_CASCADE = """\
<?xml version="1.0"?>
<opencv_storage>
<cascade type_id="opencv-haar-classifier">
{metadata}  <size>
    {window.width} {window.height}</size>
  <stages>
{stages}</stages></cascade>
</opencv_storage>
"""
_STAGE = """\
    <_>
      <!-- stage {number} -->
      <trees>
{trees}</trees>
      <stage_threshold>{threshold}</stage_threshold>
      <parent>{parent}</parent>
      <next>-1</next></_>"""
_TREE = """\
        <_>
          <!-- tree {number} -->
{nodes}</_>"""
_NODE = """\
          <_>
            <feature>
              <rects>
{rects}</rects>
              <tilted>{tilted:d}</tilted></feature>
            <threshold>{threshold}</threshold>
            {left}
            {right}</_>"""
_RECT = """\
                <_>
                  {}</_>"""


class _Tree(NamedTuple):
    """A weak classifier: its nodes in the fields of `NODE_DTYPE`, their features and its leaves."""

    nodes: list[tuple[int, Any, int, int]]
    features: list[tuple[list[list[int]], list[float], bool]]
    leaves: list[float]


def read_old(root: Node) -> Cascade:
    """Read a cascade in the old format.

    Parameters
    ----------
    root : Node
        What the first top-level element of the file holds.

    Returns
    -------
    Cascade
        As OpenCV 4.14 converts it; stages and trees in the order of the file, a feature for each node.

    Raises
    ------
    ModelError
        If it is damaged; the message names the stage, tree, node or element.

    Examples
    --------
    >>> read_old({"size": ["24", "24"], "stages": [{"trees": []}]})
    Traceback (most recent call last):
    vjcascade.errors.ModelError: stage 0: stage_threshold is missing
    """
    window = tree.words(root, "size")
    if len(window) != 2:
        raise ModelError("size is not two numbers: width height")
    with explained("size: "):
        size = Size(tree.integer(window[0]), tree.integer(window[1]))
    trees: list[_Tree] = []
    n_nodes, tree_starts, stage_starts, stage_thresholds = 0, [0], [0], []
    for number, stage in enumerate(tree.items(root, "stages")):
        with explained(f"stage {number}: "):
            stage_thresholds.append(tree.real_in(stage, "stage_threshold"))
            stage_trees = tree.items(stage, "trees")
        for place, item in enumerate(stage_trees):
            with explained(f"stage {number}, tree {place}: "):
                trees.append(_tree(item, n_nodes))
            n_nodes += len(trees[-1].nodes)
            tree_starts.append(n_nodes)
        stage_starts.append(len(trees))
    return Cascade(
        size,
        np.array([feature for one in trees for feature in one.features], FEATURE_DTYPE),
        np.array([node for one in trees for node in one.nodes], NODE_DTYPE),
        np.array(tree_starts, np.int32),
        np.array([leaf for one in trees for leaf in one.leaves], np.float32),
        np.array(stage_starts, np.int32),
        np.array(stage_thresholds, np.float32),
        read_metadata(root),
    )


def write_old(cascade: Cascade) -> str:
    """Return a cascade as a file in the old format, in XML, which every OpenCV from 1 to 4 loads.

    `read_old` gives back the same stages, thresholds and votes, with a feature for each node and leaves in the order
    of nodes.

    Parameters
    ----------
    cascade : Cascade
        Haar features, at least one stage.

    Returns
    -------
    str
        ASCII.

    Raises
    ------
    ModelError
        If the old format cannot express it: LBP features, trees whose nodes share a child or a leaf, third
        rectangles of so small a weight that OpenCV drops them; or if the metadata is not plain JSON.

    Examples
    --------
    >>> from vjcascade.cascade import LBP_NODE_DTYPE
    >>> from vjcascade.types import LBP_DTYPE
    >>> write_old(Cascade(Size(24, 24), np.empty(0, LBP_DTYPE), np.empty(0, LBP_NODE_DTYPE)))
    Traceback (most recent call last):
    vjcascade.errors.ModelError: the old format has no LBP features; write the new format
    """
    if cascade.feature_type is FeatureType.LBP:
        raise ModelError("the old format has no LBP features; write the new format")
    weights = cascade.features["weights"][:, 2]
    small = np.flatnonzero((weights != 0) & (np.abs(weights) < _EPSILON))
    if len(small):
        raise ModelError(
            f"feature {small[0]}: OpenCV drops third rectangles of weight {weights[small[0]]} from files in the "
            "old format; write the new format"
        )
    return _CASCADE.format(
        metadata=metadata_text(cascade.metadata),
        window=cascade.window,
        stages="\n".join(_stage_text(cascade, number) for number in range(cascade.n_stages)),
    )


def _tree(item: Node, n_nodes: int) -> _Tree:
    """Read one weak classifier; its features are numbered from `n_nodes`."""
    found = _Tree([], [], [])
    if not isinstance(item, list) or not item:
        raise ModelError("it is not a list of nodes")
    for place, node in enumerate(item):
        with explained(f"node {place}: "):
            feature = haar_feature(tree.child(node, "feature"))
            is_light = np.abs(np.float32(feature[1][2])) < _EPSILON
            found.features.append(_without_third(feature) if is_light else feature)
            threshold = tree.real_in(node, "threshold")
            left, right = (_child(node, side, found.leaves) for side in ("left", "right"))
            if len(item) > 1 or (left, right) == (0, -1):
                found.nodes.append((n_nodes + place, threshold, left, right))
                continue
            raise ModelError("it is alone in its tree, and does not have both left_val and right_val")
    if len(found.leaves) != len(item) + 1:
        size, n_leaves = pluralize(len(item), "node"), pluralize(len(found.leaves), "leaf value")
        raise ModelError(f"{size} cannot fit {n_leaves}")
    return found._replace(nodes=parents_first(found.nodes))


def _without_third(
    feature: tuple[list[list[int]], list[float], bool],
) -> tuple[list[list[int]], list[float], bool]:
    rects, weights, tilted = feature
    return [*rects[:2], [0, 0, 0, 0]], [*weights[:2], 0.0], tilted


def _child(node: Node, side: str, leaves: list[float]) -> int:
    """Return a child as in `NODE_DTYPE`; a leaf is added to those of the tree."""
    if isinstance(node, dict) and f"{side}_val" in node:
        leaves.append(tree.real_in(node, f"{side}_val"))
        return 1 - len(leaves)
    place = tree.integer_in(node, f"{side}_node")
    if place <= 0:
        raise ModelError(f"{side}_node is {place}, which is not a later node of its tree")
    return place


def _stage_text(cascade: Cascade, number: int) -> str:
    first, end = cascade.stage_starts[number : number + 2]
    return _STAGE.format(
        number=number,
        trees="\n".join(_tree_text(cascade, index, index - first) for index in range(first, end)),
        threshold=number_text(cascade.stage_thresholds[number]),
        parent=number - 1,
    )


def _tree_text(cascade: Cascade, index: int, number: int) -> str:
    first, end = cascade.tree_starts[index : index + 2]
    nodes, leaves = cascade.nodes[first:end], cascade.leaves[first + index : end + index + 1]
    children = np.sort(np.concatenate([nodes["left"], nodes["right"]]))
    if not np.array_equal(children, np.arange(-len(nodes), len(nodes))):
        raise ModelError(
            f"tree {index}: some nodes share a child or a leaf, which the old format cannot express; "
            "write the new format"
        )
    texts = (_node_text(node, cascade.features[node["feature"]], leaves) for node in nodes)
    return _TREE.format(number=number, nodes="\n".join(texts))


def _node_text(node: np.void, feature: np.void, leaves: NDArray[np.float32]) -> str:
    return _NODE.format(
        rects="\n".join(map(_RECT.format, rect_texts(feature))),
        tilted=feature["tilted"],
        threshold=number_text(node["threshold"]),
        left=_child_text("left", node["left"], leaves),
        right=_child_text("right", node["right"], leaves),
    )


def _child_text(side: str, child: int, leaves: NDArray[np.float32]) -> str:
    if child > 0:
        return f"<{side}_node>{child}</{side}_node>"
    return f"<{side}_val>{number_text(leaves[-child])}</{side}_val>"
