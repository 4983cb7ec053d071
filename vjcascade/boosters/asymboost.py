"""AsymBoost: the asymmetry is distributed over the rounds."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from vjcascade.boosters.adaboost import AdaBoost
from vjcascade.boosters.state import BoostingState, Floats


class AsymBoost(AdaBoost):
    r"""AdaBoost that tilts the weights towards the costly class again before every round.

    .. math:: D_t \propto D_0\, k^{\,t} e^{-y f}, \qquad k = (C_P / C_N)^{y / 2T}, \qquad t = 1 \ldots T

    where k is applied before every round, and T = `n_rounds` is the planned number of rounds. It keeps
    :math:`\sum_i D_0 (C_P / C_N)^{y / 2} e^{-y f} = Z_0 \prod_t Z_t`. A run of T' < T rounds has only applied the
    ratio :math:`(C_P / C_N)^{T' / T}`; after round T no more asymmetry is added.

    Errata
        Nothing; the factor after round T is never used.
    Reduces to AdaBoost
        At any equal costs.
    Costs
        Any, on any scale.
    Degenerate
        As AdaBoost; at high ratios the classifier that calls everything positive may be chosen again and again, as
        asymmetry is added.

    References
    ----------
    .. [1] Viola & Jones, "Fast and robust classification using asymmetric AdaBoost and a detector cascade",
           NIPS 2001.
    .. [2] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
           :arxiv:`1507.04125`, listing AsymBoost.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters import BoostingState, Costs
    >>> booster = AsymBoost(Costs(4, 1), n_rounds=1)
    >>> booster.begin_round(BoostingState.start(np.array([1, -1], np.int8))).weights.round(3).tolist()
    [0.8, 0.2]
    """

    name: ClassVar[str] = "asymboost"
    uses_costs: ClassVar[bool] = True

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_0 + y t/2T log(C_P / C_N) - y f, in round t."""
        share = min(state.n_rounds + 1, self.n_rounds) / (2 * self.n_rounds)
        tilt: Floats = state.labels * share * np.log(self.costs.ratio)
        return super().log_weights(state) + tilt
