"""CSB0, CSB1 and CSB2: the weights of mistakes, and the votes, are multiplied by the costs."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

import numpy as np

from vjcascade.boosters.base import DiscreteBooster, checked_option, half_log_odds
from vjcascade.boosters.costs import Costs
from vjcascade.boosters.state import BoostingState, Floats, Round

CostScale = Literal["min", "given"]


class CSB0(DiscreteBooster):
    r"""The weights of mistakes are multiplied by their cost; nothing else changes a weight.

    .. math:: D_1 \propto C_y D_0, \qquad \alpha = \tfrac12 \log\frac{1 - \varepsilon}{\varepsilon}, \qquad
              D \propto D\, C_y^{[h \ne y]}

    so that :math:`D \propto C_y^{1 + e}`, where e is the number of mistakes so far. The ensemble votes with costs,
    :math:`g = \sum \alpha h (C_P [h = 1] + C_N [h = -1])`, which is the plain vote with a threshold:
    :math:`g = \frac{C_P + C_N}{2} (f - \varphi)`, :math:`\varphi = S (C_N - C_P)/(C_N + C_P)`.

    Errata
        The updates take the chosen h_t (the listings have h_f).
    Reduces to AdaBoost
        Never: at costs (1, 1) the weights never change, and the same weak classifier is chosen in every round.
    Costs
        Any, on any scale: both are divided by the smaller one, as in Ting's papers. In the printed algorithm the scale
        matters, (3, 1) and (6, 2) give different ensembles, and costs below 1 reduce the weights of mistakes:
        `scale="given"`.
    Degenerate
        With C_N = 1, once h misses no positive, the weights no longer change. At 1000:1 the ensemble calls
        everything positive. Otherwise as AdaBoost.

    Parameters
    ----------
    costs : Costs
        Misclassification costs.
    n_rounds : int
        Not used.
    scale : {"min", "given"}
        Divide the costs by the smaller one, or use them as given.

    References
    ----------
    .. [1] Ting & Zheng, "Boosting trees for cost-sensitive classifications", ECML 1998; Ting, "A comparative
           study of cost-sensitive boosting algorithms", ICML 2000.
    .. [2] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
           :arxiv:`1507.04125`, listing CSB0.

    Examples
    --------
    >>> from vjcascade.boosters import Costs
    >>> CSB0(Costs(4, 1)).leaves(0.5)
    (-0.5, 2.0)
    """

    name: ClassVar[str] = "csb0"

    def __init__(self, costs: Costs, n_rounds: int = 100, *, scale: CostScale = "min") -> None:
        super().__init__(costs, n_rounds)
        self.scale = checked_option("scale", scale, get_args(CostScale))
        self.vote_costs = costs if scale == "given" else self.costs

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_0 + (1 + e) log C."""
        return self.log_prior(state) + (1 + state.mistakes) * np.log(self.vote_costs.of(state.labels))

    def alpha(self, error_p: float, error_n: float, round_: Round) -> float:  # noqa: ARG002
        """Return half the log odds of a correct output."""
        return half_log_odds(error_p + error_n)

    def leaves(self, alpha: float) -> tuple[float, float]:
        """Return the votes, each multiplied by the cost of wrongly giving the opposite output."""
        return -alpha * self.vote_costs.negative, alpha * self.vote_costs.positive


class CSB1(CSB0):
    r"""CSB0 whose weights also take a step of fixed length, :math:`D \propto D\, C_y^{[h \ne y]} e^{-y h}`.

    Closed form: :math:`C_y^{1 + e} e^{-y \sum h}`. Otherwise as `CSB0`; it never reduces to AdaBoost.

    Examples
    --------
    >>> from vjcascade.boosters import Costs
    >>> CSB1(Costs(4, 1)).name
    'csb1'
    """

    name: ClassVar[str] = "csb1"

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_0 + (1 + e) log C - y (sum of h)."""
        return super().log_weights(state) - state.labels * state.votes


class CSB2(CSB0):
    r"""CSB0 whose weights also take AdaBoost's step, :math:`D \propto D\, C_y^{[h \ne y]} e^{-\alpha y h}`.

    Closed form: :math:`C_y^{1 + e} e^{-y f}`. Otherwise as `CSB0`, but at equal costs its choices are AdaBoost's; with
    `scale="given"` only at costs (1, 1) (the paper says at all equal costs).

    Examples
    --------
    >>> from vjcascade.boosters import Costs
    >>> CSB2(Costs(4, 1)).name
    'csb2'
    """

    name: ClassVar[str] = "csb2"

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_0 + (1 + e) log C - y f."""
        return super().log_weights(state) - state.labels * state.score
