"""Scan level images with a cascade: the engine under detection and mining."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.buffers import ReusableBuffer
from vjcascade.cascade import Cascade
from vjcascade.detection.compiled import CompiledModel, Layout
from vjcascade.detection.scales import Rows, row_array
from vjcascade.kernels.integral import fill_integrals, fill_tilted
from vjcascade.kernels.scan import TILE, WIDE, evaluate_crops, scan_grid
from vjcascade.kernels.stage_sums import fill_stage_sums
from vjcascade.parallel import blocks, checked_threads, run_all
from vjcascade.types import Size

CROPS_PER_TASK = 512

PADDING = TILE + WIDE
"""Items that a scan may read behind the last row of an integral image: a tile that begins in the last window."""

MAX_ITEMS = 2**31
"""Most items of integral images: corners are found by signed offsets of 32 bits."""


@dataclass(frozen=True, eq=False)
class LevelIntegrals:
    """The integral images of level images, one below the other.

    Attributes
    ----------
    sizes : tuple of Size
        Of the level images, in pixels.
    tops : tuple of int
        The first row of each, of zeros.
    planes : ndarray of shape (n,), dtype int32
        Integral images and, if the cascade has tilted features, tilted integral images, row after row as `layout`
        tells, and `PADDING` zeros, because the scan reads whole blocks of windows.
    shorts : ndarray of shape (n,), dtype uint16
        The planes modulo 2**16.
    squared : ndarray of shape (n,), dtype uint32
        Squared integral images, modulo 2**32, in the same way; no items for LBP cascades.
    layout : Layout
        Of the planes; windows can be scanned at its step only.
    """

    sizes: tuple[Size, ...]
    tops: tuple[int, ...]
    planes: NDArray[np.int32]
    shorts: NDArray[np.uint16]
    squared: NDArray[np.uint32]
    layout: Layout


class IntegralMemory:
    """Memory for the integral images of one scan at a time."""

    def __init__(self) -> None:
        self.planes, self.shorts, self.squared = (ReusableBuffer() for _ in range(3))


@dataclass(frozen=True, eq=False)
class RawWindows:
    """The windows of one level image that passed every stage.

    Attributes
    ----------
    positions : ndarray of shape (n, 2), dtype int32
        `x, y` of the windows' top left corners in level pixels, row after row.
    sums : ndarray of shape (n,), dtype float64
        The sum of leaf values of the last stage evaluated; 0 for a cascade without stages.
    stages : ndarray of shape (n,), dtype int32
        Stages passed.
    n_windows : int
        How many windows were looked at.

    Examples
    --------
    >>> windows = RawWindows(np.zeros((2, 2), np.int32), np.zeros(2), np.ones(2, np.int32), n_windows=100)
    >>> len(windows.positions), windows.n_windows
    (2, 100)
    """

    positions: NDArray[np.int32]
    sums: NDArray[np.float64]
    stages: NDArray[np.int32]
    n_windows: int

    def __len__(self) -> int:
        return len(self.sums)

    def where(self, kept: NDArray[np.bool_] | NDArray[np.intp], n_windows: int = 0) -> Self:
        """Return some windows, by mask or places, as found among `n_windows`."""
        return type(self)(self.positions[kept], self.sums[kept], self.stages[kept], n_windows)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the windows of all parts, one part after the other."""
        return cls(
            np.concatenate([np.empty((0, 2), np.int32), *[part.positions for part in parts]]),
            np.concatenate([np.empty(0), *[part.sums for part in parts]]),
            np.concatenate([np.empty(0, np.int32), *[part.stages for part in parts]]),
            sum(part.n_windows for part in parts),
        )


NO_WINDOWS = RawWindows(np.empty((0, 2), np.int32), np.empty(0), np.empty(0, np.int32), 0)
"""Of a level that was not looked at."""


