"""What the new and the old format have in common: Haar features, metadata, how numbers are written.

Metadata is JSON in a comment inside the element `<vjcascade>`. It cannot be the element's plain text:
OpenCV's parser gives up at quotes in a text, at a number followed by a comma, and at words longer than 4 kB.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ModelError
from vjcascade.formats import _tree as tree
from vjcascade.formats._tree import Node, NotPlainError
from vjcascade.types import FEATURE_DTYPE

METADATA_TAG = "vjcascade"

_Node = tuple[int, Any, int, int]
"""Feature, threshold or subset, left and right child, as in `NODE_DTYPE`."""

_METADATA = f"  <{METADATA_TAG}><!--\n{{}}\n  --></{METADATA_TAG}>\n"


def haar_feature(node: Node) -> tuple[list[list[int]], list[float], bool]:
    """Read rectangles and tilt into the fields of `FEATURE_DTYPE`.

    Rectangles of zeros are absent ones. A feature of one rectangle gets it a second time, with weight 0: no sum
    changes by that, and features of `Cascade` have two rectangles or three. Neither does one if a rectangle
    without pixels, whatever its weight, becomes another one of weight 0.
    """
    rows = [tree.words_of(rect, "rects") for rect in tree.items(node, "rects")]
    if len(rows) > 3:
        raise ModelError(f"it has {len(rows)} rectangles, more than 3")
    if any(len(row) != 5 for row in rows):
        raise ModelError("a rectangle is not five numbers: x y w h weight")
    integer, real = tree.integer, tree.real
    rects = [[integer(x), integer(y), integer(w), integer(h)] for x, y, w, h, _ in rows]
    weights = [real(row[4]) for row in rows]
    while len(rects) > 1 and not any([*rects[-1], weights[-1]]):
        del rects[-1], weights[-1]
    with_pixels = [rect for rect in rects if min(rect[2:]) > 0]
    for place, rect in enumerate(rects):
        if with_pixels and min(rect[2:]) == 0:
            rects[place], weights[place] = with_pixels[0], 0.0
    if len(rects) == 1:
        rects, weights = 2 * rects, [*weights, 0.0]
    absent = 3 - len(rects)
    tilted = tree.integer_in(node, "tilted") if isinstance(node, dict) and "tilted" in node else 0
    if tilted not in {0, 1}:
        raise ModelError(f"tilted is {tilted} instead of 0 or 1")
    return rects + absent * [[0, 0, 0, 0]], weights + absent * [0.0], tilted == 1


def haar_features(nodes: list[Node]) -> NDArray[np.void]:
    """Read a list of Haar features; an error names the feature."""
    try:
        return _plain_haar_features(nodes)
    except NotPlainError:
        return np.array(tree.each(haar_feature, nodes, "feature"), FEATURE_DTYPE)


def _plain_haar_features(nodes: list[Node]) -> NDArray[np.void]:
    """Read features all at once, if each has its tilt, and two or three rectangles, all with pixels."""
    rects, tilts = tree.all_children(nodes, "rects", "tilted")
    rows, n_rects = tree.flattened(rects)
    words, lengths = tree.flattened(rows)
    tilted = tree.all_integers(tilts)
    if (lengths != 5).any() or not np.isin(n_rects, (2, 3)).all() or not np.isin(tilted, (0, 1)).all():
        raise NotPlainError
    sides = [tree.all_integers(words[i::5]) for i in range(4)]
    if (np.minimum(*sides[2:]) <= 0).any():
        raise NotPlainError
    found = np.zeros(len(nodes), FEATURE_DTYPE)
    owner = np.repeat(np.arange(len(nodes)), n_rects)
    place = np.arange(len(rows)) - (np.cumsum(n_rects) - n_rects)[owner]
    found["rects"][owner, place] = np.stack(sides, axis=1)
    found["weights"][owner, place] = tree.all_reals(words[4::5])
    found["tilted"] = tilted
    return found


def parents_first(nodes: list[_Node]) -> list[_Node]:
    """Return a tree's nodes with children after parents; as they are if that is so, or cannot be.

    OpenCV follows children wherever they are. The numbers of leaves stay.
    """
    children = [[child for child in node[2:] if child > 0] for node in nodes]
    if all(child > place for place, some in enumerate(children) for child in some):
        return nodes
    sorter = TopologicalSorter[int]({place: [] for place in range(len(nodes))})
    for place, some in enumerate(children):
        for child in some:
            sorter.add(child, place)
    try:
        order = [place for place in sorter.static_order() if place < len(nodes)]
    except CycleError:
        return nodes
    moved = {place: now for now, place in enumerate(order) if place > 0}
    return [
        (feature, test, moved.get(left, left), moved.get(right, right))
        for feature, test, left, right in (nodes[place] for place in order)
    ]


def read_metadata(root: Node) -> dict[str, Any]:
    """Read what `metadata_text` wrote; nothing, in files of others."""
    text = root.get(METADATA_TAG, "") if isinstance(root, dict) else ""
    if not isinstance(text, str):
        raise ModelError(f"the metadata in <{METADATA_TAG}> is not a text")
    if not text.strip():
        return {}
    try:
        metadata = json.loads(text, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the metadata in <{METADATA_TAG}> is not JSON ({error})") from None
    if not isinstance(metadata, dict):
        raise ModelError(f"the metadata in <{METADATA_TAG}> is not a JSON object")
    return metadata


def metadata_text(metadata: Mapping[str, Any]) -> str:
    """Return the element that holds metadata, or nothing."""
    if not metadata:
        return ""
    try:
        text = json.dumps(dict(metadata), allow_nan=False, indent=2, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(
            f"the metadata is not plain JSON ({error}); use dicts, lists, texts and numbers"
        ) from error
    return _METADATA.format(text.replace("--", "-\\u002d"))  # an XML comment must not hold two hyphens


def rect_texts(feature: np.void) -> list[str]:
    """Return the rectangles of a feature as files have them: x y w h weight."""
    return [
        f"{x} {y} {w} {h} {number_text(weight)}"
        for (x, y, w, h), weight in zip(feature["rects"], feature["weights"], strict=True)
        if w > 0
    ]


def number_text(value: np.float32) -> str:
    """Return a short decimal that is `value` again when read as float64 and rounded, as OpenCV does."""
    text = str(value)
    if np.float32(float(text)) != value:
        text = repr(float(value))  # rounding twice went wrong, as for 7.038531e-26
    return text.removesuffix("0") if text.endswith(".0") else text


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite number")
    return value
