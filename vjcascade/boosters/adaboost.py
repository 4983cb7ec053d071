"""Discrete AdaBoost."""

from __future__ import annotations

from typing import ClassVar

from vjcascade.boosters.base import DiscreteBooster, half_log_odds
from vjcascade.boosters.state import BoostingState, Floats, Round


class AdaBoost(DiscreteBooster):
    r"""Discrete AdaBoost; it ignores costs in training, which can be applied afterwards by a threshold.

    .. math:: D_t \propto D_1 e^{-y f}, \qquad \varepsilon = \min_h \, (e_P + e_N), \qquad
              \alpha = \tfrac12 \log\frac{1 - \varepsilon}{\varepsilon}

    `vjcascade.boosters.thresholds` has the thresholds that make it cost-sensitive a posteriori.

    Errata
        The listings print "eps = argmin": h is the argmin, eps the minimum.
    Reduces to AdaBoost
        It is AdaBoost, at any costs.
    Costs
        Any; not used.
    Degenerate
        A perfect weak classifier gets alpha = 13.8 (`ERROR_FLOOR`) and is the last. At error 1/2, alpha is 0, and
        boosting stops.

    References
    ----------
    .. [1] Freund & Schapire, "A decision-theoretic generalization of on-line learning and an application to
           boosting", JCSS 55(1), 1997. :doi:`10.1006/jcss.1997.1504`
    .. [2] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
           :arxiv:`1507.04125`, listing AdaBoost.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters import BoostingState, Costs
    >>> booster = AdaBoost(Costs())
    >>> state = BoostingState.start(np.array([1, 1, -1, -1], np.int8))
    >>> booster.begin_round(state).weights.tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    name: ClassVar[str] = "adaboost"
    uses_costs: ClassVar[bool] = False

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_1 - y f."""
        return self.log_prior(state) - state.labels * state.score

    def alpha(self, error_p: float, error_n: float, round_: Round) -> float:  # noqa: ARG002
        """Return half the log odds of a correct output."""
        return half_log_odds(error_p + error_n)
