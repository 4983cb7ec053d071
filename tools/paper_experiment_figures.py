"""Draw the experiments of `paper_experiments`: the paper's figures 1 and 2, and asymmetry swapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from paper_experiments import (
    N_FEATURES,
    N_INFORMATIVE,
    N_REPEATS,
    N_TRAINING,
    SEPARATIONS,
    Counterexample,
    Floats,
    swap_asymmetry,
)
from paper_style import NEGATIVE, NEUTRAL, POSITIVE, letter, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOOSTER_STYLES = {
    "cost-generalized": ("Cost-Generalized AdaBoost", POSITIVE, "-"),
    "adaboost": (r"AdaBoost, threshold $\frac{1}{2}\log(C_N/C_P)$", NEUTRAL, ":"),
    "cost-sensitive": ("Cost-Sensitive AdaBoost", NEGATIVE, "-"),
    "adaboostdb": ("AdaBoostDB", "#CC79A7", "--"),
}


def counterexample_1() -> Figure:
    return draw_counterexample(1, "the polarity of Viola and Jones: positives inside", swapped=False)


def counterexample_2() -> Figure:
    return draw_counterexample(2, "the opposite polarity: positives outside", swapped=True)


def draw_counterexample(number: int, polarity: str, *, swapped: bool) -> Figure:
    """Draw the first weak classifiers, those of all rounds, and the errors over the rounds."""
    example = Counterexample.boost(swapped=swapped)
    title = f"Figure {number}. Cost-Generalized AdaBoost, $C_P=4$, $C_N=1$; {polarity}"
    flat = [f"{first}-{last}" for first, last in example.flat_sections() if last - first >= 5]
    caption = (
        f"Synthetic points (the paper's are not published), chosen so that what its Appendix C says holds. "
        f"Arrows point to the positive side. Flat sections of six rounds or more (grey): {', '.join(flat)}. "
        f"Constant weak classifiers chosen in 50 rounds: {len(example.run.chosen) - len(example.proper)}."
    )
    figure, axes = panels(title, caption, size=(14, 5.2), columns=3)
    draw_points(axes[0], example)
    draw_stumps(axes[0], example, example.proper[:4], linewidth=1.8)
    mark_first(axes[0], example)
    draw_region(axes[1], example)
    draw_points(axes[1], example)
    draw_stumps(axes[1], example, list(dict.fromkeys(example.proper)), linewidth=0.9)
    draw_errors(axes[2], example)
    letter(
        axes,
        [
            "first four weak classifiers that are not constant",
            "all weak classifiers, and where f(x) ≥ 0",
            "training errors",
        ],
    )
    return figure


def draw_points(axis: Axes, example: Counterexample) -> None:
    for label, marker, color, name in ((1, "+", POSITIVE, "positives"), (-1, "o", NEGATIVE, "negatives")):
        x, y = example.points[example.labels == label].T
        face = color if marker == "+" else "none"
        axis.scatter(
            x, y, marker=marker, c=face, edgecolors=None if marker == "+" else color, s=45, label=name
        )
    axis.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    axis.grid(visible=False)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.11), ncols=2)


def draw_stumps(axis: Axes, example: Counterexample, stumps: list[int], linewidth: float) -> None:
    """Draw each stump as a line, with an arrow to its positive side."""
    places = np.linspace(0.06, 0.94, len(stumps))
    for index, place in zip(stumps, places, strict=True):
        cut, ahead = example.stumps.cut[index], 0.045 * example.stumps.side[index]
        vertical = example.stumps.axis[index] == 0
        (axis.axvline if vertical else axis.axhline)(cut, color=NEUTRAL, linewidth=linewidth, alpha=0.75)
        start, end = (
            ((cut, place), (cut + ahead, place)) if vertical else ((place, cut), (place, cut + ahead))
        )
        axis.annotate(
            "", end, start, arrowprops={"arrowstyle": "->", "color": NEUTRAL, "linewidth": linewidth}
        )


def mark_first(axis: Axes, example: Counterexample) -> None:
    """Write 1 at the weak classifier of the first round, or say that it has no line."""
    first = example.run.chosen[0]
    cut = example.stumps.cut[first]
    if not np.isfinite(cut):
        axis.text(
            0.5, 1.0, "1: all positive", ha="center", va="center", fontweight="bold", backgroundcolor="white"
        )
        return
    place = (cut, 1.0) if example.stumps.axis[first] == 0 else (1.0, cut)
    axis.text(*place, "1", ha="center", va="center", fontweight="bold", backgroundcolor="white")


def draw_region(axis: Axes, example: Counterexample) -> None:
    """Shade where the strong classifier says positive."""
    grid = np.linspace(-0.03, 1.03, 250)
    x, y = np.meshgrid(grid, grid)
    score = example.scores(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    axis.contourf(x, y, score >= 0, levels=[0.5, 1.5], colors=[POSITIVE], alpha=0.15)


def draw_errors(axis: Axes, example: Counterexample) -> None:
    error_p, error_n = example.class_errors
    rounds = np.arange(1, len(error_p) + 1)
    for first, last in example.flat_sections():
        if last - first >= 5:
            axis.axvspan(first - 0.5, last + 0.5, color="#e4e4e4", linewidth=0)
    axis.plot(
        rounds, error_n, color=NEGATIVE, linestyle="--", marker="o", markersize=3, label="negatives, $E_N$"
    )
    axis.plot(rounds, error_p, color=POSITIVE, marker="+", markersize=5, label="positives, $E_P$")
    axis.plot(
        rounds, example.global_error, color=NEUTRAL, linewidth=2, label=r"global, $\gamma E_P+(1-\gamma)E_N$"
    )
    axis.set(xlabel="round $t$", ylabel="training error", xlim=(0, 51), ylim=(-0.03, 1.05))
    axis.legend(loc="upper right")


# Asymmetry swapping ---------------------------------------------------------------------------------------------


def asymmetry_swapping() -> Figure:
    """Draw FNR / FPR and the expected cost on held-out rows, over the rounds."""
    title = "Asymmetry swapping on held-out rows, $C_P=4$, $C_N=1$"
    caption = (
        f"Two Gaussians, {N_INFORMATIVE} of {N_FEATURES} features informative, means the separation apart in each; "
        f"{N_TRAINING} training rows, mean of {N_REPEATS} repeats. As the paper predicts, costs in the exponents "
        "(Cost-Sensitive AdaBoost, AdaBoostDB) end up favouring the cheap class. What it does not say: the asymmetry of "
        "Cost-Generalized AdaBoost is not kept either. Its cost is a fixed offset in a growing f, so once the training "
        "rows are told apart the ratio fades towards 1, as it does for AdaBoost with a fixed threshold."
    )
    figure, axes = panels(title, caption, size=(11, 8), rows=2, columns=2)
    for separation, above, below in zip(SEPARATIONS, axes[:2], axes[2:], strict=True):
        swapping = swap_asymmetry(separation)
        above.axhline(1, color="#999999", linewidth=1)
        draw_over_rounds(above, {name: swapping.ratio(name) for name in BOOSTER_STYLES})
        above.set(ylabel="FNR / FPR", yscale="log", ylim=(0.1, 10), title=f"separation {separation}")
        above.set_yticks([0.125, 0.25, 0.5, 1, 2, 4, 8], ["1/8", "1/4", "1/2", "1", "2", "4", "8"])
        above.minorticks_off()
        draw_over_rounds(below, {name: swapping.expected_cost(name) for name in BOOSTER_STYLES})
        below.set(xlabel="round $t$", ylabel=r"expected cost $\gamma$ FNR + $(1-\gamma)$ FPR", ylim=(0, None))
    axes[0].legend(fontsize=9)
    return figure


def draw_over_rounds(axis: Axes, curves: dict[str, Floats]) -> None:
    """Draw a curve for each booster."""
    for name, values in curves.items():
        label, color, dash = BOOSTER_STYLES[name]
        rounds = np.arange(1, len(values) + 1)
        axis.plot(rounds, values, color=color, linestyle=dash, linewidth=1.8, label=label)
