"""Tables of numbers with their bands, shaded by how good each is, and marked by how it differs from the baseline."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from vjcascade.boosters.state import Floats
from vjcascade.comparison.summary import Verdict
from vjcascade.evaluation.intervals import Interval

N_SHADES = 7

USUAL_SHARE = 0.85
"""Share of the numbers that shades are spread over: a few bad ones must not take all of them."""

MARKS = {
    Verdict.BETTER: ("better", "▼"),
    Verdict.WORSE: ("worse", "▲"),
    Verdict.ALIKE: ("", "≈"),
    Verdict.UNKNOWN: ("", ""),
}
"""Kinds and marks of cells; less is better in all that is compared with the baseline."""


class Cell(NamedTuple):
    """A place in a table.

    Attributes
    ----------
    words : str
        The number.
    small : str
        What stands below it.
    value : float
        What its shade tells; nan for none.
    kind : str
        "better", "worse" or nothing, as it compares with the baseline.
    mark : str
        The same as a sign; "base" for the baseline itself.
    """

    words: str
    small: str = ""
    value: float = math.nan
    kind: str = ""
    mark: str = ""


class Grid(NamedTuple):
    """A table.

    Attributes
    ----------
    title : str
        Above it, may be empty.
    columns : list of str
        Their heads.
    rows : list of (str, list of (Cell, int or None))
        Each with its name, and its cells with their shades: 0 is the best.
    """

    title: str
    columns: list[str]
    rows: list[tuple[str, list[tuple[Cell, int | None]]]]


EMPTY = Cell("")


def cell(found: Interval, words: Callable[[float], str], verdict: Verdict | None = None) -> Cell:
    """Return the cell of a mean and its band.

    Parameters
    ----------
    found : Interval
        The numbers.
    words : callable
        Writes one of them.
    verdict : Verdict or None
        How it compares with the baseline; None if it does not.

    Returns
    -------
    Cell
        A dash where there is no mean, no band where there is none.

    Examples
    --------
    >>> cell(Interval(12.5, 11.0, 14.0), "{:g}".format, Verdict.BETTER)
    Cell(words='12.5', small='11–14', value=12.5, kind='better', mark='▼')
    """
    if math.isnan(found.mean):
        return Cell("–")
    small = "" if math.isnan(found.low) else f"{words(found.low)}–{words(found.high)}"
    kind, mark = MARKS[verdict] if verdict else ("", "")
    return Cell(words(found.mean), small, found.mean, kind, mark)


def grid(
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[Cell]]],
    *,
    low_is_good: bool = True,
    by_column: bool = False,
) -> Grid:
    """Return a table with its shades.

    Parameters
    ----------
    title : str
        May be empty.
    columns : sequence of str
        Heads.
    rows : sequence of (str, sequence of Cell)
        As many cells in each as there are columns.
    low_is_good : bool
        Which end gets the strongest shade.
    by_column : bool
        Whether each column has shades of its own.

    Returns
    -------
    Grid
        Columns in which no row has anything, and such rows, are left out.
    """
    used = [any(cells[i] is not EMPTY for _, cells in rows) for i in range(len(columns))]
    kept = [
        (name, [one for one, is_used in zip(cells, used, strict=True) if is_used])
        for name, cells in rows
        if any(one is not EMPTY for one in cells)
    ]
    sign = 1 if low_is_good else -1
    values = np.array([[sign * one.value for one in cells] for _, cells in kept]).reshape(
        len(kept), sum(used)
    )
    shades = [_shades(column if by_column else values) for column in values.T]
    shaded = [
        (name, [(one, shade(sign * one.value)) for one, shade in zip(cells, shades, strict=True)])
        for name, cells in kept
    ]
    return Grid(title, [name for name, is_used in zip(columns, used, strict=True) if is_used], shaded)


def _shades(values: Floats) -> Callable[[float], int | None]:
    """Return what gives a number its shade: the least gets 0."""
    known = values[~np.isnan(values)]
    if not known.size or known.min() == known.max():
        return lambda _: None
    low, high = float(known.min()), float(np.quantile(known, USUAL_SHARE))
    step = ((high if high > low else float(known.max())) - low) / N_SHADES
    return lambda value: None if math.isnan(value) else min(int((value - low) / step), N_SHADES - 1)
