"""The search for a round's best stump: branch and bound over stale histograms.

The problem
    A round gives each sample a weight. For every feature of a pool of 10^4 to 10^6 the search wants the split, by a
    threshold or by a subset of codes, whose loss is least, and of all features the best. A stump's loss depends on two
    sums only: the weight of the positives that it calls negative and of the negatives that it calls positive. Values
    are sorted into 256 bins once, so a feature's best split over bins is known from two histograms: the weight of
    positives and of negatives in each bin. A full scan adds these up anew each round, at the cost of a read of every
    bin of every sample for every feature. Nearly all of that is wasted: hardly any feature is near the best.

What is kept from round to round
    Both histograms of every feature (`Histograms`), in whole units, so that what is added can be taken off again
    without a trace, and the weights that they stand for (`QuantizedWeights`). When weights change, boosting multiplies
    those of the samples that it got right by one factor: a change of the class's unit does that for all bins at once.
    Of the other samples, those whose weight differs most from the one held are added and taken off, until what is left
    out of date is a tolerable share of all weight (the tolerance, 1e-6 to 0.1). A pass does so for all features.

Why bounds hold
    Let `above` and `below` be what the held weights of a class exceed the round's by and fall short of them, summed
    over all samples (with what bits that were shifted out may come to). Then any sum over any bins is off by no
    more than that, and so are both errors of any split. A loss that grows with the errors thus lies between its
    values at errors shifted by these amounts, and so does its least over the splits. `vjcascade.learning.criteria` has
    a class for each way to make use of that:

    * the weighted error a errors_p + b errors_n (`WeightedError`) is off by a times and b times as much;
    * the Gini impurity (`GiniImpurity`) rises by at most twice as much as a weight does;
    * another concave loss of the two errors (`TwoErrorLoss`) is bounded from the feature's least weighted errors on
      four lines (a, b). The least of a errors_p + errors_n over a feature's splits is concave in a, as the lower
      envelope of straight lines; so between two of the lines it is no less than the straight line between its values at
      both, and what the loss asks for at any step alpha is such a value (`vjcascade.boosters.bounds`).

Branch and bound
    1. A pass gives each feature a lower bound. The `N_LIKELY` features that look best are measured exactly, over bins,
       with the round's own weights. The n-th least of these values is the threshold, or the value of the better
       constant classifier if that is less: a feature whose lower bound is above it is pruned.
    2. If more than `SHARE_FOR_ANOTHER_PASS` of the pool are left open, the tolerance is reduced and there is
       another pass: to bring all histograms nearer costs less than so many exact values.
    3. If more than `FEW_OPEN` are left open, their bounds are refined: copies of their histograms are brought nearer
       still, by the bins of few samples, where an exact value reads those of all.
    4. The open features are measured exactly, lowest bound first, in batches; every batch may lower the threshold and
       so prune the rest.
    5. How many were left open tells whether the next round's first pass may be looser or should be tighter.

Why the result is that of a full scan
    Only features are left out whose lower bound is above the threshold, and the n best of those measured are at or
    below it; after the last pass, the threshold only falls. Values that decide are computed from the round's own
    weights, never from stale ones. Bounds of rounding are added wherever floats are summed in another order. So the
    features found, and of equal ones the first, are those that a full scan over bins finds; the tolerance, the number
    of threads and the guesses decide how long it takes, and nothing else. The tests compare every round of real runs
    with full scans.

    The `N_EXACT` best features are then split at their real values rather than at bins, and the booster chooses among
    these stumps and the two constant ones.

    Two exceptions. A concave loss without bounds is computed only for the `N_GUIDED` features that are best by a guide
    that ranks nearly as it does, a line that touches it at a good guess or a Gini impurity. And features that over bins
    do no better than the better constant classifier are pruned, though a cut at their real values might.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Booster, GiniGuide, Round, TwoErrorBounds, Vote
from vjcascade.boosters.state import Floats
from vjcascade.buffers import ReusableBuffer, release_pages
from vjcascade.learning.criteria import (
    SLACK,
    BinnedLosses,
    Criterion,
    criterion_of,
    indices_of_smallest,
    nth_smallest,
)
from vjcascade.learning.histograms import Histograms
from vjcascade.learning.samples import Samples, SampleValues
from vjcascade.learning.weak_splits import Stump
from vjcascade.parallel import ordered_map

if TYPE_CHECKING:
    from vjcascade.learning.trees import Tree

N_EXACT = 8
"""Features with the least binned loss whose thresholds are then set on the real values."""

N_GUIDED = 512
"""Features for which a loss without bounds is computed, over bins: the best by the booster's guide."""

N_LIKELY = 128
"""At least so many features are measured exactly in each pass; their values set the threshold for bounds."""

FEW_OPEN = 128
"""So few features are measured exactly at once: to refine their bounds would not be less work."""

BATCH = 512
"""Open features are measured in batches, lest those that the first of them would prune be measured."""

N_PROBES = 64
"""Features, evenly spaced in the pool, among which each round's guess at the winner is sought, beside the last best."""

