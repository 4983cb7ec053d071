"""From a comparison to the page: the numbers of its summary, arranged in `comparison.html`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vjcascade import __version__
from vjcascade.comparison.answer import answer, cheapest, few, fewest_weak, pair_name, share
from vjcascade.comparison.contrasts import Outcome
from vjcascade.comparison.design import Rule
from vjcascade.comparison.results import COMMAND, MEASURES, Comparison
from vjcascade.comparison.statistics import band
from vjcascade.comparison.summary import RankTest, Summary
from vjcascade.messages import pluralize, shortened
from vjcascade.report import comparison_tables as tables
from vjcascade.report.comparison_charts import MAX_RANKED, Curve, rank_chart, rates_chart
from vjcascade.report.heat import Grid
from vjcascade.report.templates import template
from vjcascade.training.settings import TrainingSettings

MAX_CHARTED = 60
"""Datasets whose curves are drawn."""

N_LEADING = 3
"""Sentences of the first paragraph; the others are a list."""


def build_comparison_report(comparison: Comparison, contrasts: Sequence[Outcome] = ()) -> str:
    """Return the report on a comparison, a page of HTML that needs nothing else.

    Parameters
    ----------
    comparison : Comparison
        Finished or not.
    contrasts : sequence of Outcome
        Answers to what was asked in advance.

    Returns
    -------
    str
        The page.
    """
    render = template("comparison.html")  # before the work
    return render(**comparison_values(comparison, contrasts))


def comparison_values(comparison: Comparison, contrasts: Sequence[Outcome] = ()) -> dict[str, Any]:
    """Return what the template shows.

    Parameters
    ----------
    comparison : Comparison
        Finished or not.
    contrasts : sequence of Outcome
        Answers to what was asked in advance.

    Returns
    -------
    dict
        Text is text, to be escaped; drawings are SVG.
    """
    summary, design = Summary(comparison), comparison.design
    metadata = {name: group for name, group in comparison.metadata.items() if name != COMMAND}
    drawn = drawn_entries(summary)
    return {
        "title": f"{pluralize(len(design.boosters), 'booster')} on {pluralize(len(comparison.datasets), summary.kind)}",
        "kind": comparison.kind,
        "dataset": summary.kind,
        "answer": answer(comparison, contrasts),
        "contrasts": [tables.contrast_row(one) for one in contrasts],
        "cost_baseline": summary.baseline_rule("cost"),
        "n_claims": len(summary.claims),
        "counts_tables": summary.counts_tables,
        "error_grids": tables.errors_over_rounds(summary),
        "n_leading": N_LEADING,
        "figures": _figures(summary),
        "design": design,
        "datasets": comparison.datasets,
        "n_complete": len(summary.complete),
        "grids": _overall_grids(summary),
        "weak_by_dataset": tables.weak_by_dataset(summary) if comparison.kind == "stages" else [],
        "n_weak_hidden": len(summary.weak_rank_test.entries) - len(tables.weak_rows(summary)),
        "max_rows": tables.MAX_ROWS,
        "max_dataset_rows": tables.MAX_DATASET_ROWS,
        "costs": tables.cost_grids(summary),
        "cost_by_dataset": tables.cost_by_dataset(summary) if comparison.kind == "tables" else [],
        "drawn": [(kind, pair_name(comparison.entries[entry])) for kind, entry in drawn.items()],
        "rates": _rates(summary, drawn),
        "thresholds": tables.thresholds_rows(summary),
        "weak_ranks": _weak_ranks(summary),
        "cost_ranks": _cost_ranks(summary),
        "measures": MEASURES,
        "metadata": metadata,
        "settings": _settings(comparison),
        "command": "\n".join(str(line) for line in comparison.metadata.get(COMMAND, {}).values()),
        "version": __version__,
    }


def drawn_entries(summary: Summary) -> dict[str, int]:
    """Return the entries whose curves are drawn, by what they are: best, usual and baseline.

    Parameters
    ----------
    summary : Summary
        Of a comparison.

    Returns
    -------
    dict
        Each entry once. The usual one is the booster that `train` takes by itself, at its best costs.
    """
    entries, rank_test = summary.comparison.entries, summary.weak_rank_test
    best = fewest_weak(summary)
    found: dict[str, int] = {}
    if not rank_test.entries:
        return found
    baseline = next((e for e in rank_test.entries if summary.baseline_of(e, "weak") == e), None)
    usual = [e for e in rank_test.entries if entries[e].contender.name == TrainingSettings().booster]
    means = summary.overall["weak"].mean
    for kind, entry in (
        ("best", best),
        ("usual", min(usual, key=lambda e: float(means[e]), default=None)),
        ("baseline", baseline),
    ):
        if entry is not None and entry not in found.values():
            found[kind] = entry
    return found


def _figures(summary: Summary) -> list[tuple[str, str]]:
    """Return the few numbers that matter most, each with its name."""
    comparison = summary.comparison
    n_entries, splits = len(comparison.entries), pluralize(comparison.design.n_seeds, "split")
    best = _best_stages(summary) if comparison.kind == "stages" else _best_tables(summary)
    return [*best, (f"{len(comparison.cells):,}", f"results: {n_entries:,} entries, {splits}")]


def _best_stages(summary: Summary) -> Iterator[tuple[str, str]]:
    best = fewest_weak(summary)
    if best is None:
        return
    who, means = pair_name(summary.comparison.entries[best]), summary.overall["weak"].mean
    yield few(means[best]), f"weak classifiers with {who}, the fewest"
    baseline = summary.baseline_of(best, "weak")
    if baseline is not None and baseline != best:
        yield few(means[baseline]), "with AdaBoost, threshold set afterwards"
    if summary.features is not None:
        yield few(summary.features.mean[best]), f"features per window with {who}"


def _best_tables(summary: Summary) -> Iterator[tuple[str, str]]:
    costs, means = summary.comparison.design.costs, summary.overall["cost"].mean
    for one in dict.fromkeys([costs[0], costs[-1]]):
        best = cheapest(summary, one)
        if best is not None:
            entry = summary.comparison.entries[best]
            yield (
                share(means[best]),
                f"cost at {one} with {entry.contender.name}, {entry.rule}, the best there",
            )


def _overall_grids(summary: Summary) -> dict[str, Grid]:
    """Return the tables with a row for each booster and a column for each costs."""
    rules = summary.comparison.design.rules
    any_rule = Rule.HIT_RATE if Rule.HIT_RATE in rules else rules[0]
    return {
        "weak": tables.by_costs(summary, Rule.HIT_RATE, tables.weak_cell(summary)),
        "features": tables.by_costs(summary, Rule.HIT_RATE, tables.features_cell(summary)),
        "errors": tables.by_costs(summary, Rule.NATURAL, tables.errors_cell(summary)),
        "calibration": tables.by_costs(
            summary, any_rule, tables.calibration_cell(summary), low_is_good=False
        ),
        "seconds": tables.by_costs(summary, any_rule, tables.seconds_cell(summary)),
    }


def _rates(summary: Summary, drawn: dict[str, int]) -> list[str]:
    comparison, design = summary.comparison, summary.comparison.design
    charts = []
    for dataset in range(min(len(comparison.datasets), MAX_CHARTED)):
        hits, false_alarms = (
            [_curve(summary, dataset, entry, rate, kind) for kind, entry in drawn.items()]
            for rate in ("hit_rate", "false_alarm_rate")
        )
        if hits and all(len(curve.mean) for curve in hits):
            targets = design.hit_rate, design.false_alarm_rate
            charts.append(
                rates_chart(
                    shortened(comparison.datasets[dataset].name, tables.MAX_NAME), hits, false_alarms, targets
                )
            )
    return charts


def _curve(summary: Summary, dataset: int, entry: int, rate: str, kind: str) -> Curve:
    curves = summary.comparison.curves(dataset, entry, rate)
    rounds = summary.comparison.design.kept_rounds
    if not curves.size:
        return Curve(kind, rounds, *np.empty((3, 0)))
    return Curve(
        kind, rounds, *band(curves, summary.comparison.datasets[dataset].test_share, bounds=(0.0, 1.0))
    )


def _weak_ranks(summary: Summary) -> dict[str, Any]:
    entries = summary.comparison.entries
    return _ranks(summary, summary.weak_rank_test, "", [pair_name(one) for one in entries], "weak")


def _cost_ranks(summary: Summary) -> list[dict[str, Any]]:
    names = [f"{one.contender.name}, {one.rule}" for one in summary.comparison.entries]
    return [
        _ranks(summary, summary.cost_rank_tests[costs], f"costs {costs}", names, "cost")
        for costs in tables.shown_costs(summary)
    ]


def _ranks(
    summary: Summary, rank_test: RankTest, title: str, names: list[str], measure: str
) -> dict[str, Any]:
    """Return a diagram of ranks, or none where there is nothing to rank over, with the test's result."""
    if rank_test.n_datasets < 2 or len(rank_test.entries) < 2:
        return {}
    baseline = next((e for e in rank_test.entries if summary.baseline_of(e, measure) == e), None)
    shown = tables.best_of(rank_test, MAX_RANKED, baseline)
    rank_of = dict(zip(rank_test.entries, rank_test.ranks.tolist(), strict=True))
    chart = rank_chart(
        [names[entry] for entry in shown],
        np.array([rank_of[entry] for entry in shown]),
        len(rank_test.entries),
        rank_test.difference,
        [entry == baseline for entry in shown],
    )
    return {
        "title": title,
        "chart": chart,
        "friedman": rank_test.friedman,
        "n_hidden": len(rank_test.entries) - len(shown),
        "difference": None if np.isnan(rank_test.difference) else rank_test.difference,
    }


def _settings(comparison: Comparison) -> dict[str, str]:
    design = comparison.design.as_dict()
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in design.items()
    }
