"""Costs of single examples, and how boosters take them."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vjcascade.boosters.costs import Costs
from vjcascade.boosters.state import Floats
from vjcascade.errors import SettingsError


def read_example_costs(
    source: ArrayLike | Callable[[Any], float], samples: Sequence[Any] | NDArray[Any]
) -> Floats:
    """Return what a mistake on each sample costs.

    Parameters
    ----------
    source : array-like of shape (n,) or callable
        The costs, for example a column of a table, or a function that gives a sample's cost.
    samples : sequence of length n
        The samples in their order; for an array, its rows. Only a function looks into them.

    Returns
    -------
    ndarray of shape (n,), dtype float64
        Finite, at least 0: a sample on which mistakes cost nothing does not count, as one of weight 0.

    Raises
    ------
    SettingsError
        If there are more or fewer costs than samples, or a cost is not a finite number, at least 0.

    Examples
    --------
    >>> read_example_costs(lambda sample: sample[0] + 1, [(0, 7), (2, 7)])
    array([1., 3.])
    """
    given = [source(sample) for sample in samples] if callable(source) else source
    try:
        costs = np.asarray(given)
    except ValueError:
        costs = np.empty(0, object)
    if costs.dtype.kind not in "iuf" or costs.ndim != 1:
        raise SettingsError(f"example costs {reprlib.repr(given)} are not a list of numbers")
    if len(costs) != len(samples):
        raise SettingsError(f"there are {len(costs)} example costs for {len(samples)} samples")
    wrong = np.flatnonzero(~(np.isfinite(costs) & (costs >= 0)))
    if len(wrong):
        raise SettingsError(
            f"the cost of sample {wrong[0]} is {costs[wrong[0]]}, not a finite number, at least 0"
            + (f" (and so are {len(wrong) - 1} others)" if len(wrong) > 1 else "")
        )
    return costs.astype(np.float64)


def split_example_costs(costs: ArrayLike, labels: NDArray[np.int8]) -> tuple[Costs, Floats]:
    """Split the costs of samples into costs of the classes and sample weights, as the paper's Appendix B does.

    Every booster takes sample weights as its initial distribution, so all of them can have costs of examples.
    With ``prior="sample"``, Cost-Generalized AdaBoost then starts from weights in proportion to the costs given.

    Parameters
    ----------
    costs : array-like of shape (n,)
        What a mistake on each sample costs; see `read_example_costs`.
    labels : ndarray of shape (n,), dtype int8
        +1 for positives, -1 for negatives.

    Returns
    -------
    class_costs : Costs
        The mean of each class, over the samples that count: those with a cost above 0.
    sample_weight : ndarray of shape (n,), dtype float64
        Cost / mean cost of its class, 0 where the cost is 0: ``class_costs.of(labels) * sample_weight`` are the
        costs given.

    Raises
    ------
    SettingsError
        If a class has no sample that counts, or the costs are not as `read_example_costs` returns them.

    Examples
    --------
    >>> split_example_costs([6, 2, 1, 1], np.array([1, 1, -1, -1], np.int8))
    (Costs(positive=4.0, negative=1.0), array([1.5, 0.5, 1. , 1. ]))
    """
    checked = read_example_costs(costs, labels)
    positive, negative = (labels > 0) & (checked > 0), (labels < 0) & (checked > 0)
    for name, part in (("positives", positive), ("negatives", negative)):
        if not part.any():
            n_free = np.count_nonzero(checked == 0)
            among = f"{len(labels)} samples" + (f", {n_free} of which cost nothing" if n_free else "")
            raise SettingsError(f"there are no {name} among {among}: both classes are needed")
    class_costs = Costs(float(checked[positive].mean()), float(checked[negative].mean()))
    return class_costs, checked / class_costs.of(labels)
