"""The search for a round's best stump: branch and bound over stale histograms.

The problem
    A round gives each sample a weight. Among all features of a pool of 10^4 to 10^6, the search looks for the split, by
    a threshold or by a subset of codes, of least loss. A stump's loss depends on two sums only: the weight of the
    positives that it calls negative and of the negatives that it calls positive. Values are sorted into 256 bins once,
    so a feature's best split over bins follows from two histograms: the weight of positives and of negatives in each
    bin. A full scan computes these in each round, which reads the bin of every sample for every feature. Nearly all of
    that is wasted: hardly any feature is near the best.

What is kept from round to round
    Both histograms of every feature (`Histograms`), in integer units, so that additions can be undone exactly, and the
    weights that they were computed from (`QuantizedWeights`). When weights change, boosting multiplies those of the
    samples that it got right by one factor: a change of the class's unit does that for all bins at once. Of the other
    samples, those whose weights differ most are updated, until what remains out of date is at most a given share of all
    weight (the tolerance, 1e-6 to 0.1). A pass does so for all features.

    Of few samples, and of a tree's node, nothing is kept: reading a histogram would take longer than adding it up. The
    weighted error then needs only one for both classes, of the positives' weights minus those of the negatives; the
    samples of least weight are left out of it, as far as the tolerance allows.

Why bounds hold
    Let `above` and `below` be the amounts by which the quantized weights of a class exceed those of the round, and fall
    short of them, summed over all samples (plus an allowance for bits that were shifted out). Then the error of any sum
    over bins is no larger, and so is that of both errors of any split. A loss that increases with the errors thus lies
    between its values at errors shifted by these amounts, and so does its minimum over the splits.
    `vjcascade.learning.criteria` has a class for each way to use that:

    * the weighted error a errors_p + b errors_n (`WeightedError`) is off by at most a and b times as much;
    * the Gini impurity (`GiniImpurity`) changes by at most twice as much as a weight;
    * another concave loss of the two errors (`TwoErrorLoss`) is bounded from the feature's least weighted errors on
      four lines (a, b). The least of a errors_p + errors_n over a feature's splits is concave in a, as the lower
      envelope of straight lines; so between two of the lines it is at least the linear interpolation of its values on
      both, and the loss at any step alpha is computed from such a value (`vjcascade.boosters.bounds`).

Branch and bound
    1. A pass gives each feature a lower bound. The `N_LIKELY` most promising features are measured exactly, over bins,
       with the round's own weights. The n-th least of these values is the threshold, or the value of the better
       constant classifier if that is less: a feature whose lower bound is above it is pruned.
    2. If more than `SHARE_FOR_ANOTHER_PASS` of the pool remain open, the tolerance is reduced and there is another
       pass: updating all histograms costs less than so many exact values.
    3. If more than `FEW_OPEN` remain open, their bounds are refined: copies of their histograms are updated further,
       which reads the bins of few samples, while an exact value reads those of all.
    4. The open features are measured exactly, lowest bound first, in batches; every batch may lower the threshold and
       so prune the rest.
    5. The number of features that remained open sets the tolerance of the next round's first pass.

Why the result is that of a full scan
    Only features whose lower bound is above the threshold are pruned, and the n best of those measured are at or below
    it; after the last pass, the threshold only decreases. Decisions are based on values from the round's own weights,
    never from stale ones. Bounds of rounding errors are added wherever floats are summed in another order. So the
    features found, and the first of equal ones, are those that a full scan over bins finds; the tolerance, the number
    of threads and the guesses only affect the time it takes. The tests compare every round of real runs with full
    scans.

    The `N_EXACT` best features are then split at their real values rather than at bins, and the booster chooses among
    these stumps and the two constant ones.

    There are two exceptions. A concave loss without bounds is computed only for the `N_GUIDED` best features by a guide
    that ranks similarly, a tangent at a good guess or a Gini impurity. And features that are no better over bins than
    the better constant classifier are pruned, though a split at their real values might be.
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
    Interval,
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
"""Features of least binned loss whose thresholds are then set on the real values."""

N_GUIDED = 512
"""Best features by the booster's guide, for which a loss without bounds is computed over bins."""