SHARE_FOR_ANOTHER_PASS = 0.1
"""More features left open than this share of the pool are not measured before another pass, with less out of date."""

MAX_PASSES = 4
"""Bounds that still leave so many features open then will not get much closer."""


class Search(Protocol):
    """What boosting needs to know of a search for stumps.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), dtype int8
        +1 or -1 for each training sample.
    """

    labels: NDArray[np.int8]

    def candidates(self, round_: Round, booster: Booster) -> list[Stump]:
        """Return stumps among which a round's best is, in the order in which ties are decided."""

    def values(self, feature: int) -> NDArray[np.generic]:
        """Return a feature's values on the training samples."""

    def note(self, tree: Tree, vote: Vote) -> None:
        """Hear of a weak classifier that was added, and what it votes."""


class Found(NamedTuple):
    """Features that a search has measured.

    Attributes
    ----------
    features : ndarray of shape (n,), dtype intp
        Their numbers, rising.
    values : ndarray of shape (n,), dtype float64
        Their least loss over bins.
    guides : ndarray of shape (n,), dtype float64, or None
        For a loss without bounds, by what they were chosen; else None.
    """

    features: NDArray[np.intp]
    values: Floats
    guides: Floats | None = None

    def best(self, n: int) -> NDArray[np.intp]:
        """Return the `n` of least loss, or all if they are fewer, rising."""
        return self.features[indices_of_smallest(self.values, n)] if len(self.features) else self.features

    def shortened(self, n: int) -> Found:
        """Return what is left of it for a search of a pool of which this was a part, if the `n` best are asked for."""
        if self.guides is not None or len(self.features) == 0:
            return self
        least = indices_of_smallest(self.values, n)
        return Found(self.features[least], self.values[least])

    @classmethod
    def joined(cls, parts: Sequence[Found]) -> Found:
        """Return what was found in all parts of a pool, in their order."""
        features, values = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        if all(part.guides is None for part in parts):
            return cls(features, values)
        guides = np.concatenate([part.values if part.guides is None else part.guides for part in parts])
        least = indices_of_smallest(guides, N_GUIDED)
        return cls(features[least], values[least], guides[least])


def stumps_of(
    features: NDArray[np.intp], samples: SampleValues, round_: Round, booster: Booster, n_threads: int
) -> list[Stump]:
    """Return the best stumps of some features on their real values, in their order, then the two constant ones.

    Parameters
    ----------
    features : ndarray of shape (n,), dtype intp
        Their numbers.
    samples : SampleValues
        Values.
    round_ : Round
        The round's weights.
    booster : Booster
        Judges stumps.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    list of Stump
        None for features that do no better than the constant ones.
    """
    splits = samples.splits
    values = samples.values(features) if len(features) else np.empty((0, len(samples.labels)))
    best = ordered_map(
        lambda found: splits.best(*found, round_, booster),
        zip(features.tolist(), values, strict=True),
        n_threads,
    )
    constant = (splits.constant(side, round_) for side in (1, -1))
    return [*(stump for stump in best if stump is not None), *constant]


