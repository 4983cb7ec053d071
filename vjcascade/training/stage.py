"""Train stage after stage, each until its hit rate and its false-alarm rate hold."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Costs, make_booster
from vjcascade.boosters.thresholds import hit_rate_threshold, n_allowed_misses
from vjcascade.cascade import THRESHOLD_EPSILON, Stage
from vjcascade.clusters import Cluster
from vjcascade.features.binning import spread_places
from vjcascade.features.families import family_of
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.learning.boosting import WeakClassifier, boost
from vjcascade.learning.samples import WindowSamples, WindowValues
from vjcascade.learning.search import Search, StumpSearch
from vjcascade.learning.sharding import ShardedSearch
from vjcascade.messages import pluralize
from vjcascade.training.events import Listener, ProgressReporter, Rates, RoundDone, null_listener
from vjcascade.training.memory_plan import MemoryPlan
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.usage import Stopwatch

BASELINE = "adaboost"
"""The booster that every stage is compared with, its threshold set a posteriori."""

NATURAL_THRESHOLD = THRESHOLD_EPSILON
"""As written to files; the effective threshold is 0, the sign of the ensemble's score."""

N_FALSE_ALARMS_SHOWN = 24
"""So many of a stage's worst false alarms are kept to look at."""

MIN_TO_TUNE_ON = 40
"""Thresholds are tuned on so many held-out positives even where the hit rate allows no miss among them: one is."""

PATIENCE = 40
"""A stage ends where so many weak classifiers did not bring its false-alarm rates down: it only learns by heart."""

EASED = 0.02
"""So many more positives may be missed where progress is looked for: the rate at the target hangs on the worst few."""

FAR_ABOVE_TARGET = 1.25
"""Outliers are looked for where a stage passes so many times its target: a narrow miss costs less than missing objects
like them."""

WORTH_EXCLUDING = 0.5
"""Outliers are excluded if without them a stage meets its target, or passes at most this share of its false alarms."""

MIN_CROPS_TO_EXCLUDE_ONE = 5
"""Of fewer held-out crops, each is too large a share to be excluded."""

FALSE_ALARMS_EXPECTED = 10
"""A false-alarm rate counts as measured where the target would leave at least so many false alarms."""


