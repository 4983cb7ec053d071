"""AdaCost: a cost adjustment inside the exponent."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from vjcascade.boosters.base import DiscreteBooster
from vjcascade.boosters.state import BoostingState, Floats, Round


class AdaCost(DiscreteBooster):
    r"""AdaBoost whose steps are larger on mistakes, and smaller on hits, the costlier a sample is.

    With :math:`C = C_y / (C_P + C_N)`, and :math:`\beta = (1 - C)/2` where h is right, :math:`(1 + C)/2` where it
    is wrong:

    .. math:: D_1 \propto C D_0, \qquad r = \sum D y h \beta, \qquad
              \alpha = \tfrac12 \log\frac{1 + r}{1 - r}, \qquad D \propto D e^{-\alpha y h \beta}

    Since :math:`y h \beta = (y h - C)/2`, the weights are :math:`C e^{(C S - y f)/2}` with S the sum of alpha, and
    :math:`r = (1 - 2 \varepsilon - \sum D C)/2`: least error is greatest r.

    Errata
        beta is taken for the chosen h_t (the listing has h_f), and alpha multiplies h_t(x_i).
    Reduces to AdaBoost
        Never, not even at equal costs.
    Costs
        Any, on any scale.
    Degenerate
        alpha > 0 only if eps < (1 - sum D C)/2, at equal costs eps < 1/4. Taken literally, AdaCost goes on with
        negative votes and may end as the inverted classifier; here it stops. alpha is always below 0.549, even for a
        perfect weak classifier, so in `literal` runs the same one is chosen again and again.

    References
    ----------
    .. [1] Fan, Stolfo, Zhang & Chan, "AdaCost: misclassification cost-sensitive boosting", ICML 1999.
    .. [2] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
           :arxiv:`1507.04125`, listing AdaCost.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters import BoostingState, Costs
    >>> booster = AdaCost(Costs())
    >>> round_ = booster.begin_round(BoostingState.start(np.array([1, -1], np.int8)))
    >>> booster.alpha(0.25, 0.0, round_), round(booster.alpha(0.0, 0.0, round_), 4)
    (0.0, 0.2554)
    """

    name: ClassVar[str] = "adacost"

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log(D_0 C) + (C S - y f)/2."""
        adjustment = self._adjustments(state)
        exponent = (adjustment * state.total_alpha - state.labels * state.score) / 2
        return self.log_prior(state) + np.log(adjustment) + exponent

    def alpha(self, error_p: float, error_n: float, round_: Round) -> float:
        """Return 1/2 log((1 + r)/(1 - r)) = artanh r."""
        gamma = self.costs.gamma
        expected = gamma * round_.positive_weight + (1 - gamma) * round_.negative_weight
        return float(np.arctanh((1 - 2 * (error_p + error_n) - expected) / 2))

    def _adjustments(self, state: BoostingState) -> Floats:
        return np.where(state.labels > 0, self.costs.gamma, 1 - self.costs.gamma)
