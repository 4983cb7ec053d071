"""Thresholds set after training, which make any ensemble cost-sensitive a posteriori."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vjcascade.boosters.costs import Costs
from vjcascade.boosters.state import Floats
from vjcascade.checks import checked_number
from vjcascade.errors import SettingsError

COST_TOLERANCE = 1e-12
"""Costs that differ by no more than this, relatively, are equal: in floating point, 3 times 0.1 is not 0.3."""


def probability_threshold(costs: Costs) -> float:
    """Return C_N / (C_P + C_N), Bayes' threshold on the probability of a positive.

    The probability already includes the prior. Nikolaou et al.'s z includes it, too, but is meant for error rates
    (`vjcascade.evaluation.costs.skew`): as a threshold it would count the prior twice.

    Examples
    --------
    >>> round(probability_threshold(Costs(4, 1)), 3)
    0.2
    """
    return 1 / (1 + costs.ratio)


def theory_threshold(costs: Costs) -> float:
    """Return 1/2 log(C_N / C_P), the Bayes threshold on AdaBoost's score.

    AdaBoost's score estimates half the log odds; the paper's log(C_N / C_P) lacks the factor 1/2.

    Examples
    --------
    >>> round(theory_threshold(Costs(4, 1)), 4)
    -0.6931
    """
    return -0.5 * math.log(costs.ratio)


def mean_vote(scores: ArrayLike, total_alpha: float) -> Floats:
    """Return the share of the votes for positive: the score in [0, 1] of Nikolaou et al.

    Parameters
    ----------
    scores : array_like
        f, sums of alpha h with h in {-1, +1} and all alpha > 0.
    total_alpha : float
        The sum of alpha, > 0.

    Returns
    -------
    ndarray of float64
        (f / total_alpha + 1) / 2, shape as `scores`.

    Raises
    ------
    SettingsError
        If `total_alpha` is not above zero: there are no votes.

    Examples
    --------
    >>> mean_vote([-2.0, 1.0, 2.0], 2.0).tolist()
    [0.0, 0.75, 1.0]
    """
    share: Floats = (np.asarray(scores, np.float64) / _checked_total(total_alpha) + 1) / 2
    return share


def adamec_threshold(total_alpha: float, costs: Costs) -> float:
    """Return S (C_N - C_P) / (C_N + C_P), the threshold of AdaMEC on AdaBoost's score.

    AdaMEC calls a sample positive if its `mean_vote`, used as a probability, is above `probability_threshold`.
    That is the same as CSB's cost vote on AdaBoost's ensemble. But the mean vote is not a probability:
    `vjcascade.boosters.calibration` estimates one from the score.

    Parameters
    ----------
    total_alpha : float
        S, the sum of all alpha, > 0.
    costs : Costs
        Misclassification costs.

    Returns
    -------
    float
        In (-S, S).

    Raises
    ------
    SettingsError
        If `total_alpha` is not above zero: there are no votes.

    References
    ----------
    .. [1] Ting & Zheng, "Boosting trees for cost-sensitive classifications", ECML 1998.
    .. [2] Nikolaou, Edakunni, Kull, Flach & Brown, "Cost-sensitive boosting algorithms: do we really need them?",
           Machine Learning 104, 2016. :doi:`10.1007/s10994-016-5572-x`

    Examples
    --------
    >>> round(adamec_threshold(10.0, Costs(4, 1)), 3)
    -6.0
    """
    return _checked_total(total_alpha) * (1 - costs.ratio) / (1 + costs.ratio)


def _checked_total(total_alpha: float) -> float:
    if not 0 < total_alpha < math.inf:
        raise SettingsError(
            f"total_alpha {total_alpha} is not above zero: an ensemble without votes has no mean vote"
        )
    return total_alpha


def minimum_cost_threshold(
    scores: Floats, labels: NDArray[np.int8], costs: Costs, sample_weight: ArrayLike | None = None
) -> tuple[float, float]:
    """Find the threshold with the least C_P misses + C_N false alarms.

    Parameters
    ----------
    scores : ndarray of shape (n,), dtype float64
        Ensemble scores, preferably of held-out samples; a sample is called positive if its score >= threshold.
    labels : ndarray of shape (n,), dtype int8
        +1 or -1.
    costs : Costs
        Misclassification costs.
    sample_weight : array_like of shape (n,), optional
        How many samples each stands for; 1 if not given.

    Returns
    -------
    threshold : float
        Midway between two scores, or infinite if it is cheapest to call all samples one class; the lowest
        of equally good ones.
    cost : float
        The cost there.

    Examples
    --------
    >>> import numpy as np
    >>> minimum_cost_threshold(np.array([0.0, 1.0, 2.0]), np.array([-1, 1, 1], np.int8), Costs())
    (0.5, 0.0)
    """
    weights = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    distinct = np.unique(scores)
    lower, upper = distinct[:-1], distinct[1:]
    between = np.maximum(
        lower / 2 + upper / 2, np.nextafter(lower, np.inf)
    )  # above `lower` even for adjacent floats
    cuts = np.concatenate([[-np.inf], between, [np.inf]])
    misses, rejected = (_weight_below(cuts, scores[side], weights[side]) for side in (labels > 0, labels < 0))
    total = costs.positive * misses + costs.negative * (rejected[-1] - rejected)
    best = int(np.argmax(total <= total.min() * (1 + COST_TOLERANCE)))  # the first of equally cheap ones
    return float(cuts[best]), float(total[best])


def _weight_below(cuts: Floats, scores: Floats, weights: Floats) -> Floats:
    """Return the weight of the scores below each cut."""
    order = np.argsort(scores)
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    below: Floats = sums[np.searchsorted(scores[order], cuts, side="left")]
    return below


def hit_rate_threshold(positive_scores: Floats, hit_rate: float) -> float:
    """Find the highest threshold at which at least `hit_rate` of the positives pass.

    Parameters
    ----------
    positive_scores : ndarray of shape (n,), dtype float64
        Scores of positives, n > 0; a positive passes if its score >= threshold.
    hit_rate : float
        In (0, 1].

    Returns
    -------
    threshold : float
        One of the scores: at most ``n_allowed_misses(n, hit_rate)`` lie below it.

    Raises
    ------
    SettingsError
        If `hit_rate` is out of range or there is no positive.

    Examples
    --------
    >>> import numpy as np
    >>> hit_rate_threshold(np.arange(10.0), 0.8)
    2.0
    """
    checked_number("hit rate", hit_rate, gt=0, le=1)
    if len(positive_scores) == 0:
        raise SettingsError("a threshold for a hit rate needs at least one positive")
    misses = n_allowed_misses(len(positive_scores), hit_rate)
    return float(np.partition(positive_scores, misses)[misses])


def n_allowed_misses(n_positives: int, hit_rate: float) -> int:
    """Return how many of `n_positives` may be missed at `hit_rate`, rounded down.

    Examples
    --------
    >>> n_allowed_misses(20, 0.9), n_allowed_misses(199, 0.995)
    (2, 0)
    """
    return min(math.floor((1 - hit_rate) * n_positives + 1e-9), n_positives - 1)
