"""At which scales OpenCV looks for the object, and how it cuts each level image."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from vjcascade.errors import SettingsError
from vjcascade.types import Size

MAX_LEVELS = 10_000
"""Most levels tried; a scale factor that asks for more is a slip of the pen."""

STRIPE_COLUMNS = 32
"""OpenCV cuts the rows into one stripe for each so many columns of the first level."""


class Level(NamedTuple):
    """One level of a scan.

    Attributes
    ----------
    scale : float32
        Picture pixels for each level pixel.
    size : Size
        Of the level image.
    step : int
        Distance of windows in level pixels: 2 at scales below 2, else 1.
    n_stripes : int
        Stripes that OpenCV cuts the rows into; decides whether the last row is visited.
    """

    scale: np.float32
    size: Size
    step: int
    n_stripes: int


def scan_levels(
    image_size: Size,
    window: Size,
    scale_factor: float,
    min_size: Size | None = None,
    max_size: Size | None = None,
) -> list[Level]:
    """Return the levels that OpenCV 4.14 scans, smallest object first.

    Parameters
    ----------
    image_size : Size
        Of the picture.
    window : Size
        Of the cascade.
    scale_factor : float
        Ratio of neighbouring scales, > 1 and finite.
    min_size, max_size : Size, optional
        Bounds on the object in picture pixels. If no scale lies between them, the one nearest to
        `min_size` is scanned all the same.

    Returns
    -------
    list of Level
        Empty if the window does not fit into the picture.

    Raises
    ------
    SettingsError
        If `scale_factor` is out of range, or asks for more than `MAX_LEVELS` levels.

    Examples
    --------
    >>> [str(level.size) for level in scan_levels(Size(60, 50), Size(24, 24), 1.5)]
    ['60x50', '40x33']
    """
    scales = _bounded(_all_scales(image_size, window, scale_factor), image_size, window, min_size, max_size)
    sizes = [_level_size(image_size, scale) for scale in scales]
    if not sizes:
        return []
    n_stripes = math.ceil((sizes[0].width - window.width + 1) / STRIPE_COLUMNS)
    return [
        Level(scale, size, 1 if scale >= 2 else 2, n_stripes)
        for scale, size in zip(scales, sizes, strict=True)
    ]


def dense_levels(
    image_size: Size,
    window: Size,
    scale_factor: float,
    stride: int,
    bounds: tuple[Size, Size],
) -> list[Level]:
    """Return the levels at which the object is no smaller and no larger than it may be, smallest first.

    Parameters
    ----------
    image_size : Size
        Of the picture.
    window : Size
        Of the cascade.
    scale_factor : float
        Ratio of neighbouring scales, > 1 and finite.
    stride : int
        Distance of windows in level pixels. A level's step is no larger than its longer side.
    bounds : tuple of Size
        Smallest and largest object in picture pixels.

    Returns
    -------
    list of Level
        Those of `scan_levels`' scales where the object's size lies between the bounds; empty if none does.

    Raises
    ------
    SettingsError
        If `scale_factor` is out of range, or asks for more than `MAX_LEVELS` levels.

    Examples
    --------
    >>> dense_levels(Size(60, 50), Size(24, 24), 1.5, 1, (Size(25, 25), Size(35, 35)))
    []
    """
    least, most = bounds
    levels = []
    for scale in _all_scales(image_size, window, scale_factor):
        size = scaled_size(window, scale)
        if least.width <= size.width <= most.width and least.height <= size.height <= most.height:
            level_size = _level_size(image_size, scale)
            levels.append(Level(scale, level_size, min(stride, max(level_size)), 1))
    return levels


def check_scale_factor(scale_factor: float) -> None:
    """Raise `SettingsError` unless `scale_factor` is finite and above 1."""
    is_real = isinstance(scale_factor, (int, float, np.integer, np.floating))
    try:
        factor = float(scale_factor) if is_real else 0.0
    except OverflowError:  # an int of hundreds of digits
        factor = math.inf
    if not 1 < factor < math.inf:  # nan too
        raise SettingsError(f"scale factor {scale_factor!r} must be a finite number above 1, for example 1.1")


def scaled_size(window: Size, scale: np.float32) -> Size:
    """Return the size of an object found at `scale`: float32 products, rounded half to even."""
    return Size(
        round(float(np.float32(window.width) * scale)), round(float(np.float32(window.height) * scale))
    )


def _all_scales(image_size: Size, window: Size, scale_factor: float) -> list[np.float32]:
    """Return every scale at which the window fits into the picture."""
    check_scale_factor(scale_factor)
    largest = min(image_size.width / window.width, image_size.height / window.height)
    n_levels = math.log(largest) / math.log(scale_factor) if largest > 1 else 0
    if n_levels > MAX_LEVELS:
        raise SettingsError(
            f"scale factor {scale_factor} asks for {n_levels:.0f} scales in a {image_size} picture; "
            f"at most {MAX_LEVELS} are allowed. Use a larger one, for example 1.05"
        )
    scales = []
    factor = 1.0
    while (
        factor <= image_size.width  # past it, a product might be infinite
        and round(window.width * factor) <= image_size.width
        and round(window.height * factor) <= image_size.height
    ):
        scales.append(np.float32(factor))
        factor *= scale_factor
    return scales


def _bounded(
    scales: list[np.float32], image_size: Size, window: Size, min_size: Size | None, max_size: Size | None
) -> list[np.float32]:
    """Keep the scales between `min_size` and `max_size`, or else the one nearest to `min_size`."""
    least, most = min_size or Size(0, 0), max_size or image_size
    sizes = [scaled_size(window, scale) for scale in scales]
    kept = []
    for scale, size in zip(scales, sizes, strict=True):
        if size.width > most.width or size.height > most.height:
            break
        if size.width >= least.width and size.height >= least.height:
            kept.append(scale)
    if kept or not scales:
        return kept
    distances = [(size.width - least.width) ** 2 + (size.height - least.height) ** 2 for size in sizes]
    return [scales[distances.index(min(distances))]]


def _level_size(image_size: Size, scale: np.float32) -> Size:
    """Return the size of a level image: float32 quotients, rounded half to even."""
    return Size(
        round(float(np.float32(image_size.width) / scale)),
        round(float(np.float32(image_size.height) / scale)),
    )
