"""A booster in a package of its own: cost-generalized MadaBoost."""

import numpy as np

from vjcascade.boosters import BoostingState
from vjcascade.boosters.cost_generalized import CostGeneralizedAdaBoost


class MadaBoost(CostGeneralizedAdaBoost):
    r"""Cost-Generalized AdaBoost whose weights never rise above the first: D_1 min(1, exp(-y f)).

    A sample that is classified wrongly again and again weighs no more than its cost, so wrong labels do less harm.

    References
    ----------
    .. [1] Domingo & Watanabe, "MadaBoost: a modification of AdaBoost", COLT 2000.
    """

    name = "madaboost"

    def log_weights(self, state: BoostingState) -> np.ndarray:
        """Return log D_1 - max(y f, 0)."""
        return self.log_prior(state) - np.maximum(state.labels * state.score, 0)
