"""What boosters are compared on: samples of two classes that are split anew for every seed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import SettingsError
from vjcascade.features.families import family_of
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.learning.samples import samples_of
from vjcascade.learning.search import Search, StumpSearch
from vjcascade.learning.table_search import search_of_table

Indices = NDArray[np.intp]

MIN_OF_CLASS = 8
"""Samples of each class that a split needs."""


@dataclass(frozen=True, eq=False)
class Split:
    """A split: indices of samples, ascending.

    Attributes
    ----------
    train, tune, test : ndarray of shape (n,), dtype intp
        No sample is in two of them; both classes are in each.
    """

    train: Indices
    tune: Indices
    test: Indices

    @property
    def trained_whole(self) -> Indices:
        """Those to train on for rules that need no samples to tune on."""
        return np.sort(np.concatenate([self.train, self.tune]))


@dataclass(frozen=True, eq=False)
class EvalSet:
    """Samples that an ensemble is measured on.

    Attributes
    ----------
    labels : ndarray of shape (n,), dtype int8
        +1 or -1.
    values_of : callable
        Returns a feature's values on them, shape (n,).
    """

    labels: NDArray[np.int8]
    values_of: Callable[[int], NDArray[np.generic]]


@dataclass(frozen=True, eq=False)
class Trial:
    """All that a boosting run needs.

    Attributes
    ----------
    search : Search
        Of the samples to train on.
    tune, test : EvalSet
        To set thresholds on, and to measure on.
    """

    search: Search
    tune: EvalSet
    test: EvalSet


class Problem(ABC):
    """Samples of two classes.

    Attributes
    ----------
    name : str
        For people, and unique in a comparison.
    labels : ndarray of shape (n,), dtype int8
        +1 for positives, which come first, and -1 for negatives.
    groups : ndarray of shape (n,), dtype intp
        Samples of a group, all of one class, stay together.
    """

    name: str
    labels: NDArray[np.int8]
    groups: Indices

    shares: ClassVar[tuple[float, float]]
    """Shares of the samples to train on and to tune thresholds on; the rest is tested on."""

    trains_whole: ClassVar[bool]
    """Whether rules that need no samples train on those to tune on as well."""

    @property
    def is_drawn(self) -> bool:
        """Whether every seed has samples of its own."""
        return False

    def split(self, seed: Sequence[int]) -> Split:
        """Split the samples by group, each class for itself; same seed, same parts."""
        return split_samples(self.labels, self.groups, self.shares, seed)

    def trial(self, split: Split, trained: Indices, n_threads: int, shuffle_seed: int | None = None) -> Trial:
        """Make ready to boost on some samples, with their labels shuffled if a seed for that is given.

        Parameters
        ----------
        split : Split
            Of `split`: what to tune and to test on.
        trained : ndarray of shape (n_trained,), dtype intp
            Samples to train on.
        n_threads : int
            Threads; results do not depend on it.
        shuffle_seed : int or None
            For labels without meaning; see `in_order`.

        Returns
        -------
        Trial
            Serves one run after the other.
        """
        order, n_positives = in_order(self.labels, trained, shuffle_seed)
        search = self._search(order, n_positives, n_threads)
        return Trial(search, self._eval_set(split.tune), self._eval_set(split.test))

    def _eval_set(self, indices: Indices) -> EvalSet:
        return EvalSet(self.labels[indices], self._values_of(indices))

    @abstractmethod
    def _search(self, order: Indices, n_positives: int, n_threads: int) -> Search:
        """Make a search of samples, of which the first are taken for positives."""

    @abstractmethod
    def _values_of(self, indices: Indices) -> Callable[[int], NDArray[np.generic]]:
        """Return what returns a feature's values on samples."""


@dataclass(frozen=True, eq=False)
class WindowProblem(Problem):
    """The windows of a stage.

    Attributes
    ----------
    name : str
        For people.
    pool : ndarray of shape (n_features,), dtype `FEATURE_DTYPE` or `LBP_DTYPE`
        Features.
    integrals : WindowIntegrals
        Of all windows, the positives first.
    groups : ndarray of shape (n,), dtype intp
        Windows of a group are copies, or of one part of the photos: they stay together. Groups have one class.
    labels : ndarray of shape (n,), dtype int8
        +1 or -1.
    draws : ndarray of shape (n,), dtype intp, or None
        Number of the independent draw that each window belongs to, with nothing in common with the others; None if
        every seed splits all windows anew.
    """

    name: str
    pool: NDArray[np.void]
    integrals: WindowIntegrals
    groups: Indices
    labels: NDArray[np.int8]
    draws: Indices | None = None

    shares: ClassVar[tuple[float, float]] = (0.5, 0.25)
    trains_whole: ClassVar[bool] = False

    @property
    def is_drawn(self) -> bool:
        """Whether every seed has windows of its own."""
        return self.draws is not None

    def split(self, seed: Sequence[int]) -> Split:
        """Split the windows, or those of the draw that is the last number of the seed."""
        if self.draws is None:
            return super().split(seed)
        members = np.flatnonzero(self.draws == seed[-1])
        found = split_samples(self.labels[members], self.groups[members], self.shares, seed)
        return Split(members[found.train], members[found.tune], members[found.test])

    def _search(self, order: Indices, n_positives: int, n_threads: int) -> Search:
        samples = samples_of(self.pool, self.integrals.take(order), n_positives, n_threads)
        return StumpSearch(samples, n_threads)

    def _values_of(self, indices: Indices) -> Callable[[int], NDArray[np.generic]]:
        family, integrals = family_of(self.pool), self.integrals.take(indices)
        return lambda feature: family.values(self.pool[[feature]], integrals)[0]


