"""Histograms of a whole pool, brought up to date only as far as it matters, and how far off they may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Round
from vjcascade.boosters.state import Floats
from vjcascade.kernels import histogram
from vjcascade.kernels.haar import N_BINS
from vjcascade.parallel import blocks, run_all
from vjcascade.scratch import let_go, scratch_array
from vjcascade.training.bins import Bins
from vjcascade.training.splits import THRESHOLDS, Splits

FEATURES_PER_TASK = 1024

FEATURES_AT_ONCE = 256
"""Their histograms stay in a second-level cache between being brought up to date and being read."""

START_BITS, MAX_BITS = 28, 30
"""The weights of a class sum to so many bits of units at first, and at most."""

FEW_CHANGES = 0.1
"""Share of the samples; where fewer change, to add up all anew would not be less work."""

MAX_SHIFT = 16
"""Where more bits would have to go, histograms are made anew."""

MIN_SAMPLES_TO_KEEP = 8 * N_BINS
"""Histograms of fewer samples take more memory than the bins do: they are not kept from round to round."""

FIRST_TOLERANCE = 0.01
"""Share of a class's weight that may be out of date, until something is known."""

TOLERANCES = 1e-6, 0.1
"""The least and the largest such share."""

TIGHTENED_BY = 4.0
"""When bounds leave far too many features open, so many times less weight may be out of date."""

SHARE_LEFT_OPEN = 0.002, 0.008
"""Where bounds leave fewer features open, more weight may be out of date, and where they leave more, less."""

LINE = 64
"""Bytes that a processor reads at once."""

FORGOTTEN = 0.9
"""What a use of a sample counts a round later."""

SPREAD_TO_REORDER = 12
"""Bytes of a row read in vain, as a multiple of the row, after which its columns are put in another order."""

LIGHT_CLASS = 1e-9
"""A class that weighs less than this share of all is taken to weigh so much."""

ROUNDING = 1e-8
"""What the rounding of sums may come to, as a share of them."""


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


Measure = Callable[[NDArray[np.int64], Floats, slice], None]
"""Called as `measure(histograms, unit, part)` for the features of a part of the pool."""


