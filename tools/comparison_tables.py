"""Write the small tables of a comparison: weak classifiers by stage, and the costs of decisions.

``python tools/comparison_tables.py comparison/results.json --output samples/comparison/faces`` writes
``faces-weak.csv`` (for stages) and ``faces-cost.csv``.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from vjcascade.comparison import Comparison
from vjcascade.comparison.summary import Bands, Summary
from vjcascade.files import write_atomic


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, help="results.json of a comparison")
    parser.add_argument("--output", type=Path, required=True, help="where to write, without -weak.csv")
    arguments = parser.parse_args()
    summary = Summary(Comparison.from_dict(json.loads(arguments.results.read_text(encoding="utf-8"))))
    if summary.kind == "stage":
        save(arguments.output, "weak", weak_table(summary))
    save(arguments.output, "cost", cost_table(summary))


def weak_table(summary: Summary) -> Iterator[Sequence[object]]:
    """Yield a line for each booster and costs, best rank first: weak classifiers to reach the targets."""
    comparison, rank_test = summary.comparison, summary.weak_rank_test
    datasets = [comparison.datasets[dataset].name for dataset in summary.complete]
    yield ["booster", "costs", *datasets, *band_names("sum"), *band_names("difference"), "reached", "rank"]
    for place in rank_test.order:
        entry = rank_test.entries[place]
        one = comparison.entries[entry]
        yield [
            one.contender.name,
            one.costs if one.contender.uses_costs else "any",
            *(short(summary.means["weak"].mean[dataset, entry]) for dataset in summary.complete),
            *ends(summary.overall["weak"], entry),
            *ends(summary.overall_differences["weak"], entry),
            short(summary.reached[list(summary.complete), entry].mean()),
            short(rank_test.ranks[place]),
        ]


def cost_table(summary: Summary) -> Iterator[Sequence[object]]:
    """Yield a line for each costs, booster and rule, best rank first: what decisions cost, and which class errs more."""
    comparison = summary.comparison
    yield ["costs", "booster", "rule", *band_names("cost"), *band_names("difference"), "swapped", "rank"]
    for costs, rank_test in summary.cost_rank_tests.items():
        for place in rank_test.order:
            entry = rank_test.entries[place]
            one = comparison.entries[entry]
            yield [
                costs,
                one.contender.name,
                one.rule,
                *ends(summary.overall["cost"], entry),
                *ends(summary.overall_differences["cost"], entry),
                short(summary.overall["swapped"].mean[entry]),
                short(rank_test.ranks[place]),
            ]


def band_names(name: str) -> list[str]:
    """Return the names of the columns of an interval."""
    return [name, f"{name}_low", f"{name}_high"]


def ends(bands: Bands, entry: int) -> list[str]:
    """Return the three numbers of an interval."""
    found = bands.at(entry)
    return [short(found.mean), short(found.low), short(found.high)]


def short(value: float) -> str:
    """Return a number in few digits."""
    return f"{value:.4g}"


def save(output: Path, kind: str, lines: Iterable[Sequence[object]]) -> None:
    """Write a table."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(lines)
    write_atomic(output.with_name(f"{output.name}-{kind}.csv"), text.getvalue().encode())


if __name__ == "__main__":
    main()
