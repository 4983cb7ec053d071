"""AdaBoost, and with it the a-posteriori comparison of every stage."""

from __future__ import annotations

from typing import ClassVar

from vjcascade.boosters.base import Booster, BoostingState, Floats, Round, half_log_odds


class AdaBoost(Booster):
    r"""Discrete AdaBoost; costs are ignored while it learns and can be met afterwards by a threshold.

    .. math:: D_t \propto e^{-y f}, \qquad \varepsilon = \min_h \, (e_P + e_N), \qquad
              \alpha = \tfrac12 \log\frac{1 - \varepsilon}{\varepsilon}

    The weights start uniform. `vjcascade.boosters.thresholds` has the thresholds that make it cost-sensitive
    a posteriori. Perfect weak classifiers get alpha = 13.8 (`ERROR_FLOOR`); at error 1/2 alpha is 0: stop.

    References
    ----------
    .. [1] Freund & Schapire, "A decision-theoretic generalization of on-line learning and an application to
           boosting", JCSS 55(1), 1997. :doi:`10.1006/jcss.1997.1504`
    .. [2] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
           :arxiv:`1507.04125`; its "eps = argmin" reads: h is the argmin, eps the minimum.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters.base import BoostingState, Costs
    >>> booster = AdaBoost(Costs())
    >>> state = BoostingState.start(np.array([1, 1, -1, -1], np.int8))
    >>> booster.begin_round(state).weights.tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    name: ClassVar[str] = "adaboost"

    def log_weights(self, state: BoostingState) -> Floats:
        """Return -y f."""
        return -state.labels * state.score

    def alpha(self, error_p: float, error_n: float, now: Round) -> float:  # noqa: ARG002
        """Return half the log odds of a right output."""
        return half_log_odds(error_p + error_n)
