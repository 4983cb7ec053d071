"""The quantized weights of histograms, and their updates towards a round's weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.state import Floats
from vjcascade.kernels import histogram, outdated
from vjcascade.kernels.haar import N_BINS

START_BITS, MAX_BITS = 28, 30
"""Bits of the total weight of a class in units: at first, and at most."""

FEW_CHANGES = 0.1
"""Share of the samples up to which updating is never more work than computing histograms anew."""

MAX_SHIFT = 16
"""If more bits would have to be shifted out, histograms are computed anew."""

LIGHT_CLASS = 1e-9
"""Smallest weight of a class, relative to all weight, that is assumed."""

MEDIAN_SAMPLES = 8192
"""Samples from which the unit closest to all weights is estimated."""

ROUNDING = 1e-8
"""Bound of the relative rounding errors of sums."""


@dataclass(frozen=True, eq=False)
class QuantizedWeights:
    """The weights that histograms were computed from.

    Attributes
    ----------
    held : ndarray of shape (2, n_samples), dtype float64
        Weight of each sample as a positive and as a negative, in units.
    unit : ndarray of shape (2,), dtype float64
        Weight of a unit of either.
    lost : float
        Units that a sum over bins may lack, since bits were shifted out.
    above, below : ndarray of shape (2,), dtype float64
        Bounds of the amounts by which a sum over some bins, or the rest of the total, exceeds the true weight, and
        falls short of it.
    """

    held: Floats
    unit: Floats
    lost: float
    above: Floats
    below: Floats

    @classmethod
    def none(cls, parts: Floats) -> Self:
        """Return zero weights, in units that fit the weights `parts`."""
        return cls(np.zeros_like(parts), _weight_sums(parts) / 2**START_BITS, 0.0, np.zeros(2), np.zeros(2))

    def rescaled(self, parts: Floats, tolerance: float) -> tuple[Self, int] | None:
        """Return the weights in the units that bring them closest to `parts`, and the bits that were shifted out.

        None if too many bits would have to be shifted out, or if the losses exceed the tolerance: both classes lose
        bits when one grows, and do not get them back.
        """
        unit = np.array([_nearest_unit(*one) for one in zip(self.held, self.unit, parts, strict=True)])
        most = (parts.sum(axis=1) / unit).max()
        if most > 2.0 ** (START_BITS + MAX_SHIFT):
            return None
        shift = math.ceil(math.log2(most)) - START_BITS if most > 2**MAX_BITS else 0
        lost = self.lost / 2**shift + (N_BINS if shift else 0)
        unit *= 2**shift
        if (lost * unit > tolerance * _weight_sums(parts)).any():
            return None
        return replace(self, held=self.held / 2**shift, unit=unit, lost=lost), shift

    def out_of_date(self, parts: Floats, tolerance: float) -> NDArray[np.intp]:
        """Return the samples to update, ascending, so that the differences of the others are within the tolerance."""
        off = np.empty(parts.shape[1])
        keys, sums = off.view(np.uint64), np.zeros(outdated.N_KEYS)
        outdated.add_up_by_size(parts, self.held, self.unit, _weight_sums(parts), off, keys, sums)
        below = np.cumsum(sums)
        key = int(np.searchsorted(below, 2 * tolerance, side="right"))
        if key == outdated.N_KEYS:
            return np.empty(0, np.intp)
        samples = np.empty(len(off), np.intp)
        left = 2 * tolerance - (below[key] - sums[key])
        return samples[: outdated.select_largest(off, keys, key, left, samples)]

    def changed(self, parts: Floats, samples: NDArray[np.intp]) -> tuple[Self, Changes]:
        """Return the weights with some samples updated, and the changes in units."""
        units = np.rint(parts[:, samples] / self.unit[:, None] - self.held[:, samples])
        held = self.held.copy()
        held[:, samples] += units
        above, below = np.empty(2), np.empty(2)
        outdated.add_up_errors(parts, held, self.unit, above, below)
        slack = self.lost * self.unit + ROUNDING * parts.sum(axis=1)
        part, place = np.nonzero(units)
        changes = Changes(
            samples[place].astype(np.uint32),
            (part * histogram.PART).astype(np.uint32),
            units[part, place].astype(np.int32),
        )
        return replace(self, held=held, above=above + slack, below=below + slack), changes


def _weight_sums(parts: Floats) -> Floats:
    """Return the sums of both classes' weights, bounded from below for divisions."""
    weight_sums = parts.sum(axis=1)
    light: Floats = np.maximum(weight_sums, max(LIGHT_CLASS * weight_sums.sum(), 1e-200))
    return light


