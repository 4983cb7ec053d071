"""Contact sheets, to check samples and scenes before thousands are written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vjcascade.imaging import draw_boxes, resize_crop, resize_exact
from vjcascade.synthesis.samples import SampleMaker
from vjcascade.synthesis.scenes import SceneMaker
from vjcascade.types import Size

ROWS, COLUMNS = 8, 12
"""Rows and columns of samples."""

SCENE_ROWS, SCENE_COLUMNS = 2, 3

SCENE = Size(480, 360)
"""Scenes are scaled down to fit into this size."""

SIDE = 64
"""Samples with a shorter side below this many pixels are enlarged."""

GAP = 4

PAPER = 255


def sheet_of_samples(maker: SampleMaker, n_samples: int) -> NDArray[np.uint8]:
    """Draw the first samples of some originals, a row for each, after the unaltered crop; or many of a single original.

    Parameters
    ----------
    maker : SampleMaker
        Makes them; the sheet shows samples that would be written.
    n_samples : int
        Number of samples that would be written.

    Returns
    -------
    ndarray of shape (h, w), dtype uint8
        Grey levels.
    """
    n = len(maker.sources)
    each = -(-n_samples // n)
    rows: list[list[NDArray[np.uint8]]] = []
    if n == 1:
        made = [maker.sample(0, number) for number in range(min(each, ROWS * COLUMNS))]
        found = [one for one in [maker.sources.originals[0].window, *made] if one is not None][
            : ROWS * COLUMNS
        ]
        rows = [found[start : start + COLUMNS] for start in range(0, len(found), COLUMNS)]
    else:
        for index in range(min(n, ROWS)):
            made = [maker.sample(index, number) for number in range(min(each, COLUMNS - 1))]
            rows.append([one for one in [maker.sources.originals[index].window, *made] if one is not None])
    window = maker.sources.window
    factor = -(-SIDE // min(window))
    return _arranged([[one.repeat(factor, 0).repeat(factor, 1) for one in row] for row in rows])


def sheet_of_scenes(maker: SceneMaker, n_scenes: int) -> NDArray[np.uint8]:
    """Draw the first scenes with their boxes.

    Parameters
    ----------
    maker : SceneMaker
        Makes them.
    n_scenes : int
        Number of scenes that would be written.

    Returns
    -------
    ndarray of shape (h, w, 3), dtype uint8
        RGB.
    """
    shown = []
    for number in range(min(n_scenes, SCENE_ROWS * SCENE_COLUMNS)):
        scene = maker.scene(number)
        drawn = draw_boxes(scene.gray, np.array(scene.boxes, np.int32))
        height, width = scene.gray.shape
        shrink = min(SCENE.width / width, SCENE.height / height, 1.0)
        size = Size(max(round(width * shrink), 1), max(round(height * shrink), 1))
        shown.append(resize_crop(drawn, size) if shrink < 1 else resize_exact(drawn, size))
    return _arranged([shown[start : start + SCENE_COLUMNS] for start in range(0, len(shown), SCENE_COLUMNS)])


def _arranged(rows: Sequence[Sequence[NDArray[np.uint8]]]) -> NDArray[np.uint8]:
    """Arrange pictures in rows on a white background."""
    tiles = [one for row in rows for one in row]
    height, width = (max((one.shape[axis] for one in tiles), default=1) + GAP for axis in (0, 1))
    depth = tiles[0].shape[2:] if tiles else ()
    sheet = np.full(
        (len(rows) * height + GAP, max(map(len, rows), default=0) * width + GAP, *depth), PAPER, np.uint8
    )
    for i, row in enumerate(rows):
        for j, one in enumerate(row):
            y, x = GAP + i * height, GAP + j * width
            sheet[y : y + one.shape[0], x : x + one.shape[1]] = one
    return sheet
