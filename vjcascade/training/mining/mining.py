"""Hard-negative mining: collect background windows that the cascade so far wrongly accepts.

A sweep goes over the photos once, in random order, and looks at the same share of each; the pass rate so far says how
large a share is needed. The next sweep looks at other windows, until enough are found or none is left. The rules:

* While many windows pass, a photo gives at most twice its equal share of the windows wanted. What it has beyond that
  waits until the sweep ends, and is taken, photo by photo in turn, if the others had too few.
* Within a photo, the levels give windows in turn, so that every size of object counts the same. In proportion to
  their numbers, three in four windows would be of the smallest objects, below twice the window; a detector, which
  looks at every second row and column there, meets two in five. (Five stages on 2,000 faces, five seeds: 4 % fewer
  false alarms of all sizes than in proportion, 9 % fewer among those of eight times the window and more; seeds differ
  by more than that.)
* When few windows pass, all are taken, from whatever photo and level.
* No window is looked at twice, and of identical windows one is taken.
* Windows that overlap boxes to be ignored count as looked at, but not as accepted.
"""

from __future__ import annotations

import math
import pickle
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.clusters import Cluster
from vjcascade.detection.scales import Level
from vjcascade.detection.scanner import Scanner
from vjcascade.parallel import ordered_map
from vjcascade.training.data.backgrounds import BackgroundImage
from vjcascade.training.events import ProgressReporter
from vjcascade.training.mining.collector import Collector, MiningEta
from vjcascade.training.mining.far_scan import FarScan, ScanTask, scan_far
from vjcascade.training.mining.photo_scan import PhotoScan
from vjcascade.training.mining.row_sampling import RowSampler, truncate_rows
from vjcascade.types import Size

SURPLUS = 1.25
"""A sweep looks at so much that it expects this multiple of the windows wanted."""

SURPLUS_FOR_HARDEST = 5.0
"""The same where the hardest of them are chosen."""

LEAST_SWEEP = 0.01
"""Share of all windows that a sweep after the first takes, at least."""


