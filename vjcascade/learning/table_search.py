"""The search for a round's stump in a table: in a small one over all cuts of all columns, without bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Booster, Round
from vjcascade.boosters.base import TIE_TOLERANCE
from vjcascade.boosters.hull import near_lower_hull
from vjcascade.boosters.state import Floats
from vjcascade.kernels.cuts import hulls_of_columns, least_of_columns
from vjcascade.learning.samples import TableSamples, labels_of
from vjcascade.learning.search import Search, StumpSearch
from vjcascade.learning.weak_splits import THRESHOLDS, Stump, between, ends_of_equals

MOST_CELLS = 2**22
"""With more numbers in a table, bounds and threads are worth their preparation."""


def search_of_table(table: Floats, n_positives: int, n_threads: int) -> Search:
    """Return the search that is quicker for a table of this size.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_features), dtype float64
        Finite; the positives first.
    n_positives : int
        How many of the rows are positives.
    n_threads : int
        Threads; results do not depend on it.

    Returns
    -------
    Search
        Both find the same stumps, but where a column has more values than there are bins: there, `TableSearch` is the
        more exact.

    Examples
    --------
    >>> type(search_of_table(np.eye(3), 1, n_threads=1)).__name__
    'TableSearch'
    """
    if table.size <= MOST_CELLS:
        return TableSearch(table, n_positives)
    return StumpSearch(TableSamples(table, n_positives, n_threads), n_threads)


class TableSearch:
    """The search for the best stumps over the columns of a table.

    Columns are sorted once. Each round then measures every cut between different values, in one pass. Where
    `StumpSearch` has bounds, and bins to save memory, this has nothing to prepare: with few columns it is several
    times quicker, and it needs sixteen bytes for each number, not nine.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_features), dtype float64
        Finite; the positives first.
    n_positives : int
        How many of the rows are positives.

    Examples
    --------
    >>> from vjcascade.boosters import BoostingState, Costs, make_booster
    >>> search = TableSearch(np.array([[0.0, 3.0], [0.0, 4.0], [1.0, 1.0], [0.0, 2.0]]), n_positives=2)
    >>> booster = make_booster("adaboost", Costs())
    >>> best = search.candidates(booster.begin_round(BoostingState.start(search.labels)), booster)[0]
    >>> best.feature, float(best.threshold), best.sides
    (1, 2.5, (-1, 1))
    """

    def __init__(self, table: Floats, n_positives: int) -> None:
        n_samples, n_features = table.shape
        self.labels = labels_of(n_positives, n_samples)
        self._columns = np.ascontiguousarray(table.T)
        self._order = np.argsort(self._columns, axis=1, kind="stable").astype(np.uint32)
        self._ends = np.zeros((n_features, n_samples), np.uint32)
        self._counts = np.empty(n_features, np.int64)
        for feature, order in enumerate(self._order):
            ends = ends_of_equals(self._columns[feature, order])
            self._counts[feature] = len(ends)
            self._ends[feature, : len(ends)] = ends
        n_points = 2 * int(self._counts.sum())
        self._stumps, self._errors = np.empty((2, n_points), np.int64), np.empty((2, n_points))

    def candidates(self, round_: Round, booster: Booster) -> list[Stump]:
        """Return the stumps among which a round's best is, in the order of their features, then the two constant ones.

        For a loss that is linear, they have the least error; for any other, they are on the lower left hull of all.
        """
        parts = np.column_stack([round_.positive_part, round_.negative_part])
        sorted_columns = self._order, self._ends, self._counts, parts
        if booster.loss_is_linear:
            n = least_of_columns(*sorted_columns, TIE_TOLERANCE, self._stumps, self._errors)
            among = range(n)
        else:
            n = hulls_of_columns(*sorted_columns, self._stumps, self._errors)
            among = near_lower_hull(*self._errors[:, :n]).tolist() if n else range(0)
        return [*map(self._stump, among), *(THRESHOLDS.constant(side, round_) for side in (1, -1))]

    def values(self, feature: int) -> NDArray[np.generic]:
        """Return a feature's values on the training samples."""
        values: Floats = self._columns[feature]
        return values

    def _stump(self, point: int) -> Stump:
        """Return the stump of one of the points measured last."""
        feature, numbered = self._stumps[:, point].tolist()
        cut, turned = divmod(numbered, 2)
        place = self._ends[feature, cut]
        low, high = self._columns[feature, self._order[feature, place : place + 2]]
        sides = (1, -1) if turned else (-1, 1)
        error_p, error_n = self._errors[:, point].tolist()
        return Stump(feature, between(low, high), sides, error_p, error_n)
