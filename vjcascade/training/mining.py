"""Mining: collect background windows that the cascade so far wrongly accepts.

The rows of every level image are dealt out to 64 combs: row y belongs to comb y modulo 64. A sweep goes once over the
photos, in random order, and scans the rows of some combs; the next sweep takes others. So windows come from all
photos while many pass, every window is scanned when few do, and none is looked at twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.scales import scan_levels
from vjcascade.detection.scanner import Scanner
from vjcascade.imaging import resize_exact
from vjcascade.parallel import ordered_map
from vjcascade.training.events import Work
from vjcascade.types import Size

SCALE_FACTOR = 1.1
"""Ratio of neighbouring levels: that of a detection with default settings."""

N_COMBS = 64

EXPECTED_SURPLUS = 2.0
"""A sweep scans so many combs that it expects this multiple of the windows wanted."""


class Photos(Protocol):
    """Grey pictures without objects; `vjcascade.training.backgrounds.Backgrounds` is one."""

    @property
    def sizes(self) -> Sequence[Size]:
        """Size of each photo."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> NDArray[np.uint8]: ...


@dataclass(frozen=True, eq=False)
class Mined:
    """What mining found.

    Attributes
    ----------
    windows : ndarray of shape (n, h, w), dtype uint8
        Distinct windows that the cascade accepts, as it sees them in the level images.
    n_searched : int
        Windows looked at.
    n_accepted : int
        Those of them that the cascade accepts.
    exhausted : bool
        Whether every window of every photo was looked at; more can then not be found.
    """

    windows: NDArray[np.uint8]
    n_searched: int
    n_accepted: int
    exhausted: bool

    @property
    def pass_rate(self) -> float:
        """Share of the windows that the cascade accepts, in [0, 1]."""
        return self.n_accepted / max(self.n_searched, 1)


@dataclass(frozen=True, eq=False)
class _Yield:
    """What one photo gave in one sweep: distinct accepted windows in random order."""

    windows: NDArray[np.uint8]
    n_searched: int
    n_accepted: int


class _Collection:
    """Distinct windows up to a number wanted; what a photo gives beyond its share waits until the sweep is over."""

    def __init__(self, n_wanted: int, share: int) -> None:
        self._n_wanted = n_wanted
        self._share = share
        self._seen: set[bytes] = set()
        self._spare: list[NDArray[np.uint8]] = []
        self.windows: list[NDArray[np.uint8]] = []

    @property
    def n_missing(self) -> int:
        return self._n_wanted - len(self.windows)

    def add(self, windows: NDArray[np.uint8]) -> None:
        room = min(self._share, self.n_missing)
        for window in windows:
            key = window.tobytes()
            if key not in self._seen and (room > 0 or len(self._spare) < self._n_wanted):
                self._seen.add(key)
                (self.windows if room > 0 else self._spare).append(window)
                room -= 1

    def fill_up(self, rng: np.random.Generator) -> None:
        """Take windows beyond the photos' shares, at random, as far as windows are missing."""
        for i in rng.permutation(len(self._spare))[: self.n_missing]:
            self.windows.append(self._spare[i])
        self._spare.clear()


def count_windows(photos: Photos, window: Size) -> int:
    """Return how many windows mining could look at.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> count_windows(SimpleNamespace(sizes=[Size(26, 25)]), Size(24, 24))
    6
    """
    return sum(
        (level.size.width - window.width + 1) * (level.size.height - window.height + 1)
        for size in photos.sizes
        for level in scan_levels(size, window, SCALE_FACTOR)
    )


