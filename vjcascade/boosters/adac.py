"""AdaC1, AdaC2 and AdaC3: costs inside, outside, and both inside and outside the exponent."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

import numpy as np

from vjcascade.boosters.base import DiscreteBooster, checked_option, clipped, half_log_odds
from vjcascade.boosters.costs import Costs
from vjcascade.boosters.state import BoostingState, Floats, Round

CostScale = Literal["max", "sum"]


class AdaC(DiscreteBooster):
    """Base class of the three, with costs c in (0, 1] from the ratio of C_P and C_N.

    Parameters
    ----------
    costs : Costs
        Misclassification costs.
    n_rounds : int
        Not used.
    scale : {"max", "sum"}
        c = C / max(C_P, C_N), so that equal costs are 1; or C / (C_P + C_N).
    """

    def __init__(self, costs: Costs, n_rounds: int = 100, *, scale: CostScale = "max") -> None:
        super().__init__(costs, n_rounds)
        self.scale = checked_option("scale", scale, get_args(CostScale))
        pair = self.costs.positive, self.costs.negative
        unit = max(pair) if scale == "max" else sum(pair)
        self.item_costs = Costs(pair[0] / unit, pair[1] / unit)

    def selection_costs(self) -> tuple[float, float]:
        """Return c: weak classifiers are measured with c D."""
        return self.item_costs.positive, self.item_costs.negative

    def _alpha_inside(self, error: float, round_: Round) -> float:
        """Return alpha of AdaC1 and AdaC3; 1 - W, or W1 - W2, is computed as a sum, as a difference loses digits."""
        costs, wrong = self.item_costs, clipped(error)
        right = round_.positive_weight + round_.negative_weight - wrong
        spare = (1 / costs.positive - 1) * round_.positive_weight + (
            1 / costs.negative - 1
        ) * round_.negative_weight
        return 0.5 * float(np.log((spare + 2 * right) / (spare + 2 * wrong)))


class AdaC1(AdaC):
    r"""Costs inside the exponent.

    .. math:: \varepsilon = \sum c D [h \ne y], \qquad W = \sum c D, \qquad
              \alpha = \tfrac12 \log\frac{1 + W - 2 \varepsilon}{1 - W + 2 \varepsilon}, \qquad
              D \propto D e^{-\alpha c y h}

    Closed form: :math:`D \propto D_1 e^{-c y f}`.

    Errata
        The print's c in (0, 1) leaves out the value for which the text claims the reduction; the range is (0, 1]: the
        derivation needs \|c y h\| <= 1. Above 1 the logarithm's argument turns negative.
    Reduces to AdaBoost
        At equal costs with `scale="max"` (c = 1); with `scale="sum"` never.
    Costs
        Any: only their ratio counts, as c = C / max(C_P, C_N).
    Degenerate
        alpha > 0 only if eps < W/2: else stop. A perfect weak classifier gets a finite alpha if c < 1, else 13.8. At
        1000:1 everything is called positive.

    References
    ----------
    .. [1] Sun, Kamel, Wong & Wang, "Cost-sensitive boosting for classification of imbalanced data", Pattern
           Recognition 40(12), 2007. :doi:`10.1016/j.patcog.2007.04.009`
    .. [2] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
           :arxiv:`1507.04125`, listing AdaC1.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters import BoostingState, Costs
    >>> booster = AdaC1(Costs(2, 1))
    >>> round_ = booster.begin_round(BoostingState.start(np.array([1, -1], np.int8)))
    >>> round_.weights.tolist(), round(booster.alpha(0.0, 0.25, round_), 4)
    ([0.5, 0.25], 0.2554)
    """

    name: ClassVar[str] = "adac1"

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_1 - c y f."""
        return self.log_prior(state) - self.item_costs.of(state.labels) * state.labels * state.score

    def alpha(self, error_p: float, error_n: float, round_: Round) -> float:
        """Return 1/2 log((1 + W - 2 eps)/(1 - W + 2 eps))."""
        return self._alpha_inside(error_p + error_n, round_)


