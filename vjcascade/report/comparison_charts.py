"""The charts of a comparison's report."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from vjcascade.boosters.state import Floats
from vjcascade.comparison.statistics import groups_within
from vjcascade.messages import pluralize
from vjcascade.report.charts import WIDTH
from vjcascade.report.svg import bar, drawing, element, polyline, text

HIT_FLOORS = (0.98, 0.95, 0.9, 0.8, 0.5, 0.0)
"""Where the scale of hit rates may begin."""

LEAST_RATE = 1e-3
"""Where the logarithmic scale ends at the latest."""

LETTER = 6.0
"""Width of a letter, about."""

MAX_RANKED = 15
"""Entries of a diagram of ranks."""


class Curve(NamedTuple):
    """A rate over rounds, with its band.

    Attributes
    ----------
    kind : str
        CSS class: whose it is.
    rounds : sequence of int
        Their numbers, from 1, ascending.
    mean, low, high : ndarray of shape (n_rounds,), dtype float64
        low and high are nan where there is no band.
    """

    kind: str
    rounds: Sequence[int]
    mean: Floats
    low: Floats
    high: Floats


class _Panel(NamedTuple):
    """Where a panel lies, and which rates its ends stand for."""

    top: float
    height: float
    ends: tuple[float, float]
    scale: Callable[[float], float]
    left: float
    width: float
    n_rounds: int

    def place(self, n_weak: int, rate: float) -> tuple[float, float]:
        low, high = map(self.scale, self.ends)
        share = (self.scale(min(max(rate, self.ends[0]), self.ends[1])) - low) / (high - low)
        along = (n_weak - 1) / (self.n_rounds - 1) if self.n_rounds > 1 else 0.5
        return self.left + self.width * along, self.top + self.height * (1 - share)


def rates_chart(
    name: str, hits: Sequence[Curve], false_alarms: Sequence[Curve], targets: tuple[float, float]
) -> str:
    """Draw the hit and false-alarm rates of some entries over rounds, with their bands.

    Parameters
    ----------
    name : str
        Of the dataset.
    hits, false_alarms : sequence of Curve
        Of the same entries, at least one; nowhere empty.
    targets : pair of float
        Hit rate and false-alarm rate asked for.

    Returns
    -------
    str
        An SVG drawing: hit rates above; false-alarm rates below, on a logarithmic scale.
    """
    width, height, left, right = 260, 196, 38, 8
    n = max(curve.rounds[-1] for curve in hits)
    across = width - left - right
    least_hits = min([targets[0], *(float(curve.mean.min()) for curve in hits)])
    lowest = min([targets[1], *(float(curve.mean.min()) for curve in false_alarms)])
    floor = max(10.0 ** math.floor(math.log10(max(lowest, LEAST_RATE))), LEAST_RATE)
    hit_ends = (next(end for end in HIT_FLOORS if end < least_hits or end == 0), 1.0)
    upper = _Panel(20, 46, hit_ends, float, left, across, n)
    lower = _Panel(86, 90, (floor, 1.0), math.log10, left, across, n)
    decades = [10.0**-i for i in range(round(-math.log10(floor)) + 1)]
    parts = [
        *_axis(upper, [hit_ends[0], 1.0], targets[0]),
        *_axis(lower, decades, targets[1]),
        *(part for curve in hits for part in _drawn(curve, upper)),
        *(part for curve in false_alarms for part in _drawn(curve, lower)),
        text(name, left, 12, class_="strong"),
        text("hits", width - right, 12, class_="end"),
        text("false alarms", width - right, 81, class_="end"),
        text("1", left, height - 6),
        text(f"{n:,}", width - right, height - 6, class_="end"),
    ]
    return drawing(width, height, f"{name}: rates over {pluralize(n, 'round')}", *parts)


def rank_chart(
    names: Sequence[str], ranks: Floats, n_all: int, difference: float, marked: Sequence[bool]
) -> str:
    """Draw mean ranks, and which entries do not differ significantly.

    Parameters
    ----------
    names : sequence of str
        Of those to draw, best first.
    ranks : ndarray of shape (n,), dtype float64
        Their mean ranks, ascending.
    n_all : int
        How many were ranked.
    difference : float
        The critical difference; nan if there is none.
    marked : sequence of bool
        Which of them is the baseline.

    Returns
    -------
    str
        An SVG drawing: a row for each; a bar joins those within the critical difference.
    """
    is_tested = not math.isnan(difference)
    groups = groups_within(ranks, difference) if is_tested else []
    left = 20 + LETTER * max(map(len, names))
    width, row, top = WIDTH, 17, 22
    joined = 9 * len(groups) + 8
    height = top + row * len(names) + 22
    across = width - left - joined - 40
    worst = max(float(ranks[-1]), min(float(ranks[0]) + difference, n_all) if is_tested else 0.0, 2.0)

    def x_of(rank: float) -> float:
        return left + across * (min(rank, worst) - 1) / (worst - 1)

    bottom = top + row * len(names)
    parts = []
    if is_tested:
        near, end = x_of(float(ranks[0])), x_of(float(ranks[0]) + difference)
        parts.append(bar(near, top - 4, end - near, bottom - top + 4, class_="near"))
        parts.append(text(f"within {difference:.1f} of the best", near + 3, 11))
    for rank in (1.0, worst):
        parts.append(element("line", x1=x_of(rank), x2=x_of(rank), y1=top - 4, y2=bottom, class_="grid"))
        parts.append(text(f"{rank:.3g}", x_of(rank), bottom + 13, class_="middle"))
    parts.append(text(f"mean rank of {n_all:,}", (x_of(1.0) + x_of(worst)) / 2, bottom + 13, class_="middle"))
    for i, (name, rank) in enumerate(zip(names, ranks.tolist(), strict=True)):
        y = top + row * i + row / 2
        parts.append(text(name, left - 9, y + 4, class_="end strong" if marked[i] else "end"))
        parts.append(element("line", x1=x_of(1.0), x2=x_of(rank), y1=y, y2=y, class_="grid"))
        parts.append(
            element("circle", cx=x_of(rank), cy=y, r=4, class_="dot-baseline" if marked[i] else "dot")
        )
        parts.append(text(f"{rank:.1f}", x_of(rank) + 7, y + 4))
    for i, group in enumerate(groups):
        x = width - joined + 9 * i + 8
        y1, y2 = top + row * group[0] + 4, top + row * (group[-1] + 1) - 4
        parts.append(element("line", x1=x, x2=x, y1=y1, y2=y2, class_="joined"))
    title = f"Mean ranks; critical difference {difference:.2f}" if is_tested else "Mean ranks"
    return drawing(width, height, title, *parts)


def _axis(panel: _Panel, rates: Sequence[float], target: float) -> list[str]:
    parts = []
    for rate in rates:
        y = panel.place(1, rate)[1]
        parts.append(element("line", x1=panel.left, x2=panel.left + panel.width, y1=y, y2=y, class_="grid"))
        parts.append(text(f"{rate:g}", panel.left - 4, y + 3.5, class_="end"))
    y = panel.place(1, target)[1]
    parts.append(element("line", x1=panel.left, x2=panel.left + panel.width, y1=y, y2=y, class_="target"))
    return parts


def _drawn(curve: Curve, panel: _Panel) -> list[str]:
    if len(curve.rounds) == 1:
        x, y = panel.place(curve.rounds[0], float(curve.mean[0]))
        return [element("circle", cx=x, cy=y, r=2.5, class_=f"dot-{curve.kind}")]
    lines = [
        [panel.place(k, rate) for k, rate in zip(curve.rounds, side.tolist(), strict=True)]
        for side in (curve.mean, curve.low, curve.high)
    ]
    line = polyline(lines[0], class_=f"curve {curve.kind}-line")
    if np.isnan(curve.low).any():
        return [line]
    around = [*lines[1], *reversed(lines[2])]
    band = polyline(around, class_=f"band-{curve.kind}")
    return [band, line]
