"""The cascade as the kernels want it: flat arrays in the order of evaluation, corners as offsets."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.fast_nodes import FastNodes, fast_arrays, fast_nodes
from vjcascade.features.families import family_of
from vjcascade.features.haar import norm_rect_offsets
from vjcascade.kernels.scan import Model
from vjcascade.types import FeatureType, Size


class Layout(NamedTuple):
    """Where the corners of a window lie in flat integral images, relative to the window's index.

    There are few layouts, whatever the sizes of pictures, so that offsets of a model are made once.

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

    @classmethod
    def fitting(cls, width: int, n_rows: int, step: int) -> Self:
        """Return the layout for rows of some width.

        Parameters
        ----------
        width : int
            Items in a row that are used.
        n_rows : int
            Rows of an integral image.
        step : int
            Distance of windows in the scan.

        Returns
        -------
        Layout
            Rows and planes are not a power of two apart: in the caches their corners would stand in each other's way.

        Examples
        --------
        >>> Layout.fitting(100, 101, 1), Layout.fitting(3000, 2001, 2)
        (Layout(stride=112, plane=16912, step=1), Layout(stride=3088, plane=8389136, step=2))
        """
        least = -(-width // step) * step - ODD_ITEMS
        unit = max(2 ** (max(least - 1, 1).bit_length() - 3), ODD_ITEMS)  # four strides for each power of two
        stride = -(-(max(-(-least // unit), 1) * unit + ODD_ITEMS) // step) * step
        return cls(stride, 2 ** (n_rows * stride - 1).bit_length() + 33 * ODD_ITEMS, step)

    def offsets(self, window: Size) -> NDArray[np.uint32]:
        """Return the offset of every corner of a window, shape (2, height + 1, width + 1)."""
        column, phase = np.divmod(np.arange(window.width + 1), self.step)
        x = column + phase * (self.stride // self.step)
        y = np.arange(window.height + 1) * self.stride
        planes = np.arange(2) * self.plane
        offsets: NDArray[np.intp] = planes[:, None, None] + y[:, None] + x
        return offsets.astype(np.uint32)


ODD_ITEMS = 16
"""One line of the cache."""

LAYOUTS_KEPT = 64
"""Layouts whose offsets are kept for the next picture: 96 bytes for each node and layout."""

MAX_FLOAT32_SUM = 2.0**126
"""No sum of votes of this size, nor the bounds around it, overflows in float32."""


class CompiledModel:
    """A cascade in flat arrays, ready for integral images of any layout.

    Parameters
    ----------
    cascade : Cascade
        May have no stages.

    Attributes
    ----------
    tilted : bool
        Whether any feature needs the tilted integral image.
    has_contrast : bool
        Whether windows are normalised, which needs the squared integral image; LBP does without.
    """

    def __init__(self, cascade: Cascade) -> None:
        self.window = cascade.window
        family, features = family_of(cascade.features), cascade.features[cascade.nodes["feature"]]
        self.has_contrast = family.is_normalised
        self.tilted = family.has_tilted(features)
        self._corners = family.corners(features, cascade.window)
        self._norm_corners = np.empty(0, np.uint32)
        if family.is_normalised:
            self._norm_corners = norm_rect_offsets(cascade.window, cascade.window.width + 1)
        self._subsets: NDArray[np.int32] | NDArray[np.int8] = np.empty((0, 8), np.int8)
        if family.is_categorical:
            self._subsets = np.ascontiguousarray(cascade.nodes["subset"]).view(np.int32)
        self._numbers = _node_numbers(cascade)
        self._links = _node_links(cascade)
        self._by_layout: dict[Layout, tuple[NDArray[np.uint32], Model]] = {}
        self._stage_ends = cascade.tree_starts[cascade.stage_starts[1:]].astype(np.int32)
        self._thresholds = cascade.effective_thresholds.astype(np.float64)
        self._fast = fast_nodes(cascade, self._corners)
        self._bounds = _float32_bounds(self._numbers, self._stage_ends, self._thresholds, self._fast)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what depends on pictures: it is made again, and other threads may be adding to it."""
        return {**self.__dict__, "_by_layout": {}}

    def for_layout(self, layout: Layout) -> tuple[NDArray[np.uint32], Model]:
        """Return the corners of the normalisation rectangle and the model (see `vjcascade.kernels.scan`) for a layout.

        There are no such corners where windows are not normalised.
        """
        if not self.tilted:
            layout = layout._replace(plane=0)
        arrays = self._by_layout.get(layout)
        if arrays is None:
            arrays = self._for_new_layout(layout)
            kept = list(self._by_layout.items())[1 - LAYOUTS_KEPT :]
            self._by_layout = dict(
                [*kept, (layout, arrays)]
            )  # threads that still hold the old one lose nothing
        return arrays

    def _for_new_layout(self, layout: Layout) -> tuple[NDArray[np.uint32], Model]:
        offsets = layout.offsets(self.window).ravel()
        rest = (self._links, self._stage_ends, self._thresholds, self._subsets, self._bounds)
        return offsets[self._norm_corners], (
            offsets.take(self._corners),
            self._numbers,
            *rest,
            *fast_arrays(self._fast, offsets),
        )


def _node_numbers(cascade: Cascade) -> NDArray[np.float32]:
    """Return rectangle weights, threshold and leaf values of every node, shape (n_nodes, 6)."""
    nodes = cascade.nodes
    numbers = np.zeros((len(nodes), 6), np.float32)
    if cascade.feature_type is FeatureType.HAAR:
        numbers[:, :3] = cascade.features["weights"][nodes["feature"]]
        numbers[:, 3] = nodes["threshold"]
    first_leaf = (cascade.tree_starts[:-1] + np.arange(cascade.n_trees))[_tree_of_node(cascade)]
    for column, side in ((4, "left"), (5, "right")):
        leaf = np.minimum(nodes[side], 0)
        numbers[:, column] = np.where(nodes[side] > 0, np.float32(0), cascade.leaves[first_leaf - leaf])
    return numbers


def _node_links(cascade: Cascade) -> NDArray[np.int32] | NDArray[np.int8]:
    """Return the place of every node, of its children, and its tree's size; no rows if all are stumps."""
    nodes, tree = cascade.nodes, _tree_of_node(cascade)
    if len(nodes) == cascade.n_trees:
        return np.empty((0, 4), np.int8)
    place = np.arange(len(nodes)) - cascade.tree_starts[tree]
    children = (np.where(nodes[side] > 0, nodes[side], -1) for side in ("left", "right"))
    return np.stack([place, *children, np.diff(cascade.tree_starts)[tree]], axis=1).astype(np.int32)


def _tree_of_node(cascade: Cascade) -> NDArray[np.intp]:
    return np.repeat(np.arange(cascade.n_trees), np.diff(cascade.tree_starts))


def _float32_bounds(
    numbers: NDArray[np.float32],
    stage_ends: NDArray[np.int32],
    thresholds: NDArray[np.float64],
    fast: FastNodes | None,
) -> NDArray[np.float32]:
    """Return between which sums in float32 it is open whether a window passes a stage, and their starts, (n_stages, 3).

    Adding n numbers one by one in float32 errs by less than n * 2**-24 times the sum of their sizes, n * 2**-24 being
    small, and rounding the numbers beforehand by 2**-24 of these; twice that leaves room for the rounding of the
    bounds themselves.
    """
    first = np.append(0, stage_ends[:-1])
    if fast is not None:
        starts, total = fast.sums.T
    else:
        sizes = np.abs(numbers[:, 4:].astype(np.float64)).max(axis=1)  # a node without a leaf has 0
        total = np.add.reduceat(sizes, first) if len(first) and len(sizes) else np.zeros(len(thresholds))
        starts = np.zeros(len(thresholds))
    margins = (stage_ends - first + 3) * 2.0**-23 * (total + np.abs(thresholds))
    margins[total + np.abs(thresholds) > MAX_FLOAT32_SUM] = np.nan  # compares with nothing: all is open
    return np.stack([thresholds - margins, thresholds + margins, starts], axis=1).astype(np.float32)
