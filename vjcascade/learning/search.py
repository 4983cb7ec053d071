"""The search for a round's stump: over bins for the whole pool, then exactly for the few best features."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Booster, Round
from vjcascade.boosters.bounds import LossBounds
from vjcascade.boosters.state import Floats
from vjcascade.buffers import ReusableBuffer, release_pages
from vjcascade.learning.histograms import Histograms
from vjcascade.learning.samples import Samples
from vjcascade.learning.weak_splits import Stump
from vjcascade.parallel import blocks, ordered_map, run_all

N_EXACT = 8
"""Features with the least binned loss whose thresholds are then set on the real values."""

N_GUIDED = 512
"""Features for which a loss without bounds is computed, over bins: the best by the sieve's guide."""

N_LIKELY = 128
"""Features whose losses set the bar that bounds are held against: so many by either of two signs."""

FEW_OPEN = 128
"""So few features are measured exactly at once: to make their bounds closer would not be less work."""

BATCH = 512
"""Features that are not held off: their losses are computed in batches, lest the first of them hold off the rest."""

SLACK = 1e-9
"""Bounds of losses may be so much off by rounding."""

N_FIRST_LOOK = 64
"""Features, evenly spaced in the pool, that each round's guess at the winner looks at, beside the last best."""

SHARE_FOR_SECOND_LOOK = 0.1
"""More features left open than this share of the pool are not measured before another look, with less out of date."""

MOST_LOOKS = 4
"""Bounds that still leave so many features open then will not get much closer."""

MEASURED_PER_TASK = 32
"""Features whose exact values one task computes."""


class _Look(NamedTuple):
    """Lower bounds of all features' values, and the likely best features with their exact values.

    `closer` makes the bounds of some features closer, as far as it can.
    """

    bounds: Floats
    likely: NDArray[np.intp]
    values: Floats
    closer: Callable[[NDArray[np.intp]], Floats | None]


class Search(Protocol):
    """What boosting needs to know of a search for stumps.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), dtype int8
        +1 or -1 for each training sample.
    """

    labels: NDArray[np.int8]

    def candidates(self, round_: Round, booster: Booster) -> list[Stump]:
        """Return stumps among which a round's best is, in the order of their features, then the two constant ones."""

    def values(self, feature: int) -> NDArray[np.generic]:
        """Return a feature's values on the training samples."""


