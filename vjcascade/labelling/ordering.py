"""Which photos teach most: those with the least certain scores come first, and the reason is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from vjcascade.boosters.calibration import PlattScaling
from vjcascade.labelling.proposals import Found

NOTHING_FOUND = 0.5
"""What a photo is worth in which a model found nothing: as much as half a box about which nothing is known."""

UNSURE = (0.1, 0.9)
"""Probabilities between which a box is called unsure."""


class Order(StrEnum):
    """Which photos come first."""

    UNCERTAIN = "uncertain"
    NAME = "name"


@dataclass(frozen=True)
class Worth:
    """What a photo would teach.

    Attributes
    ----------
    value : float
        Higher comes first.
    reason : str
        In words.
    """

    value: float
    reason: str


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
        For each box 4 p (1 - p), which is 1 where nothing is known and 0 where all is.

    Examples
    --------
    >>> import numpy as np
    >>> unsure = Found(np.zeros((2, 4)), np.array([2.0, 9.0]))
    >>> worth(unsure, PlattScaling(slope=-1.0, offset=2.0)).reason
    '1 unsure box, score 2.0'
    """
    if found is None:
        return Worth(-1.0, "not searched yet")
    if len(found.scores) == 0:
        return Worth(NOTHING_FOUND, "nothing found: is that right?")
    probabilities = scaling.probability(found.scores)
    value = float((4 * probabilities * (1 - probabilities)).sum())
    unsure = found.scores[(probabilities > UNSURE[0]) & (probabilities < UNSURE[1])]
    if len(unsure) == 0:
        return Worth(value, "1 sure box" if len(found.scores) == 1 else f"{len(found.scores)} sure boxes")
    boxes = "1 unsure box" if len(unsure) == 1 else f"{len(unsure)} unsure boxes"
    low, high = f"{unsure.min():.1f}", f"{unsure.max():.1f}"
    return Worth(value, f"{boxes}, score {low}" + (f" to {high}" if high != low else ""))


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
    return sorted(names, key=lambda name: -worths[name].value)
