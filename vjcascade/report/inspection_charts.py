"""Drawings of the page of an inspection: votes of weak classifiers, bounds of stages, what stages reject."""

from __future__ import annotations

import numpy as np

from vjcascade.cascade import Cascade
from vjcascade.evaluation.scan_costs import ScanCosts
from vjcascade.inspection import StageFacts
from vjcascade.report.charts import WIDTH
from vjcascade.report.svg import bar, drawing, element, text
from vjcascade.types import FeatureType

VOTES_WIDTH = 90
"""Of the votes of a weak classifier, in their own coordinates: about as many pixels."""

MAX_LEAVES = 8
"""Of a larger tree, the first ones are drawn."""


def votes_drawing(cascade: Cascade, tree: int, largest: float) -> str:
    """Draw the threshold of a weak classifier's root, and its leaf values as bars to both sides of zero.

    Parameters
    ----------
    cascade : Cascade
        The model.
    tree : int
        Index of the weak classifier.
    largest : float
        The largest size of leaf values that is to be drawn: the length of bars.

    Returns
    -------
    str
        An SVG drawing. Of a stump, the first bar is that of windows whose value is below the threshold.
    """
    begin, end = cascade.tree_starts[tree : tree + 2].tolist()
    leaves = cascade.leaves[begin + tree : end + tree + 1].tolist()
    row, top, centre = 13, 14, VOTES_WIDTH / 2
    title = f"{_test(cascade, begin)}: votes {', '.join(f'{leaf:.4g}' for leaf in leaves[:MAX_LEAVES])}"
    drawn = [text(_test(cascade, begin).removesuffix(" codes"), centre, 10, class_="middle")]
    for number, leaf in enumerate(leaves[:MAX_LEAVES]):
        y, length = top + row * number, (centre - 2) * min(abs(leaf) / (largest or 1.0), 1.0)
        left, kind = (centre, "hit-dot") if leaf >= 0 else (centre - length, "false-dot")
        drawn.append(bar(left, y + 1, max(length, 0.5), row - 3, class_=kind))
        side, anchor = (centre - 3, "end") if leaf >= 0 else (centre + 3, "start")
        drawn.append(text(_brief(leaf), side, y + 10, class_=anchor))
    height = top + row * min(len(leaves), MAX_LEAVES)
    drawn.append(element("line", x1=centre, x2=centre, y1=top, y2=height, class_="zero"))
    return drawing(VOTES_WIDTH, height, title, *drawn)


def range_drawing(facts: StageFacts) -> str:
    """Draw between which sums the votes of a stage come out, and where its threshold lies.

    Parameters
    ----------
    facts : StageFacts
        Of the stage.

    Returns
    -------
    str
        An SVG drawing.
    """
    left, right, y = 4, WIDTH - 4, 18
    spread = facts.highest - facts.lowest
    share = (facts.threshold - facts.lowest) / spread if spread > 0 else float(facts.rejects_all)
    x = left + (right - left) * min(max(share, 0.0), 1.0)
    anchor = "start" if x < WIDTH * 0.25 else "end" if x > WIDTH * 0.75 else "middle"
    title = f"Stage {facts.stage}: sums from {facts.lowest:.4g} to {facts.highest:.4g}, threshold {facts.threshold:.4g}"
    return drawing(
        WIDTH,
        40,
        title,
        text(f"threshold {facts.threshold:.4g}", x, 11, class_=f"strong {anchor}"),
        bar(left, y, x - left, 6, class_="false-dot"),
        bar(x, y, right - x, 6, class_="hit-dot"),
        bar(x - 1, y - 4, 2, 14, class_="mark-line"),
        text(f"{facts.lowest:.4g}", left, 37),
        text(f"{facts.highest:.4g}", right, 37, class_="end"),
    )


def rejection_chart(costs: ScanCosts, most: int) -> str:
    """Draw which share of the windows that reach it each stage rejects.

    Parameters
    ----------
    costs : ScanCosts
        Measured on pictures.
    most : int
        Stages that are drawn.

    Returns
    -------
    str
        An SVG drawing.
    """
    left, row = 58, 17
    whole = WIDTH - left - 150
    drawn = []
    n = min(len(costs.n_reached), most)
    for stage in range(n):
        y, share = 2 + row * stage, float(costs.rejected[stage])
        drawn.append(text(f"stage {stage + 1}", left - 8, y + 11, class_="end"))
        drawn.append(bar(left, y + 2, whole, row - 5, class_="before"))
        words = "reached by no window"
        if not np.isnan(share):
            drawn.append(bar(left, y + 2, whole * share, row - 5, class_="own"))
            words = f"{share:.1%} of {costs.n_reached[stage]:,}"
        drawn.append(text(words, left + whole + 6, y + 11))
    return drawing(WIDTH, row * n + 6, "Share of the windows that reach it which each stage rejects", *drawn)


def _brief(leaf: float) -> str:
    """Return a leaf value in at most seven characters, which fit into half of the drawing."""
    return f"{leaf:.2g}" if abs(leaf) >= 0.001 or leaf == 0 else f"{leaf:.0e}"


def _test(cascade: Cascade, node: int) -> str:
    """Return in a few characters which windows go left at a node."""
    if cascade.feature_type is FeatureType.LBP:
        n_codes = sum(int(word).bit_count() for word in cascade.nodes["subset"][node])
        return f"{n_codes} of 256 codes"
    return f"< {cascade.nodes['threshold'][node]:.3g}"
