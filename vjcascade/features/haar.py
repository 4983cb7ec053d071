"""The pool of Haar features of a window, in OpenCV's order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vjcascade.types import FEATURE_DTYPE, Size


class HaarMode(StrEnum):
    """Which Haar features the pool holds, as in OpenCV's trainer.

    BASIC has the edges, lines and checkerboards of Viola and Jones; CORE adds wide lines and the centre-surround
    feature; ALL adds the features turned by 45 degrees.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> [count_haar(Size(24, 24), mode) for mode in HaarMode]
    [162336, 210400, 261600]
    """

    BASIC = "basic"
    CORE = "core"
    ALL = "all"


@dataclass(frozen=True)
class _Shape:
    """One kind of feature, in cells of `dx` x `dy` pixels.

    `rects` holds (x, y, w, h, weight). Upright: x and w in dx, y and h in dy. Tilted: the two sides of a rectangle
    run down-right (w, in dx) and down-left (h, in dy), so x and y count steps along these two directions.
    """

    mode: HaarMode
    cells: tuple[int, int]
    rects: tuple[tuple[int, int, int, int, float], ...]
    tilted: bool = False

    def extent(self, dx: int, dy: int) -> tuple[int, int, int]:
        """Return how far the feature reaches to the left of its x, and its width and height in pixels."""
        w, h = self.cells[0] * dx, self.cells[1] * dy
        return (h, w + h, w + h) if self.tilted else (0, w, h)


_SHAPES = (
    _Shape(HaarMode.BASIC, (2, 1), ((0, 0, 2, 1, -1), (1, 0, 1, 1, 2))),
    _Shape(HaarMode.BASIC, (1, 2), ((0, 0, 1, 2, -1), (0, 1, 1, 1, 2))),
    _Shape(HaarMode.BASIC, (3, 1), ((0, 0, 3, 1, -1), (1, 0, 1, 1, 3))),
    _Shape(HaarMode.BASIC, (1, 3), ((0, 0, 1, 3, -1), (0, 1, 1, 1, 3))),
    _Shape(HaarMode.CORE, (4, 1), ((0, 0, 4, 1, -1), (1, 0, 2, 1, 2))),
    _Shape(HaarMode.CORE, (1, 4), ((0, 0, 1, 4, -1), (0, 1, 1, 2, 2))),
    _Shape(HaarMode.BASIC, (2, 2), ((0, 0, 2, 2, -1), (0, 0, 1, 1, 2), (1, 1, 1, 1, 2))),
    _Shape(HaarMode.CORE, (3, 3), ((0, 0, 3, 3, -1), (1, 1, 1, 1, 9))),
    _Shape(HaarMode.ALL, (2, 1), ((0, 0, 2, 1, -1), (0, 0, 1, 1, 2)), tilted=True),
    _Shape(HaarMode.ALL, (1, 2), ((0, 0, 1, 2, -1), (0, 0, 1, 1, 2)), tilted=True),
    _Shape(HaarMode.ALL, (3, 1), ((0, 0, 3, 1, -1), (1, 0, 1, 1, 3)), tilted=True),
    _Shape(HaarMode.ALL, (1, 3), ((0, 0, 1, 3, -1), (0, 1, 1, 1, 3)), tilted=True),
    _Shape(HaarMode.ALL, (4, 1), ((0, 0, 4, 1, -1), (1, 0, 2, 1, 2)), tilted=True),
    _Shape(HaarMode.ALL, (1, 4), ((0, 0, 1, 4, -1), (0, 1, 1, 2, 2)), tilted=True),
)
"""OpenCV's order. Its trainer gives the upright three-cell features the weight +2, which leaves them unbalanced."""


