"""Pixels in memory: depth, alpha and grey brought to one form, resizing, drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ImageError
from vjcascade.imaging._opencv import opencv
from vjcascade.types import Size

MID_GREY = 128
"""What shows through transparent pixels."""

_BOX_COLOUR = (0, 255, 0)


def to_gray(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Bring an array to 8-bit grey levels; an array that already is comes back itself.

    Parameters
    ----------
    image : ndarray of shape (h, w), (h, w, 1), (h, w, 3) RGB or (h, w, 4) RGBA
        Dtype uint8, uint16 (0-65535), bool (False is black, True white) or float (0-1).

    Returns
    -------
    ndarray of shape (h, w), dtype uint8
        Grey levels 0-255. `image / 255` and `image * 257` give what the uint8 `image` gives.

    Raises
    ------
    TypeError
        If `image` is no array or has another dtype.
    ImageError
        If it is empty or has another shape, or a float lies outside 0-1.

    Examples
    --------
    >>> to_gray(np.array([[[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]]))
    array([[255,  76]], dtype=uint8)
    """
    pixels = to_8_bit(image)
    if pixels.ndim == 2:
        return pixels
    cv2 = opencv()
    gray: NDArray[np.uint8] = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    return gray


def resize_exact(gray: NDArray[np.uint8], size: Size) -> NDArray[np.uint8]:
    """Resize with OpenCV's bit-exact bilinear filter; an array of that size already comes back itself.

    Examples
    --------
    >>> resize_exact(np.zeros((40, 50), np.uint8), Size(24, 20)).shape
    (20, 24)
    """
    if gray.shape[:2] == (size.height, size.width):
        return gray
    cv2 = opencv()
    resized: NDArray[np.uint8] = cv2.resize(gray, size, interpolation=cv2.INTER_LINEAR_EXACT)
    return resized


def resize_crop(gray: NDArray[np.uint8], size: Size) -> NDArray[np.uint8]:
    """Resize by area averages where neither side grows, which does not alias fine texture, else bilinearly.

    Examples
    --------
    >>> resize_crop(np.zeros((40, 50), np.uint8), Size(24, 24)).shape
    (24, 24)
    """
    height, width = gray.shape[:2]
    if size.width > width or size.height > height or size == (width, height):
        return resize_exact(gray, size)
    cv2 = opencv()
    resized: NDArray[np.uint8] = cv2.resize(gray, size, interpolation=cv2.INTER_AREA)
    return resized


def sample_affine(
    gray: NDArray[np.uint8], matrix: NDArray[np.float64], offset: NDArray[np.float64], size: Size
) -> NDArray[np.uint8]:
    """Turn, scale and shift: sample a picture bilinearly, beyond its border the pixels at its edge.

    SciPy does it in double precision, the same on every machine; OpenCV's result depends on version and processor.

    Parameters
    ----------
    gray : ndarray of shape (h, w), dtype uint8
        Grey levels.
    matrix : ndarray of shape (2, 2), dtype float64
        With `offset`, tells which place of `gray` a pixel of the result shows: `matrix @ (row, column) + offset`.
    offset : ndarray of shape (2,), dtype float64
        Row and column.
    size : Size
        Of the result.

    Returns
    -------
    ndarray of shape (height, width), dtype uint8
        Grey levels.

    Examples
    --------
    >>> picture = np.array([[0, 100], [0, 100]], np.uint8)
    >>> sample_affine(picture, np.eye(2), np.array([0.0, 0.5]), Size(2, 1))
    array([[ 50, 100]], dtype=uint8)
    """
    from scipy.ndimage import affine_transform  # type: ignore[import-untyped]

    sampled = affine_transform(
        gray, matrix, offset, (size.height, size.width), output=np.float64, order=1, mode="nearest"
    )
    levels: NDArray[np.uint8] = np.rint(sampled).astype(np.uint8)
    return levels


