"""LogitBoost, plain, cost-generalized and cost-sensitive."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from vjcascade.boosters.confidence import ConfidenceBooster, gini, mean_label
from vjcascade.boosters.cost_generalized import CostGeneralized
from vjcascade.boosters.state import BoostingState, Floats, Round

MAX_RESPONSE = 10.0
"""Working responses are clipped to this, as in OpenCV."""


class LogitBoost(ConfidenceBooster):
    r"""Newton steps on the logistic likelihood instead of the exponential loss (OpenCV's LB).

    With :math:`p = 1/(1 + e^{-2 f})`, the weights are :math:`D_1 p (1 - p)`, and the value of a leaf is half the
    weighted mean of the working responses :math:`z = 1/p` of positives, :math:`-1/(1 - p)` of negatives, clipped to 10:

    .. math:: f \leftarrow f + \tfrac12 h, \qquad h = \sum w z / \sum w

    The split is the one of least squared error. A sample with the response z counts with the part (1 + z/10)/2 of its
    weight as positive, and with the rest as negative; so splits are those of Gentle AdaBoost on the two parts, and
    leaf values 5 times its values. Mistakes far from the boundary weigh little: it is more robust to noisy labels than
    AdaBoost. Costs are not used.

    Errata
        Nothing.
    Reduces to AdaBoost
        No; the loss is another.
    Costs
        Any; not used.
    Degenerate
        Weights are computed as logarithms, so they do not underflow. If the odds exceed 10, clipped responses of the
        rarer class cannot bound f, which grows without limit; its sign is right. The loss may increase in a round.

    Parameters
    ----------
    costs : Costs
        Not used.
    n_rounds : int
        Not used.

    References
    ----------
    .. [1] Friedman, Hastie & Tibshirani, "Additive logistic regression", Annals of Statistics 28(2), 2000.
           :doi:`10.1214/aos/1016218223`

    Examples
    --------
    >>> from vjcascade.boosters import Costs
    >>> booster = LogitBoost(Costs())
    >>> round_ = booster.begin_round(BoostingState.start(np.array([1, -1], np.int8)))
    >>> round_.positive_part.round(3).tolist(), round_.weights.tolist()
    ([0.3, 0.2], [0.5, 0.5])
    """

    name: ClassVar[str] = "logit"
    uses_costs: ClassVar[bool] = False
    splits_by_gini = True

    def half_log_odds(self, state: BoostingState) -> Floats:
        """Return half the log odds of p, shape (n,)."""
        return state.score

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_1 + log p(1 - p)."""
        odds = 2 * self.half_log_odds(state)
        return self.log_prior(state) - np.logaddexp(0, odds) - np.logaddexp(0, -odds)

    def begin_round(self, state: BoostingState) -> Round:
        """Return the weights, split by the working responses."""
        whole = super().begin_round(state).weights
        exponents = np.minimum(-2 * state.labels * self.half_log_odds(state), np.log(MAX_RESPONSE))
        responses = state.labels * np.minimum(1 + np.exp(exponents), MAX_RESPONSE)
        positive_part = whole * (1 + responses / MAX_RESPONSE) / 2
        return Round.of_parts(positive_part, whole - positive_part, state)

    def impurity(self, sums_p: Floats, sums_n: Floats) -> Floats:
        """Return the Gini impurity of the two parts."""
        return gini(sums_p, sums_n)

    def leaf_values(self, sums_p: Floats, sums_n: Floats) -> Floats:
        """Return half the mean response."""
        return mean_label(sums_p, sums_n) * MAX_RESPONSE / 2


class CostGeneralizedLogitBoost(CostGeneralized, LogitBoost):
    """LogitBoost with the costs in the initial weights, as in Cost-Generalized AdaBoost.

    Parameters
    ----------
    costs : Costs
        Misclassification costs.
    n_rounds : int
        Not used.
    prior : {"class", "sample"}
        What the costs multiply.

    References
    ----------
    .. [1] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
           :arxiv:`1507.04125`, appendix "Cost-sensitive boosting extensions and weight initialization".

    Examples
    --------
    >>> from vjcascade.boosters import Costs
    >>> CostGeneralizedLogitBoost(Costs(4, 1)).prior
    'class'
    """

    name: ClassVar[str] = "cost-generalized-logit"


class CostSensitiveLogitBoost(LogitBoost):
    r"""LogitBoost with the costs in the probability.

    .. math:: p = \frac{C_N e^{f}}{C_N e^{f} + C_P e^{-f}}, \qquad \text{that is} \qquad
              p = \frac{1}{1 + e^{-2 (f + \eta)}}, \quad \eta = \tfrac12 \log \frac{C_N}{C_P}

    so that f estimates half the log odds minus eta, and f >= 0 where :math:`C_P \Pr(1|x) \ge C_N \Pr(-1|x)`.
    As the paper says, this only changes the starting point of the first regression.

    Errata
        The paper's appendix defines "gamma = (C_1 + C_2)/2": it is lambda, the factor of f in p; costs are
        normalised so that it is 1, which only divides f. C_1 is the cost of a missed positive, C_2 of a false
        alarm.
    Reduces to AdaBoost
        Never; at equal costs it is LogitBoost.
    Costs
        Any, on any scale.
    Degenerate
        As LogitBoost.

    Parameters
    ----------
    costs : Costs
        Misclassification costs.
    n_rounds : int
        Not used.

    References
    ----------
    .. [1] Masnadi-Shirazi & Vasconcelos, "Cost-sensitive boosting", IEEE PAMI 33(2), 2011.
           :doi:`10.1109/TPAMI.2010.71`
    .. [2] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
           :arxiv:`1507.04125`, appendix "Cost-sensitive boosting extensions and weight initialization".

    Examples
    --------
    >>> from vjcascade.boosters import Costs
    >>> booster = CostSensitiveLogitBoost(Costs(4, 1))
    >>> booster.half_log_odds(BoostingState.start(np.array([1, -1], np.int8))).round(4).tolist()
    [-0.6931, -0.6931]
    """

    name: ClassVar[str] = "cost-sensitive-logit"
    uses_costs: ClassVar[bool] = True

    def half_log_odds(self, state: BoostingState) -> Floats:
        """Return f + eta."""
        offset: float = 0.5 * np.log(self.costs.negative / self.costs.positive)
        return state.score + offset
