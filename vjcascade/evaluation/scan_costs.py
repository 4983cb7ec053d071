"""What a scan of pictures costs: which share of windows each stage rejects, and how many features a window takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.scales import Level, row_array, scan_levels
from vjcascade.detection.scanner import Scanner
from vjcascade.evaluation.features import features_of_stages, scanned_levels
from vjcascade.features.families import family_of
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.parallel import checked_threads, ordered_map
from vjcascade.types import Size

SCALE_FACTOR = 1.1
"""Ratio of neighbouring levels: that of a detection with default settings."""

MAX_WINDOWS = 5_000_000
"""In all pictures; of more, some rows are drawn."""

WINDOWS_WALKED = 200
"""Of each stage and picture: in so many windows, trees are walked through to count the nodes that they visit."""

MAX_VALUES = 2**24
"""Values of features that are kept at a time: of stages with very many nodes, fewer windows are walked."""


@dataclass(frozen=True, eq=False)
class ScanCosts:
    """What the windows of a scan meet, stage by stage.

    Attributes
    ----------
    n_pictures : int
        Pictures scanned.
    n_windows : int
        Windows looked at.
    n_reached : ndarray of shape (n_stages,), dtype int64
        Windows that reach each stage. Windows below the contrast floor reach none.
    n_passed : ndarray of shape (n_stages,), dtype int64
        Windows that pass it and all stages before.
    n_features : ndarray of shape (n_stages,), dtype float64
        Features that it evaluates in a window that reaches it, on average: the nodes that its trees visit. Where none
        does, all leaves of a tree are taken to be as likely.
    """

    n_pictures: int
    n_windows: int
    n_reached: NDArray[np.int64]
    n_passed: NDArray[np.int64]
    n_features: NDArray[np.float64]

    @property
    def reached(self) -> NDArray[np.float64]:
        """Share of all windows that reach each stage, shape (n_stages,)."""
        return self.n_reached / max(self.n_windows, 1)

    @property
    def rejected(self) -> NDArray[np.float64]:
        """Share that each stage rejects of the windows that reach it, shape (n_stages,); NaN where none does."""
        shares = np.full(len(self.n_reached), np.nan)
        np.divide(self.n_reached - self.n_passed, self.n_reached, out=shares, where=self.n_reached > 0)
        return shares

    @property
    def features_of_any_window(self) -> NDArray[np.float64]:
        """Features that each stage evaluates in any window, on average, shape (n_stages,)."""
        return self.reached * self.n_features

    @property
    def mean_features(self) -> float:
        """Features evaluated in a window, on average."""
        return float(self.features_of_any_window.sum())


class _Counts(NamedTuple):
    """What was counted in one picture: all windows, windows by stages passed, and nodes visited by stage."""

    n_windows: int
    by_stages: NDArray[np.int64]
    n_nodes: NDArray[np.float64]


def scan_costs(
    cascade: Cascade,
    pictures: Iterable[NDArray[np.uint8]],
    *,
    share: float = 1.0,
    seed: int = 0,
    n_threads: int | None = None,
) -> ScanCosts:
    """Measure what the windows of a scan meet: at the scales and positions of a detection with default settings.

    No window is skipped, as a detection does to the right of one that the first stage rejects. Stages are counted in
    every window. The nodes that trees visit are counted in windows drawn at random, `WINDOWS_WALKED` of each stage and
    picture; stumps have one.

    Parameters
    ----------
    cascade : Cascade
        The model.
    pictures : iterable of ndarray of shape (h, w), dtype uint8
        Grey; read one after the other.
    share : float
        Share of the rows of windows that are looked at, drawn at random; see `share_of_rows`.
    seed : int
        What is drawn depends on it.
    n_threads : int, optional
        All processors if not given. The result does not depend on it.

    Returns
    -------
    ScanCosts
        Of all pictures together.

    Examples
    --------
    >>> costs = scan_costs(Cascade(Size(24, 24)), [np.eye(26, 28, dtype=np.uint8)])
    >>> costs.n_windows, costs.mean_features
    (4, 0.0)
    """
    scanner = Scanner(cascade)

    def count(task: tuple[int, NDArray[np.uint8]]) -> _Counts:
        number, gray = task
        return _counts(scanner, gray, share, np.random.default_rng([seed, number]))

    n_pictures = n_windows = 0
    by_stages, n_nodes = np.zeros(cascade.n_stages + 1, np.int64), np.zeros(cascade.n_stages)
    for counts in ordered_map(count, enumerate(pictures), checked_threads(n_threads)):
        n_pictures += 1
        n_windows += counts.n_windows
        by_stages += counts.by_stages
        n_nodes += counts.n_nodes
    passed_at_least = by_stages[::-1].cumsum()[::-1]
    n_reached, n_features = passed_at_least[:-1], np.array(features_of_stages(cascade), np.float64)
    np.divide(n_nodes, n_reached, out=n_features, where=n_reached > 0)
    return ScanCosts(n_pictures, n_windows, n_reached, passed_at_least[1:], n_features)


def share_of_rows(sizes: Iterable[Size], window: Size, most: int = MAX_WINDOWS) -> float:
    """Return which share of the rows of windows to look at, so that there are about `most` windows at most.

    Parameters
    ----------
    sizes : iterable of Size
        Of the pictures.
    window : Size
        Of the cascade.
    most : int
        In all pictures together.

    Returns
    -------
    float
        In (0, 1].

    Examples
    --------
    >>> share_of_rows([Size(28, 26)] * 3, Size(24, 24)), share_of_rows([Size(28, 26)] * 3, Size(24, 24), 3)
    (1.0, 0.25)
    """
    n = sum(level.n_windows for size in sizes for level in scan_levels(size, window, SCALE_FACTOR))
    return min(most / max(n, 1), 1.0)


def nodes_visited(cascade: Cascade, stage: int, windows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count the nodes of a stage's trees that windows visit.

    Parameters
    ----------
    cascade : Cascade
        The model.
    stage : int
        Counted from 0.
    windows : ndarray of shape (n, height, width), dtype uint8
        Above the contrast floor.

    Returns
    -------
    ndarray of shape (n,), dtype int64
        In all trees of the stage together.
    """
    starts = cascade.tree_starts[cascade.stage_starts[stage] : cascade.stage_starts[stage + 1] + 1]
    nodes = cascade.nodes[starts[0] : starts[-1]]
    roots = starts[:-1] - starts[0]
    root_of = np.repeat(roots, np.diff(starts))
    goes_left = _goes_left(cascade, nodes, windows)
    here, window = np.repeat(roots, len(windows)), np.tile(np.arange(len(windows)), len(roots))
    visited = np.zeros(len(windows), np.int64)
    while len(here):
        visited += np.bincount(window, minlength=len(windows))
        children = np.where(goes_left[here, window], nodes["left"][here], nodes["right"][here])
        is_node = children > 0
        here, window = (root_of[here] + children)[is_node], window[is_node]
    return visited


