"""Objects in photos that should show none: a quick cascade finds what may be one, and a second judge has to agree.

A cascade of a few stages is trained on the crops, and searches the photos. Most of what it finds are false alarms. So
what tells crops from these finds, by edges and coarse grey levels, is learned, for each find from other photos; only
finds that look more like the object than many a crop does are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.costs import Costs
from vjcascade.cascade import Cascade
from vjcascade.checking.descriptors import Stack, describe
from vjcascade.checking.discriminant import Discriminant, split_groups
from vjcascade.errors import TrainingError
from vjcascade.formats.annotations.opencv_lists import Box
from vjcascade.imaging import resize_crop
from vjcascade.parallel import ordered_map
from vjcascade.training.checkpoint import begin_run
from vjcascade.training.data.backgrounds import BackgroundImages
from vjcascade.training.data.positives import Positives
from vjcascade.training.data.sources import Progress
from vjcascade.training.data.training_data import TrainingData
from vjcascade.training.mining.photo_scan import is_clear
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.trainer import train_stages
from vjcascade.types import FeatureType, Size

if TYPE_CHECKING:
    from vjcascade.detection import Detector

Gray = NDArray[np.uint8]
"""A picture, shape (height, width)."""

SETTINGS = TrainingSettings(
    booster="adaboost",
    costs=Costs(1.0, 1.0),
    features=FeatureType.LBP,
    hit_rate=0.99,
    false_alarm_rate=0.15,
    max_stages=4,
    max_weak=60,
    n_negatives=2000,
    max_samples=5000,
    max_windows=20_000_000,
    baseline=False,
)
"""Of the quick cascade: LBP features are trained in a third of the time."""

N_PHOTOS = 600
"""Photos at most that it is trained on."""

SCALE_FACTOR = 1.2
"""Ratio of neighbouring sizes of its search."""

PER_PHOTO = 8
"""Finds that are looked at in a photo, those with the highest scores."""

N_AT_RANDOM = 4000
"""Windows taken from these photos, about, as examples of other things."""

LEAST_DEVIATION = 5.0
"""Of the grey levels of these windows: with less, they show too little."""

N_MOVED = 1000
"""Finds that are moved to where they look most like the object, the best ones."""

MOVED_PER_PHOTO = 2
"""Of these at most."""

STEPS = ((0.11, 1.15), (0.055, 1.07))
"""By such shares of its sides a find is shifted, and by such factors it is made larger and smaller."""

CERTAIN = 0.85
"""A find that scores as much looks like the object: 1 is the mean of the crops, -1 that of the other finds."""

PROBABLE = 0.65
"""Where there are certain ones, others that score as much are named too."""


class Find(NamedTuple):
    """A part of a photo that looks like the object.

    Attributes
    ----------
    photo : int
        Index of the photo.
    box : Box
        In its pixels.
    pixels : ndarray of shape (height, width), dtype uint8
        As a window.
    score : float
        How much it looks like the object; 1 for the mean of the crops.
    """

    photo: int
    box: Box
    pixels: NDArray[np.uint8]
    score: float = 0.0


@dataclass(frozen=True, eq=False)
class PhotoView:
    """What is seen in a photo when it is opened once.

    Attributes
    ----------
    small : ndarray of shape (height, width), dtype uint8
        The whole photo, as a window.
    finds : list of Find
        What the cascade finds.
    """

    small: NDArray[np.uint8]
    finds: list[Find]


def some_photos(photos: BackgroundImages, seed: int) -> BackgroundImages:
    """Return `N_PHOTOS` photos at random, in order; all if there are no more."""
    chosen = np.random.default_rng(seed).permutation(len(photos))[:N_PHOTOS]
    return photos.subset(np.sort(chosen).tolist())


def windows_at_random(photos: BackgroundImages, window: Size, seed: int, n_threads: int) -> Stack:
    """Cut windows of all sizes out of photos.

    Parameters
    ----------
    photos : BackgroundImages
        Without the object.
    window : Size
        The training window.
    seed : int
        Of the random choices.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n, height, width), dtype uint8
        About `N_AT_RANDOM`; those without contrast, and at objects to be ignored, are left out.
    """
    n_each = max(N_AT_RANDOM // len(photos), 1)

    def cut(index: int) -> list[Gray]:
        gray, ignored = photos[index], photos.ignored(index)
        rng = np.random.default_rng([seed, index])
        boxes = [box for box in _boxes_at_random(gray, window, n_each, rng) if _is_free(box, ignored)]
        windows = [_cut(gray, box, window) for box in boxes]
        return [one for one in windows if one.std() > LEAST_DEVIATION]

    windows = [one for some in ordered_map(cut, range(len(photos)), n_threads) for one in some]
    return np.array(windows, np.uint8).reshape(-1, window.height, window.width)


def train_quickly(positives: Positives, photos: BackgroundImages, n_threads: int) -> Cascade | None:
    """Train a cascade of a few stages.

    Parameters
    ----------
    positives : Positives
        Crops, and copies of them.
    photos : BackgroundImages
        As by `some_photos`.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    Cascade or None
        None if not even one stage can be trained.
    """
    data = TrainingData.split(positives, photos, SETTINGS)
    try:
        return train_stages(data, SETTINGS, begin_run(positives.window, SETTINGS, {}), n_threads=n_threads)
    except TrainingError:
        return None


def view_photos(
    photos: BackgroundImages,
    window: Size,
    cascade: Cascade | None,
    *,
    searched: NDArray[np.bool_],
    n_threads: int,
    progress: Progress,
) -> list[PhotoView]:
    """Open each photo once, and search it.

    Parameters
    ----------
    photos : BackgroundImages
        All of them.
    window : Size
        The training window.
    cascade : Cascade or None
        What searches; None for no search.
    searched : ndarray of shape (n,), dtype bool
        Which photos are searched.
    n_threads : int
        Threads; the result does not depend on it.
    progress : callable
        Called as `progress(n_done, n_photos)`.

    Returns
    -------
    list of PhotoView
        One for each photo.
    """
    from vjcascade.detection import Detector

    detector = None if cascade is None else Detector(cascade, scale_factor=SCALE_FACTOR, n_threads=1)

    def view(index: int) -> PhotoView:
        gray = photos[index]
        finds: list[Find] = []
        if detector is not None and searched[index]:
            finds = _search(detector, gray, photos.ignored(index), index)
        return PhotoView(resize_crop(gray, window).copy(), finds)

    views = []
    for n_done, seen in enumerate(ordered_map(view, range(len(photos)), n_threads), start=1):
        views.append(seen)
        progress(n_done, len(photos))
    return views


def objects_among(
    finds: Sequence[Find],
    photos: BackgroundImages,
    crops: Stack,
    groups: NDArray[np.intp],
    others: Stack,
    *,
    seed: int,
    n_threads: int,
) -> list[Find]:
    """Return the finds that look like the object, the clearest first; none unless one is certain.

    A quick cascade does not find objects to the pixel. So finds are moved to where they look most like the object.

    Parameters
    ----------
    finds : sequence of Find
        What the cascade found.
    photos : BackgroundImages
        In these photos.
    crops : ndarray of shape (n, height, width), dtype uint8
        The object.
    groups : ndarray of shape (n,), dtype intp
        Crops from one picture have one number, from 0 on.
    others : ndarray of shape (m, height, width), dtype uint8
        Further windows without the object.
    seed : int
        Deals crops and photos into parts.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    list of Find
        One of a photo, with its score.
    """
    if not finds:
        return []
    windows = np.concatenate([np.stack([find.pixels for find in finds]), others])
    of_photo = np.array([find.photo for find in finds], np.intp)
    parts = split_groups(np.concatenate([of_photo, np.arange(len(others)) + of_photo.max() + 1]), seed)
    judge = Discriminant.between(describe(crops), describe(windows), split_groups(groups, seed), parts)
    best_first = np.argsort(-judge.second[: len(finds)], kind="stable")
    chosen: dict[int, list[int]] = {}
    for i in best_first[:N_MOVED].tolist():
        chosen.setdefault(finds[i].photo, []).append(i)

    def move(indices: list[int]) -> Find:
        gray = photos[finds[indices[0]].photo]
        moved = [_moved(gray, finds[i], judge, int(parts[i])) for i in indices[:MOVED_PER_PHOTO]]
        return max(moved, key=lambda find: find.score)

    moved = [find for find in ordered_map(move, list(chosen.values()), n_threads) if find.score >= PROBABLE]
    moved.sort(key=lambda find: -find.score)
    return moved if moved and moved[0].score >= CERTAIN else []


def _moved(gray: Gray, find: Find, judge: Discriminant, part: int) -> Find:
    """Return a find where it looks most like the object, with the score that it has there."""
    window = Size(find.pixels.shape[1], find.pixels.shape[0])
    best = find._replace(score=-np.inf)
    for step, scale in STEPS:
        boxes = _boxes_around(best.box, step, scale, Size(gray.shape[1], gray.shape[0]))
        cuts = np.stack([_cut(gray, box, window) for box in boxes])
        scores = judge.judge_as(describe(cuts), part)
        i = int(scores.argmax())
        if scores[i] > best.score:
            best = Find(find.photo, boxes[i], cuts[i], float(scores[i]))
    return best


def _boxes_around(box: Box, step: float, scale: float, picture: Size) -> list[Box]:
    """Return a box and those that are shifted by a step, larger or smaller, as far as they lie in the picture."""
    x, y, w, h = box
    around = [box]
    for factor, across, down in product((1 / scale, 1.0, scale), (-step, 0.0, step), (-step, 0.0, step)):
        width, height = round(w * factor), round(h * factor)
        left, top = round(x + (0.5 + across) * w - width / 2), round(y + (0.5 + down) * h - height / 2)
        if left >= 0 and top >= 0 and left + width <= picture.width and top + height <= picture.height:
            around.append(Box(left, top, width, height))
    return around


def _search(detector: Detector, gray: Gray, ignored: NDArray[np.int32], index: int) -> list[Find]:
    found = detector.detect(gray)
    best = np.argsort(-found.ranking_scores, kind="stable")[:PER_PHOTO]
    boxes = [Box(*found.boxes[i].tolist()) for i in best]
    (scanner,) = detector.scanners
    return [
        Find(index, box, _cut(gray, box, scanner.cascade.window)) for box in boxes if _is_free(box, ignored)
    ]


def _boxes_at_random(gray: Gray, window: Size, n: int, rng: np.random.Generator) -> Iterator[Box]:
    """Return boxes of the window's shape, of any size, small ones as often as large ones."""
    height, width = gray.shape
    largest = min(width / window.width, height / window.height)
    for _ in range(n):
        scale = float(np.exp(rng.uniform(0, np.log(largest)))) if largest > 1 else 1.0
        w, h = min(round(scale * window.width), width), min(round(scale * window.height), height)
        yield Box(int(rng.integers(width - w + 1)), int(rng.integers(height - h + 1)), w, h)


def _is_free(box: Box, ignored: NDArray[np.int32]) -> bool:
    return bool(is_clear(np.array([box], np.float64), ignored)[0])


def _cut(gray: Gray, box: Box, window: Size) -> Gray:
    x, y, w, h = box
    return resize_crop(gray[max(y, 0) : y + h, max(x, 0) : x + w], window).copy()
