"""What decisions cost, on a scale from 0 to 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from vjcascade.boosters import Costs
from vjcascade.errors import SettingsError


def skew(labels: ArrayLike, costs: Costs) -> float:
    r"""Return z, the share of false alarms in what being wrong about every sample would cost.

    .. math:: z = \frac{p(-)\,C_N}{p(-)\,C_N + p(+)\,C_P}

    It weighs the two error rates. It is no threshold on a probability, which has the prior in it already.

    Parameters
    ----------
    labels : array_like of shape (n,)
        Above 0 for positives, else negatives; of the samples that are measured on.
    costs : Costs
        Misclassification costs.

    Returns
    -------
    float
        In (0, 1).

    Raises
    ------
    SettingsError
        If a class is missing.

    Examples
    --------
    >>> skew([1, 1, -1, -1, -1, -1], Costs(2, 1))
    0.5
    """
    positive = np.asarray(labels) > 0
    if not 0 < np.count_nonzero(positive) < positive.size:
        raise SettingsError("the cost of decisions is measured on samples of both classes")
    missed_all = costs.ratio * np.count_nonzero(positive) / np.count_nonzero(~positive)
    return float(1 / (1 + missed_all))


def normalised_expected_cost(predictions: ArrayLike, labels: ArrayLike, costs: Costs) -> float:
    """Return what decisions cost, as a share of what being wrong about every sample would cost.

    Parameters
    ----------
    predictions : array_like of shape (n,)
        +1 or -1; of a score, ``numpy.where(score >= threshold, 1, -1)``.
    labels : array_like of shape (n,)
        +1 or -1, both of them.
    costs : Costs
        Misclassification costs.

    Returns
    -------
    float
        FPR z + FNR (1 - z) with z of `skew`, in [0, 1]. Calling all samples positive costs z, all negative 1 - z.

    Raises
    ------
    SettingsError
        If the two do not fit each other, hold other values, or a class is missing.

    References
    ----------
    .. [1] Nikolaou, Edakunni, Kull, Flach & Brown, "Cost-sensitive boosting algorithms: do we really need them?",
           Machine Learning 104, 2016. :doi:`10.1007/s10994-016-5572-x`

    Examples
    --------
    >>> normalised_expected_cost([1, -1, 1, -1], [1, 1, -1, -1], Costs(3, 1))
    0.5
    >>> normalised_expected_cost([1, 1, 1, 1], [1, 1, -1, -1], Costs(3, 1))
    0.25
    """
    predictions, labels = np.asarray(predictions), np.asarray(labels)
    if predictions.shape != labels.shape:
        raise SettingsError(f"predictions {predictions.shape} and labels {labels.shape} differ in shape")
    for name, values in (("predictions", predictions), ("labels", labels)):
        wrong = values[(values != 1) & (values != -1)]
        if wrong.size:
            raise SettingsError(f"the {name} must be -1 and +1 only, not {wrong.flat[0]}")
    z, positive, wrong = skew(labels, costs), labels > 0, predictions != labels
    return float(z * wrong[~positive].mean() + (1 - z) * wrong[positive].mean())
