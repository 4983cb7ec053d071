"""OpenCV's cascade format, as `opencv_traincascade` wrote it and `cv2.CascadeClassifier` reads it.

Boosted Haar cascades of stumps and trees, upright and tilted, are read and written. Counts that contradict
the lists are refused, though OpenCV ignores them: only damaged files have them.

Metadata is JSON in a comment inside the element `<vjcascade>`. It cannot be the element's plain text:
OpenCV's parser gives up at quotes in a text, at a number followed by a comma, and at words longer than 4 kB.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from vjcascade.cascade import NODE_DTYPE, Cascade
from vjcascade.errors import ModelError
from vjcascade.files import write_atomic
from vjcascade.formats import _elements as xml
from vjcascade.formats._source import read_model
from vjcascade.types import FEATURE_DTYPE, Size

METADATA_TAG = "vjcascade"

_CASCADE = """\
<?xml version="1.0"?>
<opencv_storage>
<cascade type_id="opencv-cascade-classifier">
{metadata}  <stageType>BOOST</stageType>
  <featureType>HAAR</featureType>
  <height>{window.height}</height>
  <width>{window.width}</width>
  <stageParams>
    <maxWeakCount>{max_stage_size}</maxWeakCount></stageParams>
  <featureParams>
    <maxCatCount>0</maxCatCount>
    <featSize>1</featSize>
    <mode>{mode}</mode></featureParams>
  <stageNum>{n_stages}</stageNum>
  <stages>
{stages}</stages>
  <features>
{features}</features></cascade>
</opencv_storage>
"""
_METADATA = f"  <{METADATA_TAG}><!--\n{{}}\n  --></{METADATA_TAG}>\n"
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
          {x} {y} {w} {h} {weight}</_>"""


def load_xml(path: Path) -> Cascade:
    """Read a cascade file.

    Parameters
    ----------
    path : Path
        A file in OpenCV's current cascade format, at most 32 MB.

    Returns
    -------
    Cascade
        Features, stages and trees in the order of the file.

    Raises
    ------
    ModelNotFoundError
        If there is no such file.
    ModelError
        If it cannot be read, is no cascade, is damaged, or is of a kind that is not supported.

    Examples
    --------
    >>> load_xml(Path("model.xml"))  # doctest: +SKIP
    """
    return parse_xml(read_model(path), str(path))


def parse_xml(data: bytes, name: str) -> Cascade:
    """Read a cascade from the bytes of a file.

    Parameters
    ----------
    data : bytes
        The whole file.
    name : str
        What messages call it.

    Returns
    -------
    Cascade
        Features, stages and trees in the order of the file.

    Raises
    ------
    ModelError
        If it is no cascade, is damaged, or is of a kind that is not supported.

    Examples
    --------
    >>> parse_xml(b"", "model.xml")
    Traceback (most recent call last):
    vjcascade.errors.ModelError: model.xml: the file is empty; copy or download it again
    """
    with _explained(before=f"{name}: "):
        root = _cascade_element(xml.parse(data, comments_in=METADATA_TAG))
        with _explained(after="; get a fresh copy of the file, or train the cascade again"):
            return _cascade(root)


def save_xml(cascade: Cascade, path: Path) -> None:
    """Write a cascade file, whole or not at all.

    Parameters
    ----------
    cascade : Cascade
        At least one stage.
    path : Path
        The file to create or replace; its folder must exist.

    Raises
    ------
    ModelError
        If the cascade has no stage, or its metadata is not plain JSON.
    OSError
        If the file cannot be written.
    """
    write_atomic(path, dump_xml(cascade))


