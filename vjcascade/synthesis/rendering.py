"""Rendering of altered copies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.imaging import through_jpeg
from vjcascade.synthesis.alterations import BEST_JPEG, Alteration, Hidden
from vjcascade.synthesis.geometry import Places
from vjcascade.synthesis.originals import Original

OVERSAMPLING = 2
"""Samples per pixel in each direction, which are averaged."""

JPEG_BLOCK = 8
"""Side of JPEG's blocks in pixels. Their offset is random in each copy."""

Levels = NDArray[np.float64]
"""Grey levels, not yet rounded, shape (h, w)."""


def sampled(pixels: NDArray[np.uint8], places: Places, *, beyond: str) -> Levels:
    """Sample a picture at subpixel positions with bilinear interpolation.

    Parameters
    ----------
    pixels : ndarray of shape (h, w), dtype uint8
        The picture.
    places : ndarray of shape (..., 2), dtype float64
        `x, y` in pixels, from the centre of the picture.
    beyond : {"nearest", "grid-constant"}
        Outside of the picture, the nearest pixels are used, or zeros.

    Returns
    -------
    ndarray of shape (...), dtype float64
        Interpolated values, the same on every machine.

    Examples
    --------
    >>> sampled(np.array([[0, 100]], np.uint8), np.array([[-0.5, 0.0], [0.0, 0.0], [9.0, 0.0]]), beyond="nearest")
    array([  0.,  50., 100.])
    """
    from scipy.ndimage import map_coordinates  # type: ignore[import-untyped]

    height, width = pixels.shape
    coordinates = np.stack([places[..., 1] + (height - 1) / 2, places[..., 0] + (width - 1) / 2])
    levels: Levels = map_coordinates(pixels, coordinates, output=np.float64, order=1, mode=beyond)
    return levels


def toned(levels: Levels, alteration: Alteration, sides: Places, original: Original) -> Levels:
    """Apply inversion, gamma, contrast, brightness and light.

    Parameters
    ----------
    levels : ndarray of shape (h, w), dtype float64
        Grey levels of the object.
    alteration : Alteration
        The alteration.
    sides : ndarray of shape (h, w, 2), dtype float64
        Positions: `x, y` relative to the sides of the object's box, from its centre.
    original : Original
        The original; contrast changes around its mean grey level.

    Returns
    -------
    ndarray of shape (h, w), dtype float64
        From 0 to 255.
    """
    middle = float(original.pixels.mean())
    if alteration.is_inverted:
        levels, middle = 255 - levels, 255 - middle
    bent = 255 * (levels / 255) ** alteration.gamma
    spread = middle + (bent - middle) * alteration.contrast + alteration.brightness
    return np.clip(spread + sides @ alteration.light, 0, 255)


def hide(levels: Levels, hidden: Hidden, sides: Places) -> None:
    """Occlude a part of an object, in place.

    Parameters
    ----------
    levels : ndarray of shape (h, w), dtype float64
        Grey levels of the object; modified.
    hidden : Hidden
        The part.
    sides : ndarray of shape (h, w, 2), dtype float64
        As in `toned`.
    """
    if hidden.width and hidden.height:
        x, y = sides[..., 0] - hidden.left, sides[..., 1] - hidden.top
        levels[(x >= 0) & (x < hidden.width) & (y >= 0) & (y < hidden.height)] = hidden.level


def averaged(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means of blocks of `OVERSAMPLING` x `OVERSAMPLING`.

    Examples
    --------
    >>> averaged(np.array([[0.0, 2.0, 5.0, 5.0], [4.0, 6.0, 5.0, 5.0]]))
    array([[3., 5.]])
    """
    height, width = levels.shape
    blocks = levels.reshape(height // OVERSAMPLING, OVERSAMPLING, width // OVERSAMPLING, OVERSAMPLING)
    means: NDArray[np.float64] = blocks.mean(axis=(1, 3))
    return means


def blurred(levels: Levels, deviation: float) -> Levels:
    """Apply a Gaussian blur."""
    from scipy.ndimage import gaussian_filter

    soft: Levels = gaussian_filter(levels, deviation, mode="nearest")
    return soft


def recorded(levels: Levels, alteration: Alteration, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Apply noise, rounding and JPEG compression, as in a recorded picture.

    Parameters
    ----------
    levels : ndarray of shape (h, w), dtype float64
        Grey levels of the whole picture.
    alteration : Alteration
        The alteration.
    rng : Generator
        Source of the noise and of the offset of JPEG's blocks.

    Returns
    -------
    ndarray of shape (h, w), dtype uint8
        Grey levels.
    """
    noisy = levels + alteration.noise * rng.normal(size=levels.shape)
    gray = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
    above, left = rng.integers(0, JPEG_BLOCK, 2).tolist()
    if alteration.jpeg == BEST_JPEG:
        return gray
    height, width = gray.shape
    padded = np.pad(gray, ((above, 0), (left, 0)), mode="edge")
    return through_jpeg(padded, alteration.jpeg)[above : above + height, left : left + width]


def grid(width: int, height: int, left: float, top: float) -> Places:
    """Return the sampling positions of a picture, `OVERSAMPLING` per pixel in both directions.

    Parameters
    ----------
    width, height : int
        In pixels.
    left, top : float
        Position of its corner.

    Returns
    -------
    ndarray of shape (height * OVERSAMPLING, width * OVERSAMPLING, 2), dtype float64
        `x, y` in its pixels.

    Examples
    --------
    >>> grid(1, 1, -0.5, 0.0)[..., 0]
    array([[-0.25,  0.25],
           [-0.25,  0.25]])
    """
    x = left + (np.arange(width * OVERSAMPLING) + 0.5) / OVERSAMPLING
    y = top + (np.arange(height * OVERSAMPLING) + 0.5) / OVERSAMPLING
    return np.stack(np.meshgrid(x, y), axis=-1)