class Histograms:
    """The weight of positives and of negatives in each bin of every feature.

    A round changes nearly all weights, but most weights of a class by one factor: those of the samples that the last
    weak classifier got right. These are left as they are in the histograms; only the unit changes. Of the others,
    those that changed least are left as well, as long as what is then out of date is a small share of all weight:
    it bounds how far off any sum over bins can be, and with it every value computed from the histograms.

    Parameters
    ----------
    bins : Bins
        Each feature's values, sorted into bins. Their columns are put in another order where that pays.
    n_threads : int
        Threads; results do not depend on it.
    splits : Splits
        What is measured: cuts between bins, or subsets of them. Either way a value is computed from sums over bins,
        those on one side and those on the other, and the bounds hold for sums over any bins.
    folder : Path, optional
        Where histograms are kept if not in memory; see `vjcascade.scratch.scratch_array`.
    """

    def __init__(
        self,
        bins: Bins,
        n_threads: int = 1,
        splits: Splits = THRESHOLDS,
        folder: Path | None = None,
    ) -> None:
        self._bins = bins
        self._splits = splits
        self._folder = folder
        self._n_threads = n_threads
        self._kept: _Weights | None = None
        self._histograms: NDArray[np.int64] | None = None
        self._tolerance = FIRST_TOLERANCE
        self._uses = np.zeros(bins.n_samples)
        self._n_spread = 0

    def on_lines(self, lines: Floats, now: Round) -> Measured:
        """Return each feature's least ``a * errors_p + b * errors_n``.

        Parameters
        ----------
        lines : ndarray of shape (n_lines, 2), dtype float64
            a and b of each line.
        now : Round
            The round's weights.

        Returns
        -------
        Measured
            Bounds of shape (n_lines, n_features).
        """
        values = np.empty((len(lines), len(self._bins)))

        def measure(histograms: NDArray[np.int64], unit: Floats, part: slice) -> None:
            self._splits.least_on_lines(histograms, lines * unit, values[:, part])

        weights = self._pass(now, measure)
        return Measured(values - (lines @ weights.above)[:, None], values + (lines @ weights.below)[:, None])

    def gini(self, factors: Floats, now: Round) -> Measured:
        """Return each feature's least Gini impurity of two sides, the sum of their 2 P N / (P + N).

        Parameters
        ----------
        factors : ndarray of shape (2,), dtype float64
            How much a positive's and a negative's weight count.
        now : Round
            The round's weights.

        Returns
        -------
        Measured
            Bounds of shape (n_features,).
        """
        values = np.empty(len(self._bins))

        def measure(histograms: NDArray[np.int64], unit: Floats, part: slice) -> None:
            self._splits.least_gini(histograms, factors * unit, values[part])

        weights = self._pass(now, measure)
        # A side's impurity rises with either weight, by at most twice as much as the weight does.
        return Measured(values - 2 * factors @ weights.above, values + 2 * factors @ weights.below)

    def balance(self, n_open: int) -> None:
        """Set how much may be out of date the next time, by how many features the bounds left open this time.

        Parameters
        ----------
        n_open : int
            Features that had to be measured exactly, beside those that are always.
        """
        few, many = (share * len(self._bins) for share in SHARE_LEFT_OPEN)
        factor = 1.25 if n_open < few else 0.7 if n_open > many else 1.0
        self._tolerance = min(max(self._tolerance * factor, TOLERANCES[0]), TOLERANCES[1])

    def tighten(self) -> bool:
        """Let much less be out of date from now on; return whether that makes a difference."""
        was_loose = self._tolerance > TOLERANCES[0]
        self._tolerance = max(self._tolerance / TIGHTENED_BY, TOLERANCES[0])
        return was_loose

    def reorder_if_worthwhile(self) -> None:
        """Move the samples that change most often to the front, once what is read for lack of that has cost as much.

        Late in boosting, the weights that change are those of few samples; where these lie together, so much less of
        the bins is read. Rounds that were looked at before must be arranged anew.
        """
        if self._n_spread < SPREAD_TO_REORDER * self._bins.n_samples:
            return
        columns = np.argsort(-self._uses, kind="stable")
        self._bins.reorder(columns, self._n_threads)
        if self._kept is not None:
            self._kept = replace(self._kept, held=self._kept.held[:, columns])
        self._uses, self._n_spread = self._uses[columns], 0

    def _take_note(self, columns: NDArray[np.uint32]) -> None:
        """Count what was read, and how much of it only because it lay beside what was wanted."""
        self._uses *= FORGOTTEN
        self._uses[columns] += 1
        n_lines = len(np.unique(columns // LINE))
        self._n_spread += n_lines * LINE - len(columns)

    def _pass(self, now: Round, measure: Measure) -> _Weights:
        """Bring the histograms up to date and measure all features; return the weights that they stand for."""
        parts = np.stack([now.positive_part, now.negative_part])
        keep = not now.is_part and parts.shape[1] >= MIN_SAMPLES_TO_KEEP
        if keep and self._histograms is None:
            self._histograms = scratch_array((len(self._bins), N_BINS), np.int64, self._folder)
        weights, changes = _brought_up_to_date(self._kept if keep else None, parts, self._tolerance)
        histograms = self._histograms if keep else None

        def work(task: slice) -> None:
            spare = np.empty((FEATURES_AT_ONCE if histograms is None else 0, N_BINS), np.int64)
            for some in blocks(task.stop - task.start, FEATURES_AT_ONCE):
                part = slice(task.start + some.start, task.start + some.stop)
                own = spare[: some.stop - some.start] if histograms is None else histograms[part]
                histogram.add_changes(self._bins.rows[part], *changes, own)
                measure(own, weights.unit, part)
            let_go(self._bins.rows[task])
            if histograms is not None:
                let_go(histograms[task])

        run_all(work, blocks(len(self._bins), FEATURES_PER_TASK), self._n_threads)
        if keep:
            self._kept = weights
            self._take_note(changes[0])
        return weights


@dataclass(frozen=True, eq=False)
class _Weights:
    """The weights that histograms stand for.

    Attributes
    ----------
    held : ndarray of shape (2, n_samples), dtype float64
        Of each sample as a positive and as a negative, in units.
    unit : ndarray of shape (2,), dtype float64
        What a unit of either is.
    lost : float
        Units that a sum over bins may have too few, since bits were taken off.
    above, below : ndarray of shape (2,), dtype float64
        By how much, at most, a sum over bins exceeds the true weights, and falls short of them.
    """

    held: Floats
    unit: Floats
    lost: float
    above: Floats
    below: Floats

    @classmethod
    def none(cls, parts: Floats) -> Self:
        """Return no weights, in a unit that fits the weights to come."""
        return cls(np.zeros_like(parts), _masses(parts) / 2**START_BITS, 0.0, np.zeros(2), np.zeros(2))

    def rescaled(self, parts: Floats, tolerance: float) -> tuple[Self, int] | None:
        """Return the weights in the unit that makes them nearest to others, and by how many bits they were shortened.

        None if too many bits would have to go, or if those that went are no longer a tolerable share of a class's
        weight: both classes lose them when one grows, and they do not come back.
        """
        unit = np.array([_nearest_unit(*one) for one in zip(self.held, self.unit, parts, strict=True)])
        most = (parts.sum(axis=1) / unit).max()
        if most > 2.0 ** (START_BITS + MAX_SHIFT):
            return None
        shift = math.ceil(math.log2(most)) - START_BITS if most > 2**MAX_BITS else 0
        lost = self.lost / 2**shift + (N_BINS if shift else 0)
        unit *= 2**shift
        if (lost * unit > tolerance * _masses(parts)).any():
            return None
        return replace(self, held=self.held / 2**shift, unit=unit, lost=lost), shift

    def out_of_date(self, parts: Floats, tolerance: float) -> NDArray[np.intp]:
        """Return the samples to change, so that the others are off by a tolerable share of the weights."""
        off = (np.abs(parts - self.held * self.unit[:, None]) / _masses(parts)[:, None]).sum(axis=0)
        order = np.argsort(off, kind="stable")
        n_left = np.searchsorted(np.cumsum(off[order]), 2 * tolerance, side="right")
        return np.sort(order[n_left:])

    def changed(self, parts: Floats, samples: NDArray[np.intp]) -> tuple[Self, NDArray[np.int64]]:
        """Return the weights with some samples' brought up to date, and by how many units these change."""
        units = np.rint(parts[:, samples] / self.unit[:, None] - self.held[:, samples])
        held = self.held.copy()
        held[:, samples] += units
        off = parts - held * self.unit[:, None]
        rounding = ROUNDING * parts.sum(axis=1)
        above = np.maximum(-off, 0).sum(axis=1) + rounding
        below = np.maximum(off, 0).sum(axis=1) + self.lost * self.unit + rounding
        changes = (units[0].astype(np.int64) << 32) + units[1].astype(np.int64)
        return replace(self, held=held, above=above, below=below), changes


def _masses(parts: Floats) -> Floats:
    """Return the sums of both classes' weights, neither of them so small that it cannot be divided by."""
    masses = parts.sum(axis=1)
    light: Floats = np.maximum(masses, max(LIGHT_CLASS * masses.sum(), 1e-200))
    return light


def _nearest_unit(held: Floats, unit: float, part: Floats) -> float:
    """Return the unit in which held weights are nearest to others, in the sum of differences: a weighted median."""
    inside = np.flatnonzero((held > 0) & (part > 0))
    if len(inside) == 0:
        return unit
    ratio = part[inside] / held[inside]
    order = np.argsort(ratio, kind="stable")
    mass = np.cumsum(held[inside][order])
    return float(ratio[order[np.searchsorted(mass, mass[-1] / 2)]])


_Changes = tuple[NDArray[np.uint32], NDArray[np.int64], int]
"""Samples, changes, bits to take off before: what `histogram.add_changes` takes."""


def _brought_up_to_date(kept: _Weights | None, parts: Floats, tolerance: float) -> tuple[_Weights, _Changes]:
    """Return weights near a round's, and the changes that make them of the kept ones, or of nothing."""
    choices = []
    if kept is not None and (rescaled := kept.rescaled(parts, tolerance)) is not None:
        choices.append((rescaled, rescaled[0].out_of_date(parts, tolerance)))
    if not choices or len(choices[0][1]) > FEW_CHANGES * parts.shape[1]:
        nothing = _Weights.none(parts)
        choices.append(((nothing, histogram.CLEAR), nothing.out_of_date(parts, tolerance)))
    (base, shift), samples = min(choices, key=lambda choice: len(choice[1]))
    weights, changes = base.changed(parts, samples)
    return weights, (samples.astype(np.uint32), changes, shift)