def dump_xml(cascade: Cascade) -> bytes:
    """Return the bytes of a cascade file; the same cascade gives the same bytes, everywhere.

    `parse_xml` gives back the cascade, bit by bit. Of the settings that `opencv_traincascade` wrote, and no
    detector reads, there are those that follow from the cascade.

    Parameters
    ----------
    cascade : Cascade
        At least one stage: OpenCV does not load a cascade without.

    Returns
    -------
    bytes
        ASCII.

    Raises
    ------
    ModelError
        If the cascade has no stage, or its metadata is not plain JSON.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> dump_xml(Cascade(Size(24, 24)))
    Traceback (most recent call last):
    vjcascade.errors.ModelError: a cascade without stages cannot be saved; train one stage or more
    """
    if cascade.n_stages == 0:
        raise ModelError("a cascade without stages cannot be saved; train one stage or more")
    text = _CASCADE.format(
        metadata=_metadata_text(cascade.metadata),
        window=cascade.window,
        max_stage_size=cascade.stage_sizes.max(),
        mode="ALL" if cascade.features["tilted"].any() else "CORE",
        n_stages=cascade.n_stages,
        stages="\n".join(_stage_text(cascade, number) for number in range(cascade.n_stages)),
        features="\n".join(_feature_text(feature) for feature in cascade.features),
    )
    return text.encode("ascii")


