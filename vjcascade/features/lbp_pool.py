"""The pool of multi-block LBP features of a window, in OpenCV's order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vjcascade.features.haar import checked_places
from vjcascade.types import LBP_DTYPE, Size


def enumerate_lbp(window: Size) -> NDArray[np.void]:
    """List every LBP feature that fits a window, in the order of OpenCV's trainer.

    Parameters
    ----------
    window : Size
        Training window, in pixels.

    Returns
    -------
    features : ndarray of shape (n,), dtype `LBP_DTYPE`
        Ordered by x, y, w, h of the cell: index `i` is feature `i` of ``opencv_traincascade``.

    References
    ----------
    .. [1] OpenCV 3.4.18, apps/traincascade/lbpfeatures.cpp, ``CvLBPEvaluator::generateFeatures``.

    Examples
    --------
    >>> len(enumerate_lbp(Size(24, 24))), len(enumerate_lbp(Size(20, 20)))
    (8464, 3969)
    """
    width, height = window
    grid = np.meshgrid(
        np.arange(width - 2),
        np.arange(height - 2),
        np.arange(1, width // 3 + 1),
        np.arange(1, height // 3 + 1),
        indexing="ij",
    )
    x, y, w, h = (axis.ravel() for axis in grid)
    fits = (x + 3 * w <= width) & (y + 3 * h <= height)
    features = np.zeros(np.count_nonzero(fits), LBP_DTYPE)
    features["cell"] = np.column_stack([x, y, w, h])[fits]
    return features


def lbp_features_at(indices: ArrayLike, window: Size) -> NDArray[np.void]:
    """Return features of `enumerate_lbp` by their places in it, without listing the others.

    Parameters
    ----------
    indices : array_like of shape (n,), integers
        Places, from 0.
    window : Size
        Training window, in pixels.

    Returns
    -------
    features : ndarray of shape (n,), dtype `LBP_DTYPE`
        In the order of `indices`.

    Raises
    ------
    IndexError
        If the window has no such feature; the message says how many it has.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> lbp_features_at([8463], Size(24, 24))["cell"].tolist()
    [[21, 21, 1, 1]]
    """
    wanted = np.asarray(indices, np.int64).reshape(-1)
    x, y = np.divmod(np.arange(window.width * window.height), window.height)
    across, down = (window.width - x) // 3, (window.height - y) // 3
    ends = checked_places(wanted, across * down)
    corners = np.searchsorted(ends, wanted, side="right")
    w, h = np.divmod(wanted - (ends - across * down)[corners], down[corners])
    features = np.zeros(len(wanted), LBP_DTYPE)
    features["cell"] = np.column_stack([x[corners], y[corners], w + 1, h + 1])
    return features


def count_lbp(window: Size) -> int:
    """Return how many features `enumerate_lbp` would list, without listing them.

    Examples
    --------
    >>> count_lbp(Size(24, 24)), count_lbp(Size(100, 100))
    (8464, 2722500)
    """
    across, down = (sum(side - 3 * cell + 1 for cell in range(1, side // 3 + 1)) for side in window)
    return across * down


def cell_offsets(features: NDArray[np.void], stride: int) -> NDArray[np.uint32]:
    """Tell where a feature's three by three cells have their corners in a flat integral image.

    Parameters
    ----------
    features : ndarray of shape (n,), dtype `LBP_DTYPE`
        Given by their top left cells.
    stride : int
        Entries in a row of the integral image.

    Returns
    -------
    offsets : ndarray of shape (n, 16), dtype uint32
        Four rows of four corners, relative to the window's corner.

    References
    ----------
    .. [1] Zhang et al., "Face detection based on multi-block LBP representation", ICB 2007.
    .. [2] OpenCV 4.14, modules/objdetect/src/cascadedetect.hpp, ``LBPEvaluator::OptFeature``.

    Examples
    --------
    >>> from vjcascade.types import LBP_DTYPE
    >>> cell_offsets(np.array([([1, 0, 2, 1],)], LBP_DTYPE), stride=10)[0].tolist()
    [1, 3, 5, 7, 11, 13, 15, 17, 21, 23, 25, 27, 31, 33, 35, 37]
    """
    x, y, w, h = features["cell"].astype(np.int64).T[..., None]
    steps = np.arange(4)
    rows, columns = (y + h * steps) * stride, x + w * steps
    offsets: NDArray[np.int64] = rows[:, :, None] + columns[:, None, :]
    return offsets.reshape(len(features), 16).astype(np.uint32)
