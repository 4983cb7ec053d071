"""How the paper's figures look: colours, type, titles and captions."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POSITIVE, NEGATIVE, NEUTRAL = "#0072B2", "#D55E00", "#222222"  # told apart by the colour-blind, and in grey
STYLE = {
    "figure.dpi": 110,
    "savefig.dpi": 150,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
}


def panels(
    title: str, caption: str, *, size: tuple[float, float], rows: int = 1, columns: int = 1
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a title, a caption below, and its axes row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)  # inches
    figure.suptitle(title, fontweight="bold")
    figure.supxlabel(textwrap.fill(caption, int(size[0] * 13.5)), fontsize=9, color="#444444", ha="center")
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def letter(axes: list[Axes], names: list[str]) -> None:
    """Head each panel with (a), (b) ... and its name."""
    for axis, mark, name in zip(axes, "abcdefgh", names, strict=False):
        axis.set_title(f"({mark}) {name}", fontsize=10)


def note(axis: Axes, text: str, **style: Any) -> None:
    """Write into the upper right corner of a panel."""
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    axis.text(0.97, 0.97, text, transform=axis.transAxes, ha="right", va="top", bbox=box, **style)
