"""The search for a round's stump: over bins for the whole pool, then exactly for the few best features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Booster, Round
from vjcascade.boosters.sieve import Sieve
from vjcascade.boosters.state import Floats
from vjcascade.kernels.haar import N_BINS
from vjcascade.kernels.stump import hull_of_cuts, least_gini, least_on_line, weights_below
from vjcascade.parallel import blocks, run_all
from vjcascade.training.histograms import Histograms
from vjcascade.training.samples import Samples

N_EXACT = 8
"""Features with the least binned loss whose thresholds are then set on the real values."""

N_GUIDED = 512
"""Features for which a loss without bounds is computed, over bins: the best by the sieve's guide."""

N_LIKELY = 128
"""Features whose losses set the bar that bounds are held against: so many by either of two signs."""

BATCH = 512
"""Features that are not held off: their losses are computed in batches, lest the first of them hold off the rest."""

SLACK = 1e-9
"""Bounds of losses may be so much off by rounding."""

N_FIRST_LOOK = 64
"""Features, evenly spaced in the pool, that each round's guess at the winner looks at, beside the last best."""

MEASURED_PER_TASK = 32
"""Features whose exact values one task computes."""


@dataclass(frozen=True)
class Stump:
    """A weak classifier that a search proposes.

    Attributes
    ----------
    feature : int
        Index in the pool.
    threshold : float32 or float64
        A sample goes left if its value is below it.
    sides : tuple of int
        Outputs in {-1, +1} on the left and on the right; equal for a constant classifier.
    error_p, error_n : float
        Weight of the positives called negative, and of the negatives called positive.
    """

    feature: int
    threshold: np.floating
    sides: tuple[int, int]
    error_p: float
    error_n: float


