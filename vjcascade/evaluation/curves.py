"""Curves over all scenes as the score that is asked for falls, and the numbers that sum them up.

Detections of equal scores are one step of a curve: no order among them is better luck than another. Figures that were
published for whole numbers as scores, such as sizes of groups, often come from programs that go on detection by
detection all the same; `Ties.IN_ORDER` does as these do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.state import Floats
from vjcascade.errors import SettingsError
from vjcascade.evaluation.matching import Matches
from vjcascade.types import Detections

MISS_RATE_POINTS = np.logspace(-2, 0, 9)
"""False alarms per picture at which the log-average miss rate reads the curve."""

LEAST_MISS_RATE = 1e-10
"""Miss rates below count as this one, whose logarithm is finite, as in Dollar's toolbox."""

MAX_NUMBERS = 2_000_000
"""Numbers of an array of many curves that are made at the same time."""

RECALLS = np.linspace(0.0, 1.0, 101)
"""Hit rates at which average precision reads the curve, as in COCO."""


class Score(StrEnum):
    """What detections are ranked by.

    Examples
    --------
    >>> Score("ranking").name
    'RANKING'
    """

    RANKING = "ranking"
    """Their ranking scores: the square roots of the margins of all windows of the group, added up."""

    NEIGHBORS = "neighbors"
    """The number of windows in the group, as in most published figures."""

    MARGIN = "margin"
    """The margin of the last stage in the best window."""

    def of(self, found: Detections) -> Floats:
        """Return the scores of detections, shape (n,).

        Examples
        --------
        >>> Score.NEIGHBORS.of(Detections.empty()).tolist()
        []
        """
        scores: Floats = {
            Score.RANKING: found.ranking_scores,
            Score.NEIGHBORS: found.neighbors.astype(np.float64),
            Score.MARGIN: found.scores,
        }[self]
        return scores


class Ties(StrEnum):
    """How detections with equal scores count.

    Examples
    --------
    >>> Ties("in-order").name
    'IN_ORDER'
    """

    TOGETHER = "together"
    """They are one step of the curve."""

    IN_ORDER = "in-order"
    """Each is a step, in the order of the scenes and, in each scene, in that of the detections."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Detections against false alarms over all scenes, as the score that is asked for falls.

    A bootstrap makes many curves at once: their arrays then have an axis of curves before that of scores.

    Attributes
    ----------
    scores : ndarray of shape (n,), dtype float64
        Falling; row `i` counts the detections with at least this score.
    hit_rate : ndarray of shape (..., n), dtype float64
        Share of the objects found (recall), in [0, 1].
    n_false_alarms : ndarray of shape (..., n), dtype int64
        Detections that are no hits and are not ignored.
    n_objects : int, or ndarray of shape (...,)
        Objects in all scenes.
    n_scenes : int
        Scenes; 0 if not known.
    """

    scores: Floats
    hit_rate: Floats
    n_false_alarms: NDArray[np.int64]
    n_objects: int | NDArray[np.int64]
    n_scenes: int = 0

    @property
    def n_hits(self) -> Floats:
        """Objects found, shape (..., n)."""
        n_hits: Floats = self.hit_rate * np.asarray(self.n_objects)[..., None]
        return n_hits

    @property
    def precision(self) -> Floats:
        """Share of the detections that are hits, shape (..., n), in [0, 1]; 0 where there is none."""
        n_detections = self.n_hits + self.n_false_alarms
        return _ratio(self.n_hits, n_detections)

    @property
    def f1(self) -> Floats:
        """Harmonic mean of precision and hit rate, shape (..., n), in [0, 1]."""
        n_both = self.n_hits + self.n_false_alarms + np.asarray(self.n_objects)[..., None]
        return _ratio(2 * self.n_hits, n_both)

    @property
    def false_alarms_per_picture(self) -> Floats:
        """False alarms divided by scenes, shape (..., n).

        Raises
        ------
        SettingsError
            If the number of scenes is not known.
        """
        if not self.n_scenes:
            raise SettingsError("the curve does not know its number of scenes")
        per_picture: Floats = self.n_false_alarms / self.n_scenes
        return per_picture

    def false_alarms_per_megawindow(self, n_windows: int) -> Floats:
        """Return false alarms for each million windows, of which the scenes have so many; shape (..., n).

        Examples
        --------
        >>> matches = Matches(np.array([2.0, 1.0]), np.array([True, False]), 1)
        >>> detection_curve([matches]).false_alarms_per_megawindow(500_000).tolist()
        [0.0, 2.0]
        """
        per_megawindow: Floats = self.n_false_alarms / (n_windows / 1e6)
        return per_megawindow


