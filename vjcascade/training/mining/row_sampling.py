"""Which windows a sweep of mining looks at: rows of an image's levels, sampled without replacement.

A level has up to `N_PARTS` parts: part `k` holds every `N_PARTS`-th row, from row `k` on. The parts of all levels are
shuffled, for each image separately, and each sweep takes the next ones, the same share of every image. So every part
has the same chance, and none is sampled twice. Parts are large, because a level image and its integral images cost
about as much as scanning a third of its windows; but neighbouring rows, whose windows look alike, are in different
ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vjcascade.detection.scales import Level, row_array, scan_levels
from vjcascade.types import Size

SCALE_FACTOR = 1.1
"""Ratio of neighbouring levels: that of a detection with default settings."""

N_PARTS = 4
"""Parts of a level."""


class RowSampler:
    """Sample rows from the levels of images of one size.

    Parameters
    ----------
    size : Size
        Of the images.
    window : Size
        Of the cascade.

    Attributes
    ----------
    n_windows : int
        At all levels.

    Examples
    --------
    >>> sampler = RowSampler(Size(26, 25), Size(24, 24))
    >>> sampler.n_windows, [level.rows.tolist() for level in sampler.sample(np.random.default_rng(0), 0, 1)]
    (6, [[0, 1]])
    """

    def __init__(self, size: Size, window: Size) -> None:
        self._levels = [level.every_window() for level in scan_levels(size, window, SCALE_FACTOR)]
        self.n_windows = sum(level.n_windows for level in self._levels)
        parts = [(i, k) for i, level in enumerate(self._levels) for k in level.rows[:N_PARTS]]
        self._parts = np.array(parts, np.intp).reshape(-1, 2)

    def sample(self, rng: np.random.Generator, begin: float, end: float) -> list[Level]:
        """Return a share of the parts, level by level.

        Parameters
        ----------
        rng : numpy.random.Generator
            Shuffles them; must be in the same state for every share of an image.
        begin, end : float
            From which share on, and up to which: 0 and 1 for everything. From 0 on, there is always a part.

        Returns
        -------
        list of Level
            Those with sampled rows, in every column.
        """
        n = len(self._parts)
        chosen = self._parts[rng.permutation(n)[math.ceil(begin * n) : math.ceil(end * n)]]
        return [
            _select_parts(self._levels[i], chosen[chosen[:, 0] == i, 1])
            for i in np.unique(chosen[:, 0]).tolist()
        ]


def _select_parts(level: Level, parts: NDArray[np.intp]) -> Level:
    rows, is_selected = row_array(level.rows), np.zeros(N_PARTS, np.bool_)
    is_selected[parts] = True
    return level._replace(rows=rows[is_selected[rows % N_PARTS]])


def truncate_rows(levels: Sequence[Level], max_windows: int) -> list[Level]:
    """Return the first rows of some levels that have no more than so many windows.

    Examples
    --------
    >>> sampled = RowSampler(Size(26, 25), Size(24, 24)).sample(np.random.default_rng(0), 0, 1)
    >>> [level.n_windows for level in truncate_rows(sampled, 5)]
    [3]
    """
    kept = []
    for level in levels:
        n_rows = min(len(level.rows), max_windows // level.n_columns)
        max_windows -= n_rows * level.n_columns
        if n_rows:
            kept.append(level._replace(rows=level.rows[:n_rows]))
    return kept
