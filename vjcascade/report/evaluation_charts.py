"""The charts of an evaluation's report."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise

import numpy as np

from vjcascade.evaluation import Curve, Evaluation
from vjcascade.report.charts import WIDTH
from vjcascade.report.svg import drawing, element, polyline, text

HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 250, 40, 10, 10, 34

ZERO = 40
"""Width of the place for no false alarms at all, left of the logarithmic scale."""

MAX_POINTS = 150
"""Points of a curve; more cannot be told apart."""

N_COLOURS = 8
"""Models whose colours differ; those of further ones come again."""

FLOORS = (0.9, 0.8, 0.5, 0.0)
"""Where scales of shares may begin."""

Place = Callable[[float, float], tuple[float, float]]


def recall_chart(evaluation: Evaluation) -> str:
    """Draw recall over false alarms per picture for all models, and the settings in use.

    Parameters
    ----------
    evaluation : Evaluation
        Of one model or several.

    Returns
    -------
    str
        An SVG drawing; false alarms on a logarithmic scale, none of them at its left.
    """
    least = 10.0 ** math.floor(math.log10(1 / len(evaluation.scenes)))
    main = evaluation.protocol.false_alarms_per_picture
    curves = [_corners(model.curve) for model in evaluation.models]
    most = max([1.0, main, *(curve[-1][0] for curve in curves if curve)])
    decades = round(math.log10(least)), math.ceil(math.log10(most) - 1e-9)
    used = [(model.used.false_alarms_per_picture, model.used.recall) for model in evaluation.models]
    floor = _floor([recall for curve in [*curves, used] for _, recall in curve[:1]])
    across = WIDTH - LEFT - RIGHT - ZERO

    def place(rate: float, recall: float) -> tuple[float, float]:
        if rate < least:
            return LEFT + ZERO / 4, _y(recall, floor)
        along = (math.log10(rate) - decades[0]) / max(decades[1] - decades[0], 1)
        return LEFT + ZERO + across * along, _y(recall, floor)

    parts = _grid(floor)
    for decade in range(decades[0], decades[1] + 1):
        x = place(10.0**decade, 0)[0]
        parts.append(element("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM, class_="grid"))
        parts.append(text(f"{10.0**decade:g}", x, HEIGHT - BOTTOM + 13, class_="middle"))
    parts.append(text("0", LEFT + ZERO / 4, HEIGHT - BOTTOM + 13, class_="middle"))
    parts.append(text("false alarms per picture", (LEFT + WIDTH) / 2, HEIGHT - 5, class_="middle"))
    x = place(main, 0)[0]
    parts.append(element("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM, class_="target"))
    for number, (curve, point) in enumerate(zip(curves, used, strict=True)):
        stairs = [corner for a, b in pairwise(curve) for corner in (a, (b[0], a[1]))] + curve[-1:]
        parts += _drawn(number, stairs, point, place, evaluation.models[number].name)
    return drawing(WIDTH, HEIGHT, "Recall against false alarms per picture", *parts)


def precision_chart(evaluation: Evaluation) -> str:
    """Draw precision over recall for all models, and the settings in use.

    Parameters
    ----------
    evaluation : Evaluation
        Of one model or several.

    Returns
    -------
    str
        An SVG drawing.
    """
    curves = [_thinned(_columns(m.curve.hit_rate, m.curve.precision)) for m in evaluation.models]
    used = [(model.used.recall, model.used.precision) for model in evaluation.models]
    floor = _floor([precision for curve in [*curves, used] for _, precision in curve])

    def place(recall: float, precision: float) -> tuple[float, float]:
        return LEFT + (WIDTH - LEFT - RIGHT) * recall, _y(precision, floor)

    parts = _grid(floor)
    for recall in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        x = place(recall, 0)[0]
        parts.append(element("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM, class_="grid"))
        parts.append(
            text(f"{recall:.0%}", x, HEIGHT - BOTTOM + 13, class_="end" if recall == 1 else "middle")
        )
    parts.append(text("recall", (LEFT + WIDTH) / 2, HEIGHT - 5, class_="middle"))
    for number, (curve, point) in enumerate(zip(curves, used, strict=True)):
        parts += _drawn(number, curve, point, place, evaluation.models[number].name)
    return drawing(WIDTH, HEIGHT, "Precision against recall", *parts)


def _corners(curve: Curve) -> list[tuple[float, float]]:
    """Return the false alarms per picture and the recall of a curve, once for each number of false alarms."""
    if len(curve.scores) == 0:
        return []
    is_last = np.append(np.diff(curve.n_false_alarms) > 0, True)
    best = np.maximum.accumulate(curve.hit_rate)
    return _thinned(_columns(curve.false_alarms_per_picture[is_last], best[is_last]))


def _columns(*columns: np.ndarray) -> list[tuple[float, float]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    if len(points) <= MAX_POINTS:
        return list(points)
    # More of the first ones, which a logarithmic scale spreads.
    picked = np.unique(np.geomspace(1, len(points), MAX_POINTS).round().astype(int) - 1)
    return [points[i] for i in picked.tolist()]


def _floor(shares: Sequence[float]) -> float:
    """Return where a scale begins that shows all shares."""
    least = min(shares, default=0.0)
    return next(floor for floor in FLOORS if floor < least or floor == 0)


def _y(share: float, floor: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (max(share, floor) - floor) / (1 - floor))


def _grid(floor: float) -> list[str]:
    parts = []
    for share in np.linspace(floor, 1, 6).tolist():
        y = _y(share, floor)
        parts.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(text(f"{share:.0%}", LEFT - 5, y + 3.5, class_="end"))
    return parts


def _drawn(
    number: int, curve: Sequence[tuple[float, float]], used: tuple[float, float], place: Place, name: str
) -> list[str]:
    """Return a model's curve and the dot of its settings in use."""
    colour = f"model-{number % N_COLOURS}"
    x, y = place(*used)
    dot = element(
        "circle", element("title", f"{escape(name)}, as used"), cx=x, cy=y, r=4.5, class_=f"dot {colour}"
    )
    if not curve:
        return [dot]
    return [polyline([place(*point) for point in curve], class_=f"curve {colour}"), dot]
