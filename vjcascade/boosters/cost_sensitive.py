"""Cost-Sensitive AdaBoost and AdaBoostDB: costs as two bases of the exponential loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.base import (
    MIN_ALPHA,
    DiscreteBooster,
    PriorName,
    Vote,
    checked_option,
    first_of_least,
    half_log_odds,
)
from vjcascade.boosters.bounds import GreatestStepBounds, LeastLossBounds, TwoErrorBounds
from vjcascade.boosters.costs import Costs
from vjcascade.boosters.hull import near_lower_hull
from vjcascade.boosters.state import BoostingState, Floats, Round

InitialPrior = Literal["uniform", "balanced"]
Sign = Literal["positive", "any"]
Select = Literal["maxroot", "minloss"]

LEAST_GUESS, GREATEST_GUESS = 1e-3, 30.0
"""Range of a guess at a step, times the larger cost."""

STEP_TOLERANCE = 1e-9
ROUNDING = 1e-14
"""A difference of two weight sums may be a rounding error if it is not larger than this, relative to them."""

MAX_STEPS = 80
"""Maximum number of Newton steps with bisection; a dozen are typical."""


class TwoExponentials(DiscreteBooster):
    """Base class of both: the weights, the step, and its loss.

    Parameters
    ----------
    costs : Costs
        Misclassification costs.
    n_rounds : int
        Not used.
    prior : {"uniform", "balanced"}
        Start from the given weights, or scale them so that each class has one half.
    """

    loss_is_linear: ClassVar[bool] = False
    priors: ClassVar[Mapping[str, PriorName]] = MappingProxyType({"sample": "uniform", "class": "balanced"})

    def __init__(self, costs: Costs, n_rounds: int = 100, *, prior: InitialPrior = "uniform") -> None:
        super().__init__(costs, n_rounds)
        self.prior = checked_option("prior", prior, get_args(InitialPrior))

    def log_prior(self, state: BoostingState) -> Floats:
        """Return the given weights, or those scaled to classes of equal weight."""
        return state.balanced_log_prior if self.prior == "balanced" else state.log_prior

    def log_weights(self, state: BoostingState) -> Floats:
        """Return log D_1 - C_y y f."""
        return self.log_prior(state) - self.costs.of(state.labels) * state.labels * state.score

    def alpha(self, error_p: float, error_n: float, round_: Round) -> float:
        """Return the step of least loss."""
        return float(self._steps(np.array([error_p]), np.array([error_n]), round_)[0])

    def slope(self, error_p: float, error_n: float, round_: Round) -> tuple[float, float]:
        """Return sinh(C_P alpha) and sinh(C_N alpha), to which the loss's derivatives are proportional at this step."""
        alpha = self.alpha(error_p, error_n, round_)
        exponents = np.array([self.costs.positive * alpha, self.costs.negative * alpha])
        slopes = np.exp(exponents - exponents.max()) - np.exp(-exponents - exponents.max())
        return (
            (float(slopes[0]), float(slopes[1])) if alpha > 0 else (self.costs.positive, self.costs.negative)
        )

    def _guess(self, error_p: float, error_n: float, round_: Round) -> float:
        """Return the step at these errors, clipped to the range for which bounds can be computed."""
        greatest = max(self.costs.positive, self.costs.negative)
        alpha = self.alpha(error_p, error_n, round_)
        return min(max(alpha, LEAST_GUESS / greatest), GREATEST_GUESS / greatest)

    def _steps(self, errors_p: Floats, errors_n: Floats, round_: Round) -> Floats:
        wrong = np.stack([errors_p, errors_n])
        weight_sums = np.array([[round_.positive_weight], [round_.negative_weight]])
        return best_steps(wrong, _right(wrong, weight_sums), self.costs)

    def _losses(self, errors_p: Floats, errors_n: Floats, alphas: Floats, round_: Round) -> Floats:
        """Return the loss of a step, relative to the loss before the round, which is 1."""
        total = np.zeros_like(alphas)
        for cost, errors, mass in (
            (self.costs.positive, errors_p, round_.positive_weight),
            (self.costs.negative, errors_n, round_.negative_weight),
        ):
            with np.errstate(divide="ignore"):
                wrong, right = np.log(errors), np.log(_right(errors, mass))
            total += np.exp(wrong + cost * alphas) + np.exp(right - cost * alphas)
        return total