def enumerate_haar(
    window: Size, mode: HaarMode = HaarMode.BASIC, *, balanced: bool = True
) -> NDArray[np.void]:
    """List every Haar feature that fits a window, in the order of OpenCV's trainer.

    Parameters
    ----------
    window : Size
        Training window, in pixels.
    mode : HaarMode
        Kinds of feature.
    balanced : bool
        Weight the middle of upright three-cell features with +3, as Viola and Jones and every file shipped
        with OpenCV do, so that a feature does not see brightness. False gives the +2 of OpenCV's
        trainer, for comparison.

    Returns
    -------
    features : ndarray of shape (n,), dtype `FEATURE_DTYPE`
        Ordered by x, y, dx, dy, kind: index `i` is feature `i` of ``opencv_traincascade``.

    References
    ----------
    .. [1] OpenCV 3.4.18, apps/traincascade/haarfeatures.cpp, ``CvHaarEvaluator::generateFeatures``.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> [len(enumerate_haar(Size(24, 24), mode)) for mode in HaarMode]
    [162336, 210400, 261600]
    """
    parts, order = [], []
    for kind, shape in enumerate(_shapes_of(mode)):
        places = np.concatenate(list(_places(shape, window)) or [np.empty((0, 4), np.int32)])
        parts.append(_features(shape, places, balanced=balanced))
        order.append(np.column_stack([places, np.full(len(places), kind, np.int32)]))
    keys = np.concatenate(order)
    return np.concatenate(parts)[np.lexsort(keys.T[::-1])]


def haar_features_at(
    indices: ArrayLike, window: Size, mode: HaarMode = HaarMode.BASIC, *, balanced: bool = True
) -> NDArray[np.void]:
    """Return features of `enumerate_haar` by their places in it, without listing the others.

    Parameters
    ----------
    indices : array_like of shape (n,), integers
        Places, from 0.
    window : Size
        Training window, in pixels.
    mode : HaarMode
        Kinds of feature in the pool.
    balanced : bool
        As for `enumerate_haar`.

    Returns
    -------
    features : ndarray of shape (n,), dtype `FEATURE_DTYPE`
        In the order of `indices`.

    Raises
    ------
    IndexError
        If the window has no such feature; the message says how many it has.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> haar_features_at([162335], Size(24, 24))["rects"][0, 0].tolist()
    [23, 22, 1, 2]
    """
    wanted = np.asarray(indices, np.int64).reshape(-1)
    shapes = _shapes_of(mode)
    x, y = np.divmod(np.arange(window.width * window.height), window.height)
    counts = np.zeros(len(x), np.int64)
    for dx in range(1, window.width + 1):
        for shape in shapes:
            counts += _most_dy(shape, window, x, y, np.array(dx))
    ends = checked_places(wanted, counts)
    corners = np.searchsorted(ends, wanted, side="right")
    columns, rows = np.arange(1, window.width + 1), np.arange(1, window.height + 1)
    features = np.zeros(len(wanted), FEATURE_DTYPE)
    for i, corner in enumerate(corners):
        most = np.stack([_most_dy(shape, window, x[corner], y[corner], columns) for shape in shapes], -1)
        fits = np.argwhere(rows[:, None] <= most[:, None])
        column, row, kind = fits[wanted[i] - ends[corner] + counts[corner]]
        place = np.array([[x[corner], y[corner], columns[column], rows[row]]], np.int32)
        features[i] = _features(shapes[kind], place, balanced=balanced)[0]
    return features


