"""Scan level images with a cascade: the engine under detection and mining."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.flat import FlatModel, Layout
from vjcascade.kernels.integral import deinterleave, fill_integrals, fill_tilted
from vjcascade.kernels.lanes import LANES
from vjcascade.kernels.scan import evaluate_crops, scan_grid
from vjcascade.parallel import blocks, checked_threads, run_all
from vjcascade.types import Size

CROPS_PER_TASK = 512


@dataclass(frozen=True, eq=False)
class LevelIntegrals:
    """The integral images of one level image.

    Attributes
    ----------
    size : Size
        Size of the level image, in pixels.
    planes : ndarray of shape (n,), dtype int32
        Integral image (height + 1, width + 1) and, if the cascade has tilted features, tilted integral
        image, row after row, and `LANES` unused items, because the scan reads whole blocks of windows.
    squared : ndarray of shape (n,), dtype uint32
        Squared integral image, modulo 2**32, in the same way.
    """

    size: Size
    planes: NDArray[np.int32]
    squared: NDArray[np.uint32]

    def by_phase(self, step: int) -> tuple[NDArray[np.int32], NDArray[np.uint32], int]:
        """Return planes and squared with every `step`-th column side by side, and their new row stride."""
        if step == 1:
            return self.planes, self.squared, self.size.width + 1
        rows, columns = self.size.height + 1, self.size.width + 1
        stride = -(-columns // step) * step
        n_rows = len(self.planes) // columns // rows * rows
        planes, squared = (
            np.zeros(n_rows * stride + LANES, np.int32),
            np.zeros(rows * stride + LANES, np.uint32),
        )
        deinterleave(self.planes[: n_rows * columns].reshape(n_rows, columns), step, planes)
        deinterleave(self.squared[: rows * columns].reshape(rows, columns), step, squared)
        return planes, squared, stride


@dataclass(frozen=True, eq=False)
class Hits:
    """The windows of one level image that passed every stage.

    Attributes
    ----------
    positions : ndarray of shape (n, 2), dtype int32
        `x, y` of the windows' top left corners in level pixels, row after row.
    sums : ndarray of shape (n,), dtype float64
        The last stage's sum of leaf values; 0 for a cascade without stages.
    n_windows : int
        How many windows were looked at.
    """

    positions: NDArray[np.int32]
    sums: NDArray[np.float64]
    n_windows: int

    def __len__(self) -> int:
        return len(self.sums)


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
        self._flat = FlatModel(cascade)

    def integrals(self, level: NDArray[np.uint8]) -> LevelIntegrals:
        """Compute what a scan needs.

        Parameters
        ----------
        level : ndarray of shape (h, w), dtype uint8
            Level image, grey.

        Returns
        -------
        LevelIntegrals
            For this scanner, or another one that needs no more.

        Raises
        ------
        ValueError
            If `level` has another shape or dtype.
        """
        if level.ndim != 2 or level.dtype != np.uint8:
            raise ValueError(
                f"a level of shape {level.shape} and dtype {level.dtype} does not fit: (h, w) uint8 expected; "
                "`vjcascade.imaging.to_gray` brings pictures there"
            )
        level = np.require(level, np.uint8, ["C", "W"])  # kernels are compiled for such arrays only
        height, width = level.shape
        n_planes, plane = 1 + self._flat.tilted, (height + 1) * (width + 1)
        flat = np.zeros(n_planes * plane + LANES, np.int32)
        flat_squared = np.zeros(plane + LANES, np.uint32)
        planes = flat[: n_planes * plane].reshape(n_planes, height + 1, width + 1)
        fill_integrals(level, planes[0], flat_squared[:plane].reshape(height + 1, width + 1))
        if self._flat.tilted:
            fill_tilted(level, planes[1])
        return LevelIntegrals(Size(width, height), flat, flat_squared)

    def scan_opencv(self, integrals: LevelIntegrals, step: int, n_stripes: int) -> Hits:
        """Scan as OpenCV does.

        Windows to the right of one that stage 0 rejects are skipped, and up to a step of rows at the
        bottom is not visited where OpenCV's stripes leave it out.

        Parameters
        ----------
        integrals : LevelIntegrals
            From `integrals`.
        step : int
            Distance of windows in both directions, in level pixels.
        n_stripes : int
            Into how many stripes OpenCV would cut the rows.

        Returns
        -------
        Hits
            The windows that pass, row after row.

        Raises
        ------
        ValueError
            If this cascade needs a tilted integral image and there is none.
        """
        n_rows = integrals.size.height - self.cascade.window.height + 1
        stripe = max((n_rows // step + n_stripes - 1) // n_stripes, 1) * step
        return self._scan(integrals, np.arange(0, min(stripe * n_stripes, n_rows), step), step, skip=True)

    def scan_rows(self, integrals: LevelIntegrals, rows: NDArray[np.intp] | None = None) -> Hits:
        """Look at every window of some rows; no skipping.

        Parameters
        ----------
        integrals : LevelIntegrals
            From `integrals`.
        rows : ndarray of shape (n,), dtype intp, optional
            `y` of the windows, in level pixels, ascending; all rows if not given.

        Returns
        -------
        Hits
            The windows that pass, row after row.

        Raises
        ------
        ValueError
            If a row lies outside, or this cascade needs a tilted integral image and there is none.
        """
        every_row = np.arange(integrals.size.height - self.cascade.window.height + 1)
        rows = every_row if rows is None else rows
        if not np.isin(rows, every_row).all():
            raise ValueError(f"rows {rows} are not all in [0, {len(every_row)})")
        return self._scan(integrals, rows, 1, skip=False)

    def _scan(self, integrals: LevelIntegrals, rows: NDArray[np.intp], step: int, *, skip: bool) -> Hits:
        window, size = self.cascade.window, integrals.size
        if len(integrals.planes) < (1 + self._flat.tilted) * (size.height + 1) * (size.width + 1) + LANES:
            raise ValueError(
                "this cascade has tilted features and these integral images are upright only; "
                "make them with the `integrals` of the scanner that scans"
            )
        n_columns = -(-(size.width - window.width + 1) // step)
        if n_columns < 1 or len(rows) == 0:
            return Hits(np.empty((0, 2), np.int32), np.empty(0), 0)
        planes, squared, stride = integrals.by_phase(step)
        inset, model = self._flat.place(Layout(stride, (size.height + 1) * stride, step))
        area = (window.width - 2) * (window.height - 2)
        grid = np.array([n_columns, step, skip, stride, area], np.int64)
        return Hits(*scan_grid(planes, squared, rows.astype(np.int64), grid, inset, model))


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
    flat = FlatModel(cascade)
    planes_shape = (1 + flat.tilted, height + 1, width + 1)
    inset, model = flat.place(Layout(width + 1, (height + 1) * (width + 1)))
    n_passed, sums = np.empty(len(windows), np.int32), np.empty(len(windows), np.float64)

    def evaluate(block: slice) -> None:
        planes = np.empty(planes_shape, np.int32)
        crops = np.require(windows[block], np.uint8, ["C", "W"])
        evaluate_crops(crops, planes, inset, model, n_passed[block], sums[block])

    run_all(evaluate, blocks(len(windows), CROPS_PER_TASK), checked_threads(n_threads))
    return n_passed, sums