@dataclass(frozen=True, eq=False)
class TableProblem(Problem):
    """The rows of a table.

    Attributes
    ----------
    name : str
        For people.
    table : ndarray of shape (n, n_features), dtype float64
        Finite; the positives first.
    labels : ndarray of shape (n,), dtype int8
        +1 or -1.
    groups : ndarray of shape (n,), dtype intp
        Equal rows are a group: they stay together.
    """

    name: str
    table: NDArray[np.float64]
    labels: NDArray[np.int8]
    groups: Indices

    shares: ClassVar[tuple[float, float]] = (
        0.375,
        0.375,
    )  # of Nikolaou et al.: a quarter tests, half the rest tunes
    trains_whole: ClassVar[bool] = True

    def _search(self, order: Indices, n_positives: int, n_threads: int) -> Search:
        return search_of_table(self.table[order], n_positives, n_threads)

    def _values_of(self, indices: Indices) -> Callable[[int], NDArray[np.generic]]:
        columns = np.ascontiguousarray(self.table[indices].T)
        return lambda feature: columns[feature]


def split_samples(
    labels: NDArray[np.int8], groups: Indices, shares: tuple[float, float], seed: int | Sequence[int]
) -> Split:
    """Split samples into three parts, whole groups at a time, each class for itself.

    Parameters
    ----------
    labels : ndarray of shape (n,), dtype int8
        +1 or -1.
    groups : ndarray of shape (n,), dtype intp
        Of each sample.
    shares : pair of float
        To train and to tune; the rest tests.
    seed : int or sequence of int
        Same seed, same parts.

    Returns
    -------
    Split
        Every sample is in one of them. Groups are dealt at random to the part that lacks most of its share.

    Raises
    ------
    SettingsError
        If a class has too few samples or groups to be in all three.

    Examples
    --------
    >>> labels = np.repeat(np.array([1, -1], np.int8), 8)
    >>> split = split_samples(labels, np.arange(16), (0.5, 0.25), seed=0)
    >>> [part.tolist() for part in (split.train, split.tune, split.test)]
    [[2, 5, 6, 7, 11, 12, 13, 14], [0, 4, 9, 10], [1, 3, 8, 15]]
    """
    rng = np.random.default_rng(seed)
    wanted = np.array([*shares, 1 - sum(shares)])
    part_of = np.empty(len(labels), np.intp)
    for side, name in ((1, "positives"), (-1, "negatives")):
        members = np.flatnonzero(labels == side)
        distinct, places = np.unique(groups[members], return_inverse=True)
        if len(members) < MIN_OF_CLASS or len(distinct) < len(wanted):
            raise SettingsError(
                f"{len(members)} {name} in {len(distinct)} groups are too few to train, tune and test on: at least "
                f"{MIN_OF_CLASS} in {len(wanted)} groups are needed"
            )
        part_of[members] = dealt(np.bincount(places), wanted * len(members), rng)[places]
    return Split(*(np.flatnonzero(part_of == part) for part in range(len(wanted))))


def dealt(sizes: NDArray[np.intp], wanted: NDArray[np.float64], rng: np.random.Generator) -> Indices:
    """Deal groups to parts: each at random order to the part that lacks most, as a share of what it wants.

    Parameters
    ----------
    sizes : ndarray of shape (n_groups,), dtype intp
        Samples of each group.
    wanted : ndarray of shape (n_parts,), dtype float64
        Samples that each part wants.
    rng : Generator
        Gives the order.

    Returns
    -------
    ndarray of shape (n_groups,), dtype intp
        The part of each group.
    """
    part_of = np.empty(len(sizes), np.intp)
    lacking = wanted.copy()
    for group in rng.permutation(len(sizes)):
        part = int(np.argmax(lacking / wanted))
        part_of[group] = part
        lacking[part] -= sizes[group]
    return part_of


def in_order(labels: NDArray[np.int8], trained: Indices, shuffle_seed: int | None) -> tuple[Indices, int]:
    """Return the samples to train on, the positives first, and how many of them are to be taken for positives.

    Parameters
    ----------
    labels : ndarray of shape (n,), dtype int8
        +1 or -1.
    trained : ndarray of shape (n_trained,), dtype intp
        Samples to train on.
    shuffle_seed : int or None
        If given, any samples are taken for positives, as many as there are.

    Returns
    -------
    order : ndarray of shape (n_trained,), dtype intp
        The samples.
    n_positives : int
        How many of them, from the first, are to be taken for positives.

    Examples
    --------
    >>> in_order(np.array([1, -1, 1], np.int8), np.array([0, 1, 2]), None)
    (array([0, 2, 1]), 2)
    """
    n_positives = int(np.count_nonzero(labels[trained] > 0))
    if shuffle_seed is not None:
        return np.random.default_rng(shuffle_seed).permutation(trained), n_positives
    return trained[np.argsort(labels[trained] < 0, kind="stable")], n_positives
