"""Thresholds chosen after training: what makes a plain ensemble cost-sensitive a posteriori."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.base import Costs, Floats
from vjcascade.errors import SettingsError


def theory_threshold(costs: Costs) -> float:
    """Return 1/2 log(C_N / C_P), the Bayes threshold on AdaBoost's score.

    AdaBoost's score estimates half the log odds; the paper's log(C_N / C_P) forgets the half.

    Examples
    --------
    >>> round(theory_threshold(Costs(4, 1)), 4)
    -0.6931
    """
    return 0.5 * math.log(costs.negative / costs.positive)


def minimum_cost_threshold(scores: Floats, labels: NDArray[np.int8], costs: Costs) -> tuple[float, float]:
    """Find the threshold with the least C_P misses + C_N false alarms.

    Parameters
    ----------
    scores : ndarray of shape (n,), dtype float64
        Ensemble scores, best of held-out samples; a sample is called positive if its score >= threshold.
    labels : ndarray of shape (n,), dtype int8
        +1 or -1.
    costs : Costs
        Misclassification costs.

    Returns
    -------
    threshold : float
        Midway between two scores, or infinite if calling all samples one class is cheapest; the lowest
        of equally good ones.
    cost : float
        The cost there.

    Examples
    --------
    >>> import numpy as np
    >>> minimum_cost_threshold(np.array([0.0, 1.0, 2.0]), np.array([-1, 1, 1], np.int8), Costs())
    (0.5, 0.0)
    """
    distinct = np.unique(scores)
    cuts = np.concatenate([[-np.inf], (distinct[:-1] + distinct[1:]) / 2, [np.inf]])
    positives, negatives = np.sort(scores[labels > 0]), np.sort(scores[labels < 0])
    misses = np.searchsorted(positives, cuts, side="left")
    false_alarms = len(negatives) - np.searchsorted(negatives, cuts, side="left")
    total = costs.positive * misses + costs.negative * false_alarms
    best = int(np.argmin(total))
    return float(cuts[best]), float(total[best])


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
    if not 0 < hit_rate <= 1:
        raise SettingsError(f"hit rate {hit_rate} is not in (0, 1]")
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