class CostSensitiveAdaBoost(TwoExponentials):
    r"""The weak classifier and step of least class-dependent exponential loss.

    With T_P, T_N the weight sums of the classes and B, D the wrong part of them, the loss of a step is

    .. math:: L = B e^{C_P \alpha} + (T_P - B) e^{-C_P \alpha} + D e^{C_N \alpha} + (T_N - D) e^{-C_N \alpha}

    and alpha solves :math:`2 C_P B \cosh C_P \alpha + 2 C_N D \cosh C_N \alpha = C_P T_P e^{-C_P \alpha} + C_N T_N
    e^{-C_N \alpha}`. The h of least L is chosen; weights are :math:`D_1 e^{-C_y y f}`. L at the best alpha is
    concave in (B, D), so only the vertices of the lower left hull of all points can win: a round costs hardly
    more than AdaBoost's.

    Errata
        The listing has C_1, C_2 on the equation's right; they are C_P, C_N. Its weights are not normalised and
        underflow after a few hundred rounds; here they are. With the printed rule a step may be negative
        (`sign="any"`); in a pool that holds the negative of each of its classifiers it makes no difference.
    Reduces to AdaBoost
        At any equal costs.
    Costs
        Any, on any scale: the scale would only divide f, so the smaller cost is set to 1.
    Degenerate
        alpha > 0 only if C_P B + C_N D < (C_P T_P + C_N T_N)/2: else the loss is 1, and boosting stops. A perfect h
        gets 13.8 / min(C_P, C_N). Once mistakes are rare, negatives outweigh positives: on new samples the
        costly class may end with the larger error (asymmetry swapping).

    Parameters
    ----------
    costs : Costs
        Misclassification costs.
    n_rounds : int
        Not used.
    prior : {"uniform", "balanced"}
        Start from the given weights, as printed, or from classes of equal weight, as AdaBoostDB does.
    sign : {"positive", "any"}
        Which steps may win.

    References
    ----------
    .. [1] Masnadi-Shirazi & Vasconcelos, "Cost-sensitive boosting", IEEE PAMI 33(2), 2011.
           :doi:`10.1109/TPAMI.2010.71`
    .. [2] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I",
           :arxiv:`1507.04125`, listing Cost-Sensitive AdaBoost.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters import BoostingState, Costs
    >>> booster = CostSensitiveAdaBoost(Costs(2, 1))
    >>> round_ = booster.begin_round(BoostingState.start(np.array([1, -1], np.int8)))
    >>> booster.choose(np.array([0.0, 0.05]), np.array([0.15, 0.0]), round_)
    1
    """

    name: ClassVar[str] = "cost-sensitive"

    def __init__(
        self,
        costs: Costs,
        n_rounds: int = 100,
        *,
        prior: InitialPrior = "uniform",
        sign: Sign = "positive",
    ) -> None:
        super().__init__(costs, n_rounds, prior=prior)
        self.sign = checked_option("sign", sign, get_args(Sign))

    def loss(self, errors_p: Floats, errors_n: Floats, round_: Round) -> Floats:
        """Return the loss after the best step; steps below 0 count as none."""
        steps = self._steps(errors_p, errors_n, round_)
        if self.sign == "positive":
            steps = np.maximum(steps, 0.0)
        return self._losses(errors_p, errors_n, steps, round_)

    def loss_bounds(self, error_p: float, error_n: float, round_: Round) -> TwoErrorBounds:
        """Return lines that bound the loss."""
        return LeastLossBounds(self._guess(error_p, error_n, round_), self.costs, round_)

    def weigh(self, sums_p: Floats, sums_n: Floats, sides: NDArray[np.int8], round_: Round) -> Vote:
        """Weigh the weak classifier; with `sign="any"`, a step below 0 helps as well."""
        vote = super().weigh(sums_p, sums_n, sides, round_)
        return replace(vote, helps=abs(vote.alpha) > MIN_ALPHA) if self.sign == "any" else vote

    def choose(self, errors_p: Floats, errors_n: Floats, round_: Round) -> int:
        """Pick the weak classifier of least loss; with `sign="any"`, also among those used as their negatives."""
        if self.sign == "positive":
            return super().choose(errors_p, errors_n, round_)
        turned = near_lower_hull(round_.positive_weight - errors_p, round_.negative_weight - errors_n)
        among = np.union1d(near_lower_hull(errors_p, errors_n), turned)
        return int(among[first_of_least(self.loss(errors_p[among], errors_n[among], round_))])


