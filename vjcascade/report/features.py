"""Features of a cascade, drawn on the mean of the positives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from vjcascade.cascade import Cascade
from vjcascade.report.svg import bar, drawing, element
from vjcascade.types import FeatureType, Size

MEAN_ID = "mean"
"""Of the picture of the mean positive in the page."""

Place = tuple[int, int, int, int]


def first_features(cascade: Cascade, stage: int, most: int) -> list[int]:
    """Return the first weak classifiers of a stage, counted from 0 in the whole cascade.

    Parameters
    ----------
    cascade : Cascade
        The model.
    stage : int
        Counted from 1.
    most : int
        How many at most.

    Returns
    -------
    list of int
        In the order of their rounds.
    """
    begin, end = cascade.stage_starts[stage - 1 : stage + 1].tolist()
    return list(range(begin, min(end, begin + most)))


def feature_drawing(cascade: Cascade, tree: int) -> str:
    """Draw the feature at the root of a weak classifier.

    Of a Haar feature, the white areas are those that are brighter than the black ones in objects, as far as this weak
    classifier goes: where lower values speak for the object, the colours are swapped. Of an LBP feature, the nine
    cells are drawn.

    Parameters
    ----------
    cascade : Cascade
        The model.
    tree : int
        Index of the weak classifier.

    Returns
    -------
    str
        An SVG drawing in window pixels.
    """
    width, height = cascade.window
    node = cascade.nodes[cascade.tree_starts[tree]]
    feature = cascade.features[node["feature"]]
    if cascade.feature_type is FeatureType.LBP:
        shapes = list(_cells(feature["cell"].tolist()))
    else:
        shapes = list(_areas(feature, swapped=_low_is_object(cascade, tree)))
    ground = [
        bar(0, 0, width, height, class_="ground"),
        element("use", href=f"#{MEAN_ID}"),
    ]
    return drawing(width, height, "feature", *ground, *shapes, class_="feature")


def mean_symbol(window: Size, address: str) -> str:
    """Return the definition of the mean positive, which all drawings of features refer to.

    Parameters
    ----------
    window : Size
        Its size.
    address : str
        The picture as a `data:` address; empty if there is none.

    Returns
    -------
    str
        An `svg` element that shows nothing.
    """
    width, height = window
    image = (
        element("image", href=address, width=width, height=height, style="image-rendering:pixelated")
        if address
        else ""
    )
    group = element("g", image or " ", id=MEAN_ID)
    return element("svg", element("defs", group), width=0, height=0, class_="hidden", aria_hidden="true")


def _areas(feature: np.void, *, swapped: bool) -> Iterator[str]:
    """Yield the rectangles; those that lie in the first one are cut out of it, as their weight outweighs its."""
    tilted = bool(feature["tilted"])
    pairs = zip(feature["rects"].tolist(), feature["weights"].tolist(), strict=True)
    rects = [(rect, weight) for rect, weight in pairs if weight != 0]
    for i, (rect, weight) in enumerate(rects):
        holes = [hole for hole, _ in rects[1:] if i == 0 and _lies_in(hole, rect, tilted=tilted)]
        path = "".join(_outline(one, tilted=tilted) for one in (rect, *holes))
        kind = "white" if (weight > 0) != swapped else "black"
        yield element("path", d=path, fill_rule="evenodd", class_=kind)


def _outline(rect: Sequence[int], *, tilted: bool) -> str:
    """Return a rectangle as a path; of one turned by 45 degrees, (x, y) is the top, and w and h go down from it."""
    x, y, w, h = rect
    if tilted:
        return f"M{x} {y}l{w} {w} {-h} {h} {-w} {-w}z"
    return f"M{x} {y}h{w}v{h}h{-w}z"


def _lies_in(inner: Sequence[int], outer: Sequence[int], *, tilted: bool) -> bool:
    (a, b, w, h), (c, d, width, height) = (_along_sides(rect, tilted=tilted) for rect in (inner, outer))
    return c <= a and d <= b and a + w <= c + width and b + h <= d + height


def _along_sides(rect: Sequence[int], *, tilted: bool) -> Sequence[int]:
    """Return a rectangle in coordinates that run along its sides."""
    x, y, w, h = rect
    return (x + y, y - x, 2 * w, 2 * h) if tilted else rect


def _cells(cell: Place) -> Iterator[str]:
    x, y, w, h = cell
    for row in range(3):
        for column in range(3):
            kind = "centre" if row == column == 1 else "cell"
            yield bar(x + column * w, y + row * h, w, h, class_=kind)


def _low_is_object(cascade: Cascade, tree: int) -> bool:
    """Tell whether values below the threshold of a stump speak for the object; of larger trees, no."""
    begin, end = cascade.tree_starts[tree : tree + 2].tolist()
    if end - begin > 1:
        return False
    left, right = cascade.leaves[begin + tree : begin + tree + 2].tolist()
    return bool(left > right)
