"""Gentle AdaBoost, plain and cost-generalized."""

from __future__ import annotations

from typing import ClassVar

from vjcascade.boosters.confidence import ConfidenceBooster, gini, mean_label
from vjcascade.boosters.cost_generalized import CostGeneralized
from vjcascade.boosters.state import BoostingState, Floats


class GentleAdaBoost(ConfidenceBooster):
    r"""AdaBoost by Newton steps: the value of each leaf is its mean label (OpenCV's GAB, its trainer's default).

    .. math:: D_t \propto D_1 e^{-y f}, \qquad h = (P - N)/(P + N) \text{ in a leaf of weights } P, N

    The split is the one of least squared error, which is the one of least Gini impurity. Costs are not used.

    Errata
        Nothing.
    Reduces to AdaBoost
        No.
    Costs
        Any; not used.
    Degenerate
        \|h\| <= 1, so no leaf needs clipping.

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
    >>> import numpy as np
    >>> from vjcascade.boosters import Costs
    >>> GentleAdaBoost(Costs()).leaf_values(np.array([0.3, 0.1]), np.array([0.1, 0.3])).round(6).tolist()
    [0.5, -0.5]
    """

    name: ClassVar[str] = "gentle"
    uses_costs: ClassVar[bool] = False
    splits_by_gini = True

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_1 - y f."""
        return self.log_prior(state) - state.labels * state.score

    def impurity(self, sums_p: Floats, sums_n: Floats) -> Floats:
        """Return the Gini impurity."""
        return gini(sums_p, sums_n)

    def leaf_values(self, sums_p: Floats, sums_n: Floats) -> Floats:
        """Return the mean label."""
        return mean_label(sums_p, sums_n)


class CostGeneralizedGentleAdaBoost(CostGeneralized, GentleAdaBoost):
    """Gentle AdaBoost with the costs in the initial weights, as in Cost-Generalized AdaBoost.

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
    >>> CostGeneralizedGentleAdaBoost(Costs(4, 1)).prior
    'class'
    """

    name: ClassVar[str] = "cost-generalized-gentle"
