"""Altered samples, and the files they are written to.

Copies of one picture must be held out together, or validation would see what training saw. Training keeps windows from
one picture file together; so all samples of a picture are on one sheet, and a list has their boxes. Every program that
reads lists like OpenCV's `info.dat` can use them, and the grouping cannot get lost. There are margins between the
boxes, as training makes more copies of the boxes in a list, which show what is around them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import SettingsError
from vjcascade.files import new_folder
from vjcascade.formats.annotations.opencv_lists import LIST_NAME
from vjcascade.imaging import MAX_PIXELS, resize_crop, write_image
from vjcascade.parallel import checked_threads, ordered_map
from vjcascade.synthesis.alterations import Alteration, Alterations
from vjcascade.synthesis.geometry import inverse, mapped, moved, perspective, zoomed
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
from vjcascade.training.data.backgrounds import BackgroundImages
from vjcascade.training.data.copies import MARGIN
from vjcascade.training.data.crops import has_contrast
from vjcascade.types import Size

TRIES = 20
"""Attempts to make a sample with enough contrast, or to find a free place in a photo."""

STEM = 60
"""Characters of a picture's name in the name of its sheet."""

N_AT_A_TIME = 16
"""Samples in the task of a thread."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class SampleMaker:
    """Makes altered samples of originals. A sample depends only on the original's pixels, its number and the seed.

    Attributes
    ----------
    sources : Originals
        The originals.
    alterations : Alterations
        Ranges of the alterations.
    seed : int
        Random seed.
    photos : BackgroundImages or None
        Backgrounds of cutouts; None for a random plain grey in each sample.

    Examples
    --------
    >>> from vjcascade.synthesis.originals import read_originals
    >>> from vjcascade.imaging import write_image
    >>> write_image("sign.png", np.tile(np.arange(0, 240, 10, np.uint8), (24, 1)))
    >>> maker = SampleMaker(read_originals(Path("sign.png")), Alterations())
    >>> maker.sample(0, 7).shape, maker.tile(0, 7).shape
    ((24, 24), (32, 32))
    """

    sources: Originals
    alterations: Alterations
    seed: int = 0
    photos: BackgroundImages | None = None

    @cached_property
    def margin(self) -> Size:
        """The margin around a sample on a sheet, on each side."""
        window = self.sources.window
        return Size(math.ceil(MARGIN * window.width), math.ceil(MARGIN * window.height))

    @property
    def tile_size(self) -> Size:
        """The size of a sample with its margins."""
        window, margin = self.sources.window, self.margin
        return Size(window.width + 2 * margin.width, window.height + 2 * margin.height)

    @cached_property
    def _reduced(self) -> tuple[Original, ...]:
        """The originals, reduced to the resolution at which they are sampled."""
        window = self.sources.window
        return tuple(
            one.reduced(one.box.width / (OVERSAMPLING * window.width)) for one in self.sources.originals
        )

    def sample(self, index: int, number: int) -> NDArray[np.uint8] | None:
        """Return a sample of the window's size; None as in `tile`.

        Parameters
        ----------
        index : int
            Of the original.
        number : int
            Of its copy, from 0.

        Returns
        -------
        ndarray of shape (height, width), dtype uint8, or None
            Grey levels.
        """
        tile = self.tile(index, number)
        return None if tile is None else self.inner(tile)

    def tile(self, index: int, number: int) -> NDArray[np.uint8] | None:
        """Return a sample with its margins.

        Parameters
        ----------
        index : int
            Of the original.
        number : int
            Of its copy, from 0.

        Returns
        -------
        ndarray of shape (height, width), dtype uint8, or None
            Grey levels of the window and its margins; None if no attempt had enough contrast.
        """
        original = self._reduced[index]
        rng = np.random.default_rng([self.seed, self.sources.originals[index].digest, number])
        for _ in range(TRIES):
            alteration = self.alterations.drawn(rng, may_mirror=self.sources.may_mirror)
            tile = self._altered(original, alteration, rng)
            if has_contrast(self.inner(tile)):
                return tile
        return None

    def original_tile(self, index: int) -> NDArray[np.uint8] | None:
        """Return a crop as training sees it, with its margins; None for a cutout, which needs a background."""
        window = self.sources.originals[index].window
        if window is None:
            return None
        rng = np.random.default_rng(self.seed)  # without effect
        tile = self._altered(self._reduced[index], Alterations(strength=0).drawn(rng), rng)
        self.inner(tile)[...] = window
        return tile

    def inner(self, tile: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the sample in a tile, as a view."""
        window, margin = self.sources.window, self.margin
        return tile[margin.height : margin.height + window.height, margin.width : margin.width + window.width]

    def _altered(
        self, original: Original, alteration: Alteration, rng: np.random.Generator
    ) -> NDArray[np.uint8]:
        window, box = np.array(self.sources.window), np.array(original.box)
        forward = (
            moved(alteration.shift * box)
            @ zoomed(alteration.scaling)
            @ perspective(alteration, original.box, original.outline)
        )
        wider = self.tile_size
        seen = grid(*wider, -wider.width / 2, -wider.height / 2) / window  # in sides of the window
        places = mapped(inverse(forward), seen * box)
        levels = toned(sampled(original.pixels, places, beyond="nearest"), alteration, places / box, original)
        if original.is_cutout:
            behind = self._background(rng, Size(*(OVERSAMPLING * np.array(wider)).tolist()))
            share = sampled(original.opacity, places, beyond="grid-constant") / 255
            levels = share * levels + (1 - share) * behind
        hide(levels, alteration.hidden, places / box)
        return recorded(blurred(averaged(levels), alteration.blur), alteration, rng)

    def _background(self, rng: np.random.Generator, size: Size) -> NDArray[np.float64]:
        if self.photos is None:
            return np.full((size.height, size.width), rng.uniform(0, 255))
        photo = self.photos[int(rng.integers(len(self.photos)))]
        room = min(photo.shape[1] / size.width, photo.shape[0] / size.height)
        factor = room ** rng.uniform() if room > 1 else room
        width, height = max(int(size.width * factor), 1), max(int(size.height * factor), 1)
        x, y = rng.integers(0, [photo.shape[1] - width + 1, photo.shape[0] - height + 1]).tolist()
        return resize_crop(photo[y : y + height, x : x + width], size).astype(np.float64)


