"""What a check says: in sentences, and as JSON for other programs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np

from vjcascade.checking.checking import DataCheck
from vjcascade.checking.findings import Finding, Topic
from vjcascade.messages import one_line, pluralize
from vjcascade.training.data.positives import DEFAULT_WINDOW
from vjcascade.types import Size

N_NAMED = 5
"""Pictures of a finding that are named in text, unless all are wanted."""

MOST_IN_VERDICT = 4
"""Findings that the verdict names."""

FORMAT = 1
"""Of the JSON; raised when something in it changes its meaning."""


def verdict(result: DataCheck) -> str:
    """Return in a sentence whether the pictures can be trained on.

    Parameters
    ----------
    result : DataCheck
        Of a data set.

    Returns
    -------
    str
        The gravest findings are named.
    """
    warnings = result.warnings
    if not warnings:
        return "No problems found: these pictures are ready for training."
    named = [str(one) for one in warnings[:MOST_IN_VERDICT]]
    more = [f"{len(warnings) - len(named)} more"] if len(warnings) > len(named) else []
    return f"Fix {pluralize(len(warnings), 'problem')} before training: {'; '.join([*named, *more])}."


def facts(result: DataCheck) -> dict[str, str]:
    """Return what was seen, in words.

    Parameters
    ----------
    result : DataCheck
        Of a data set.

    Returns
    -------
    dict of str to str
        By what it is about.
    """
    crops, photos = result.positives, result.negatives
    words = {
        "positives": f"{crops.n_used:,} of {crops.n_found:,} {crops.units} in {crops.source} can be used",
        "their sizes": _sizes(result.sizes),
        "negatives": f"{photos.n_used:,} of {photos.n_found:,} {photos.units} in {photos.source} can be used",
        "sizes of negatives": _sizes(result.photo_sizes),
        "window": _window_reason(result),
        "alignment": (
            f"offset from the mean crop: median {result.alignment.within(0.5):.0%}, 90th percentile "
            f"{result.alignment.within(0.9):.0%} of the window's sides; median correlation with it "
            f"{result.alignment.agreement:.2f}"
        ),
        "reach": str(result.reach),
    }
    if result.n_searched:
        words["search"] = (
            f"{pluralize(result.n_searched, 'negative')} searched for the object with a quick cascade"
        )
    return words


def next_steps(result: DataCheck) -> list[str]:
    """Return what to do next, in sentences.

    Parameters
    ----------
    result : DataCheck
        Of a data set.

    Returns
    -------
    list of str
        At least one.
    """
    label = () if result.label is None else ("--label", result.label)
    command = shlex.join(["vjcascade", "train", result.positives.source, result.negatives.source, *label])
    if not result.warnings:
        return [f"train: {command}"]
    steps = [
        "look at the pictures listed: keep those that are right, as rare views of the object are valuable"
    ]
    if any(one.topic is Topic.OBJECT_IN_NEGATIVES for one in result.warnings):
        steps.append("look through the other negatives yourself: the check misses objects that look unusual")
    return [*steps, f"check again, and then train: {command}"]


def text_lines(result: DataCheck, *, names_all: bool = False) -> Iterator[str]:
    """Yield a check as plain text: the verdict, what was seen, findings, what to do next.

    Parameters
    ----------
    result : DataCheck
        Of a data set.
    names_all : bool
        Name all pictures, not only the first of each finding.

    Yields
    ------
    str
        A line.
    """
    yield verdict(result)
    yield ""
    for name, words in facts(result).items():
        yield f"{name}: {one_line(words)}"
    for number, finding in enumerate(result.findings, start=1):
        yield ""
        yield f"{number}. {finding.level}: {finding}"
        shown = finding.items if names_all else finding.items[:N_NAMED]
        yield from (f"   {one_line(str(item))}" for item in shown)
        if len(shown) < len(finding.items):
            yield f"   ... and {len(finding.items) - len(shown):,} more"
        yield f"   to do: {finding.advice}"
    if result.not_done:
        yield ""
        yield from (f"not checked: {one}" for one in result.not_done)
    yield ""
    yield from (f"next: {one_line(step)}" for step in next_steps(result))


def as_json(result: DataCheck) -> str:
    """Return a check as JSON: all pictures are named.

    Parameters
    ----------
    result : DataCheck
        Of a data set.

    Returns
    -------
    str
        One object.
    """
    values = {
        "format": FORMAT,
        "verdict": verdict(result),
        "warnings": len(result.warnings),
        "positives": _source(result, "positives"),
        "negatives": _source(result, "negatives"),
        "window": list(result.window),
        "window_reason": _window_reason(result),
        "alignment": {
            "half_within": round(result.alignment.within(0.5), 4),
            "nine_tenths_within": round(result.alignment.within(0.9), 4),
            "correlation": round(result.alignment.agreement, 4),
        },
        "reach": {
            "windows": result.reach.n_windows,
            "negatives": result.reach.n_negatives,
            "stages": result.reach.n_stages,
            "stages_wanted": result.reach.n_wanted,
        },
        "searched": result.n_searched,
        "findings": [_finding(one) for one in result.findings],
        "not_done": list(result.not_done),
        "next": next_steps(result),
    }
    return json.dumps(values, allow_nan=False, ensure_ascii=False, indent=1) + "\n"


def _source(result: DataCheck, kind: str) -> dict[str, Any]:
    report = result.positives if kind == "positives" else result.negatives
    sizes = np.array(result.sizes if kind == "positives" else result.photo_sizes)
    median = [round(float(side)) for side in np.median(sizes, axis=0)]
    return {
        "source": report.source,
        "unit": report.unit,
        "found": report.n_found,
        "used": report.n_used,
        "median_size": median,
        "notes": list(report.notes),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "topic": str(finding.topic),
        "level": str(finding.level),
        "kind": finding.kind,
        "text": str(finding),
        "advice": finding.advice,
        "of": finding.n_all,
        "pictures": [{"name": item.name, "detail": item.detail} for item in finding.items],
    }


def _sizes(sizes: tuple[Size, ...]) -> str:
    """Return median and range of sizes, ordered by area."""
    ordered = sorted(sizes, key=lambda size: (size.width * size.height, size))
    least, middle, largest = ordered[0], ordered[len(ordered) // 2], ordered[-1]
    return f"all {middle}" if least == largest else f"median {middle}, from {least} to {largest}"


def _window_reason(result: DataCheck) -> str:
    """Return the window, and why it is that."""
    window = result.window
    widths, heights = np.array(result.sizes, np.float64).T
    ratio, area = float(np.median(widths / heights)), float(np.median(widths * heights))
    usual = DEFAULT_WINDOW.width * DEFAULT_WINDOW.height
    if abs(window.width / window.height / ratio - 1) > 0.1:
        return f"{window}; the crops, with a median aspect ratio of {ratio:.2f}, are padded to its shape"
    larger = f"the area of the usual {DEFAULT_WINDOW}" if area >= usual else "not much larger than the crops"
    return (
        f"{window}: the median aspect ratio of the crops, {ratio:.2f}, and {larger}; a larger window trains more "
        "slowly and finds no smaller objects"
    )
