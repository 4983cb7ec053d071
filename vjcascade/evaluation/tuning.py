"""Choose the operating point of a model on labelled scenes, and measure it on scenes that it was not chosen on.

Every picture is scanned once for each scale factor. A grid of stages, shifts of the last threshold and `min_neighbors`
is then tried on what the scan has kept, and after it, for the best of these, other scale factors and a smallest object.
Where to cut the ranking scores follows from the curve of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vjcascade.cascade import Cascade
from vjcascade.errors import SettingsError
from vjcascade.evaluation.curves import Steps
from vjcascade.evaluation.goals import Figures, Goal
from vjcascade.evaluation.margin_scan import MAX_WINDOWS, MarginScan, scan_margins
from vjcascade.evaluation.matching import FDDB, NO_BOXES, IoU, Matches, MatchingRule
from vjcascade.evaluation.operating_point import OperatingPoint
from vjcascade.types import Detections, Size

STAGES_TRIED = 7
"""How many numbers of stages are tried: all, and down to six fewer."""

SHIFTS = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""Shifts of the last threshold, in standard deviations of the margins of windows that reach this stage."""

NEIGHBORS = (1, 2, 3, 5)
SCALE_FACTORS = (1.1, 1.05, 1.2)
"""The first one is that of the grid."""

SHARE_OF_SMALLEST = 0.75
"""A smallest object that is tried, as a share of the smallest in the scenes."""

N_FOLDS = 5

TOTAL_WINDOWS = 3_000_000
"""Windows of all pictures that are kept at a scale factor; with more, more stages stay as they are."""


@dataclass(frozen=True)
class Tuning:
    """An operating point, and its figures.

    Attributes
    ----------
    point : OperatingPoint
        The one chosen.
    goal : Goal
        What for.
    before, after : Figures
        On the scenes, with default settings and at the point. The second is optimistic: the point was chosen there.
    cross_validated : Figures or None
        At points chosen on the other scenes, four fifths of them; None if there is one scene only.
    meets_goal : bool
        Whether the goal can be reached on these scenes; if not, the point is the one that comes closest.
    """

    point: OperatingPoint
    goal: Goal
    before: Figures
    after: Figures
    cross_validated: Figures | None
    meets_goal: bool

    def as_dict(self) -> dict[str, Any]:
        """Return goal and figures as plain JSON values, for the model's metadata."""
        figures = {"before": self.before, "after": self.after, "cross_validated": self.cross_validated}
        plain = {name: None if one is None else dict(vars(one)) for name, one in figures.items()}
        return {"goal": str(self.goal), **plain}


