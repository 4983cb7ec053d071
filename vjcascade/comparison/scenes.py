"""Scenes with true boxes, and what a cascade finds in them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.state import Floats
from vjcascade.cascade import Cascade
from vjcascade.detection.detector import Detector
from vjcascade.detection.scanner import Scanner
from vjcascade.errors import ImageError, SourceError
from vjcascade.evaluation.features import count_passed, features_of_stages
from vjcascade.evaluation.matching import match_detections
from vjcascade.files import real_path
from vjcascade.formats.annotations.opencv_lists import ListedPicture, PictureList, read_boxes_list
from vjcascade.imaging import image_size, read_gray
from vjcascade.messages import near_file, pluralize
from vjcascade.parallel import ordered_map
from vjcascade.types import Detections, Size

MIN_NEIGHBORS = 1
"""Groups of more windows than this are detections; how many more decides their order along the curve."""

MAX_FALSE_ALARMS_PER_SCENE = 20
"""Detections that come behind so many false alarms, over all scenes, are dropped: nobody would look at them."""

MAX_FAULTS = 10
"""More wrong lines are not named."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture, and where the objects in it are.

    Attributes
    ----------
    path : Path
        Of the picture.
    boxes : ndarray of shape (n, 4), dtype int32
        `x, y, w, h` in its pixels, cut to the picture; n may be 0.
    """

    path: Path
    boxes: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Scenes:
    """Pictures to test on.

    Attributes
    ----------
    source : str
        The list, as given.
    scenes : tuple of Scene
        In its order; there is at least one object in them.
    """

    source: str
    scenes: tuple[Scene, ...]

    def __len__(self) -> int:
        return len(self.scenes)

    @property
    def n_objects(self) -> NDArray[np.int64]:
        """Objects in each scene, shape (n_scenes,)."""
        return np.array([len(scene.boxes) for scene in self.scenes], np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all files and boxes, in hexadecimal digits."""
        digest = hashlib.sha256()
        for scene in self.scenes:
            digest.update(hashlib.sha256(scene.path.read_bytes()).digest())
            digest.update(hashlib.sha256(scene.boxes.astype("<i4").tobytes()).digest())
        return digest.hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Return what they are, as plain JSON values."""
        return {
            "source": self.source,
            "scenes": len(self),
            "objects": int(self.n_objects.sum()),
            "sha256": self.fingerprint,
        }


def read_scenes(source: str | PathLike[str]) -> Scenes:
    """Read a list of scenes, ``NAME COUNT X Y WIDTH HEIGHT ...`` as in ``info.dat``; COUNT may be 0.

    Parameters
    ----------
    source : path
        The list. Names are relative to its folder.

    Returns
    -------
    Scenes
        Boxes that reach beyond their picture are cut to it.

    Raises
    ------
    SourceError
        If the list cannot be read, a line of it is wrong (a test on some of the scenes would not be the one that was
        asked for), a picture is missing, unreadable or named twice, or there is no box in it.
    """
    path = Path(source)
    advice = "give a list of scenes, one NAME COUNT X Y WIDTH HEIGHT ... in a line"
    if path.is_dir():
        raise SourceError(f"scenes: {path} is a folder, which tells no boxes; {advice}")
    if not path.exists():
        near = near_file(path)
        hint = f"did you mean {near}?" if near else advice
        raise SourceError(f"scenes: {path.absolute()} does not exist; {hint}")
    listed = read_boxes_list(path)
    scenes = _opened(listed)
    if not any(len(scene.boxes) for scene in scenes):
        raise SourceError(f"scenes: {path} has no box: without objects there is nothing to find; {advice}")
    return Scenes(str(source), scenes)


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


def _opened(listed: PictureList) -> tuple[Scene, ...]:
    """Return the scenes of a list that is right throughout."""
    faults = [(error.line, error.reason) for error in listed.errors]
    scenes: dict[Path, Scene] = {}
    for picture in listed.pictures:
        path = real_path(picture.path)
        if path in scenes:
            faults.append((picture.line, f"{picture.name} is named twice: write all its boxes into one line"))
            continue
        try:
            scenes[path] = Scene(picture.path, _boxes(picture))
        except ImageError as error:
            reason = str(error).removeprefix(f"{picture.path}: ")
            faults.append((picture.line, f"{picture.name}: {reason}"))
    if faults:
        lines = "\n".join(
            f"  {listed.path.name}:{line}: {reason}" for line, reason in sorted(faults)[:MAX_FAULTS]
        )
        more = f"\n  ... and {len(faults) - MAX_FAULTS} more" if len(faults) > MAX_FAULTS else ""
        problem = (
            f"scenes: {pluralize(len(faults), 'line')} of {listed.path} cannot be used; mend or remove them"
        )
        raise SourceError(f"{problem}:\n{lines}{more}")
    return tuple(scenes.values())


def _boxes(picture: ListedPicture) -> NDArray[np.int32]:
    """Return the boxes of a picture, cut to it.

    Raises
    ------
    ImageError
        If the picture cannot be read, or a box is empty or lies outside.
    """
    size = image_size(picture.path)
    boxes = np.array(picture.boxes, np.int64).reshape(-1, 4)
    starts = boxes[:, :2].clip(0)
    sides = np.minimum(boxes[:, :2] + boxes[:, 2:], size) - starts
    wrong = (sides <= 0).any(axis=1)
    if wrong.any():
        box = picture.boxes[int(wrong.argmax())]
        raise ImageError(f"the box {box} is empty or lies outside the picture of {Size(*size)} pixels")
    return np.concatenate([starts, sides], axis=1).astype(np.int32)


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
