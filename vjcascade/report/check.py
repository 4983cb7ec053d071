"""The page of a check of crops and photos: everything computed here, everything arranged in `check.html`."""

from __future__ import annotations

from typing import Any

import numpy as np

from vjcascade import __version__
from vjcascade.checking import DataCheck, Finding
from vjcascade.checking.alignment import MAX_SHIFT, Alignment
from vjcascade.checking.results import facts, next_steps, verdict
from vjcascade.report.pictures import png_address
from vjcascade.report.svg import bar, drawing, element, text
from vjcascade.report.templates import template

MOST_SHOWN = 24
"""Pictures of a finding that are shown; all are named."""

MOST_DOTS = 2000
"""Crops in the chart of their places."""

SIDE, EDGE = 200.0, 14.0
"""Of this chart, and of the room around it."""


def build_check_report(result: DataCheck) -> str:
    """Return the page of a check, HTML that needs nothing else.

    Parameters
    ----------
    result : DataCheck
        Of a data set.

    Returns
    -------
    str
        The page.
    """
    render = template("check.html")  # before the work
    return render(**page_values(result))


def page_values(result: DataCheck) -> dict[str, Any]:
    """Return what the template shows.

    Parameters
    ----------
    result : DataCheck
        Of a data set.

    Returns
    -------
    dict
        Text is text, to be escaped; drawings are SVG.
    """
    return {
        "title": f"{result.positives.source} and {result.negatives.source}",
        "verdict": verdict(result),
        "steps": next_steps(result),
        "facts": facts(result),
        "mean": png_address(result.alignment.mean),
        "places": _places(result.alignment),
        "findings": [_finding(one) for one in result.findings],
        "not_done": result.not_done,
        "version": __version__,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    shown = [item for item in finding.items if item.pixels is not None][:MOST_SHOWN]
    return {
        "level": str(finding.level),
        "text": str(finding),
        "advice": finding.advice,
        "pictures": [
            (
                png_address(item.pixels),
                None if item.like is None else png_address(item.like),
                item.name,
                item.detail,
            )
            for item in shown
            if item.pixels is not None
        ],
        "names": [str(item) for item in finding.items],
    }


def _places(alignment: Alignment) -> str:
    """Return the chart of where crops are most like their mean: a dot for each, in shares of the window."""
    scale = SIDE / (2 * MAX_SHIFT)
    middle = EDGE + SIDE / 2
    shifts = alignment.shifts[:: max(len(alignment.shifts) // MOST_DOTS, 1)]
    places, counts = np.unique(shifts.round(4), axis=0, return_counts=True)
    dots = [
        element(
            "circle",
            cx=middle + scale * float(x),
            cy=middle + scale * float(y),
            r=min(1.6 + 0.5 * float(n) ** 0.5, 9.0),
            class_="place",
        )
        for (x, y), n in zip(places, counts, strict=True)
    ]
    frame = bar(EDGE, EDGE, SIDE, SIDE, class_="frame")
    cross = [
        bar(middle, EDGE, 0.5, SIDE, class_="axis"),
        bar(EDGE, middle, SIDE, 0.5, class_="axis"),
        text(f"+{MAX_SHIFT:.0%}", EDGE + SIDE, middle - 4, class_="end"),
    ]
    side = SIDE + 2 * EDGE
    return drawing(side, side, "where crops match their mean best", frame, *cross, *dots)