def _goes_left(cascade: Cascade, nodes: NDArray[np.void], windows: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Tell at which nodes windows go left, shape (n_nodes, n_windows)."""
    family, features = family_of(cascade.features), cascade.features[nodes["feature"]]
    integrals = WindowIntegrals.of(windows, tilted=family.has_tilted(features))
    values = family.values(features, integrals)
    if not family.is_categorical:
        less: NDArray[np.bool_] = values < nodes["threshold"][:, np.newaxis]
        return less
    codes = values.astype(np.intp)
    words = nodes["subset"][np.arange(len(nodes))[:, np.newaxis], codes >> 5]
    is_set: NDArray[np.bool_] = (words >> (codes & 31).astype(np.uint32) & 1).astype(bool)
    return is_set


def _counts(scanner: Scanner, gray: NDArray[np.uint8], share: float, rng: np.random.Generator) -> _Counts:
    cascade = scanner.cascade
    size = Size(gray.shape[1], gray.shape[0])
    levels = [
        level if share >= 1 else _with_some_rows(level, share, rng)
        for level in scan_levels(size, cascade.window, SCALE_FACTOR)
    ]
    scanned = list(scanned_levels(scanner, gray, levels))
    images = [image for image, _ in scanned]
    stages = np.concatenate([np.empty(0, np.int32), *[found.stages for _, found in scanned]])
    places = [
        np.column_stack([np.full(len(found), n, np.int32), found.positions])
        for n, (_, found) in enumerate(scanned)
    ]
    windows = np.concatenate([np.empty((0, 3), np.int32), *places])
    n_nodes = np.zeros(cascade.n_stages)
    for stage, n_trees in enumerate(cascade.stage_sizes.tolist()):
        reached = np.flatnonzero(stages >= stage)
        nodes_in_stage = int(np.diff(cascade.tree_starts[cascade.stage_starts[stage : stage + 2]])[0])
        if nodes_in_stage == n_trees:
            n_nodes[stage] = n_trees * len(reached)
        elif len(reached):
            n_walked = min(len(reached), WINDOWS_WALKED, max(MAX_VALUES // nodes_in_stage, 1))
            walked = rng.choice(reached, n_walked, replace=False)
            crops = _crops(images, windows[walked], cascade.window)
            n_nodes[stage] = nodes_visited(cascade, stage, crops).mean() * len(reached)
    n_windows = sum(found.n_windows for _, found in scanned)
    return _Counts(n_windows, np.bincount(stages, minlength=cascade.n_stages + 1), n_nodes)


def _with_some_rows(level: Level, share: float, rng: np.random.Generator) -> Level:
    rows = row_array(level.rows)
    return level._replace(rows=rows[rng.random(len(rows)) < share])


def _crops(images: Sequence[NDArray[np.uint8]], windows: NDArray[np.int32], size: Size) -> NDArray[np.uint8]:
    """Cut windows, each given by level, x and y, out of level images."""
    crops = np.empty((len(windows), size.height, size.width), np.uint8)
    for crop, (level, x, y) in zip(crops, windows.tolist(), strict=True):
        crop[:] = images[level][y : y + size.height, x : x + size.width]
    return crops
