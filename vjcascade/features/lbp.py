"""Multi-block LBP features: where their cells lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