class AdaBoostDB(TwoExponentials):
    r"""The same loss, but the weak classifier of largest step is chosen ("double base").

    With D_P, D_N normalised in each class, :math:`A_P, A_N` the accumulated loss of each class, and
    :math:`a = C_P A_P / (C_P A_P + C_N A_N)`, :math:`b = 1 - a`, the step is log x at the one positive root of

    .. math:: a e_P x^{2 C_P} + b e_N x^{C_P + C_N} + b (e_N - 1) x^{C_P - C_N} + a (e_P - 1) = 0

    which is Cost-Sensitive AdaBoost's equation times a power of x, solved here in alpha = log x. A root is larger
    than r if and only if :math:`c \cdot (r^{2 C_P} + 1, r^{C_P + C_N} + r^{C_P - C_N}) < a + b r^{C_P - C_N}` with
    :math:`c = (a e_P, b e_N)`: a half plane, so the winner is a vertex of the lower left hull.

    Errata
        With the printed condition `c.r > s` nothing is ever chosen; the correct one is `<`, and the vector r that of
        the line above (printed: :math:`(r^{2 C_P + 1}, r^{C_P + C_N} + r^{C_P + C_N})`).
        Largest root and least loss are not the same choice, though the paper calls the two algorithms equal: they
        differ in 10 to 20 % of rounds at costs 2:1 to 4:1. `select="minloss"` with `prior="balanced"` is exactly
        Cost-Sensitive AdaBoost with the same prior.
    Reduces to AdaBoost
        With `prior="uniform"`, at any equal costs; from the paper's balanced start, only on classes of equal weight.
    Costs
        Any, integers or not, on any scale: the scale would only divide f, so the smaller cost is set to 1.
    Degenerate
        As Cost-Sensitive AdaBoost. The classifier that calls everything positive has
        :math:`\alpha = \log(C_P A_P / C_N A_N)/(C_P + C_N)`.

    Parameters
    ----------
    costs : Costs
        Misclassification costs.
    n_rounds : int
        Not used.
    prior : {"balanced", "uniform"}
        A_P = A_N = 1 at the start, as printed, or the weight sums of the classes.
    select : {"maxroot", "minloss"}
        Which weak classifier wins.

    References
    ----------
    .. [1] Landesa-Vazquez & Alba-Castro, "Double-base asymmetric AdaBoost", Neurocomputing 118, 2013.
           :doi:`10.1016/j.neucom.2013.02.019`
    .. [2] The same, "Revisiting AdaBoost for cost-sensitive classification. Part I", :arxiv:`1507.04125`,
           listing AdaBoostDB.

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade.boosters import BoostingState, Costs
    >>> booster = AdaBoostDB(Costs(2, 1))
    >>> round_ = booster.begin_round(BoostingState.start(np.array([1, -1], np.int8)))
    >>> booster.choose(np.array([0.0, 0.05]), np.array([0.15, 0.0]), round_)
    0
    """

    name: ClassVar[str] = "adaboostdb"

    def __init__(
        self,
        costs: Costs,
        n_rounds: int = 100,
        *,
        prior: InitialPrior = "balanced",
        select: Select = "maxroot",
    ) -> None:
        super().__init__(costs, n_rounds, prior=prior)
        self.select = checked_option("select", select, get_args(Select))

    def loss(self, errors_p: Floats, errors_n: Floats, round_: Round) -> Floats:
        """Return minus the step, or the loss after it; steps below 0 count as none."""
        steps = np.maximum(self._steps(errors_p, errors_n, round_), 0.0)
        return -steps if self.select == "maxroot" else self._losses(errors_p, errors_n, steps, round_)

    def loss_bounds(self, error_p: float, error_n: float, round_: Round) -> TwoErrorBounds:
        """Return lines that bound the step, or the loss."""
        make = GreatestStepBounds if self.select == "maxroot" else LeastLossBounds
        return make(self._guess(error_p, error_n, round_), self.costs, round_)

    def log_accumulators(self, state: BoostingState) -> tuple[float, float]:
        """Return the logarithms of A_P and A_N, the means of e^{-C_P f} and e^{C_N f} in each class."""
        logs = state.balanced_log_prior - self.costs.of(state.labels) * state.labels * state.score
        positive = state.labels > 0
        return float(np.logaddexp.reduce(logs[positive])), float(np.logaddexp.reduce(logs[~positive]))


