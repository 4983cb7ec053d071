"""The weights that histograms stand for, and what brings them near a round's."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.state import Floats
from vjcascade.kernels import histogram
from vjcascade.kernels.haar import N_BINS

START_BITS, MAX_BITS = 28, 30
"""The weights of a class sum to so many bits of units at first, and at most."""

FEW_CHANGES = 0.1
"""Share of the samples; where fewer change, to add up all anew would not be less work."""

MAX_SHIFT = 16
"""Where more bits would have to go, histograms are made anew."""

LIGHT_CLASS = 1e-9
"""A class that weighs less than this share of all is taken to weigh so much."""

ROUNDING = 1e-8
"""What the rounding of sums may come to, as a share of them."""


@dataclass(frozen=True, eq=False)
class QuantizedWeights:
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
        By how much, at most, a sum over some bins exceeds the true weights, and falls short of them, be it added up
        or what the others leave of all.
    """

    held: Floats
    unit: Floats
    lost: float
    above: Floats
    below: Floats

    @classmethod
    def none(cls, parts: Floats) -> Self:
        """Return no weights, in a unit that fits the weights to come."""
        return cls(np.zeros_like(parts), _weight_sums(parts) / 2**START_BITS, 0.0, np.zeros(2), np.zeros(2))

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
        if (lost * unit > tolerance * _weight_sums(parts)).any():
            return None
        return replace(self, held=self.held / 2**shift, unit=unit, lost=lost), shift

    def out_of_date(self, parts: Floats, tolerance: float) -> NDArray[np.intp]:
        """Return the samples to change, so that the others are off by a tolerable share of the weights."""
        off = (np.abs(parts - self.held * self.unit[:, None]) / _weight_sums(parts)[:, None]).sum(axis=0)
        order = np.argsort(off, kind="stable")
        n_left = np.searchsorted(np.cumsum(off[order]), 2 * tolerance, side="right")
        return np.sort(order[n_left:])

    def changed(self, parts: Floats, samples: NDArray[np.intp]) -> tuple[Self, Changes]:
        """Return the weights with some samples' updated, and by how many units these change."""
        units = np.rint(parts[:, samples] / self.unit[:, None] - self.held[:, samples])
        held = self.held.copy()
        held[:, samples] += units
        off = parts - held * self.unit[:, None]
        slack = self.lost * self.unit + ROUNDING * parts.sum(axis=1)
        above = np.maximum(-off, 0).sum(axis=1) + slack
        below = np.maximum(off, 0).sum(axis=1) + slack
        part, place = np.nonzero(units)
        changes = Changes(
            samples[place].astype(np.uint32),
            (part * histogram.PART).astype(np.uint32),
            units[part, place].astype(np.int32),
        )
        return replace(self, held=held, above=above, below=below), changes


def _weight_sums(parts: Floats) -> Floats:
    """Return the sums of both classes' weights, neither of them so small that it cannot be divided by."""
    weight_sums = parts.sum(axis=1)
    light: Floats = np.maximum(weight_sums, max(LIGHT_CLASS * weight_sums.sum(), 1e-200))
    return light


def _nearest_unit(held: Floats, unit: float, part: Floats) -> float:
    """Return the unit in which held weights are nearest to others, in the sum of differences: a weighted median."""
    inside = np.flatnonzero((held > 0) & (part > 0))
    if len(inside) == 0:
        return unit
    ratio = part[inside] / held[inside]
    order = np.argsort(ratio, kind="stable")
    below = np.cumsum(held[inside][order])
    return float(ratio[order[np.searchsorted(below, below[-1] / 2)]])


class Changes(NamedTuple):
    """Samples, in which part of a histogram the weight of each changes, and by how many units."""

    samples: NDArray[np.uint32]
    parts: NDArray[np.uint32]
    units: NDArray[np.int32]


def update_weights(
    kept: QuantizedWeights | None, parts: Floats, tolerance: float
) -> tuple[QuantizedWeights, Changes, int]:
    """Find weights near a round's.

    Parameters
    ----------
    kept : QuantizedWeights or None
        What histograms stand for now.
    parts : ndarray of shape (2, n_samples), dtype float64
        The round's weights of each sample as a positive and as a negative.
    tolerance : float
        Share of a class's weight that may be out of date.

    Returns
    -------
    weights : QuantizedWeights
        What histograms stand for afterwards.
    changes : Changes
        What makes them of the kept ones, or of nothing.
    shift : int
        Bits to take off before, or `vjcascade.kernels.histogram.CLEAR`.
    """
    choices = []
    if kept is not None and (rescaled := kept.rescaled(parts, tolerance)) is not None:
        choices.append((rescaled, rescaled[0].out_of_date(parts, tolerance)))
    if not choices or len(choices[0][1]) > FEW_CHANGES * parts.shape[1]:
        nothing = QuantizedWeights.none(parts)
        choices.append(((nothing, histogram.CLEAR), nothing.out_of_date(parts, tolerance)))
    (base, shift), samples = min(choices, key=lambda choice: len(choice[1]))
    return *base.changed(parts, samples), shift
