"""Draw the formulas of `paper_theory`: the paper's figures 3 to 13."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from paper_style import NEGATIVE, NEUTRAL, POSITIVE, letter, note, panels
from paper_theory import (
    COST_PAIRS,
    SCENARIO_MODELS,
    SCENARIOS,
    VARIABLE_COSTS,
    Floats,
    Losses,
    adaboost_loss,
    adaboost_minimizer,
    cost_generalized_loss,
    cost_generalized_minimizer,
    cost_sensitive_loss,
    cost_sensitive_minimizer,
    costs_of_gamma,
    scenario_costs,
)

from vjcascade.boosters import Costs
from vjcascade.boosters.costs import CostMatrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TWO_TO_ONE = Costs(2, 1)


# Figures 3 to 6: loss bounds ------------------------------------------------------------------------------------


def bound_adaboost() -> Figure:
    z = scores_around(2.0)
    return draw_bound("Figure 3. Training error bound of AdaBoost", z, adaboost_loss(z))


def bound_cost_sensitive() -> Figure:
    z = scores_around(2.0)
    title = "Figure 4. Error bound of Cost-Sensitive AdaBoost\nand AdaBoostDB, $C_P=2$, $C_N=1$"
    return draw_bound(title, z, cost_sensitive_loss(z, TWO_TO_ONE))


def bound_cost_generalized() -> Figure:
    z = scores_around(2.0)
    title = "Figure 5. Error bound of Cost-Generalized AdaBoost,\n$C_P=2$, $C_N=1$"
    return draw_bound(title, z, cost_generalized_loss(z, TWO_TO_ONE))


def scores_around(limit: float) -> Floats:
    """Return performance scores from -limit to limit, none of them 0, where the error jumps."""
    return np.linspace(-limit, limit, 800)


def draw_bound(title: str, z: Floats, losses: Losses) -> Figure:
    """Draw the loss of each class over the error that it bounds."""
    alike = np.array_equal(losses.positive, losses.negative)
    one_error = np.array_equal(losses.positive_error, losses.negative_error)
    figure, (axis,) = panels(
        title, "Thin lines: the training error that each bound lies above.", size=(6, 4.6)
    )
    if one_error:
        axis.plot(z, losses.positive_error, color=NEUTRAL, linewidth=1, label="error, both classes")
    else:
        axis.plot(z, losses.positive_error, color=POSITIVE, linewidth=1)
        axis.plot(z, losses.negative_error, color=NEGATIVE, linewidth=1, linestyle="--")
    if alike:
        axis.plot(z, losses.positive, color=NEUTRAL, linewidth=2.2, label="bound, both classes")
    else:
        draw_class_losses(axis, z, losses.positive, losses.negative)
    axis.set(
        xlabel=r"performance score $y_i f(\mathbf{x}_i)$", ylabel="loss", ylim=(0, 5), xlim=(z[0], z[-1])
    )
    axis.axvline(0, color="#999999", linewidth=0.8)
    axis.legend()
    return figure


def finish_scores(axis: Axes, z: Floats, limits: tuple[float, float], name: str) -> None:
    """Label axes over the performance score, and mark the success boundary."""
    axis.axvline(0, color="#999999", linewidth=0.8)
    axis.set(xlabel=r"performance score $y_i f(\mathbf{x}_i)$", xlim=(z[0], z[-1]), ylabel=name, ylim=limits)


def draw_class_losses(axis: Axes, z: Floats, positive: Floats, negative: Floats) -> None:
    axis.plot(z, positive, color=POSITIVE, linewidth=2.2, label="positives")
    axis.plot(z, negative, color=NEGATIVE, linewidth=2.2, linestyle="--", label="negatives")


def class_prevalence() -> Figure:
    """Draw which class weighs more at the same performance score, and how much."""
    z = scores_around(1.5)
    caption = "Shaded in the colour of the prevalent class. Below, the ratio: always 2 in (a), exp(-z) at score z in (b)."
    title = "Figure 6. Class prevalence of the error bounds, $C_P=2$, $C_N=1$"
    figure, axes = panels(title, caption, size=(9.5, 6.6), rows=2, columns=2)
    both = (cost_generalized_loss(z, TWO_TO_ONE), cost_sensitive_loss(z, TWO_TO_ONE))
    for axis, ratio_axis, losses in zip(axes[:2], axes[2:], both, strict=True):
        draw_class_losses(axis, z, losses.positive, losses.negative)
        shade_prevalence(axis, z, losses.positive, losses.negative)
        finish_scores(axis, z, (0, 4), "loss")
        axis.legend()
        ratio = losses.positive / losses.negative
        ratio_axis.plot(z, ratio, color=NEUTRAL, linewidth=2)
        shade_prevalence(ratio_axis, z, ratio, np.ones_like(z))
        ratio_axis.axhline(1, color="#999999", linewidth=0.8)
        ratio_axis.set_yscale("log")
        finish_scores(ratio_axis, z, (0.2, 5), "loss of positives / of negatives")
        ratio_axis.set_yticks([0.25, 0.5, 1, 2, 4], ["1/4", "1/2", "1", "2", "4"])
        ratio_axis.minorticks_off()
    letter(axes, ["Cost-Generalized AdaBoost", "Cost-Sensitive AdaBoost"])
    return figure


def shade_prevalence(axis: Axes, z: Floats, positive: Floats, negative: Floats) -> None:
    for color, where in ((POSITIVE, positive >= negative), (NEGATIVE, negative > positive)):
        axis.fill_between(z, positive, negative, where=where, color=color, alpha=0.15, linewidth=0)


# Figures 7 to 10: minimisers ------------------------------------------------------------------------------------


def minimizer_adaboost() -> Figure:
    title = "Figure 7. Optimal predictor of AdaBoost"
    figure, (axis,) = panels(title, "It depends on the likelihood alone.", size=(6, 4.6))
    p = likelihoods()
    axis.plot(p, adaboost_minimizer(p), color=NEUTRAL, linewidth=2.2)
    finish_minimizer(axis, r"$f_{AB}(\mathbf{x})$")
    return figure


def minimizer_cost_generalized() -> Figure:
    caption = "A dearer class raises (or lowers) the predictor by the same amount at every likelihood."
    return draw_minimizers("Figure 8. Optimal predictors of Cost-Generalized AdaBoost", caption, "CGA")


def minimizer_cost_sensitive() -> Figure:
    caption = (
        "The curves cross: at high likelihood a dearer positive class lowers the predictor "
        "(at 0.9: 1.10, 0.96, 0.72, 0.48 for $C_P$ = 1, 2, 4, 8). Its sign is that of Figure 8."
    )
    return draw_minimizers("Figure 9. Optimal predictors of Cost-Sensitive AdaBoost", caption, "CSA")


def likelihoods() -> Floats:
    """Return P(y=1|x) from almost 0 to almost 1."""
    return np.linspace(0.002, 0.998, 499)


def draw_minimizers(title: str, caption: str, name: str) -> Figure:
    """Draw a minimiser for several costs: blue where positives are dear, orange where negatives are."""
    figure, (axis,) = panels(title, caption, size=(6.6, 5.2))
    p = likelihoods()
    dashes = {1: "-", 2: "-", 4: "--", 8: ":"}
    for cost_p, cost_n in COST_PAIRS:
        color = POSITIVE if cost_p > cost_n else NEGATIVE if cost_n > cost_p else NEUTRAL
        f = (cost_generalized_minimizer if name == "CGA" else cost_sensitive_minimizer)(p, cost_p, cost_n)
        dash = dashes[max(cost_p, cost_n)]
        axis.plot(p, f, color=color, linestyle=dash, linewidth=1.8, label=f"$C_P={cost_p}$, $C_N={cost_n}$")
    finish_minimizer(axis, rf"$f_{{{name}}}(\mathbf{{x}})$")
    axis.legend(fontsize=8, loc="upper left")
    return figure


def finish_minimizer(axis: Axes, name: str) -> None:
    axis.axhline(0, color="#999999", linewidth=0.8)
    axis.set(xlabel=r"likelihood $P(y=1|\mathbf{x})$", ylabel=name, xlim=(0, 1), ylim=(-3.2, 3.2))


def isolines() -> Figure:
    title = "Figure 10. Isolines of the optimal predictors"
    caption = "One of the two costs is always 1, the other at least 1. Thick: the decision boundary, the same in both."
    figure, axes = panels(title, caption, size=(10.5, 5.2), columns=2)
    p, gamma = np.meshgrid(np.linspace(0.005, 0.995, 397), np.linspace(0.005, 0.995, 397))
    cost_p, cost_n = costs_of_gamma(gamma)
    for axis, minimizer in zip(axes, (cost_generalized_minimizer, cost_sensitive_minimizer), strict=True):
        f = minimizer(p, cost_p, cost_n)
        limit = 3.0
        filled = np.linspace(-limit, limit, 25)
        axis.contourf(p, gamma, f, levels=filled, cmap="PuOr", alpha=0.75, extend="both")
        levels = np.array([-3, -2, -1.5, -1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3])
        widths = np.where(levels == 0, 2.4, 0.9)
        lines = axis.contour(
            p, gamma, f, levels=levels, colors=NEUTRAL, linewidths=widths, linestyles="solid"
        )
        axis.clabel(lines, fontsize=8, fmt="%g")
        axis.set(xlim=(0, 1), ylim=(0, 1))
        axis.set(xlabel=r"likelihood $P(y=1|\mathbf{x})$", ylabel=r"normalised cost asymmetry $\gamma$")
        axis.grid(visible=False)
    letter(axes, [r"Cost-Generalized AdaBoost, $f_{CGA}$", r"Cost-Sensitive AdaBoost, $f_{CSA}$"])
    return figure


# Figures 11 to 13: cost scenarios -------------------------------------------------------------------------------


def cost_scenarios() -> Figure:
    """Draw what each decision costs in the five scenarios."""
    title = "Figure 11. Cost scenarios and their cost matrices"
    caption = "The paper prints no numbers; these are examples. $C$ = ($c_{nn}$ $c_{np}$; $c_{pn}$ $c_{pp}$): rows are decisions."
    figure, axes = scenario_panels(title, caption)
    for axis, matrix in zip(axes, SCENARIOS, strict=False):
        note(axis, shown(matrix), family="DejaVu Sans Mono")
    return figure


def cost_scenarios_with_models() -> Figure:
    """Draw the same with the boosting models that the paper recommends."""
    title = "Figure 12. Boosting models applied to the cost scenarios of Figure 11"
    caption = (
        "The models are the paper's. By expected cost only the reduced costs $c_{np}-c_{pp}$ and $c_{pn}-c_{nn}$ count: "
        "in (c) they make negatives the dearer class, against the paper's advice, and in (e) no class prevalence "
        "needs reversing."
    )
    figure, axes = scenario_panels(title, caption)
    z = scores_around(1.5)
    for axis, matrix, model in zip(axes, SCENARIOS, SCENARIO_MODELS, strict=False):
        draw_class_losses(axis, z, *model.losses(z))
        costs = f"$C_P={model.costs.positive:g}$, $C_N={model.costs.negative:g}$"
        note(axis, f"{model.name}\n{costs}\nreduced costs {matrix.reduced()}", fontsize=9)
    return figure


def scenario_panels(title: str, caption: str) -> tuple[Figure, list[Axes]]:
    """Return a panel for each scenario with its costs, and a legend in the sixth."""
    figure, axes = panels(title, caption, size=(12, 7.2), rows=2, columns=3)
    z = scores_around(1.5)
    for axis, matrix in zip(axes, SCENARIOS, strict=False):
        positive, negative = scenario_costs(z, matrix)
        axis.plot(z, positive, color=POSITIVE, linewidth=1.2)
        axis.plot(z, negative, color=NEGATIVE, linewidth=1.2, linestyle="--")
        shade_prevalence(axis, z, positive, negative)
        finish_scores(axis, z, (-0.1, 5), "cost")
    letter(axes, [matrix.scenario for matrix in SCENARIOS])
    axes[-1].axis("off")
    axes[-1].plot([], [], color=POSITIVE, label="positives (thin: the costs)")
    axes[-1].plot([], [], color=NEGATIVE, linestyle="--", label="negatives (thin: the costs)")
    axes[-1].fill_between([], [], color=POSITIVE, alpha=0.15, label="positives cost more")
    axes[-1].fill_between([], [], color=NEGATIVE, alpha=0.15, label="negatives cost more")
    axes[-1].legend(loc="center", fontsize=11)
    return figure, axes


def shown(matrix: CostMatrix) -> str:
    """Return a cost matrix as two lines."""
    nn, np_, pn, pp = (
        f"{cost:g}".center(3)
        for cost in (matrix.true_negative, matrix.false_negative, matrix.false_positive, matrix.true_positive)
    )
    return f"C = ⎛{nn} {np_}⎞\n    ⎝{pn} {pp}⎠"


def variable_costs() -> Figure:
    """Draw the losses of samples with costs of their own."""
    title = "Figure 13. Variable cost coefficients"
    caption = "Each curve is a sample with its own cost: a factor on the loss in (a), in the exponent in (b)."
    figure, axes = panels(title, caption, size=(10, 4.8), columns=2)
    z = scores_around(1.5)
    for costs, color, dash, name in zip(
        VARIABLE_COSTS, (POSITIVE, NEGATIVE), ("-", "--"), ("positives", "negatives"), strict=True
    ):
        for number, cost in enumerate(costs):
            style = {"color": color, "linestyle": dash, "linewidth": 1.8, "label": None if number else name}
            axes[0].plot(z, cost * np.exp(-z), **style)
            axes[1].plot(z, np.exp(-cost * z), **style)
    for axis in axes:
        axis.axvline(0, color="#999999", linewidth=0.8)
        axis.set(
            xlabel=r"performance score $y_i f(\mathbf{x}_i)$", xlim=(z[0], z[-1]), ylim=(0, 6), ylabel="loss"
        )
        axis.legend()
    letter(axes, ["initial weights, Cost-Generalized AdaBoost", "exponential bases, Cost-Sensitive AdaBoost"])
    return figure
