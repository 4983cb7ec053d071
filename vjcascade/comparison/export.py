"""A comparison as CSV and JSON: the same numbers as the report, with all their digits."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator

import numpy as np

from vjcascade.comparison.results import MEASURES, Comparison
from vjcascade.comparison.statistics import Interval
from vjcascade.comparison.summary import BASELINE_RULES, Summary

ALL_BLOCKS = "all finished"
"""In the place of a block's name: of the finished ones together."""

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
        CSV: a line for each block, entry and seed that is there. Nothing stands where there is no number: as "weak"
        where the targets were not reached.
    """
    names = [*MEASURES, "threshold"]
    lines = (
        [*_who(comparison, block, entry), seed, *(cell.get(name) for name in names)]
        for (block, entry, seed), cell in sorted(comparison.cells.items())
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
        CSV: a line for each block and entry, then one for each entry over all finished blocks, where "weak" is a sum
        and the others are means. Nothing stands where there is no number. An ensemble that does not reach the targets
        counts in the mean of "weak" as one more than were trained.
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
    return _csv(columns, [*_block_lines(summary), *_overall_lines(summary)])


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


def _block_lines(summary: Summary) -> Iterator[list[object]]:
    comparison = summary.comparison
    n_blocks, n_entries, _ = comparison.shape
    for block, entry in np.ndindex(n_blocks, n_entries):
        yield [
            *_who(comparison, block, entry),
            int(summary.n_seeds[block, entry]),
            _number(float(summary.weak_median[block, entry])),
            _number(float(summary.reached[block, entry])),
            *_ends(summary.means[name].at(block, entry) for name in MEASURES),
            *_ends(summary.differences[name].at(block, entry) for name in BASELINE_RULES),
            *[None] * (len(_ENDS) + 2),
        ]


def _overall_lines(summary: Summary) -> Iterator[list[object]]:
    comparison, finished = summary.comparison, list(summary.finished)
    if not finished:
        return
    ranks = [dict(zip(summary.weak_contest.entries, summary.weak_contest.ranks, strict=True)), {}]
    for contest in summary.cost_contests.values():
        ranks[1] |= dict(zip(contest.entries, contest.ranks, strict=True))
    for entry in range(len(comparison.entries)):
        yield [
            ALL_BLOCKS,
            *_who(comparison, finished[0], entry)[1:],
            int(summary.n_seeds[finished, entry].min()),
            None,
            _number(float(summary.reached[finished, entry].mean())),
            *_ends(summary.overall[name].at(entry) for name in MEASURES),
            *_ends(summary.overall_differences[name].at(entry) for name in BASELINE_RULES),
            *(_ends([summary.features.at(entry)]) if summary.features else [None] * len(_ENDS)),
            *(_number(of.get(entry, np.nan)) for of in ranks),
        ]


def _who(comparison: Comparison, block: int, entry: int) -> list[object]:
    one = comparison.entries[entry]
    return [comparison.blocks[block].name, one.contender.name, str(one.costs), str(one.rule)]


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
