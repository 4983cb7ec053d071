"""How many features a cascade evaluates in a window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.types import Size

if TYPE_CHECKING:  # who asks for features alone needs no compiled kernels
    from vjcascade.detection.scales import Level
    from vjcascade.detection.scanner import RawWindows, Scanner


def features_of_stages(cascade: Cascade) -> list[float]:
    """Return for each stage how many features a window meets in it, all leaves of a tree being as likely.

    Parameters
    ----------
    cascade : Cascade
        Of stumps, which have one feature each, or of trees.

    Returns
    -------
    list of float
        One for each stage.

    Examples
    --------
    >>> features_of_stages(Cascade(Size(24, 24)))
    []
    """
    met = [_mean_depth(cascade, tree) for tree in range(cascade.n_trees)]
    starts = cascade.stage_starts.tolist()
    return [sum(met[begin:end]) for begin, end in pairwise(starts)]


def count_passed(
    scanner: Scanner, gray: NDArray[np.uint8], scale_factor: float = 1.1, stride: int = 2
) -> tuple[NDArray[np.int64], int]:
    """Count how many stages the windows of a picture pass.

    Parameters
    ----------
    scanner : Scanner
        Made for the cascade.
    gray : ndarray of shape (h, w), dtype uint8
        The picture.
    scale_factor : float
        Ratio of neighbouring scales, > 1.
    stride : int
        Distance of windows in level pixels, at every scale; none is skipped.

    Returns
    -------
    n_windows : ndarray of shape (n_stages + 1,), dtype int64
        By stages passed. Windows below the contrast floor are in none: no stage looks at them.
    n_looked_at : int
        All windows, those included.

    Examples
    --------
    >>> from vjcascade.detection.scanner import Scanner
    >>> flat = np.full((26, 28), 128, np.uint8)
    >>> counts, n_looked_at = count_passed(Scanner(Cascade(Size(24, 24))), flat)
    >>> counts.tolist(), n_looked_at
    ([0], 7)
    """
    from vjcascade.detection.scales import dense_levels

    window, size = scanner.cascade.window, Size(gray.shape[1], gray.shape[0])
    n_stages = scanner.cascade.n_stages
    counts, n_looked_at = np.zeros(n_stages + 1, np.int64), 0
    levels = dense_levels(size, window, scale_factor, stride, (Size(1, 1), size))
    for _, found in scanned_levels(scanner, gray, levels):
        counts += np.bincount(found.stages, minlength=n_stages + 1)
        n_looked_at += found.n_windows
    return counts, n_looked_at


def scanned_levels(
    scanner: Scanner, gray: NDArray[np.uint8], levels: Iterable[Level]
) -> Iterator[tuple[NDArray[np.uint8], RawWindows]]:
    """Scan levels of a picture, and keep every window above the contrast floor, whichever stage rejects it.

    Parameters
    ----------
    scanner : Scanner
        Made for the cascade.
    gray : ndarray of shape (h, w), dtype uint8
        The picture.
    levels : iterable of Level
        Of the picture.

    Yields
    ------
    image : ndarray of shape (h, w), dtype uint8
        The level image.
    found : RawWindows
        Its windows, each with the number of stages that it passes.
    """
    from vjcascade.imaging import resize_exact

    for level in levels:
        image = resize_exact(gray, level.size)
        yield image, scanner.scan_rows(scanner.integrals(image, level.step), level.rows, min_stages=0)


def _mean_depth(cascade: Cascade, tree: int) -> float:
    begin, end = cascade.tree_starts[tree : tree + 2].tolist()
    if end - begin == 1:
        return 1.0
    depths = [1] * (end - begin)  # of a node's leaves
    leaves: list[int] = []
    for node, (left, right) in enumerate(cascade.nodes[["left", "right"]][begin:end].tolist()):
        for child in (left, right):
            if child > 0:  # children come after their parents
                depths[child] = depths[node] + 1
            else:
                leaves.append(depths[node])
    return sum(leaves) / len(leaves)
