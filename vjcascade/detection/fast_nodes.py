"""The nodes of a cascade as the fast path of the scan wants them: in an order, and with corners, that save reading.

The exact path sums votes in the model's order. The fast one may take any order, since it leaves open what rounding
might decide: trees of one size stand together, and among these nodes of one shape, so that the processor need not
guess which shape comes next.

Values are the same bit for bit. With whole weights they are whole numbers, which float32 holds exactly and, where they
fit, 16 bits do. Half of the corners of an edge, a line or a checkerboard lie at one distance from the other half.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.kernels.fast_lanes import (
    CHECKERBOARD,
    EDGE,
    FLIP,
    GAIN,
    LINE,
    LONG,
    MARK,
    MAX_TREE,
    N_COLUMNS,
    NUMBER,
    OFFSETS,
    THRESHOLD,
    TWO,
)
from vjcascade.types import FeatureType

MAX_LEVEL = 255

MAX_SHORT, MAX_UNSIGNED_SHORT = 2**15 - 1, 2**16 - 1
"""Largest values with 16 bits."""

MAX_EXACT_AREA = 2**24 // (16 * MAX_LEVEL)
"""Pixels of a window in which sums with weights up to 16 stay below 2**24: so far float32 holds every whole number."""

N_OFFSETS = N_COLUMNS - OFFSETS

TL, TR, BL, BR = range(4)


class FastNodes(NamedTuple):
    """What the fast path reads; rows are nodes in its order.

    Attributes
    ----------
    table : ndarray of shape (n_nodes, 12), dtype int32
        What does not depend on the layout; the columns are named in `vjcascade.kernels.fast_lanes`.
    corners : ndarray of shape (n_nodes, 8), dtype intp
        Corners in the flat integral images of one window: of an edge, one end of each of its three sides, and the
        other end of the first; of a line, the same of four sides; of a checkerboard, three corners of its upper side
        and the first ones of the two below; of two rectangles, their corners; of LBP, four corners of the upper side
        and the first ones of the three below; 0 elsewhere.
    origins : ndarray of shape (n_nodes, 8), dtype intp
        Where the scan wants a distance, the corner that it is counted from; 0 elsewhere.
    ends : ndarray of shape (n_stages, MAX_TREE), dtype int32
        Where the trees of one, two and three nodes of each stage end.
    sums : ndarray of shape (n_stages, 2), dtype float64
        Of a stage, the sum where every window goes right, and the largest size that it can come to.
    """

    table: NDArray[np.int32]
    corners: NDArray[np.intp]
    origins: NDArray[np.intp]
    ends: NDArray[np.int32]
    sums: NDArray[np.float64]


def fast_nodes(cascade: Cascade, corners: NDArray[np.uint32]) -> FastNodes | None:
    """Return the nodes of a cascade for the fast path; None if it has larger trees.

    Parameters
    ----------
    cascade : Cascade
        Of any kind.
    corners : ndarray of shape (n_nodes, 12 or 16), dtype uint32
        Corners of each node's feature in one window, as its `FeatureFamily` tells them.

    Returns
    -------
    FastNodes or None
        As above.
    """
    sizes = np.diff(cascade.tree_starts)
    nodes, tree = cascade.nodes, np.repeat(np.arange(cascade.n_trees), sizes)
    place = np.arange(len(nodes)) - cascade.tree_starts[tree]
    is_root = place == 0
    has_child = (nodes["left"] > 0) | (nodes["right"] > 0)
    if (sizes > MAX_TREE).any() or (has_child & ~is_root).any():
        return None
    features, ids = cascade.features[nodes["feature"]], corners.astype(np.intp)
    table = np.zeros((len(nodes), N_COLUMNS), np.int32)
    if cascade.feature_type is FeatureType.HAAR:
        shapes, found, origins = _haar_shapes(cascade, features, ids.reshape(-1, 3, 4))
        table[:, THRESHOLD] = nodes["threshold"].astype(np.float32).view(np.int32)
        weights = np.where(shapes == TWO, features["weights"][:, :2].T, 0).astype(np.int32) & 255
        table[:, MARK] = shapes | weights[0] << 8 | weights[1] << 16
        has_number = shapes == LONG
    else:
        shapes, found, origins = _lbp_shapes(features, ids)
        table[:, MARK] = shapes
        has_number = np.ones(len(nodes), np.bool_)
    table[:, NUMBER] = np.where(has_number, np.arange(len(nodes)), 0)
    gains, rests = _gains(cascade, tree)
    table[:, GAIN] = gains.astype(np.float32).view(np.int32)
    is_right = (nodes["right"][cascade.tree_starts[tree]] == place) & ~is_root
    table[:, FLIP] = np.where(is_right, -1, 0)

    stage = np.repeat(np.arange(cascade.n_stages), cascade.stage_sizes)
    position = np.where(is_root, 0, np.where((sizes[tree] == MAX_TREE) & is_right, 2, 1))  # root, left, right
    tree_shapes = np.zeros((cascade.n_trees, MAX_TREE), np.int64)
    tree_shapes[tree, position] = shapes
    rank = np.empty(cascade.n_trees, np.intp)
    rank[np.lexsort((*tree_shapes.T[::-1], sizes, stage))] = np.arange(cascade.n_trees)
    order = np.lexsort((position, rank[tree]))

    n_of_size = np.zeros((cascade.n_stages, MAX_TREE), np.int64)
    np.add.at(n_of_size, (stage, sizes - 1), sizes)
    sums = np.zeros((cascade.n_stages, 2))
    np.add.at(sums[:, 0], stage, rests)
    np.add.at(sums[:, 1], stage[tree], np.abs(gains))
    sums[:, 1] += np.abs(sums[:, 0])
    ends = np.cumsum(n_of_size.ravel()).reshape(n_of_size.shape).astype(np.int32)
    return FastNodes(table[order], found[order], origins[order], ends, sums)


def _gains(cascade: Cascade, tree: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what going left at a node adds to a tree's vote, and the votes where no node is left to the left.

    The vote is the rightmost leaf, and for each node that a window reaches and leaves to the left, the difference of
    the rightmost leaves of its two ways.
    """
    nodes, starts = cascade.nodes, cascade.tree_starts
    leaves = cascade.leaves.astype(np.float64)

    def rightmost(way: NDArray[np.int32]) -> NDArray[np.float64]:
        child = starts[tree] + np.maximum(way, 0)
        leaf = np.where(way > 0, nodes["right"][child], way)
        found: NDArray[np.float64] = leaves[starts[tree] + tree - leaf]
        return found

    lefts, rights = rightmost(nodes["left"]), rightmost(nodes["right"])
    return lefts - rights, rights[starts[:-1]]


