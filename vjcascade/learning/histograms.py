"""Histograms of a whole pool, brought up to date only as far as it matters, and how far off they may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Round
from vjcascade.boosters.state import Floats
from vjcascade.buffers import ReusableBuffer, release_pages
from vjcascade.features.bins import Bins
from vjcascade.kernels import histogram
from vjcascade.kernels.haar import N_BINS
from vjcascade.kernels.tiles import GROUP, GROUPS, TILE
from vjcascade.learning.quantized_weights import QuantizedWeights, update_weights
from vjcascade.learning.weak_splits import THRESHOLDS, Splits, Update
from vjcascade.parallel import blocks, run_all

TILES_PER_TASK = 16
"""Enough for the start of a task not to count, few enough for threads to end at the same time."""

N_ITEMS = 2 * histogram.PART
"""Of a group's histograms: both parts."""

CLOSER = 4.0
"""When bounds of some features are made closer, so many times less weight may be out of date."""

FRONT_SHARE = 0.125
"""Share of the samples whose columns come first: those whose weights change most often."""

ROUNDS_TO_MOVE = 8
"""After so many rounds it is looked up which samples these are."""

FORGOTTEN = 0.9
"""What a change of a sample's weight counts a round later."""

WORTH_MOVING = 2.0
"""By so much a sample's changes must count more than those of the one whose place it takes."""

MIN_SAMPLES_TO_KEEP = 8 * N_BINS
"""Histograms of fewer samples take more memory than the bins do: they are not kept from round to round."""

FIRST_TOLERANCE = 0.03
"""Share of a class's weight that may be out of date, until something is known."""

TOLERANCES = 1e-6, 0.1
"""The least and the largest such share."""

TIGHTENED_BY = 2.5
"""When bounds leave far too many features open, so many times less weight may be out of date."""

SHARE_LEFT_OPEN = 0.002, 0.008
"""Where bounds leave fewer features open, more weight may be out of date, and where they leave more, less."""

