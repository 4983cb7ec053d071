"""Scans of photos that a cluster makes: what is sent to a worker, and what comes back of it."""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.scales import Level
from vjcascade.detection.scanner import Scanner
from vjcascade.errors import CascadeError
from vjcascade.training.data.backgrounds import BackgroundImage
from vjcascade.training.mining.photo_scan import PhotoScan
from vjcascade.training.mining.window_hash import window_hashes

BYTES_KEPT = 2**29
"""Pixels of photos that a worker keeps, at most."""

SPARE = 32
"""So many windows are sent beyond those that may be wanted: some may be known already."""


@dataclass(frozen=True)
class ScanTask:
    """What a worker is to look at in one photo.

    Attributes
    ----------
    photo : BackgroundImage
        Its pixels only if it has no file.
    ignored : ndarray of shape (m, 4), dtype int32
        Boxes of objects in it.
    levels : list of Level
        Which rows.
    seed : sequence of int
        Chooses the order of what is found.
    hardest : bool
        As for `PhotoScan.shuffle`.
    n_most : int
        Windows that may be wanted.
    """

    photo: BackgroundImage
    ignored: NDArray[np.int32]
    levels: list[Level]
    seed: Sequence[int]
    hardest: bool
    n_most: int


@dataclass(frozen=True, eq=False)
class PackedScan:
    """What a worker found in a photo.

    Attributes
    ----------
    n_searched, n_accepted : int
        As of `PhotoScan`.
    windows : ndarray of shape (n, h, w), dtype uint8
        The first of those that pass, no two alike.
    sums : ndarray of shape (n,), dtype float64
        Their sums of the last stage.
    is_all : bool
        Whether there are no others.
    """

    n_searched: int
    n_accepted: int
    windows: NDArray[np.uint8]
    sums: NDArray[np.float64]
    is_all: bool


class FarScan:
    """What a worker found in a photo, to take windows from as from a `PhotoScan`.

    Parameters
    ----------
    packed : PackedScan
        What came.
    scan_here : callable
        Returns the scan itself, for the rare case that more windows are wanted than came.

    Attributes
    ----------
    n_searched, n_accepted : int
        As of `PhotoScan`.
    """

    def __init__(self, packed: PackedScan, scan_here: Callable[[], PhotoScan]) -> None:
        self._packed, self._scan_here = packed, scan_here
        self.n_searched, self.n_accepted = packed.n_searched, packed.n_accepted

    def take(self, n_most: int, known: set[int]) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """Take the first of the accepted windows that are not known yet; see `PhotoScan.take`."""
        packed = self._packed
        digests = window_hashes(packed.windows).tolist()
        new = [i for i, digest in enumerate(digests) if digest not in known][:n_most]
        if len(new) < n_most and not packed.is_all:
            return self._scan_here().take(n_most, known)
        known.update(digests[i] for i in new)
        return packed.windows[new], packed.sums[new]


def scan_far(cascade: bytes, task: ScanTask) -> PackedScan | str:
    """Scan a photo on a worker.

    Parameters
    ----------
    cascade : bytes
        The pickled `Cascade`.
    task : ScanTask
        What to look at.

    Returns
    -------
    PackedScan or str
        What was found; or why this worker cannot read the photo.
    """
    try:
        gray = _kept.load(task.photo)
    except (CascadeError, OSError) as error:
        return str(error)
    scan = PhotoScan(gray, task.ignored, task.levels, _scanner(cascade))
    scan.shuffle(np.random.default_rng(task.seed), hardest=task.hardest)
    n_sent = task.n_most + task.n_most // 8 + SPARE
    windows, sums = scan.take(n_sent, set())
    return PackedScan(scan.n_searched, scan.n_accepted, windows, sums, len(windows) < n_sent)


class _KeptPhotos:
    """Photos that this worker has decoded: in the next sweep they are searched again."""

    def __init__(self) -> None:
        self._photos: OrderedDict[bytes, NDArray[np.uint8]] = OrderedDict()
        self._n_bytes = 0
        self._lock = threading.Lock()

    def load(self, photo: BackgroundImage) -> NDArray[np.uint8]:
        """Return the pixels of a photo."""
        with self._lock:
            if (gray := self._photos.get(photo.digest)) is not None:
                self._photos.move_to_end(photo.digest)
                return gray
        gray = photo.load()
        with self._lock:
            if photo.digest not in self._photos:
                self._photos[photo.digest] = gray
                self._n_bytes += gray.nbytes
            while self._n_bytes > BYTES_KEPT:
                self._n_bytes -= self._photos.popitem(last=False)[1].nbytes
        return gray


_kept = _KeptPhotos()


@lru_cache(maxsize=2)
def _scanner(cascade: bytes) -> Scanner:
    model: Cascade = pickle.loads(cascade)  # noqa: S301  from the program that gave this worker its work
    return Scanner(model)