N_LIKELY = 128
"""Features of a pool that are measured exactly in each pass, or more; their values set the threshold for bounds."""

FEW_OPEN = 128
"""Up to so many open features are measured exactly at once: refining their bounds would not be less work."""

BATCH = 512
"""Open features measured at a time: the values of a batch may prune those of the next."""

N_PROBES = 64
"""Evenly spaced features that are measured, with the best of the last round, for the guess at the winner."""

SHARE_FOR_ANOTHER_PASS = 0.1
"""If a larger share of the pool remains open, there is another pass with a smaller tolerance."""

MAX_PASSES = 4
"""Maximum number of passes: after so many, bounds hardly get tighter."""


class Search(Protocol):
    """The interface of a search for stumps.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), dtype int8
        +1 or -1 for each training sample.
    """

    labels: NDArray[np.int8]

    def candidates(self, round_: Round, booster: Booster) -> list[Stump]:
        """Return stumps that include a round's best, in the order in which ties are broken."""

    def values(self, feature: int) -> NDArray[np.generic]:
        """Return a feature's values on the training samples."""

    def note(self, tree: Tree, vote: Vote) -> None:
        """Take note of a weak classifier that was added, and of its votes."""


class Found(NamedTuple):
    """Features that a search has measured.

    Attributes
    ----------
    features : ndarray of shape (n,), dtype intp
        Their indices, ascending.
    values : ndarray of shape (n,), dtype float64
        Their least loss over bins.
    guides : ndarray of shape (n,), dtype float64, or None
        For a loss without bounds, the values of the guide by which they were selected; otherwise None.
    """

    features: NDArray[np.intp]
    values: Floats
    guides: Floats | None = None

    def best(self, n: int) -> NDArray[np.intp]:
        """Return the `n` features of least loss, or all if there are fewer, ascending."""
        return self.features[indices_of_smallest(self.values, n)] if len(self.features) else self.features

    def shortened(self, n: int) -> Found:
        """Return the part that is needed to find the `n` best of a pool of which this is a shard."""
        if self.guides is not None or len(self.features) == 0:
            return self
        least = indices_of_smallest(self.values, n)
        return Found(self.features[least], self.values[least])

    @classmethod
    def joined(cls, parts: Sequence[Found]) -> Found:
        """Merge the results of all shards of a pool."""
        features = np.concatenate([part.features for part in parts])
        order = np.argsort(features)
        features, values = features[order], np.concatenate([part.values for part in parts])[order]
        if all(part.guides is None for part in parts):
            return cls(features, values)
        ranked_by = [part.values if part.guides is None else part.guides for part in parts]
        guides = np.concatenate(ranked_by)[order]
        least = indices_of_smallest(guides, N_GUIDED)
        return cls(features[least], values[least], guides[least])


