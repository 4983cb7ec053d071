"""The levels of a scan: at which scales the object is looked for, and which windows of each level image are looked at.

OpenCV's scan, the dense one and mining differ in the rows and columns of windows that they visit. All three say so by
the `step` and `rows` of a `Level`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vjcascade.checks import checked_number
from vjcascade.errors import SettingsError
from vjcascade.types import Size

MAX_LEVELS = 10_000
"""Most levels tried; a scale factor that asks for more is a slip of the pen."""

SIZES_KEPT = 32
"""Sizes of pictures whose levels are kept for the next one: frames are all of one size."""

STRIPE_COLUMNS = 32
"""OpenCV cuts the rows into one stripe for each so many columns of the first level."""


Rows: TypeAlias = range | NDArray[np.intp]
"""`y` of windows in level pixels, ascending; a range where they are evenly spaced, since it takes no memory."""


class Level(NamedTuple):
    """One level of a scan: a level image, and which of its windows are looked at.

    Attributes
    ----------
    scale : float32
        Picture pixels for each level pixel.
    size : Size
        Of the level image.
    window : Size
        Of the cascade.
    step : int
        Distance of columns of windows in level pixels.
    rows : range or ndarray of shape (n,), dtype intp
        `y` of the windows in level pixels, ascending.

    Examples
    --------
    >>> level = Level(np.float32(2), Size(26, 25), Size(24, 24), 2, range(1))
    >>> level.n_windows, level.every_window().n_windows
    (2, 6)
    >>> level.boxes(np.array([[2, 0]], np.int32)).tolist()
    [[4, 0, 48, 48]]
    """

    scale: np.float32
    size: Size
    window: Size
    step: int
    rows: Rows

    @property
    def n_columns(self) -> int:
        """Windows in a row."""
        return -(-(self.size.width - self.window.width + 1) // self.step)

    @property
    def n_windows(self) -> int:
        """Windows in all rows."""
        return len(self.rows) * self.n_columns

    def every_window(self) -> Self:
        """Return this level with all its rows and columns."""
        return self._replace(step=1, rows=range(self.size.height - self.window.height + 1))

    def boxes(self, positions: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the boxes of windows in picture pixels: float32 products, rounded half to even.

        Parameters
        ----------
        positions : ndarray of shape (n, 2), dtype int32
            `x, y` of the windows' top left corners in level pixels.

        Returns
        -------
        ndarray of shape (n, 4), dtype int32
            Rounding may take boxes out of the picture, by half a level pixel at most.
        """
        boxes = np.empty((len(positions), 4), np.int32)
        boxes[:, :2] = np.rint(positions.astype(np.float32) * self.scale)
        boxes[:, 2:] = scaled_size(self.window, self.scale)
        return boxes


def scan_levels(
    image_size: Size,
    window: Size,
    scale_factor: float,
    min_size: Size | None = None,
    max_size: Size | None = None,
) -> list[Level]:
    """Return the levels that OpenCV 4.14 scans, with the rows it visits, smallest object first.

    Windows are two level pixels apart at scales below 2, else one.

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
    return list(_levels_of(image_size, window, scale_factor, min_size, max_size))


@lru_cache(SIZES_KEPT)
def _levels_of(
    image_size: Size, window: Size, scale_factor: float, min_size: Size | None, max_size: Size | None
) -> tuple[Level, ...]:
    scales = _bounded(_all_scales(image_size, window, scale_factor), image_size, window, min_size, max_size)
    sizes = [_level_size(image_size, scale) for scale in scales]
    if not sizes:
        return ()
    n_stripes = math.ceil((sizes[0].width - window.width + 1) / STRIPE_COLUMNS)
    levels = []
    for scale, size in zip(scales, sizes, strict=True):
        step = 1 if scale >= 2 else 2
        rows = opencv_rows(size.height - window.height + 1, step, n_stripes)
        levels.append(Level(scale, size, window, step, rows))
    return tuple(levels)


def opencv_rows(n_rows: int, step: int, n_stripes: int) -> range:
    """Return the rows of windows that OpenCV visits.

    It counts the whole steps that fit into the rows and divides them among stripes of equal height, so that a row less
    than a step above the bottom may be in no stripe, and is lost.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    step : int
        Distance of windows in level pixels.
    n_stripes : int
        How many stripes are cut, at least 1.

    Returns
    -------
    range
        `y` of the windows.

    Examples
    --------
    >>> list(opencv_rows(5, 2, 1)), list(opencv_rows(7, 2, 2))
    ([0, 2], [0, 2, 4, 6])
    """
    stripe = max((n_rows // step + n_stripes - 1) // n_stripes, 1) * step
    return range(0, min(stripe * n_stripes, n_rows), step)


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
            step = min(stride, max(level_size))
            rows = range(0, level_size.height - window.height + 1, step)
            levels.append(Level(scale, level_size, window, step, rows))
    return levels


def row_array(rows: Rows) -> NDArray[np.intp]:
    """Return rows as an array; `np.asarray` would take the numbers of a range one by one."""
    return np.arange(rows.start, rows.stop, rows.step) if isinstance(rows, range) else rows


def check_scale_factor(scale_factor: float) -> None:
    """Raise `SettingsError` unless `scale_factor` is finite and above 1."""
    checked_number("scale factor", scale_factor, gt=1, hint="1.1, for example, is usual")


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
