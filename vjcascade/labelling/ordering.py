"""Which photos come first: those that teach most, with the reason, or those that give most boxes for least work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from vjcascade.boosters.calibration import PlattScaling
from vjcascade.labelling.proposals import SURE, Found

NOTHING_FOUND = 0.5
"""What a photo is worth in which a model found nothing: as much as half a box about which nothing is known."""

UNSURE = (0.1, 0.9)
"""Probabilities between which a box is called unsure."""


class Order(StrEnum):
    """Which photos come first."""

    UNCERTAIN = "uncertain"
    QUICK = "quick"
    NAME = "name"


@dataclass(frozen=True)
class Worth:
    """What a photo would teach, and give.

    Attributes
    ----------
    value : float
        What it teaches.
    reason : str
        In words.
    gain : float
        Right boxes that are expected among those that are sure, less the corrections that are.
    """

    value: float
    reason: str
    gain: float = 0.0


def worth(found: Found | None, scaling: PlattScaling) -> Worth:
    """Return what a photo would teach: how uncertain its boxes are, added up.

    Parameters
    ----------
    found : Found or None
        What the model found in it; None if it was not searched.
    scaling : PlattScaling
        How probable the object is at a score.

    Returns
    -------
    Worth
        Its value is 4 p (1 - p) for each box, which is 1 where nothing is known and 0 where all is.

    Examples
    --------
    >>> unsure = Found(np.zeros((2, 4)), np.array([2.0, 9.0]))
    >>> worth(unsure, PlattScaling(slope=-1.0, offset=2.0)).reason
    '1 unsure box, score 2.0'
    """
    if found is None:
        return Worth(-1.0, "not searched yet", -np.inf)
    if len(found.scores) == 0:
        return Worth(NOTHING_FOUND, "nothing found: is that right?")
    probabilities = scaling.probability(found.scores)
    value = float((4 * probabilities * (1 - probabilities)).sum())
    gain = float(
        probabilities[probabilities >= SURE].sum() - np.minimum(probabilities, 1 - probabilities).sum()
    )
    unsure = found.scores[(probabilities > UNSURE[0]) & (probabilities < UNSURE[1])]
    if len(unsure) == 0:
        return Worth(
            value, "1 sure box" if len(found.scores) == 1 else f"{len(found.scores)} sure boxes", gain
        )
    boxes = "1 unsure box" if len(unsure) == 1 else f"{len(unsure)} unsure boxes"
    low, high = f"{unsure.min():.1f}", f"{unsure.max():.1f}"
    return Worth(value, f"{boxes}, score {low}" + (f" to {high}" if high != low else ""), gain)


def ordered(names: Iterable[str], worths: dict[str, Worth], order: Order) -> list[str]:
    """Return names in the order in which photos are shown.

    Parameters
    ----------
    names : iterable of str
        In their usual order.
    worths : dict of str to Worth
        Of all of them.
    order : Order
        What comes first.

    Returns
    -------
    list of str
        Where two are worth the same, the usual order stays.

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
