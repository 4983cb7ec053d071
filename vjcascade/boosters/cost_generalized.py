"""Cost-Generalized AdaBoost, the default booster of a stage."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Literal, get_args

import numpy as np

from vjcascade.boosters.adaboost import AdaBoost
from vjcascade.boosters.base import Booster, PriorName, checked_option
from vjcascade.boosters.costs import Costs
from vjcascade.boosters.state import BoostingState, Floats

Prior = Literal["class", "sample"]


class CostGeneralized(Booster):
    """Mixin that makes a booster cost-generalized, by initial weights with the costs.

    Parameters
    ----------
    costs : Costs
        Misclassification costs.
    n_rounds : int
        Not used.
    prior : {"class", "sample"}
        What the costs multiply: the weight of a class, or of each sample.
    """

    uses_costs: ClassVar[bool] = True
    priors: ClassVar[Mapping[str, PriorName]] = MappingProxyType({"sample": "sample", "class": "class"})

    def __init__(self, costs: Costs, n_rounds: int = 100, *, prior: Prior = "class") -> None:
        super().__init__(costs, n_rounds)
        self.prior = checked_option("prior", prior, get_args(Prior))

    def log_prior(self, state: BoostingState) -> Floats:
        """Return the given weights times the costs, of each class or of each sample."""
        given = state.log_prior if self.prior == "sample" else state.balanced_log_prior
        return given + np.log(self.costs.of(state.labels))


class CostGeneralizedAdaBoost(CostGeneralized, AdaBoost):
    r"""AdaBoost with the costs in the initial weights; nothing else changes.

    .. math:: D_1(i) = \frac{C_P}{C_P + C_N} D_+(i) \;(y_i = 1), \qquad
              D_1(i) = \frac{C_N}{C_P + C_N} D_-(i) \;(y_i = -1), \qquad D_t \propto D_1 e^{-y f}

    With `prior="class"` (above) D+ and D- each sum to 1, so the weight of a class is proportional to its cost,
    regardless of its size. With `prior="sample"` the weight of each sample is, D_1 ~ C_y, which is the paper's
    statistical loss. The paper uses both. Training keeps the bound
    :math:`\sum_i D_1 e^{-y f} = \prod_t Z_t \ge \gamma E_P + (1 - \gamma) E_N` with
    :math:`\gamma = C_P / (C_P + C_N)`. The cost is a fixed offset in a growing f: once the training samples are
    separated, new rounds increase the margins of both classes alike, and the ratio of the two class errors on new
    samples tends to 1.

    Errata
        The bound's sum over the negatives begins at m + 1, not m.
    Reduces to AdaBoost
        `prior="sample"` at any equal costs; `prior="class"` at equal costs of classes of equal weight.
    Costs
        Any, on any scale.
    Degenerate
        At high ratios the first round may choose the classifier that calls everything positive, with :math:`\alpha =
        \frac12 \log (C_P / C_N)`; its error is then 1/2 and it is not chosen again. Otherwise as AdaBoost.

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
    .. [1] Landesa-Vazquez & Alba-Castro, "Shedding light on the asymmetric learning capability of AdaBoost",
           Pattern Recognition Letters 33(3), 2012. :doi:`10.1016/j.patrec.2011.10.022`
    .. [2] The same, "Revisiting AdaBoost for cost-sensitive classification. Part I", :arxiv:`1507.04125`,
           listing Cost-Generalized AdaBoost and eq. cgb_bound.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters import BoostingState, Costs
    >>> booster = CostGeneralizedAdaBoost(Costs(3, 1))
    >>> state = BoostingState.start(np.array([1, -1, -1], np.int8))
    >>> booster.begin_round(state).weights.round(3).tolist()
    [0.75, 0.125, 0.125]
    """

    name: ClassVar[str] = "cost-generalized"
