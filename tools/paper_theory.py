"""The formulas that the paper draws: losses of one sample, minimisers of the risk, cost scenarios.

Source: Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
arXiv 1507.04125. z is the performance score y f(x), p the probability P(y=1|x).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Costs
from vjcascade.boosters.costs import CostMatrix

Floats = NDArray[np.float64]

COST_PAIRS = ((8, 1), (4, 1), (2, 1), (1, 1), (1, 2), (1, 4), (1, 8))
"""(C_P, C_N) of the curves in the minimiser figures."""


@dataclass(frozen=True)
class Losses:
    """Loss of a positive and of a negative at the same performance scores, and the error that it bounds."""

    positive: Floats
    negative: Floats
    positive_error: Floats
    negative_error: Floats


def adaboost_loss(z: Floats) -> Losses:
    """Return exp(-z), which bounds the error [z < 0] (eq. std_adb_bound)."""
    loss, error = np.exp(-z), mistaken(z)
    return Losses(loss, loss, error, error)


def cost_sensitive_loss(z: Floats, costs: Costs) -> Losses:
    """Return exp(-C_P z) and exp(-C_N z), of Cost-Sensitive AdaBoost and AdaBoostDB (eq. csb_bound)."""
    error = mistaken(z)
    return Losses(np.exp(-costs.positive * z), np.exp(-costs.negative * z), error, error)


def cost_generalized_loss(z: Floats, costs: Costs) -> Losses:
    """Return gamma exp(-z) and (1 - gamma) exp(-z), of Cost-Generalized AdaBoost (eq. cgb_bound)."""
    loss, error, gamma = np.exp(-z), mistaken(z), costs.gamma
    return Losses(gamma * loss, (1 - gamma) * loss, gamma * error, (1 - gamma) * error)


def mistaken(z: Floats) -> Floats:
    """Return 1 where the decision is wrong, z < 0, and 0 elsewhere."""
    return (z < 0).astype(np.float64)


def adaboost_minimizer(p: Floats) -> Floats:
    """Return f_AB = 1/2 log(p / (1 - p)) (eq. min_ab_eqn)."""
    return cost_generalized_minimizer(p, 1.0, 1.0)


def cost_generalized_minimizer(p: Floats, cost_p: Floats | float, cost_n: Floats | float) -> Floats:
    """Return f_CGA = 1/2 log(C_P p / (C_N (1 - p))) (eq. min_cga_eqn)."""
    return 0.5 * np.log(cost_p * p / (cost_n * (1 - p)))


def cost_sensitive_minimizer(p: Floats, cost_p: Floats | float, cost_n: Floats | float) -> Floats:
    """Return f_CSA = 1/(C_P + C_N) log(C_P p / (C_N (1 - p))) (eq. min_csa_eqn)."""
    return np.log(cost_p * p / (cost_n * (1 - p))) / (cost_p + cost_n)


def costs_of_gamma(gamma: Floats) -> tuple[Floats, Floats]:
    """Return (C_P, C_N) with C_P / (C_P + C_N) = gamma, the smaller of the two being 1.

    So the paper draws its isoline maps, since f_CSA depends on the scale of the costs (its footnote).
    """
    return np.maximum(gamma / (1 - gamma), 1.0), np.maximum((1 - gamma) / gamma, 1.0)


SCENARIOS = (
    CostMatrix(true_negative=0, false_negative=1, false_positive=1, true_positive=0),
    CostMatrix(true_negative=0, false_negative=2, false_positive=1, true_positive=0),
    CostMatrix(true_negative=0, false_negative=1, false_positive=1, true_positive=0.5),
    CostMatrix(true_negative=0, false_negative=2, false_positive=1, true_positive=0.5),
    CostMatrix(true_negative=0.5, false_negative=2, false_positive=1, true_positive=0),
)
"""Examples of the five scenarios of the paper's Appendix B, a to e. It prints no numbers."""


@dataclass(frozen=True)
class Model:
    """A boosting model as the paper lays it over a scenario: its two class losses."""

    name: str
    costs: Costs
    in_exponent: bool

    def losses(self, z: Floats) -> tuple[Floats, Floats]:
        """Return the losses of a positive and of a negative: exp(-C z) or C exp(-z)."""
        p, n = self.costs.positive, self.costs.negative
        if self.in_exponent:
            return np.exp(-p * z), np.exp(-n * z)
        return p * np.exp(-z), n * np.exp(-z)


SCENARIO_MODELS = (
    Model("AdaBoost", Costs(1, 1), in_exponent=False),
    Model("Cost-Generalized AdaBoost", Costs(2, 1), in_exponent=False),
    Model("Cost-Generalized AdaBoost", Costs(1.5, 1), in_exponent=False),
    Model("Cost-Generalized AdaBoost", Costs(3, 1), in_exponent=False),
    Model("Cost-Sensitive AdaBoost", Costs(2, 1), in_exponent=True),
)
"""The model that the paper recommends for each of `SCENARIOS`: in c "a smoothed asymmetry", in d "more pronounced"."""

VARIABLE_COSTS = ((3.0, 2.5, 2.0), (1.2, 0.9, 0.6))
"""Costs of single positives and of single negatives in the figure of variable costs."""


def scenario_costs(z: Floats, matrix: CostMatrix) -> tuple[Floats, Floats]:
    """Return what deciding on a positive and on a negative costs at the performance scores z."""
    wrong = z < 0
    return (
        np.where(wrong, matrix.false_negative, matrix.true_positive),
        np.where(wrong, matrix.false_positive, matrix.true_negative),
    )
