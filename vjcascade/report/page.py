"""From a run to the page: everything computed here, everything arranged in `page.html`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vjcascade import __version__
from vjcascade.report.charts import (
    OTHER,
    PART_NAMES,
    cost_chart,
    hits_chart,
    parts_of,
    rounds_chart,
    scenes_chart,
    survival_chart,
    time_chart,
)
from vjcascade.report.command import command_of
from vjcascade.report.cost import StageCost, expected_costs
from vjcascade.report.features import feature_drawing, first_features, mean_symbol
from vjcascade.report.pictures import contact_sheet, is_broad, n_shown, png_address, stretched
from vjcascade.report.summary import about, advice, verdict
from vjcascade.report.templates import template
from vjcascade.report.training_run import Run, open_run
from vjcascade.training.gains import best_figures
from vjcascade.training.stage import N_FALSE_ALARMS_SHOWN

FEATURES_SHOWN = 8
"""Of each stage."""

MAX_CHARTED = 200
"""Stages; of a cascade with more, only the first are drawn."""


def build_report(path: Path) -> str:
    """Return the report on a run, a page of HTML that needs nothing else.

    Parameters
    ----------
    path : Path
        The output folder of a training, or a model file.

    Returns
    -------
    str
        The page.

    Raises
    ------
    ModelNotFoundError, ModelError
        If there is no model, or it is damaged.
    """
    render = template("page.html")  # before the work
    return render(**page_values(open_run(path)))


def page_values(run: Run) -> dict[str, Any]:
    """Return what the template shows.

    Parameters
    ----------
    run : Run
        The model and what is known of it.

    Returns
    -------
    dict
        Text is text, to be escaped; drawings are SVG.
    """
    costs, cascade, tried = expected_costs(run), run.cascade, run.tried[:MAX_CHARTED]
    n_drawn = min(cascade.n_stages, MAX_CHARTED)
    mean = run.history.mean_positive
    return {
        "title": f"{run.path.parent.absolute().name}/{run.path.name}",
        "verdict": verdict(run),
        "about": about(run, costs),
        "advice": advice(run),
        "figures": _figures(run, costs),
        "records": [run.records[stage] for stage in sorted(run.records)[:MAX_CHARTED]],
        "has_all_records": max(run.records, default=0) >= cascade.n_stages,
        "histories": run.history.stages,
        "costs": costs,
        "sizes": cascade.stage_sizes.tolist(),
        "survival": survival_chart(run.records, cascade.n_stages, _target(run)) if run.records else "",
        "hits": hits_chart(run.records, cascade.n_stages) if run.records else "",
        "tried": tried,
        "scenes_chart": scenes_chart(tried, cascade.n_stages) if tried else "",
        "rounds": _rounds(run, n_drawn),
        "cost_chart": cost_chart(costs[:n_drawn]) if costs else "",
        "mean": mean_symbol(cascade.window, "" if mean is None else png_address(stretched(mean))),
        "has_mean": mean is not None,
        "is_broad": is_broad(cascade.window),
        "features": [_features(run, stage) for stage in range(1, n_drawn + 1)],
        "false_alarms": _strips(run, n_drawn, "false_alarms"),
        "missed": _strips(run, n_drawn, "missed"),
        "times": _times(run, n_drawn),
        "part_names": PART_NAMES,
        "metadata": run.metadata,
        "counts": run.history.counts,
        "sources": {name: ", ".join(paths) for name, paths in run.history.sources.items()},
        "versions": run.history.versions,
        "command": command_of(run),
        "version": __version__,
    }


def _figures(run: Run, costs: list[StageCost]) -> list[tuple[str, str]]:
    """Return the few numbers that matter most, each with its name."""
    last, best = run.last, best_figures(run.tried)
    figures = []
    if best is not None:
        figures.append((f"{best.best.recall:.1%}", "recall on scenes"))
        figures.append((f"{best.best.false_alarms_per_picture:.2f}", "false alarms per scene"))
    if last is not None:
        where = "in training" if last.overall_held_out_hit_rate is None else "held out"
        figures.append((f"{last.hit_rate_so_far:.1%}", f"of positives pass, {where}"))
        figures.append((f"1 in {1 / last.overall_false_alarm_rate:,.0f}", "background windows passes"))
    if costs:
        figures.append((f"{costs[-1].so_far:.1f}", "features per window"))
    figures.append((f"{run.cascade.n_stages} / {run.cascade.n_trees:,}", "stages / weak classifiers"))
    return figures


def _target(run: Run) -> float | None:
    return None if run.settings is None else run.settings.target_false_alarm_rate


def _rounds(run: Run, n_drawn: int) -> list[str]:
    stages = ((stage, run.stage(stage)) for stage in range(1, n_drawn + 1))
    return [rounds_chart(n, stage.rounds, run.settings) for n, stage in stages if stage and stage.rounds]


def _features(run: Run, stage: int) -> tuple[int, list[str]]:
    trees = first_features(run.cascade, stage, FEATURES_SHOWN)
    return stage, [feature_drawing(run.cascade, tree) for tree in trees]


def _strips(run: Run, n_drawn: int, name: str) -> list[tuple[int, str, int]]:
    """Return the kept windows of each stage: its number, a picture of them, and how many they are."""
    most = n_shown(run.cascade.window, 2 * max(len(run.history.stages), 1), N_FALSE_ALARMS_SHOWN)
    stages = ((number, getattr(stage, name)[:most]) for number, stage in sorted(run.history.stages.items()))
    shown = [(number, windows) for number, windows in stages if len(windows) and number <= n_drawn]
    return [(number, png_address(contact_sheet(windows)), len(windows)) for number, windows in shown]


def _times(run: Run, n_drawn: int) -> dict[str, Any]:
    stages = {
        number: parts_of(stage.seconds, stage.parts)
        for number, stage in run.history.stages.items()
        if number <= n_drawn and stage.seconds is not None
    }
    if not stages:
        return {}
    totals = {name: sum(parts.get(name, 0.0) for parts in stages.values()) for name in [*PART_NAMES, OTHER]}
    return {"chart": time_chart(stages), "totals": {name: total for name, total in totals.items() if total}}