def stumps_of(
    features: NDArray[np.intp], samples: SampleValues, round_: Round, booster: Booster, n_threads: int
) -> list[Stump]:
    """Return the best stumps of some features on their real values, in this order, then the two constant ones.

    Parameters
    ----------
    features : ndarray of shape (n,), dtype intp
        Their indices.
    samples : SampleValues
        Values of features.
    round_ : Round
        The round's weights.
    booster : Booster
        Judges stumps.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    list of Stump
        Without features that are no better than the constant stumps.
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


class Probed(NamedTuple):
    """The best split of some features.

    Attributes
    ----------
    loss : float
        Its loss, over bins.
    feature : int
        Index of its feature.
    errors : tuple of float
        Its class-wise errors.
    """

    loss: float
    feature: int
    errors: tuple[float, float]


class Begun(NamedTuple):
    """A round's search after its first pass.

    Attributes
    ----------
    criterion : Criterion
        What is minimised.
    losses : BinnedLosses or None
        For a loss without bounds, the loss; the criterion is then its guide.
    n : int
        How many features of least value are searched for.
    n_likely : int
        How many are measured after each pass.
    measured : Interval
        Bounds of all features' values.
    among : ndarray of shape (n_among,), dtype intp
        Features that have been measured.
    values : ndarray of shape (n_among,), dtype float64
        Their exact values.
    """

    criterion: Criterion
    losses: BinnedLosses | None
    n: int
    n_likely: int
    measured: Interval
    among: NDArray[np.intp]
    values: Floats

    @property
    def least(self) -> Floats:
        """The `N_EXACT` least losses that are known, or fewer; none of a loss without bounds."""
        return self.values[:0] if self.losses is not None else np.sort(self.values)[:N_EXACT]


class StumpSearch:
    """The search for the best stumps over all features of some samples, by branch and bound.

    Parameters
    ----------
    samples : Samples
        Labels, bins and values.
    n_threads : int
        Threads; results do not depend on it.
    space : ReusableBuffer, optional
        Buffer for the histograms; new memory if not given.
    n_in_pool : int, optional
        Number of features in the whole pool, if this searches a shard of it.
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
        self._is_shard = n_in_pool is not None and n_in_pool > n_features
        share = n_features / (n_in_pool or n_features)
        self._n_likely = max(round(N_LIKELY * share), 1)
        evenly = np.linspace(0, n_features - 1, min(n_features, N_PROBES)).astype(np.intp)
        self._first_probes = np.unique(evenly)
        self._probes = self._first_probes

    def candidates(self, round_: Round, booster: Booster) -> list[Stump]:
        """Return a round's best stumps, in the order of their features, then the two constant ones.

        The best stump on real values is returned for each of the `N_EXACT` features of least binned loss.
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
        """Return the `N_EXACT` features of least loss over bins, ascending; without bounds, approximately.

        Parameters
        ----------
        round_ : Round
            The round's weights.
        booster : Booster
            Judges splits.

        Returns
        -------
        ndarray of shape (n,), dtype intp
            Their indices; fewer than `N_EXACT` in a smaller pool.
        """
        guess = None if booster.loss_is_linear else self.best_of(self._probes, round_, booster).errors
        found = self.find(round_, booster, guess)
        if guess is not None and len(found.features):
            self._probes = np.union1d(self._first_probes, found.best(N_PROBES))
        return found.best(N_EXACT)

    def best_of(self, features: NDArray[np.intp], round_: Round, booster: Booster) -> Probed:
        """Return the split of least loss among those of some features, over bins.

        Parameters
        ----------
        features : ndarray of shape (n,), dtype intp
            Their indices; at least one.
        round_ : Round
            The round's weights.
        booster : Booster
            Judges splits.

        Returns
        -------
        Probed
            Of splits of equal loss, that of the first feature.
        """
        losses, errors_p, errors_n = self._losses(round_, booster).least_losses(features)
        place = int(np.argmin(losses))
        return Probed(
            float(losses[place]), int(features[place]), (float(errors_p[place]), float(errors_n[place]))
        )

    def find(self, round_: Round, booster: Booster, guess: tuple[float, float] | None) -> Found:
        """Return features that include the `N_EXACT` of least loss over bins.

        Parameters
        ----------
        round_ : Round
            The round's weights.
        booster : Booster
            Judges splits.
        guess : tuple of float or None
            The class-wise errors of a good split, near which bounds and guides are tight; None for a linear loss.

        Returns
        -------
        Found
            All that were measured and may win.
        """
        return self.finish(self.begin(round_, booster, guess))

    def begin(self, round_: Round, booster: Booster, guess: tuple[float, float] | None) -> Begun:
        """Begin a search: after the first pass, measure what is likely to be best.

        Parameters
        ----------
        round_ : Round
            The round's weights.
        booster : Booster
            Judges splits.
        guess : tuple of float or None
            As for `find`.

        Returns
        -------
        Begun
            For `finish`.
        """
        losses = self._losses(round_, booster)
        bounds = booster.loss_bounds(*(guess or (0.0, 0.0)), round_)
        criterion = criterion_of(bounds, losses)
        is_loss = isinstance(bounds, TwoErrorBounds) or (isinstance(bounds, GiniGuide) and bounds.is_loss)
        has_bounds = booster.loss_is_linear or is_loss
        n = N_EXACT if has_bounds else N_GUIDED
        n_likely = self._n_likely if self._is_shard and has_bounds else max(n, self._n_likely)
        return Begun(criterion, None if has_bounds else losses, n, n_likely, *self._pass(criterion, n_likely))

    def finish(self, begun: Begun, ceiling: float = np.inf) -> Found:
        """Finish a search.

        Parameters
        ----------
        begun : Begun
            From `begin`.
        ceiling : float
            Features of larger loss need not be found; infinity for a loss without bounds.

        Returns
        -------
        Found
            The merged results of all shards have the same `Found.best` as the result for the whole pool, if the ceiling
            is not below its `N_EXACT`-th least loss.
        """
        among, values = self._branch_and_bound(begun, ceiling)
        if begun.losses is None or len(among) == 0:
            return Found(among, values)
        least = indices_of_smallest(values, N_GUIDED)
        losses, _, _ = begun.losses.least_losses(among[least])
        return Found(among[least], losses, values[least])

    def _losses(self, round_: Round, booster: Booster) -> BinnedLosses:
        return BinnedLosses(self.samples, round_, booster, self._n_threads)

    def _branch_and_bound(self, begun: Begun, given_ceiling: float) -> tuple[NDArray[np.intp], Floats]:
        """Return features, rising, and their exact values: all that were measured before the others were pruned.

        Of those below both ceilings, the criterion's and a given one, the `n` least are among them. In pools of more
        than `N_LIKELY` features, there are no others.
        """
        criterion, _, n, n_likely, measured, among, values = begun
        n = min(n, len(self.samples.bins))
        ceiling = min(criterion.ceiling - 2 * SLACK, given_ceiling)
        bounds = criterion.lower(measured, _threshold(values, n, ceiling))
        many, n_passes = SHARE_FOR_ANOTHER_PASS * len(bounds), 1
        while (
            n_passes < MAX_PASSES
            and np.count_nonzero(bounds <= _threshold(values, n, ceiling)) > many
            and self._histograms.reduce_tolerance()
        ):
            measured, among, values = self._pass(criterion, n_likely)
            bounds = criterion.lower(measured, _threshold(values, n, ceiling))
            n_passes += 1
        threshold = _threshold(values, n, ceiling)
        pruned = bounds > threshold
        pruned[among] = True
        open_ = np.flatnonzero(~pruned)
        n_open = len(open_)
        if n_open > FEW_OPEN and (refined := self._histograms.refine(criterion, open_)) is not None:
            bounds[open_] = np.maximum(bounds[open_], criterion.lower(refined, threshold))
        open_ = open_[np.argsort(bounds[open_], kind="stable")]
        while len(open_) and bounds[open_[0]] <= (threshold := _threshold(values, n, ceiling)):
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

    def _pass(self, criterion: Criterion, n_likely: int) -> tuple[Interval, NDArray[np.intp], Floats]:
        """Return bounds of all features' values, and the features likely to be best with their exact values."""
        measured = self._histograms.measure(criterion)
        likely = criterion.likely(measured, n_likely)
        return measured, likely, criterion.exact(likely)


def _threshold(values: Floats, n: int, ceiling: float) -> float:
    """Return what a feature's value must not exceed to be among the `n` least and below the ceiling."""
    return min(nth_smallest(values, n), ceiling) if len(values) >= n else ceiling
