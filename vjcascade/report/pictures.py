"""Small pictures inside the page, as `data:` addresses."""

from __future__ import annotations

import base64
import io
import math

import numpy as np
from numpy.typing import NDArray

from vjcascade.imaging import resize_exact
from vjcascade.types import Size

MAX_SIDE = 32
"""Pixels; larger windows are shown smaller."""

COLUMNS = {False: 12, True: 6}
"""Windows in a row: fewer where they are broad."""

BROAD = 1.5
"""Ratio of width to height from which windows are broad."""

MAX_BYTES = 800_000
"""Of the pixels of all false alarms."""


def png_address(image: NDArray[np.uint8]) -> str:
    """Return a grey picture as a `data:` address.

    Parameters
    ----------
    image : ndarray of shape (h, w) or (h, w, 2), dtype uint8
        Grey levels, or these and how opaque they are.

    Returns
    -------
    str
        A PNG file in base64.

    Examples
    --------
    >>> png_address(np.zeros((2, 3), np.uint8))[:22]
    'data:image/png;base64,'
    """
    from PIL import Image

    encoded = io.BytesIO()
    Image.fromarray(image, "LA" if image.ndim == 3 else "L").save(encoded, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(encoded.getvalue()).decode()}"


def n_shown(window: Size, n_stages: int, most: int) -> int:
    """Return of how many false alarms of each stage there is room for.

    Parameters
    ----------
    window : Size
        Of the cascade.
    n_stages : int
        Stages that have some.
    most : int
        Of each stage.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> n_shown(Size(24, 24), 10, 24), n_shown(Size(200, 200), 50, 24)
    (24, 15)
    """
    width, height = _small(window)
    return max(min(most, MAX_BYTES // max(width * height * n_stages, 1)), 1)


def contact_sheet(windows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return windows in rows of at most `COLUMNS`, a transparent pixel between them.

    Parameters
    ----------
    windows : ndarray of shape (n, h, w), dtype uint8
        At least one.

    Returns
    -------
    ndarray of shape (h, w, 2), dtype uint8
        Grey levels, and how opaque they are.
    """
    n, height, width = windows.shape
    size = _small(Size(width, height))
    n_columns = min(n, COLUMNS[is_broad(size)])
    n_rows = math.ceil(n / n_columns)
    sheet = np.zeros((n_rows * (size.height + 1) - 1, n_columns * (size.width + 1) - 1, 2), np.uint8)
    for i, window in enumerate(windows):
        y, x = (i // n_columns) * (size.height + 1), (i % n_columns) * (size.width + 1)
        cell = sheet[y : y + size.height, x : x + size.width]
        cell[..., 0] = resize_exact(window, size)
        cell[..., 1] = 255
    return sheet


def is_broad(window: Size) -> bool:
    """Return whether windows need more room in a row than square ones.

    Examples
    --------
    >>> is_broad(Size(38, 15)), is_broad(Size(24, 24))
    (True, False)
    """
    return window.width >= BROAD * window.height


def stretched(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a grey picture with middling contrast, dtype uint8: black and white areas on it stand out from it.

    Examples
    --------
    >>> stretched(np.array([[100, 101, 102]], np.uint8)).tolist()
    [[48, 128, 208]]
    """
    low, high = float(image.min()), float(image.max())
    share = (image.astype(np.float64) - low) / max(high - low, 1.0)
    levels: NDArray[np.uint8] = np.rint(48 + 160 * share).astype(np.uint8)
    return levels


def _small(window: Size) -> Size:
    shrink = max(max(window) / MAX_SIDE, 1.0)
    return Size(max(round(window.width / shrink), 1), max(round(window.height / shrink), 1))
