"""Draw the published tables of a comparison (extra ``paper``).

``python tools/comparison_figures.py samples/comparison`` draws, for each kind of tables there is in the folder (``tables``;
``stages``, with an object in each set of tables, ``stages-cars-contrasts.csv``):

* ``KIND-contrasts.svg``: the answers to the questions that were fixed before, as differences with their intervals;
* ``KIND-asymmetry.svg``: how many times as often positives are missed as negatives are taken for positives, over rounds;
* ``cascades-hit-rates.svg``: what whole cascades find, by false alarms per scene.

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from paper_style import STYLE

from vjcascade.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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

RATE_COLOURS = {"0.01": "#0072B2", "0.1": "#D55E00", "1": "#009E73"}
"""False alarms per scene, as in the columns' names."""

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
Tables = Mapping[str, Sequence[Row]]
"""Rows by what a table's name says beside its kind: the object, or nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of the published tables")
    arguments = parser.parse_args()
    for pattern, ending, figure_of in FIGURES:
        for kind, sources in sources_by_kind(arguments.folder, pattern).items():
            draw(sources, arguments.folder / f"{kind}{ending}", figure_of)


def sources_by_kind(folder: Path, pattern: str) -> dict[str, dict[str, Path]]:
    """Return tables by their kind and object: stages-cars and stages-faces are drawn in one figure.

    Of "tables", which have no object, the second name is empty.
    """
    kinds: dict[str, dict[str, Path]] = defaultdict(dict)
    for path in sorted(folder.glob(pattern)):
        kind, _, thing = path.name.removesuffix(pattern.rpartition("*")[2]).partition("-")
        kinds[kind][thing] = path
    return dict(kinds)


def draw(sources: Mapping[str, Path], target: Path, figure_of: Callable[[Tables], Figure]) -> None:
    """Draw a figure of tables."""
    import matplotlib as mpl

    tables = {}
    for name, source in sources.items():
        content = source.read_bytes()
        text = (gzip.decompress(content) if source.suffix == ".gz" else content).decode()
        tables[name] = list(csv.DictReader(io.StringIO(text)))
    drawn = io.StringIO()
    with mpl.rc_context(PLAIN):
        figure = figure_of(tables)
        metadata = {"Date": None, "Description": described(sources.values())}
        figure.savefig(drawn, format="svg", transparent=True, metadata=metadata)
    write_atomic(target, re.sub(r"[ \t]+$", "", drawn.getvalue(), flags=re.MULTILINE).encode())
    print(f"{target} drawn")


def described(sources: Iterable[Path]) -> str:
    """Return what a figure says of the tables that it was drawn from."""
    return "; ".join(
        f"drawn from {source.name}, SHA-256 {hashlib.sha256(source.read_bytes()).hexdigest()}"
        for source in sources
    )


def contrasts_figure(tables: Tables) -> Figure:
    """Draw a panel for each question, and in it a line for each cost ratio and table: the difference and its interval."""
    from matplotlib.figure import Figure

    panels: dict[str, list[tuple[str, Row]]] = defaultdict(list)
    for name, rows in tables.items():
        for row in rows:
            panels[row["question"]].append((f"{row['costs']}, {name}" if name else row["costs"], row))
    for lines in panels.values():  # all tables of one ratio beside each other
        ratios = list(dict.fromkeys(row["costs"] for _, row in lines))
        lines.sort(key=lambda line: ratios.index(line[1]["costs"]))
    n_lines = max(map(len, panels.values()))
    n_rows = -(-len(panels) // 2)
    figure = Figure(figsize=(10, n_rows * (1.3 + 0.2 * n_lines)), layout="constrained")
    axes = list(figure.subplots(n_rows, 2, squeeze=False).flat)
    for axis, (question, lines) in zip(axes, panels.items(), strict=False):
        contrast_panel(axis, lines)
        axis.set_title(textwrap.fill(question, 52), fontsize=10)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    measures = [lines[0][1]["measure"] for lines in panels.values()]
    for measure in dict.fromkeys(measures):  # lengths can be compared
        same = [axis for axis, one in zip(axes, measures, strict=False) if one == measure]
        ends = [end for axis in same for end in axis.get_xlim()]
        for axis in same:
            axis.set_xlim(min(ends), max(ends))
    return figure


def contrast_panel(axis: Axes, lines: Sequence[tuple[str, Row]]) -> None:
    """Draw the answers to one question by their names; a filled mark where the corrected p-value is significant."""
    names, rows = zip(*reversed(lines), strict=True)
    scale = 100 if rows[0]["measure"] == "cost" else 1
    for place, row in enumerate(rows):
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
    axis.set_yticks(range(len(rows)), names)
    first, second = (
        f"{rows[0][f'{side}_booster']}, {rows[0][f'{side}_rule']}" for side in ("first", "second")
    )
    unit = "cost, in points" if scale > 1 else "weak classifiers"
    axis.set_xlabel(f"{unit}: {first}\nminus {second}", fontsize=8)


def asymmetry_figure(tables: Tables) -> Figure:
    """Draw the ratio of both error rates over rounds, a panel for each table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.2) if len(tables) == 1 else (11, 4.2), layout="constrained")
    axes = figure.subplots(1, len(tables), squeeze=False, sharey=True)[0]
    for axis, (name, rows) in zip(axes, tables.items(), strict=True):
        costs = next(costs for costs in SHOWN_COSTS if any(row["costs"] == costs for row in rows))
        asymmetry_panel(axis, [row for row in rows if row["costs"] in {costs, "any"}])
        axis.set_title(name, fontsize=10)
        axis.set_ylabel(f"miss rate / false-alarm rate, at {costs}" if axis is axes[0] else "")
    axes[-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def asymmetry_panel(axis: Axes, rows: Sequence[Row]) -> None:
    """Draw the lines of `LINES` that there are."""
    points: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for row in rows:
        points[row["booster"], row["rule"]].append((int(row["round"]), float(row["ratio"])))
    for key, (name, colour) in LINES.items():
        if key in points:
            rounds, ratios = np.array(sorted(points[key])).T
            axis.plot(rounds, ratios, color=colour, label=name, linewidth=1.6)
    axis.axhline(1, color=GREY, linewidth=0.8)
    axis.set(xscale="log", yscale="log", xlabel="rounds")
    for part in (axis.xaxis, axis.yaxis):
        part.set_major_formatter("{x:g}")


def hit_rates_figure(tables: Tables) -> Figure:
    """Draw a panel for each table, in it a line for each booster and rate of false alarms: what it finds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    axes = figure.subplots(1, len(tables), squeeze=False, sharey=True)[0]
    for axis, (name, rows) in zip(axes, tables.items(), strict=True):
        for place, (rate, colour) in enumerate(RATE_COLOURS.items()):
            ends = [
                [100 * float(row[f"hit_rate_at_{rate}{end}"]) for row in rows]
                for end in ("", "_low", "_high")
            ]
            mean, low, high = np.array(ends)
            y = np.arange(len(rows)) + 0.22 * (place - 1)
            axis.hlines(y, low, high, color=colour, linewidth=1.4)
            axis.plot(mean, y, "o", color=colour, markersize=5, label=f"at {rate} false alarms per scene")
        axis.set_yticks(range(len(rows)), [row["entry"] for row in rows])
        axis.set(title=name, xlabel="hit rate in %")
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=3)
    return figure


FIGURES = (
    ("*-contrasts.csv", "-contrasts.svg", contrasts_figure),
    ("*-curves.csv.gz", "-asymmetry.svg", asymmetry_figure),
    ("cascades-*.csv", "-hit-rates.svg", hit_rates_figure),
)
"""Patterns of tables and endings of their figures, and what draws these."""


if __name__ == "__main__":
    main()