def numbers_of(n_samples: int, n_originals: int) -> list[tuple[int, int]]:
    """Return the index of the original and the number of each sample: equally many for all, sorted by original.

    Examples
    --------
    >>> numbers_of(5, 2)
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    """
    each, more = divmod(n_samples, n_originals)
    return [(index, number) for index in range(n_originals) for number in range(each + (index < more))]


def made_samples(
    maker: SampleMaker, n_samples: int, n_threads: int | None = None, progress: Progress | None = None
) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Yield samples with their margins, and the index of the original of each.

    Parameters
    ----------
    maker : SampleMaker
        Makes them.
    n_samples : int
        Number of samples; there are fewer if some had no contrast.
    n_threads : int, optional
        Threads; the result does not depend on it.
    progress : callable, optional
        Called as `progress(n_done, n_samples)`.

    Yields
    ------
    tuple of int and ndarray of shape (height, width), dtype uint8
        The index and the tile.
    """
    tasks = numbers_of(n_samples, len(maker.sources))
    parts = [tasks[start : start + N_AT_A_TIME] for start in range(0, len(tasks), N_AT_A_TIME)]
    n_done = 0
    for part in ordered_map(
        lambda part: [(index, maker.tile(index, number)) for index, number in part],
        parts,
        checked_threads(n_threads),
    ):
        n_done += len(part)
        if progress is not None:
            progress(n_done, n_samples)
        yield from ((index, tile) for index, tile in part if tile is not None)


def sample_windows(
    maker: SampleMaker, n_samples: int, n_threads: int | None = None, progress: Progress | None = None
) -> NDArray[np.uint8]:
    """Return the unaltered crops followed by altered samples, all of the window's size.

    Parameters
    ----------
    maker : SampleMaker
        Makes them.
    n_samples : int
        Number of altered samples.
    n_threads : int, optional
        Threads; the result does not depend on it.
    progress : callable, optional
        As for `made_samples`.

    Returns
    -------
    ndarray of shape (n, height, width), dtype uint8
        The samples of a `.vec`.
    """
    window = maker.sources.window
    crops = [one.window for one in maker.sources.originals if one.window is not None]
    altered = [maker.inner(tile) for _, tile in made_samples(maker, n_samples, n_threads, progress)]
    return np.array([*crops, *altered], np.uint8).reshape(-1, window.height, window.width)


def write_samples(
    folder: Path,
    maker: SampleMaker,
    n_samples: int,
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Write crops and altered samples to a folder: a sheet for each picture that they come from, and a list.

    Parameters
    ----------
    folder : Path
        Must not exist, or be empty; it is written atomically.
    maker : SampleMaker
        Makes them.
    n_samples : int
        Number of altered samples.
    n_threads : int, optional
        Threads; the files do not depend on it.
    progress : callable, optional
        As for `made_samples`.

    Returns
    -------
    int
        Number of samples, including the unaltered crops.

    Raises
    ------
    SettingsError
        If the samples of one picture do not fit on a sheet.
    OSError
        If it cannot be written.

    Examples
    --------
    >>> from vjcascade.synthesis.originals import read_originals
    >>> from vjcascade.imaging import write_image
    >>> write_image("sign.png", np.tile(np.arange(0, 240, 10, np.uint8), (24, 1)))
    >>> maker = SampleMaker(read_originals(Path("sign.png")), Alterations())
    >>> write_samples(Path("samples"), maker, 3)
    4
    """
    _check_room(maker, n_samples)
    tiles: dict[int, list[NDArray[np.uint8]]] = {}
    names: dict[int, str] = {}
    for index, original in enumerate(maker.sources.originals):
        tiles.setdefault(original.group, [])
        names.setdefault(original.group, original.name)
        if (tile := maker.original_tile(index)) is not None:
            tiles[original.group].append(tile)
    for index, tile in made_samples(maker, n_samples, n_threads, progress):
        tiles[maker.sources.originals[index].group].append(tile)
    lines = []
    with new_folder(folder) as place:
        for number, (group, of_group) in enumerate(tiles.items()):
            if of_group:
                name = f"{number:05}-{_stem(names[group])}.png"
                sheet, boxes = _sheet(of_group, maker)
                write_image(place / name, sheet)
                lines.append(f"{name} {len(boxes)} {' '.join(boxes)}\n")
        (place / LIST_NAME).write_text("".join(lines), encoding="ascii")
    return sum(map(len, tiles.values()))