@dataclass(frozen=True, eq=False)
class StageWindows:
    """The windows of a stage: those that passed the stages before it.

    Attributes
    ----------
    positives, negatives : ndarray of shape (n, h, w), dtype uint8
        To train on; at least one of each.
    held_out_positives, held_out_negatives : ndarray of shape (n, h, w), dtype uint8
        To measure on; may be empty.
    stayed : ndarray of shape (n_stayed,), dtype intp, or None
        What the first of the training windows, positives before negatives, were among those of the stage before, as
        indices. None if this is the first stage of a run.
    held_out_crops : ndarray of shape (n,), dtype intp, or None
        The crop that each held-out positive is, or is a copy of; -1 for outliers. None if each is a crop of its own.
    max_outliers : int
        So many more held-out crops may be excluded.
    """

    positives: NDArray[np.uint8]
    negatives: NDArray[np.uint8]
    held_out_positives: NDArray[np.uint8]
    held_out_negatives: NDArray[np.uint8]
    stayed: NDArray[np.intp] | None = None
    held_out_crops: NDArray[np.intp] | None = None
    max_outliers: int = 0

    def all_positives(self, places: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return positives by their places among those to train on and, after them, those held out."""
        n = len(self.positives)
        chosen = [self.positives[i] if i < n else self.held_out_positives[i - n] for i in places.tolist()]
        return np.stack(chosen) if chosen else self.positives[:0]


@dataclass(frozen=True, eq=False)
class StagePassed:
    """The windows of a stage that pass it, as indices, ascending.

    Attributes
    ----------
    positives, negatives, held_out_positives, held_out_negatives : ndarray of shape (n,), dtype intp
        Of the windows of `StageWindows`.
    """

    positives: NDArray[np.intp]
    negatives: NDArray[np.intp]
    held_out_positives: NDArray[np.intp]
    held_out_negatives: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class StageResult:
    """A trained stage, and what it reached.

    Attributes
    ----------
    stage : Stage
        With the tuned threshold.
    natural, tuned, baseline, hit_rate_on, false_alarm_rate_on, ended_by
        As in `StageRecord`.
    passed : StagePassed
        Windows that pass at the tuned threshold: those that the detector lets pass.
    false_alarms : ndarray of shape (n, h, w), dtype uint8
        The training negatives that score best, the best first.
    missed : ndarray of shape (n, h, w), dtype uint8
        Positives, held out or trained on, that the stage rejects, the lowest scores first; the worst only.
    outliers : tuple of int
        Held-out crops that thresholds are no longer tuned on.
    """

    stage: Stage
    natural: Rates
    tuned: Rates
    baseline: Rates | None
    hit_rate_on: str
    false_alarm_rate_on: str
    ended_by: str
    passed: StagePassed
    false_alarms: NDArray[np.uint8]
    missed: NDArray[np.uint8]
    outliers: tuple[int, ...] = ()


class _Scores:
    """Ensemble scores of windows, the positives first."""

    def __init__(self, integrals: WindowIntegrals, n_positives: int) -> None:
        self._integrals = integrals
        self._n_positives = n_positives
        self._scores = np.zeros(len(integrals))

    @classmethod
    def of(cls, positives: NDArray[np.uint8], negatives: NDArray[np.uint8], *, tilted: bool) -> _Scores:
        windows = np.concatenate([positives, negatives])
        return cls(WindowIntegrals.of(windows, tilted=tilted), len(positives))

    @property
    def positives(self) -> NDArray[np.float64]:
        return self._scores[: self._n_positives]

    @property
    def negatives(self) -> NDArray[np.float64]:
        return self._scores[self._n_positives :]

    def add(self, pool: NDArray[np.void], weak: WeakClassifier) -> None:
        self._scores += weak.votes(
            lambda feature: family_of(pool).values(pool[[feature]], self._integrals)[0]
        )


class _Panel:
    """What an ensemble scores on the training and the held-out windows, and which of them a rate is taken from."""

    def __init__(self, samples: WindowValues, windows: StageWindows, settings: TrainingSettings) -> None:
        self._data = samples, windows, settings
        self._pool = samples.pool
        tilted = family_of(samples.pool).has_tilted(samples.pool)
        held_out = windows.held_out_positives, windows.held_out_negatives
        self._training = _Scores(samples.integrals, samples.n_positives)
        self._held_out = _Scores.of(*held_out, tilted=tilted)
        crops = windows.held_out_crops
        self._crops = np.arange(len(held_out[0])) if crops is None else crops
        self._tunes = self._crops >= 0
        n_decide = int(np.count_nonzero(self._tunes))
        enough_positives = n_decide >= MIN_TO_TUNE_ON or n_allowed_misses(n_decide, settings.hit_rate) >= 1
        self._hit_rate = settings.hit_rate
        enough_negatives = len(held_out[1]) * settings.false_alarm_rate >= FALSE_ALARMS_EXPECTED
        self.hit_rate_on = "held-out" if enough_positives else "training"
        self.false_alarm_rate_on = "held-out" if enough_negatives else "training"

    def add(self, weak: WeakClassifier) -> None:
        self._training.add(self._pool, weak)
        self._held_out.add(self._pool, weak)

    def tuned_threshold(self) -> np.float32:
        """Return a threshold, as written to files, that keeps the hit rate and as few false alarms as it can.

        Training positives score better than new ones will: tuned on them, it may fall below the natural
        threshold but not rise above it.
        """
        tuned = self._threshold_for(0.0)
        return tuned if self.hit_rate_on == "held-out" else min(tuned, NATURAL_THRESHOLD)

    def eased_false_alarm_rate(self) -> float:
        """Return the false-alarm rate where `EASED` more positives may be missed than are allowed."""
        return self.rates(self._threshold_for(EASED)).false_alarm_rate

    def rescored(self, weak: Sequence[WeakClassifier], excluded: Sequence[int] = ()) -> _Panel:
        """Return a panel of the same windows with other weak classifiers, not tuned on some held-out crops."""
        panel = _Panel(*self._data)
        panel.exclude(excluded)
        for one in weak:
            panel.add(one)
        return panel

    def exclude(self, crops: Sequence[int]) -> None:
        """Tune thresholds no longer on held-out crops and their copies."""
        self._tunes = self._tunes & ~np.isin(self._crops, crops)

    def find_outliers(self, n_most: int, enough: float) -> tuple[int, ...]:
        """Return the fewest held-out crops without which so few false alarms pass; none if these would be too many."""
        before, found, rate = self._tunes, list[int](), np.inf
        while rate > enough and len(found) < n_most and (left := self._crops_to_exclude()):
            # Where no crop alone lowers the rate, the one that raises the threshold most.
            rate, _, worst = min((*self._tuned_without([crop]), crop) for crop in left)
            found.append(worst)
            self.exclude([worst])
        self._tunes = before
        if rate > enough:
            return ()
        for crop in found[:-1]:
            if self._tuned_without([one for one in found if one != crop])[0] <= enough:
                found.remove(crop)
        return tuple(sorted(found))

    def _crops_to_exclude(self) -> list[int]:
        """Return the crops that thresholds are tuned on, each of which may be excluded; none if they are too few."""
        crops, sizes = np.unique(self._crops[self._tunes], return_counts=True)
        if self.hit_rate_on != "held-out" or len(crops) < MIN_CROPS_TO_EXCLUDE_ONE:
            return []
        few: list[int] = crops[sizes.sum() - sizes >= MIN_TO_TUNE_ON].tolist()
        return few

    def _tuned_without(self, crops: Sequence[int]) -> tuple[float, float]:
        """Return the false-alarm rate without some crops, and minus the threshold."""
        before = self._tunes
        self.exclude(crops)
        threshold = self.tuned_threshold()
        self._tunes = before
        return self.rates(threshold).false_alarm_rate, -float(threshold)

    def rates(self, threshold: np.float32) -> Rates:
        """Return the rates at a threshold as written to files."""
        effective = _effective(threshold)
        scores = self._held_out if self.false_alarm_rate_on == "held-out" else self._training
        hits, false_alarms = np.mean(self._positives() >= effective), np.mean(scores.negatives >= effective)
        return Rates(float(threshold), float(hits), float(false_alarms))

    def passed(self, threshold: np.float32) -> StagePassed:
        """Return the windows that pass at a threshold as written to files."""
        effective = _effective(threshold)
        scores = (
            one for both in (self._training, self._held_out) for one in (both.positives, both.negatives)
        )
        return StagePassed(*(np.flatnonzero(one >= effective) for one in scores))

    def worst_negatives(self) -> NDArray[np.intp]:
        """Return the places of the training negatives that score best, the best first."""
        order = np.argsort(-self._training.negatives, kind="stable")
        return order[:N_FALSE_ALARMS_SHOWN]

    def worst_positives(self, threshold: np.float32) -> NDArray[np.intp]:
        """Return the places, those held out after those trained on, of positives that are rejected, the worst first."""
        scores = np.concatenate([self._training.positives, self._held_out.positives])
        order = np.argsort(scores, kind="stable")[:N_FALSE_ALARMS_SHOWN]
        return order[scores[order] < _effective(threshold)]

    def _positives(self) -> NDArray[np.float64]:
        return (self._held_out if self.hit_rate_on == "held-out" else self._training).positives

    def _threshold_for(self, more_misses: float) -> np.float32:
        """Return the threshold at which so large a share more may be missed than the hit rate allows."""
        positives, hit_rate = self._positives(), self._hit_rate
        if self.hit_rate_on == "held-out":
            positives = positives[self._tunes]
            # The last of them may be an odd one: it alone must not decide where the threshold lies.
            hit_rate = min(hit_rate, 1 - 1 / len(positives))
        if more_misses:
            hit_rate = max(hit_rate - more_misses, more_misses)
        return _file_threshold(hit_rate_threshold(positives, hit_rate))


class StageTrainer:
    """Trains the stages of a run, one after the other; owns the features, their bins, and the buffers for them.

    Parameters
    ----------
    pool : ndarray of shape (n_features,), dtype `FEATURE_DTYPE` or `LBP_DTYPE`
        Haar or LBP features.
    positives : ndarray of shape (n, h, w), dtype uint8
        All positives of the run: bins are laid out by some of them.
    settings : TrainingSettings
        Booster, costs, targets, and whether to train the baseline as well.
    memory_plan : MemoryPlan, optional
        Where bins and histograms are kept; in memory if not given.
    n_threads : int
        Threads; results do not depend on it.
    listener : Listener
        Gets `Progress` and `RoundDone`.
    cluster : Cluster, optional
        Whose workers keep the bins and search them; results do not depend on it.
    """

    def __init__(
        self,
        pool: NDArray[np.void],
        positives: NDArray[np.uint8],
        settings: TrainingSettings,
        *,
        memory_plan: MemoryPlan | None = None,
        n_threads: int = 1,
        listener: Listener = null_listener,
        cluster: Cluster | None = None,
    ) -> None:
        plan = memory_plan or MemoryPlan()
        self._few = positives[spread_places(len(positives))]
        family = family_of(pool)
        self._pool, self._tilted, self._cluster = pool, family.has_tilted(pool), cluster
        if cluster is None:
            few = WindowIntegrals.of(self._few, tilted=self._tilted)
            self._store = family.bin_store(pool, few, n_threads, plan.bins)
        self._histograms = plan.histograms
        self._settings, self._n_threads, self._listener = settings, n_threads, listener

    def train(
        self, windows: StageWindows, number: int = 1, clock: Stopwatch | None = None
    ) -> StageResult | None:
        """Train a stage on its windows.

        Parameters
        ----------
        windows : StageWindows
            What passed the stages before.
        number : int
            Of the stage, for the listener, counted from 1.
        clock : Stopwatch, optional
            Takes the time of features, boosting and baseline.

        Returns
        -------
        StageResult or None
            None if no weak classifier is better than chance.
        """
        with ExitStack() as stack:
            return self._train(windows, number, clock or Stopwatch(), stack)

    def _train(
        self, windows: StageWindows, number: int, clock: Stopwatch, stack: ExitStack
    ) -> StageResult | None:
        settings, pool = self._settings, self._pool
        progress = ProgressReporter(f"stage {number}: boosting", self._listener)
        training = np.concatenate([windows.positives, windows.negatives])
        progress.report(0, settings.max_weak, f"{len(pool):,} features of {len(training):,} windows")
        with clock.part("features"):
            integrals = WindowIntegrals.of(training, tilted=self._tilted)
            samples, search = self._prepared(training, integrals, windows, stack)
        with clock.part("boosting"):
            grown = _grow(search, samples, windows, settings, number, progress)
        weak, panel = grown.weak, grown.panel
        if not weak:
            return None
        baseline = None
        if settings.baseline and settings.booster != BASELINE:
            with clock.part("baseline"):
                compared = ProgressReporter(f"stage {number}: comparing with plain AdaBoost", self._listener)
                panel_of_baseline = _Panel(samples, windows, settings)
                panel_of_baseline.exclude(grown.outliers)
                baseline = _baseline(search, panel_of_baseline, settings, len(weak), compared)
        threshold = panel.tuned_threshold()
        return StageResult(
            stage=_as_stage(pool, weak, threshold),
            natural=panel.rates(NATURAL_THRESHOLD),
            tuned=panel.rates(threshold),
            baseline=baseline,
            hit_rate_on=panel.hit_rate_on,
            false_alarm_rate_on=panel.false_alarm_rate_on,
            ended_by=grown.ended_by,
            passed=panel.passed(threshold),
            false_alarms=windows.negatives[panel.worst_negatives()],
            missed=windows.all_positives(panel.worst_positives(threshold)),
            outliers=grown.outliers,
        )

    def _prepared(
        self,
        training: NDArray[np.uint8],
        integrals: WindowIntegrals,
        windows: StageWindows,
        stack: ExitStack,
    ) -> tuple[WindowValues, Search]:
        """Return the features of a stage's windows, and the search among them."""
        n_positives = len(windows.positives)
        if self._cluster is None:
            samples = WindowSamples(self._store, integrals, n_positives, windows.stayed)
            return samples, StumpSearch(samples, self._n_threads, self._histograms)
        values = WindowValues(self._pool, integrals, n_positives)
        sharded = ShardedSearch(self._cluster, values, training, self._few, self._n_threads)
        return values, stack.enter_context(sharded)


@dataclass(frozen=True, eq=False)
class _Grown:
    """A stage's weak classifiers, why there are no more, what they score, and the held-out crops excluded for it."""

    weak: list[WeakClassifier]
    ended_by: str
    panel: _Panel
    outliers: tuple[int, ...] = ()


def _grow(
    search: Search,
    samples: WindowValues,
    windows: StageWindows,
    settings: TrainingSettings,
    number: int,
    progress: ProgressReporter,
) -> _Grown:
    """Add weak classifiers until the targets hold or no more help."""
    panel = _Panel(samples, windows, settings)
    booster = make_booster(settings.booster, settings.costs, settings.max_weak)
    weak: list[WeakClassifier] = []
    least, n_best, least_eased, n_progress = np.inf, 0, np.inf, 0
    ended_by = "no further weak classifier is better than chance"
    for one in islice(boost(search, booster, max_depth=settings.max_depth), settings.max_weak):
        weak.append(one)
        panel.add(one)
        rates = panel.rates(panel.tuned_threshold())
        so_far = f"{pluralize(len(weak), 'weak classifier')}, false-alarm rate {rates.false_alarm_rate:.3f}"
        progress.report(len(weak), settings.max_weak, so_far)
        progress.listener(RoundDone(number, len(weak), rates, panel.rates(NATURAL_THRESHOLD)))
        if rates.false_alarm_rate <= settings.false_alarm_rate:
            return _Grown(weak, "targets reached", panel)
        if one.perfect:
            ended = _Grown(weak, "every training window is classified rightly", panel)
            break
        if rates.false_alarm_rate < least:
            least, n_best, n_progress = rates.false_alarm_rate, len(weak), len(weak)
        if (eased := panel.eased_false_alarm_rate()) < least_eased:
            least_eased, n_progress = eased, len(weak)
        if len(weak) - n_progress >= PATIENCE:
            best = panel.rescored(weak[:n_best])
            reason = f"{PATIENCE} more weak classifiers let no fewer false alarms pass"
            ended = _Grown(weak[:n_best], reason, best)
            break
    else:
        if len(weak) == settings.max_weak:
            ended_by = f"{settings.max_weak} weak classifiers, the most allowed"
        ended = _Grown(weak, ended_by, panel)
    return _without_outliers(ended, weak, panel, windows.max_outliers, settings) if weak else ended


def _without_outliers(
    ended: _Grown, weak: list[WeakClassifier], panel: _Panel, n_most: int, settings: TrainingSettings
) -> _Grown:
    """Return a stage that misses its target without the held-out crops that are to blame, if there are any."""
    target = settings.false_alarm_rate
    reached = ended.panel.rates(ended.panel.tuned_threshold()).false_alarm_rate
    if reached < FAR_ABOVE_TARGET * target:
        return ended
    outliers = panel.find_outliers(n_most, max(target, WORTH_EXCLUDING * reached))
    if not outliers:
        return ended
    panel, rates = panel.rescored([], outliers), list[float]()
    for one in weak:
        panel.add(one)
        rates.append(panel.rates(panel.tuned_threshold()).false_alarm_rate)
        if rates[-1] <= target:
            break
    n_kept = int(np.argmin(rates)) + 1
    crops = pluralize(len(outliers), "held-out crop")
    reason = f"{crops} excluded from tuning, with which {reached:.1%} of the negatives would pass"
    return _Grown(weak[:n_kept], reason, panel.rescored(weak[:n_kept], outliers), outliers)


def _as_stage(pool: NDArray[np.void], weak: Sequence[WeakClassifier], threshold: np.float32) -> Stage:
    trees = [one.tree for one in weak]
    stumps = [stump for tree in trees for stump in tree.stumps]
    return Stage(
        features=pool[[stump.feature for stump in stumps]],
        thresholds=np.array([stump.threshold for stump in stumps], np.float32),
        leaves=np.concatenate([one.leaves for one in weak]).astype(np.float32),
        threshold=threshold,
        children=np.concatenate([tree.children for tree in trees]),
        tree_sizes=np.array([len(tree.stumps) for tree in trees], np.int32),
        subsets=np.array([stump.subset for stump in stumps], np.uint32),
    )


def _baseline(
    search: Search, panel: _Panel, settings: TrainingSettings, n_weak: int, progress: ProgressReporter
) -> Rates:
    """Return what plain AdaBoost reaches with as many weak classifiers, its threshold set a posteriori."""
    booster = make_booster(BASELINE, Costs(), n_weak)
    for done, one in enumerate(islice(boost(search, booster, max_depth=settings.max_depth), n_weak), 1):
        panel.add(one)
        progress.report(done, n_weak)
    return panel.rates(panel.tuned_threshold())


def _effective(threshold: np.float32) -> np.float64:
    """Return what a score is compared with, by OpenCV's rule, for a threshold as written to files."""
    return np.float64(threshold - THRESHOLD_EPSILON)


def _file_threshold(score: float) -> np.float32:
    """Return the float32 threshold to write so that a window with this score passes by OpenCV's rule."""
    threshold = np.float32(score)
    while _effective(threshold) > score:
        threshold = np.nextafter(threshold, np.float32(-np.inf))
    return threshold