def _haar_shapes(
    cascade: Cascade, features: NDArray[np.void], corners: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return each node's shape, the corners that the scan reads, and those that distances are counted from."""
    # IN corners (n_nodes, 3, 4)
    n = len(features)
    whole, second, third = (corners[:, i] for i in range(3))
    weights = features["weights"]
    is_short = _fits_short(cascade, features)
    shapes = np.full(n, LONG)
    found, origins = np.zeros((n, N_OFFSETS), np.intp), np.zeros((n, N_OFFSETS), np.intp)
    two = is_short & (weights[:, 2] == 0)
    shapes[two] = TWO
    found[two] = corners[two, :2].reshape(-1, N_OFFSETS)

    def take(where: NDArray[np.bool_], shape: int, places: list[NDArray[np.intp]], n_distances: int) -> None:
        """Note the corners of some nodes; the last ones are distances from the first."""
        shapes[where] = shape
        found[where] = 0
        for i, place in enumerate(places):
            found[where, i] = place[where]
        first = len(places) - n_distances
        origins[where, first : first + n_distances] = whole[where, TL, None]

    is_short &= features["tilted"] == 0
    row, column = np.divmod(corners, cascade.window.width + 1)
    across = (row[:, 1, TL] == row[:, 0, TL]) & (row[:, 1, BL] == row[:, 0, BL])
    down = (column[:, 1, TL] == column[:, 0, TL]) & (column[:, 1, TR] == column[:, 0, TR])
    for fits, far, distance in ((across, TR, BL), (down, BL, TR)):
        ends_together = second[:, BR] == whole[:, BR]
        edge = is_short & (weights == (-1, 2, 0)).all(axis=1) & fits & ends_together
        take(edge, EDGE, [whole[:, TL], second[:, TL], whole[:, far], whole[:, distance]], 1)
        line = is_short & (weights == (-1, 3, 0)).all(axis=1) & fits
        sides = [whole[:, TL], second[:, TL], second[:, far], whole[:, far]]
        take(line, LINE, [*sides, whole[:, distance]], 1)
    squares = is_short & (weights == (-1, 2, 2)).all(axis=1) & (second[:, TL] == whole[:, TL])
    squares &= (third[:, BR] == whole[:, BR]) & (second[:, BR] == third[:, TL])
    sides = [whole[:, TL], second[:, TR], whole[:, TR], second[:, BL], whole[:, BL]]
    take(squares, CHECKERBOARD, sides, 2)
    return shapes, found, origins


def _fits_short(cascade: Cascade, features: NDArray[np.void]) -> NDArray[np.bool_]:
    """Tell which features have whole weights and values that always fit into 16 bits."""
    weights = features["weights"].astype(np.float64)
    if cascade.window.width * cascade.window.height > MAX_EXACT_AREA:
        return np.zeros(len(features), np.bool_)
    x, y, w, h = (features["rects"][..., i].astype(np.int64) for i in range(4))
    # Along its sides, a tilted rectangle reaches from x + y on and up to x - y.
    tilted = features["tilted"][:, None] != 0
    first = [np.where(tilted, x + y, x), np.where(tilted, x - y - 2 * h, y)]
    last = [first[0] + np.where(tilted, 2 * w, w), first[1] + np.where(tilted, 2 * h, h)]
    area = np.where(tilted, 2 * w * h, w * h)
    used = weights != 0
    inside = [
        ~used[:, i]
        | np.logical_and.reduce(
            [
                (first[axis][:, i] >= first[axis][:, 0]) & (last[axis][:, i] <= last[axis][:, 0])
                for axis in range(2)
            ]
        )
        for i in (1, 2)
    ]
    apart = ~used[:, 2] | np.logical_or.reduce(
        [
            (last[axis][:, 1] <= first[axis][:, 2]) | (last[axis][:, 2] <= first[axis][:, 1])
            for axis in range(2)
        ]
    )
    # Weights of the pixels of each part: of the whole alone, and of the others on top of it.
    part_weights = np.stack([weights[:, 0], *(weights[:, 0] + weights[:, i] for i in (1, 2))], axis=1)
    part_areas = np.where(used, area, 0)
    part_areas[:, 0] -= part_areas[:, 1] + part_areas[:, 2]
    sums = MAX_LEVEL * part_weights * part_areas
    highest, lowest = np.maximum(sums, 0).sum(axis=1), np.minimum(sums, 0).sum(axis=1)
    is_whole = (weights == np.rint(weights)).all(axis=1) & (np.abs(weights) <= 16).all(axis=1)
    fits: NDArray[np.bool_] = (
        is_whole & inside[0] & inside[1] & apart & (highest <= MAX_SHORT) & (lowest >= -MAX_SHORT)
    )
    return fits


def _lbp_shapes(
    features: NDArray[np.void], corners: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return each node's shape, the four corners of the first row of cells, and the distances of the rows below."""
    # IN corners (n_nodes, 16), row after row
    n = len(features)
    cell = features["cell"][:, 2].astype(np.int64) * features["cell"][:, 3]
    shapes = np.where(MAX_LEVEL * cell <= MAX_UNSIGNED_SHORT, TWO, LONG)
    found, origins = np.zeros((n, N_OFFSETS), np.intp), np.zeros((n, N_OFFSETS), np.intp)
    found[:, :4] = corners[:, :4]
    found[:, 4:7] = corners[:, 4::4]
    origins[:, 4:7] = corners[:, :1]
    return shapes, found, origins


def fast_arrays(
    nodes: FastNodes | None, offsets: NDArray[np.uint32]
) -> tuple[NDArray[np.int32], NDArray[np.int32] | NDArray[np.int8]]:
    """Return the nodes as the kernels take them.

    Parameters
    ----------
    nodes : FastNodes or None
        From `fast_nodes`.
    offsets : ndarray of shape (n,), dtype uint32
        In a layout, of every corner of a window.

    Returns
    -------
    fast_nodes : ndarray of shape (n_nodes, 12), dtype int32
        With offsets and distances of corners; no rows if there are no nodes.
    fast_ends : ndarray of shape (3 * n_stages + 1,), dtype int32
        0, and the ends of `FastNodes`, stage after stage; without items, and int8, if there are no nodes.
    """
    if nodes is None:
        return np.empty((0, N_COLUMNS), np.int32), np.empty(0, np.int8)
    signed, table = offsets.view(np.int32), nodes.table.copy()
    table[:, OFFSETS:] += signed.take(nodes.corners) - signed.take(nodes.origins)
    return table, np.append(np.int32(0), nodes.ends.ravel())
