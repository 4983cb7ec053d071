"""A comparison as CSV and JSON: the same numbers as the report, with all their digits."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator

import numpy as np

from vjcascade.comparison.results import MEASURES, Comparison
from vjcascade.comparison.summary import BASELINE_RULES, Summary
from vjcascade.evaluation.intervals import Interval

ALL_DATASETS = "all finished"
"""In the place of a dataset's name: of the finished ones together."""

_WHO = ("block", "booster", "costs", "rule")

_ENDS = ("mean", "low", "high")


def results_csv(comparison: Comparison) -> str:
    """Return every single result.

    Parameters
    ----------
    comparison : Comparison
        Finished or not.

    Returns
    -------
    str
        CSV: a line for each dataset, entry and seed that is there. Nothing stands where there is no number: as "weak"
        where the targets were not reached.
    """
    names = [*MEASURES, "threshold"]
    lines = (
        [*_who(comparison, dataset, entry), seed, *(cell.get(name) for name in names)]
        for (dataset, entry, seed), cell in sorted(comparison.cells.items())
    )
    return _csv([*_WHO, "seed", *names], lines)


def summary_csv(comparison: Comparison) -> str:
    """Return means over seeds with their bands, and differences from the baseline.

    Parameters
    ----------
    comparison : Comparison
        Finished or not.

    Returns
    -------
    str
        CSV: a line for each dataset and entry, then one for each entry over all finished datasets, where "weak" is a
        sum and the others are means. Nothing stands where there is no number. An ensemble that does not reach the
        targets counts in the mean of "weak" as one more than were trained.
    """
    summary = Summary(comparison)
    columns = [
        *_WHO,
        "n_seeds",
        "weak_median",
        "reached",
        *(f"{name}_{end}" for name in MEASURES for end in _ENDS),
        *(f"{name}_difference_{end}" for name in BASELINE_RULES for end in _ENDS),
        *(f"features_per_window_{end}" for end in _ENDS),
        "weak_rank",
        "cost_rank",
    ]
    return _csv(columns, [*_dataset_lines(summary), *_overall_lines(summary)])


def results_json(comparison: Comparison) -> str:
    """Return all of a comparison, of which `Comparison.from_dict` makes it again.

    Parameters
    ----------
    comparison : Comparison
        Finished or not.

    Returns
    -------
    str
        JSON.
    """
    return json.dumps(comparison.as_dict(), allow_nan=False, ensure_ascii=False) + "\n"


def _dataset_lines(summary: Summary) -> Iterator[list[object]]:
    comparison = summary.comparison
    n_datasets, n_entries, _ = comparison.shape
    for dataset, entry in np.ndindex(n_datasets, n_entries):
        yield [
            *_who(comparison, dataset, entry),
            int(summary.n_seeds[dataset, entry]),
            _number(float(summary.weak_median[dataset, entry])),
            _number(float(summary.reached[dataset, entry])),
            *_ends(summary.means[name].at(dataset, entry) for name in MEASURES),
            *_ends(summary.differences[name].at(dataset, entry) for name in BASELINE_RULES),
            *[None] * (len(_ENDS) + 2),
        ]


def _overall_lines(summary: Summary) -> Iterator[list[object]]:
    comparison, complete = summary.comparison, list(summary.complete)
    if not complete:
        return
    ranks = [dict(zip(summary.weak_rank_test.entries, summary.weak_rank_test.ranks, strict=True)), {}]
    for rank_test in summary.cost_rank_tests.values():
        ranks[1] |= dict(zip(rank_test.entries, rank_test.ranks, strict=True))
    for entry in range(len(comparison.entries)):
        yield [
            ALL_DATASETS,
            *_who(comparison, complete[0], entry)[1:],
            int(summary.n_seeds[complete, entry].min()),
            None,
            _number(float(summary.reached[complete, entry].mean())),
            *_ends(summary.overall[name].at(entry) for name in MEASURES),
            *_ends(summary.overall_differences[name].at(entry) for name in BASELINE_RULES),
            *(_ends([summary.features.at(entry)]) if summary.features else [None] * len(_ENDS)),
            *(_number(of.get(entry, np.nan)) for of in ranks),
        ]


def _who(comparison: Comparison, dataset: int, entry: int) -> list[object]:
    one = comparison.entries[entry]
    return [comparison.datasets[dataset].name, one.contender.name, str(one.costs), str(one.rule)]


def _ends(intervals: Iterable[Interval]) -> list[float | None]:
    return [_number(end) for one in intervals for end in (one.mean, one.low, one.high)]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _csv(columns: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return file.getvalue()
