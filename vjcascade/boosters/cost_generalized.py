"""Cost-Generalized AdaBoost, the default booster of a stage."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

import numpy as np

from vjcascade.boosters.adaboost import AdaBoost
from vjcascade.boosters.base import BoostingState, Costs, Floats
from vjcascade.errors import SettingsError

Prior = Literal["class", "sample"]


class CostGeneralizedAdaBoost(AdaBoost):
    r"""AdaBoost from initial weights that carry the costs; nothing else changes.

    .. math:: D_1(i) = \frac{C_P}{C_P + C_N}\frac1m \;(y_i = 1), \qquad
              D_1(i) = \frac{C_N}{C_P + C_N}\frac1{n - m} \;(y_i = -1), \qquad D_t \propto D_1 e^{-y f}

    With `prior="class"` (above) each class weighs its cost, whatever its size: equal costs are AdaBoost only
    where the classes are of equal size. With `prior="sample"` each sample weighs its cost, D_1 ~ C_y: equal
    costs are AdaBoost on any sample. Training keeps the bound
    :math:`\sum_i D_1 e^{-y f} = \prod_t Z_t \ge \gamma E_P + (1 - \gamma) E_N` with
    :math:`\gamma = C_P / (C_P + C_N)`. Scale invariant; any ratio works: at high ratios the first round may
    choose the classifier that calls everything positive, with :math:`\alpha = \frac12 \log (C_P / C_N)`.

    Parameters
    ----------
    costs : Costs
        Misclassification costs.
    n_rounds : int
        Not used.
    prior : {"class", "sample"}
        What the costs multiply. The paper uses both.

    References
    ----------
    .. [1] Landesa-Vazquez & Alba-Castro, "Shedding light on the asymmetric learning capability of AdaBoost",
           Pattern Recognition Letters 33(3), 2012. :doi:`10.1016/j.patrec.2011.10.022`
    .. [2] The same, "Revisiting AdaBoost for cost-sensitive classification. Part I", :arxiv:`1507.04125`.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters.base import BoostingState, Costs
    >>> booster = CostGeneralizedAdaBoost(Costs(3, 1))
    >>> state = BoostingState.start(np.array([1, -1, -1], np.int8))
    >>> booster.begin_round(state).weights.round(3).tolist()
    [0.75, 0.125, 0.125]
    """

    name: ClassVar[str] = "cost-generalized"

    def __init__(self, costs: Costs, n_rounds: int = 100, *, prior: Prior = "class") -> None:
        super().__init__(costs, n_rounds)
        if prior not in get_args(Prior):
            raise SettingsError(f"prior {prior!r} is not one of {', '.join(get_args(Prior))}")
        self.prior = prior

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_1 - y f."""
        initial = np.log(self.costs.of(state.labels))
        if self.prior == "class":
            n_positive = np.count_nonzero(state.labels > 0)
            initial -= np.log(np.where(state.labels > 0, n_positive, len(state.labels) - n_positive))
        return initial + super().log_weights(state)
