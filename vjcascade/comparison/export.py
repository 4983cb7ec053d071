"""A comparison as CSV and JSON: the same numbers as the report, with all their digits."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator

import numpy as np

from vjcascade.comparison.results import MEASURES, Comparison
from vjcascade.comparison.statistics import band
from vjcascade.comparison.summary import BASELINE_RULES, Differences, Summary
from vjcascade.evaluation.intervals import Interval
from vjcascade.training.stage import BASELINE

ALL_DATASETS = "all finished"
"""In the place of a dataset's name: of the finished ones together."""

_WHO = ("block", "booster", "costs", "rule")

_ENDS = ("mean", "low", "high")

_JUDGED = (*_ENDS, "p", "corrected_p")


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

    Examples
    --------
    >>> Path("results.csv").write_text(results_csv(comparison))  # doctest: +SKIP
    """
    names = [*MEASURES, "threshold"]
    lines = (
        [*_who(comparison, dataset, entry), seed, *(cell.get(name) for name in names)]
        for (dataset, entry, seed), cell in sorted(comparison.cells.items())
    )
    return _csv([*_WHO, "seed", *names], lines)


def summary_csv(comparison: Comparison) -> str:
    """Return means over seeds with their bands, and differences from the baseline with their p-values.

    Parameters
    ----------
    comparison : Comparison
        Finished or not.

    Returns
    -------
    str
        CSV: a line for each dataset and entry, then one for each entry over all finished datasets, where "weak" is a
        sum and the others are means. Nothing stands where there is no number. An ensemble that does not reach the
        targets counts in the mean of "weak" as one more than were trained. Bands are 95 % ones of each number by
        itself; corrected p-values hold for all comparisons together (Holm's method, a family of all datasets and one
        of them together) and for contrasts and ranks. The baseline of cost is told in its own column.

    Examples
    --------
    >>> Path("summary.csv").write_text(summary_csv(comparison))  # doctest: +SKIP
    """
    summary = Summary(comparison)
    columns = [
        *_WHO,
        "n_seeds",
        "weak_median",
        "reached",
        *(f"{name}_{end}" for name in MEASURES for end in _ENDS),
        "cost_baseline",
        *(f"{name}_difference_{end}" for name in BASELINE_RULES for end in _JUDGED),
        *(f"features_per_window_{end}" for end in _ENDS),
        "weak_rank",
        "cost_rank",
    ]
    return _csv(columns, [*_dataset_lines(summary), *_overall_lines(summary)])


def curves_csv(comparison: Comparison) -> str:
    """Return learning curves: error rates and cost after many rounds, over all finished datasets together.

    Parameters
    ----------
    comparison : Comparison
        Finished or not.

    Returns
    -------
    str
        CSV: a line for each entry and each of `Design.kept_rounds`. The ratio is that of the two mean error rates, and
        nothing stands where the second is 0; bands of cost are 95 % ones of each number by itself.

    Examples
    --------
    >>> Path("curves.csv").write_text(curves_csv(comparison))  # doctest: +SKIP
    """
    summary = Summary(comparison)
    columns = [
        *_WHO[1:],
        "round",
        "miss_rate",
        "false_alarm_rate",
        "ratio",
        *(f"cost_{end}" for end in _ENDS),
    ]
    return _csv(columns, _curve_lines(summary) if summary.complete else ())


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

    Examples
    --------
    >>> Path("results.json").write_text(results_json(comparison))  # doctest: +SKIP
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
            _baseline(summary),
            *_judged([summary.differences[name] for name in BASELINE_RULES], dataset, entry),
            *[None] * (len(_ENDS) + 2),
        ]


def _curve_lines(summary: Summary) -> Iterator[list[object]]:
    comparison = summary.comparison
    for entry in range(len(comparison.entries)):
        misses = 1 - summary.curves(entry, "hit_rate").mean(axis=0)
        false_alarms = summary.curves(entry, "false_alarm_rate").mean(axis=0)
        costs = band(summary.curves(entry, "cost"), summary.test_share, bounds=(0.0, 1.0))
        for place, number in enumerate(comparison.design.kept_rounds):
            missed, false = float(misses[place]), float(false_alarms[place])
            ratio = missed / false if false else None
            ends = [_number(end[place]) for end in costs]
            yield [*_who(comparison, summary.complete[0], entry)[1:], number, missed, false, ratio, *ends]


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
            _baseline(summary),
            *_judged([summary.overall_differences[name] for name in BASELINE_RULES], entry),
            *(_ends([summary.features.at(entry)]) if summary.features else [None] * len(_ENDS)),
            *(_number(of.get(entry, np.nan)) for of in ranks),
        ]


def _who(comparison: Comparison, dataset: int, entry: int) -> list[object]:
    one = comparison.entries[entry]
    return [comparison.datasets[dataset].name, one.contender.name, str(one.costs), str(one.rule)]


def _baseline(summary: Summary) -> str | None:
    rule = summary.baseline_rule("cost")
    return None if rule is None else f"{BASELINE}, {rule}"


def _judged(differences: Iterable[Differences], *place: int) -> list[float | None]:
    numbers: list[float | None] = []
    for one in differences:
        numbers += [*_ends([one.at(*place)]), *(_number(of[place]) for of in (one.p, one.corrected))]
    return numbers


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