class StumpSearch:
    """The search for the best stumps over all features of some samples.

    One pass over the pool finds bounds of every feature's value, from `Histograms` that are nearly up to date: of
    the weighted error for boosters that choose by it, of what the booster's `Sieve` asks for with the others. The
    few features that these bounds do not hold off are then measured exactly, over bins, and the `N_EXACT` best of
    them on their real values. What is found is what a full scan would find.

    Parameters
    ----------
    samples : Samples
        Labels, bins and values.
    n_threads : int
        Threads; results do not depend on it.
    """

    def __init__(self, samples: Samples, n_threads: int = 1) -> None:
        self.samples = samples
        self.labels = samples.labels
        self._n_threads = n_threads
        self._histograms = Histograms(samples.bins, n_threads)
        n_features = len(samples.bins)
        evenly = np.linspace(0, n_features - 1, min(n_features, N_FIRST_LOOK)).astype(np.intp)
        self._first_look = np.unique(evenly)
        self._probes = self._first_look

    def candidates(self, now: Round, booster: Booster) -> list[Stump]:
        """Return a round's best stumps, in the order of their features, then the two constant ones.

        Each of the `N_EXACT` features with the least binned loss comes with the threshold and polarity that
        are best on its real values.
        """
        find = self._least_errors if booster.loss_is_linear else self._least_losses
        features = find(now, booster)
        stumps: list[Stump] = []
        for feature, values in zip(features, self.samples.values(features), strict=True):
            stumps.extend(self._best_stump(int(feature), values, now, booster))
        zero = self.samples.values(features[:1]).dtype.type(0)
        constant = Stump(0, zero, (1, 1), 0.0, now.negative_mass)
        return [*stumps, constant, Stump(0, zero, (-1, -1), now.positive_mass, 0.0)]

    def values(self, feature: int) -> NDArray[np.floating]:
        """Return a feature's values on the training samples."""
        values: NDArray[np.floating] = self.samples.values(np.array([feature]))[0]
        return values

    def _least_errors(self, now: Round, booster: Booster) -> NDArray[np.intp]:
        """Return the features of least weighted error."""
        return self._guided(booster.sieve(0.0, 0.0, now), now, N_EXACT)

    def _least_losses(self, now: Round, booster: Booster) -> NDArray[np.intp]:
        """Return the features of least loss, as far as the booster's sieve can tell."""
        losses, errors_p, errors_n = self._binned_losses(self._probes, now, booster)
        best = int(np.argmin(losses))
        sieve = booster.sieve(errors_p[best], errors_n[best], now)
        if sieve.is_loss:
            return self._guided(sieve, now, N_EXACT)
        if sieve.upper is None or sieve.lower is None:
            among = self._guided(sieve, now, N_GUIDED)
            losses, _, _ = self._binned_losses(among, now, booster)
        else:
            among, losses = self._not_held_off(sieve.upper, sieve.lower, sieve.lines, now, booster)
        self._probes = np.union1d(self._first_look, among[_least(losses, N_FIRST_LOOK)])
        return among[_least(losses, N_EXACT)]

    def _guided(self, sieve: Sieve, now: Round, n: int) -> NDArray[np.intp]:
        """Return the `n` features that are best by a sieve's one line, or by the impurity with its factors."""
        line = sieve.lines[0]
        if sieve.by_impurity:
            bounds = self._histograms.gini(line, now).lowest
        else:
            bounds = self._histograms.on_lines(line[None], now).lowest[0]
        exactly = partial(self._ginis if sieve.by_impurity else self._errors, line, now)
        likely = _least(bounds, max(n, N_LIKELY))
        among, values = self._settled(bounds, likely, exactly(likely), n, exactly)
        if not now.is_part:
            self._histograms.balance(len(among) - len(likely))
        return among[_least(values, n)]

    def _not_held_off(
        self,
        upper: Callable[[Floats], Floats],
        lower: Callable[[Floats, float], Floats],
        lines: Floats,
        now: Round,
        booster: Booster,
    ) -> tuple[NDArray[np.intp], Floats]:
        """Return features, and their losses, among which the best are."""
        measured = self._histograms.on_lines(lines, now)
        best_upper = _least(upper(measured.highest), N_LIKELY)
        likely = np.union1d(best_upper, _least(measured.lowest.sum(axis=0), N_LIKELY))
        losses, _, _ = self._binned_losses(likely, now, booster)
        bounds = lower(measured.lowest, _nth_least(losses, N_EXACT)) - SLACK
        among, losses = self._settled(
            bounds, likely, losses, N_EXACT, lambda some: self._binned_losses(some, now, booster)[0]
        )
        if not now.is_part:
            self._histograms.balance(len(among) - len(likely))
        return among, losses

    def _settled(
        self,
        bounds: Floats,
        among: NDArray[np.intp],
        values: Floats,
        n: int,
        exactly: Callable[[NDArray[np.intp]], Floats],
    ) -> tuple[NDArray[np.intp], Floats]:
        """Return features, rising, and their exact values: those given, and all that bounds do not hold off.

        The `n` least of all are among them.
        """
        held_off = bounds > _nth_least(values, n)
        held_off[among] = True
        waiting = np.flatnonzero(~held_off)
        waiting = waiting[np.argsort(bounds[waiting], kind="stable")]
        while len(waiting) and bounds[waiting[0]] <= (bar := _nth_least(values, n)):
            batch = waiting[:BATCH][bounds[waiting[:BATCH]] <= bar]
            waiting = waiting[len(batch) :]
            among, values = np.append(among, batch), np.append(values, exactly(batch))
        order = np.argsort(among)
        return among[order], values[order]

    def _errors(self, line: Floats, now: Round, features: NDArray[np.intp]) -> Floats:
        """Return the least values of a line, over bins."""
        weighted_p, weighted_n = line[0] * now.positive_part, line[1] * now.negative_part
        signed, mass_p, mass_n = weighted_p - weighted_n, float(weighted_p.sum()), float(weighted_n.sum())
        errors = np.empty(len(features))
        self._measure(features, lambda bins, part: least_on_line(bins, signed, mass_p, mass_n, errors[part]))
        return errors

    def _ginis(self, factors: Floats, now: Round, features: NDArray[np.intp]) -> Floats:
        """Return the least Gini impurities, over bins."""
        parts = factors[0] * now.positive_part, factors[1] * now.negative_part
        losses = np.empty(len(features))
        self._measure(features, lambda bins, part: least_gini(bins, *parts, losses[part]))
        return losses

    def _measure(
        self, features: NDArray[np.intp], measure: Callable[[NDArray[np.uint8], slice], None]
    ) -> None:
        """Call a kernel for every part of some features: with their bins, and where these are."""
        bins = self.samples.bins
        parts = blocks(len(features), MEASURED_PER_TASK)
        run_all(lambda part: measure(bins[features[part]], part), parts, self._n_threads)

    def _binned_losses(
        self, features: NDArray[np.intp], now: Round, booster: Booster
    ) -> tuple[Floats, Floats, Floats]:
        """Return each feature's least loss over its bins, and the class-wise errors there."""
        points = [self._points(feature, now) for feature in features]
        counts = np.array([errors.shape[1] for errors in points])
        errors_p, errors_n = np.concatenate(points, axis=1)
        losses = booster.loss(errors_p, errors_n, now)
        starts = np.cumsum(counts) - counts
        least = np.minimum.reduceat(losses, starts)
        owner = np.repeat(np.arange(len(features)), counts)
        hits = np.flatnonzero(losses == least[owner])
        first = hits[np.searchsorted(owner[hits], np.arange(len(features)))]
        return least, errors_p[first], errors_n[first]

    def _points(self, feature: np.intp, now: Round) -> Floats:
        """Return the class-wise errors of a feature's cuts between bins that may be best, shape (2, n), n >= 1."""
        cuts, errors = _hull(_weights_below(self.samples.bins[feature], now))
        inside = (cuts // 2 > 0) & (cuts // 2 < N_BINS)
        return errors[:, inside] if inside.any() else np.array([[now.positive_mass], [now.negative_mass]])

    def _best_stump(
        self, feature: int, values: NDArray[np.floating], now: Round, booster: Booster
    ) -> Iterator[Stump]:
        """Yield the feature's best stump over all cuts between its real values; none if they are all equal."""
        order = np.argsort(values, kind="stable")
        ranked = values[order]
        ends = np.flatnonzero(np.append(ranked[:-1] < ranked[1:], True))
        if len(ends) == 1:
            return
        below = np.zeros((2, len(ends)))
        for row, part in zip(below, (now.positive_part, now.negative_part), strict=True):
            row[:] = np.cumsum(part[order])[ends]
        if booster.loss_is_linear:
            cuts, errors = _all_cuts(below)
        else:
            cuts, errors = _hull(below)
        inside = cuts // 2 < len(ends) - 1
        if not inside.any():  # the constant classifiers do better
            return
        errors_p, errors_n = errors[:, inside]
        cut, turned = divmod(int(cuts[inside][booster.choose(errors_p, errors_n, now)]), 2)
        threshold = _between(ranked[ends[cut]], ranked[ends[cut] + 1])
        sides = (1, -1) if turned else (-1, 1)
        called = np.where(values < threshold, *sides)
        error_p = float(now.positive_part[called < 0].sum())
        yield Stump(feature, threshold, sides, error_p, float(now.negative_part[called > 0].sum()))


def _weights_below(row: NDArray[np.uint8], now: Round) -> NDArray[np.float64]:
    below = np.empty((2, N_BINS + 1))
    weights_below(row, now.positive_part, now.negative_part, below)
    return below


def _all_cuts(below: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return all cuts in both polarities, numbered as in `hull_of_cuts`, and their class-wise errors."""
    above = np.maximum(below[:, -1:] - below, 0.0)
    errors = np.stack([[below[0], above[0]], [above[1], below[1]]]).transpose(0, 2, 1).reshape(2, -1)
    return np.arange(errors.shape[1]), errors


def _hull(below: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the cuts on the lower left hull of each polarity, and their class-wise errors."""
    n_points = 2 * below.shape[1]
    cuts, errors = np.empty(n_points, np.int64), np.empty((2, n_points))
    n = hull_of_cuts(below, cuts, errors)
    return cuts[:n], np.maximum(errors[:, :n], 0.0)


def _least(values: NDArray[np.float64], n: int) -> NDArray[np.intp]:
    """Return where the `n` least values are, in rising order of the indices; of equal ones, the first."""
    within = np.flatnonzero(values <= _nth_least(values, n))
    best: NDArray[np.intp] = np.sort(within[np.argsort(values[within], kind="stable")][:n])
    return best


def _nth_least(values: NDArray[np.float64], n: int) -> float:
    n = min(n, len(values))
    return float(np.partition(values, n - 1)[n - 1])


def _between(low: np.floating, high: np.floating) -> np.floating:
    """Return a threshold with `low < threshold <= high`, halfway if their dtype has one there."""
    middle = low.dtype.type((np.longdouble(low) + np.longdouble(high)) / 2)
    return middle if middle > low else high
