"""Windows, clocks and options that the benchmarks share."""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import skimage
from numpy.typing import NDArray

from vjcascade import Size
from vjcascade.buffers import ReusableBuffer
from vjcascade.features import HaarMode, enumerate_haar
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.imaging import find_images, read_gray, resize_exact
from vjcascade.learning.samples import WindowSamples, samples_of
from vjcascade.parallel import default_threads

Result = TypeVar("Result")
Pictures = Sequence[NDArray[np.uint8]]

PHOTOS = (
    "astronaut.png",
    "brick.png",
    "camera.png",
    "chelsea.png",
    "coffee.png",
    "coins.png",
    "grass.png",
    "gravel.png",
)
N_FACES = 100
"""The first windows of scikit-image's `lfw_subset` are faces, the others are not."""

LEAST_CONTRAST = 10
GREATEST_SHIFT = 1
NOISE = 8.0
"""Pixels that a copy of a positive is shifted by at most, and the standard deviation of its noise in grey levels."""


class Photos(list[NDArray[np.uint8]]):
    """Grey pictures in memory, as mining wants them."""

    @property
    def sizes(self) -> list[Size]:
        """Size of each."""
        return [Size(*photo.shape[::-1]) for photo in self]

    def ignored(self, _: int) -> NDArray[np.int32]:
        """Return no boxes."""
        return np.empty((0, 4), np.int32)


class Timed(NamedTuple):
    """Seconds that something took: by the clock, and of all processors."""

    wall: float
    cpu: float


def timed(function: Callable[[], Result]) -> tuple[Result, Timed]:
    """Return the result of a call and what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return result, Timed(time.perf_counter() - wall, time.process_time() - cpu)


def median(times: Sequence[Timed]) -> Timed:
    """Return the medians."""
    return Timed(*(float(np.median(column)) for column in zip(*times, strict=True)))


def parser(description: str | None, rounds: int) -> argparse.ArgumentParser:
    """Return a parser of the options that all benchmarks have."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--samples", type=int, default=10_000, help="windows, half of them positives")
    made.add_argument("--window", type=Size.parse, default=Size(24, 24))
    made.add_argument("--mode", type=HaarMode, default=HaarMode.BASIC)
    made.add_argument("--rounds", type=int, default=rounds)
    made.add_argument("--threads", type=int, default=default_threads())
    made.add_argument("--positives", type=Path, help="folder of crops, in place of scikit-image's faces")
    made.add_argument("--negatives", type=Path, help="folder of photos, in place of scikit-image's")
    return made


def stage_samples(arguments: argparse.Namespace, features_step: int = 1) -> WindowSamples:
    """Return the samples that options describe, half of them positives, with every so manieth feature."""
    return window_samples(stage_windows(arguments), arguments, features_step)


def stage_windows(arguments: argparse.Namespace) -> NDArray[np.uint8]:
    """Return the windows that options describe, positives before as many negatives."""
    n_positives = arguments.samples // 2
    positives = face_windows(n_positives, arguments.window, arguments.positives)
    negatives = photo_windows(arguments.samples - n_positives, arguments.window, arguments.negatives)
    return np.concatenate([positives, negatives])


def window_samples(
    windows: NDArray[np.uint8],
    arguments: argparse.Namespace,
    features_step: int = 1,
    space: ReusableBuffer | None = None,
) -> WindowSamples:
    """Return windows as samples, the first half positives; their bins in a space of their own or a given one."""
    pool = enumerate_haar(arguments.window, arguments.mode)[::features_step]
    integrals = WindowIntegrals.of(windows, tilted=arguments.mode is HaarMode.ALL)
    return samples_of(pool, integrals, len(windows) // 2, arguments.threads, space)


def photo_windows(n: int, window: Size, folder: Path | None = None) -> NDArray[np.uint8]:
    """Cut windows with contrast at random from the photos of a folder, or from those inside scikit-image."""
    inside = Path(skimage.__file__).parent / "data"
    photos = _read(find_images(folder).paths if folder else [inside / name for name in PHOTOS], window)
    rng = np.random.default_rng(0)
    crops = (_random_crop(photo, window, rng) for photo in itertools.cycle(photos))
    with_contrast = (crop for crop in crops if crop[1:-1, 1:-1].std() > LEAST_CONTRAST)
    return np.array(list(itertools.islice(with_contrast, n)))


def face_windows(n: int, window: Size, folder: Path | None = None) -> NDArray[np.uint8]:
    """Return crops of a folder, or the faces inside scikit-image; as many altered copies as it takes."""
    crops = _read(find_images(folder).paths, Size(1, 1)) if folder else _faces()
    resized = [resize_exact(crop, window) for crop in crops]
    copies = _altered_copies(resized, np.random.default_rng(1))
    return np.array(list(itertools.islice(itertools.chain(resized, copies), n)))


def _read(paths: Sequence[Path], least: Size) -> Pictures:
    """Return those pictures that are large enough and not of one grey."""
    pictures = [read_gray(path) for path in paths]
    large = [
        picture
        for picture in pictures
        if picture.shape[0] >= least.height
        and picture.shape[1] >= least.width
        and picture.std() > LEAST_CONTRAST
    ]
    if not large:
        raise SystemExit(f"none of {len(paths)} pictures has at least {least} pixels and contrast")
    return large


def _faces() -> Pictures:
    faces = skimage.data.lfw_subset()[:N_FACES]
    return list(np.round(faces * 255).astype(np.uint8))


def _random_crop(photo: NDArray[np.uint8], window: Size, rng: np.random.Generator) -> NDArray[np.uint8]:
    y = rng.integers(photo.shape[0] - window.height + 1)
    x = rng.integers(photo.shape[1] - window.width + 1)
    return photo[y : y + window.height, x : x + window.width]


def _altered_copies(crops: Pictures, rng: np.random.Generator) -> Iterator[NDArray[np.uint8]]:
    """Yield copies without end, shifted, mirrored every other time, and with noise."""
    for crop in itertools.cycle(crops):
        padded = np.pad(crop, GREATEST_SHIFT, mode="edge")
        y, x = rng.integers(0, 2 * GREATEST_SHIFT + 1, 2)
        copy = padded[y : y + crop.shape[0], x : x + crop.shape[1]]
        if rng.random() < 0.5:
            copy = copy[:, ::-1]
        noisy = copy + rng.normal(0, NOISE, copy.shape)
        yield np.clip(np.round(noisy), 0, 255).astype(np.uint8)
