"""Histograms of a whole pool, updated only as far as necessary, with bounds of their errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Round
from vjcascade.boosters.state import Floats
from vjcascade.buffers import ReusableBuffer, release_pages
from vjcascade.features.bins import Bins
from vjcascade.kernels import histogram
from vjcascade.kernels.haar import N_BINS
from vjcascade.kernels.tiles import GROUP, GROUPS, TILE
from vjcascade.learning.criteria import Criterion, Interval, WeightedError
from vjcascade.learning.quantized_weights import (
    Changes,
    QuantizedDifferences,
    QuantizedWeights,
    update_weights,
)
from vjcascade.learning.weak_splits import SignedWeights, Update
from vjcascade.parallel import blocks, run_all

TILES_PER_TASK = 16
"""Enough to make the overhead of a task negligible, few enough for threads to finish at the same time."""

N_ITEMS = 2 * histogram.PART
"""Items in both parts of a group's histograms."""

REFINED_BY = 4.0
"""Factor by which the tolerance is smaller when bounds of some features are refined."""

FRONT_SHARE = 0.125
"""Share of the samples whose columns come first: those whose weights change most often."""

PASSES_TO_MOVE = 8
"""Passes between two reorderings of these samples."""

CHANGE_DECAY = 0.9
"""Factor per pass by which earlier changes of a sample's weight count less."""

MIN_GAIN_TO_MOVE = 2.0
"""Smallest difference of two samples' change counts for which they swap columns."""

MIN_SAMPLES_TO_KEEP = 8 * N_BINS
"""Histograms of fewer samples are not kept from round to round: that takes less time than reading and writing them."""

FIRST_TOLERANCE = 0.03
"""Initial tolerance: the share of a class's weight that may be out of date."""

TOLERANCES = 1e-6, 0.1
"""Smallest and largest tolerance."""

REDUCED_BY = 2.5
"""Factor by which the tolerance is reduced when far too many features remain open."""

SHARE_LEFT_OPEN = 0.002, 0.008
"""The tolerance increases if a smaller share of the features remains open, and decreases if a larger one does."""


