"""The report on an evaluation: everything computed here, everything arranged in `evaluation.html`."""

from __future__ import annotations

import math
from typing import Any

from vjcascade import __version__
from vjcascade.evaluation import Evaluation
from vjcascade.evaluation.evaluating import ModelResult
from vjcascade.evaluation.figures import Figure
from vjcascade.evaluation.intervals import Difference, Interval
from vjcascade.evaluation.results import notes, settings_in_use, verdict
from vjcascade.messages import pluralize
from vjcascade.report.evaluation_charts import N_COLOURS, precision_chart, recall_chart
from vjcascade.report.examples import cuts, false_alarms, misses
from vjcascade.report.templates import template

NONE = "–"


def build_evaluation_report(evaluation: Evaluation, command: str = "") -> str:
    """Return the report on an evaluation, a page of HTML that needs nothing else.

    Parameters
    ----------
    evaluation : Evaluation
        Of one model or several.
    command : str
        The command line that repeats it, if it is known.

    Returns
    -------
    str
        The page.

    Raises
    ------
    ImageError
        If a picture can no longer be read.
    """
    render = template("evaluation.html")  # before the work
    return render(**page_values(evaluation, command))


def page_values(evaluation: Evaluation, command: str = "") -> dict[str, Any]:
    """Return what the template shows.

    Parameters
    ----------
    evaluation : Evaluation
        Of one model or several.
    command : str
        The command line that repeats it, if it is known.

    Returns
    -------
    dict
        Text is text, to be escaped; drawings are SVG.
    """
    models, protocol = evaluation.models, evaluation.protocol
    names = ", ".join(model.name for model in models)
    return {
        "title": f"{names} on {pluralize(len(evaluation.scenes), 'scene')}",
        "verdict": verdict(evaluation),
        "notes": notes(evaluation),
        "level": f"{protocol.level:.0%}".replace("%", " %"),
        "main": f"{protocol.false_alarms_per_picture:g}",
        "names": [(model.name, f"model-{number % N_COLOURS}") for number, model in enumerate(models)],
        "recall": recall_chart(evaluation),
        "precision": precision_chart(evaluation),
        "figures": _figure_rows(evaluation),
        "sizes": _size_rows(evaluation),
        "size_figures": [figure.name for figure in evaluation.size_figures],
        "are_sizes_given": protocol.size_bounds is not None,
        "tried": [(model.name, *_tried(model)) for model in models],
        "examples": [_examples(model, evaluation) for model in models],
        "method": _method(evaluation),
        "settings": {model.name: settings_in_use(model) for model in models},
        "command": command,
        "version": __version__,
    }


def _figure_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return a row for each figure: a cell for each model, and differences to the first."""
    first, *others = evaluation.models
    of_each = [evaluation.intervals(model) for model in evaluation.models]
    gaps = [evaluation.differences(model, first) for model in others]
    return [
        {
            "name": figure.name,
            "is_main": figure.key == evaluation.protocol.main.key,
            "cells": [_cell(figure, intervals[number]) for intervals in of_each],
            "differences": [_difference(figure, one[number]) for one in gaps],
        }
        for number, figure in enumerate(evaluation.figures)
    ]


def _size_rows(evaluation: Evaluation) -> list[tuple[str, int, list[list[tuple[str, str]]]]]:
    """Return for each class of objects its name, how many there are, and the cells of each model."""
    rows = []
    for number, size in enumerate(evaluation.sizes):
        n_objects = sum(
            int(((scene.boxes[:, 3] >= size.low) & (scene.boxes[:, 3] < size.high)).sum())
            for scene in evaluation.scenes.scenes
        )
        cells = [
            [
                _cell(figure, interval)
                for figure, interval in zip(
                    evaluation.size_figures, evaluation.size_intervals(model, number), strict=True
                )
            ]
            for model in evaluation.models
        ]
        rows.append((str(size), n_objects, cells))
    return rows


def _tried(model: ModelResult) -> tuple[list[int], list[tuple[int, list[tuple[str, str, bool]]]]]:
    """Return the numbers of neighbors tried, and for each number of stages what is reached with these."""
    neighbors = sorted({one for _, one in model.tried})
    stages = sorted({one for one, _ in model.tried}, reverse=True)
    best = max((figures.f1 for figures in model.tried.values()), default=0.0)
    rows = []
    for n_stages in stages:
        found = [model.tried[n_stages, one] for one in neighbors]
        cells = [
            (f"{one.recall:.1%}", f"{one.false_alarms_per_picture:.2g}", one.f1 == best) for one in found
        ]
        rows.append((n_stages, cells))
    return neighbors, rows


def _examples(model: ModelResult, evaluation: Evaluation) -> tuple[str, list[tuple[str, int, Any]]]:
    """Return a model's name, and for each kind of fault what it is called, how many there are, and cuts of some."""
    kinds = {
        "misses": misses(model, evaluation),
        "false alarms": false_alarms(model, evaluation, near=False),
        "near misses": false_alarms(model, evaluation, near=True),
    }
    return model.name, [(kind, len(found), cuts(found, evaluation)) for kind, found in kinds.items()]


def _method(evaluation: Evaluation) -> dict[str, Any]:
    protocol, scenes = evaluation.protocol, evaluation.scenes
    return {
        "scenes": f"{scenes.source} ({scenes.format}): {pluralize(len(scenes), 'scene')}",
        "objects": evaluation.n_objects,
        "a hit": str(protocol.rule),
        "ranked by": str(protocol.score),
        "equal scores": str(protocol.ties),
        "curve": "all groups of two windows or more",
        "windows per picture": ", ".join(
            f"{model.name}: {model.n_windows / len(scenes):,.0f}" for model in evaluation.models
        ),
        "draws of scenes": f"{protocol.n_resamples:,}",
        "SHA-256 of the scenes": scenes.fingerprint,
    }


def _cell(figure: Figure, interval: Interval) -> tuple[str, str]:
    """Return a figure and its interval as words."""
    if math.isnan(interval.mean):
        return NONE, ""
    mean, low, high = figure.written(interval)
    return f"{mean}%" if figure.is_share else mean, f"{low} to {high}"


def _difference(figure: Figure, difference: Difference) -> tuple[str, str, str]:
    """Return a difference and its interval as words, and which way it goes: better, worse, or nothing."""
    interval = difference.interval
    if math.isnan(interval.mean):
        return NONE, "", ""
    mean, low, high = figure.written(interval, "+")
    is_better = (interval.low > 0) != difference.measure.less_is_better
    way = ("better" if is_better else "worse") if difference.is_significant else ""
    return mean, f"{low} to {high}", way
