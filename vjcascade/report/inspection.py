"""The page of an inspection: everything computed here, everything arranged in `inspection.html`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import numpy as np

from vjcascade import __version__
from vjcascade.evaluation.scan_costs import ScanCosts
from vjcascade.inspection import Inspection, StageFacts
from vjcascade.report.charts import cost_chart
from vjcascade.report.cost import StageCost
from vjcascade.report.features import feature_drawing, first_features, mean_symbol
from vjcascade.report.inspection_charts import range_drawing, rejection_chart, votes_drawing
from vjcascade.report.page import MAX_CHARTED
from vjcascade.report.pictures import png_address, stretched
from vjcascade.report.summary import about, verdict
from vjcascade.report.templates import template
from vjcascade.report.training_run import Run
from vjcascade.types import FeatureType

FEATURES_SHOWN = 8
"""Of each stage."""


def build_inspection_page(
    inspection: Inspection, run: Run, opencv_settings: Mapping[str, str] | None = None
) -> str:
    """Return the page of an inspection, HTML that needs nothing else.

    Parameters
    ----------
    inspection : Inspection
        Of a model.
    run : Run
        The same model, and what its file and its folder say of its training.
    opencv_settings : mapping of str to str, optional
        What `opencv_traincascade` recorded in the file.

    Returns
    -------
    str
        The page.
    """
    return template("inspection.html")(**page_values(inspection, run, opencv_settings or {}))


def page_values(inspection: Inspection, run: Run, opencv_settings: Mapping[str, str]) -> dict[str, Any]:
    """Return what the template shows.

    Parameters
    ----------
    inspection : Inspection
        Of a model.
    run : Run
        The same model, and what its file and its folder say of its training.
    opencv_settings : mapping of str to str
        What `opencv_traincascade` recorded in the file.

    Returns
    -------
    dict
        Text is text, to be escaped; drawings are SVG.
    """
    cascade, scan = inspection.cascade, inspection.scan
    costs = None if scan is None else scan.costs
    mean = run.history.mean_positive
    shown = inspection.stages[:MAX_CHARTED]
    return {
        "title": f"{run.path.parent.absolute().name}/{run.path.name}",
        "verdict": verdict(run),
        "about": about(run, []),
        "figures": _figures(inspection),
        "oddities": [oddity.sentence for oddity in inspection.oddities],
        "stages": [(facts, _measured(costs, facts.stage - 1)) for facts in shown],
        "n_left_out": len(inspection.stages) - len(shown),
        "scan": "" if scan is None else str(scan),
        "rejection": "" if costs is None else rejection_chart(costs, MAX_CHARTED),
        "cost": "" if costs is None or not shown else cost_chart(_stage_costs(costs)[:MAX_CHARTED]),
        "mean": mean_symbol(cascade.window, "" if mean is None else png_address(stretched(mean))),
        "has_mean": mean is not None,
        "is_lbp": cascade.feature_type is FeatureType.LBP,
        "drawings": [(facts, range_drawing(facts), _drawings(inspection, facts)) for facts in shown],
        "records": [run.records[stage] for stage in sorted(run.records)[:MAX_CHARTED]],
        "has_all_records": max(run.records, default=0) >= cascade.n_stages,
        "histories": run.history.stages,
        "metadata": {**run.metadata, "settings of opencv_traincascade": opencv_settings},
        "version": __version__,
    }


def _figures(inspection: Inspection) -> list[tuple[str, str]]:
    """Return the few numbers that matter most, each with its name."""
    cascade, scan = inspection.cascade, inspection.scan
    of_trees = len(cascade.nodes) > cascade.n_trees
    weak = (
        f"weak classifiers, trees with {len(cascade.nodes):,} nodes"
        if of_trees
        else "weak classifiers, stumps"
    )
    tilted = f", {inspection.n_tilted:,} of them tilted" if inspection.n_tilted else ""
    figures = [
        (str(cascade.window), "pixels, the window"),
        (f"{cascade.n_stages:,}", "stages"),
        (f"{cascade.n_trees:,}", weak),
        (f"{len(cascade.features):,}", f"{cascade.feature_type.label} features{tilted}"),
    ]
    if scan is not None:
        figures.append((f"{scan.costs.mean_features:.2f}", "features in a window of the pictures"))
        if cascade.n_stages:
            passed = scan.costs.n_passed[-1] / scan.costs.n_windows
            figures.append((f"{passed:.2g}", "of the windows of the pictures pass all stages"))
    return figures


def _measured(costs: ScanCosts | None, stage: int) -> tuple[str, str, str] | None:
    """Return what pictures say of a stage: share of windows that reach it, share rejected, features in any window."""
    if costs is None:
        return None
    rejected = f"{costs.rejected[stage]:.1%}" if costs.n_reached[stage] else "–"
    return f"{100 * costs.reached[stage]:.3g}%", rejected, f"{costs.features_of_any_window[stage]:.3f}"


def _stage_costs(costs: ScanCosts) -> list[StageCost]:
    of_any = costs.features_of_any_window.tolist()
    columns = (costs.reached.tolist(), costs.n_features.tolist(), of_any, accumulate(of_any))
    return [StageCost(*values) for values in zip(*columns, strict=True)]


def _drawings(inspection: Inspection, facts: StageFacts) -> list[tuple[str, str]]:
    """Return the first features of a stage, each with the votes of its weak classifier."""
    cascade = inspection.cascade
    trees = first_features(cascade, facts.stage, FEATURES_SHOWN)
    if not trees:
        return []
    first, last = (cascade.tree_starts[[trees[0], trees[-1] + 1]] + [trees[0], trees[-1] + 1]).tolist()
    largest = float(np.abs(cascade.leaves[first:last]).max())
    return [(feature_drawing(cascade, tree), votes_drawing(cascade, tree, largest)) for tree in trees]