def tune(  # noqa: PLR0913  each is a user's choice
    cascade: Cascade,
    pictures: Sequence[Any],
    boxes: Sequence[ArrayLike],
    goal: Goal | None = None,
    *,
    rule: MatchingRule | None = None,
    ignored: Sequence[ArrayLike] | None = None,
    n_threads: int | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Tuning:
    """Choose the operating point of a model on labelled scenes.

    Settings that differ from the best one by no more than one object are ties. Of these, those win whose
    neighbours in the grid (a stage more or less, the next shift, the next `min_neighbors`) do best on average: what
    is good in a wide range is more likely to be good on other pictures than a lucky spike. Where ranges are as good
    within one object again, the one nearest to the unchanged model wins, which suits programs without ranking
    scores. The score limit lies halfway between the last detection kept and the next one.

    Parameters
    ----------
    cascade : Cascade
        At least one stage.
    pictures : sequence of ndarray
        As for `Detector.detect`; each item is taken once for each scale factor, so it may be read when it is asked
        for.
    boxes : sequence of array_like of shape (n, 4)
        True boxes of each picture, `x, y, w, h`; n may be 0.
    goal : Goal, optional
        The best F1 if not given.
    rule : MatchingRule, optional
        What counts as a hit; `IoU` if not given.
    ignored : sequence of array_like of shape (n, 4), optional
        Regions of each picture where nothing counts.
    n_threads : int, optional
        All processors if not given. Results do not depend on it.
    progress : callable, optional
        Called as `progress(n_done, n_steps)`.

    Returns
    -------
    Tuning
        The point and its figures.

    Raises
    ------
    SettingsError
        If there is no object, pictures and boxes differ in number, the rule counts shares of objects, or the cascade
        has no stage.

    Examples
    --------
    >>> import vjcascade
    >>> faces = Cascade.load(vjcascade.compat.data.find("frontalface")).first_stages(9)
    >>> picture = np.random.default_rng(1).integers(0, 256, (60, 60), np.uint8)
    >>> tune(faces, [picture], [[[10, 10, 24, 24]]]).after.n_objects
    1
    """
    truth = [np.asarray(one, np.float64).reshape(-1, 4) for one in boxes]
    regions = [NO_BOXES] * len(truth) if ignored is None else ignored
    for given, what in ((truth, "boxes"), (regions, "regions to ignore")):
        if len(given) != len(pictures):
            raise SettingsError(
                f"{len(pictures)} pictures need as many sets of {what}, these are {len(given)}"
            )
    rule = IoU() if rule is None else rule
    if isinstance(rule, FDDB) and rule.is_continuous:
        raise SettingsError(
            f"{rule.name} counts shares of objects, no objects found; tune with fddb-discrete"
        )
    if not any(len(one) for one in truth):
        raise SettingsError("the scenes have no boxes: there is nothing to tune for")
    if cascade.n_stages == 0:
        raise SettingsError("a cascade without stages cannot be tuned; train it first")
    goal = goal or Goal()
    judge = _Judge(rule, truth, regions)
    trials = _Trials(cascade, pictures, judge, n_threads, progress)
    everywhere = np.ones(len(truth), np.bool_)
    point, is_met = _chosen(trials, goal, everywhere)
    return Tuning(
        point,
        goal,
        trials.figures(OperatingPoint(n_stages=cascade.n_stages), everywhere),
        trials.figures(point, everywhere),
        _cross_validated(trials, goal),
        is_met,
    )


@dataclass(frozen=True, eq=False)
class _Judge:
    """What a hit is, and where the objects and the regions to ignore are in each picture."""

    rule: MatchingRule
    truth: list[NDArray[np.float64]]
    ignored: Sequence[ArrayLike]

    def matches(self, found: Sequence[Detections]) -> list[Matches]:
        """Match the detections in all pictures with the true boxes."""
        return [
            self.rule.match(one.boxes, one.ranking_scores, boxes, regions)
            for one, boxes, regions in zip(found, self.truth, self.ignored, strict=True)
        ]


class _Trials:
    """Settings, tried on scenes when they are asked for."""

    def __init__(
        self,
        cascade: Cascade,
        pictures: Sequence[Any],
        judge: _Judge,
        n_threads: int | None,
        progress: Callable[[int, int], None],
    ) -> None:
        self.cascade, self.truth = cascade, judge.truth
        self.n_objects = np.array([len(boxes) for boxes in judge.truth])
        self._pictures, self._scenes, self._n_threads = pictures, judge, n_threads
        self._judged: dict[OperatingPoint, Steps] = {}
        self._progress, self._n_done = progress, 0
        self._n_fixed = max(1, cascade.n_stages - STAGES_TRIED + 1)
        self._scans: dict[float, list[MarginScan]] = {}
        for scale_factor in SCALE_FACTORS:
            self._scans[scale_factor] = self._scanned(scale_factor)
        self.grid = self._make_grid()

    def _scanned(self, scale_factor: float) -> list[MarginScan]:
        """Scan all pictures; with more fixed stages if too many windows would be kept."""
        scans: list[MarginScan] = []
        n_left = TOTAL_WINDOWS
        while len(scans) < len(self._pictures):
            try:
                scan = scan_margins(
                    self._pictures[len(scans)],
                    self.cascade,
                    self._n_fixed,
                    scale_factor=scale_factor,
                    max_windows=min(n_left, MAX_WINDOWS),
                    n_threads=self._n_threads,
                )
            except SettingsError:
                if self._n_fixed == self.cascade.n_stages:
                    raise SettingsError(
                        "too many windows of the scenes pass the whole model: train it with more stages, or "
                        "tune it on fewer scenes"
                    ) from None
                self._n_fixed += 1
                scans, n_left = [], TOTAL_WINDOWS
                continue
            scans.append(scan)
            n_left -= len(scan)
            self._tell(len(scans) == len(self._pictures))
        return scans

    def _make_grid(self) -> dict[tuple[int, int, int], OperatingPoint]:
        """Return the settings of the grid by their places in it."""
        grid = {}
        for i in range(self.cascade.n_stages - self._n_fixed + 1):
            n = self._n_fixed + i
            spread = self._spread(n)
            for j, shift in enumerate(SHIFTS):
                if shift and not spread:
                    continue
                for k, min_neighbors in enumerate(NEIGHBORS):
                    grid[i, j, k] = OperatingPoint(
                        n_stages=n,
                        threshold_shift=float(f"{shift * spread:.3g}"),
                        min_neighbors=min_neighbors,
                    )
        return grid

    def _spread(self, n_stages: int) -> float:
        """Return the standard deviation of the last margins of windows that reach a stage; 0 for a fixed one."""
        if n_stages == self._n_fixed:
            return 0.0
        values = np.concatenate(
            [
                scan.margins[scan.stages >= n_stages - 1, n_stages - scan.n_fixed]
                for scan in self._scans[SCALE_FACTORS[0]]
            ]
        )
        return float(values.std()) if len(values) else 0.0

    def judged(self, point: OperatingPoint) -> Steps:
        """Return what is found with some settings, whatever its ranking score."""
        point = replace(point, min_ranking_score=0.0)
        if point not in self._judged:
            self._judge(point)
            self._tell(True)
        return self._judged[point]

    def _judge(self, point: OperatingPoint) -> None:
        """Try some settings with every `min_neighbors`: what is accepted, and alike, is the same for all of them."""
        changed = point.changed(self.cascade)
        scans = self._scans[point.scale_factor]
        found = [scan.detections_by_neighbors(changed, NEIGHBORS, min_size=point.min_size) for scan in scans]
        for min_neighbors, detections in zip(NEIGHBORS, zip(*found, strict=True), strict=True):
            steps = Steps.of(self._scenes.matches(detections))
            self._judged[replace(point, min_neighbors=min_neighbors)] = steps

    def _tell(self, is_step: bool) -> None:
        self._n_done += is_step
        n_grid = (self.cascade.n_stages - self._n_fixed) * len(SHIFTS)
        self._progress(self._n_done, max(n_grid + len(SCALE_FACTORS), self._n_done))

    def figures(self, point: OperatingPoint, is_used: NDArray[np.bool_]) -> Figures:
        """Return the figures of a point on some of the scenes."""
        steps = self.judged(point).of_scenes(is_used)
        n_rows = int(steps.n_rows[steps.scores >= point.min_ranking_score].sum())
        n_hits, n_false = int(steps.gains[:n_rows].sum()), int(steps.false_alarms[:n_rows].sum())
        return Figures(int(is_used.sum()), int(steps.n_objects.sum()), n_hits, n_false)


def _best_cut(
    trials: _Trials, point: OperatingPoint, goal: Goal, is_used: NDArray[np.bool_]
) -> tuple[float, OperatingPoint]:
    """Return the quality of some settings at the best limit of ranking scores, and with this limit."""
    steps = trials.judged(point).of_scenes(is_used)
    scores = steps.scores
    if len(scores) == 0:
        return -1.0, point
    n_hits, n_false = steps.gains.cumsum()[steps.ends], steps.false_alarms.cumsum()[steps.ends]
    qualities = goal.qualities(n_hits, n_false, int(steps.n_objects.sum()), int(is_used.sum()))
    best = int(qualities.argmax())
    limit = 0.0 if best == len(scores) - 1 else limit_between(scores[best + 1], scores[best])
    return float(qualities[best]), replace(point, min_ranking_score=limit)


def limit_between(low: float, high: float) -> float:
    """Return a short number above `low`, and at most `high`, near the middle of them.

    Examples
    --------
    >>> limit_between(1.0, 2.0), limit_between(1.0, 1.0000002)
    (1.5, 1.0000001)
    """
    middle = (float(low) + float(high)) / 2
    for digits in range(2, 17):
        short = float(f"{middle:.{digits}g}")
        if low < short <= high:
            return short
    return float(high)


def _chosen(trials: _Trials, goal: Goal, is_used: NDArray[np.bool_]) -> tuple[OperatingPoint, bool]:
    """Return the point that is best on some of the scenes, and whether it meets the goal."""
    cuts = {place: _best_cut(trials, point, goal, is_used) for place, point in trials.grid.items()}
    tie = 1 / max(int(trials.n_objects[is_used].sum()), 1)
    quality, point = _most_robust(cuts, tie)
    for variant in _variants(trials, point, is_used):
        other_quality, other = _best_cut(trials, variant, goal, is_used)
        if other_quality > quality + tie:
            quality, point = other_quality, other
    return point, quality >= 0


def _most_robust(
    cuts: dict[tuple[int, int, int], tuple[float, OperatingPoint]], tie: float
) -> tuple[float, OperatingPoint]:
    """Return the quality and the settings of those among the best that `tune` prefers."""
    best = max(quality for quality, _ in cuts.values())
    least = (
        max(best - tie, 0.0) if best >= 0 else best - tie
    )  # what misses the goal is no tie of what meets it
    around = {place: _mean_around(cuts, place) for place, (quality, _) in cuts.items() if quality >= least}
    widest = max(around.values())
    robust = [cuts[place] for place, mean in around.items() if mean >= widest - tie]
    return min(robust, key=_distance_from_defaults)


def _distance_from_defaults(cut: tuple[float, OperatingPoint]) -> tuple[float, ...]:
    """Return what is smallest for the settings nearest to those of an untuned model."""
    point = cut[1]
    return -point.n_stages, abs(point.threshold_shift), abs(point.min_neighbors - 3), -cut[0]


def _mean_around(
    cuts: dict[tuple[int, int, int], tuple[float, OperatingPoint]], place: tuple[int, int, int]
) -> float:
    """Return the mean quality of settings and of their neighbours in the grid."""
    i, j, k = place
    near = (
        (i, j, k),
        (i - 1, j, k),
        (i + 1, j, k),
        (i, j - 1, k),
        (i, j + 1, k),
        (i, j, k - 1),
        (i, j, k + 1),
    )
    return float(np.mean([cuts[one][0] for one in near if one in cuts]))


def _variants(trials: _Trials, point: OperatingPoint, is_used: NDArray[np.bool_]) -> list[OperatingPoint]:
    """Return the settings with other scale factors, and with a smallest object below all of the scenes."""
    variants = [replace(point, scale_factor=factor) for factor in SCALE_FACTORS[1:]]
    boxes = np.concatenate([boxes for boxes, used in zip(trials.truth, is_used, strict=True) if used])
    window = trials.cascade.window
    if len(boxes):
        scale = SHARE_OF_SMALLEST * float((boxes[:, 2:] / np.array(window)).max(axis=1).min())
        if scale > 1:
            variants.append(
                replace(point, min_size=Size(int(scale * window.width), int(scale * window.height)))
            )
    return variants


def _cross_validated(trials: _Trials, goal: Goal) -> Figures | None:
    """Return the figures on each part of the scenes at the point chosen on the others, added up."""
    n_scenes = len(trials.truth)
    n_folds = min(N_FOLDS, n_scenes)
    if n_folds < 2:
        return None
    fold = np.arange(n_scenes) % n_folds
    total = Figures(0, 0, 0, 0)
    for number in range(n_folds):
        if not trials.n_objects[fold != number].any():
            return None
        point, _ = _chosen(trials, goal, fold != number)
        total += trials.figures(point, fold == number)
    return total
