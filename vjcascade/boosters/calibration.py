r"""Probabilities from scores, and the threshold for them.

A booster's score ranks samples well, but it is not a probability: as rounds are added, it grows beyond the log odds
that it estimates. Platt's sigmoid, fitted to the scores of samples that were not trained on, gives the probability
p(x) of a positive. Calling x positive costs :math:`(1 - p) C_N` on average, calling it negative :math:`p\,C_P`; so x
is best called positive where

.. math:: p(x) \ge q, \qquad q = \frac{C_N}{C_P + C_N} .

Notes
-----
The right threshold depends on how the calibration samples were weighted, not on the booster: the fit finds slope and
offset anew, and so removes the costs that the booster used. After that, the costs must be applied exactly once:

========================================================  ==============================================
Platt's fit and threshold                                 decision
========================================================  ==============================================
unweighted samples, threshold q                           right, for any booster: `calibrated_threshold`
samples weighted by their costs, threshold 1/2            right, for any booster
unweighted samples, threshold 1/2                         wrong: ignores the costs, for any booster
samples weighted by their costs, threshold q              wrong: counts the costs twice
unweighted samples, threshold z, the metric's skew [1]_   wrong: counts the prior twice
========================================================  ==============================================

So calibrated probabilities of Cost-Generalized AdaBoost and AsymBoost, whose scores aim at cost-weighted odds, must not
be compared with 1/2 either, unless the calibration samples were weighted by their costs. z is
`vjcascade.evaluation.costs.skew`; it weighs error rates, which do not include the prior, while p does.

Measured on two Gaussians of two features, 1.6 standard deviations apart, with 30 % positives, C_P = 4 and C_N = 1:
of 1000 samples half to boost on (50 stumps) and half to calibrate on; means of 20 repeats. The figures are
normalised expected costs. Bayes' is 0.199; standard errors are 0.001, and 0.006 in the last three columns.

================================  ==========  ========  =========  =====  =========  ====
\                                 natural, 0  as is, q  costs 1/2  1/2    costs, q   z
================================  ==========  ========  =========  =====  =========  ====
AdaBoost                          .292        .215      .215       .317   .282       .254
AsymBoost                         .216        .214      .214       .315   .280       .251
Cost-Generalized, sample prior    .217        .215      .215       .310   .277       .251
Cost-Generalized, class prior     .224        .214      .214       .308   .278       .248
================================  ==========  ========  =========  =====  =========  ====

The first two rules also tied in seven other settings. The first is used: it does not depend on the scale of the
costs, and one fit works for all costs.

Results on UCI tables (German credit, Pima and Spambase, costs of 10:1 and 1:10, means of ten splits) are similar: for
each of AdaBoost, AsymBoost and Cost-Generalized AdaBoost, the first two rules differ by at most .005, and threshold 1/2
without costs in the fit costs 1.7 to 3.4 times as much as the first.

References
----------
.. [1] Nikolaou, Edakunni, Kull, Flach & Brown, "Cost-sensitive boosting algorithms: do we really need them?",
       Machine Learning 104, 2016. :doi:`10.1007/s10994-016-5572-x`
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vjcascade.boosters.costs import Costs
from vjcascade.boosters.state import Floats
from vjcascade.boosters.thresholds import probability_threshold
from vjcascade.checks import checked_number
from vjcascade.errors import SettingsError

MAX_STEPS = 100
"""Maximum number of Newton steps; about ten are needed."""

ENOUGH_DECREASE = 1e-4
"""A step is halved if the loss decreases by less than this share of the decrease predicted by the gradient."""

LAST_DECREASE = 1e-10
"""A Newton step with a smaller predicted decrease, relative to the loss, is the last: it doubles the correct digits."""

MIN_SPREAD = 1e-300
"""Scores that differ by less count as equal."""


@dataclass(frozen=True)
class PlattScaling:
    """Platt's sigmoid: the probability of a positive is 1 / (1 + exp(slope * score + offset)).

    Attributes
    ----------
    slope : float
        Platt's A. Below 0 if higher scores mean positives; 0 if all scores are equal.
    offset : float
        Platt's B.

    References
    ----------
    .. [1] Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood
           methods", Advances in Large Margin Classifiers, 1999.
    .. [2] Lin, Lin & Weng, "A note on Platt's probabilistic outputs for support vector machines", Machine Learning
           68, 2007, algorithm 1. :doi:`10.1007/s10994-007-5018-6`

    Examples
    --------
    >>> scores, labels = [-2.0, -1.0, 0.0, 0.0, 1.0, 2.0], [-1, -1, -1, 1, 1, 1]
    >>> scaling = PlattScaling.fit(scores, labels)
    >>> scaling.probability([-2.0, 0.0, 2.0]).round(3).tolist()
    [0.151, 0.5, 0.849]
    >>> round(scaling.threshold(0.5), 6) + 0.0
    0.0
    """

    slope: float
    offset: float

    @classmethod
    def fit(
        cls, scores: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PlattScaling:
        """Fit the sigmoid by maximum likelihood.

        As Platt proposes, the targets are not 1 and 0 but (n_P + 1) / (n_P + 2) and 1 / (n_N + 2), so that the fit
        is finite even if the scores separate the classes.

        Parameters
        ----------
        scores : array_like of shape (n,)
            Finite; of samples that the booster was not trained on.
        labels : array_like of shape (n,)
            Above 0 for positives, else negatives.
        sample_weight : array_like of shape (n,), optional
            How many samples each stands for; 1 if not given.

        Returns
        -------
        PlattScaling
            The fitted sigmoid.

        Raises
        ------
        SettingsError
            If the shapes differ, a score is not finite, a weight is not finite and at least 0, or a
            class has no weight.
        """
        data, center, unit = _calibration_data(scores, labels, sample_weight)
        slope, offset = _newton(data) / (unit, 1.0)
        return cls(float(slope), float(offset - slope * center))

    def probability(self, scores: ArrayLike) -> Floats:
        """Return the probability of a positive at each score, same shape."""
        with np.errstate(over="ignore"):  # extreme scores give probabilities of 0 and 1
            logits = self.slope * np.asarray(scores, np.float64) + self.offset
        return _falling_sigmoid(logits)

    def threshold(self, probability: float) -> float:
        """Return the score from which on the probability of a positive is at least `probability`.

        Parameters
        ----------
        probability : float
            In (0, 1).

        Returns
        -------
        float
            Infinite if all scores, or none, are high enough.

        Raises
        ------
        SettingsError
            If `probability` is out of range, or the slope is above 0: no score is then a lower bound.
        """
        checked_number("probability", probability, gt=0, lt=1)
        if self.slope > 0:
            raise SettingsError(
                f"the calibrated probability falls as the score rises (slope {self.slope:.3g}): "
                "the score contradicts the labels"
            )
        rise = math.log1p(-probability) - math.log(probability) - self.offset
        if self.slope == 0:
            return math.inf if rise < 0 else -math.inf
        return rise / self.slope


def calibrated_threshold(
    scores: ArrayLike, labels: ArrayLike, costs: Costs, sample_weight: ArrayLike | None = None
) -> float:
    """Return the best threshold on a booster's score after Platt's calibration, for any booster.

    With AdaBoost's score this is Calibrated AdaMEC, with those of Cost-Generalized AdaBoost and AsymBoost their
    calibrated versions. The module's notes explain why the rule is the same for all.

    Parameters
    ----------
    scores : array_like of shape (n,)
        Of samples that the booster was not trained on: see `split_halves`.
    labels : array_like of shape (n,)
        Above 0 for positives, else negatives; as frequent as they will be.
    costs : Costs
        Misclassification costs.
    sample_weight : array_like of shape (n,), optional
        How many samples each stands for; 1 if not given. Costs do not belong here: they would count twice.

    Returns
    -------
    float
        The score at which the probability is C_N / (C_P + C_N). If the score does not increase with the labels, it is
        useless, and the threshold is infinite: all samples are assigned to the class for which that costs less.

    Raises
    ------
    SettingsError
        As `PlattScaling.fit`.

    References
    ----------
    .. [1] Nikolaou, Edakunni, Kull, Flach & Brown, "Cost-sensitive boosting algorithms: do we really need them?",
           Machine Learning 104, 2016. :doi:`10.1007/s10994-016-5572-x`

    Examples
    --------
    >>> scores, labels = [-2.0, -1.0, 0.0, 0.0, 1.0, 2.0], [-1, -1, -1, 1, 1, 1]
    >>> round(calibrated_threshold(scores, labels, Costs(4, 1)), 2)
    -1.61
    """
    scaling = PlattScaling.fit(scores, labels, sample_weight)
    if scaling.slope < 0:
        return scaling.threshold(probability_threshold(costs))
    weights = (
        np.ones_like(labels, np.float64) if sample_weight is None else np.asarray(sample_weight, np.float64)
    )
    share = float(weights[np.asarray(labels) > 0].sum() / weights.sum())
    return PlattScaling(0.0, math.log((1 - share) / share)).threshold(probability_threshold(costs))


def split_halves(labels: ArrayLike, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split samples at random into a half to boost on and a half to calibrate on, each class evenly.

    Parameters
    ----------
    labels : array_like of shape (n,)
        Above 0 for positives, else negatives.
    rng : numpy.random.Generator
        The same state gives the same halves.

    Returns
    -------
    boost, calibrate : ndarray of intp
        Indices, ascending. If a class has an odd number of samples, `boost` gets one more.

    Raises
    ------
    SettingsError
        If a class has fewer than two samples.

    Examples
    --------
    >>> boost, calibrate = split_halves([1, 1, 1, -1, -1], np.random.default_rng(0))
    >>> len(boost), len(calibrate)
    (3, 2)
    """
    positive = np.asarray(labels) > 0
    boost = np.zeros(len(positive), np.bool_)
    for name, members in (("positives", np.flatnonzero(positive)), ("negatives", np.flatnonzero(~positive))):
        if len(members) < 2:
            raise SettingsError(
                f"calibration needs at least 2 {name}, one to boost on and one to calibrate on: "
                f"there are {len(members)}"
            )
        boost[rng.permutation(members)[: (len(members) + 1) // 2]] = True
    return np.flatnonzero(boost), np.flatnonzero(~boost)


class _Calibration(NamedTuple):
    """Standardised scores, with their targets and weights."""

    scores: Floats
    targets: Floats
    weights: Floats
    start: float

    def loss(self, parameters: Floats) -> float:
        """Return the negative log likelihood at (slope, offset)."""
        logits = parameters[0] * self.scores + parameters[1]
        return float(self.weights @ (np.logaddexp(0, logits) - (1 - self.targets) * logits))


def _calibration_data(
    scores: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[_Calibration, float, float]:
    """Check the data of a fit; return them standardised, with the centre and scale of the scores."""
    scores, positive = np.asarray(scores, np.float64), np.asarray(labels) > 0
    weights = np.ones(len(positive)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if scores.ndim != 1 or not scores.shape == positive.shape == weights.shape:
        raise SettingsError(
            f"scores {scores.shape}, labels {positive.shape} and sample weights {weights.shape} differ in shape"
        )
    if not np.isfinite(scores).all():
        raise SettingsError(f"score {scores[~np.isfinite(scores)][0]} is not a finite number")
    wrong = weights[~(np.isfinite(weights) & (weights >= 0))]
    if wrong.size:
        raise SettingsError(f"sample weight {wrong[0]} is not a finite number, at least 0")
    n_positive, n_negative = float(weights[positive].sum()), float(weights[~positive].sum())
    for name, weight in (("positives", n_positive), ("negatives", n_negative)):
        if weight == 0:
            raise SettingsError(f"calibration needs samples of both classes: there are no {name}")
    targets = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    lowest, highest = float(scores.min()), float(scores.max())
    center, unit = lowest / 2 + highest / 2, highest / 2 - lowest / 2
    if unit < MIN_SPREAD:
        unit = 1.0
    start = math.log((n_negative + 1) / (n_positive + 1))
    return _Calibration((scores - center) / unit, targets, weights / weights.sum(), start), center, unit


def _newton(data: _Calibration) -> Floats:
    """Return the slope and offset of the least loss, by Newton's method with step halving."""
    parameters = np.array([0.0, data.start])
    loss = data.loss(parameters)
    features = np.stack([data.scores, np.ones_like(data.scores)])
    for _ in range(MAX_STEPS):
        p = _falling_sigmoid(parameters @ features)
        gradient = features @ (data.weights * (data.targets - p))
        step = _newton_step(features * (data.weights * p * (1 - p)) @ features.T, gradient)
        promise = float(gradient @ step)
        if -promise < LAST_DECREASE * loss:
            return parameters + step
        while (following := data.loss(parameters + step)) > loss + ENOUGH_DECREASE * promise:
            step, promise = step / 2, promise / 2
        parameters, loss = parameters + step, following
    return parameters


def _newton_step(hessian: Floats, gradient: Floats) -> Floats:
    """Return -H^-1 g, with a slightly larger diagonal, so that constant scores do not change the slope."""
    a, b, c = hessian[0, 0] * (1 + 1e-12), hessian[0, 1], hessian[1, 1] * (1 + 1e-12)
    if a == 0:
        return np.array([0.0, -gradient[1] / c])
    determinant = a * c - b * b
    step: Floats = (
        np.array([b * gradient[1] - c * gradient[0], b * gradient[0] - a * gradient[1]]) / determinant
    )
    return step


def _falling_sigmoid(logits: Floats) -> Floats:
    """Return 1 / (1 + exp(logits)) without overflow."""
    falling: Floats = np.exp(-np.logaddexp(0, logits))
    return falling
