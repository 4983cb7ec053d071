"""The search for a round's stump in a table, over all cuts of all columns, which are sorted once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Booster, Round, Vote
from vjcascade.boosters.base import TIE_TOLERANCE
from vjcascade.boosters.hull import near_lower_hull
from vjcascade.boosters.state import Floats
from vjcascade.kernels.cuts import hulls_of_columns, least_of_columns
from vjcascade.learning.samples import TableSamples, labels_of
from vjcascade.learning.search import Search, StumpSearch
from vjcascade.learning.trees import Tree
from vjcascade.learning.weak_splits import THRESHOLDS, Stump, between, ends_of_equals, rising
from vjcascade.parallel import blocks, ordered_map, physical_memory, run_all

BYTES_PER_CELL = 16
"""Memory of `TableSearch` per cell: the value, an index of the sorted order, and the end of a run of equal values."""

SHARE_OF_MEMORY = 0.25
"""Share of the machine's memory for sorted columns; `StumpSearch` needs little more than half as much."""

CELLS_PER_TASK = 2**20
"""With fewer cells, the overhead of a thread exceeds its gain."""


def search_of_table(table: Floats, n_positives: int, n_threads: int) -> Search:
    """Return the search over sorted columns, or the one over bins if there is not enough memory.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_features), dtype float64
        Finite; the positives first.
    n_positives : int
        Number of positives.
    n_threads : int
        Threads; results do not depend on it.

    Returns
    -------
    Search
        Both find the same stumps, unless a column has more values than there are bins; then `TableSearch` is more
        exact.

    Examples
    --------
    >>> type(search_of_table(np.eye(3), 1, n_threads=1)).__name__
    'TableSearch'
    """
    if BYTES_PER_CELL * table.size <= SHARE_OF_MEMORY * physical_memory():
        return TableSearch(table, n_positives, n_threads)
    return StumpSearch(TableSamples(table, n_positives, n_threads), n_threads)


class TableSearch:
    """The search for the best stumps over the columns of a table.

    Columns are sorted once. Each round then measures every cut between different values, in one pass. Without the
    bounds and bins of `StumpSearch`, it is several times faster for few columns, and exact, but it needs sixteen bytes
    for each number instead of nine.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_features), dtype float64
        Finite; the positives first.
    n_positives : int
        How many of the rows are positives.
    n_threads : int
        Threads; results do not depend on it.

    Examples
    --------
    >>> from vjcascade.boosters import BoostingState, Costs, make_booster
    >>> search = TableSearch(np.array([[0.0, 3.0], [0.0, 4.0], [1.0, 1.0], [0.0, 2.0]]), n_positives=2)
    >>> booster = make_booster("adaboost", Costs())
    >>> best = search.candidates(booster.begin_round(BoostingState.start(search.labels)), booster)[0]
    >>> best.feature, float(best.threshold), best.sides
    (1, 2.5, (-1, 1))
    """

    def __init__(self, table: Floats, n_positives: int, n_threads: int = 1) -> None:
        n_samples, n_features = table.shape
        self.labels = labels_of(n_positives, n_samples)
        self._n_threads = n_threads
        self._columns = np.ascontiguousarray(table.T)
        self._order = np.empty((n_features, n_samples), np.uint32)
        self._ends = np.zeros((n_features, n_samples), np.uint32)
        self._counts = np.empty(n_features, np.int64)
        run_all(self._sort, range(n_features), n_threads)
        self._tasks = blocks(n_features, max(1, CELLS_PER_TASK // n_samples))
        n_points = [2 * int(self._counts[task].sum()) for task in self._tasks]
        self._spaces = [
            (np.empty((2, n), np.int64), np.empty((2, n))) for n in n_points
        ]  # only a small part is ever written

    def candidates(self, round_: Round, booster: Booster) -> list[Stump]:
        """Return the stumps among which a round's best is, in the order of their features, then the two constant ones.

        For a loss that is linear, they have the least error; for any other, they are on the lower left hull of all.
        """
        parts = np.column_stack([round_.positive_part, round_.negative_part])
        found = ordered_map(
            lambda task: self._measure(task, parts, booster.loss_is_linear),
            range(len(self._tasks)),
            self._n_threads,
        )
        stumps, errors = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
        if not errors.size:
            among = np.arange(0)
        elif booster.loss_is_linear:
            sums = errors.sum(axis=0)
            among = np.flatnonzero(sums <= sums.min() + TIE_TOLERANCE)
        else:
            among = near_lower_hull(*errors)
        best = map(self._stump, stumps[:, among].T.tolist(), errors[:, among].T.tolist())
        return [*best, *(THRESHOLDS.constant(side, round_) for side in (1, -1))]

    def note(self, tree: Tree, vote: Vote) -> None:
        """Do nothing: the next round's weights contain all that is needed."""

    def values(self, feature: int) -> NDArray[np.generic]:
        """Return a feature's values on the training samples."""
        values: Floats = self._columns[feature]
        return values

    def _sort(self, feature: int) -> None:
        column = self._columns[feature]
        order = rising(column)
        ends = ends_of_equals(column[order])
        self._order[feature] = order
        self._ends[feature, : len(ends)] = ends
        self._counts[feature] = len(ends)

    def _measure(self, task: int, parts: Floats, is_linear: bool) -> tuple[NDArray[np.int64], Floats]:
        """Return the stumps of some columns, as feature and number of the cut, and their errors; both shape (2, n)."""
        some, (stumps, errors) = self._tasks[task], self._spaces[task]
        columns = self._order[some], self._ends[some], self._counts[some], parts
        if is_linear:
            n = least_of_columns(*columns, TIE_TOLERANCE, stumps, errors)
        else:
            n = hulls_of_columns(*columns, stumps, errors)
        stumps[0, :n] += some.start
        return stumps[:, :n], errors[:, :n]

    def _stump(self, place: list[int], errors: list[float]) -> Stump:
        """Return the stump of a feature and the number of a cut."""
        feature, numbered = place
        cut, turned = divmod(numbered, 2)
        end = self._ends[feature, cut]
        low, high = self._columns[feature, self._order[feature, end : end + 2]]
        sides = (1, -1) if turned else (-1, 1)
        return Stump(feature, between(low, high), sides, errors[0], errors[1])
