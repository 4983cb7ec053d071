"""The cascade as the kernels want it: flat arrays in the order of evaluation, corners as offsets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.features.haar import corner_offsets, inset_offsets
from vjcascade.kernels.scan import Model
from vjcascade.types import Size


class Layout(NamedTuple):
    """Where the corners of a window lie in flat integral images, relative to the window's index.

    Attributes
    ----------
    stride : int
        Items from one row to the next.
    plane : int
        Items from one integral image to the next.
    step : int
        Every `step`-th column lies side by side, phase after phase; `stride` is a multiple of it.
    """

    stride: int
    plane: int
    step: int = 1

    def offsets(self, window: Size) -> NDArray[np.uint32]:
        """Return the offset of every corner of a window, shape (2, height + 1, width + 1)."""
        column, phase = np.divmod(np.arange(window.width + 1), self.step)
        x = column + phase * (self.stride // self.step)
        y = np.arange(window.height + 1) * self.stride
        planes = np.arange(2) * self.plane
        offsets: NDArray[np.intp] = planes[:, None, None] + y[:, None] + x
        return offsets.astype(np.uint32)


class FlatModel:
    """A cascade in flat arrays, ready to be placed on integral images of any layout.

    Parameters
    ----------
    cascade : Cascade
        May have no stages.

    Attributes
    ----------
    tilted : bool
        Whether any feature needs the tilted integral image.
    """

    def __init__(self, cascade: Cascade) -> None:
        self.window = cascade.window
        self.tilted = bool(cascade.features["tilted"][cascade.nodes["feature"]].any())
        stride = cascade.window.width + 1  # corners are numbered as in an integral image of one window
        features = cascade.features[cascade.nodes["feature"]]
        self._corners = corner_offsets(features, stride, stride * (cascade.window.height + 1)).reshape(-1, 12)
        self._inset = inset_offsets(cascade.window, stride)
        self._numbers = _node_numbers(cascade)
        self._links = _node_links(cascade)
        self._stage_ends = cascade.tree_starts[cascade.stage_starts[1:]].astype(np.int32)
        self._thresholds = cascade.effective_thresholds.astype(np.float64)

    def place(self, layout: Layout) -> tuple[NDArray[np.uint32], Model]:
        """Return the corners of the inset and the model (see `vjcascade.kernels.scan`) for a layout."""
        offsets = layout.offsets(self.window).ravel()
        nodes = offsets[self._corners]
        return offsets[self._inset], (nodes, self._numbers, self._links, self._stage_ends, self._thresholds)


def _node_numbers(cascade: Cascade) -> NDArray[np.float32]:
    """Return rectangle weights, threshold and leaf values of every node, shape (n_nodes, 6)."""
    nodes = cascade.nodes
    numbers = np.zeros((len(nodes), 6), np.float32)
    numbers[:, :3] = cascade.features["weights"][nodes["feature"]]
    numbers[:, 3] = nodes["threshold"]
    first_leaf = (cascade.tree_starts[:-1] + np.arange(cascade.n_trees))[_tree_of_node(cascade)]
    for column, side in ((4, "left"), (5, "right")):
        leaf = np.minimum(nodes[side], 0)
        numbers[:, column] = np.where(nodes[side] > 0, np.float32(0), cascade.leaves[first_leaf - leaf])
    return numbers


def _node_links(cascade: Cascade) -> NDArray[np.int32]:
    """Return the place of every node, of its children, and its tree's size; no rows if all are stumps."""
    nodes, tree = cascade.nodes, _tree_of_node(cascade)
    if len(nodes) == cascade.n_trees:
        return np.empty((0, 4), np.int32)
    place = np.arange(len(nodes)) - cascade.tree_starts[tree]
    children = (np.where(nodes[side] > 0, nodes[side], -1) for side in ("left", "right"))
    return np.stack([place, *children, np.diff(cascade.tree_starts)[tree]], axis=1).astype(np.int32)


def _tree_of_node(cascade: Cascade) -> NDArray[np.intp]:
    return np.repeat(np.arange(cascade.n_trees), np.diff(cascade.tree_starts))
