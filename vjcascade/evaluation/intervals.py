"""How sure a figure on scenes is: the bootstrap over scenes, and whether two models differ on the same ones.

Scenes are drawn, not detections: those of one picture stand or fall together. What the intervals say is how much the
same models would differ on other scenes of the kind; nothing of how another run of training would turn out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.state import Floats
from vjcascade.errors import SettingsError
from vjcascade.evaluation.curves import Measure, Steps
from vjcascade.evaluation.matching import Matches

N_RESAMPLES = 1000

LEVEL = 0.95
"""How often an interval is to contain the true value."""


@dataclass(frozen=True)
class Interval:
    """A figure and its confidence interval.

    Attributes
    ----------
    mean : float
        What was measured: on all scenes, or in the mean over seeds. nan where nothing was measured or a value is
        infinite.
    low, high : float
        Ends of the interval; nan where there is none, as for fewer than two seeds.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """The difference of two models on the same scenes.

    Attributes
    ----------
    measure : Measure
        In what.
    interval : Interval
        The first minus the second.
    level : float
        Of the interval.

    Examples
    --------
    >>> from vjcascade.evaluation.curves import RecallAt
    >>> print(Difference(RecallAt(5), Interval(0.03, -0.012, 0.071), 0.95).verdict("new", "old"))
    recall at 5 false alarms: no significant difference (95 % CI -1.2 to 7.1 points)
    >>> print(Difference(RecallAt(5), Interval(0.03, 0.012, 0.048), 0.95).verdict("new", "old"))
    recall at 5 false alarms: new is better than old by 3.0 points (95 % CI 1.2 to 4.8)
    """

    measure: Measure
    interval: Interval
    level: float

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes 0."""
        return self.interval.low > 0 or self.interval.high < 0

    def verdict(self, first: str, second: str) -> str:
        """Return the difference in a sentence, in percentage points.

        Parameters
        ----------
        first, second : str
            Names of the models.

        Returns
        -------
        str
            Which is better and by how much, or that this is not known.
        """
        low, high = 100 * self.interval.low, 100 * self.interval.high
        if math.isnan(low):
            return f"{self.measure.name}: not known from these scenes"
        level = f"{100 * self.level:g} % CI"
        if not self.is_significant:
            return f"{self.measure.name}: no significant difference ({level} {low:.1f} to {high:.1f} points)"
        first_is_better = (self.interval.low > 0) != self.measure.less_is_better
        better, worse = (first, second) if first_is_better else (second, first)
        low, high = sorted([abs(low), abs(high)])
        size = f"{100 * abs(self.interval.mean):.1f} points ({level} {low:.1f} to {high:.1f})"
        return f"{self.measure.name}: {better} is better than {worse} by {size}"


def bootstrap(
    scenes: Sequence[Matches],
    measures: Sequence[Measure],
    *,
    n_resamples: int = N_RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> tuple[Interval, ...]:
    """Return figures with their bootstrap intervals: percentiles over resampled scenes.

    Parameters
    ----------
    scenes : sequence of Matches
        One for each scene, those without detections included.
    measures : sequence of Measure
        What to find out.
    n_resamples : int
        Draws of as many scenes as there are.
    level : float
        Confidence level of the intervals, in (0, 1).
    seed : int
        Chooses the draws.

    Returns
    -------
    tuple of Interval
        One for each measure. Draws without any object are left out.

    Raises
    ------
    SettingsError
        If there are no scenes, or the level is none.

    References
    ----------
    .. [1] Efron & Tibshirani, "An introduction to the bootstrap", 1993, ch. 13.

    Examples
    --------
    >>> from vjcascade.evaluation.curves import RecallAt
    >>> found = Matches(np.array([1.0]), np.array([True]), 1)
    >>> missed = Matches(np.empty(0), np.empty(0, np.bool_), 1)
    >>> (recall,) = bootstrap([found, missed] * 20, [RecallAt(0)])
    >>> recall
    Interval(mean=0.5, low=0.35, high=0.65)
    """
    values = Steps.of(scenes).measured(scene_weights(len(scenes), n_resamples, seed), measures)
    return percentile_intervals(values, level)


def paired_differences(
    first: Sequence[Matches],
    second: Sequence[Matches],
    measures: Sequence[Measure],
    *,
    n_resamples: int = N_RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> tuple[Difference, ...]:
    """Return the differences of two models on the same scenes, resampled for both together (paired bootstrap).

    Parameters
    ----------
    first, second : sequence of Matches
        One for each scene, in the same order.
    measures, n_resamples, level, seed : sequence of Measure, int, float, int
        As for `bootstrap`.

    Returns
    -------
    tuple of Difference
        The first minus the second, for each measure.

    Raises
    ------
    SettingsError
        If these are not the same scenes, or the level is none.

    Examples
    --------
    >>> from vjcascade.evaluation.curves import AveragePrecision
    >>> scenes = [Matches(np.array([1.0]), np.array([True]), 2)] * 9
    >>> (difference,) = paired_differences(scenes, scenes, [AveragePrecision()])
    >>> print(difference.verdict("a", "b"))
    average precision: no significant difference (95 % CI 0.0 to 0.0 points)
    """
    if [one.n_objects for one in first] != [one.n_objects for one in second]:
        raise SettingsError(
            f"{len(first)} and {len(second)} scenes do not have the same objects; compare models on the same scenes"
        )
    weights = scene_weights(len(first), n_resamples, seed)
    values = Steps.of(first).measured(weights, measures) - Steps.of(second).measured(weights, measures)
    intervals = percentile_intervals(values, level)
    return tuple(
        Difference(measure, found, level) for measure, found in zip(measures, intervals, strict=True)
    )


def scene_weights(n_scenes: int, n_resamples: int, seed: int = 0) -> NDArray[np.int64]:
    """Return how often each scene counts: once in the first row, as often as it was drawn in the others.

    Parameters
    ----------
    n_scenes, n_resamples : int
        Scenes, and draws of so many of them.
    seed : int
        Chooses the draws.

    Returns
    -------
    ndarray of shape (1 + n_resamples, n_scenes), dtype int64
        Each row adds up to `n_scenes`.

    Raises
    ------
    SettingsError
        If there are no scenes.

    Examples
    --------
    >>> scene_weights(3, 2).sum(axis=1).tolist()
    [3, 3, 3]
    """
    if n_scenes < 1:
        raise SettingsError("there are no scenes to draw from")
    draws = np.random.default_rng(seed).multinomial(n_scenes, np.full(n_scenes, 1 / n_scenes), n_resamples)
    return np.concatenate([np.ones((1, n_scenes), np.int64), draws])


def percentile_intervals(values: Floats, level: float = LEVEL) -> tuple[Interval, ...]:
    """Return for each column the first number, and where most of the others lie.

    Parameters
    ----------
    values : ndarray of shape (1 + n_resamples, n), dtype float64
        What was measured, and the same on draws; nan where it could not be.
    level : float
        Share of the draws in the interval, in (0, 1).

    Returns
    -------
    tuple of Interval
        One for each column.

    Raises
    ------
    SettingsError
        If the level is none.

    Examples
    --------
    >>> percentile_intervals(np.array([[0.5], [0.4], [0.5], [0.6]]), 0.5)
    (Interval(mean=0.5, low=0.45, high=0.55),)
    """
    check_level(level)
    ends = 100 * np.array([(1 - level) / 2, (1 + level) / 2])
    found = []
    for column in values.T:
        resampled = column[1:][~np.isnan(column[1:])]
        low, high = np.percentile(resampled, ends) if len(resampled) else (math.nan, math.nan)
        found.append(Interval(float(column[0]), float(low), float(high)))
    return tuple(found)


def check_level(level: float) -> None:
    """Refuse what is no level of confidence.

    Raises
    ------
    SettingsError
        If it is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise SettingsError(
            f"level {level} of a confidence interval is not between 0 and 1, for example 0.95"
        )
