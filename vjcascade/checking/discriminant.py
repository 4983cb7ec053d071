"""Tell two kinds of windows apart with a linear discriminant, each judged by others than itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve  # type: ignore[import-untyped]

from vjcascade.checking.descriptors import Rows

N_PARTS = 5
"""Into so many parts windows are split; each part is judged by what the others teach."""

SHRINKAGE = 0.15
"""Of the mean variance is added to each: there are hardly more windows than numbers in a description."""

SUSPECT = -0.3
"""Windows that score less are left out, and all is learned once more: what is spoiled must not teach."""

Scores = NDArray[np.float64]
"""1 for the mean of the first kind, -1 for that of the second."""


@dataclass(frozen=True, eq=False)
class Discriminant:
    """What tells two kinds of windows apart.

    Attributes
    ----------
    first, second : ndarray of float
        Scores of the windows of each kind, from others than themselves.
    parts : ndarray of int
        The part of each window of the first kind.
    weights : ndarray of shape (N_PARTS, d)
        What judges the windows of each part.
    offsets : ndarray of shape (N_PARTS,)
        Are subtracted.
    """

    first: Scores
    second: Scores
    parts: NDArray[np.intp]
    weights: NDArray[np.float64]
    offsets: NDArray[np.float64]

    @classmethod
    def between(
        cls,
        first: Rows,
        second: Rows,
        parts: NDArray[np.intp],
        second_parts: NDArray[np.intp] | None = None,
    ) -> Discriminant:
        """Learn what tells two kinds of windows apart.

        Parameters
        ----------
        first, second : ndarray of shape (n, d) and (m, d), dtype float32
            Descriptions.
        parts : ndarray of shape (n,), dtype intp
            As by `split_groups`.
        second_parts : ndarray of shape (m,), dtype intp, optional
            Of the second kind; not needed where windows of the first kind, altered, are the second.

        Returns
        -------
        Discriminant
            Learned twice: without those, the second time, that looked like the other kind.
        """
        others = parts if second_parts is None else second_parts
        keep, keep_other = np.ones(len(first), np.bool_), np.ones(len(second), np.bool_)
        found = cls._learned(first, second, parts, others, keep, keep_other)
        keep = _unless_too_many(found.first > SUSPECT)
        keep_other = keep if second_parts is None else _unless_too_many(found.second < -SUSPECT)
        return cls._learned(first, second, parts, others, keep, keep_other)

    @classmethod
    def _learned(
        cls,
        first: Rows,
        second: Rows,
        parts: NDArray[np.intp],
        second_parts: NDArray[np.intp],
        keep: NDArray[np.bool_],
        keep_other: NDArray[np.bool_],
    ) -> Discriminant:
        weights, offsets = np.empty((N_PARTS, first.shape[1])), np.empty(N_PARTS)
        scores, other_scores = np.zeros(len(first)), np.zeros(len(second))
        for part in range(N_PARTS):
            mine, others = first[keep & (parts != part)], second[keep_other & (second_parts != part)]
            weights[part], offsets[part] = _rule(mine, others)
            here, there = parts == part, second_parts == part
            scores[here] = first[here] @ weights[part] - offsets[part]
            other_scores[there] = second[there] @ weights[part] - offsets[part]
        return cls(scores, other_scores, parts, weights, offsets)

    @property
    def accuracy(self) -> float:
        """Which share of windows, as many of both kinds, is recognised."""
        return float((np.mean(self.first > 0) + np.mean(self.second < 0)) / 2)

    def judge(self, rows: Rows, indices: NDArray[np.intp]) -> Scores:
        """Return scores of further windows, each made of one of the first kind.

        Parameters
        ----------
        rows : ndarray of shape (k, d), dtype float32
            Descriptions.
        indices : ndarray of shape (k,), dtype intp
            The windows they were made of, which have not taught what judges them.

        Returns
        -------
        ndarray of shape (k,)
            Scores.
        """
        parts = self.parts[indices]
        scores: Scores = np.einsum("kd,kd->k", rows, self.weights[parts]) - self.offsets[parts]
        return scores

    def judge_as(self, rows: Rows, part: int) -> Scores:
        """Return scores of further windows, by what the windows of one part have not taught."""
        scores: Scores = rows @ self.weights[part] - self.offsets[part]
        return scores


def split_groups(groups: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """Split windows into parts, those of a group into one, unless there is hardly more than one group.

    Parameters
    ----------
    groups : ndarray of shape (n,), dtype intp
        Windows from one picture have one number, from 0 on.
    seed : int
        Of the random choice.

    Returns
    -------
    ndarray of shape (n,), dtype intp
        From 0 to `N_PARTS - 1`.

    Examples
    --------
    >>> parts = split_groups(np.array([0, 0, 1, 2, 3, 4, 4]), seed=0)
    >>> bool(parts[0] == parts[1] and parts[-1] == parts[-2]), sorted(set(parts.tolist()))
    (True, [0, 1, 2, 3, 4])
    """
    sizes = np.bincount(groups)
    if sizes.max(initial=0) > len(groups) / 2:
        groups, sizes = np.arange(len(groups)), np.ones(len(groups), np.intp)
    return np.random.default_rng(seed).permutation(len(sizes))[groups] % N_PARTS


def _unless_too_many(keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Keep all where more than half would be left out: then the kinds are simply alike."""
    return keep if keep.mean() > 0.5 else np.ones_like(keep)


def _rule(first: Rows, second: Rows) -> tuple[NDArray[np.float64], float]:
    """Return weights and offset; the means of both kinds get 1 and -1."""
    n_numbers = first.shape[1]
    mean, other = first.mean(axis=0, dtype=np.float64), second.mean(axis=0, dtype=np.float64)
    within = (_covariance(first, mean) + _covariance(second, other)) / 2
    within[np.diag_indices(n_numbers)] += SHRINKAGE * np.trace(within) / n_numbers + 1e-9
    weights = solve(within, mean - other, assume_a="pos")
    gap = float(weights @ (mean - other))
    weights *= 2 / max(gap, 1e-9)
    return weights, float(weights @ (mean + other) / 2)


def _covariance(rows: Rows, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = rows - mean.astype(np.float32)
    covariance: NDArray[np.float64] = (centred.T @ centred).astype(np.float64) / max(len(rows), 1)
    return covariance
