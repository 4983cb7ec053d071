"""Try the models of a run on pictures, as a detector would search them: on labelled scenes, and on photos without."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.detector import clipped
from vjcascade.detection.grouping import large_classes, window_classes
from vjcascade.errors import SettingsError, SourceError
from vjcascade.evaluation.curves import detection_curve
from vjcascade.evaluation.margin_scan import scan_margins
from vjcascade.evaluation.matching import IoU, Matches
from vjcascade.evaluation.scenes import Scene, Scenes
from vjcascade.evaluation.tuning import limit_between
from vjcascade.messages import pluralize
from vjcascade.parallel import MemoryBudget, ordered_map
from vjcascade.training.data.backgrounds import BackgroundImage, BackgroundImages
from vjcascade.training.data.positives import Positives
from vjcascade.training.data.sources import Picture, Skipped, pixel_digest, read_or_skip
from vjcascade.training.events import Listener, Progress, ProgressReporter, SceneFigures
from vjcascade.training.mining.mining import count_windows

MAX_EXPECTED = 2_000
"""Windows that may be expected to pass in a picture, on average: with more, there is little but false alarms."""

MAX_WINDOWS = 20_000
"""Windows that may pass in a picture, on average, where more of them do than was expected."""

USUAL_NEIGHBORS, LEAST_NEIGHBORS = 3, 1
"""`min_neighbors` of a detector that is told nothing, and where detections are chosen by their ranking scores."""

MAX_NAMED = 10
"""Further scenes are not named."""


class Validation:
    """Labelled scenes on which a run's models are tried.

    Parameters
    ----------
    scenes : Scenes
        Pictures with true boxes.
    n_threads : int
        Results do not depend on it.
    memory_budget : MemoryBudget
        What decoding may take.
    listener : Listener
        Gets the progress of reading.

    Raises
    ------
    SourceError
        If a picture cannot be read, or does not fit into memory.
    """

    def __init__(
        self, scenes: Scenes, n_threads: int, memory_budget: MemoryBudget, listener: Listener
    ) -> None:
        def opened(scene: Scene) -> BackgroundImage:
            loaded = read_or_skip(Picture(str(scene.path), scene.path), memory_budget)
            if isinstance(loaded, Skipped):
                raise SourceError(f"scenes: {loaded}")
            digest, memory = pixel_digest(loaded.gray), loaded.decoding_memory
            return BackgroundImage(
                str(scene.path), scene.path, scene.size, digest, None, decoding_memory=memory
            )

        self.scenes = scenes
        self._n_threads = n_threads
        pictures = []
        for picture in ordered_map(opened, scenes.scenes, n_threads):
            pictures.append(picture)
            listener(Progress("reading scenes", len(pictures), len(scenes)))
        self._pictures = tuple(pictures)

    def fingerprints(self) -> dict[str, Any]:
        """Return what tells these scenes from others, as plain JSON values."""
        return {**self.counts(), "scenes_sha256": self.scenes.fingerprint}

    def counts(self) -> dict[str, int]:
        """Return how many scenes there are, and objects in them."""
        return {"scenes": len(self.scenes), "objects_in_scenes": int(self.scenes.n_objects.sum())}

    def refuse_pictures_of(self, positives: Positives, photos: Sequence[BackgroundImages]) -> None:
        """Refuse scenes that training sees.

        Parameters
        ----------
        positives : Positives
            Windows of the object.
        photos : sequence of BackgroundImages
            Photos without it, from one or more sources.

        Raises
        ------
        SourceError
            If a scene has the pixels of a picture that windows or negatives are cut from; it names them.
        """
        seen = {photo.digest: f"the photo {photo.name}" for source in photos for photo in source.photos}
        seen |= dict.fromkeys(positives.digests, "a training crop")
        known = [(picture, seen[picture.digest]) for picture in self._pictures if picture.digest in seen]
        if not known:
            return
        lines = [f"  {picture.name}: the same pixels as {twin}" for picture, twin in known[:MAX_NAMED]]
        lines += [f"  ... and {len(known) - MAX_NAMED} more"] if len(known) > MAX_NAMED else []
        are = "is" if len(known) == 1 else "are"
        problem = (
            f"{pluralize(len(known), 'scene')} of {self.scenes.source} {are} also among the training pictures, so "
            "results on them say nothing about new pictures; remove them from one of the two:"
        )
        raise SourceError("\n".join([problem, *lines]))

    def figures(self, cascade: Cascade, pass_rate: float, progress: ProgressReporter) -> SceneFigures | None:
        """Return what a model finds in the scenes.

        Parameters
        ----------
        cascade : Cascade
            At least one stage.
        pass_rate : float
            Share of windows of background that is expected to pass it.
        progress : ProgressReporter
            Is called for every scene.

        Returns
        -------
        SceneFigures or None
            None if too many windows pass; see `MAX_EXPECTED` and `MAX_WINDOWS`.

        Raises
        ------
        SourceError
            If a picture has changed since it was first read.
        """
        neighbors = USUAL_NEIGHBORS, LEAST_NEIGHBORS
        truth = [(scene.boxes, scene.ignored) for scene in self.scenes.scenes]
        matches = _matches(cascade, pass_rate, self._pictures, truth, neighbors, self._n_threads, progress)
        if matches is None:
            return None
        usual, least = matches
        curve = detection_curve(least)
        n_hits, best_false, limit = 0, 0, 0.0
        if len(curve.scores):
            best = int(curve.f1.argmax())
            n_hits, best_false = round(float(curve.n_hits[best])), int(curve.n_false_alarms[best])
            is_last = best == len(curve.scores) - 1
            limit = 0.0 if is_last else limit_between(curve.scores[best + 1], curve.scores[best])
        return SceneFigures(
            n_stages=cascade.n_stages,
            n_scenes=len(self.scenes),
            n_objects=int(self.scenes.n_objects.sum()),
            n_hits=int(sum(one.hits.sum() for one in usual)),
            n_false_alarms=int(sum(one.false_alarms.sum() for one in usual)),
            best_hits=n_hits,
            best_false_alarms=best_false,
            min_ranking_score=limit,
        )


def count_false_alarms(
    cascade: Cascade, photos: BackgroundImages, pass_rate: float, n_threads: int, progress: ProgressReporter
) -> int | None:
    """Count the windows that a model takes for the object in photos that do not show it, before they are grouped.

    Parameters
    ----------
    cascade : Cascade
        At least one stage.
    photos : BackgroundImages
        Where boxes mark objects all the same, nothing counts.
    pass_rate : float
        Share of windows of background that is expected to pass the model.
    n_threads : int
        The result does not depend on it.
    progress : ProgressReporter
        Is called for every photo.

    Returns
    -------
    int or None
        None if too many windows pass.
    """
    none = np.empty((0, 4))
    truth = [(none, photos.ignored(i).astype(np.float64)) for i in range(len(photos))]
    matches = _matches(cascade, pass_rate, photos.photos, truth, [0], n_threads, progress)
    return None if matches is None else int(sum(one.false_alarms.sum() for one in matches[0]))


def _matches(
    cascade: Cascade,
    pass_rate: float,
    pictures: Sequence[BackgroundImage],
    truth: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    neighbors: Sequence[int],
    n_threads: int,
    progress: ProgressReporter,
) -> list[list[Matches]] | None:
    """Judge what is found in every picture with each `min_neighbors`; None if too many windows pass."""
    sizes = SimpleNamespace(sizes=[picture.size for picture in pictures])
    if pass_rate * count_windows(sizes, cascade.window) > MAX_EXPECTED * len(pictures):
        return None
    rule, n_left = IoU(), MAX_WINDOWS * len(pictures)
    matches: list[list[Matches]] = [[] for _ in neighbors]
    for number, (picture, (boxes, ignored)) in enumerate(zip(pictures, truth, strict=True), 1):
        gray = picture.load()
        try:
            scan = scan_margins(gray, cascade, cascade.n_stages, max_windows=n_left, n_threads=n_threads)
        except SettingsError:  # more windows than that
            return None
        n_left -= len(scan)
        raw = scan.raw_windows(cascade)
        classes = window_classes(raw) if any(neighbors) else raw
        for judged, least in zip(matches, neighbors, strict=True):
            found = clipped(large_classes(classes, least) if least else raw, scan.size)
            judged.append(rule.match(found.boxes, found.ranking_scores, boxes, ignored))
        progress.report(number, len(pictures))
    return matches
