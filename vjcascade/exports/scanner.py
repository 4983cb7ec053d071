"""A detector in plain NumPy: it is copied into the Python export, and runs the tables of other exports in their tests.

It does the same arithmetic as OpenCV 4.14 and vjcascade, and finds the same windows, boxes and groups.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CONTRAST_FLOOR = 0.1
"""Reciprocal of a standard deviation of 10 grey levels: OpenCV rejects windows in which it is not larger."""

GROUP_EPS = 0.2
"""Largest distance between the sides of similar boxes, relative to their size."""

PIXELS_AT_ONCE = 4_000_000
"""Pixels in a block of windows, to limit memory."""

STRIPE_COLUMNS = 32
"""OpenCV splits the rows of a level into one stripe for each 32 columns of windows of the first level."""

NEIGHBOURS = ((0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1))
"""Column and row of the cells around the middle one, from the highest bit of an LBP code to the lowest."""


class Found(NamedTuple):
    """Boxes in a picture.

    Attributes
    ----------
    boxes : ndarray of shape (n, 4), dtype int32
        `x, y, w, h` in pixels.
    scores : ndarray of shape (n,), dtype float64
        The last stage's sum minus its threshold; of a group, the maximum.
    neighbors : ndarray of shape (n,), dtype int32
        Windows in the group.
    ranking_scores : ndarray of shape (n,), dtype float64
        Sums of the square roots of scores, to rank detections by.
    """

    boxes: NDArray[np.int32]
    scores: NDArray[np.float64]
    neighbors: NDArray[np.int32]
    ranking_scores: NDArray[np.float64]

    def select(self, rows: NDArray[Any]) -> Found:
        """Return some rows."""
        return Found(*(column[rows] for column in self))


class _Planes(NamedTuple):
    """Flattened integral images, and the offsets of windows in them."""

    total: NDArray[np.int32]
    squared: NDArray[np.uint32]
    tilted: NDArray[np.int32]
    stride: int
    bases: NDArray[np.intp]


class NumpyScanner:
    """A cascade that evaluates windows and finds objects in pictures.

    Parameters
    ----------
    model : mapping
        Window, features, nodes and stages, as in the JSON export.

    Examples
    --------
    >>> model = {
    ...     **{"settings": {}, "window": [3, 3], "feature_type": "LBP", "cells": [[0, 0, 1, 1]]},
    ...     **{"node_features": [0], "node_subsets": [[1, 0, 0, 0, 0, 0, 0, 0]], "node_left": [0], "node_right": [-1]},
    ...     **{"tree_starts": [0, 1], "leaves": [1, -1], "stage_starts": [0, 1], "stage_thresholds": [0]},
    ... }
    >>> spot = np.array([[0, 0, 0], [0, 9, 0], [0, 0, 0]], np.uint8)
    >>> NumpyScanner(model).judge(np.stack([spot, 9 - spot])).tolist()
    [1, 0]
    """

    def __init__(self, model: Mapping[str, Any]) -> None:
        self.settings: dict[str, Any] = dict(model["settings"])
        self.width, self.height = model["window"]
        self.is_lbp = model["feature_type"] == "LBP"
        if self.is_lbp:
            self._cells = [tuple(cell) for cell in model["cells"]]
            self._subsets = np.array(model["node_subsets"], np.uint32)
        else:
            self._rects = np.array(model["rects"], np.intp).reshape(-1, 3, 4)
            self._weights = np.array(model["weights"], np.float32).reshape(-1, 3)
            self._tilted = np.array(model["tilted"], bool)
            self._node_thresholds = np.array(model["node_thresholds"], np.float32)
        self._node_features = list(model["node_features"])
        self._children = list(zip(model["node_left"], model["node_right"], strict=True))
        self._tree_starts, self._stage_starts = list(model["tree_starts"]), list(model["stage_starts"])
        self._leaves = np.array(model["leaves"], np.float32).astype(np.float64)
        self._thresholds = np.array(model["stage_thresholds"], np.float32).astype(np.float64)

    def judge(self, windows: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Evaluate the cascade on crops of the window's size.

        Parameters
        ----------
        windows : ndarray of shape (n, h, w), dtype uint8
            Grey crops.

        Returns
        -------
        ndarray of shape (n,), dtype int32
            Number of stages passed; all stages means accepted, -1 too little contrast.
        """
        n, height, width = windows.shape
        passed = np.empty(n, np.int32)
        n_at_once = max(PIXELS_AT_ONCE // (height * width), 1)
        for start in range(0, n, n_at_once):
            block = slice(start, min(start + n_at_once, n))
            bases = np.arange(block.stop - start) * ((height + 1) * (width + 1))
            passed[block] = self._run(self._planes(windows[block], bases), len(self._thresholds))[0]
        return passed

    def detect(
        self,
        grey: NDArray[np.uint8],
        scale_factor: float | None = None,
        min_neighbors: int | None = None,
        min_size: Sequence[int] | None = None,
        max_size: Sequence[int] | None = None,
        min_ranking_score: float | None = None,
    ) -> Found:
        """Find objects in a picture; the default of each setting is the model's.

        Parameters
        ----------
        grey : ndarray of shape (h, w), dtype uint8
            Grey levels.
        scale_factor : float, optional
            Ratio of neighbouring scales, > 1.
        min_neighbors : int, optional
            An object needs more windows than this; 0 returns all windows.
        min_size, max_size : (int, int), optional
            Smallest and largest width and height of an object.
        min_ranking_score : float, optional
            Minimum ranking score of an object.

        Returns
        -------
        Found
            Objects, in the order of their first windows.
        """
        factor = self.settings["scale_factor"] if scale_factor is None else scale_factor
        most = self.settings["min_neighbors"] if min_neighbors is None else min_neighbors
        least = self.settings["min_ranking_score"] if min_ranking_score is None else min_ranking_score
        if not 1 < factor < math.inf:
            raise ValueError(f"scale factor {factor} must be above 1; 1.1, for example, is usual")
        height, width = grey.shape
        scales = self._scales(width, height, factor, min_size or self.settings["min_size"], max_size)
        found = _grouped(self._scan(grey, scales), most)
        corners = np.concatenate([found.boxes[:, :2], found.boxes[:, :2] + found.boxes[:, 2:]], axis=1)
        corners = np.clip(corners, 0, [width, height, width, height])
        boxes = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1).astype(np.int32)
        kept = (boxes[:, 2:] > 0).all(axis=1) & (found.ranking_scores >= least)
        return found._replace(boxes=boxes).select(kept)

    def _planes(self, images: NDArray[np.uint8], bases: NDArray[np.intp]) -> _Planes:
        """Return the concatenated integral images of pictures of one size."""
        squares = np.empty(0, np.uint32)
        tilted = np.empty(0, np.int32)
        if not self.is_lbp:
            squares = _integral(images.astype(np.uint32) ** 2, np.uint32).ravel()
            if self._tilted.any():
                tilted = _tilted_integral(images).ravel()
        total = _integral(images, np.int32).ravel()
        return _Planes(total, squares, tilted, images.shape[2] + 1, bases)

    def _run(self, planes: _Planes, n_stages: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return how many of the first stages each window passes, and the sum of the last one evaluated."""
        n = len(planes.bases)
        passed, sums = np.zeros(n, np.int32), np.zeros(n)
        scales = np.ones(n, np.float32) if self.is_lbp else self._window_scales(planes)
        passed[scales == 0] = -1
        alive = np.flatnonzero(scales > 0)
        for stage in range(n_stages):
            part = planes._replace(bases=planes.bases[alive])
            total = np.zeros(len(alive))
            for tree in range(self._stage_starts[stage], self._stage_starts[stage + 1]):
                total += self._votes(tree, part, scales[alive])
            sums[alive] = total
            alive = alive[~(total < self._thresholds[stage])]
            passed[alive] = stage + 1
            if len(alive) == 0:
                break
        return passed, sums

    def _votes(self, tree: int, planes: _Planes, scales: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the leaf value that each window reaches in a tree."""
        first, end = self._tree_starts[tree], self._tree_starts[tree + 1]
        votes = np.empty(len(planes.bases))
        places = np.zeros(len(votes), np.intp)
        for node in range(first, end):
            at = np.flatnonzero(places == node - first)
            left = self._goes_left(node, planes._replace(bases=planes.bases[at]), scales[at])
            for side, windows in zip(self._children[node], (at[left], at[~left]), strict=True):
                places[windows] = side if side > 0 else -1
                if side <= 0:
                    votes[windows] = self._leaves[first + tree - side]
        return votes

    def _goes_left(self, node: int, planes: _Planes, scales: NDArray[np.float32]) -> NDArray[np.bool_]:
        feature = self._node_features[node]
        if self.is_lbp:
            x, y, w, h = self._cells[feature]
            middle = _rectangle(planes, (x + w, y + h, w, h))
            codes = np.zeros(len(middle), np.intp)
            for column, row in NEIGHBOURS:
                cell = _rectangle(planes, (x + column * w, y + row * h, w, h))
                codes = 2 * codes + (cell >= middle)
            words = self._subsets[node, codes >> 5]
            in_subset: NDArray[np.bool_] = (words >> (codes & 31).astype(np.uint32)) & 1 == 1
            return in_subset
        rectangle = _tilted_rectangle if self._tilted[feature] else _rectangle
        value = np.zeros(len(scales), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # as in the other scanners
            for rect, weight in zip(self._rects[feature].tolist(), self._weights[feature], strict=True):
                if weight != 0:
                    value = value + weight * rectangle(planes, rect).astype(np.float32)
            is_below: NDArray[np.bool_] = value * scales < self._node_thresholds[node]
        return is_below

    def _window_scales(self, planes: _Planes) -> NDArray[np.float32]:
        """Return 1 / (area * sigma) of the windows without their border, 0 if there is too little contrast."""
        area = float((self.width - 2) * (self.height - 2))
        inner = (1, 1, self.width - 2, self.height - 2)
        total = _rectangle(planes, inner).astype(np.float64)
        squares = (
            _rectangle(planes._replace(total=planes.squared.view(np.int32)), inner)
            .view(np.uint32)
            .astype(np.float64)
        )
        spread = area * squares - total * total
        scales = np.zeros(len(spread), np.float32)
        positive = spread > 0
        scales[positive] = (1 / np.sqrt(spread[positive])).astype(np.float32)
        scales[area * scales.astype(np.float64) >= CONTRAST_FLOOR] = 0
        return scales

    def _scales(
        self,
        width: int,
        height: int,
        factor: float,
        min_size: Sequence[int] | None,
        max_size: Sequence[int] | None,
    ) -> list[np.float32]:
        """Return the scales between the bounds, or else the one nearest to `min_size`."""
        scales, scale = [], 1.0
        while scale <= width and round(self.width * scale) <= width and round(self.height * scale) <= height:
            scales.append(np.float32(scale))
            scale *= factor
        least_w, least_h = min_size or (0, 0)
        most_w, most_h = max_size or (width, height)
        kept, distances = [], []
        for one in scales:
            w, h = self._object_size(one)
            distances.append((w - least_w) ** 2 + (h - least_h) ** 2)
        for one in scales:
            w, h = self._object_size(one)
            if w > most_w or h > most_h:
                break
            if w >= least_w and h >= least_h:
                kept.append(one)
        return kept if kept or not scales else [scales[distances.index(min(distances))]]

    def _object_size(self, scale: np.float32) -> tuple[int, int]:
        return round(float(np.float32(self.width) * scale)), round(float(np.float32(self.height) * scale))

    def _scan(self, grey: NDArray[np.uint8], scales: Sequence[np.float32]) -> Found:
        """Return all windows that are accepted, in the order scale, row, column."""
        height, width = grey.shape
        n_stripes, parts = 0, []
        for scale in scales:
            level_w = round(float(np.float32(width) / scale))
            level_h = round(float(np.float32(height) / scale))
            n_stripes = n_stripes or -(-(level_w - self.width + 1) // STRIPE_COLUMNS)
            step, n_rows = (1 if scale >= 2 else 2), level_h - self.height + 1
            stripe = max((n_rows // step + n_stripes - 1) // n_stripes, 1) * step
            y = np.arange(0, min(stripe * n_stripes, n_rows), step)
            x = np.arange(0, level_w - self.width + 1, step)
            if len(x) and len(y):
                level = resized(grey, level_w, level_h)
                at, sums = self._accepted(level, x, y)
                corners = np.rint(at.astype(np.float32) * scale).astype(np.int32)
                sizes = np.broadcast_to(np.array(self._object_size(scale), np.int32), corners.shape)
                parts.append((np.concatenate([corners, sizes], axis=1), sums - self._thresholds[-1]))
        boxes = np.concatenate([np.empty((0, 4), np.int32), *(part[0] for part in parts)])
        scores = np.concatenate([np.empty(0), *(part[1] for part in parts)])
        return Found(boxes, scores, np.ones(len(boxes), np.int32), np.sqrt(np.maximum(scores, 0.0)))

    def _accepted(
        self, level: NDArray[np.uint8], x: NDArray[np.intp], y: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return positions and last sums of the windows of a level that pass all stages."""
        stride = level.shape[1] + 1
        planes = self._planes(level[None], (y[:, None] * stride + x).ravel())
        first = self._run(planes, 1)[0].reshape(len(y), len(x))
        visited, skip = np.empty(first.shape, bool), np.zeros(len(y), bool)
        for column in range(len(x)):  # a window that fails stage 0 skips the next one
            visited[:, column] = ~skip
            skip = visited[:, column] & (first[:, column] == 0)
        rows, columns = np.nonzero(visited & (first > 0))
        at = np.stack([x[columns], y[rows]], axis=1)
        n_stages = len(self._thresholds)
        passed, sums = self._run(planes._replace(bases=at[:, 1] * stride + at[:, 0]), n_stages)
        return at[passed == n_stages], sums[passed == n_stages]


def resized(grey: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    """Resize a picture with OpenCV's bit-exact bilinear filter, in integer arithmetic.

    Parameters
    ----------
    grey : ndarray of shape (h, w), dtype uint8
        Grey levels.
    width, height : int
        Size of the result.

    Returns
    -------
    ndarray of shape (height, width), dtype uint8
        Grey levels.

    Examples
    --------
    >>> resized(np.array([[0, 100]], np.uint8), 4, 1).tolist()
    [[0, 25, 75, 100]]
    """
    left, right, share_x = _taps(grey.shape[1], width)
    above, below, share_y = _taps(grey.shape[0], height)
    pixels: NDArray[np.int64] = grey.astype(np.int64)
    across = pixels[:, left] * (256 - share_x) + pixels[:, right] * share_x
    down = across[above] * (256 - share_y)[:, None] + across[below] * share_y[:, None]
    levels: NDArray[np.uint8] = np.right_shift(down + 32768, 16).astype(np.uint8)
    return levels


def _taps(n_from: int, n_to: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]:
    """Return the two source pixels of each new pixel, and the weight of the second in 256ths."""
    step = 1.0 / (n_to / n_from)
    place = step * (np.arange(n_to) + 0.5) - 0.5
    first = np.floor(place).astype(np.intp)
    share = np.rint((place - first) * 256).astype(np.int64)
    share[(first < 0) | (first >= n_from - 1)] = 0
    first = np.clip(first, 0, n_from - 1)
    return first, np.minimum(first + 1, n_from - 1), share


def _integral(images: NDArray[Any], dtype: type[np.integer[Any]]) -> NDArray[Any]:
    """Return integral images with a first row and column of zeros, modulo 2**32; images (n, h, w)."""
    n, height, width = images.shape
    total = np.zeros((n, height + 1, width + 1), dtype)
    np.cumsum(np.cumsum(images, axis=1, dtype=dtype), axis=2, dtype=dtype, out=total[:, 1:, 1:])
    return total


def _tilted_integral(images: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return tilted integral images, each row from the two above it."""
    n, height, width = images.shape
    tilted = np.zeros((n, height + 1, width + 1), np.int32)
    tilted[:, 1, 1:] = images[:, 0]
    for y in range(2, height + 1):
        above, second = tilted[:, y - 1], tilted[:, y - 2]
        row = tilted[:, y]
        row[:, 1:] = above[:, :-1]
        row[:, 1:-1] += above[:, 2:] - second[:, 1:-1]
        row[:, 1:] += images[:, y - 1].astype(np.int32) + images[:, y - 2]
        row[:, 0] = above[:, 1]
    return tilted


def _rectangle(planes: _Planes, rect: Sequence[int]) -> NDArray[Any]:
    """Return the sum over an upright rectangle of each window."""
    x, y, w, h = rect
    a = planes.bases + (y * planes.stride + x)
    down = h * planes.stride
    return planes.total[a] - planes.total[a + w] - planes.total[a + down] + planes.total[a + down + w]


def _tilted_rectangle(planes: _Planes, rect: Sequence[int]) -> NDArray[Any]:
    """Return the sum over a rectangle rotated by 45 degrees: its sides run down-right (w) and down-left (h)."""
    x, y, w, h = rect
    a = planes.bases + (y * planes.stride + x)
    left, right = h * planes.stride - h, w * planes.stride + w
    return (
        planes.tilted[a]
        - planes.tilted[a + left]
        - planes.tilted[a + right]
        + planes.tilted[a + left + right]
    )


def _grouped(raw: Found, min_neighbors: int) -> Found:
    """Average the boxes of each group of similar windows, and drop small groups: OpenCV's `groupRectangles`."""
    n = len(raw.boxes)
    if min_neighbors <= 0 or n == 0:
        return raw
    labels = _classes(raw.boxes.astype(np.int64))
    n_classes = int(labels.max()) + 1
    counts = np.bincount(labels).astype(np.int32)
    totals = np.zeros((n_classes, 4), np.int64)
    np.add.at(totals, labels, raw.boxes)
    shares = np.float32(1) / counts.astype(np.float32)
    boxes = np.rint(totals.astype(np.float32) * shares[:, None]).astype(np.int32)
    scores = np.full(n_classes, -np.inf)
    np.maximum.at(scores, labels, raw.scores)
    ranking_scores = np.bincount(labels, raw.ranking_scores).astype(np.float64)
    groups = Found(boxes, scores, counts, ranking_scores)
    groups = groups.select(counts > min_neighbors)
    return groups.select(~_inside_others(groups.boxes.astype(np.int64), groups.neighbors))


def _classes(boxes: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the class of each box: the connected components of similarity, numbered by their first boxes."""
    labels = np.full(len(boxes), -1, np.intp)
    n_classes = 0
    far = boxes[:, :2] + boxes[:, 2:]
    left = np.arange(len(boxes))  # in no class yet
    while len(left):
        waiting = left[:1].tolist()
        left = left[1:]
        while waiting:
            box = waiting.pop()
            labels[box] = n_classes
            smaller = np.minimum(boxes[left, 2:], boxes[box, 2:]).sum(axis=1)
            delta = (GROUP_EPS * smaller * 0.5)[:, None]
            near = np.abs(boxes[left, :2] - boxes[box, :2]) <= delta
            near &= np.abs(far[left] - far[box]) <= delta
            is_similar = near.all(axis=1)
            waiting += left[is_similar].tolist()
            left = left[~is_similar]
        n_classes += 1
    return labels


def _inside_others(boxes: NDArray[np.int64], counts: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which groups lie inside a larger group of more windows, enlarged by `GROUP_EPS`."""
    inside = np.zeros(len(boxes), bool)
    low, high = boxes[:, :2], boxes[:, :2] + boxes[:, 2:]
    more = np.rint(boxes[:, 2:] * GROUP_EPS).astype(np.int64)
    for i in range(len(boxes)):
        holds = ((low[i] >= low - more) & (high[i] <= high + more)).all(axis=1)
        holds &= (counts > max(3, counts[i])) | (counts[i] < 3)
        holds[i] = False
        inside[i] = holds.any()
    return inside


def read_picture(path: str) -> NDArray[np.uint8]:
    """Read grey levels from a .npy file, or a PGM or PPM picture (binary, 8 bits).

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    ndarray of shape (h, w), dtype uint8
        Grey levels; colours are converted with OpenCV's weights.

    Raises
    ------
    ValueError
        If the file is of another kind.

    Examples
    --------
    >>> with open("grey.pgm", "wb") as file:
    ...     _ = file.write(b"P5 2 1 255 " + bytes([1, 2]))
    >>> read_picture("grey.pgm").tolist()
    [[1, 2]]
    """
    if path.endswith(".npy"):
        pixels = np.load(path)
    else:
        with open(path, "rb") as file:  # noqa: PTH123  the export does not import pathlib
            data = file.read()
        words: list[bytes] = []
        place = 0
        while len(words) < 4 and place < len(data):  # the kind, width, height and largest level
            end = place
            while end < len(data) and not data[end : end + 1].isspace() and data[end : end + 1] != b"#":
                end += 1
            if end > place:
                words.append(data[place:end])
            if data[end : end + 1] == b"#":
                end = data.find(b"\n", end)
            place = end + 1
        if len(words) < 4 or words[0] not in {b"P5", b"P6"} or words[3] != b"255":
            raise ValueError(
                f"{path} is neither a .npy file nor a binary PGM or PPM picture of 8 bits; convert it"
            )
        width, height, channels = int(words[1]), int(words[2]), 1 if words[0] == b"P5" else 3
        pixels = np.frombuffer(data, np.uint8, width * height * channels, place)
        pixels = pixels.reshape((height, width) if channels == 1 else (height, width, 3))
    if pixels.ndim == 3:
        red, green, blue = np.moveaxis(pixels[:, :, :3].astype(np.int64), 2, 0)
        pixels = ((9798 * red + 19235 * green + 3735 * blue + 16384) >> 15).astype(np.uint8)
    if pixels.ndim != 2 or pixels.dtype != np.uint8:
        raise ValueError(
            f"{path}: shape {pixels.shape} and dtype {pixels.dtype} are not those of an 8-bit picture"
        )
    return np.ascontiguousarray(pixels)


def main(model: Mapping[str, Any]) -> None:
    """Search the pictures given on the command line; print a line of JSON for each."""
    scanner = NumpyScanner(model)
    if len(sys.argv) < 2:
        sys.exit(f"usage: python {sys.argv[0]} PICTURE.pgm ...  (also .ppm and .npy)")
    for path in sys.argv[1:]:
        found = scanner.detect(read_picture(path))
        line = {"image": path, **{name: getattr(found, name).tolist() for name in Found._fields}}
        sys.stdout.write(json.dumps(line) + "\n")
