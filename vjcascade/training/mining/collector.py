"""What mining has found so far, and how long the rest may take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.training.events import ProgressReporter
from vjcascade.training.mining.far_scan import FarScan
from vjcascade.training.mining.photo_scan import PhotoScan
from vjcascade.training.mining.window_hash import window_hashes

ETA_AFTER = 2.0
"""Seconds after which it can be told how long mining will take."""


class Collector:
    """Distinct windows up to a number wanted, the same from every photo as far as there are so many.

    In a sweep, the first window of each photo is its window of rank 0, the next one of rank 1, and so on. Those of
    ranks below a photo's share complete the collector. Of the others, as many are kept as are missing, those of the
    lowest ranks; they are taken if the sweep ends and windows are missing.

    Parameters
    ----------
    n_wanted : int
        Windows wanted.
    share : int
        Windows that a photo may give in a sweep before others are asked.
    known : ndarray of shape (n, h, w), dtype uint8
        Windows that are not wanted.
    hardest : bool
        Whether those with the highest sums are preferred.

    Attributes
    ----------
    windows : ndarray of shape (n, h, w), dtype uint8
        Those of the sweeps that are over.
    """

    def __init__(self, n_wanted: int, share: int, known: NDArray[np.uint8], *, hardest: bool) -> None:
        self._n_wanted, self._share, self._hardest = n_wanted, share, hardest
        self._digests = set(window_hashes(known).tolist())
        self.windows = known[:0]
        self._begin()

    def _begin(self) -> None:
        """Begin a sweep."""
        self._blocks: list[_Block] = []
        self._n_waiting = self._n_within = 0
        self._depth = self.n_missing  # windows of higher ranks are not wanted

    @property
    def n_missing(self) -> int:
        """Windows wanted beyond those of the sweeps that are over."""
        return self._n_wanted - len(self.windows)

    @property
    def n_found(self) -> int:
        """Windows so far, those beyond the photos' shares not counted; no more than are wanted."""
        return min(len(self.windows) + self._n_within, self._n_wanted)

    @property
    def n_at_hand(self) -> int:
        """Windows that there would be if the sweep ended now."""
        return min(len(self.windows) + self._n_waiting, self._n_wanted)

    @property
    def n_of_interest(self) -> int:
        """Windows that a photo may be asked for at most, now and later in the sweep."""
        return max(self._share, self._depth)

    @property
    def is_complete(self) -> bool:
        """Whether there is no use for more photos in this sweep."""
        return not self._hardest and self._n_within >= self.n_missing

    def add(self, photo: PhotoScan | FarScan) -> None:
        """Take what there is use for from a photo."""
        windows, sums = photo.take(self.n_of_interest, self._digests)
        self._blocks.append(_Block(windows, sums, np.arange(len(sums))))
        self._n_waiting += len(sums)
        self._n_within += min(len(sums), self._share)
        n_useful = max(self._n_within, self.n_missing)
        if self._n_waiting > 2 * n_useful:
            block = _joined(self._blocks)
            kept = np.sort(np.argsort(block.ranks, kind="stable")[:n_useful])
            self._blocks = [_Block(block.windows[kept], block.sums[kept], block.ranks[kept])]
            self._n_waiting, self._depth = n_useful, int(block.ranks[kept].max())

    def settle(self, rng: np.random.Generator) -> None:
        """End a sweep: take the windows of the lowest ranks, or the hardest, as far as windows are missing."""
        if self._blocks:
            block = _joined(self._blocks)
            order = rng.permutation(len(block.sums))
            if self._hardest:
                order = order[np.lexsort((-block.sums[order], block.ranks[order] >= self._share))]
            else:
                order = order[np.argsort(block.ranks[order], kind="stable")]
            self.windows = np.concatenate([self.windows, block.windows[order[: self.n_missing]]])
        self._begin()


class _Block(NamedTuple):
    """Windows that wait for the end of a sweep."""

    windows: NDArray[np.uint8]
    sums: NDArray[np.float64]
    ranks: NDArray[np.intp]


def _joined(blocks: Sequence[_Block]) -> _Block:
    windows, sums, ranks = zip(*blocks, strict=True)
    return _Block(np.concatenate(windows), np.concatenate(sums), np.concatenate(ranks))


class MiningEta:
    """Report how far mining is, and estimate the rest from the pass rate so far.

    Parameters
    ----------
    progress : ProgressReporter
        Who hears of it.
    n_wanted : int
        Windows wanted.
    max_windows : int
        Windows that can be looked at.

    Attributes
    ----------
    sweep_end : int
        Windows that will have been looked at when the sweep is over.
    """

    def __init__(self, progress: ProgressReporter, n_wanted: int, max_windows: int) -> None:
        self._progress, self._n_wanted, self._max_windows = progress, n_wanted, max_windows
        self._began = time.monotonic()
        self.sweep_end = max_windows

    def tell(self, collector: Collector, n_searched: int, pass_rate: float, *, ended: bool = False) -> None:
        """Report; while mining goes on, with how long it will take and, if too few will be found, how many.

        Parameters
        ----------
        collector : Collector
            Windows so far.
        n_searched : int
            Windows looked at.
        pass_rate : float
            Share of them that pass.
        ended : bool
            Whether mining is over.
        """
        detail = f"{collector.n_found} of {self._n_wanted} found in {n_searched:,} windows"
        seconds = time.monotonic() - self._began
        if not ended and n_searched and seconds > ETA_AFTER:
            detail += self.eta((collector.n_found, collector.n_at_hand), n_searched, seconds)
        self._progress.report(collector.n_found, self._n_wanted, detail, pass_rate)

    def eta(self, found: tuple[int, int], n_searched: int, seconds: float) -> str:
        """Say what is to be expected.

        Parameters
        ----------
        found : tuple of int
            Windows so far, without those beyond the photos' shares and with them.
        n_searched : int
            Windows looked at, > 0.
        seconds : float
            How long it took.

        Returns
        -------
        str
            To follow another sentence; time by the clock.

        Examples
        --------
        >>> eta = MiningEta(ProgressReporter("mining"), 1000, 10**8)
        >>> eta.eta((100, 120), 10**6, 2.0), eta.eta((9, 10), 10**6, 2.0)
        (', about 18 s more', ', about 3 min more')
        >>> eta.eta((1, 1), 10**6, 2.0)
        ', about 3 min more for about 100 that can be found'
        """
        n_found, n_at_hand = found
        is_enough = n_at_hand * self.sweep_end >= self._n_wanted * n_searched  # when this sweep is over
        end = self.sweep_end if is_enough else self._max_windows
        needed = self._n_wanted * n_searched / n_found if n_found else float("inf")
        more = _roughly((min(needed, max(end, n_searched)) / n_searched - 1) * seconds)
        n_expected = round(n_at_hand * max(end, n_searched) / n_searched)
        if needed <= end or n_expected >= self._n_wanted:
            return f", about {more} more"
        return f", about {more} more for about {n_expected} that can be found"


def _roughly(seconds: float) -> str:
    """Return a time in two digits or so."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