class StumpSearch:
    """The search for the best stumps over all features of some samples, by branch and bound.

    Parameters
    ----------
    samples : Samples
        Labels, bins and values.
    n_threads : int
        Threads; results do not depend on it.
    space : ReusableBuffer, optional
        Where histograms are kept, if not in memory of their own.
    n_in_pool : int, optional
        Features of the whole pool, where this is the search of a part of it.
    """

    def __init__(
        self,
        samples: Samples,
        n_threads: int = 1,
        space: ReusableBuffer | None = None,
        n_in_pool: int | None = None,
    ) -> None:
        self.samples = samples
        self.labels = samples.labels
        self._n_threads = n_threads
        self._histograms = Histograms(samples.bins, n_threads, space)
        n_features = len(samples.bins)
        self._leaves_out = (n_in_pool or n_features) > N_LIKELY
        evenly = np.linspace(0, n_features - 1, min(n_features, N_PROBES)).astype(np.intp)
        self._first_probes = np.unique(evenly)
        self._probes = self._first_probes

    def candidates(self, round_: Round, booster: Booster) -> list[Stump]:
        """Return a round's best stumps, in the order of their features, then the two constant ones.

        Each of the `N_EXACT` features with the least binned loss comes with the threshold and polarity that
        are best on its real values.
        """
        features = self.best_features(round_, booster)
        release_pages(self.samples.bins.tiles)
        return stumps_of(features, self.samples, round_, booster, self._n_threads)

    def note(self, tree: Tree, vote: Vote) -> None:
        """Do nothing: the next round's weights say it all."""

    def values(self, feature: int) -> NDArray[np.generic]:
        """Return a feature's values on the training samples."""
        values: NDArray[np.generic] = self.samples.values(np.array([feature]))[0]
        return values

    def best_features(self, round_: Round, booster: Booster) -> NDArray[np.intp]:
        """Return the `N_EXACT` features of least loss over bins, rising; without bounds, as far as a guide can tell.

        Parameters
        ----------
        round_ : Round
            The round's weights.
        booster : Booster
            Judges splits.

        Returns
        -------
        ndarray of shape (n,), dtype intp
            Their numbers; fewer than `N_EXACT` in a pool that is smaller.
        """
        guess = None if booster.loss_is_linear else self.best_of(self._probes, round_, booster)[1:]
        found = self.find(round_, booster, guess)
        if guess is not None and len(found.features):
            self._probes = np.union1d(self._first_probes, found.best(N_PROBES))
        return found.best(N_EXACT)

    def best_of(
        self, features: NDArray[np.intp], round_: Round, booster: Booster
    ) -> tuple[float, float, float]:
        """Return the split of least loss among those of some features, over bins.

        Parameters
        ----------
        features : ndarray of shape (n,), dtype intp
            Their numbers; at least one.
        round_ : Round
            The round's weights.
        booster : Booster
            Judges splits.

        Returns
        -------
        tuple of float
            Its loss, and its class-wise errors.
        """
        losses, errors_p, errors_n = self._losses(round_, booster).least_losses(features)
        place = int(np.argmin(losses))
        return float(losses[place]), float(errors_p[place]), float(errors_n[place])

    def find(self, round_: Round, booster: Booster, guess: tuple[float, float] | None) -> Found:
        """Return features among which those of least loss over bins are.

        Parameters
        ----------
        round_ : Round
            The round's weights.
        booster : Booster
            Judges splits.
        guess : tuple of float or None
            The class-wise errors of a good split, near which bounds and guides are close; None for a linear loss.

        Returns
        -------
        Found
            What searches of parts of the pool find, joined, has the same `Found.best` as what a search of all finds.
        """
        losses = self._losses(round_, booster)
        bounds = booster.loss_bounds(*(guess or (0.0, 0.0)), round_)
        criterion = criterion_of(bounds, losses)
        is_loss = isinstance(bounds, TwoErrorBounds) or (isinstance(bounds, GiniGuide) and bounds.is_loss)
        if booster.loss_is_linear or is_loss:
            return Found(*self._branch_and_bound(criterion, N_EXACT))
        among, guides = self._branch_and_bound(criterion, N_GUIDED)
        if len(among) == 0:
            return Found(among, guides)
        least = indices_of_smallest(guides, N_GUIDED)
        values, _, _ = losses.least_losses(among[least])
        return Found(among[least], values, guides[least])

    def _losses(self, round_: Round, booster: Booster) -> BinnedLosses:
        return BinnedLosses(self.samples, round_, booster, self._n_threads)

    def _branch_and_bound(self, criterion: Criterion, n: int) -> tuple[NDArray[np.intp], Floats]:
        """Return features, rising, and their exact values: all that were measured before the others were pruned.

        Of those below the criterion's ceiling, the `n` least are among them. In pools of more than `N_LIKELY`
        features, there are no others.
        """
        ceiling = criterion.ceiling - 2 * SLACK
        bounds, among, values = self._pass(criterion, n)
        many, n_passes = SHARE_FOR_ANOTHER_PASS * len(bounds), 1
        while (
            n_passes < MAX_PASSES
            and np.count_nonzero(bounds <= min(nth_smallest(values, n), ceiling)) > many
            and self._histograms.reduce_tolerance()
        ):
            bounds, among, values = self._pass(criterion, n)
            n_passes += 1
        threshold = nth_smallest(values, n)
        pruned = bounds > min(threshold, ceiling)
        pruned[among] = True
        open_ = np.flatnonzero(~pruned)
        n_open = len(open_)
        if n_open > FEW_OPEN and (refined := self._histograms.refine(criterion, open_)) is not None:
            bounds[open_] = np.maximum(bounds[open_], criterion.lower(refined, threshold))
        open_ = open_[np.argsort(bounds[open_], kind="stable")]
        while len(open_) and bounds[open_[0]] <= (threshold := min(nth_smallest(values, n), ceiling)):
            batch = open_[:BATCH][bounds[open_[:BATCH]] <= threshold]
            open_ = open_[len(batch) :]
            among, values = np.append(among, batch), np.append(values, criterion.exact(batch))
        if not criterion.round_.is_part:  # the tolerance is that of whole rounds
            self._histograms.adapt_tolerance(n_open)
        if self._leaves_out:  # which others were measured is chance
            inside = np.flatnonzero(values <= ceiling)
            among, values = among[inside], values[inside]
        order = np.argsort(among)
        return among[order], values[order]

    def _pass(self, criterion: Criterion, n: int) -> tuple[Floats, NDArray[np.intp], Floats]:
        """Return lower bounds of all features' values, and the likely best features with their exact values."""
        measured = self._histograms.measure(criterion)
        likely = criterion.likely(measured, max(n, N_LIKELY))
        values = criterion.exact(likely)
        return criterion.lower(measured, nth_smallest(values, n)), likely, values
