"""Classes of objects by their height: those that are given, or thirds of the objects in the scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from vjcascade.errors import SettingsError


@dataclass(frozen=True)
class SizeClass:
    """Objects of some heights.

    Attributes
    ----------
    low, high : float
        In pixels: from `low` to less than `high`; 0 and infinity at the ends.

    Examples
    --------
    >>> [str(SizeClass(*ends)) for ends in ((0, 24), (24, 40), (40, np.inf))]
    ['below 24 pixels', '24 to 40 pixels', '40 pixels and more']
    """

    low: float
    high: float

    def __str__(self) -> str:
        if self.low == 0:
            return f"below {self.high:g} pixels" if np.isfinite(self.high) else "all"
        return (
            f"{self.low:g} to {self.high:g} pixels"
            if np.isfinite(self.high)
            else f"{self.low:g} pixels and more"
        )


def size_classes(heights: ArrayLike, bounds: Sequence[float] | None = None) -> tuple[SizeClass, ...]:
    """Return classes of objects by height.

    Parameters
    ----------
    heights : array_like of shape (n,)
        Of all objects, at least one.
    bounds : sequence of float, optional
        Heights between the classes. If not given, whole pixels that make three classes of about as many objects each;
        fewer where many objects are of one height.

    Returns
    -------
    tuple of SizeClass
        The smallest first; a single one where all objects are of one height.

    Raises
    ------
    SettingsError
        If a bound is not above 0 or infinite.

    Examples
    --------
    >>> [str(one) for one in size_classes([20, 21, 22, 40, 41, 80, 90, 95])]
    ['below 22 pixels', '22 to 80 pixels', '80 pixels and more']
    >>> [str(one) for one in size_classes([20, 90], [32])]
    ['below 32 pixels', '32 pixels and more']
    """
    values = np.sort(np.asarray(heights, np.float64))
    if bounds is None:
        thirds = np.floor(values[[len(values) // 3, 2 * len(values) // 3]])
        inner = sorted({bound for bound in thirds.tolist() if bound > values[0]})
    else:
        inner = sorted(set(map(float, bounds)))
        for bound in inner:
            if not 0 < bound < np.inf:
                raise SettingsError(
                    f"a bound between sizes, {bound:g}, is not a height in pixels, for example 32"
                )
    return tuple(SizeClass(low, high) for low, high in pairwise([0.0, *inner, np.inf]))