GINI_ROUNDING = 2e-6
"""What the rounding of impurities may come to, as a share of all weight: they are computed in float32."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found for each feature, and what it would be if the weights were the round's.

    Attributes
    ----------
    lowest, highest : ndarray, dtype float64
        Bounds of the values.
    """

    lowest: Floats
    highest: Floats


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked of histograms.

    Attributes
    ----------
    n_values : int
        Values for each feature.
    measure : callable
        Called as `measure(update, histograms, masses, unit, values)` for some groups of features: brings their
        histograms up to date and fills in the values.
    bounds : callable
        Takes values, and the weights that the histograms stand for.
    """

    n_values: int
    measure: Callable[[Update, NDArray[np.int32], Floats, Floats, Floats], None]
    bounds: Callable[[Floats, QuantizedWeights], Measured]


class Histograms:
    """The weight of positives and of negatives in each bin of every feature.

    A round changes nearly all weights, but most weights of a class by one factor: those of the samples that the last
    weak classifier got right. These are left as they are in the histograms; only the unit changes. Of the others,
    those that changed least are left as well, as long as what is then out of date is a small share of all weight:
    it bounds how far off any sum over bins can be, and with it every value computed from the histograms.

    Parameters
    ----------
    bins : Bins
        Each feature's values, sorted into bins. Samples whose weights change often are given its first columns.
    n_threads : int
        Threads; results do not depend on it.
    splits : Splits
        What is measured: cuts between bins, or subsets of them. Either way a value is computed from sums over bins,
        those on one side and those on the other, and the bounds hold for sums over any bins.
    space : ReusableBuffer, optional
        Where histograms are kept, if not in memory of their own.
    """

    def __init__(
        self,
        bins: Bins,
        n_threads: int = 1,
        splits: Splits = THRESHOLDS,
        space: ReusableBuffer | None = None,
    ) -> None:
        self._bins = bins
        self._splits = splits
        self._space = space or ReusableBuffer()
        self._n_threads = n_threads
        self._kept: QuantizedWeights | None = None
        self._histograms: NDArray[np.int32] | None = None
        self._asked: tuple[_Question, QuantizedWeights, Floats] | None = None
        self._tolerance = FIRST_TOLERANCE
        self._usual: float | None = None
        self._n_changes = np.zeros(bins.n_samples)
        self._n_rounds = 0

    def on_lines(self, lines: Floats, round_: Round) -> Measured:
        """Return each feature's least ``a * errors_p + b * errors_n`` of several lines.

        Parameters
        ----------
        lines : ndarray of shape (n_lines, 2), dtype float64
            a and b of each line.
        round_ : Round
            The round's weights.

        Returns
        -------
        Measured
            Bounds of shape (n_lines, n_features).
        """
        splits = self._splits

        def measure(
            update: Update, histograms: NDArray[np.int32], weight_sums: Floats, unit: Floats, values: Floats
        ) -> None:
            splits.least_on_lines(update, histograms, weight_sums, lines * unit, values)

        def bounds(values: Floats, weights: QuantizedWeights) -> Measured:
            return Measured(
                values - (lines @ weights.above)[:, None], values + (lines @ weights.below)[:, None]
            )

        return self._ask(_Question(len(lines), measure, bounds), round_)

    def gini(self, factors: Floats, round_: Round) -> Measured:
        """Return each feature's least Gini impurity of two sides, the sum of their 2 P N / (P + N).

        Parameters
        ----------
        factors : ndarray of shape (2,), dtype float64
            How much a positive's and a negative's weight count.
        round_ : Round
            The round's weights.

        Returns
        -------
        Measured
            Bounds of shape (n_features,).
        """
        splits = self._splits

        def measure(
            update: Update, histograms: NDArray[np.int32], weight_sums: Floats, unit: Floats, values: Floats
        ) -> None:
            splits.least_gini(update, histograms, weight_sums, factors * unit, values[0])

        def bounds(values: Floats, weights: QuantizedWeights) -> Measured:
            # A side's impurity rises with either weight, by at most twice as much as the weight does.
            rounding = GINI_ROUNDING * float(factors @ [round_.positive_weight, round_.negative_weight])
            lowest = values[0] - 2 * factors @ weights.above - rounding
            return Measured(lowest, values[0] + 2 * factors @ weights.below + rounding)

        return self._ask(_Question(1, measure, bounds), round_)

    def closer(self, features: NDArray[np.intp]) -> Measured | None:
        """Return closer bounds, of some features, to what was asked last; None if no histograms are kept.

        That reads fewer samples than all, which an exact value would need.

        Parameters
        ----------
        features : ndarray of shape (n,), dtype intp
            Their numbers.

        Returns
        -------
        Measured or None
            Bounds of these features.
        """
        if self._asked is None or self._histograms is None:
            return None
        question, base, parts = self._asked
        samples = base.out_of_date(parts, self._tolerance / CLOSER)
        weights, changes = base.changed(parts, samples)
        columns = np.searchsorted(samples, changes.samples).astype(np.uint32)
        weight_sums = weights.held.sum(axis=1)
        histograms = self._histograms.reshape(-1, N_ITEMS // GROUP, GROUP)
        tasks = blocks(len(features), TILE)
        values = np.empty((question.n_values, len(tasks), GROUPS, GROUP))

        def work(task: slice) -> None:
            some = features[task]
            own = np.zeros((TILE, N_ITEMS // GROUP), np.int32)
            own[: len(some)] = histograms[some // GROUP, :, some % GROUP]
            for group in np.unique(some // GROUP):
                release_pages(histograms[group])
            grouped = own.reshape(GROUPS, GROUP, -1).transpose(0, 2, 1).reshape(GROUPS, N_ITEMS)
            words = Bins.of_rows(self._bins.rows(some, samples)).words
            update = Update(words, columns, changes.parts, changes.units, 0)
            question.measure(update, grouped, weight_sums, weights.unit, values[:, task.start // TILE])

        run_all(work, tasks, self._n_threads)
        values = values.reshape(question.n_values, -1)[:, : len(features)]
        return question.bounds(values, weights)

    def balance(self, n_open: int) -> None:
        """Set how much may be out of date the next time, by how many features the bounds left open this time.

        Parameters
        ----------
        n_open : int
            Features that the bounds left open, beside those that are always measured exactly.
        """
        few, many = (share * len(self._bins) for share in SHARE_LEFT_OPEN)
        factor = 1.5 if n_open == 0 else 1.25 if n_open < few else 0.7 if n_open > many else 1.0
        if self._usual is not None:  # one round that is hard to decide says little of the next
            self._tolerance, self._usual = self._usual / TIGHTENED_BY, None
        self._tolerance = min(max(self._tolerance * factor, TOLERANCES[0]), TOLERANCES[1])

    def tighten(self) -> bool:
        """Let much less be out of date for the rest of the round; return whether that makes a difference."""
        was_loose = self._tolerance > TOLERANCES[0]
        self._usual = self._usual or self._tolerance
        self._tolerance = max(self._tolerance / TIGHTENED_BY, TOLERANCES[0])
        return was_loose

    def _ask(self, question: _Question, round_: Round) -> Measured:
        """Bring the histograms up to date and measure all features."""
        parts, words = np.stack([round_.positive_part, round_.negative_part]), self._bins.words
        keep = not round_.is_part and parts.shape[1] >= MIN_SAMPLES_TO_KEEP
        n_groups = len(words) * GROUPS
        if keep and self._histograms is None:
            self._histograms = self._space.array((n_groups, N_ITEMS), np.int32)
        weights, changes, shift = update_weights(self._kept if keep else None, parts, self._tolerance)
        columns = self._bins.columns[changes.samples]
        order = np.argsort(columns, kind="stable")
        columns, changed_parts, units = columns[order], changes.parts[order], changes.units[order]
        weight_sums = weights.held.sum(axis=1)
        values = np.empty((question.n_values, n_groups, GROUP))
        kept = self._histograms if keep else None

        def work(task: slice) -> None:
            groups = slice(task.start * GROUPS, task.stop * GROUPS)
            own = np.empty((groups.stop - groups.start, N_ITEMS), np.int32) if kept is None else kept[groups]
            update = Update(words[task], columns, changed_parts, units, shift)
            question.measure(update, own, weight_sums, weights.unit, values[:, groups])
            release_pages(self._bins.tiles[task])
            if kept is not None:
                release_pages(own)

        run_all(work, blocks(len(words), TILES_PER_TASK), self._n_threads)
        self._asked = (question, weights, parts) if keep else None
        if keep:
            self._kept = weights
            self._move_to_the_front(changes.samples)
        return question.bounds(values.reshape(question.n_values, -1)[:, : len(self._bins)], weights)

    def _move_to_the_front(self, samples: NDArray[np.uint32]) -> None:
        """Note whose weights changed; from time to time, give the columns that come first to those that do most often.

        Lines that lie together are read several times faster than lines spread over a tile.
        """
        self._n_changes *= FORGOTTEN
        self._n_changes[samples] += 1
        self._n_rounds += 1
        if self._n_rounds % ROUNDS_TO_MOVE:
            return
        in_front = self._bins.columns < FRONT_SHARE * self._bins.n_samples
        inside, outside = np.flatnonzero(in_front), np.flatnonzero(~in_front)
        inside = inside[np.argsort(self._n_changes[inside], kind="stable")]
        outside = outside[np.argsort(-self._n_changes[outside], kind="stable")][: len(inside)]
        inside = inside[: len(outside)]
        n = np.count_nonzero(self._n_changes[outside] >= self._n_changes[inside] + WORTH_MOVING)
        self._bins.swap(outside[:n], inside[:n], self._n_threads)
