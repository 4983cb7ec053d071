"""Measure models on labelled scenes, side by side.

Each picture is scanned once for each model. From this scan come the curve (all groups of two windows or more, ranked by
their scores), what the detector returns with the settings that are in use, and what it would return with fewer stages
or another `min_neighbors`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vjcascade.boosters.state import Floats
from vjcascade.clusters import open_cluster, spread
from vjcascade.detection.scales import scan_levels
from vjcascade.errors import SettingsError
from vjcascade.evaluation.curves import Curve, Steps, detection_curve
from vjcascade.evaluation.figures import (
    COCO,
    COCO_OVERLAPS,
    CURVE,
    POINT,
    Figure,
    figure_values,
)
from vjcascade.evaluation.goals import Figures
from vjcascade.evaluation.intervals import (
    Difference,
    Interval,
    percentile_intervals,
    scene_weights,
)
from vjcascade.evaluation.margin_scan import MAX_WINDOWS, MarginScan, scan_margins
from vjcascade.evaluation.matching import FDDB, IoU, Matches, within_heights
from vjcascade.evaluation.protocol import CURVE_NEIGHBORS, Candidate, Protocol
from vjcascade.evaluation.scenes import Scene, Scenes
from vjcascade.evaluation.sizes import SizeClass, size_classes
from vjcascade.imaging import read_gray
from vjcascade.messages import pluralize
from vjcascade.parallel import checked_threads
from vjcascade.types import Detections, Size

STAGES_TRIED = 4
"""How many numbers of stages are tried beside the settings in use: all, and down to three fewer."""

NEIGHBORS_TRIED = (1, 2, 3, 5)


@dataclass(frozen=True, eq=False)
class Findings:
    """What a model finds in one scene.

    Attributes
    ----------
    found : Detections
        All groups of more than `CURVE_NEIGHBORS` windows: those of the curve.
    matches : Matches
        These, judged.
    used : Detections
        What the detector returns with the settings in use.
    used_matches : Matches
        These, judged.
    n_windows : int
        Windows in the grid of the scan, including those that OpenCV skips.
    tried : mapping of (int, int) to Figures
        What is found with so many stages and so much of `min_neighbors`.
    """

    found: Detections
    matches: Matches
    used: Detections
    used_matches: Matches
    n_windows: int
    tried: Mapping[tuple[int, int], Figures]


@dataclass(frozen=True, eq=False)
class ModelResult:
    """A model on all scenes.

    Attributes
    ----------
    candidate : Candidate
        The model.
    findings : tuple of Findings
        One for each scene.
    curve : Curve
        Over all scenes.
    values : ndarray of shape (1 + n_resamples, n_figures), dtype float64
        Of all figures, on the scenes and on such drawn of them; see `Evaluation.interval`.
    size_values : ndarray of shape (n_sizes, 1 + n_resamples, n_size_figures), dtype float64
        The same for each class of objects.
    """

    candidate: Candidate
    findings: tuple[Findings, ...]
    curve: Curve
    values: Floats
    size_values: Floats

    @property
    def name(self) -> str:
        """In tables."""
        return self.candidate.name

    @property
    def n_windows(self) -> int:
        """Windows in all scenes."""
        return sum(one.n_windows for one in self.findings)

    @cached_property
    def used(self) -> Figures:
        """Counts with the settings in use."""
        return _sum(_counts(one.used_matches) for one in self.findings)

    @cached_property
    def tried(self) -> dict[tuple[int, int], Figures]:
        """Counts by number of stages and `min_neighbors`, of those that could be tried in every scene."""
        known = set.intersection(*(set(one.tried) for one in self.findings))
        return {place: _sum(one.tried[place] for one in self.findings) for place in sorted(known)}


SIZE_FIGURES = ("point_recall", "point_precision")
"""Keys of the figures that are told for each class of objects, beside the main one and the average precision."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Models on the same scenes.

    Attributes
    ----------
    scenes : Scenes
        Pictures and true boxes.
    protocol : Protocol
        How models are evaluated.
    models : tuple of ModelResult
        In the order given.
    sizes : tuple of SizeClass
        Classes of objects; none where the rule does not tell them apart.
    size_figures : tuple of Figure
        What is reported of each class.
    """

    scenes: Scenes
    protocol: Protocol
    models: tuple[ModelResult, ...]
    sizes: tuple[SizeClass, ...]
    size_figures: tuple[Figure, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """What was measured."""
        return self.protocol.figures

    @property
    def n_objects(self) -> int:
        """Objects in all scenes."""
        return int(self.scenes.n_objects.sum())

    def intervals(self, model: ModelResult) -> tuple[Interval, ...]:
        """Return the figures of a model, with their confidence intervals."""
        return self._intervals(model.values)

    def size_intervals(self, model: ModelResult, number: int) -> tuple[Interval, ...]:
        """Return the figures of a model for a class of objects, by its number."""
        return self._intervals(model.size_values[number])

    def main(self, model: ModelResult) -> Interval:
        """Return the figure that models are ranked by."""
        return self.intervals(model)[self._main_column]

    def differences(self, first: ModelResult, second: ModelResult) -> tuple[Difference, ...]:
        """Return the difference of two models in each figure, on the same draws of scenes."""
        intervals = self._intervals(first.values - second.values)
        return tuple(
            Difference(figure.measure, interval, self.protocol.level)
            for figure, interval in zip(self.figures, intervals, strict=True)
        )

    def main_difference(self, first: ModelResult, second: ModelResult) -> Difference:
        """Return the difference in the figure that models are ranked by."""
        return self.differences(first, second)[self._main_column]

    @property
    def best_first(self) -> list[ModelResult]:
        """The models by the figure that they are ranked by; equal ones in the order given."""
        return sorted(self.models, key=lambda model: -float(model.values[0, self._main_column]))

    def _intervals(self, values: Floats) -> tuple[Interval, ...]:
        """Return intervals; none around what is unknown for the scenes themselves, though known for some draws."""
        known = np.where(np.isnan(values[0]), np.nan, values)
        return percentile_intervals(known, self.protocol.level)

    @property
    def _main_column(self) -> int:
        return [figure.key for figure in self.figures].index(self.protocol.main.key)


def evaluate(
    candidates: Sequence[Candidate],
    scenes: Scenes,
    protocol: Protocol | None = None,
    *,
    n_threads: int | None = None,
    client: Any = None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Evaluation:
    """Evaluate models on labelled scenes.

    Parameters
    ----------
    candidates : sequence of Candidate
        The models, at least one; their names differ.
    scenes : Scenes
        From `read_scenes`. Neither training nor tuning should have seen them.
    protocol : Protocol, optional
        How models are evaluated.
    n_threads : int, optional
        Pictures that are searched at the same time; all processors if not given. Results do not depend on it.
    client : distributed.Client or str, optional
        A cluster of Dask whose workers search the pictures; see `vjcascade.train`. A picture that a worker cannot read
        is searched here.
    progress : callable, optional
        Called as `progress(name, n_done, n_steps)` after each picture; a step is a picture searched with a model.

    Returns
    -------
    Evaluation
        All figures with their intervals, and what was found.

    Raises
    ------
    SettingsError
        If there is no model, one has no stages, or names are not different.
    ImageError
        If a picture can no longer be read.
    ClusterError
        If the cluster cannot be reached, or is lost.

    Examples
    --------
    >>> import vjcascade
    >>> from pathlib import Path
    >>> from vjcascade.evaluation import read_scenes
    >>> from vjcascade.imaging import write_image
    >>> write_image("street.png", np.random.default_rng(1).integers(0, 256, (60, 60), np.uint8))
    >>> _ = Path("scenes.txt").write_text("street.png 1 10 10 24 24")
    >>> faces = vjcascade.Cascade.load(vjcascade.compat.data.find("frontalface"))
    >>> evaluated = evaluate([Candidate("faces", vjcascade.Detector(faces))], read_scenes("scenes.txt"))
    >>> evaluated.main(evaluated.models[0])
    Interval(mean=0.0, low=0.0, high=0.0)
    """
    protocol = protocol or Protocol()
    _check(candidates)
    heights = np.concatenate([scene.boxes[:, 3] for scene in scenes.scenes])
    sizes = size_classes(heights, protocol.size_bounds)
    sizes = () if isinstance(protocol.rule, FDDB) else sizes
    by_key = {figure.key: figure for figure in protocol.figures}
    size_figures = (*(by_key[key] for key in SIZE_FIGURES), protocol.main)
    models: list[ModelResult] = []
    n_threads = checked_threads(n_threads)
    with open_cluster(client) as cluster:
        for candidate in candidates:
            findings = []
            for one in spread(cluster, _search, (candidate, protocol), scenes.scenes, n_threads):
                findings.append(one)
                n_done = len(models) * len(scenes) + len(findings)
                progress(candidate.name, n_done, len(candidates) * len(scenes))
            models.append(_result(candidate, findings, scenes, protocol, (sizes, size_figures)))
    return Evaluation(scenes, protocol, tuple(models), sizes, size_figures)


def _check(candidates: Sequence[Candidate]) -> None:
    if not candidates:
        raise SettingsError("there is no model to evaluate: give at least one")
    names = [candidate.name for candidate in candidates]
    for candidate in candidates:
        if names.count(candidate.name) > 1:
            raise SettingsError(f"two models have the name {candidate.name!r}; give them different ones")
        if candidate.cascade.n_stages == 0:
            raise SettingsError(
                f"{candidate.name}: a cascade without stages accepts every window; train it first"
            )


def _search(shared: tuple[Candidate, Protocol], scene: Scene) -> Findings:
    """Scan a picture once, and judge what a model finds in it."""
    candidate, protocol = shared
    detector, cascade = candidate.detector, candidate.cascade
    bounds = {"min_size": detector.min_size, "max_size": detector.max_size}
    scan = _scan(scene, candidate)
    found, grouped = scan.detections_by_neighbors(
        cascade, [CURVE_NEIGHBORS, detector.min_neighbors], **bounds
    )
    used = grouped.select(grouped.ranking_scores >= detector.min_ranking_score)

    def judge(detections: Detections) -> Matches:
        return protocol.rule.match(
            detections.boxes, protocol.score.of(detections), scene.boxes, scene.ignored
        )

    tried = {}
    for n_stages in range(scan.n_fixed, cascade.n_stages + 1):
        groups = scan.detections_by_neighbors(cascade.first_stages(n_stages), NEIGHBORS_TRIED, **bounds)
        for min_neighbors, detections in zip(NEIGHBORS_TRIED, groups, strict=True):
            tried[n_stages, min_neighbors] = _counts(judge(detections))
    sides = (Size(*side) if side else None for side in bounds.values())
    levels = scan_levels(scan.size, cascade.window, detector.scale_factor, *sides)
    n_windows = sum(level.n_windows for level in levels)
    return Findings(found, judge(found), used, judge(used), n_windows, tried)


def _scan(scene: Scene, candidate: Candidate) -> MarginScan:
    """Scan a picture; with the last stages alone to be changed if too many windows would be kept."""
    cascade, gray = candidate.cascade, read_gray(scene.path)
    fewest = max(1, cascade.n_stages - STAGES_TRIED + 1)
    for n_fixed in (fewest, cascade.n_stages):
        try:
            return scan_margins(
                gray, cascade, n_fixed, scale_factor=candidate.detector.scale_factor, n_threads=1
            )
        except SettingsError:
            continue
    raise SettingsError(
        f"{candidate.name}: more than {pluralize(MAX_WINDOWS, 'window')} of {scene.path} pass the whole model: "
        "it hardly rejects background; train it with more stages"
    )


def _result(
    candidate: Candidate,
    findings: Sequence[Findings],
    scenes: Scenes,
    protocol: Protocol,
    by_size: tuple[Sequence[SizeClass], Sequence[Figure]],
) -> ModelResult:
    """Return the figures of a model."""
    weights = scene_weights(len(scenes), protocol.n_resamples, protocol.seed)
    windows_per_picture = sum(one.n_windows for one in findings) / len(findings)
    matches, used = [one.matches for one in findings], [one.used_matches for one in findings]
    curves = {CURVE: Steps.of(matches, protocol.ties), POINT: Steps.of(used, protocol.ties)}
    for name, overlap in zip(COCO, COCO_OVERLAPS, strict=True):
        rule = IoU(overlap, protocol.rule.aspect if isinstance(protocol.rule, IoU) else None)
        judged = [
            rule.match(one.found.boxes, one.matches.scores, scene.boxes, scene.ignored)
            for one, scene in zip(findings, scenes.scenes, strict=True)
        ]
        curves[name] = Steps.of(judged, protocol.ties)
    sizes, size_figures = by_size
    size_values = [
        figure_values(size_figures, _of_size(one, findings, scenes, protocol), weights, windows_per_picture)
        for one in sizes
    ]
    return ModelResult(
        candidate,
        tuple(findings),
        detection_curve(matches, protocol.ties),
        figure_values(protocol.figures, curves, weights, windows_per_picture),
        np.array(size_values).reshape(len(sizes), len(weights), len(size_figures)),
    )


def _of_size(
    size: SizeClass, findings: Sequence[Findings], scenes: Scenes, protocol: Protocol
) -> dict[str, Steps]:
    """Return the curves of a class of objects."""
    curve, point = [], []
    for one, scene in zip(findings, scenes.scenes, strict=True):
        curve.append(within_heights(one.matches, one.found.boxes, scene.boxes, size.low, size.high))
        point.append(within_heights(one.used_matches, one.used.boxes, scene.boxes, size.low, size.high))
    return {CURVE: Steps.of(curve, protocol.ties), POINT: Steps.of(point, protocol.ties)}


def _counts(matches: Matches) -> Figures:
    n_false = int(matches.false_alarms.sum())
    return Figures(1, matches.n_objects, int(matches.hits.sum()), n_false)


def _sum(figures: Any) -> Figures:
    return sum(figures, Figures(0, 0, 0, 0))