class StumpSearch:
    """The search for the best stumps over all features of some samples.

    One pass over the pool finds bounds of every feature's value, from `Histograms` that are nearly up to date: of
    the weighted error for boosters that choose by it, of what the booster's `LossBounds` asks for with the others. The
    few features that these bounds do not hold off are then measured exactly, over bins, and the `N_EXACT` best of
    them on their real values. What is found is what a full scan would find.

    Parameters
    ----------
    samples : Samples
        Labels, bins and values.
    n_threads : int
        Threads; results do not depend on it.
    space : ReusableBuffer, optional
        Where histograms are kept, if not in memory of their own.
    """

    def __init__(self, samples: Samples, n_threads: int = 1, space: ReusableBuffer | None = None) -> None:
        self.samples = samples
        self.labels = samples.labels
        self._splits = samples.splits
        self._n_threads = n_threads
        self._histograms = Histograms(samples.bins, n_threads, samples.splits, space)
        n_features = len(samples.bins)
        evenly = np.linspace(0, n_features - 1, min(n_features, N_FIRST_LOOK)).astype(np.intp)
        self._first_look = np.unique(evenly)
        self._probes = self._first_look

    def candidates(self, round_: Round, booster: Booster) -> list[Stump]:
        """Return a round's best stumps, in the order of their features, then the two constant ones.

        Each of the `N_EXACT` features with the least binned loss comes with the threshold and polarity that
        are best on its real values.
        """
        find = self._least_errors if booster.loss_is_linear else self._least_losses
        features = find(round_, booster)
        release_pages(self.samples.bins.tiles)
        values = self.samples.values(features)
        best = ordered_map(
            lambda found: self._splits.best(*found, round_, booster),
            zip(features.tolist(), values, strict=True),
            self._n_threads,
        )
        constant = (self._splits.constant(side, round_) for side in (1, -1))
        return [*(stump for stump in best if stump is not None), *constant]

    def values(self, feature: int) -> NDArray[np.generic]:
        """Return a feature's values on the training samples."""
        values: NDArray[np.generic] = self.samples.values(np.array([feature]))[0]
        return values

    def _least_errors(self, round_: Round, booster: Booster) -> NDArray[np.intp]:
        """Return the features of least weighted error."""
        return self._guided(booster.loss_bounds(0.0, 0.0, round_), round_, N_EXACT)

    def _least_losses(self, round_: Round, booster: Booster) -> NDArray[np.intp]:
        """Return the features of least loss, as far as the booster's sieve can tell."""
        losses, errors_p, errors_n = self._binned_losses(self._probes, round_, booster)
        best = int(np.argmin(losses))
        loss_bounds = booster.loss_bounds(errors_p[best], errors_n[best], round_)
        if loss_bounds.is_loss:
            return self._guided(loss_bounds, round_, N_EXACT)
        if loss_bounds.upper is None or loss_bounds.lower is None:
            among = self._guided(loss_bounds, round_, N_GUIDED)
            losses, _, _ = self._binned_losses(among, round_, booster)
        else:
            among, losses = self._not_held_off(
                loss_bounds.upper, loss_bounds.lower, loss_bounds.lines, round_, booster
            )
        self._probes = np.union1d(self._first_look, among[_least(losses, N_FIRST_LOOK)])
        return among[_least(losses, N_EXACT)]

    def _guided(self, loss_bounds: LossBounds, round_: Round, n: int) -> NDArray[np.intp]:
        """Return the `n` features that are best by a sieve's one line, or by the impurity with its factors."""
        line = loss_bounds.lines[0]
        exactly = partial(self._ginis if loss_bounds.by_impurity else self._errors, line, round_)

        def closer(features: NDArray[np.intp]) -> Floats | None:
            again = self._histograms.closer(features)
            return None if again is None else again.lowest.reshape(-1)

        def look() -> _Look:
            measured = (
                self._histograms.gini(line, round_)
                if loss_bounds.by_impurity
                else self._histograms.on_lines(line[None], round_)
            )
            bounds = measured.lowest.reshape(-1)
            likely = _least(bounds, max(n, N_LIKELY))
            return _Look(bounds, likely, exactly(likely), closer)

        ceiling = min(line[0] * round_.positive_weight, line[1] * round_.negative_weight)
        among, values = self._settled(
            look, exactly, n, round_, np.inf if loss_bounds.by_impurity else ceiling
        )
        return among[_least(values, n)]

    def _not_held_off(
        self,
        upper: Callable[[Floats], Floats],
        lower: Callable[[Floats, float], Floats],
        lines: Floats,
        round_: Round,
        booster: Booster,
    ) -> tuple[NDArray[np.intp], Floats]:
        """Return features, and their losses, among which the best are."""

        def exactly(features: NDArray[np.intp]) -> Floats:
            return self._binned_losses(features, round_, booster)[0]

        def look() -> _Look:
            measured = self._histograms.on_lines(lines, round_)
            best_upper = _least(upper(measured.highest), N_LIKELY)
            likely = np.union1d(best_upper, _least(measured.lowest.sum(axis=0), N_LIKELY))
            losses = exactly(likely)
            threshold = _nth_least(losses, N_EXACT)

            def closer(features: NDArray[np.intp]) -> Floats | None:
                again = self._histograms.closer(features)
                return None if again is None else lower(again.lowest, threshold) - SLACK

            return _Look(lower(measured.lowest, threshold) - SLACK, likely, losses, closer)

        constants = np.array([0.0, round_.positive_weight]), np.array([round_.negative_weight, 0.0])
        return self._settled(
            look, exactly, N_EXACT, round_, float(booster.loss(constants[0], constants[1], round_).min())
        )

    def _settled(
        self,
        look: Callable[[], _Look],
        exactly: Callable[[NDArray[np.intp]], Floats],
        n: int,
        round_: Round,
        ceiling: float,
    ) -> tuple[NDArray[np.intp], Floats]:
        """Return features, rising, and their exact values: the likely ones, and all that bounds do not hold off.

        Of those whose value is below the ceiling, that of the better constant classifier, the `n` least are among them.
        Where bounds are so loose that too many are left, another look is cheaper; where several are left, their bounds
        are made closer before they are measured.
        """
        ceiling -= 2 * SLACK
        bounds, among, values, closer = look()
        enough, n_looks = SHARE_FOR_SECOND_LOOK * len(bounds), 1
        while (
            n_looks < MOST_LOOKS
            and np.count_nonzero(bounds <= min(_nth_least(values, n), ceiling)) > enough
            and self._histograms.tighten()
        ):
            bounds, among, values, closer = look()
            n_looks += 1
        held_off = bounds > min(_nth_least(values, n), ceiling)
        held_off[among] = True
        waiting = np.flatnonzero(~held_off)
        n_open = len(waiting)
        if n_open > FEW_OPEN and (again := closer(waiting)) is not None:
            bounds[waiting] = np.maximum(bounds[waiting], again)
        waiting = waiting[np.argsort(bounds[waiting], kind="stable")]
        while len(waiting) and bounds[waiting[0]] <= (threshold := min(_nth_least(values, n), ceiling)):
            batch = waiting[:BATCH][bounds[waiting[:BATCH]] <= threshold]
            waiting = waiting[len(batch) :]
            among, values = np.append(among, batch), np.append(values, exactly(batch))
        if not round_.is_part:
            self._histograms.balance(n_open)
        order = np.argsort(among)
        return among[order], values[order]

    def _errors(self, line: Floats, round_: Round, features: NDArray[np.intp]) -> Floats:
        """Return the least values of a line, over bins."""
        parts = line[0] * round_.positive_part, line[1] * round_.negative_part
        exactly = self._splits.exact_least_error
        errors = np.empty(len(features))
        self._measure(features, lambda bins, part: exactly(bins, *parts, errors[part]))
        return errors

    def _ginis(self, factors: Floats, round_: Round, features: NDArray[np.intp]) -> Floats:
        """Return the least Gini impurities, over bins."""
        parts = factors[0] * round_.positive_part, factors[1] * round_.negative_part
        exactly = self._splits.exact_least_gini
        losses = np.empty(len(features))
        self._measure(features, lambda bins, part: exactly(bins, *parts, losses[part]))
        return losses

    def _measure(
        self, features: NDArray[np.intp], measure: Callable[[NDArray[np.uint8], slice], None]
    ) -> None:
        """Call a kernel for every part of some features: with their bins, and where these are."""
        bins = self.samples.bins
        parts = blocks(len(features), MEASURED_PER_TASK)
        run_all(lambda part: measure(bins.rows(features[part]), part), parts, self._n_threads)

    def _binned_losses(
        self, features: NDArray[np.intp], round_: Round, booster: Booster
    ) -> tuple[Floats, Floats, Floats]:
        """Return each feature's least loss over its bins, and the class-wise errors there."""
        bins, tasks = self.samples.bins, blocks(len(features), MEASURED_PER_TASK)
        points = list(
            ordered_map(
                lambda part: self._splits.points(bins.rows(features[part]), round_), tasks, self._n_threads
            )
        )
        counts = np.concatenate([some for some, _ in points])
        errors_p, errors_n = np.concatenate([errors for _, errors in points], axis=1)
        losses = booster.loss(errors_p, errors_n, round_)
        starts = np.cumsum(counts) - counts
        least = np.minimum.reduceat(losses, starts)
        owner = np.repeat(np.arange(len(features)), counts)
        hits = np.flatnonzero(losses == least[owner])
        first = hits[np.searchsorted(owner[hits], np.arange(len(features)))]
        return least, errors_p[first], errors_n[first]


def _least(values: NDArray[np.float64], n: int) -> NDArray[np.intp]:
    """Return where the `n` least values are, in rising order of the indices; of equal ones, the first."""
    within = np.flatnonzero(values <= _nth_least(values, n))
    best: NDArray[np.intp] = np.sort(within[np.argsort(values[within], kind="stable")][:n])
    return best


def _nth_least(values: NDArray[np.float64], n: int) -> float:
    n = min(n, len(values))
    return float(np.partition(values, n - 1)[n - 1])