def draw_boxes(
    image: NDArray[Any], boxes: NDArray[np.integer[Any]], labels: Sequence[str] | None = None
) -> NDArray[np.uint8]:
    """Draw boxes on a copy of a picture.

    Parameters
    ----------
    image : ndarray
        Whatever `to_gray` accepts.
    boxes : ndarray of shape (n, 4), integers
        `x, y, w, h` in pixels; the lines run inside the box and thicken with the picture.
    labels : sequence of str, optional
        Short texts (ASCII), one a box, which stand above the boxes or, at the top of the picture, in them.

    Returns
    -------
    ndarray of shape (h, w, 3), dtype uint8
        RGB.

    Examples
    --------
    >>> draw_boxes(np.zeros((40, 40), np.uint8), np.array([[5, 5, 20, 20]], np.int32)).shape
    (40, 40, 3)
    """
    cv2 = opencv()
    pixels = to_8_bit(image)
    canvas = np.dstack([pixels] * 3) if pixels.ndim == 2 else pixels.copy()
    thickness = max(1, round(max(pixels.shape[:2]) / 400))
    for x, y, w, h in np.asarray(boxes).tolist():
        for norm_rect in range(min(thickness, (min(w, h) + 1) // 2)):
            corner = (x + w - 1 - norm_rect, y + h - 1 - norm_rect)
            cv2.rectangle(canvas, (x + norm_rect, y + norm_rect), corner, _BOX_COLOUR)
    for (x, y), text in zip(np.asarray(boxes)[:, :2].tolist(), labels or (), strict=labels is not None):
        _write_label(canvas, text, x, y)
    return canvas


def _write_label(canvas: NDArray[np.uint8], text: str, x: int, y: int) -> None:
    """Write a text on a plate above a corner of a box, moved as far as the picture's borders make it."""
    cv2 = opencv()
    scale = max(0.35, max(canvas.shape[:2]) / 1800)
    thickness = max(1, round(scale))
    (width, height), below = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, thickness)
    left = max(min(x, canvas.shape[1] - width - 2), 0)
    bottom = y if y >= height + below else y + height + below
    canvas[max(bottom - height - below, 0) : max(bottom, 0), left : left + width + 2] = _BOX_COLOUR
    where = (left + 1, bottom - below + 1)
    cv2.putText(canvas, text, where, cv2.FONT_HERSHEY_SIMPLEX, scale, (0, 0, 0), thickness, cv2.LINE_AA)


def to_8_bit(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a picture as contiguous uint8, (h, w) or (h, w, 3); refuse what is no picture."""
    if not isinstance(image, np.ndarray):
        raise TypeError(
            f"a picture must be a numpy array, not {type(image).__name__}; `read_image` reads a file"
        )
    if image.size == 0 or not (image.ndim == 2 or (image.ndim == 3 and image.shape[2] in (1, 3, 4))):
        raise ImageError(
            f"an array of shape {image.shape} is not a picture; its shape must be (height, width), "
            "or (height, width, channels) with 1, 3 (RGB) or 4 (RGBA) channels"
        )
    pixels = np.ascontiguousarray(_bytes(image))
    if pixels.ndim == 2:
        return pixels
    if pixels.shape[2] == 4:
        return over_mid_grey(pixels)
    return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels


def _bytes(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Apply the rule for depth."""
    if image.dtype == np.uint8:
        return image
    if image.dtype == np.bool_:
        return np.where(image, np.uint8(255), np.uint8(0))
    if np.issubdtype(image.dtype, np.uint16):
        return (image >> 8).astype(np.uint8)
    if np.issubdtype(image.dtype, np.floating):
        low, high = image.min(), image.max()
        if not (low >= 0 and high <= 1):  # nan too
            raise ImageError(
                f"a float picture must have values from 0 to 1; this one spans {low:g} to {high:g}; scale it"
            )
        levels: NDArray[np.uint8] = np.rint(image * 255).astype(np.uint8)
        return levels
    raise TypeError(
        f"a picture of dtype {image.dtype} has no fixed white; make it uint8, uint16, bool or float"
    )


def over_mid_grey(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Apply the rule for alpha, which is the last channel; a single other channel becomes (h, w)."""
    alpha = pixels[:, :, -1:].astype(np.uint16)
    weighted = alpha * pixels[:, :, :-1] + (255 - alpha) * MID_GREY
    # A multiple of 1/255 never ends in .5: adding 127 rounds as well as adding half would, and fits 16 bits.
    laid_over: NDArray[np.uint8] = ((weighted + 127) // 255).astype(np.uint8)
    return laid_over[:, :, 0] if laid_over.shape[2] == 1 else laid_over
