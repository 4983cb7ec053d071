"""Which windows a sweep of mining looks at: the rows of a photo's levels, dealt out in parts.

Each level gives up to `N_PARTS` parts: part `k` has every `N_PARTS`-th row, from row `k` on. The parts of all levels
are shuffled for each photo apart, and a sweep takes the next ones, the same share of every photo, so that every part
has the same chance, and none comes twice. A part is as large as it can be while neighbouring rows, whose windows look
alike, stay apart: a level image and its integral images cost about as much as scanning a third of its windows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.detection.scales import Level, scan_levels
from vjcascade.types import Size

SCALE_FACTOR = 1.1
"""Ratio of neighbouring levels: that of a detection with default settings."""

N_PARTS = 4
"""Parts of a level."""


class Rows(NamedTuple):
    """Some rows of one level.

    Attributes
    ----------
    level : Level
        At which scale; windows are looked at in every column, whatever its step.
    rows : ndarray of shape (n,), dtype intp
        `y` of the windows in level pixels, ascending.
    n_columns : int
        Windows in a row.
    """

    level: Level
    rows: NDArray[np.intp]
    n_columns: int

    @property
    def n_windows(self) -> int:
        """Windows in all of these rows."""
        return len(self.rows) * self.n_columns


class RowSampler:
    """The levels of photos of one size, and the parts that their rows are dealt out in.

    Parameters
    ----------
    size : Size
        Of the photos.
    window : Size
        Of the cascade.

    Attributes
    ----------
    n_windows : int
        At all levels.

    Examples
    --------
    >>> deck = RowSampler(Size(26, 25), Size(24, 24))
    >>> deck.n_windows, [part.rows.tolist() for part in deck.deal(np.random.default_rng(0), 0, 1)]
    (6, [[0, 1]])
    """

    def __init__(self, size: Size, window: Size) -> None:
        self._levels = scan_levels(size, window, SCALE_FACTOR)
        self._n_rows = [level.size.height - window.height + 1 for level in self._levels]
        self._n_columns = [level.size.width - window.width + 1 for level in self._levels]
        self.n_windows = sum(map(int.__mul__, self._n_rows, self._n_columns))
        parts = [(i, first) for i, n in enumerate(self._n_rows) for first in range(min(n, N_PARTS))]
        self._parts = np.array(parts, np.intp).reshape(-1, 2)

    def deal(self, rng: np.random.Generator, begin: float, end: float) -> list[Rows]:
        """Return a share of the parts, level by level.

        Parameters
        ----------
        rng : numpy.random.Generator
            Shuffles them; must be in the same state for every share of a photo.
        begin, end : float
            From which share on, and up to which: 0 and 1 for everything. From 0 on, there is always a part.

        Returns
        -------
        list of Rows
            At most one for each level.
        """
        n = len(self._parts)
        chosen = self._parts[rng.permutation(n)[math.ceil(begin * n) : math.ceil(end * n)]]
        return [self._rows(i, chosen[chosen[:, 0] == i, 1]) for i in np.unique(chosen[:, 0]).tolist()]

    def _rows(self, i: int, firsts: NDArray[np.intp]) -> Rows:
        every = np.arange(self._n_rows[i])
        rows = every if len(firsts) == N_PARTS else every[np.isin(every % N_PARTS, firsts)]
        return Rows(self._levels[i], rows, self._n_columns[i])


def truncate_rows(sampled: Sequence[Rows], max_windows: int) -> list[Rows]:
    """Return the first rows of a deal that have no more than so many windows.

    Examples
    --------
    >>> sampled = RowSampler(Size(26, 25), Size(24, 24)).deal(np.random.default_rng(0), 0, 1)
    >>> [part.n_windows for part in truncate_rows(sampled, 5)]
    [3]
    """
    kept = []
    for part in sampled:
        n_rows = min(len(part.rows), max_windows // part.n_columns)
        max_windows -= n_rows * part.n_columns
        if n_rows:
            kept.append(part._replace(rows=part.rows[:n_rows]))
    return kept
