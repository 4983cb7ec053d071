"""Where a stage keeps its features: in memory as far as they fit, else on disk."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from vjcascade.buffers import ReusableBuffer
from vjcascade.errors import SettingsError
from vjcascade.files import nearest_folder
from vjcascade.kernels.haar import N_BINS
from vjcascade.messages import memory_size
from vjcascade.types import Size

BYTES_A_FEATURE = 400
"""What a feature takes besides bins and histogram: rectangles, corners, bounds, and copies while the pool is made."""

BYTES_A_CORNER, BYTES_A_PIXEL = 4, 3
"""Integral images are kept for a stage; of the windows there are copies."""

BYTES_A_BIN = 8
"""Of a histogram: both parts."""

WORKING_MEMORY = 2**26
"""What each thread takes for a part of the pool, at most."""


@dataclass(frozen=True, eq=False)
class MemoryPlan:
    """Where the stages of a run keep their features, one after the other.

    Attributes
    ----------
    bins, histograms : ReusableBuffer
        In memory, or on disk.
    free : int
        Bytes that are left.
    """

    bins: ReusableBuffer = field(default_factory=ReusableBuffer)
    histograms: ReusableBuffer = field(default_factory=ReusableBuffer)
    free: int = 0

    def threads_that_search(self, photo_memory: int, n_threads: int) -> int:
        """Return in how many threads photos can be searched, if searching one takes so many bytes.

        Examples
        --------
        >>> MemoryPlan(free=2500).threads_that_search(1000, 8)
        3
        """
        return min(n_threads, 1 + self.free // max(photo_memory, 1))


@dataclass(frozen=True)
class MemoryEstimate:
    """What a stage takes, in bytes.

    Attributes
    ----------
    bins : int
        A byte for each feature and window.
    histograms : int
        Of all features.
    rest : int
        What must lie in memory.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> estimate = MemoryEstimate.of(Size(24, 24), 162_336, 10_000)
    >>> estimate.bins, estimate.histograms
    (1623360000, 332464128)
    """

    bins: int
    histograms: int
    rest: int

    @classmethod
    def of(
        cls,
        window: Size,
        n_features: int,
        n_windows: int,
        *,
        tilted: bool = False,
        photo_memory: int = 0,
        n_threads: int = 1,
    ) -> MemoryEstimate:
        """Estimate what a stage takes.

        Parameters
        ----------
        window : Size
            Training window.
        n_features : int
            Features in the pool.
        n_windows : int
            Windows to train on and to measure with.
        tilted : bool
            Whether there are tilted features.
        photo_memory : int
            Bytes that searching a photo takes, at most.
        n_threads : int
            Threads.

        Returns
        -------
        MemoryEstimate
            In bytes.
        """
        corners = (window.width + 1) * (window.height + 1) * (2 if tilted else 1)
        a_window = BYTES_A_CORNER * corners + BYTES_A_PIXEL * window.width * window.height
        return cls(
            n_features * n_windows,
            n_features * N_BINS * BYTES_A_BIN,
            n_features * BYTES_A_FEATURE
            + n_windows * a_window
            + max(n_threads * WORKING_MEMORY, photo_memory),
        )

    def without_features(self) -> MemoryEstimate:
        """Return what the stage takes where others keep bins and histograms."""
        return MemoryEstimate(0, 0, self.rest)

    def plan(self, memory: int, folder: Path, taken: int = 0) -> MemoryPlan:
        """Say where to keep what, so that a stage fits into memory.

        Parameters
        ----------
        memory : int
            Bytes that the process may take.
        folder : Path
            Where there may be files; need not be made yet.
        taken : int
            Bytes that it takes already.

        Returns
        -------
        MemoryPlan
            Bins on disk if need be, and if that is not enough, histograms as well.

        Raises
        ------
        SettingsError
            If even then it does not fit, or the disk has no room.
        """
        left = memory - taken
        if (free := left - self.rest - self.histograms - self.bins) >= 0:
            return MemoryPlan(free=free)
        if (free := left - self.rest - self.histograms) >= 0:
            return MemoryPlan(bins=ReusableBuffer(_with_space(folder, self.bins)), free=free)
        if (free := left - self.rest) >= 0:
            folder = _with_space(folder, self.bins + self.histograms)
            return MemoryPlan(bins=ReusableBuffer(folder), histograms=ReusableBuffer(folder), free=free)
        raise SettingsError(
            f"the windows of a stage and its features need {memory_size(self.rest)} of memory, even with all "
            f"features on disk; program and pictures take {memory_size(taken)} of the {memory_size(memory)} allowed. "
            "Allow more memory, or use a smaller window (24x24 is usual), fewer windows "
            "(max_samples), smaller photos or fewer threads"
        )


def _with_space(folder: Path, n_bytes: int) -> Path:
    """Return the nearest folder that is there, if its disk has so much room."""
    nearest = nearest_folder(folder)
    free = shutil.disk_usage(nearest).free
    if free < n_bytes:
        raise SettingsError(
            f"the features of a stage do not fit into memory; on disk they need {memory_size(n_bytes)}, but {nearest} "
            f"has {memory_size(free)} left. Free some space, or take fewer windows (max_samples) or a smaller window"
        )
    return nearest