def checked_places(wanted: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the features of each corner of a window end, in a pool that has so many at each.

    Raises
    ------
    IndexError
        If any that is wanted lies outside.
    """
    ends: NDArray[np.int64] = np.cumsum(counts)
    outside = wanted[(wanted < 0) | (wanted >= ends[-1])]
    if len(outside):
        raise IndexError(f"feature {outside[0]} is none of the {ends[-1]} of the pool")
    return ends


def _most_dy(
    shape: _Shape, window: Size, x: NDArray[np.intp], y: NDArray[np.intp], dx: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the largest `dy` with which a shape fits at a corner, 0 if none does."""
    width = shape.cells[0] * dx
    down = window.height - y - shape.tilted * width
    most = (np.minimum(down, x) if shape.tilted else down) // shape.cells[1]
    return np.where(x + width <= window.width, np.maximum(most, 0), 0)


def count_haar(window: Size, mode: HaarMode = HaarMode.BASIC) -> int:
    """Return how many features `enumerate_haar` would list, without listing them.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> count_haar(Size(24, 24)), count_haar(Size(100, 100))
    (162336, 48165000)
    """
    total = 0
    for shape in _shapes_of(mode):
        for dx in range(1, window.width + 1):
            for dy in range(1, window.height + 1):
                _, width, height = shape.extent(dx, dy)
                total += max(window.width - width + 1, 0) * max(window.height - height + 1, 0)
    return total


def _shapes_of(mode: HaarMode) -> list[_Shape]:
    modes = list(HaarMode)
    return [shape for shape in _SHAPES if modes.index(shape.mode) <= modes.index(mode)]


def _places(shape: _Shape, window: Size) -> Iterator[NDArray[np.int32]]:
    """Yield (x, y, dx, dy) of every place where a shape fits, cell size by cell size."""
    for dx in range(1, window.width + 1):
        for dy in range(1, window.height + 1):
            left, width, height = shape.extent(dx, dy)
            x = np.arange(left, window.width - width + left + 1, dtype=np.int32)
            y = np.arange(window.height - height + 1, dtype=np.int32)
            if len(x) and len(y):
                grid = np.stack(np.meshgrid(x, y, [dx], [dy], indexing="ij"), axis=-1)
                yield grid.reshape(-1, 4).astype(np.int32)


def _features(shape: _Shape, places: NDArray[np.int32], *, balanced: bool) -> NDArray[np.void]:
    """Put a shape at its places."""
    x, y, dx, dy = places.T
    features = np.zeros(len(places), FEATURE_DTYPE)
    features["tilted"] = shape.tilted
    for i, (across, down, w, h, weight) in enumerate(shape.rects):
        step_x, step_y = across * dx, down * dy
        left, top = (x + step_x - step_y, y + step_x + step_y) if shape.tilted else (x + step_x, y + step_y)
        features["rects"][:, i] = np.column_stack([left, top, w * dx, h * dy])
        features["weights"][:, i] = 2 if weight == 3 and not (balanced or shape.tilted) else weight
    return features


def corner_offsets(features: NDArray[np.void], stride: int, plane: int) -> NDArray[np.uint32]:
    """Tell where a feature's rectangles have their corners in flat integral images.

    Parameters
    ----------
    features : ndarray of shape (n,), dtype `FEATURE_DTYPE`
        Upright and tilted ones.
    stride : int
        Entries in a row of an integral image.
    plane : int
        Entries of the upright integral image; the tilted one follows it.

    Returns
    -------
    offsets : ndarray of shape (n, 3, 4), dtype uint32
        For each rectangle the corners p0, p1, p2, p3 of its sum ``p0 - p1 - p2 + p3``, relative to the
        window's corner.

    References
    ----------
    .. [1] OpenCV 4.14, modules/objdetect/src/cascadedetect.hpp, ``CV_SUM_OFS`` and ``CV_TILTED_OFS``.
    """
    x, y, w, h = np.moveaxis(features["rects"].astype(np.int64), -1, 0)
    tilted = features["tilted"][:, None]
    corner_x = np.stack(
        [x, np.where(tilted, x - h, x + w), np.where(tilted, x + w, x), x + w - h * tilted], -1
    )
    corner_y = np.stack(
        [y, np.where(tilted, y + h, y), np.where(tilted, y + w, y + h), y + h + w * tilted], -1
    )
    offsets: NDArray[np.uint32] = (corner_y * stride + corner_x + (plane * tilted)[..., None]).astype(
        np.uint32
    )
    return offsets


def norm_rect_offsets(window: Size, stride: int) -> NDArray[np.uint32]:
    """Return the corners (4,) of the rectangle that contrast is measured in: one pixel inside the window."""
    top, bottom = stride, (window.height - 1) * stride
    left, right = 1, window.width - 1
    return np.array([top + left, top + right, bottom + left, bottom + right], np.uint32)
