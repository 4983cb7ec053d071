"""Train one stage: grow until the hit rate and the false-alarm rate hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Costs, make_booster
from vjcascade.boosters.thresholds import hit_rate_threshold, n_allowed_misses
from vjcascade.cascade import THRESHOLD_EPSILON, Stage
from vjcascade.features.families import family_of
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.learning.boosting import WeakClassifier, boost
from vjcascade.learning.samples import WindowSamples, samples_of
from vjcascade.learning.search import StumpSearch
from vjcascade.training.events import Rates, RoundDone, Work
from vjcascade.training.settings import TrainingSettings

BASELINE = "adaboost"
"""The booster that every stage is compared with, its threshold set a posteriori."""

NATURAL_THRESHOLD = THRESHOLD_EPSILON
"""As written to files; the effective threshold is 0, the sign of the ensemble's score."""

N_FALSE_ALARMS_SHOWN = 24
"""So many of a stage's worst false alarms are kept to look at."""

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
    """

    positives: NDArray[np.uint8]
    negatives: NDArray[np.uint8]
    held_out_positives: NDArray[np.uint8]
    held_out_negatives: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class StageResult:
    """A trained stage, what it reached, and the training negatives that score best in it.

    All but the first and the last fields are those of `StageRecord`.
    """

    stage: Stage
    natural: Rates
    tuned: Rates
    baseline: Rates | None
    hit_rate_on: str
    false_alarm_rate_on: str
    ended_by: str
    false_alarms: NDArray[np.uint8]


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

    def __init__(self, samples: WindowSamples, windows: StageWindows, settings: TrainingSettings) -> None:
        self._pool = samples.pool
        tilted = family_of(samples.pool).has_tilted(samples.pool)
        held_out = windows.held_out_positives, windows.held_out_negatives
        self._training = _Scores(samples.integrals, samples.n_positives)
        self._held_out = _Scores.of(*held_out, tilted=tilted)
        self._hit_rate = settings.hit_rate
        enough_positives = n_allowed_misses(len(held_out[0]), settings.hit_rate) >= 1
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
        tuned = _file_threshold(hit_rate_threshold(self._positives(), self._hit_rate))
        return tuned if self.hit_rate_on == "held-out" else min(tuned, NATURAL_THRESHOLD)

    def rates(self, threshold: np.float32) -> Rates:
        """Return the rates at a threshold as written to files."""
        bar = np.float64(threshold - THRESHOLD_EPSILON)
        scores = self._held_out if self.false_alarm_rate_on == "held-out" else self._training
        hits, false_alarms = np.mean(self._positives() >= bar), np.mean(scores.negatives >= bar)
        return Rates(float(threshold), float(hits), float(false_alarms))

    def worst_negatives(self) -> NDArray[np.intp]:
        """Return the places of the training negatives that score best, the best first."""
        order = np.argsort(-self._training.negatives, kind="stable")
        return order[:N_FALSE_ALARMS_SHOWN]

    def _positives(self) -> NDArray[np.float64]:
        return (self._held_out if self.hit_rate_on == "held-out" else self._training).positives


def train_stage(
    windows: StageWindows,
    pool: NDArray[np.void],
    settings: TrainingSettings,
    work: Work,
) -> StageResult | None:
    """Train a stage on its windows.

    Parameters
    ----------
    windows : StageWindows
        What passed the stages before.
    pool : ndarray of shape (n_features,), dtype `FEATURE_DTYPE` or `LBP_DTYPE`
        Haar or LBP features; those of `work.store` are taken, where there is one.
    settings : TrainingSettings
        Booster, costs, targets, and whether to train the baseline as well.
    work : Work
        Threads, and who hears of the progress.

    Returns
    -------
    StageResult or None
        None if no weak classifier is better than chance.
    """
    if work.store is not None:
        pool = work.store.pool
    both = np.concatenate([windows.positives, windows.negatives])
    work.progress(0, settings.max_weak, f"{len(pool):,} features of {len(both):,} windows")
    with work.clock.part("features"):
        integrals = WindowIntegrals.of(both, tilted=family_of(pool).has_tilted(pool))
        n_positives = len(windows.positives)
        samples = (
            WindowSamples(work.store, integrals, n_positives)
            if work.store is not None
            else samples_of(pool, integrals, n_positives, work.n_threads)
        )
        search = StumpSearch(samples, work.n_threads, work.histograms)
        panel = _Panel(samples, windows, settings)
    with work.clock.part("boosting"):
        weak, ended_by = _grow(search, panel, settings, work)
    if not weak:
        return None
    threshold = panel.tuned_threshold()
    baseline = None
    if settings.baseline and settings.booster != BASELINE:
        work.progress(len(weak), settings.max_weak, "comparing with plain AdaBoost")
        with work.clock.part("baseline"):
            baseline = _baseline(search, _Panel(samples, windows, settings), settings, len(weak))
    return StageResult(
        stage=_as_stage(pool, weak, threshold),
        natural=panel.rates(NATURAL_THRESHOLD),
        tuned=panel.rates(threshold),
        baseline=baseline,
        hit_rate_on=panel.hit_rate_on,
        false_alarm_rate_on=panel.false_alarm_rate_on,
        ended_by=ended_by,
        false_alarms=windows.negatives[panel.worst_negatives()],
    )


def _grow(
    search: StumpSearch, panel: _Panel, settings: TrainingSettings, work: Work
) -> tuple[list[WeakClassifier], str]:
    """Add weak classifiers until the targets hold; return them and why it ended."""
    booster = make_booster(settings.booster, settings.costs, settings.max_weak)
    weak: list[WeakClassifier] = []
    for one in islice(boost(search, booster, max_depth=settings.max_depth), settings.max_weak):
        weak.append(one)
        panel.add(one)
        rates = panel.rates(panel.tuned_threshold())
        work.progress(len(weak), settings.max_weak, f"false-alarm rate {rates.false_alarm_rate:.3f}")
        work.listener(RoundDone(work.stage, len(weak), rates, panel.rates(NATURAL_THRESHOLD)))
        if rates.false_alarm_rate <= settings.false_alarm_rate:
            return weak, "targets reached"
        if one.perfect:
            return weak, "every training window is classified rightly"
    if len(weak) == settings.max_weak:
        return weak, f"{settings.max_weak} weak classifiers, the most allowed"
    return weak, "no further weak classifier is better than chance"


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


def _baseline(search: StumpSearch, panel: _Panel, settings: TrainingSettings, n_weak: int) -> Rates:
    """Return what plain AdaBoost reaches with as many weak classifiers, its threshold set a posteriori."""
    booster = make_booster(BASELINE, Costs(), n_weak)
    for one in islice(boost(search, booster, max_depth=settings.max_depth), n_weak):
        panel.add(one)
    return panel.rates(panel.tuned_threshold())


def _file_threshold(score: float) -> np.float32:
    """Return the float32 threshold to write so that a window with this score passes by OpenCV's rule."""
    threshold = np.float32(score)
    while np.float64(threshold - THRESHOLD_EPSILON) > score:
        threshold = np.nextafter(threshold, np.float32(-np.inf))
    return threshold
