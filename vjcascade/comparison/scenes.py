"""What a cascade finds in scenes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.state import Floats
from vjcascade.cascade import Cascade
from vjcascade.detection.detector import Detector
from vjcascade.detection.scanner import Scanner
from vjcascade.evaluation.features import count_passed, features_of_stages
from vjcascade.evaluation.matching import match_detections
from vjcascade.evaluation.scenes import Scene, Scenes
from vjcascade.imaging import read_gray
from vjcascade.parallel import ordered_map
from vjcascade.types import Detections

MIN_NEIGHBORS = 1
"""Groups of more windows than this are detections; how many more decides their order along the curve."""

MAX_FALSE_ALARMS_PER_SCENE = 20
"""Detections that come behind so many false alarms, over all scenes, are dropped: nobody would look at them."""


@dataclass(frozen=True, eq=False)
class Found:
    """What a cascade found in all scenes, the best first.

    Attributes
    ----------
    scenes : ndarray of shape (n,), dtype int64
        Number of the scene that each detection is in, from 0.
    scores : ndarray of shape (n,), dtype float64
        Falling: windows in the group, and a fraction in (0, 1) that grows with the margin of the best of them.
    hits : ndarray of shape (n,), dtype bool
        Whether it is a hit; the others are false alarms.
    features : float
        Mean number of features evaluated in a window of the scenes.
    """

    scenes: NDArray[np.int64]
    scores: Floats
    hits: NDArray[np.bool_]
    features: float

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON values, of which `from_dict` makes it again."""
        return {
            "scenes": self.scenes.tolist(),
            "scores": self.scores.round(6).tolist(),
            "hits": self.hits.astype(int).tolist(),
            "features": self.features,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Found:
        """Return what `as_dict` returned."""
        return cls(
            np.array(values["scenes"], np.int64),
            np.array(values["scores"], np.float64),
            np.array(values["hits"], np.bool_),
            float(values["features"]),
        )


def search_scenes(
    cascade: Cascade, scenes: Scenes, n_threads: int, progress: Callable[[int, int], None] = lambda *_: None
) -> Found:
    """Run a cascade over the scenes, with the detector's usual settings, and judge what it finds.

    Parameters
    ----------
    cascade : Cascade
        With at least one stage.
    scenes : Scenes
        Pictures and true boxes.
    n_threads : int
        Scenes that are searched at the same time; the result does not depend on it.
    progress : callable
        Called as `progress(n_done, n_scenes)`.

    Returns
    -------
    Found
        Without those behind `MAX_FALSE_ALARMS_PER_SCENE`.

    Raises
    ------
    ImageError
        If a picture can no longer be read.
    """
    detector = Detector(cascade, min_neighbors=MIN_NEIGHBORS, n_threads=1)
    scanner = Scanner(cascade)

    def search(scene: Scene) -> tuple[Floats, NDArray[np.bool_], NDArray[np.int64], int]:
        gray = read_gray(scene.path)
        scores = _ranking(found := detector.detect(gray))
        matches = match_detections(found.boxes, scores, scene.boxes)
        return scores, matches.hits, *count_passed(scanner, gray)

    scores, hits, passed, n_windows = [], [], np.zeros(cascade.n_stages + 1, np.int64), 0
    for done, judged in enumerate(ordered_map(search, scenes.scenes, n_threads), start=1):
        scores.append(judged[0])
        hits.append(judged[1])
        passed += judged[2]
        n_windows += judged[3]
        progress(done, len(scenes))
    numbers = np.repeat(np.arange(len(scenes)), [len(part) for part in scores])
    features = _features(cascade, passed) / max(n_windows, 1)
    return _best(Found(numbers, np.concatenate(scores), np.concatenate(hits), features), len(scenes))


def _ranking(found: Detections) -> Floats:
    """Return the numbers of windows, and between equal ones a fraction by the margin."""
    return found.neighbors + 0.5 + np.arctan(found.scores) / np.pi


def _features(cascade: Cascade, passed: NDArray[np.int64]) -> float:
    """Return how many features all windows cost, given how many of them pass how many stages."""
    reached = passed[::-1].cumsum()[::-1][: cascade.n_stages]
    return float(reached @ np.array(features_of_stages(cascade)))


def _best(found: Found, n_scenes: int) -> Found:
    order = np.argsort(-found.scores, kind="stable")
    n_false = np.cumsum(~found.hits[order])
    kept = order[: int(np.searchsorted(n_false, MAX_FALSE_ALARMS_PER_SCENE * n_scenes, side="right"))]
    return Found(found.scenes[kept], found.scores[kept].round(6), found.hits[kept], found.features)