class Scanner:
    """A cascade made ready for scanning: compile once, use for any number of images and threads.

    Parameters
    ----------
    cascade : Cascade
        May have no stages: then every window above the contrast floor passes.

    Examples
    --------
    >>> scanner = Scanner(Cascade(Size(3, 3)))
    >>> level = np.arange(16, dtype=np.uint8).reshape(4, 4) ** 2
    >>> scanner.scan_rows(scanner.integrals(level)).n_windows
    4
    """

    def __init__(self, cascade: Cascade) -> None:
        self.cascade = cascade
        self._model = CompiledModel(cascade)

    @property
    def n_images(self) -> int:
        """How many integral images the cascade needs: those of a scanner that needs more serve all others."""
        return 1 + self._model.has_contrast + self._model.tilted

    def integrals(
        self, level: NDArray[np.uint8], step: int = 1, memory: IntegralMemory | None = None
    ) -> LevelIntegrals:
        """Compute what a scan of one level image needs; see `integrals_of_levels`.

        Parameters
        ----------
        level : ndarray of shape (h, w), dtype uint8
            Level image, grey.
        step : int
            Distance of windows in the scan, >= 1.
        memory : IntegralMemory, optional
            As for `integrals_of_levels`.

        Returns
        -------
        LevelIntegrals
            For this scanner, or another one that needs no more.

        Raises
        ------
        ValueError
            If `level` has another shape or dtype, or is too large.
        """
        return self.integrals_of_levels([level], step, memory)

    def integrals_of_levels(
        self, levels: Sequence[NDArray[np.uint8]], step: int = 1, memory: IntegralMemory | None = None
    ) -> LevelIntegrals:
        """Compute what one scan of several level images needs: small ones are worth no scan of their own.

        Parameters
        ----------
        levels : sequence of ndarray of shape (h, w), dtype uint8
            Level images, grey, at least one.
        step : int
            Distance of windows in the scan, >= 1.
        memory : IntegralMemory, optional
            Where they are written, in place of those that were written there before; new memory if not given.

        Returns
        -------
        LevelIntegrals
            For this scanner, or another one that needs no more.

        Raises
        ------
        ValueError
            If a level has another shape or dtype, or they are too large.
        """
        for level in levels:
            if level.ndim != 2 or level.dtype != np.uint8:
                raise ValueError(
                    f"a level of shape {level.shape} and dtype {level.dtype} does not fit: (h, w) uint8 expected; "
                    "`vjcascade.imaging.to_gray` converts pictures"
                )
        sizes = tuple(Size(level.shape[1], level.shape[0]) for level in levels)
        widest = max(size.width for size in sizes)
        tops = tuple(accumulate((size.height + 1 for size in sizes), initial=0))
        tilted, n_rows = self._model.tilted, tops[-1]
        layout = Layout.fitting(widest + 1, n_rows, step)
        n_items, stride = n_rows * layout.stride, layout.stride
        if n_items + tilted * layout.plane > MAX_ITEMS:
            raise ValueError(f"a level of {sizes[0]} pixels is too large to scan; make the picture smaller")
        memory = memory or IntegralMemory()
        planes = memory.planes.array((n_items + tilted * layout.plane + PADDING,), np.int32)
        shorts = memory.shorts.array(planes.shape, np.uint16)
        squared = memory.squared.array((n_items + PADDING if self._model.has_contrast else 0,), np.uint32)
        upright, turned = planes[:n_items].reshape(-1, stride), planes[layout.plane :]
        squares = squared[:-PADDING].reshape(-1, stride)
        for given, top in zip(levels, tops, strict=False):
            level = _plain(given)
            rows = slice(top, top + len(level) + 1)
            fill_integrals(level, step, upright[rows], squares[rows])
            if tilted:
                fill_tilted(level, step, turned[:n_items].reshape(-1, stride)[rows])
        for first in (0, layout.plane)[: 1 + tilted]:
            part = slice(first, first + n_items + PADDING)
            planes[part][n_items:] = 0
            np.copyto(shorts[part], planes[part], casting="unsafe")
        return LevelIntegrals(sizes, tops[:-1], planes, shorts, squared, layout)

    def scan_rows(
        self,
        integrals: LevelIntegrals,
        rows: Rows | None = None,
        *,
        skip: bool = False,
        min_stages: int | None = None,
    ) -> RawWindows:
        """Look at the windows of some rows of a single level; see `scan_levels`.

        Parameters
        ----------
        integrals : LevelIntegrals
            From `integrals`; with a step above 1, so many columns lie between windows.
        rows : range or ndarray of shape (n,), dtype intp, optional
            `y` of the windows, in level pixels, ascending; all rows if not given.
        skip : bool, optional
            Whether to pass over the next window to the right of one that stage 0 rejects, as OpenCV does.
        min_stages : int, optional
            How many stages a window must pass to be returned; all if not given.

        Returns
        -------
        RawWindows
            The windows that pass, row after row, from left to right.

        Raises
        ------
        ValueError
            If a row lies outside, or this cascade needs an integral image that is not there.
        """
        (size,) = integrals.sizes
        visited = range(size.height - self.cascade.window.height + 1) if rows is None else rows
        return self.scan_levels(integrals, [visited], skip=skip, min_stages=min_stages)[0]

    def scan_levels(
        self,
        integrals: LevelIntegrals,
        rows: Sequence[Rows],
        *,
        skip: bool = False,
        min_stages: int | None = None,
    ) -> list[RawWindows]:
        """Look at the windows of some rows of each level.

        Parameters
        ----------
        integrals : LevelIntegrals
            From `integrals_of_levels`; with a step above 1, so many columns lie between windows.
        rows : sequence of range or ndarray of shape (n,), dtype intp
            `y` of the windows, in level pixels, ascending; for each level.
        skip, min_stages : bool, int or None, optional
            As for `scan_rows`.

        Returns
        -------
        list of RawWindows
            For each level the windows that pass, row after row, from left to right.

        Raises
        ------
        ValueError
            As `scan_rows`.
        """
        layout = integrals.layout
        self._require_planes(integrals)
        firsts, lines = self._lines(integrals, rows)
        norm_rect, model = self._model.for_layout(layout)
        n_needed = self.cascade.n_stages if min_stages is None else min_stages
        grid = np.array([layout.step, skip, layout.stride, self._norm_area, n_needed], np.int64)
        windows, sums, n_visited = scan_grid(
            integrals.planes, integrals.shorts, integrals.squared, lines, grid, norm_rect, model
        )
        if min_stages is not None:  # they come tile by tile
            order = np.lexsort((windows[:, 0], windows[:, 1]))
            windows, sums = windows[order], sums[order]
        visited = np.concatenate(([0], np.cumsum(n_visited)))[firsts]
        bottom = integrals.tops[-1] + integrals.sizes[-1].height + 1
        places = np.searchsorted(windows[:, 1], [*integrals.tops, bottom])
        return [
            RawWindows(
                windows[begin:end, :2] - np.array([0, top], np.int32),
                sums[begin:end],
                windows[begin:end, 2].copy(),
                n,
            )
            if begin < end
            else replace(NO_WINDOWS, n_windows=n)
            for top, (begin, end), n in zip(
                integrals.tops, pairwise(places.tolist()), np.diff(visited).tolist(), strict=True
            )
        ]

    def _lines(self, integrals: LevelIntegrals, rows: Sequence[Rows]) -> tuple[list[int], NDArray[np.int64]]:
        """Return the place of each level's first row among all, and of each row its y and number of windows."""
        window, step = self.cascade.window, integrals.layout.step
        ys, numbers = [], []
        for size, top, visited in zip(integrals.sizes, integrals.tops, rows, strict=True):
            n_rows = max(size.height - window.height + 1, 0)
            lowest, highest = _ends(visited)
            if lowest < 0 or highest >= n_rows:
                raise ValueError(f"rows {visited} are not all in [0, {n_rows})")
            ys.append(row_array(visited) + top)
            numbers.append(max(-(-(size.width - window.width + 1) // step), 0))
        counts = [len(visited) for visited in ys]
        lines = np.empty((sum(counts), 2), np.int64)
        np.concatenate(ys, out=lines[:, 0])
        lines[:, 1] = np.repeat(numbers, counts)
        return [*accumulate(counts, initial=0)], lines

    def stage_sums(
        self, integrals: LevelIntegrals, positions: NDArray[np.int32], first_stage: int = 0
    ) -> NDArray[np.float64]:
        """Compute the sums of leaf values of stages in windows, also of stages behind one that rejects the window.

        Parameters
        ----------
        integrals : LevelIntegrals
            From `integrals`, of one level.
        positions : ndarray of shape (n, 2), dtype int32
            `x, y` of windows in level pixels, as `scan_rows` returns them: at the step of `integrals`, and above
            the contrast floor.
        first_stage : int
            The first stage that is wanted, from 0.

        Returns
        -------
        ndarray of shape (n, n_stages - first_stage), dtype float64
            Exactly the sums that a scan compares with the thresholds.

        Raises
        ------
        ValueError
            If a window does not lie in the level or at the step, or this cascade needs an integral image that is not
            there.
        """
        (size,), window, layout = integrals.sizes, self.cascade.window, integrals.layout
        last = [size.width - window.width, size.height - window.height]
        if len(positions) and not (
            (positions >= 0).all()
            and (positions <= last).all()
            and (positions[:, 0] % layout.step == 0).all()
        ):
            raise ValueError(f"some windows do not lie in the {size} level at steps of {layout.step} pixels")
        self._require_planes(integrals)
        sums = np.empty((len(positions), max(self.cascade.n_stages - first_stage, 0)))
        norm_rect, model = self._model.for_layout(layout)
        grid = np.array([layout.step, layout.stride, self._norm_area], np.int64)
        windows = np.require(positions, np.int32, ["C", "W"])
        fill_stage_sums(
            integrals.planes, integrals.squared, windows, grid, norm_rect, model, first_stage, sums
        )
        return sums

    @property
    def _norm_area(self) -> int:
        window = self.cascade.window
        return (window.width - 2) * (window.height - 2)

    def _require_planes(self, integrals: LevelIntegrals) -> None:
        has_tilted = len(integrals.planes) > integrals.layout.plane
        if (self._model.tilted and not has_tilted) or (
            self._model.has_contrast and not len(integrals.squared)
        ):
            missing = "tilted" if self._model.tilted and not has_tilted else "squared"
            raise ValueError(
                f"this cascade needs the {missing} integral image, and it is not there; "
                "make them with the `integrals` of the scanner that scans"
            )


def _ends(rows: Rows) -> tuple[int, int]:
    """Return the lowest and the highest row."""
    if len(rows) == 0:
        return 0, -1
    if isinstance(rows, range):
        return min(rows[0], rows[-1]), max(rows[0], rows[-1])
    return int(rows.min()), int(rows.max())


def _plain(level: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a level as kernels are compiled for: contiguous, and such as might be written to."""
    flags = level.flags
    return level if flags.c_contiguous and flags.writeable else np.require(level, np.uint8, ["C", "W"])


def evaluate_windows(
    cascade: Cascade, windows: NDArray[np.uint8], n_threads: int | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Run a cascade on window-sized crops.

    Parameters
    ----------
    cascade : Cascade
        May have no stages.
    windows : ndarray of shape (n, h, w), dtype uint8
        Grey crops of the cascade's window size.
    n_threads : int, optional
        All processors if not given. Results do not depend on it.

    Returns
    -------
    n_passed : ndarray of shape (n,), dtype int32
        Stages passed; -1 for a window below the contrast floor, which no cascade accepts.
    sums : ndarray of shape (n,), dtype float64
        Sum of the last stage that was evaluated; 0 if there was none.

    Raises
    ------
    ValueError
        If the crops have another shape or dtype, or `n_threads` is below 1.

    Examples
    --------
    >>> flat = np.full((1, 24, 24), 128, np.uint8)
    >>> evaluate_windows(Cascade(Size(24, 24)), flat)[0].tolist()
    [-1]
    """
    width, height = cascade.window
    if windows.ndim != 3 or windows.shape[1:] != (height, width) or windows.dtype != np.uint8:
        raise ValueError(
            f"windows of shape {windows.shape} and dtype {windows.dtype} do not fit: "
            f"(n, {height}, {width}) uint8 expected"
        )
    compiled = CompiledModel(cascade)
    planes_shape = (1 + compiled.tilted, height + 1, width + 1)
    norm_rect, model = compiled.for_layout(Layout(width + 1, (height + 1) * (width + 1)))
    n_passed, sums = np.empty(len(windows), np.int32), np.empty(len(windows), np.float64)

    def evaluate(block: slice) -> None:
        planes = np.empty(planes_shape, np.int32)
        crops = np.require(windows[block], np.uint8, ["C", "W"])
        evaluate_crops(crops, planes, norm_rect, model, n_passed[block], sums[block])

    run_all(evaluate, blocks(len(windows), CROPS_PER_TASK), checked_threads(n_threads))
    return n_passed, sums