def _check_room(maker: SampleMaker, n_samples: int) -> None:
    groups = Counter(
        maker.sources.originals[index].group for index, _ in numbers_of(n_samples, len(maker.sources))
    )
    room = (
        MAX_PIXELS // 2 // (maker.tile_size.width * maker.tile_size.height)
    )  # the last row may be nearly empty
    if max(groups.values(), default=0) > room:
        raise SettingsError(
            f"{max(groups.values()):,} samples of one picture do not fit on one sheet, which has room for {room:,} of "
            f"{maker.sources.window} pixels; make fewer, or write a .vec"
        )


def _stem(name: str) -> str:
    """Return a picture's name that every program can read in a list: ASCII without spaces."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", Path(name).stem)[:STEM].strip("_") or "picture"


def _sheet(tiles: Sequence[NDArray[np.uint8]], maker: SampleMaker) -> tuple[NDArray[np.uint8], list[str]]:
    """Arrange tiles in a nearly square sheet; return it with the boxes of the samples."""
    height, width = tiles[0].shape
    n_columns = min(math.ceil(math.sqrt(len(tiles) * height / width)), len(tiles))
    n_rows = math.ceil(len(tiles) / n_columns)
    sheet = np.zeros((n_rows * height, n_columns * width), np.uint8)
    boxes = []
    for i, tile in enumerate(tiles):
        y, x = i // n_columns * height, i % n_columns * width
        sheet[y : y + height, x : x + width] = tile
        corner = f"{x + maker.margin.width} {y + maker.margin.height}"
        boxes.append(f"{corner} {maker.sources.window.width} {maker.sources.window.height}")
    return sheet, boxes
