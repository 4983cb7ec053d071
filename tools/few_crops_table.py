"""Measure how good models from few crops become in real scenes, with this version and with an earlier one.

``python tools/few_crops_table.py measure plate --data FOLDER --counts 25 50`` trains a model with default settings on each draw of
the object's crops (``--draws``) and of its photos (``--photos``, as a hobbyist has), searches the object's test scenes with it, and
adds a line to ``samples/few-crops/plate.jsonl``. FOLDER holds the archives of the data, unpacked. Draws are the same for all
versions: ``--version NAME --program COMMAND`` trains by another one, and searches with this one. Nothing may be chosen on what this
says: for that are the scenes of bench_few_crops.py. A run that was stopped goes on: what the log has is not trained again. Words
behind ``--`` are options of ``vjcascade train``.

``python tools/few_crops_table.py page`` writes ``docs/performance/few-crops.md``, with the table of all logs.
"""

from __future__ import annotations

import argparse
import itertools
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from bench_few_crops import append_row, read_log, trained
from build_models import PROJECT, RECIPES, TestSet, found, photos_of, read_test

from vjcascade import Cascade, Detector
from vjcascade.evaluation import Candidate, Protocol, evaluate
from vjcascade.files import write_atomic

BEFORE, PRESENT = "before", "present"

FIGURES = {
    "recall_at_0": "recall at 0 false alarms",
    "recall_at_5": "at 5",
    "recall_at_10": "at 10",
    "best_f1": "best F1",
    "point_recall": "recall as used",
    "point_precision": "precision as used",
}

OBJECTS = {
    "car": RECIPES["car"],
    "frontalface": replace(
        RECIPES["frontalface"],
        positives=("faces-train/caltech10k/train/*.png", "faces-train/lfw/train/*.png"),
    ),
    "plate": RECIPES["plate"],
}
"""Faces without crops that are altered copies already."""

Row = Mapping[str, Any]
"""What was measured of a model: a line of a log."""

LOGS = PROJECT / "samples" / "few-crops"

PAGE = PROJECT / "docs" / "performance" / "few-crops.md"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser("measure")
    measure.add_argument("object", choices=OBJECTS)
    measure.add_argument("--data", type=Path, required=True, help="folder of the unpacked archives")
    measure.add_argument("--counts", type=int, nargs="+", default=[25, 50, 100, 200, 500, 1000, 2000, 5000])
    measure.add_argument("--draws", type=int, default=5, help="models for each number of crops")
    measure.add_argument("--photos", type=int, default=300, help="photos of each draw")
    measure.add_argument("--logs", type=Path, default=LOGS, help="folder of what was measured")
    measure.add_argument("--version", default=PRESENT, help="name of the version that trains")
    measure.add_argument("--program", default="", help="its command; this version's if not given")
    measure.set_defaults(run=run_measure)
    page = commands.add_parser("page")
    page.set_defaults(run=lambda *_: write_atomic(PAGE, page_of(LOGS).encode()))
    words = sys.argv[1:]
    own = words[: words.index("--")] if "--" in words else words
    arguments = parser.parse_args(own)
    if arguments.run is run_measure and (arguments.version == PRESENT) != (not arguments.program):
        parser.error("--version and --program go together")
    arguments.run(arguments, words[len(own) + 1 :])


def run_measure(arguments: argparse.Namespace, options: Sequence[str]) -> None:
    """Train and measure what the log of an object has not."""
    recipe, program = OBJECTS[arguments.object], shlex.split(arguments.program)
    crops, photos = found(arguments.data, recipe.positives), photos_of(recipe, arguments.data)
    log = arguments.logs / f"{arguments.object}.jsonl"
    known = list(read_log(log))
    with tempfile.TemporaryDirectory() as folder:
        for draw, count in itertools.product(range(arguments.draws), arguments.counts):
            key = {"version": arguments.version, "crops": count, "draw": draw, "photos": arguments.photos}
            if count > len(crops) or any(key.items() <= row.items() for row in known):
                continue
            of_draw = [
                [paths[i] for i in np.random.default_rng([draw, n]).permutation(len(paths))[:n]]
                for paths, n in ((crops, count), (photos, arguments.photos))
            ]
            cascade, seconds = trained(*of_draw, Path(folder) / "run", options, program)
            row = key | {"stages": cascade.n_stages, "weak": cascade.n_trees, "seconds": round(seconds)}
            row |= {test.title: measured(cascade, test, arguments.data) for test in recipe.tests}
            append_row(log, row)
            known.append(row)