def detection_curve(scenes: Sequence[Matches], ties: Ties = Ties.TOGETHER) -> Curve:
    """Count hits and false alarms of all scenes together for every score that may be asked for.

    Detections that are ignored count as nothing; a score that only they have is no step of the curve.

    Parameters
    ----------
    scenes : sequence of Matches
        One for each scene, those without detections included.
    ties : Ties
        What becomes of equal scores.

    Returns
    -------
    Curve
        Of all scenes.

    Examples
    --------
    >>> from vjcascade.evaluation.matching import match_detections
    >>> scene = match_detections([[0, 0, 9, 9], [50, 0, 9, 9]], [2.0, 1.0], [[0, 0, 9, 9], [0, 50, 9, 9]])
    >>> curve = detection_curve([scene])
    >>> curve.hit_rate.tolist(), curve.n_false_alarms.tolist()
    ([0.5, 0.5], [0, 1])
    """
    steps = Steps.of(scenes, ties)
    return steps.curve(np.ones(len(scenes), np.int64))


@dataclass(frozen=True, eq=False)
class Steps:
    """What the detections of all scenes add to the curve, best first: from it, curves of any of the scenes are made.

    Attributes
    ----------
    scores : ndarray of shape (n_steps,), dtype float64
        Falling.
    ends : ndarray of shape (n_steps,), dtype int64
        The last row of each score.
    scenes : ndarray of shape (n,), dtype int64
        The scene that each row is of.
    gains, false_alarms : ndarray of shape (n,), dtype float64, int64
        What each row adds.
    n_objects : ndarray of shape (n_scenes,), dtype int64
        Objects in each scene.
    """

    scores: Floats
    ends: NDArray[np.int64]
    scenes: NDArray[np.int64]
    gains: Floats
    false_alarms: NDArray[np.int64]
    n_objects: NDArray[np.int64]

    @classmethod
    def of(cls, scenes: Sequence[Matches], ties: Ties = Ties.TOGETHER) -> Steps:
        """Sort the detections of all scenes; see `detection_curve`.

        Examples
        --------
        >>> Steps.of([Matches(np.array([1.0, 2.0]), np.array([True, False]), 1)]).scores.tolist()
        [2.0, 1.0]
        """
        none = np.empty(0)
        numbers = np.repeat(np.arange(len(scenes)), [len(scene.scores) for scene in scenes])
        scores, gains, false_alarms, ignored = (
            np.concatenate([none, *(getattr(scene, name) for scene in scenes)])
            for name in ("scores", "gains", "false_alarms", "ignored")
        )
        counts = (ignored == 0) | (gains != 0) | (false_alarms != 0)
        n_objects = np.array([scene.n_objects for scene in scenes], np.int64)
        steps = cls.of_rows(
            scores[counts], numbers[counts], gains[counts], false_alarms[counts].astype(np.int64), n_objects
        )
        return steps if ties is Ties.TOGETHER else steps.one_by_one()

    @classmethod
    def of_rows(
        cls,
        scores: Floats,
        scenes: NDArray[np.int64],
        gains: Floats,
        false_alarms: NDArray[np.int64],
        n_objects: NDArray[np.int64],
    ) -> Steps:
        """Sort rows by their scores.

        Parameters
        ----------
        scores : ndarray of shape (n,), dtype float64
            Of the rows.
        scenes, gains, false_alarms, n_objects : ndarray
            As in the attributes, with rows in the order of the scores.

        Returns
        -------
        Steps
            Equal scores are one step.

        Examples
        --------
        >>> one, none = np.array([1.0]), np.array([0])
        >>> Steps.of_rows(one, none, one, none, np.array([1])).ends.tolist()
        [0]
        """
        order = np.argsort(-scores, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)[: len(order)]
        return cls(scores[order][ends], ends, scenes[order], gains[order], false_alarms[order], n_objects)

    def one_by_one(self) -> Steps:
        """Return the same with a step for each row, also where scores are equal."""
        scores = np.repeat(self.scores, self.n_rows)
        return replace(self, scores=scores, ends=np.arange(len(scores)))

    @property
    def n_rows(self) -> NDArray[np.int64]:
        """Rows of each score, shape (n_steps,)."""
        return np.diff(self.ends, prepend=-1)

    def of_scenes(self, is_used: NDArray[np.bool_]) -> Steps:
        """Return the steps of some of the scenes, which keep their numbers.

        Parameters
        ----------
        is_used : ndarray of shape (n_scenes,), dtype bool
            Which ones.

        Returns
        -------
        Steps
            Without the rows, scores and objects of the others.

        Examples
        --------
        >>> steps = Steps.of([Matches(np.array([score]), np.array([True]), 1) for score in (1.0, 2.0)])
        >>> steps.of_scenes(np.array([True, False])).scores.tolist()
        [1.0]
        """
        rows = is_used[self.scenes]
        return Steps.of_rows(
            np.repeat(self.scores, self.n_rows)[rows],
            self.scenes[rows],
            self.gains[rows],
            self.false_alarms[rows],
            self.n_objects * is_used,
        )

    def curve(self, counts: NDArray[np.int64]) -> Curve:
        """Return the curve, or the curves, of scenes that each come so many times.

        Parameters
        ----------
        counts : ndarray of shape (..., n_scenes), dtype int64
            How often each scene comes; zeros leave it out.

        Returns
        -------
        Curve
            Of so many scenes as the first counts add up to.

        Examples
        --------
        >>> steps = Steps.of([Matches(np.array([1.0]), np.array([True]), 2)])
        >>> steps.curve(np.array([[1], [1]])).hit_rate.tolist()
        [[0.5], [0.5]]
        """
        times = counts[..., self.scenes]
        n_objects = counts @ self.n_objects
        n_hits = (times * self.gains).cumsum(axis=-1)[..., self.ends]
        n_false = (times * self.false_alarms).cumsum(axis=-1)[..., self.ends]
        hit_rate = n_hits / np.maximum(n_objects, 1)[..., None]
        n_scenes = int(counts.reshape(-1, len(self.n_objects))[0].sum()) if counts.size else 0
        return Curve(
            self.scores, hit_rate, n_false, n_objects if counts.ndim > 1 else int(n_objects), n_scenes
        )

    def measured(self, counts: NDArray[np.int64], measures: Sequence[Measure]) -> Floats:
        """Return numbers of many curves, made a few at a time.

        Parameters
        ----------
        counts : ndarray of shape (n, n_scenes), dtype int64
            How often each scene comes.
        measures : sequence of Measure
            The numbers.

        Returns
        -------
        ndarray of shape (n, n_measures), dtype float64
            nan where no scene has an object.

        Examples
        --------
        >>> found, empty = np.array([True]), Matches(np.empty(0), np.empty(0, np.bool_), 0)
        >>> steps = Steps.of([Matches(np.array([1.0]), found, 2), empty])
        >>> steps.measured(np.array([[1, 1], [0, 2]]), [RecallAt(0)]).tolist()
        [[0.5], [nan]]
        """
        n_at_once = max(1, MAX_NUMBERS // max(1, len(self.scenes)))
        values = np.empty((len(counts), len(measures)))
        for begin in range(0, len(counts), n_at_once):
            curve = self.curve(counts[begin : begin + n_at_once])
            for column, measure in enumerate(measures):
                values[begin : begin + n_at_once, column] = measure.of(curve)
        values[counts @ self.n_objects == 0] = np.nan
        return values


class Measure(ABC):
    """A number that sums up a curve.

    Attributes
    ----------
    less_is_better : bool
        Whether a smaller one is better.
    """

    less_is_better: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """For tables."""

    @abstractmethod
    def of(self, curve: Curve) -> Floats:
        """Return the number of each curve, shape (...,)."""


@dataclass(frozen=True)
class RecallAt(Measure):
    """Share of the objects found with at most so many false alarms.

    Attributes
    ----------
    false_alarms : float
        At least 0.
    per_picture : bool
        Whether they are counted per picture, or in all scenes together.

    Examples
    --------
    >>> curve = detection_curve([Matches(np.array([3.0, 2.0, 1.0]), np.array([True, False, True]), 2)] * 2)
    >>> [float(RecallAt(n).of(curve)) for n in (0, 1, 2)]
    [0.5, 0.5, 1.0]
    >>> float(RecallAt(1, per_picture=True).of(curve))
    1.0
    """

    false_alarms: float
    per_picture: bool = False

    @property
    def name(self) -> str:
        """For tables."""
        per_picture = " per picture" if self.per_picture else ""
        alarms = "false alarm" if self.false_alarms == 1 else "false alarms"
        return f"recall at {self.false_alarms:g} {alarms}{per_picture}"

    def of(self, curve: Curve) -> Floats:
        """Return the number of each curve; see `Measure`."""
        n_false = curve.false_alarms_per_picture if self.per_picture else curve.n_false_alarms
        return _recall_within(curve, n_false <= self.false_alarms)


@dataclass(frozen=True)
class EndRecall(Measure):
    """Share of the objects found with all detections: at the end of the curve.

    Examples
    --------
    >>> curve = detection_curve([Matches(np.array([2.0, 1.0]), np.array([True, False]), 2)])
    >>> float(EndRecall().of(curve)), float(EndPrecision().of(curve)), float(EndFalseAlarms().of(curve))
    (0.5, 0.5, 1.0)
    """

    name: ClassVar[str] = "recall"

    def of(self, curve: Curve) -> Floats:
        """Return the number of each curve; see `Measure`."""
        return _last(curve.hit_rate)


@dataclass(frozen=True)
class EndPrecision(Measure):
    """Share of all detections that are hits; nan without detections. See `EndRecall`."""

    name: ClassVar[str] = "precision"

    def of(self, curve: Curve) -> Floats:
        """Return the number of each curve; see `Measure`."""
        n_hits = _last(curve.n_hits)
        n_detections = n_hits + _last(curve.n_false_alarms.astype(np.float64))
        precision: Floats = np.divide(
            n_hits, n_detections, np.full_like(n_hits, np.nan), where=n_detections > 0
        )[()]
        return precision


@dataclass(frozen=True)
class EndFalseAlarms(Measure):
    """False alarms per picture among all detections. See `EndRecall`."""

    name: ClassVar[str] = "false alarms per picture"
    less_is_better: ClassVar[bool] = True

    def of(self, curve: Curve) -> Floats:
        """Return the number of each curve; see `Measure`."""
        return _last(curve.false_alarms_per_picture)


@dataclass(frozen=True)
class BestF1(Measure):
    """The greatest harmonic mean of precision and recall along the curve.

    Examples
    --------
    >>> curve = detection_curve([Matches(np.array([3.0, 2.0, 1.0]), np.array([True, False, True]), 2)])
    >>> float(BestF1().of(curve))
    0.8
    """

    name: ClassVar[str] = "best F1"

    def of(self, curve: Curve) -> Floats:
        """Return the number of each curve; see `Measure`."""
        best: Floats = curve.f1.max(axis=-1, initial=0.0)
        return best


@dataclass(frozen=True)
class EqualPoint(Measure):
    """Recall where it equals precision: where there are as many detections as objects.

    Where a step of the curve leads past that point, it is the mean over all orders of the step's detections. nan
    where there are too few detections.

    Examples
    --------
    >>> curve = detection_curve([Matches(np.array([3.0, 2.0, 2.0]), np.array([True, False, True]), 2)])
    >>> float(EqualPoint().of(curve))
    0.75
    """

    name: ClassVar[str] = "recall = precision"

    def of(self, curve: Curve) -> Floats:
        """Return the number of each curve; see `Measure`."""
        n_hits = curve.n_hits.round(9)
        found = [
            np.interp(n, np.append(0, detections), np.append(0, hits), right=np.nan)
            for n, detections, hits in zip(
                np.ravel(curve.n_objects),
                _one_by_one(curve, n_hits + curve.n_false_alarms),
                _one_by_one(curve, n_hits),
                strict=True,
            )
        ]
        return np.reshape(found, np.shape(curve.n_objects)) / np.maximum(curve.n_objects, 1)


@dataclass(frozen=True)
class LogAverageMissRate(Measure):
    """Geometric mean of the miss rates at nine numbers of false alarms per picture, 0.01 to 1, evenly in the logarithm.

    At each of them the curve is read at its last step with at most so many false alarms. Where even its first step has
    more, the miss rate is 1; where the curve ends before, its last one counts: nothing is gained by fewer detections.

    References
    ----------
    .. [1] Dollar, Wojek, Schiele & Perona, "Pedestrian detection: an evaluation of the state of the art", PAMI 34(4),
           2012, sec. 3.1. :doi:`10.1109/TPAMI.2011.155`

    Examples
    --------
    >>> curve = detection_curve([Matches(np.array([2.0, 1.0]), np.array([True, False]), 2)])
    >>> round(float(LogAverageMissRate().of(curve)), 12)
    0.5
    """

    name: ClassVar[str] = "log-average miss rate"
    less_is_better: ClassVar[bool] = True

    def of(self, curve: Curve) -> Floats:
        """Return the number of each curve; see `Measure`."""
        per_picture = curve.false_alarms_per_picture
        missed = [1 - _recall_within(curve, per_picture <= point) for point in MISS_RATE_POINTS]
        mean: Floats = np.exp(np.log(np.maximum(missed, LEAST_MISS_RATE)).mean(axis=0))
        return mean


@dataclass(frozen=True)
class AveragePrecision(Measure):
    """Mean precision at 101 hit rates from 0 to 1, as COCO's programs compute it.

    At each of them, the greatest precision counts that the curve has at this or a higher hit rate; 0 where it does not
    reach it. Equal to `pycocotools` for the same matches; where scores are equal, that takes detections in the order
    given, and this is the lowest that it says for any order.

    References
    ----------
    .. [1] Lin et al., "Microsoft COCO: Common objects in context", ECCV 2014.

    Examples
    --------
    >>> curve = detection_curve([Matches(np.array([3.0, 2.0]), np.array([True, True]), 2)])
    >>> float(AveragePrecision().of(curve))
    1.0
    """

    name: ClassVar[str] = "average precision"

    def of(self, curve: Curve) -> Floats:
        """Return the number of each curve; see `Measure`."""
        best = np.maximum.accumulate(curve.precision[..., ::-1], axis=-1)[..., ::-1]
        reached = np.maximum.accumulate(curve.hit_rate, axis=-1)
        means = [
            np.append(precision, 0.0)[np.searchsorted(hit_rate, RECALLS)].mean()
            for precision, hit_rate in zip(_one_by_one(curve, best), _one_by_one(curve, reached), strict=True)
        ]
        mean: Floats = np.reshape(means, np.shape(curve.n_objects))[()]
        return mean


class Point(NamedTuple):
    """One step of a curve.

    Attributes
    ----------
    score : float
        What is asked of detections.
    hit_rate, precision, f1 : float
        In [0, 1].
    n_false_alarms : int
        In all scenes.
    """

    score: float
    hit_rate: float
    precision: float
    f1: float
    n_false_alarms: int


def points(curve: Curve) -> list[Point]:
    """Return all steps of one curve.

    Examples
    --------
    >>> points(detection_curve([Matches(np.array([2.0]), np.array([True]), 2)]))
    [Point(score=2.0, hit_rate=0.5, precision=1.0, f1=0.6666666666666666, n_false_alarms=0)]
    """
    columns = (curve.scores, curve.hit_rate, curve.precision, curve.f1, curve.n_false_alarms)
    return [Point(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _recall_within(curve: Curve, is_within: NDArray[np.bool_]) -> Floats:
    """Return the greatest hit rate of the steps that are within a limit; 0 if none is."""
    greatest: Floats = np.where(is_within, curve.hit_rate, 0.0).max(axis=-1, initial=0.0)
    return greatest


def _last(steps: Floats) -> Floats:
    """Return what there is at the last step of each curve; 0 where there is no step."""
    last: Floats = steps[..., -1:].sum(axis=-1)
    return last


def _one_by_one(curve: Curve, array: Floats) -> Floats:
    """Return the rows of one curve or of many as rows of many, shape (n_curves, n)."""
    return array.reshape(np.size(curve.n_objects), len(curve.scores))


def _ratio(counts: Floats, totals: Floats) -> Floats:
    """Return counts divided by totals, and 0 where the total is 0."""
    ratio: Floats = np.divide(counts, totals, np.zeros_like(totals), where=totals > 0)
    return ratio
