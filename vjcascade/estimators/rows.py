"""The rows of a training table, as boosting takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vjcascade.boosters import Costs
from vjcascade.boosters.calibration import split_halves
from vjcascade.boosters.example_costs import split_example_costs
from vjcascade.boosters.state import Floats
from vjcascade.learning.samples import labels_of


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Distinct rows and what they weigh, the positives first.

    Attributes
    ----------
    table : ndarray of shape (n_rows, n_features), dtype float64
        No two rows of a class are equal.
    labels : ndarray of shape (n_rows,), dtype int8
        +1 or -1.
    weights : ndarray of shape (n_rows,), dtype float64
        How many samples each row stands for.
    """

    table: Floats
    labels: NDArray[np.int8]
    weights: Floats

    @classmethod
    def join(cls, table: Floats, labels: NDArray[np.int8], weights: Floats) -> Self:
        """Join equal rows of a class, and put all rows in an order that does not depend on the one given.

        So a weight of 2 is a row given twice, to the last bit, and copies never are on both sides of a split.

        Parameters
        ----------
        table : ndarray of shape (n_samples, n_features), dtype float64
            Finite.
        labels : ndarray of shape (n_samples,), dtype int8
            +1 or -1.
        weights : ndarray of shape (n_samples,), dtype float64
            Added up where rows are joined.

        Returns
        -------
        TrainingRows
            Of both classes.

        Examples
        --------
        >>> table, labels = np.array([[7.0], [5.0], [7.0], [7.0]]), np.array([1, -1, -1, 1], np.int8)
        >>> rows = TrainingRows.join(table, labels, np.ones(4))
        >>> rows.table[:, 0], rows.labels, rows.weights
        (array([7., 5., 7.]), array([ 1, -1, -1], dtype=int8), array([2., 1., 1.]))
        """
        parts = [_joined(table[side], weights[side]) for side in (labels > 0, labels < 0)]
        n_positives = len(parts[0][1])
        tables, sums = zip(*parts, strict=True)
        joined = np.concatenate(sums)
        return cls(
            np.concatenate(tables),
            labels_of(n_positives, len(joined)),
            joined,
        )

    @property
    def n_positives(self) -> int:
        """How many rows are positives."""
        return int(np.count_nonzero(self.labels > 0))

    def halves(self, rng: np.random.Generator) -> tuple[Self, Self]:
        """Split the rows at random into a half to boost on and one to set a threshold on, each class evenly.

        A class of a single row has it in both, with half its weight.

        Parameters
        ----------
        rng : numpy.random.Generator
            Same state, same halves.

        Returns
        -------
        boosted, held_out : TrainingRows
            Each of both classes.
        """
        class_sizes = np.where(self.labels > 0, self.n_positives, len(self.labels) - self.n_positives)
        copies = np.where(class_sizes == 1, 2, 1)
        again = np.repeat(np.arange(len(copies)), copies)
        boosted, held_out = split_halves(self.labels[again], rng)
        return self._take(again[boosted], copies), self._take(again[held_out], copies)

    def _take(self, indices: NDArray[np.intp], copies: NDArray[np.intp]) -> Self:
        weights = (self.weights / copies)[indices]
        return type(self)(self.table[indices], self.labels[indices], weights)

    def balanced_weights(self) -> Floats:
        """Return the weights, scaled so that each class has the same sum, shape (n_rows,)."""
        sum_p, sum_n = self.weight_sums()
        return self.weights / np.where(self.labels > 0, sum_p, sum_n)

    def weight_sums(self) -> tuple[float, float]:
        """Return the weight of the positives and of the negatives."""
        positive = self.labels > 0
        return float(self.weights[positive].sum()), float(self.weights[~positive].sum())


def weighted_example_costs(
    sample_costs: ArrayLike, labels: NDArray[np.int8], weights: Floats
) -> tuple[Costs, Floats]:
    """Split costs of samples that have weights into costs of the classes and new weights.

    Parameters
    ----------
    sample_costs : array_like of shape (n,)
        What a mistake on each sample costs.
    labels : ndarray of shape (n,), dtype int8
        +1 or -1, both of them.
    weights : ndarray of shape (n,), dtype float64
        How many samples each stands for, > 0.

    Returns
    -------
    class_costs : Costs
        The weighted mean of each class.
    weights : ndarray of shape (n,), dtype float64
        ``class_costs.of(labels) * weights`` are the costs times the weights given.

    Examples
    --------
    >>> labels = np.array([1, 1, -1, -1], np.int8)
    >>> weighted_example_costs([6, 2, 1, 1], labels, np.array([1.0, 3.0, 1.0, 1.0]))
    (Costs(positive=3.0, negative=1.0), array([2., 2., 1., 1.]))
    """
    costs, split = split_example_costs(sample_costs, labels)
    costly = costs.of(labels) * split * weights
    means = [float(costly[side].sum() / weights[side].sum()) for side in (labels > 0, labels < 0)]
    weighted = Costs(*means)
    return weighted, costly / weighted.of(labels)


def _joined(table: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the distinct rows of a table and the sum of their weights."""
    table = np.ascontiguousarray(table + 0.0)  # -0.0 is 0.0
    as_bytes = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, first, group = np.unique(as_bytes, return_index=True, return_inverse=True)
    return table[first], np.bincount(group, weights).astype(np.float64)