@contextmanager
def _explained(before: str = "", after: str = "") -> Iterator[None]:
    """Add to the message of a `ModelError` where it happened or what to do."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{before}{error}{after}") from None


def _cascade_element(storage: Element) -> Element:
    """Return the element that OpenCV takes for the cascade, if it is of a supported kind."""
    if storage.tag != "opencv_storage" or len(storage) == 0:
        raise ModelError(
            f"this XML file is not a cascade: it is a <{storage.tag[:40]}>; give a cascade of OpenCV"
        )
    root = storage[0]
    if root.get("type_id") == "opencv-haar-classifier" or root.find("size") is not None:
        raise ModelError(
            "cascades in OpenCV's old format (opencv-haar-classifier) are not supported yet; "
            "convert the file with OpenCV 4: cv2.CascadeClassifier.convert('old.xml', 'new.xml')"
        )
    if root.find("stages") is None:
        raise ModelError(
            f"this is not a cascade: its <{root.tag[:40]}> has no <stages>; "
            "of the files that opencv_traincascade writes, give cascade.xml"
        )
    _check_type(root, "stageType", "BOOST")
    _check_type(root, "featureType", "HAAR")
    return root


def _check_type(root: Element, tag: str, supported: str) -> None:
    found = " ".join(xml.words(root, tag))
    if found != supported:
        raise ModelError(
            f"cascades with {tag} {found[:40]!r} are not supported yet; give one with {supported!r}"
        )


def _cascade(root: Element) -> Cascade:
    window = Size(xml.integer_in(root, "width"), xml.integer_in(root, "height"))
    features = []
    for number, feature in enumerate(xml.items(root, "features")):
        with _explained(before=f"feature {number}: "):
            features.append(_feature(feature))
    stages = xml.items(root, "stages")
    _check_count(root, "stageNum", len(stages))
    nodes: list[tuple[int, float, int, int]] = []
    leaves: list[float] = []
    tree_starts, stage_starts, stage_thresholds = [0], [0], []
    for number, stage in enumerate(stages):
        with _explained(before=f"stage {number}: "):
            stage_thresholds.append(xml.real_in(stage, "stageThreshold"))
            trees = xml.items(stage, "weakClassifiers")
            _check_count(stage, "maxWeakCount", len(trees))
        for place, tree in enumerate(trees):
            with _explained(before=f"stage {number}, tree {place}: "):
                tree_nodes, tree_leaves = _tree(tree)
            nodes += tree_nodes
            leaves += tree_leaves
            tree_starts.append(len(nodes))
        stage_starts.append(len(tree_starts) - 1)
    return Cascade(
        window,
        np.array(features, FEATURE_DTYPE),
        np.array(nodes, NODE_DTYPE),
        np.array(tree_starts, np.int32),
        np.array(leaves, np.float32),
        np.array(stage_starts, np.int32),
        np.array(stage_thresholds, np.float32),
        _metadata(root),
    )


def _feature(element: Element) -> tuple[list[list[int]], list[float], bool]:
    """Read one item of <features> into the fields of `FEATURE_DTYPE`."""
    rows = [xml.words_of(rect) for rect in xml.items(element, "rects")]
    if len(rows) not in {2, 3}:
        raise ModelError(f"it has {len(rows)} rectangles instead of 2 or 3")
    if any(len(row) != 5 for row in rows):
        raise ModelError("a rectangle is not five numbers: x y w h weight")
    absent = 3 - len(rows)
    rects = [[xml.integer(word) for word in row[:4]] for row in rows] + absent * [[0, 0, 0, 0]]
    weights = [xml.real(row[4]) for row in rows] + absent * [0.0]
    tilted = 0 if element.find("tilted") is None else xml.integer_in(element, "tilted")
    if tilted not in {0, 1}:
        raise ModelError(f"tilted is {tilted} instead of 0 or 1")
    return rects, weights, tilted == 1


def _tree(element: Element) -> tuple[list[tuple[int, float, int, int]], list[float]]:
    """Read one weak classifier: its nodes in the fields of `NODE_DTYPE`, its leaf values."""
    words = xml.words(element, "internalNodes")
    leaves = [xml.real(word) for word in xml.words(element, "leafValues")]
    if len(words) != 4 * (len(leaves) - 1):
        raise ModelError(f"{len(words)} numbers in internalNodes do not fit {len(leaves)} leaf values")
    nodes = [
        (xml.integer(feature), xml.real(threshold), xml.integer(left), xml.integer(right))
        for left, right, feature, threshold in zip(*[iter(words)] * 4, strict=True)
    ]
    return nodes, leaves


def _metadata(root: Element) -> dict[str, Any]:
    element = root.find(METADATA_TAG)
    if element is None:
        return {}
    try:
        metadata = json.loads(element.text or "", parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the metadata in <{METADATA_TAG}> is not JSON ({error})") from None
    if not isinstance(metadata, dict):
        raise ModelError(f"the metadata in <{METADATA_TAG}> is not a JSON object")
    return metadata


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite number")
    return value


def _check_count(parent: Element, tag: str, n_items: int) -> None:
    """Compare a count, where the file has one, with what it counts."""
    if parent.find(tag) is not None and xml.integer_in(parent, tag) != n_items:
        raise ModelError(f"{tag} says {xml.integer_in(parent, tag)}, but the list has {n_items} items")


def _metadata_text(metadata: Mapping[str, Any]) -> str:
    if not metadata:
        return ""
    try:
        text = json.dumps(dict(metadata), allow_nan=False, indent=2, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(
            f"the metadata is not plain JSON ({error}); use dicts, lists, texts and numbers"
        ) from error
    return _METADATA.format(text.replace("--", "-\\u002d"))  # an XML comment must not hold two hyphens


def _stage_text(cascade: Cascade, number: int) -> str:
    first, end = cascade.stage_starts[number : number + 2]
    return _STAGE.format(
        number=number,
        size=end - first,
        threshold=_number(cascade.stage_thresholds[number]),
        trees="\n".join(_tree_text(cascade, tree) for tree in range(first, end)),
    )


def _tree_text(cascade: Cascade, tree: int) -> str:
    first, end = cascade.tree_starts[tree : tree + 2]
    nodes = (
        f"{node['left']} {node['right']} {node['feature']} {_number(node['threshold'])}"
        for node in cascade.nodes[first:end]
    )
    leaves = cascade.leaves[first + tree : end + tree + 1]
    return _TREE.format(nodes="\n            ".join(nodes), leaves=" ".join(map(_number, leaves)))


def _feature_text(feature: np.void) -> str:
    rects = [
        _RECT.format(x=x, y=y, w=w, h=h, weight=_number(weight))
        for (x, y, w, h), weight in zip(feature["rects"], feature["weights"], strict=True)
        if w > 0
    ]
    return _FEATURE.format(rects="\n".join(rects), tilted=feature["tilted"])


def _number(value: np.float32) -> str:
    """Return a short decimal that is `value` again when read as float64 and rounded, as OpenCV does."""
    text = str(value)
    if np.float32(float(text)) != value:
        text = repr(float(value))  # rounding twice went wrong, as for 7.038531e-26
    return text.removesuffix("0") if text.endswith(".0") else text