class Photos(Protocol):
    """Grey pictures; `vjcascade.training.data.backgrounds.BackgroundImages` is one."""

    @property
    def sizes(self) -> Sequence[Size]:
        """Size of each photo."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> NDArray[np.uint8]: ...

    def ignored(self, index: int, /) -> NDArray[np.int32]:
        """Return the boxes of the objects in a photo, shape (n, 4): `x, y, w, h` in its pixels, sides > 0."""

    def as_sent(self, index: int, /) -> BackgroundImage:
        """Return a photo as it is sent to the workers of a cluster."""


@dataclass(frozen=True)
class MiningPlan:
    """How the photos are searched.

    Attributes
    ----------
    expected_pass_rate : float
        Share of windows that the cascade should accept, in (0, 1]; decides how many the first sweep looks at.
    max_windows : int
        Windows looked at, at most: what is left when no further row of the photo under way fits is not looked at.
    seed : sequence of int
        Chooses the order of photos and windows; same seed, same windows, for any number of threads.
    hardest : bool
        Prefer, of the windows that a sweep accepts, those with the highest sums of the last stage. A sweep then looks
        at more and always goes over all photos; the rule for the share of a photo stays.
    """

    expected_pass_rate: float
    max_windows: int
    seed: Sequence[int]
    hardest: bool = False


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
        Those of them that the cascade accepts, copies and known ones too, but not those at ignored boxes.
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


def count_windows(photos: Photos, window: Size) -> int:
    """Return how many windows mining could look at.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> count_windows(SimpleNamespace(sizes=[Size(26, 25)]), Size(24, 24))
    6
    """
    return sum(sampler.n_windows for sampler in _samplers(photos, window))


def mine_negatives(  # noqa: PLR0913  what is searched, for what, and how
    photos: Photos,
    cascade: Cascade,
    n_wanted: int,
    plan: MiningPlan,
    *,
    known: NDArray[np.uint8] | Sequence[NDArray[np.uint8]] = (),
    n_threads: int,
    progress: ProgressReporter,
    cluster: Cluster | None = None,
) -> Mined:
    """Collect windows that the cascade accepts.

    The cost is that of scanning: 30 to 40 ns of processor time for each window looked at, a microsecond more for each
    one taken. A sweep that looks at little of each photo takes a millisecond or two a photo. Photos that are not in
    memory are read and decoded in the threads, in every sweep, and up to twice as many ahead as there are threads.

    Parameters
    ----------
    photos : Photos
        Pictures without objects, or with boxes around them to ignore.
    cascade : Cascade
        Stages trained so far; without stages it accepts everything, with Haar features above the contrast floor.
    n_wanted : int
        Windows wanted, > 0.
    plan : MiningPlan
        How they are searched.
    known : ndarray of shape (n, h, w), dtype uint8, optional
        Windows that the caller has already: they are not returned.
    n_threads : int
        Threads; the result does not depend on it.
    progress : ProgressReporter
        Who hears how far it is.
    cluster : Cluster, optional
        Whose workers scan the photos, in place of threads; the result does not depend on it.

    Returns
    -------
    Mined
        Fewer than `n_wanted` windows if all photos are exhausted or `max_windows` is reached.

    References
    ----------
    .. [1] Sung & Poggio, "Example-based learning for view-based human face detection", PAMI 20(1), 1998
           (bootstrapping). :doi:`10.1109/34.655648`

    Examples
    --------
    >>> from vjcascade.imaging import write_image
    >>> from vjcascade.training.data.backgrounds import open_background_images
    >>> write_image("noise.png", np.random.default_rng(0).integers(0, 256, (30, 40), np.uint8))
    >>> photos = open_background_images(".", Size(24, 24))
    >>> plan = MiningPlan(expected_pass_rate=1.0, max_windows=1000, seed=[1])
    >>> options = {"n_threads": 1, "progress": ProgressReporter("mining")}
    >>> mine_negatives(photos, Cascade(Size(24, 24)), 3, plan, **options).windows.shape
    (3, 24, 24)
    """
    shape = (0, cascade.window.height, cascade.window.width)
    old = np.asarray(known, np.uint8).reshape(-1, *shape[1:])
    share = math.ceil(2 * n_wanted / max(len(photos), 1))
    collector = Collector(n_wanted, share, old, hardest=plan.hardest)
    search = _Search(photos, Scanner(cascade), list(plan.seed), hardest=plan.hardest)
    eta = MiningEta(progress, n_wanted, min(search.n_windows, plan.max_windows))
    rng, end = np.random.default_rng(plan.seed), 0.0
    pass_rate = max(
        plan.expected_pass_rate - len(old) / max(search.n_windows, 1), 1e-12
    )  # of windows not known
    while end < 1 and search.n_windows and collector.n_missing > 0 and not search.is_bounded:
        n_now = (SURPLUS_FOR_HARDEST if plan.hardest else SURPLUS) * collector.n_missing / pass_rate
        begin, end = end, min(end + max(n_now / search.n_windows, LEAST_SWEEP if end else 0), 1.0)
        eta.sweep_end = min(round(end * search.n_windows), plan.max_windows)
        shares = begin, end
        scans: Iterator[PhotoScan | FarScan] = (
            search.sweep(rng, shares, plan.max_windows, n_threads)
            if cluster is None
            else search.far_sweep(rng, shares, plan.max_windows, cluster, collector)
        )
        for found in scans:
            collector.add(found)
            eta.tell(collector, search.n_searched, search.pass_rate)
            if collector.is_complete:
                break
        collector.settle(rng)
        pass_rate = max(collector.n_found, 1) / max(search.n_searched, 1)
    eta.tell(collector, search.n_searched, search.pass_rate, ended=True)
    exhausted = search.n_searched == search.n_windows
    return Mined(collector.windows, search.n_searched, search.n_accepted, exhausted)


class _Task(NamedTuple):
    """What is to be looked at in one photo."""

    photo: int
    levels: list[Level]
    sweep: int


class _Search:
    """Look at the photos in sweeps.

    Attributes
    ----------
    n_windows : int
        Windows of all photos.
    n_searched, n_accepted : int
        Windows looked at so far, and those of them that are accepted.
    is_bounded : bool
        Whether a sweep had to stop at the greatest number of windows.
    """

    def __init__(self, photos: Photos, scanner: Scanner, seed: list[int], *, hardest: bool) -> None:
        self._photos, self._scanner, self._seed, self._hardest = photos, scanner, seed, hardest
        self._samplers = _samplers(photos, scanner.cascade.window)
        self._n_sweeps = 0
        self.n_windows = sum(sampler.n_windows for sampler in self._samplers)
        self.n_searched = self.n_accepted = 0
        self.is_bounded = False

    @property
    def pass_rate(self) -> float:
        return self.n_accepted / max(self.n_searched, 1)

    def sweep(
        self,
        rng: np.random.Generator,
        shares: tuple[float, float],
        max_windows: int,
        n_threads: int,
    ) -> Iterator[PhotoScan]:
        """Yield what the photos give, in random order, from one share of their parts up to another."""
        for found in ordered_map(self._scan, self._tasks(rng, shares, max_windows), n_threads):
            self.n_searched += found.n_searched
            self.n_accepted += found.n_accepted
            yield found

    def far_sweep(
        self,
        rng: np.random.Generator,
        shares: tuple[float, float],
        max_windows: int,
        cluster: Cluster,
        collector: Collector,
    ) -> Iterator[PhotoScan | FarScan]:
        """Yield what `sweep` does, scanned by a cluster. A photo that a worker cannot read is scanned here."""
        tasks: deque[_Task] = deque()

        def sent() -> Iterator[ScanTask]:
            for task in self._tasks(rng, shares, max_windows):
                tasks.append(task)
                yield ScanTask(
                    self._photos.as_sent(task.photo),
                    self._photos.ignored(task.photo),
                    task.levels,
                    self._seed_of(task),
                    self._hardest,
                    collector.n_of_interest,
                )

        for packed in cluster.ordered_map(scan_far, pickle.dumps(self._scanner.cascade), sent()):
            scan_here = partial(self._scan, tasks.popleft())
            found: PhotoScan | FarScan = (
                scan_here() if isinstance(packed, str) else FarScan(packed, scan_here)
            )
            self.n_searched += found.n_searched
            self.n_accepted += found.n_accepted
            yield found

    def _scan(self, task: _Task) -> PhotoScan:
        found = PhotoScan(
            self._photos[task.photo], self._photos.ignored(task.photo), task.levels, self._scanner
        )
        found.shuffle(np.random.default_rng(self._seed_of(task)), hardest=self._hardest)
        return found

    def _seed_of(self, task: _Task) -> list[int]:
        return [*self._seed, task.photo, task.sweep]

    def _tasks(
        self, rng: np.random.Generator, shares: tuple[float, float], max_windows: int
    ) -> Iterator[_Task]:
        """Begin a sweep: yield the photos' parts, up to the greatest number of windows."""
        self._n_sweeps += 1
        order = rng.permutation(len(self._samplers)).tolist()
        left = max_windows - self.n_searched
        for index in order:
            levels = self._samplers[index].sample(np.random.default_rng([*self._seed, index, 0]), *shares)
            n_windows = sum(level.n_windows for level in levels)
            if n_windows > left:
                self.is_bounded = True
                levels = truncate_rows(levels, left)
            if levels:
                yield _Task(index, levels, self._n_sweeps)
            if self.is_bounded:
                return
            left -= n_windows


def _samplers(photos: Photos, window: Size) -> list[RowSampler]:
    """Return a sampler for each image, shared by those of one size."""
    samplers = {size: RowSampler(size, window) for size in set(photos.sizes)}
    return [samplers[size] for size in photos.sizes]
