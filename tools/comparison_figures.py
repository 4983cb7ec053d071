"""Draw the published tables of a comparison (extra ``paper``).

``python tools/comparison_figures.py samples/comparison`` draws, for each set of tables NAME there is in the folder:

* ``NAME-contrasts.svg``: the answers to the questions that were fixed before, as differences with their intervals;
* ``NAME-asymmetry.svg``: how many times as often positives are missed as negatives are taken for positives, over rounds.

Each figure says which tables it was drawn from, by their SHA-256; the tests fail if they are others.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from paper_style import STYLE

from vjcascade.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CONTRASTS, CURVES, ASYMMETRY = "-contrasts.csv", "-curves.csv.gz", "-asymmetry.svg"

SIGNIFICANT = 0.05
SHOWN_COSTS = ("10:1", "5:1", "2:1")
"""The first of these that the tables have is drawn over rounds."""

LINES = {
    ("adaboost", "natural"): ("AdaBoost, which ignores costs", "#777777"),
    ("adaboost", "theory"): ("AdaBoost, threshold of theory", "#0072B2"),
    ("adaboost", "calibrated"): ("AdaBoost, calibrated threshold", "#009E73"),
    ("cost-generalized:sample", "natural"): ("Cost-Generalized, prior of samples", "#D55E00"),
    ("cost-generalized", "natural"): ("Cost-Generalized, prior of classes", "#E69F00"),
    ("cost-sensitive", "natural"): ("Cost-Sensitive", "#CC79A7"),
    ("adaboostdb", "natural"): ("AdaBoostDB", "#56B4E9"),
}
"""Booster and threshold rule; colours that the colour-blind tell apart."""

GREY = "#808080"
"""Of letters and axes: it can be read on white and on black."""

PLAIN = STYLE | {
    "svg.fonttype": "none",
    "svg.hashsalt": "vjcascade",  # the same names of parts in every run
    "text.color": GREY,
    "axes.labelcolor": GREY,
    "axes.edgecolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "grid.color": GREY,
    "grid.alpha": 0.3,
}

Row = Mapping[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of the published tables")
    arguments = parser.parse_args()
    for path in sorted(arguments.folder.glob(f"*{CONTRASTS}")):
        draw(path, path.with_suffix(".svg"), contrasts_figure)
    for path in sorted(arguments.folder.glob(f"*{CURVES}")):
        draw(path, path.with_name(path.name.removesuffix(CURVES) + ASYMMETRY), asymmetry_figure)


def draw(source: Path, target: Path, figure_of: Callable[[Sequence[Row]], Figure]) -> None:
    """Draw a figure of a table."""
    import matplotlib as mpl

    content = source.read_bytes()
    text = (gzip.decompress(content) if source.suffix == ".gz" else content).decode()
    drawn = io.StringIO()
    with mpl.rc_context(PLAIN):
        figure = figure_of(list(csv.DictReader(io.StringIO(text))))
        metadata = {"Date": None, "Description": described(source)}
        figure.savefig(drawn, format="svg", transparent=True, metadata=metadata)
    write_atomic(target, re.sub(r"[ \t]+$", "", drawn.getvalue(), flags=re.MULTILINE).encode())
    print(f"{target} drawn")


def described(source: Path) -> str:
    """Return what a figure says of the table that it was drawn from."""
    return f"drawn from {source.name}, SHA-256 {hashlib.sha256(source.read_bytes()).hexdigest()}"


def contrasts_figure(rows: Sequence[Row]) -> Figure:
    """Draw a panel for each question, and in it a line for each cost ratio: the difference and its interval."""
    from matplotlib.figure import Figure

    questions = list(dict.fromkeys(row["question"] for row in rows))
    n_lines = max(sum(row["question"] == question for row in rows) for question in questions)
    n_rows = -(-len(questions) // 2)
    figure = Figure(figsize=(10, n_rows * (1.3 + 0.2 * n_lines)), layout="constrained")
    axes = list(figure.subplots(n_rows, 2, squeeze=False).flat)
    for axis, question in zip(axes, questions, strict=False):
        contrast_panel(axis, [row for row in rows if row["question"] == question])
        axis.set_title(textwrap.fill(question, 52), fontsize=10)
    for axis in axes[len(questions) :]:
        axis.set_visible(False)
    for measure in dict.fromkeys(row["measure"] for row in rows):  # lengths can be compared
        same = [
            axis
            for axis, question in zip(axes, questions, strict=False)
            if any(row["question"] == question and row["measure"] == measure for row in rows)
        ]
        ends = [end for axis in same for end in axis.get_xlim()]
        for axis in same:
            axis.set_xlim(min(ends), max(ends))
    return figure


def contrast_panel(axis: Axes, rows: Sequence[Row]) -> None:
    """Draw the answers to one question; a filled mark where the corrected p-value is significant."""
    scale = 100 if rows[0]["measure"] == "cost" else 1
    for place, row in enumerate(reversed(rows)):
        mean, low, high = (scale * float(row[f"difference{end}"]) for end in ("", "_low", "_high"))
        is_significant = float(row["corrected_p"]) <= SIGNIFICANT
        colour = "#D55E00" if is_significant else "#0072B2"
        axis.plot([low, high], [place, place], color=colour, linewidth=1.4)
        axis.plot(
            mean,
            place,
            "o",
            color=colour,
            markersize=5,
            markerfacecolor=colour if is_significant else "white",
        )
    axis.axvline(0, color=GREY, linewidth=0.8)
    axis.set_ylim(-0.7, len(rows) - 0.3)
    axis.set_yticks(range(len(rows)), [row["costs"] for row in reversed(rows)])
    first, second = (
        f"{rows[0][f'{side}_booster']}, {rows[0][f'{side}_rule']}" for side in ("first", "second")
    )
    unit = "cost, in points" if scale > 1 else "weak classifiers"
    axis.set_xlabel(f"{unit}: {first}\nminus {second}", fontsize=8)


def asymmetry_figure(rows: Sequence[Row]) -> Figure:
    """Draw the ratio of both error rates over rounds."""
    from matplotlib.figure import Figure

    costs = next(costs for costs in SHOWN_COSTS if any(row["costs"] == costs for row in rows))
    points: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for row in rows:
        if row["costs"] in {costs, "any"}:
            points[row["booster"], row["rule"]].append((int(row["round"]), float(row["ratio"])))
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axis = figure.subplots()
    for key, (name, colour) in LINES.items():
        if key in points:
            rounds, ratios = np.array(sorted(points[key])).T
            axis.plot(rounds, ratios, color=colour, label=name, linewidth=1.6)
    axis.axhline(1, color=GREY, linewidth=0.8)
    axis.set(xscale="log", yscale="log", xlabel="rounds", ylabel=f"miss rate / false-alarm rate, at {costs}")
    for part in (axis.xaxis, axis.yaxis):
        part.set_major_formatter("{x:g}")
    axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


if __name__ == "__main__":
    main()
