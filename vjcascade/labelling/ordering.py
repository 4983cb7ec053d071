"""The order of photos: those that the model is least certain about first, or those with most boxes for least work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from vjcascade.boosters.calibration import PlattScaling
from vjcascade.labelling.proposals import SURE, Found
from vjcascade.messages import pluralize

NOTHING_FOUND = 0.5
"""Value of a photo without detections: that of half a detection with probability 0.5."""

UNCERTAIN = (0.1, 0.9)
"""Probabilities between which a detection is called uncertain."""


class Order(StrEnum):
    """Which photos come first."""

    UNCERTAIN = "uncertain"
    QUICK = "quick"
    NAME = "name"


@dataclass(frozen=True)
class Worth:
    """How useful it is to label a photo.

    Attributes
    ----------
    value : float
        Sum of the uncertainty of its detections, for `Order.UNCERTAIN`.
    reason : str
        The value in words.
    gain : float
        Expected number of right boxes among the confident proposals, minus that of corrections, for `Order.QUICK`.
    """

    value: float
    reason: str
    gain: float = 0.0


def worth(found: Found | None, scaling: PlattScaling) -> Worth:
    """Return how useful it is to label a photo, by the uncertainty of its detections.

    Parameters
    ----------
    found : Found or None
        The model's detections in it; None if it was not searched.
    scaling : PlattScaling
        The calibration of scores.

    Returns
    -------
    Worth
        Its value is the sum of 4 p (1 - p) over detections: 1 for a probability of 0.5, 0 for 0 and 1.

    Examples
    --------
    >>> found = Found(np.zeros((2, 4)), np.array([2.0, 9.0]))
    >>> worth(found, PlattScaling(slope=-1.0, offset=2.0)).reason
    '1 uncertain proposal, score 2.0'
    """
    if found is None:
        return Worth(-1.0, "not searched yet", -np.inf)
    if len(found.scores) == 0:
        return Worth(NOTHING_FOUND, "no detections")
    probabilities = scaling.probability(found.scores)
    value = float((4 * probabilities * (1 - probabilities)).sum())
    gain = float(
        probabilities[probabilities >= SURE].sum() - np.minimum(probabilities, 1 - probabilities).sum()
    )
    uncertain = found.scores[(probabilities > UNCERTAIN[0]) & (probabilities < UNCERTAIN[1])]
    if len(uncertain) == 0:
        return Worth(value, pluralize(len(found.scores), "confident proposal"), gain)
    boxes = pluralize(len(uncertain), "uncertain proposal")
    low, high = f"{uncertain.min():.1f}", f"{uncertain.max():.1f}"
    return Worth(value, f"{boxes}, score {low}" + (f" to {high}" if high != low else ""), gain)


def ordered(names: Iterable[str], worths: dict[str, Worth], order: Order) -> list[str]:
    """Return names in the order in which photos are shown.

    Parameters
    ----------
    names : iterable of str
        In their default order.
    worths : dict of str to Worth
        Of all of them.
    order : Order
        The order to put them in.

    Returns
    -------
    list of str
        Sorted; names with equal worth stay in their order.

    Examples
    --------
    >>> ordered(["a", "b"], {"a": Worth(0.0, ""), "b": Worth(1.0, "")}, Order.UNCERTAIN)
    ['b', 'a']
    """
    if order is Order.NAME:
        return list(names)
    if order is Order.QUICK:
        return sorted(names, key=lambda name: -worths[name].gain)
    return sorted(names, key=lambda name: -worths[name].value)
