"""Example-dependent costs, and their use in boosters."""

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
    """Return the cost of a mistake on each sample.

    Parameters
    ----------
    source : array-like of shape (n,) or callable
        The costs, for example a column of a table, or a function that gives a sample's cost.
    samples : sequence of length n
        The samples; for an array, its rows. Only used as arguments of a function.

    Returns
    -------
    ndarray of shape (n,), dtype float64
        Finite, at least 0; a sample of cost 0 is like one of weight 0.

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
    """Split the costs of samples into class costs and sample weights, as in the paper's Appendix B.

    Every booster starts from given sample weights, so all of them can use example costs. With ``prior="sample"``,
    Cost-Generalized AdaBoost then starts from weights in proportion to the given costs.

    Parameters
    ----------
    costs : array-like of shape (n,)
        Cost of a mistake on each sample; see `read_example_costs`.
    labels : ndarray of shape (n,), dtype int8
        +1 for positives, -1 for negatives.

    Returns
    -------
    class_costs : Costs
        The mean of each class, over the samples with a cost above 0.
    sample_weight : ndarray of shape (n,), dtype float64
        Cost / mean cost of its class: ``class_costs.of(labels) * sample_weight`` are the given costs.

    Raises
    ------
    SettingsError
        If a class has no sample with a cost above 0, or the costs are invalid as in `read_example_costs`.

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
