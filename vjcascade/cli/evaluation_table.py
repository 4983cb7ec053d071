"""The figures of models side by side, as lines for a terminal."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from vjcascade.messages import shortened

if TYPE_CHECKING:
    from vjcascade.evaluation import Evaluation
    from vjcascade.evaluation.figures import Figure
    from vjcascade.evaluation.intervals import Interval

MAX_NAME = 24
"""Longer names of models are cut."""

GAP = "  "


def table_lines(evaluation: Evaluation, width: int | None = None) -> list[str]:
    """Return a table with a column for each model; what does not fit into the width comes below.

    Parameters
    ----------
    evaluation : Evaluation
        Of one model or several.
    width : int, optional
        Characters of a line; those of the terminal if not given.

    Returns
    -------
    list of str
        Figures, each with its interval; recall by size last.
    """
    width = width or shutil.get_terminal_size((100, 24)).columns
    rows = list(_rows(evaluation))
    labels = max(len(label) for label, _ in rows)
    columns = [
        [shortened(model.name, MAX_NAME), *(cells[number] for _, cells in rows)]
        for number, model in enumerate(evaluation.models)
    ]
    widths = [max(map(len, column)) for column in columns]
    lines: list[str] = []
    begin = 0
    while begin < len(columns):
        end = begin + 1
        while (
            end < len(columns)
            and labels + sum(widths[begin : end + 1]) + len(GAP) * (end + 1 - begin) <= width
        ):
            end += 1
        for number, label in enumerate(["", *(label for label, _ in rows)]):
            cells = [columns[i][number].rjust(widths[i]) for i in range(begin, end)]
            lines.append(GAP.join([label.ljust(labels), *cells]).rstrip())
        begin = end
        lines += [""] if begin < len(columns) else []
    level = f"{evaluation.protocol.level:.0%}".replace("%", " %")
    return [*lines, f"in brackets: {level} confidence intervals, by bootstrap over scenes"]


def _rows(evaluation: Evaluation) -> Iterator[tuple[str, list[str]]]:
    of_each = [evaluation.intervals(model) for model in evaluation.models]
    for number, figure in enumerate(evaluation.figures):
        yield figure.name, _cells(figure, [intervals[number] for intervals in of_each])
    for number, size in enumerate(evaluation.sizes):
        found = [evaluation.size_intervals(model, number)[0] for model in evaluation.models]
        yield f"{evaluation.size_figures[0].name}, {size}", _cells(evaluation.size_figures[0], found)


def _cells(figure: Figure, intervals: Sequence[Interval]) -> list[str]:
    return [_cell(figure, interval) for interval in intervals]


def _cell(figure: Figure, interval: Interval) -> str:
    if math.isnan(interval.mean):
        return "-"
    mean, low, high = figure.written(interval)
    return f"{mean}{' %' if figure.is_share else ''} ({low}-{high})"