class Histograms:
    """The weight of positives and of negatives in each bin of every feature.

    A round changes nearly all weights, but most weights of a class by one factor: those of the samples that the last
    weak classifier got right. For these, the histograms are not changed; only the unit is. Of the others, those that
    changed least are not updated either, as long as what is then out of date is a small share of all weight: this
    bounds the error of any sum over bins, and of every value computed from the histograms, by cuts between bins or by
    subsets of them.

    Parameters
    ----------
    bins : Bins
        The bins of each feature's values. Samples whose weights change often are moved to the first columns.
    n_threads : int
        Threads; results do not depend on it.
    space : ReusableBuffer, optional
        Buffer for the histograms; new memory if not given.
    """

    def __init__(
        self,
        bins: Bins,
        n_threads: int = 1,
        space: ReusableBuffer | None = None,
    ) -> None:
        self._bins = bins
        self._space = space or ReusableBuffer()
        self._n_threads = n_threads
        self._kept: QuantizedWeights | None = None
        self._histograms: NDArray[np.int32] | None = None
        self._tolerance = FIRST_TOLERANCE
        self._usual: float | None = None
        self._n_changes = np.zeros(bins.n_samples)
        self._n_passes = 0

    def measure(self, criterion: Criterion) -> Interval:
        """Update the histograms, and bound the values of all features.

        Parameters
        ----------
        criterion : Criterion
            The criterion and the weights.

        Returns
        -------
        Interval
            Bounds of shape (n_values, n_features).
        """
        parts, keeps = _parts_of(criterion.round_), self._keeps(criterion.round_)
        if not keeps and isinstance(criterion, WeightedError):
            return self._measure_afresh(criterion)
        weights, changes, shift = update_weights(self._kept if keeps else None, parts, self._tolerance)
        values = self._update(criterion, weights, changes, shift, keeps=keeps)
        if keeps:
            self._kept = weights
            self._move_to_the_front(changes.samples)
        return criterion.interval(values, weights)

    def refine(self, criterion: Criterion, features: NDArray[np.intp]) -> Interval | None:
        """Return tighter bounds for some features; None if no histograms are kept.

        Copies of their histograms are updated further. That reads the bins of far fewer samples than an exact value,
        which needs all.

        Parameters
        ----------
        criterion : Criterion
            The criterion that was measured last.
        features : ndarray of shape (n,), dtype intp
            Their indices.

        Returns
        -------
        Interval or None
            Bounds of these features.
        """
        if not self._keeps(criterion.round_) or self._kept is None or self._histograms is None:
            return None
        parts = _parts_of(criterion.round_)
        samples = self._kept.out_of_date(parts, self._tolerance / REFINED_BY)
        weights, changes = self._kept.changed(parts, samples)
        columns = np.searchsorted(samples, changes.samples).astype(np.uint32)
        weight_sums = weights.held.sum(axis=1)
        histograms = self._histograms.reshape(-1, N_ITEMS // GROUP, GROUP)
        tasks = blocks(len(features), TILE)
        values = np.empty((criterion.n_values, len(tasks), GROUPS, GROUP))

        def work(task: slice) -> None:
            # The features are scattered over the pool: copy them into a tile of their own.
            some = features[task]
            own = np.zeros((TILE, N_ITEMS // GROUP), np.int32)
            own[: len(some)] = histograms[some // GROUP, :, some % GROUP]
            for group in np.unique(some // GROUP):
                release_pages(histograms[group])
            grouped = own.reshape(GROUPS, GROUP, -1).transpose(0, 2, 1).reshape(GROUPS, N_ITEMS)
            words = Bins.of_rows(self._bins.rows(some, samples)).words
            update = Update(words, columns, changes.parts, changes.units, 0)
            criterion.measure(update, grouped, weight_sums, weights.unit, values[:, task.start // TILE])

        run_all(work, tasks, self._n_threads)
        values = values.reshape(criterion.n_values, -1)[:, : len(features)]
        return criterion.interval(values, weights)

    def adapt_tolerance(self, n_open: int) -> None:
        """Adapt the tolerance of the next round to the number of features that remained open in this one.

        Loose bounds cost exact values, tight ones cost updates; the optimum is in between.

        Parameters
        ----------
        n_open : int
            Features that remained open, except those that are always measured exactly.
        """
        few, many = (share * len(self._bins) for share in SHARE_LEFT_OPEN)
        factor = 1.5 if n_open == 0 else 1.25 if n_open < few else 0.7 if n_open > many else 1.0
        if self._usual is not None:  # one difficult round says little about the next
            self._tolerance, self._usual = self._usual / REDUCED_BY, None
        self._tolerance = min(max(self._tolerance * factor, TOLERANCES[0]), TOLERANCES[1])

    def reduce_tolerance(self) -> bool:
        """Reduce the tolerance for the rest of the round; return whether it was not minimal before."""
        was_loose = self._tolerance > TOLERANCES[0]
        self._usual = self._usual or self._tolerance
        self._tolerance = max(self._tolerance / REDUCED_BY, TOLERANCES[0])
        return was_loose

    def _keeps(self, round_: Round) -> bool:
        """Return whether the histograms of a round are kept for the next.

        A node of a tree has its own weights, which are unrelated to the next round's.
        """
        return not round_.is_part and self._bins.n_samples >= MIN_SAMPLES_TO_KEEP

    def _update(
        self, criterion: Criterion, weights: QuantizedWeights, changes: Changes, shift: int, *, keeps: bool
    ) -> Floats:
        """Add changes to all histograms, and return the values computed from them, shape (n_values, n_features)."""
        words = self._bins.words
        n_groups = len(words) * GROUPS
        if keeps and self._histograms is None:
            self._histograms = self._space.array((n_groups, N_ITEMS), np.int32)
        kept = self._histograms if keeps else None
        # Sorted by columns, the lines of a tile are read in sequence.
        columns = self._bins.columns[changes.samples]
        order = np.argsort(columns, kind="stable")
        columns, changed_parts, units = columns[order], changes.parts[order], changes.units[order]
        weight_sums = weights.held.sum(axis=1)
        values = np.empty((criterion.n_values, n_groups, GROUP))

        def work(task: slice) -> None:
            groups = slice(task.start * GROUPS, task.stop * GROUPS)
            own = np.empty((groups.stop - groups.start, N_ITEMS), np.int32) if kept is None else kept[groups]
            update = Update(words[task], columns, changed_parts, units, shift)
            criterion.measure(update, own, weight_sums, weights.unit, values[:, groups])
            release_pages(self._bins.tiles[task])
            if kept is not None:
                release_pages(own)

        run_all(work, blocks(len(words), TILES_PER_TASK), self._n_threads)
        return values.reshape(criterion.n_values, -1)[:, : len(self._bins)]

    def _measure_afresh(self, criterion: WeightedError) -> Interval:
        """Bound the weighted errors of all features from histograms of signed weights, which never leave the cache."""
        words = self._bins.words
        all_weight = float(criterion.weight_sums.sum())
        samples, units, unit, error = QuantizedDifferences.of(
            criterion.differences, all_weight, self._tolerance
        )
        columns = self._bins.columns[samples]
        order = np.argsort(columns, kind="stable")
        columns, units = columns[order], units[order]
        values = np.empty((len(words) * GROUPS, GROUP))

        def work(task: slice) -> None:
            weights = SignedWeights(words[task], columns, units, unit)
            criterion.measure_afresh(weights, values[task.start * GROUPS : task.stop * GROUPS])
            release_pages(self._bins.tiles[task])

        run_all(work, blocks(len(words), TILES_PER_TASK), self._n_threads)
        least = values.reshape(1, -1)[:, : len(self._bins)]
        return Interval(least - error, least + error)

    def _move_to_the_front(self, samples: NDArray[np.uint32]) -> None:
        """Count changes of weights; from time to time, move the samples with most changes to the first columns.

        Adjacent lines are read several times faster than lines spread over a tile.
        """
        self._n_changes *= CHANGE_DECAY
        self._n_changes[samples] += 1
        self._n_passes += 1
        if self._n_passes % PASSES_TO_MOVE:
            return
        in_front = self._bins.columns < FRONT_SHARE * self._bins.n_samples
        inside, outside = np.flatnonzero(in_front), np.flatnonzero(~in_front)
        inside = inside[np.argsort(self._n_changes[inside], kind="stable")]
        outside = outside[np.argsort(-self._n_changes[outside], kind="stable")][: len(inside)]
        inside = inside[: len(outside)]
        n = np.count_nonzero(self._n_changes[outside] >= self._n_changes[inside] + MIN_GAIN_TO_MOVE)
        self._bins.swap(outside[:n], inside[:n], self._n_threads)


def _parts_of(round_: Round) -> Floats:
    """Return the round's weights of each sample as a positive and as a negative, shape (2, n_samples)."""
    return np.stack([round_.positive_part, round_.negative_part])
