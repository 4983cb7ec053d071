"""How good do models from few crops become in real scenes, with this version and with an earlier one?

``python tools/few_crops_table.py plate --data FOLDER --counts 25 50 --log plate.jsonl`` trains a model with default settings on each
draw of the object's crops (``--draws``) and of its photos (``--photos``, as a hobbyist has), searches the object's test scenes with
it, and prints a table. FOLDER holds the archives of the data, unpacked. Draws are the same for all versions: ``--version NAME
--program COMMAND`` trains by another one, and searches with this one. Nothing may be chosen on what this says: for that are the
scenes of bench_few_crops.py. A run that was stopped goes on: what the log has is not trained again. Words behind ``--`` are
options of ``vjcascade train``.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bench_few_crops import append_row, read_log, trained
from build_models import RECIPES, TestSet, found, read_test

from vjcascade import Cascade, Detector
from vjcascade.evaluation import Candidate, Protocol, evaluate

PRESENT = "present"

FIGURES = {
    "recall_at_0": "recall at 0 false alarms",
    "recall_at_5": "at 5",
    "recall_at_10": "at 10",
    "equal_point": "recall = precision",
    "best_f1": "best F1",
    "point_recall": "recall as used",
    "point_precision": "precision as used",
}

FACE_CROPS = "faces-train/caltech10k/train/*.png", "faces-train/lfw/train/*.png"
"""Without those that are altered copies already."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("object", choices=("car", "frontalface", "plate"))
    parser.add_argument("--data", type=Path, required=True, help="folder of the unpacked archives")
    parser.add_argument("--counts", type=int, nargs="+", default=[25, 50, 100, 200, 500, 1000, 2000, 5000])
    parser.add_argument("--draws", type=int, default=5, help="models for each number of crops")
    parser.add_argument("--photos", type=int, default=300, help="photos of each draw")
    parser.add_argument("--log", type=Path, required=True, help="file of what was measured, as lines of JSON")
    parser.add_argument("--version", default=PRESENT, help="name of the version that trains")
    parser.add_argument("--program", default="", metavar="COMMAND", help="its command; this version's if not given")
    words = sys.argv[1:]
    own = words[: words.index("--")] if "--" in words else words
    arguments, options = parser.parse_args(own), words[len(own) + 1 :]
    if (arguments.version == PRESENT) != (not arguments.program):
        parser.error("--version and --program go together")
    program, recipe = shlex.split(arguments.program), RECIPES[arguments.object]
    patterns = FACE_CROPS if arguments.object == "frontalface" else recipe.positives
    crops, photos = found(arguments.data, patterns), found(arguments.data, recipe.negatives)
    if recipe.left_out:
        seen = set((arguments.data / recipe.left_out).read_text().split())
        photos = [path for path in photos if path.name not in seen]
    known = list(read_log(arguments.log))
    with tempfile.TemporaryDirectory() as folder:
        for draw in range(arguments.draws):
            for count in arguments.counts:
                key = {"version": arguments.version, "crops": count, "draw": draw, "photos": arguments.photos}
                if count > len(crops) or any(key.items() <= row.items() for row in known):
                    continue
                of_draw = [
                    [paths[i] for i in np.random.default_rng([draw, n]).permutation(len(paths))[:n]]
                    for paths, n in ((crops, count), (photos, arguments.photos))
                ]
                own_options = [*options, *([] if program else ["--no-baseline"])]  # saves time
                cascade, seconds = trained(*of_draw, Path(folder) / "run", own_options, program)
                row = key | {"stages": cascade.n_stages, "weak": cascade.n_trees, "seconds": round(seconds)}
                row |= {test.title: measured(cascade, test, arguments.data) for test in recipe.tests}
                append_row(arguments.log, row)
                known.append(row)
    print(table(known, [test.title for test in recipe.tests]))


def measured(cascade: Cascade, test: TestSet, data: Path) -> dict[str, float | None]:
    """Return what a model finds in the scenes of a set; None for what it has not."""
    protocol = Protocol(rule=test.rule, counts=(0, 5, 10), n_resamples=1)
    evaluation = evaluate([Candidate("model", Detector(cascade))], read_test(data / test.boxes), protocol)
    keys = [figure.key for figure in evaluation.figures]
    values = [float(evaluation.models[0].values[0, keys.index(key)]) for key in FIGURES]
    return {key: None if np.isnan(one) else round(one, 4) for key, one in zip(FIGURES, values, strict=True)}


def table(rows: Sequence[dict[str, object]], tests: Sequence[str]) -> str:
    """Return the mean of the draws, and the least and the most of them, in Markdown."""
    lines = [f"| scenes | crops | version | draws | {' | '.join(FIGURES.values())} |", "|---" * (4 + len(FIGURES)) + "|"]
    for test in tests:
        for crops, version in sorted({(row["crops"], row["version"]) for row in rows}):
            members = [row[test] for row in rows if (row["crops"], row["version"]) == (crops, version)]
            cells = [test, f"{crops:,}", version, str(len(members))]
            for key in FIGURES:
                values = [100 * one[key] for one in members if one[key] is not None]
                spread = f"{np.mean(values):.1f} ({min(values):.1f} to {max(values):.1f})" if values else ""
                cells.append(spread)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
