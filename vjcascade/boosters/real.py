"""Real AdaBoost, plain, cost-generalized and cost-sensitive."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

import numpy as np

from vjcascade.boosters.base import LEAST_WEIGHT, checked_option
from vjcascade.boosters.bounds import GiniGuide
from vjcascade.boosters.confidence import ConfidenceBooster, gini, log_odds
from vjcascade.boosters.cost_generalized import CostGeneralized, Prior
from vjcascade.boosters.costs import Costs
from vjcascade.boosters.state import BoostingState, Floats, Round

Criterion = Literal["gini", "exponential"]


class RealAdaBoost(ConfidenceBooster):
    r"""AdaBoost with a confidence for each leaf (OpenCV's RAB).

    .. math:: D_t \propto D_1 e^{-y f}, \qquad h = \tfrac12 \log (P / N) \text{ in a leaf of weights } P, N

    Splits are chosen by the Gini impurity, as in OpenCV (`criterion="gini"`), or by the remaining exponential loss,
    :math:`2 \sqrt{P N}` (`criterion="exponential"`, Schapire and Singer). Costs are not used.

    Errata
        Nothing.
    Reduces to AdaBoost
        No; the loss is the same, but leaves have real values.
    Costs
        Any; not used.
    Degenerate
        Shares of a leaf are clipped to 1e-5, so the value of a pure leaf is 5.76, and e^-5.76 of its loss remains.

    Parameters
    ----------
    costs : Costs
        Not used.
    n_rounds : int
        Not used.
    criterion : {"gini", "exponential"}
        How leaves are cut.

    References
    ----------
    .. [1] Schapire & Singer, "Improved boosting algorithms using confidence-rated predictions", Machine Learning
           37(3), 1999. :doi:`10.1023/A:1007614523901`
    .. [2] Friedman, Hastie & Tibshirani, "Additive logistic regression", Annals of Statistics 28(2), 2000.
           :doi:`10.1214/aos/1016218223`

    Examples
    --------
    >>> RealAdaBoost(Costs()).leaf_values(np.array([0.3, 0.1]), np.array([0.1, 0.3])).round(4).tolist()
    [0.5493, -0.5493]
    """

    name: ClassVar[str] = "real"
    uses_costs: ClassVar[bool] = False

    def __init__(self, costs: Costs, n_rounds: int = 100, *, criterion: Criterion = "gini") -> None:
        super().__init__(costs, n_rounds)
        self.criterion = checked_option("criterion", criterion, get_args(Criterion))
        self.splits_by_gini = self.criterion == "gini"

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_1 - y f."""
        return self.log_prior(state) - state.labels * state.score

    def impurity(self, sums_p: Floats, sums_n: Floats) -> Floats:
        """Return the Gini impurity, or the exponential loss after the leaf's value."""
        if self.criterion == "gini":
            return gini(sums_p, sums_n)
        values = self.leaf_values(sums_p, sums_n)
        return sums_p * np.exp(-values) + sums_n * np.exp(values)

    def leaf_values(self, sums_p: Floats, sums_n: Floats) -> Floats:
        """Return half the log odds."""
        return log_odds(sums_p, sums_n) / 2


class CostGeneralizedRealAdaBoost(CostGeneralized, RealAdaBoost):
    """Real AdaBoost with the costs in the initial weights, as in Cost-Generalized AdaBoost.

    Parameters
    ----------
    costs : Costs
        Misclassification costs.
    n_rounds : int
        Not used.
    prior : {"class", "sample"}
        What the costs multiply.
    criterion : {"gini", "exponential"}
        How leaves are cut.

    References
    ----------
    .. [1] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
           :arxiv:`1507.04125`, appendix "Cost-sensitive boosting extensions and weight initialization".

    Examples
    --------
    >>> CostGeneralizedRealAdaBoost(Costs(4, 1), prior="sample").prior
    'sample'
    """

    name: ClassVar[str] = "cost-generalized-real"

    def __init__(
        self,
        costs: Costs,
        n_rounds: int = 100,
        *,
        prior: Prior = "class",
        criterion: Criterion = "gini",
    ) -> None:
        RealAdaBoost.__init__(self, costs, n_rounds, criterion=criterion)
        self.prior = checked_option("prior", prior, get_args(Prior))


class CostSensitiveRealBoost(ConfidenceBooster):
    r"""Real-valued leaves that minimise Cost-Sensitive AdaBoost's loss.

    .. math:: D_t \propto D_1 e^{-C_y y f}, \qquad h = \frac{1}{C_P + C_N} \log \frac{C_P P}{C_N N}

    which leaves :math:`P e^{-C_P h} + N e^{C_N h}` of a leaf's loss, in proportion to
    :math:`P^{C_N / (C_P + C_N)} N^{C_P / (C_P + C_N)}`; splits minimise the sum of these.

    Errata
        Nothing.
    Reduces to AdaBoost
        At equal costs it is Real AdaBoost with `criterion="exponential"`.
    Costs
        Any, on any scale: the scale would only divide f, so the smaller cost is set to 1.
    Degenerate
        C_P P and C_N N, as shares of their sum, are clipped to 1e-5. Samples of the costly class weigh most while f is
        wrong, and least once it is right (asymmetry swapping, as in Cost-Sensitive AdaBoost). At 1000:1 a leaf without
        positives still keeps 99 % of its loss, since a false alarm costs so little.

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

    Examples
    --------
    >>> CostSensitiveRealBoost(Costs(2, 1)).leaf_values(np.array([0.2]), np.array([0.2])).round(4).tolist()
    [0.231]
    """

    name: ClassVar[str] = "cost-sensitive-real"

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_1 - C_y y f."""
        return self.log_prior(state) - self.costs.of(state.labels) * state.labels * state.score

    def loss_bounds(self, error_p: float, error_n: float, round_: Round) -> GiniGuide:  # noqa: ARG002
        """Return the Gini impurity with classes weighted by squared costs, which ranks nearly like the loss."""
        weight_sums = np.maximum([[round_.positive_weight, round_.negative_weight]], LEAST_WEIGHT)
        return GiniGuide(np.array([[self.costs.positive, self.costs.negative]]) ** 2 / weight_sums)

    def impurity(self, sums_p: Floats, sums_n: Floats) -> Floats:
        """Return P e^{-C_P h} + N e^{C_N h} with the leaf's value h."""
        values = self.leaf_values(sums_p, sums_n)
        return sums_p * np.exp(-self.costs.positive * values) + sums_n * np.exp(self.costs.negative * values)

    def leaf_values(self, sums_p: Floats, sums_n: Floats) -> Floats:
        """Return log(C_P P / C_N N)/(C_P + C_N); 0 in empty leaves."""
        costs = self.costs
        odds = log_odds(costs.positive * sums_p, costs.negative * sums_n)
        return odds / (costs.positive + costs.negative)
