"""Originals of copies: crops with their surroundings, or one picture, which may be partly transparent."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import checked_window
from vjcascade.checks import checked_whole
from vjcascade.errors import SettingsError, SourceError
from vjcascade.formats.annotations.opencv_lists import Box
from vjcascade.imaging import IMAGE_SUFFIXES, read_cutout, resize_crop
from vjcascade.synthesis.geometry import Places
from vjcascade.training.data.copies import MOST_ALIKE, Region, mirror_accuracy
from vjcascade.training.data.crops import MAX_GROWTH, cut_window, grow_to_shape, growth, has_contrast
from vjcascade.training.data.positives import MIN_POSITIVES, Positives, load_positives, propose_window
from vjcascade.training.data.sources import pixel_digest
from vjcascade.training.settings import Mirror
from vjcascade.types import Size

TOLERANCE = 80
"""Default distance from the transparent grey level up to which others are transparent, as in `opencv_createsamples`."""

SOLID = 128
"""Opacity from which a pixel belongs to the object."""

MAX_SIDE = 1024
"""Longer side in pixels to which a cutout is reduced."""

N_DIRECTIONS = 64
"""Directions in which the farthest solid pixels form the outline of a cutout; also points on the outline of a crop."""


@dataclass(frozen=True, eq=False)
class Original:
    """The original of copies; the object is in the centre of the pixels.

    Attributes
    ----------
    pixels : ndarray of shape (h, w), dtype uint8
        Grey levels, including the surroundings of a crop.
    opacity : ndarray of shape (h, w), dtype uint8
        Their opacity when they are pasted; it fades out around crops.
    box : Size
        The object's size in these pixels, grown to the aspect ratio of the window.
    outline : ndarray of shape (n, 2), dtype float64
        Outline of the object: `x, y` from the centre.
    name : str
        File name of the picture.
    group : int
        Group of the picture that it was cut from.
    window : ndarray of shape (height, width), dtype uint8, or None
        The crop as training sees it; None for a cutout, which needs a background.
    digest : int
        Hash of pixels and opacity.

    Examples
    --------
    >>> from vjcascade.imaging import write_image
    >>> write_image("sign.png", np.tile(np.arange(0, 240, 10, np.uint8), (24, 1)))
    >>> read_originals(Path("sign.png")).originals[0].pixels.shape
    (32, 32)
    """

    pixels: NDArray[np.uint8]
    opacity: NDArray[np.uint8]
    box: Size
    outline: Places
    name: str
    group: int = 0
    window: NDArray[np.uint8] | None = None
    digest: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(str(self.pixels.shape).encode())
        digest.update(np.ascontiguousarray(self.pixels).data)
        digest.update(np.ascontiguousarray(self.opacity).data)
        object.__setattr__(self, "digest", int.from_bytes(digest.digest()[:16]))

    @property
    def is_cutout(self) -> bool:
        """Whether it needs a background."""
        return self.window is None

    @classmethod
    def of_crop(cls, region: Region, window: NDArray[np.uint8], name: str, group: int) -> Original:
        """Return the original of a crop; its object is assumed to be an ellipse that fills the box.

        Parameters
        ----------
        region : Region
            The crop and its surroundings.
        window : ndarray of shape (height, width), dtype uint8
            The crop as training sees it.
        name : str
            File name of the picture.
        group : int
            Group of the picture.

        Returns
        -------
        Original
            Not a cutout.
        """
        height, width = region.pixels.shape
        fade_x, fade_y = (
            _fade(n, side) for n, side in ((width, region.box.width), (height, region.box.height))
        )
        opacity = np.rint(255 * np.minimum(fade_y[:, np.newaxis], fade_x)).astype(np.uint8)
        angles = np.linspace(0, 2 * np.pi, N_DIRECTIONS, endpoint=False)
        outline = np.stack([np.cos(angles), np.sin(angles)], axis=1) * region.box / 2
        return cls(region.pixels, opacity, region.box, outline, name, group, window)

    def reduced(self, factor: float) -> Original:
        """Return the original scaled down; the digest is that of the new pixels.

        Parameters
        ----------
        factor : float
            Divisor of width and height; with 1 or less, nothing is changed.

        Returns
        -------
        Original
            Resized by area averaging.
        """
        if factor <= 1:
            return self
        height, width = self.pixels.shape
        size = Size(max(round(width / factor), 1), max(round(height / factor), 1))
        box = Size(max(round(self.box.width / factor), 1), max(round(self.box.height / factor), 1))
        return replace(
            self,
            pixels=resize_crop(self.pixels, size),
            opacity=resize_crop(np.ascontiguousarray(self.opacity), size),
            box=box,
            outline=self.outline * np.array(box) / np.array(self.box),
        )


@dataclass(frozen=True, eq=False)
class Originals:
    """The originals of a source, with their common properties.

    Attributes
    ----------
    originals : tuple of Original
        At least one.
    window : Size
        Size of samples.
    may_mirror : bool
        Whether copies may be mirrored.
    digests : frozenset of bytes
        `pixel_digest` of the pictures: these must not be used as photos without the object.
    lines : tuple of str
        Lines to print about a single picture.

    Examples
    --------
    >>> from vjcascade.imaging import write_image
    >>> write_image("sign.png", np.tile(np.arange(0, 240, 10, np.uint8), (24, 1)))
    >>> len(read_originals(Path("sign.png")).originals)
    1
    """

    originals: tuple[Original, ...]
    window: Size
    may_mirror: bool
    digests: frozenset[bytes] = frozenset()
    lines: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.originals)

    @property
    def has_cutouts(self) -> bool:
        """Whether any of them needs a background."""
        return any(one.is_cutout for one in self.originals)


def read_originals(  # noqa: PLR0913  each is a user's choice
    source: Path,
    window: Size | None = None,
    *,
    transparent: int | None = None,
    tolerance: int | None = None,
    as_cutout: bool = False,
    mirror: Mirror = Mirror.AUTO,
    limit: int | None = None,
    load: Callable[..., Positives] = load_positives,
) -> Originals:
    """Read the originals of copies.

    Parameters
    ----------
    source : Path
        Anything that `load_positives` takes, or one picture. A partly transparent picture becomes a cutout, with the
        box of its solid pixels.
    window : Size, optional
        Size of samples; chosen from the crops if not given.
    transparent : int, optional
        Grey level that is transparent in one picture.
    tolerance : int, optional
        Distance from that level up to which others are transparent, too; `TOLERANCE` if not given.
    as_cutout : bool
        Whether one picture without transparency shows only the object, such as a sign, and is a cutout; otherwise it is
        a crop.
    mirror : Mirror
        Whether copies may be mirrored. By default, crops are if they can hardly be distinguished from their mirror
        images; fewer than ten crops, and single pictures, which may show letters, are not.
    limit : int, optional
        Use only the first crops, at most so many.
    load : callable
        `load_positives`, perhaps with some arguments bound.

    Returns
    -------
    Originals
        At least one.

    Raises
    ------
    SourceError
        If there are none.
    SettingsError
        If a setting is out of range, or does not apply to this source.
    ImageError
        If the picture cannot be read.

    Examples
    --------
    >>> from vjcascade.imaging import write_image
    >>> write_image("sign.png", np.tile(np.arange(0, 240, 10, np.uint8), (24, 1)))
    >>> read_originals(Path("sign.png")).window
    Size(width=24, height=24)
    """
    if transparent is None and tolerance is not None:
        raise SettingsError("tolerance is the distance from the transparent grey level: give that level, too")
    if not is_picture(source) and transparent is not None:
        raise SettingsError(f"a transparent grey level works only for one picture, and {source} is not one")
    if is_picture(source):
        gray, opacity = read_cutout(source)
        if transparent is not None:
            level = checked_whole("transparent", transparent, le=255)
            most = checked_whole("tolerance", TOLERANCE if tolerance is None else tolerance, le=255)
            is_object = np.abs(gray.astype(np.int16) - level) > most
            opacity = np.where(is_object, opacity, np.uint8(0))
        if as_cutout or opacity.min() < 255:
            return _cutout(gray, opacity, window, source, may_mirror=mirror == Mirror.YES)
        return _crop(gray, window, source, may_mirror=mirror == Mirror.YES)
    positives = load(source, window, at_least=1, keep_regions=True)
    n_used = min(limit or len(positives), len(positives))
    originals = tuple(
        Original.of_crop(
            positives.regions[i], positives.windows[i], positives.names[i], int(positives.groups[i])
        )
        for i in range(n_used)
    )
    may_mirror = mirror == Mirror.YES
    if mirror == Mirror.AUTO and n_used >= MIN_POSITIVES:
        may_mirror = mirror_accuracy(positives.windows[:n_used]) < MOST_ALIKE
    return Originals(originals, positives.window, may_mirror, positives.digests)


def is_picture(source: Path) -> bool:
    """Return whether a source is one picture, rather than a folder or a file that names pictures.

    Examples
    --------
    >>> is_picture(Path("info.dat"))
    False
    """
    return source.suffix.lower() in IMAGE_SUFFIXES and os.path.isfile(source)  # noqa: PTH113  names may be too long


def _crop(gray: NDArray[np.uint8], window: Size | None, source: Path, *, may_mirror: bool) -> Originals:
    """Return the originals of a picture that is a crop."""
    height, width = gray.shape
    whole = Box(0, 0, width, height)
    size = _window_for(whole, window, source)
    pixels = cut_window(gray, whole, size)
    if not has_contrast(pixels):
        raise SourceError(
            f"{source}: too little contrast to be detected; give another picture, or photos to paste it into"
        )
    crop = Original.of_crop(Region.around(gray, whole, size), pixels, source.name, 0)
    line = f"object: all of {source.name}, {Size(width, height)} pixels"
    return Originals((crop,), size, may_mirror, frozenset([pixel_digest(gray)]), (line,))


def _cutout(
    gray: NDArray[np.uint8],
    opacity: NDArray[np.uint8],
    window: Size | None,
    source: Path,
    *,
    may_mirror: bool,
) -> Originals:
    """Return the originals of a picture of which only the solid part is the object."""
    solid = opacity >= SOLID
    if not solid.any():
        raise SourceError(
            f"{source}: the whole picture is transparent; give another picture, level or tolerance"
        )
    rows, columns = np.flatnonzero(solid.any(axis=1)), np.flatnonzero(solid.any(axis=0))
    part = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    gray, opacity, solid = _spread(gray[part], solid[part]), opacity[part], solid[part]
    height, width = gray.shape
    size = _window_for(Box(0, 0, width, height), window, source)
    grown = grow_to_shape(Box(0, 0, width, height), size)
    cutout = Original(gray, opacity, Size(grown.width, grown.height), _outline(solid), source.name)
    line = f"object: {source.name}, of which {Size(width, height)} pixels are not transparent"
    reduced = cutout.reduced(max(gray.shape) / MAX_SIDE)
    return Originals((reduced,), size, may_mirror, frozenset(), (line,))


def _window_for(whole: Box, window: Size | None, source: Path) -> Size:
    """Return the window of samples of one object: the given one, or a proposed one."""
    try:
        size = propose_window([(whole.width, whole.height)]) if window is None else checked_window(window)
    except SourceError as error:
        raise SourceError(f"{source}: {error}") from None
    if growth(whole, size) > MAX_GROWTH:
        raise SourceError(
            f"{source}: the object, {whole.width}x{whole.height} pixels, has an aspect ratio too far from the "
            f"{size} window's: it would fill less than 1/{MAX_GROWTH} of it; give another window"
        )
    return size


def _spread(gray: NDArray[np.uint8], solid: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Give pixels that are not solid the grey level of the nearest solid one: they are blended in at the edge."""
    from scipy.ndimage import distance_transform_edt  # type: ignore[import-untyped]

    rows, columns = distance_transform_edt(~solid, return_distances=False, return_indices=True)
    spread: NDArray[np.uint8] = gray[rows, columns]
    return spread


def _outline(solid: NDArray[np.bool_]) -> Places:
    """Return the corners of the farthest solid pixels in `N_DIRECTIONS` directions from the centre."""
    height, width = solid.shape
    first, last = solid.argmax(axis=1), width - solid[:, ::-1].argmax(axis=1)
    rows = np.flatnonzero(solid.any(axis=1))
    corners = np.array(
        [(x, y + below) for y in rows for x in (first[y], last[y]) for below in (0, 1)], np.float64
    )
    corners -= np.array([width, height]) / 2
    angles = np.linspace(0, 2 * np.pi, N_DIRECTIONS, endpoint=False)
    farthest = np.argmax(corners @ np.stack([np.cos(angles), np.sin(angles)]), axis=0)
    outline: Places = corners[np.unique(farthest)]
    return outline


def _fade(n_pixels: int, side: int) -> NDArray[np.float64]:
    """Return the opacity along a side: 1 in the box, falling to 0 at the border of the pixels."""
    from_middle = np.abs(np.arange(n_pixels) - (n_pixels - 1) / 2)
    margin = max((n_pixels - side) / 2, 1.0)
    faded: NDArray[np.float64] = np.clip((n_pixels / 2 - from_middle) / margin, 0, 1)
    return faded