def _nearest_unit(held: Floats, unit: float, part: Floats) -> float:
    """Return the unit that about minimises the sum of absolute differences to other weights: a weighted median."""
    inside = np.flatnonzero((held > 0) & (part > 0))
    if len(inside) == 0:
        return unit
    inside = inside[:: -(-len(inside) // MEDIAN_SAMPLES)]
    ratio = part[inside] / held[inside]
    order = np.argsort(ratio, kind="stable")
    below = np.cumsum(held[inside][order])
    return float(ratio[order[np.searchsorted(below, below[-1] / 2)]])


class QuantizedDifferences(NamedTuple):
    """Weights of samples as positives minus their weights as negatives, for histograms that are not kept.

    Attributes
    ----------
    samples : ndarray of shape (n,), dtype intp
        Those that count, ascending.
    units : ndarray of shape (n,), dtype int32
        Their weights, in units.
    unit : float
        Weight of a unit.
    error : float
        Bound of the error of any sum over bins.
    """

    samples: NDArray[np.intp]
    units: NDArray[np.int32]
    unit: float
    error: float

    @classmethod
    def of(cls, differences: Floats, all_weight: float, tolerance: float) -> Self:
        """Leave out the samples of least differences, and quantize the others.

        Parameters
        ----------
        differences : ndarray of shape (n_samples,), dtype float64
            Each sample's weight as a positive minus its weight as a negative.
        all_weight : float
            Sum of both classes' weights, which bounds errors of rounding.
        tolerance : float
            Share of the sum of all differences that may be left out.

        Returns
        -------
        QuantizedDifferences
            Of the samples that count.
        """
        sizes = np.abs(differences)
        order = np.argsort(sizes, kind="stable")
        below = np.cumsum(sizes[order])
        samples = np.sort(order[np.searchsorted(below, tolerance * below[-1], side="right") :])
        unit = max(below[-1] / 2**MAX_BITS, 1e-200)
        units = np.rint(differences[samples] / unit)
        off = differences.copy()
        off[samples] -= units * unit
        error = max(np.maximum(off, 0).sum(), np.maximum(-off, 0).sum()) + ROUNDING * all_weight
        return cls(samples, units.astype(np.int32), float(unit), float(error))


class Changes(NamedTuple):
    """Samples whose weights change, the part of the histogram, and the change in units."""

    samples: NDArray[np.uint32]
    parts: NDArray[np.uint32]
    units: NDArray[np.int32]


def update_weights(
    kept: QuantizedWeights | None, parts: Floats, tolerance: float
) -> tuple[QuantizedWeights, Changes, int]:
    """Find quantized weights that are close to a round's.

    Parameters
    ----------
    kept : QuantizedWeights or None
        The current weights of the histograms.
    parts : ndarray of shape (2, n_samples), dtype float64
        The round's weights of each sample as a positive and as a negative.
    tolerance : float
        Share of a class's weight that may be out of date.

    Returns
    -------
    weights : QuantizedWeights
        The new weights of the histograms.
    changes : Changes
        The changes from the kept weights, or from zero.
    shift : int
        Bits to shift out first, or `vjcascade.kernels.histogram.CLEAR`.
    """
    choices = []
    if kept is not None and (rescaled := kept.rescaled(parts, tolerance)) is not None:
        choices.append((rescaled, rescaled[0].out_of_date(parts, tolerance)))
    if not choices or len(choices[0][1]) > FEW_CHANGES * parts.shape[1]:
        nothing = QuantizedWeights.none(parts)
        choices.append(((nothing, histogram.CLEAR), nothing.out_of_date(parts, tolerance)))
    (base, shift), samples = min(choices, key=lambda choice: len(choice[1]))
    return *base.changed(parts, samples), shift
