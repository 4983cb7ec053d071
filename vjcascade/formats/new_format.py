"""OpenCV's current format, `opencv-cascade-classifier`, as `opencv_traincascade` writes it.

Boosted cascades of stumps and trees over Haar features, upright and tilted, or LBP features. What OpenCV 4.14
makes of such a file, and what is done here where it is careless:

* It never looks at `stageParams`, `stageNum` and `maxWeakCount`, nor are they looked at here: files of which someone
  took off stages, or that were trained in pieces, have counts unlike their lists.
* `featureParams/maxCatCount` tells how long a node is: 4 numbers where it is 0 (left, right, feature,
  threshold), 3 and a subset of 8 where it is 256 (signed 32-bit words, bit `code & 31` of word `code >> 5`). Any
  other count would be read out of bounds, and is refused. OpenCV needs the element; scikit-image's LBP file,
  where it is misspelt as `featuhreParams`, is read here too.
* A node's children may come before it; such nodes are put in order here.
* It does not look at the children of stumps: the first leaf is the left one. Stumps whose children
  are not `0 -1` are refused.
* A third rectangle of weight 0 is skipped. Features of one rectangle are evaluated as such.
* It reads numbers as float64 and rounds them to float32, twice rounded where files have fewer than 17 digits.
  It rounds `2.` to 2 where an integer is due; here that is refused, as files never have it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import LBP_NODE_DTYPE, NODE_DTYPE, Cascade
from vjcascade.errors import ModelError
from vjcascade.formats import _tree as tree
from vjcascade.formats._parts import (
    haar_features,
    metadata_text,
    number_text,
    parents_first,
    read_metadata,
    rect_texts,
)
from vjcascade.formats._tree import Node, NotPlainError, explained
from vjcascade.messages import pluralize, shortened
from vjcascade.types import LBP_DTYPE, FeatureType, Size

_CASCADE = """\
<?xml version="1.0"?>
<opencv_storage>
<cascade type_id="opencv-cascade-classifier">
{metadata}  <stageType>BOOST</stageType>
  <featureType>{feature_type}</featureType>
  <height>{window.height}</height>
  <width>{window.width}</width>
  <stageParams>
    <maxWeakCount>{max_stage_size}</maxWeakCount></stageParams>
  <featureParams>
    <maxCatCount>{n_categories}</maxCatCount>
    <featSize>1</featSize>{mode}</featureParams>
  <stageNum>{n_stages}</stageNum>
  <stages>
{stages}</stages>
  <features>
{features}</features></cascade>
</opencv_storage>
"""
_MODE = "\n    <mode>{}</mode>"
_STAGE = """\
    <!-- stage {number} -->
    <_>
      <maxWeakCount>{size}</maxWeakCount>
      <stageThreshold>{threshold}</stageThreshold>
      <weakClassifiers>
{trees}</weakClassifiers></_>"""
_TREE = """\
        <_>
          <internalNodes>
            {nodes}</internalNodes>
          <leafValues>
            {leaves}</leafValues></_>"""
_FEATURE = """\
    <_>
      <rects>
{rects}</rects>
      <tilted>{tilted:d}</tilted></_>"""
_RECT = """\
        <_>
          {}</_>"""
_CELL = """\
    <_>
      <rect>
        {} {} {} {}</rect></_>"""

_SETTINGS = (
    *("boostType", "minHitRate", "maxFalseAlarm", "weightTrimRate", "maxDepth", "maxWeakCount"),
    *("mode", "stageNum"),
)
"""Settings of training that are shown to people."""

_HAAR_LENGTH, _LBP_LENGTH = 4, 11
"""Numbers of a node: left and right child, feature, threshold or subset."""

_WORD = 0xFFFFFFFF
"""The bits of a word of a subset, which files write with a sign."""

_HaarNode = tuple[int, float, int, int]
_LbpNode = tuple[int, list[int], int, int]


def read_new(root: Node) -> Cascade:
    """Read a cascade in the new format.

    Parameters
    ----------
    root : Node
        What the first top-level element of the file holds.

    Returns
    -------
    Cascade
        Features, stages and trees in the order of the file.

    Raises
    ------
    ModelError
        If it is damaged or of a kind that is not supported; the message names the stage, tree, node, feature
        or element.

    Examples
    --------
    >>> read_new({"stageType": "SVM"})
    Traceback (most recent call last):
    vjcascade.errors.ModelError: cascades with stageType 'SVM' are not supported; give one with 'BOOST'
    """
    window, feature_type = read_kind(root)
    is_lbp = feature_type is FeatureType.LBP
    items = tree.items(root, "features")
    features = np.array(tree.each(_cell, items, "feature"), LBP_DTYPE) if is_lbp else haar_features(items)
    stages = [
        read_stage(stage, f"stage {number}", is_lbp=is_lbp)
        for number, stage in enumerate(tree.items(root, "stages"))
    ]
    return cascade_of_stages(window, features, stages, read_metadata(root))


def read_kind(root: Node) -> tuple[Size, FeatureType]:
    """Return the window of a cascade and the type of its features; refuse those that are not supported."""
    _checked_type(root, "stageType", "BOOST")
    feature_type = FeatureType(_checked_type(root, "featureType", *FeatureType))
    _check_categories(root, 256 if feature_type is FeatureType.LBP else 0)
    return Size(tree.integer_in(root, "width"), tree.integer_in(root, "height")), feature_type


class ReadStage(NamedTuple):
    """A stage as it stands in a file.

    Attributes
    ----------
    threshold : float
        As written.
    sizes : ndarray of shape (n_trees,), dtype intp
        Nodes of each weak classifier.
    nodes : ndarray of shape (n_nodes,), dtype `NODE_DTYPE` or `LBP_NODE_DTYPE`
        Of all weak classifiers.
    leaves : ndarray of shape (n_nodes + n_trees,), dtype float32
        Of all weak classifiers.
    """

    threshold: float
    sizes: NDArray[np.intp]
    nodes: NDArray[np.void]
    leaves: NDArray[np.float32]


def read_stage(stage: Node, name: str, *, is_lbp: bool) -> ReadStage:
    """Read a stage.

    Parameters
    ----------
    stage : Node
        As it stands in a list of stages, or in a file of its own.
    name : str
        What messages call it.
    is_lbp : bool
        Whether its nodes split codes.

    Returns
    -------
    ReadStage
        Features are the places that the file names.

    Raises
    ------
    ModelError
        If it is damaged; the message names the tree.
    """
    with explained(f"{name}: "):
        threshold = tree.real_in(stage, "stageThreshold")
        items = tree.items(stage, "weakClassifiers")
    try:
        return _plain_stage(threshold, items, is_lbp)
    except NotPlainError:
        return _any_stage(threshold, items, is_lbp, f"{name}, tree")


def cascade_of_stages(
    window: Size, features: NDArray[np.void], stages: Sequence[ReadStage], metadata: Mapping[str, Any]
) -> Cascade:
    """Return the cascade of stages that were read.

    Parameters
    ----------
    window : Size
        Training window.
    features : ndarray of shape (n,), dtype `FEATURE_DTYPE` or `LBP_DTYPE`
        What nodes name by its place.
    stages : sequence of ReadStage
        At least one.
    metadata : mapping
        Of the cascade.

    Returns
    -------
    Cascade
        Checked.

    Raises
    ------
    ModelError
        If stages, features and window do not fit together.
    """
    sizes = np.concatenate([stage.sizes for stage in stages])
    return Cascade(
        window,
        features,
        np.concatenate([stage.nodes for stage in stages]),
        np.append(0, np.cumsum(sizes)).astype(np.int32),
        np.concatenate([stage.leaves for stage in stages]),
        np.append(0, np.cumsum([len(stage.sizes) for stage in stages])).astype(np.int32),
        np.array([stage.threshold for stage in stages], np.float32),
        metadata,
    )


def write_new(cascade: Cascade) -> str:
    """Return a cascade as a file in the new format, in XML; the same cascade gives the same text, everywhere.

    `read_new` gives back the cascade, bit by bit. Of the settings that `opencv_traincascade` wrote, and no
    detector reads, there are those that follow from the cascade.

    Parameters
    ----------
    cascade : Cascade
        At least one stage.

    Returns
    -------
    str
        ASCII.

    Raises
    ------
    ModelError
        If the metadata is not plain JSON.

    Examples
    --------
    >>> from vjcascade.formats.cascade_files import dump_cascade
    >>> dump_cascade(Cascade(Size(24, 24)))  # calls it for cascades that have stages
    Traceback (most recent call last):
    vjcascade.errors.ModelError: a cascade without stages cannot be saved; train one stage or more
    """
    is_lbp = cascade.feature_type is FeatureType.LBP
    return _CASCADE.format(
        metadata=metadata_text(cascade.metadata),
        feature_type=cascade.feature_type,
        window=cascade.window,
        max_stage_size=cascade.stage_sizes.max(),
        n_categories=256 if is_lbp else 0,
        mode="" if is_lbp else _MODE.format(_mode_text(cascade)),
        n_stages=cascade.n_stages,
        stages="\n".join(_stage_text(cascade, number) for number in range(cascade.n_stages)),
        features="\n".join(
            _CELL.format(*feature["cell"]) if is_lbp else _feature_text(feature)
            for feature in cascade.features
        ),
    )


def read_settings(root: Node) -> dict[str, str]:
    """Return what `opencv_traincascade` recorded of its settings, by its own names; no detector reads them.

    Parameters
    ----------
    root : Node
        What the first top-level element of the file holds.

    Returns
    -------
    dict of str to str
        Words of the file, numbers in a short form; nothing if it says no more than what follows from the cascade.

    Examples
    --------
    >>> read_settings({"stageParams": {"boostType": "GAB", "minHitRate": "9.9500000476837158e-01"}})
    {'boostType': 'GAB', 'minHitRate': '0.995'}
    >>> read_settings({"stageParams": {"maxWeakCount": "100"}})
    {}
    """
    stage, features = (_plain_values(root, name) for name in ("stageParams", "featureParams"))
    if not stage.keys() - {"maxWeakCount"}:
        return {}
    return {
        name: value
        for name, value in {**stage, **features, **_plain_values(root)}.items()
        if name in _SETTINGS
    }


def _plain_values(node: Node, name: str = "") -> dict[str, str]:
    """Return the plain values in the child `name`, or in the node itself, numbers in the digits of float32."""
    found = node.get(name) if name and isinstance(node, dict) else node
    words = (
        {key: value for key, value in found.items() if isinstance(value, str)}
        if isinstance(found, dict)
        else {}
    )
    return {key: _short(value) for key, value in words.items()}


def _short(word: str) -> str:
    try:
        return f"{tree.real(word):.7g}"
    except ModelError:
        return shortened(word, 40)


def _mode_text(cascade: Cascade) -> str:
    """Return the mode of the pool that features were chosen from, if it is recorded, else the least that fits."""
    settings = cascade.metadata.get("settings")
    recorded = str(settings.get("mode")).upper() if isinstance(settings, dict) else ""
    if cascade.features["tilted"].any():
        return "ALL"
    return recorded if recorded in {"BASIC", "CORE", "ALL"} else "CORE"


def _checked_type(root: Node, tag: str, *supported: str) -> str:
    found = " ".join(tree.words(root, tag))
    if found not in supported:
        raise ModelError(
            f"cascades with {tag} {found[:40]!r} are not supported; "
            f"give one with {' or '.join(map(repr, supported))}"
        )
    return found


def _check_categories(root: Node, n_categories: int) -> None:
    """Refuse nodes of another length than those of their feature type."""
    params = root.get("featureParams") if isinstance(root, dict) else None
    if isinstance(params, dict) and "maxCatCount" in params:
        found = tree.integer_in(params, "maxCatCount")
        if found != n_categories:
            raise ModelError(f"maxCatCount is {found} instead of {n_categories}")


def _cell(node: Node) -> tuple[list[int]]:
    """Read one LBP feature into the field of `LBP_DTYPE`."""
    row = tree.words(node, "rect")
    if len(row) != 4:
        raise ModelError("its rect is not four numbers: x y w h")
    return ([tree.integer(word) for word in row],)


def _plain_stage(threshold: float, items: list[Node], is_lbp: bool) -> ReadStage:
    """Read weak classifiers all at once, if children come after their parents."""
    texts, values = tree.all_children(items, "internalNodes", "leafValues")
    (words, n_words), (leaves, n_leaves) = tree.flattened(texts), tree.flattened(values)
    length, sizes = _LBP_LENGTH if is_lbp else _HAAR_LENGTH, n_leaves - 1
    if (sizes < 1).any() or (n_words != length * sizes).any():
        raise NotPlainError
    left, right, feature = (tree.all_integers(words[i::length]) for i in range(3))
    place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    if any(((child > 0) & (child <= place)).any() for child in (left, right)):
        raise NotPlainError
    nodes = np.empty(len(place), LBP_NODE_DTYPE if is_lbp else NODE_DTYPE)
    nodes["feature"], nodes["left"], nodes["right"] = feature, left, right
    if is_lbp:
        subsets = [tree.all_integers(words[i::length]) & _WORD for i in range(3, length)]
        nodes["subset"] = np.stack(subsets, axis=1)
    else:
        nodes["threshold"] = tree.all_reals(words[3::length])
    return ReadStage(threshold, sizes, nodes, tree.all_reals(leaves).astype(np.float32))


def _any_stage(threshold: float, items: list[Node], is_lbp: bool, name: str) -> ReadStage:
    """Read the weak classifiers of a stage one by one; an error has the name and number of the one it is about."""
    trees = tree.each(partial(_tree, read_node=_lbp_node if is_lbp else _haar_node), items, name)
    return ReadStage(
        threshold,
        np.array([len(nodes) for nodes, _ in trees]),
        np.array([node for nodes, _ in trees for node in nodes], LBP_NODE_DTYPE if is_lbp else NODE_DTYPE),
        np.array([leaf for _, leaves in trees for leaf in leaves], np.float32),
    )


def _tree(
    node: Node, read_node: Callable[[list[str]], _HaarNode | _LbpNode]
) -> tuple[list[_HaarNode | _LbpNode], list[float]]:
    """Read one weak classifier: its nodes and its leaf values."""
    length = _HAAR_LENGTH if read_node is _haar_node else _LBP_LENGTH
    words = tree.words(node, "internalNodes")
    leaves = [tree.real(word) for word in tree.words(node, "leafValues")]
    if len(words) != length * (len(leaves) - 1):
        n_words, n_leaves = pluralize(len(words), "number"), pluralize(len(leaves), "leaf value")
        raise ModelError(f"{n_words} in internalNodes cannot fit {n_leaves}")
    nodes = [read_node(words[i : i + length]) for i in range(0, len(words), length)]
    return parents_first(nodes), leaves


def _haar_node(words: list[str]) -> _HaarNode:
    left, right, feature, threshold = words
    return tree.integer(feature), tree.real(threshold), tree.integer(left), tree.integer(right)


def _lbp_node(words: list[str]) -> _LbpNode:
    left, right, feature, *subset = map(tree.integer, words)
    return feature, [word & _WORD for word in subset], left, right


def _stage_text(cascade: Cascade, number: int) -> str:
    first, end = cascade.stage_starts[number : number + 2]
    return _STAGE.format(
        number=number,
        size=end - first,
        threshold=number_text(cascade.stage_thresholds[number]),
        trees="\n".join(_tree_text(cascade, index) for index in range(first, end)),
    )


def _tree_text(cascade: Cascade, index: int) -> str:
    first, end = cascade.tree_starts[index : index + 2]
    test_text = _subset_text if cascade.feature_type is FeatureType.LBP else _threshold_text
    nodes = (
        f"{node['left']} {node['right']} {node['feature']} {test_text(node)}"
        for node in cascade.nodes[first:end]
    )
    leaves = cascade.leaves[first + index : end + index + 1]
    return _TREE.format(nodes="\n            ".join(nodes), leaves=" ".join(map(number_text, leaves)))


def _threshold_text(node: np.void) -> str:
    return number_text(node["threshold"])


def _subset_text(node: np.void) -> str:
    return " ".join(map(str, node["subset"].view(np.int32)))


def _feature_text(feature: np.void) -> str:
    rects = "\n".join(map(_RECT.format, rect_texts(feature)))
    return _FEATURE.format(rects=rects, tilted=feature["tilted"])