def measured(cascade: Cascade, test: TestSet, data: Path) -> dict[str, float | None]:
    """Return what a model finds in the scenes of a set; None for what it has not."""
    protocol = Protocol(rule=test.rule, counts=(0, 5, 10), n_resamples=1)
    evaluation = evaluate([Candidate("model", Detector(cascade))], read_test(data / test.boxes), protocol)
    keys = (figure.key for figure in evaluation.figures)
    values = dict(zip(keys, evaluation.models[0].values[0].tolist(), strict=True))
    return {key: None if np.isnan(values[key]) else round(values[key], 4) for key in FIGURES}


def page_of(logs: Path) -> str:
    """Return the page of all logs, in Markdown."""
    of_object = [list(read_log(log)) for log in sorted(logs.glob("*.jsonl"))]
    tables = "\n\n".join(map(table, of_object))
    return f"""# From few crops

What `vjcascade train crops photos` makes of a few pictures, with default settings, and what it made of them before it learned to train
from few (commit 500838c): before crops were augmented with altered copies, which thresholds are tuned on, too. A draw is so many of the
object's training crops and 300 photos without it, the same for both versions; models are tried on all test scenes of the
object, on which nothing was chosen. `python tools/few_crops_table.py` repeats it; every model has a line in `samples/few-crops`.

Best F1 in percent, before and now, means of the draws (a question mark: not measured yet):

{summary(of_object)}

Below, shares are in percent: the mean of the draws, and the least and the most of several. "Recall at 5" is the share of the
objects that is found with five false alarms in all scenes; "as used" is what `vjcascade detect` finds without any option. At
default settings models from few crops can be lax: [tune](../how-to/tune.md) them on labelled photos. Minutes are those of one processor, beside
other work.

{tables}
"""


def summary(of_object: Sequence[Sequence[Row]]) -> str:
    """Return the best F1 of both versions by number of crops, in Markdown."""
    counts = sorted({row["crops"] for rows in of_object for row in rows})
    head = [f"{count:,} crops" for count in counts]
    lines = [f"| scenes | {' | '.join(head)} |", "|---" * (len(counts) + 1) + "|"]
    for rows in of_object:
        draws = draws_of(rows)
        for test in scenes_of(rows):
            cells = [test]
            for count in counts:
                both = [draws.get((count, version), []) for version in (BEFORE, PRESENT)]
                means = [
                    f"{np.mean([100 * row[test]['best_f1'] for row in one]):.0f}" if one else "?"
                    for one in both
                ]
                cells.append(" → ".join(means) if any(both) else "")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def scenes_of(rows: Sequence[Row]) -> list[str]:
    """Return the names of the sets of scenes that an object's models were tried on."""
    return [name for name, value in rows[0].items() if isinstance(value, dict)]


def draws_of(rows: Sequence[Row]) -> dict[tuple[int, str], list[Row]]:
    """Return the draws of each number of crops and each version, in order."""
    draws: dict[tuple[int, str], list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["crops"], row["version"])):
        draws.setdefault((row["crops"], row["version"]), []).append(row)
    return draws


def table(rows: Sequence[Row]) -> str:
    """Return the mean of the draws, and the least and the most of them, in Markdown."""
    parts = []
    for test in scenes_of(rows):
        parts.append(f"## {test}\n")
        parts.append(f"| crops | version | draws | {' | '.join(FIGURES.values())} | minutes |")
        parts.append("|---" * (4 + len(FIGURES)) + "|")
        for (crops, version), draws in draws_of(rows).items():
            cells = [f"{crops:,}", version, str(len(draws))]
            columns = ([row[test][key] for row in draws] for key in FIGURES)
            cells += [spread([100 * value for value in column if value is not None]) for column in columns]
            cells.append(f"{np.mean([row['seconds'] for row in draws]) / 60:.1f}")
            parts.append(f"| {' | '.join(cells)} |")
        parts.append("")
    return "\n".join(parts).rstrip()


def spread(values: Sequence[float]) -> str:
    """Return the mean of values, and the least and the most of several."""
    ends = f" ({min(values):.0f} to {max(values):.0f})" if len(values) > 1 else ""
    return f"{np.mean(values):.0f}{ends}" if values else ""


if __name__ == "__main__":
    main()
