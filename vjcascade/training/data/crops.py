"""From a box in a picture to a window: clip, grow to the window's shape, cut out, resize."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.features.integrals import WindowIntegrals
from vjcascade.formats.annotations.opencv_lists import Box
from vjcascade.imaging import resize_crop
from vjcascade.types import Size

MAX_GROWTH = 10
"""Crops that fill less than one part in so many of their window are not used: it would show little but padding."""


def clip_box(box: Box, picture: Size) -> Box:
    """Return the part of `box` inside a picture; of width or height 0 if there is none.

    Examples
    --------
    >>> clip_box(Box(-5, 10, 24, 24), Size(100, 80))
    Box(x=0, y=10, width=19, height=24)
    """
    left, top = max(box.x, 0), max(box.y, 0)
    right, bottom = min(box.x + box.width, picture.width), min(box.y + box.height, picture.height)
    return Box(left, top, max(right - left, 0), max(bottom - top, 0))


def grow_to_shape(box: Box, window: Size) -> Box:
    """Make `box` wider or higher around its centre, so that it has the window's ratio of width to height.

    Returns `box` itself if, in the window, no more than half a pixel would be added in all: that is lost in
    rounding.

    Examples
    --------
    >>> grow_to_shape(Box(0, 0, 24, 72), Size(24, 24))
    Box(x=-24, y=0, width=72, height=72)
    >>> grow_to_shape(Box(0, 0, 100, 40), Size(38, 15))
    Box(x=0, y=0, width=100, height=40)
    """
    x, y, width, height = box
    if 2 * (window.width * height - window.height * width) > height:
        wider = round(height * window.width / window.height)
        return Box(x - (wider - width) // 2, y, wider, height)
    if 2 * (window.height * width - window.width * height) > width:
        higher = round(width * window.height / window.width)
        return Box(x, y - (higher - height) // 2, width, higher)
    return box


def growth(box: Box, window: Size) -> float:
    """Return how many times larger `grow_to_shape` makes a box.

    Examples
    --------
    >>> growth(Box(0, 0, 24, 72), Size(24, 24))
    3.0
    """
    grown = grow_to_shape(box, window)
    return grown.width * grown.height / (box.width * box.height)


def cut_window(gray: NDArray[np.uint8], box: Box, window: Size) -> NDArray[np.uint8]:
    """Cut `box`, grown to the window's shape, out of a picture and resize it.

    Parameters
    ----------
    gray : ndarray of shape (picture height, picture width), dtype uint8
        Grey levels; beyond its border the pixels at its edge are repeated.
    box : Box
        Not empty, inside the picture, of a `growth` that memory has room for.
    window : Size
        Size of the result.

    Returns
    -------
    ndarray of shape (height, width), dtype uint8
        The window.
    """
    # A view would keep the whole picture in memory.
    return resize_crop(cut_padded(gray, grow_to_shape(box, window)), window).copy()


def cut_padded(gray: NDArray[np.uint8], box: Box) -> NDArray[np.uint8]:
    """Cut `box` out of a picture; beyond its border the pixels at its edge are repeated.

    Examples
    --------
    >>> cut_padded(np.array([[1, 2], [3, 4]], np.uint8), Box(-1, 0, 3, 1))
    array([[1, 1, 2]], dtype=uint8)
    """
    real = clip_box(box, Size(gray.shape[1], gray.shape[0]))
    left, above = real.x - box.x, real.y - box.y
    right, below = box.width - real.width - left, box.height - real.height - above
    cut = gray[real.y : real.y + real.height, real.x : real.x + real.width]
    return np.pad(cut, ((above, below), (left, right)), mode="edge") if real != box else cut


def has_contrast(window: NDArray[np.uint8]) -> bool:
    """Tell whether a detector looks at this window at all: OpenCV rejects flat ones unseen.

    See `WindowIntegrals.inverse_norms` for the rule.

    Examples
    --------
    >>> checkerboard = np.indices((24, 24)).sum(axis=0) % 2
    >>> [has_contrast((128 - a + 2 * a * checkerboard).astype(np.uint8)) for a in (10, 11)]
    [False, True]
    """
    return bool(WindowIntegrals.of(window[None]).inverse_norms[0] > 0)