def mine_negatives(
    photos: Photos,
    cascade: Cascade,
    n_wanted: int,
    *,
    expected_pass_rate: float,
    max_windows: int,
    seed: Sequence[int],
    work: Work,
) -> Mined:
    """Collect windows that the cascade accepts.

    Parameters
    ----------
    photos : Photos
        Pictures without objects.
    cascade : Cascade
        Stages trained so far; without stages it accepts everything above the contrast floor.
    n_wanted : int
        Windows wanted, > 0.
    expected_pass_rate : float
        Share of windows that the cascade should accept, in (0, 1]; decides how densely photos are scanned first.
    max_windows : int
        Windows looked at, at most (the photo under way is finished).
    seed : sequence of int
        Chooses the order of photos, combs and windows; same seed, same windows, for any number of threads.
    work : Work
        Threads, and who hears of the progress.

    Returns
    -------
    Mined
        Fewer than `n_wanted` windows if all photos are exhausted or `max_windows` is reached.

    References
    ----------
    .. [1] Sung & Poggio, "Example-based learning for view-based human face detection", PAMI 20(1), 1998
           (bootstrapping). :doi:`10.1109/34.655648`
    """
    rng = np.random.default_rng(seed)
    scanner = Scanner(cascade)
    collection = _Collection(n_wanted, share=math.ceil(2 * n_wanted / max(len(photos), 1)))
    combs = rng.permutation(N_COMBS)
    n_total = count_windows(photos, cascade.window)
    n_searched, n_accepted = 0, 0
    pass_rate = expected_pass_rate
    while len(combs) and n_total and collection.n_missing > 0 and n_searched < max_windows:
        per_comb = max(pass_rate * n_total / N_COMBS, 1e-9)
        n_now = min(math.ceil(EXPECTED_SURPLUS * collection.n_missing / per_comb), len(combs))
        now, combs = combs[:n_now], combs[n_now:]
        sweep_seed = [*seed, len(combs)]
        order = rng.permutation(len(photos)).tolist()
        scan = partial(_scan_photo, photos, scanner, now, n_wanted, sweep_seed)
        for found in ordered_map(scan, order, work.n_threads):
            collection.add(found.windows)
            n_searched += found.n_searched
            n_accepted += found.n_accepted
            detail = f"{len(collection.windows)} of {n_wanted} found in {n_searched:,} windows"
            work.progress(len(collection.windows), n_wanted, detail)
            if collection.n_missing == 0 or n_searched >= max_windows:
                break
        collection.fill_up(rng)
        pass_rate = max(n_accepted, 1) / max(n_searched, 1)
    height_width = cascade.window[::-1]
    return Mined(
        np.array(collection.windows, np.uint8).reshape(-1, *height_width),
        n_searched,
        n_accepted,
        exhausted=n_searched == n_total,
    )


def _scan_photo(
    photos: Photos,
    scanner: Scanner,
    combs: NDArray[np.intp],
    n_wanted: int,
    seed: Sequence[int],
    index: int,
) -> _Yield:
    """Scan some rows of all levels of one photo."""
    gray, window = photos[index], scanner.cascade.window
    rng = np.random.default_rng([*seed, index])
    size = Size(gray.shape[1], gray.shape[0])
    levels = [resize_exact(gray, level.size) for level in scan_levels(size, window, SCALE_FACTOR)]
    places = []  # (level, x, y) of accepted windows
    n_searched = 0
    for i, level in enumerate(levels):
        every_row = np.arange(level.shape[0] - window.height + 1)
        hits = scanner.scan_rows(scanner.integrals(level), every_row[np.isin(every_row % N_COMBS, combs)])
        places.append(np.column_stack([np.full(len(hits), i, np.int32), hits.positions]))
        n_searched += hits.n_windows
    accepted = np.concatenate(places) if places else np.empty((0, 3), np.int32)
    chosen: dict[bytes, NDArray[np.uint8]] = {}
    for place in rng.permutation(len(accepted)):
        if len(chosen) == n_wanted:
            break
        i, x, y = accepted[place]
        found = levels[i][y : y + window.height, x : x + window.width]
        chosen.setdefault(found.tobytes(), found)
    windows = np.array(list(chosen.values()), np.uint8).reshape(-1, window.height, window.width)
    return _Yield(windows, n_searched, len(accepted))
