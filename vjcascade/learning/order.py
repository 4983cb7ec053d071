"""Values in rising order, and thresholds between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rising(values: NDArray[Any]) -> NDArray[np.intp]:
    """Return the order in which values rise; equal ones stay as they are.

    For float32, whose bits become whole numbers that rise with the value, followed by the place: these are all
    different, and sorted several times faster than values with their places.
    """
    if values.dtype != np.float32:
        return np.argsort(values, kind="stable")
    bits = (values + np.float32(0)).view(np.uint32)  # one zero of two
    keys = np.where(bits >> np.uint32(31), ~bits, bits | np.uint32(2**31)).astype(np.uint64) << np.uint64(32)
    keys |= np.arange(len(values), dtype=np.uint64)
    keys.sort()
    return (keys & np.uint64(2**32 - 1)).astype(np.intp)


def ends_of_equals(ranked: NDArray[Any]) -> NDArray[np.intp]:
    """Return the places of the last of equal ones among rising values.

    Examples
    --------
    >>> ends_of_equals(np.array([1, 1, 4]))
    array([1, 2])
    """
    return np.flatnonzero(np.append(ranked[:-1] < ranked[1:], True))


def between(low: np.floating, high: np.floating) -> np.floating:
    """Return a threshold with `low < threshold <= high`, halfway if their dtype has one there."""
    middle = low.dtype.type((np.longdouble(low) + np.longdouble(high)) / 2)
    return middle if middle > low else high