def best_steps(wrong: Floats, right: Floats, costs: Costs) -> Floats:
    """Solve for the steps of least loss of many weak classifiers at once.

    The loss is strictly convex in alpha. With :math:`e = (C_P B + C_N D)/(C_P T_P + C_N T_N)`, alpha lies between
    :math:`log((1 - e)/e)/(2 C)` for the larger and the smaller cost; the equation is solved in logarithms, where
    nothing overflows at any ratio of the costs.

    Parameters
    ----------
    wrong, right : ndarray of shape (2, n), dtype float64
        Weight of the positives, then of the negatives, that each weak classifier gets wrong and right.
    costs : Costs
        Misclassification costs.

    Returns
    -------
    ndarray of shape (n,), dtype float64
        alpha of each; below 0 if the negated classifier would do better. Errors are clipped by `ERROR_FLOOR`.

    Examples
    --------
    >>> best_steps(np.array([[0.05], [0.0]]), np.array([[0.45], [0.5]]), Costs(2, 1)).round(6).tolist()
    [0.742707]
    """
    factors = np.array([[costs.positive], [costs.negative]])
    with np.errstate(divide="ignore"):
        log_wrong, log_right = np.log(factors * wrong), np.log(factors * right)
        log_odds = np.logaddexp(*log_right) - np.logaddexp(*log_wrong)
    limit = 2 * half_log_odds(0.0)
    ends = np.clip(log_odds, -limit, limit) / (2 * factors)
    low, high = ends.min(axis=0), ends.max(axis=0)

    def excess_at(alpha: Floats) -> tuple[Floats, Floats]:
        return _excess(log_wrong + factors * alpha, log_right - factors * alpha, factors)

    if np.any(np.abs(log_odds) > limit):  # the solution may lie beyond a clipped end: then it is the end
        low = np.where(excess_at(high)[0] < 0, high, low)
        high = np.where(excess_at(low)[0] > 0, low, high)
    alpha: Floats = (low + high) / 2
    for _ in range(MAX_STEPS):
        excess, slope = excess_at(alpha)
        low, high = np.where(excess < 0, alpha, low), np.where(excess < 0, high, alpha)
        step = alpha - excess / slope
        slack = STEP_TOLERANCE * np.abs(alpha) + 1e-15 / slope
        newton = (step >= low - slack) & (
            step <= high + slack
        )  # an end may be the solution, but for rounding
        following = np.where(newton, step, (low + high) / 2)
        moved = np.abs(following - alpha)
        alpha = following
        if np.all(moved <= np.where(newton, slack, 4e-16 * np.abs(alpha))):  # the next would be its square
            break
    return alpha


def _right(errors: Floats, mass: float | Floats) -> Floats:
    """Return the weight that is right; what may be a rounding error counts as 0, so that ties are recognised."""
    right = mass - errors
    return np.where(right > ROUNDING * mass, right, 0.0)


def _excess(wrong: Floats, right: Floats, factors: Floats) -> tuple[Floats, Floats]:
    """Return log(sum of wrong) - log(sum of right), and its slope in alpha; both rows are logarithms."""
    totals = [np.logaddexp(*logs) for logs in (wrong, right)]
    slopes = [
        (factors * np.exp(logs - np.where(np.isfinite(total), total, 0.0))).sum(axis=0)
        for logs, total in zip((wrong, right), totals, strict=True)
    ]
    slope = np.maximum(slopes[0] + slopes[1], factors.min())
    return np.clip(totals[0] - totals[1], -1e300, 1e300), slope