class AdaC2(AdaC):
    r"""Costs outside the exponent.

    .. math:: \varepsilon = \sum c D [h \ne y], \qquad W = \sum c D, \qquad
              \alpha = \tfrac12 \log\frac{W - \varepsilon}{\varepsilon}, \qquad D \propto c D e^{-\alpha y h}

    Closed form: :math:`D \propto D_1 c^t e^{-y f}`. The asymmetry compounds with every round: it is AsymBoost at
    the ratio :math:`(C_P / C_N)^T`.

    Errata
        Nothing in the formulas; the range of c is any positive scale.
    Reduces to AdaBoost
        At any equal costs.
    Costs
        Any, on any scale.
    Degenerate
        alpha > 0 only if eps < W/2: else stop. If no weak classifier's cost-weighted error is below
        C_N/(C_P + C_N), the one that calls everything positive is chosen in every round.

    References
    ----------
    .. [1] Sun, Kamel, Wong & Wang, "Cost-sensitive boosting for classification of imbalanced data", Pattern
           Recognition 40(12), 2007. :doi:`10.1016/j.patcog.2007.04.009`
    .. [2] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
           :arxiv:`1507.04125`, listing AdaC2.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters import BoostingState, Costs
    >>> booster = AdaC2(Costs(2, 1))
    >>> round_ = booster.begin_round(BoostingState.start(np.array([1, -1], np.int8)))
    >>> round(booster.alpha(0.0, 0.25, round_), 4)
    0.3466
    """

    name: ClassVar[str] = "adac2"

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_1 + t log c - y f."""
        compounded: Floats = state.n_rounds * np.log(self.item_costs.of(state.labels))
        return self.log_prior(state) + compounded - state.labels * state.score

    def alpha(self, error_p: float, error_n: float, round_: Round) -> float:
        """Return 1/2 log((W - eps)/eps)."""
        return half_log_odds((error_p + error_n) / (round_.positive_weight + round_.negative_weight))


class AdaC3(AdaC):
    r"""Costs inside and outside the exponent.

    .. math:: \varepsilon = \sum c^2 D [h \ne y], \quad W_1 = \sum c D, \quad W_2 = \sum c^2 D, \quad
              \alpha = \tfrac12 \log\frac{W_1 + W_2 - 2 \varepsilon}{W_1 - W_2 + 2 \varepsilon}, \quad
              D \propto c D e^{-\alpha c y h}

    Closed form: :math:`D \propto D_1 c^t e^{-c y f}`.

    Errata
        The range of c, as for AdaC1.
    Reduces to AdaBoost
        At equal costs with `scale="max"` (c = 1); with `scale="sum"` never.
    Costs
        Any: only their ratio counts, as c = C / max(C_P, C_N).
    Degenerate
        alpha > 0 only if eps < W2/2: else stop. As AdaC2, it may choose the classifier that calls everything
        positive in every round, here with growing alpha.

    References
    ----------
    .. [1] Sun, Kamel, Wong & Wang, "Cost-sensitive boosting for classification of imbalanced data", Pattern
           Recognition 40(12), 2007. :doi:`10.1016/j.patcog.2007.04.009`
    .. [2] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
           :arxiv:`1507.04125`, listing AdaC3.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters import BoostingState, Costs
    >>> booster = AdaC3(Costs(2, 1))
    >>> round_ = booster.begin_round(BoostingState.start(np.array([1, -1], np.int8)))
    >>> round_.weights.tolist(), round(booster.alpha(0.0, 0.125, round_), 4)
    ([0.5, 0.125], 0.5493)
    """

    name: ClassVar[str] = "adac3"

    def selection_costs(self) -> tuple[float, float]:
        """Return c squared: weak classifiers are measured with c^2 D."""
        return self.item_costs.positive**2, self.item_costs.negative**2

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_1 + t log c - c y f."""
        costs = self.item_costs.of(state.labels)
        compounded: Floats = state.n_rounds * np.log(costs)
        return self.log_prior(state) + compounded - costs * state.labels * state.score

    def alpha(self, error_p: float, error_n: float, round_: Round) -> float:
        """Return 1/2 log((W1 + W2 - 2 eps)/(W1 - W2 + 2 eps))."""
        return self._alpha_inside(error_p + error_n, round_)
