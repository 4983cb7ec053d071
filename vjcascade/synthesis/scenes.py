"""Synthetic scenes with known boxes: objects pasted into photos at random sizes and places."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import SourceError
from vjcascade.files import new_folder
from vjcascade.formats.annotations.opencv_lists import LIST_NAME, Box
from vjcascade.formats.annotations.pictures import AnnotatedObject, AnnotatedPicture
from vjcascade.formats.annotations.writing import annotation_files_of
from vjcascade.imaging import write_image
from vjcascade.parallel import checked_threads, ordered_map
from vjcascade.synthesis.alterations import Alteration, Alterations
from vjcascade.synthesis.geometry import bounds, inverse, mapped, perspective
from vjcascade.synthesis.originals import Original, Originals
from vjcascade.synthesis.rendering import (
    OVERSAMPLING,
    averaged,
    blurred,
    grid,
    hide,
    recorded,
    sampled,
    toned,
)
from vjcascade.synthesis.samples import TRIES, Progress
from vjcascade.training.data.backgrounds import BackgroundImages
from vjcascade.training.data.crops import clip_box
from vjcascade.types import Size

LARGEST = 0.7
"""Largest sides of an object relative to those of the photo, as in `opencv_createsamples`."""

MAX_OBJECTS = 3
"""Default of the maximum number of objects in a scene."""

PICTURES = "images"
"""Folder of the scenes in a YOLO data set."""

_FILES = {"coco": "annotations.json", "csv": "annotations.csv"}
"""Formats that are a single file."""


class MadeScene(NamedTuple):
    """A scene.

    Attributes
    ----------
    gray : ndarray of shape (h, w), dtype uint8
        Grey levels.
    boxes : tuple of Box
        Around the objects, inside the picture; no two overlap.
    """

    gray: NDArray[np.uint8]
    boxes: tuple[Box, ...]


class _Placed(NamedTuple):
    """An altered object at its place."""

    original: Original
    alteration: Alteration
    back: NDArray[np.float64]
    """Map from pixels of the scene, relative to the centre of the object, to those of the original."""
    middle: NDArray[np.float64]
    box: Box
    patch: Box
    """The pixels that it may change."""


@dataclass(frozen=True, eq=False)
class SceneMaker:
    """Makes scenes. A scene depends only on the sources, its number and the seed.

    Attributes
    ----------
    sources : Originals
        The objects.
    alterations : Alterations
        Ranges of the alterations. Shift and scaling have no effect, as positions and sizes are random; noise and JPEG
        apply to whole scenes.
    photos : BackgroundImages
        Photos without the object.
    seed : int
        Random seed.
    max_objects : int
        Maximum number of objects in a scene; the minimum is 1.
    max_scale : float or None
        Largest objects, as a multiple of the window; no limit if None. Objects are never larger than 0.7 of the photo
        or than their original, and never smaller than the window.
    """

    sources: Originals
    alterations: Alterations
    photos: BackgroundImages
    seed: int = 0
    max_objects: int = MAX_OBJECTS
    max_scale: float | None = None

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.random.default_rng(self.seed).permutation(len(self.photos))

    def scene(self, number: int) -> MadeScene:
        """Return a scene.

        Parameters
        ----------
        number : int
            From 0. All photos are used before one is used again.

        Returns
        -------
        MadeScene
            With one or several objects.
        """
        rng = np.random.default_rng([self.seed, number])
        levels = self.photos[int(self._order[number % len(self._order)])].astype(np.float64)
        size = Size(levels.shape[1], levels.shape[0])
        placed: list[_Placed] = []
        for _ in range(int(rng.integers(1, self.max_objects + 1))):
            tries = (self._placed(size, rng) for _ in range(TRIES))
            free = (one for one in tries if not any(_overlap(one.patch, other.patch) for other in placed))
            if (found := next(free, None)) is not None:
                placed.append(found)
        for one in placed:
            _paste(one, levels)
        record = self.alterations.drawn(rng)
        return MadeScene(recorded(levels, record, rng), tuple(one.box for one in placed))

    def _placed(self, photo: Size, rng: np.random.Generator) -> _Placed:
        """Draw an object, its alteration and its place in a photo."""
        original = self.sources.originals[int(rng.integers(len(self.sources)))]
        alteration = self.alterations.drawn(rng, may_mirror=self.sources.may_mirror)
        window = self.sources.window
        room = LARGEST * min(photo.width / window.width, photo.height / window.height)
        detail = original.box.width / window.width
        scale = max(min(room, detail, self.max_scale or room), 1.0) ** rng.uniform()
        # Reduce the original to the sampled resolution first, against aliasing.
        reduced = original.reduced(original.box.width / (OVERSAMPLING * scale * window.width))
        factor = scale * window.width / reduced.box.width
        forward = np.diag([factor, factor, 1.0]) @ perspective(alteration, reduced.box, reduced.outline)
        low, high = bounds(mapped(forward, reduced.outline))
        spare = np.maximum(np.array(photo) - (high - low), 0)
        middle = np.floor(rng.uniform(0, 1, 2) * (spare + 1)).clip(0, spare) - low
        height, width = reduced.pixels.shape
        corners = np.array([[x, y] for x in (-width / 2, width / 2) for y in (-height / 2, height / 2)])
        patch = bounds(mapped(forward, corners))
        return _Placed(
            reduced,
            alteration,
            inverse(forward),
            middle,
            clip_box(_nearest(middle + low, middle + high), photo),
            clip_box(_around(middle + patch[0], middle + patch[1]), photo),
        )


def _paste(one: _Placed, levels: NDArray[np.float64]) -> None:
    """Paste an object into a photo, in place."""
    part = levels[one.patch.y : one.patch.y + one.patch.height, one.patch.x : one.patch.x + one.patch.width]
    seen = grid(one.patch.width, one.patch.height, one.patch.x, one.patch.y) - one.middle
    places = mapped(one.back, seen)
    sides = places / np.array(one.original.box)
    fore = toned(sampled(one.original.pixels, places, beyond="nearest"), one.alteration, sides, one.original)
    share = sampled(one.original.opacity, places, beyond="grid-constant") / 255
    hide(fore, one.alteration.hidden, sides)
    fore, share = (blurred(averaged(layer), one.alteration.blur) for layer in (share * fore, share))
    part[...] = fore + (1 - share) * part


def _overlap(one: Box, other: Box) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def _nearest(low: NDArray[np.float64], high: NDArray[np.float64]) -> Box:
    left, top = np.rint(low).astype(int).tolist()
    right, bottom = np.rint(high).astype(int).tolist()
    return Box(left, top, max(right - left, 1), max(bottom - top, 1))


def _around(low: NDArray[np.float64], high: NDArray[np.float64]) -> Box:
    left, top = np.floor(low).astype(int).tolist()
    right, bottom = np.ceil(high).astype(int).tolist()
    return Box(left, top, right - left, bottom - top)


def without_objects(photos: BackgroundImages) -> BackgroundImages:
    """Return the photos without annotated objects: in scenes, detections of these would count as false alarms.

    Raises
    ------
    SourceError
        If there are none.
    """
    empty = photos.subset(i for i, photo in enumerate(photos.photos) if not photo.ignored)
    if len(empty) == 0:
        raise SourceError(
            f"{photos.report.source}: every photo has boxes around objects; give photos without the object"
        )
    return empty


def write_scenes(
    folder: Path,
    maker: SceneMaker,
    n_scenes: int,
    *,
    kind: str | None = None,
    label: str = "object",
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Write scenes to a folder as PNG files, and a list of their boxes like OpenCV's `info.dat`.

    Parameters
    ----------
    folder : Path
        Must not exist, or be empty; it is written atomically.
    maker : SceneMaker
        Makes them.
    n_scenes : int
        Number of scenes.
    kind : {"coco", "yolo", "voc", "csv"}, optional
        An additional format for the boxes: `annotations.json`, a YOLO data set with `data.yaml`, an XML file for each
        scene, or `annotations.csv`.
    label : str
        The kind of object, for these.
    n_threads : int, optional
        Threads; the files do not depend on it.
    progress : callable, optional
        Called as `progress(n_done, n_scenes)`.

    Returns
    -------
    int
        Number of objects.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    names = f"{PICTURES}/{{:05}}.png" if kind == "yolo" else "{:05}.png"  # where YOLO's programs expect them
    pictures: list[AnnotatedPicture] = []
    with new_folder(folder) as place:
        (place / names).parent.mkdir(exist_ok=True)
        for number, scene in enumerate(
            ordered_map(maker.scene, range(n_scenes), checked_threads(n_threads)), start=1
        ):
            name = names.format(number)
            write_image(place / name, scene.gray)
            objects = tuple(AnnotatedObject(box, label) for box in scene.boxes)
            height, width = scene.gray.shape
            pictures.append(AnnotatedPicture(number, name, folder / name, objects, Size(width, height)))
            if progress is not None:
                progress(number, n_scenes)
        lines = (
            f"{one.name} {len(one.objects)} {' '.join(str(thing.box) for thing in one.objects)}\n"
            for one in pictures
        )
        (place / LIST_NAME).write_text("".join(lines), encoding="ascii")
        if kind is not None:
            for path, data in annotation_files_of(folder / _FILES.get(kind, ""), pictures, kind).items():
                target = place / path.relative_to(folder)
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(data)
    return sum(len(one.objects) for one in pictures)
