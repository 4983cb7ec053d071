"""Write the tables of a comparison that are published, and which code they were made with.

``python tools/comparison_tables.py comparison/results.json --output samples/comparison/faces`` writes

* ``faces-weak.csv`` (of stages): weak classifiers to reach the targets, by stage;
* ``faces-cost.csv``: what decisions cost, and both error rates;
* ``faces-contrasts.csv`` (with ``--contrasts FILE``): answers to the questions in that file;
* ``faces-curves.csv.gz``: the same over rounds;
* ``faces-cells.csv.gz``: every single result.

`write_cascades` writes ``NAME.csv`` of whole cascades, and ``NAME-detections.json.gz``, from which all of it can be computed again.

Beside ``results.json`` there must be the ``probe.json`` that ``tools/comparison_probe.py`` wrote before the comparison was
begun, with the same code. It is copied, and ``provenance.json`` says which tables belong to it.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from comparison_probe import PROBE_NAME, PROVENANCE_NAME

from vjcascade.comparison import (
    Comparison,
    Summary,
    contrasts_csv,
    curves_csv,
    judged,
    read_contrasts,
    results_csv,
)
from vjcascade.comparison.full_results import FullComparison, full_csv, full_json
from vjcascade.comparison.summary import Bands, Differences
from vjcascade.files import write_atomic
from vjcascade.training.stage import BASELINE


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, help="results.json of a comparison")
    parser.add_argument("--output", type=Path, required=True, help="where to write, without -weak.csv")
    parser.add_argument("--contrasts", type=Path, help="TOML file of questions that were fixed before")
    arguments = parser.parse_args()
    probe = arguments.results.with_name(PROBE_NAME)
    if not probe.exists():
        sys.exit(
            f"{probe} is not there: run `python tools/comparison_probe.py --output {probe.parent}` and then the "
            "comparison, with the same code"
        )
    comparison = Comparison.from_dict(json.loads(arguments.results.read_text(encoding="utf-8")))
    write_tables(comparison, probe.read_bytes(), arguments.output, arguments.contrasts)


def write_tables(comparison: Comparison, probe: bytes, output: Path, contrasts: Path | None = None) -> None:
    """Write all tables of a comparison, and which code they were made with."""
    summary = Summary(comparison)
    texts = {"cost.csv": written(cost_table(summary))}
    if summary.kind == "stage":
        texts["weak.csv"] = written(weak_table(summary))
    if contrasts is not None:
        texts["contrasts.csv"] = contrasts_csv(judged(summary, read_contrasts(contrasts)))
    files = {f"{output.name}-{name}": text.encode() for name, text in texts.items()}
    for name, text in (("curves", curves_csv(comparison)), ("cells", results_csv(comparison))):
        files[f"{output.name}-{name}.csv.gz"] = gzip.compress(text.encode(), mtime=0)
    about = {
        "kind": comparison.kind,
        "design": comparison.design.as_dict(),
        "data": comparison.metadata.get("data", {}),
        "versions": comparison.metadata.get("versions", {}),
        "contrasts_sha256": None if contrasts is None else hashlib.sha256(contrasts.read_bytes()).hexdigest(),
    }
    _write(output.parent, files, probe, about)


def write_cascades(full: FullComparison, probe: bytes, output: Path) -> None:
    """Write what whole cascades reach, every detection of theirs, and which code they were trained with."""
    scenes = full.metadata["scenes"]
    named = {**scenes, "source": Path(scenes["source"]).name}  # not the folder of this machine
    full = replace(full, metadata={**full.metadata, "scenes": named})
    files = {
        f"{output.name}.csv": full_csv(full).encode(),
        f"{output.name}-detections.json.gz": gzip.compress(full_json(full).encode(), mtime=0),
    }
    _write(output.parent, files, probe, {"kind": "cascades", **full.metadata})


def _write(folder: Path, files: Mapping[str, bytes], probe: bytes, about: Mapping[str, Any]) -> None:
    """Write tables, the probe of their code, and what they are."""
    for name, content in files.items():
        write_atomic(folder / name, content)
    write_atomic(folder / PROBE_NAME, probe)
    path = folder / PROVENANCE_NAME
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    about = {"probe_sha256": hashlib.sha256(probe).hexdigest(), **about}
    known |= {
        name: {"sha256": hashlib.sha256(content).hexdigest(), **about} for name, content in files.items()
    }
    write_atomic(path, (json.dumps(dict(sorted(known.items())), indent=1) + "\n").encode())


def weak_table(summary: Summary) -> Iterator[Sequence[object]]:
    """Yield a line for each booster and costs, best rank first: weak classifiers to reach the targets."""
    comparison, rank_test = summary.comparison, summary.weak_rank_test
    datasets = [comparison.datasets[dataset].name for dataset in summary.complete]
    yield ["booster", "costs", *datasets, *band_names("sum"), *judged_names("difference"), "reached", "rank"]
    for place in rank_test.order:
        entry = rank_test.entries[place]
        one = comparison.entries[entry]
        yield [
            one.contender.name,
            one.costs if one.contender.uses_costs else "any",
            *(short(summary.means["weak"].mean[dataset, entry]) for dataset in summary.complete),
            *ends(summary.overall["weak"], entry),
            *judged_cells(summary.overall_differences["weak"], entry),
            short(summary.reached[list(summary.complete), entry].mean()),
            short(rank_test.ranks[place]),
        ]


def cost_table(summary: Summary) -> Iterator[Sequence[object]]:
    """Yield a line for each costs, booster and rule, best rank first: what decisions cost, and both error rates."""
    comparison, overall = summary.comparison, summary.overall
    baseline = f"difference from {BASELINE}, {summary.baseline_rule('cost')}"
    errors = ["miss_rate", "false_alarm_rate", "ratio"]
    yield ["costs", "booster", "rule", *band_names("cost"), *judged_names(baseline), *errors, "rank"]
    for costs, rank_test in summary.cost_rank_tests.items():
        for place in rank_test.order:
            entry = rank_test.entries[place]
            one = comparison.entries[entry]
            missed, false = 1 - overall["hit_rate"].mean[entry], overall["false_alarm_rate"].mean[entry]
            yield [
                costs,
                one.contender.name,
                one.rule,
                *ends(overall["cost"], entry),
                *judged_cells(summary.overall_differences["cost"], entry),
                *map(short, (missed, false, missed / false if false else math.nan)),
                short(rank_test.ranks[place]),
            ]


def judged_names(name: str) -> list[str]:
    """Return the names of the columns of a difference."""
    return [name, *(f"difference_{end}" for end in ("low", "high", "p", "corrected_p"))]


def judged_cells(differences: Differences, entry: int) -> list[str]:
    """Return the numbers of a difference: the corrected p-value is that of the whole comparison's family."""
    return [*ends(differences, entry), *map(short, (differences.p[entry], differences.corrected[entry]))]


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


def written(lines: Iterable[Sequence[object]]) -> str:
    """Return a table as text."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


if __name__ == "__main__":
    main()
