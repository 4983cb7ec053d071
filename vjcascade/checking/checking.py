"""Look at crops and photos before hours are spent on training with them: what ``vjcascade check`` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from vjcascade.cascade import checked_window
from vjcascade.checking import plain
from vjcascade.checking.alignment import Alignment
from vjcascade.checking.copies import NearCopies
from vjcascade.checking.descriptors import signatures
from vjcascade.checking.findings import Finding, Item, Level, Topic
from vjcascade.checking.in_negatives import (
    Find,
    PhotoView,
    objects_among,
    some_photos,
    train_quickly,
    view_photos,
    windows_at_random,
)
from vjcascade.checking.near_copies import connected, pairs_alike
from vjcascade.checking.odd_crops import MIN_CROPS, find_odd_crops
from vjcascade.checking.pictures import Pictures
from vjcascade.checking.reach import Reach
from vjcascade.messages import pluralize
from vjcascade.parallel import MemoryBudget, checked_memory, checked_threads
from vjcascade.training.data.backgrounds import BackgroundImages
from vjcascade.training.data.copies import CopyRule
from vjcascade.training.data.positives import Positives
from vjcascade.training.data.reading import Reader
from vjcascade.training.data.sources import Source, SourceReport
from vjcascade.training.data.training_data import held_out_photos, held_out_windows
from vjcascade.training.events import Event, Listener, Note, Progress, null_listener
from vjcascade.training.run import LEAST_TO_DECODE, PHOTOS_SHARE, refuse_one_for_both
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.usage import resident_memory
from vjcascade.types import Size

MOST_SEARCHED = 4000
"""Photos that are searched for objects at most; of more, as many at random."""

MIN_OTHERS = 100
"""With fewer, it is not known what is not the object."""


@dataclass(frozen=True, eq=False)
class DataCheck:
    """The result of checking a data set.

    Attributes
    ----------
    findings : tuple of Finding
        Warnings first, in the order of their topics.
    positives, negatives : SourceReport
        What training would use.
    sizes : tuple of Size
        Of the crops that can be used, in pixels of their pictures.
    photo_sizes : tuple of Size
        Of the photos.
    window : Size
        The training window.
    alignment : Alignment
        Mean of the crops, and how they lie beside it.
    reach : Reach
        For how many stages the photos have negatives.
    n_searched : int
        Photos that were searched for objects.
    not_done : tuple of str
        What could not be checked, and why, in sentences.
    label : str, optional
        The kind of object, where annotations have several.
    """

    findings: tuple[Finding, ...]
    positives: SourceReport
    negatives: SourceReport
    sizes: tuple[Size, ...]
    photo_sizes: tuple[Size, ...]
    window: Size
    alignment: Alignment
    reach: Reach
    n_searched: int
    not_done: tuple[str, ...]
    label: str | None = None

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings that need action."""
        return tuple(one for one in self.findings if one.level is Level.WARNING)


def check(  # noqa: PLR0913  as `vjcascade.train`, which it looks ahead to
    positives: Source,
    negatives: Source,
    settings: TrainingSettings | None = None,
    *,
    window: Size | tuple[int, int] | None = None,
    min_side: int | None = None,
    label: str | None = None,
    memory: int | str | None = None,
    n_threads: int | None = None,
    listener: Listener = null_listener,
) -> DataCheck:
    """Check crops and photos as training would read them.

    Parameters
    ----------
    positives, negatives : path or sequence of ndarray
        As for `vjcascade.train`.
    settings : TrainingSettings, optional
        Settings of the planned training, which decide what is held out and how many negatives stages need. The
        defaults if not given.
    window : Size or pair of int, optional
        Training window; chosen from the crops if not given.
    min_side : int, optional
        Crops whose shorter side has fewer pixels are not used.
    label : str, optional
        The kind of object, where annotations have several.
    memory : int or str, optional
        Bytes that photos and windows may take; see `vjcascade.parallel.checked_memory`.
    n_threads : int, optional
        Threads; all processors if not given. The findings do not depend on it.
    listener : Listener
        Gets progress; see `vjcascade.training.events`.

    Returns
    -------
    DataCheck
        What was seen.

    Raises
    ------
    SourceError
        If a source is not usable: there is no such folder, or too few pictures in it can be used.
    SettingsError
        If window, memory or threads cannot be used.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ramp = np.where(np.arange(16) < 8, 160, 90)
    >>> crops = [*rng.normal(ramp, 30, (60, 16, 16)).clip(0, 255).astype(np.uint8)]
    >>> crops[9] = crops[3].copy()  # a copy
    >>> photos = [rng.integers(0, 256, (60, 80), np.uint8) for _ in range(60)]
    >>> for finding in check(crops, photos, window=(16, 16)).warnings:
    ...     print(finding)
    1 of 60 positives is an exact copy of another
    59 positives are few
    60 negatives have windows for only a few stages
    """
    settings = settings or TrainingSettings()
    window = None if window is None else checked_window(window)
    n_threads, memory_limit = checked_threads(n_threads), checked_memory(memory)
    refuse_one_for_both(positives, [negatives])
    photos_limit = int(PHOTOS_SHARE * memory_limit)
    budget = MemoryBudget(max(memory_limit - photos_limit - (resident_memory() or 0), LEAST_TO_DECODE))
    reader = Reader(n_threads, False, _only_progress(listener), budget, label)
    crops = reader.positives(positives, window, min_side, CopyRule.of(settings))
    photos = reader.photos(negatives, crops, photos_limit)
    with threadpool_limits(
        1, "blas"
    ):  # its threads wait for ours, on busy processors 40 times as long as one takes
        found = _Check(crops, photos, settings, n_threads, listener).run()
    return replace(found, label=label)


def _only_progress(listener: Listener) -> Listener:
    """Leave out what readers say: findings say it."""

    def call(event: Event) -> None:
        if not isinstance(event, Note):
            listener(event)

    return call


class _Check:
    """One check of data that have been read."""

    def __init__(
        self,
        positives: Positives,
        photos: BackgroundImages,
        settings: TrainingSettings,
        n_threads: int,
        listener: Listener,
    ) -> None:
        self._positives, self._photos, self._settings = positives, photos, settings
        self._n_threads, self._listener = n_threads, listener
        self._crops = Pictures.crops(positives)
        self._not_done: list[str] = []

    def run(self) -> DataCheck:
        """Run all checks."""
        findings = [
            *plain.unused(self._positives.report),
            *plain.unused(self._photos.report),
            *plain.odd_sizes(self._positives),
            plain.turned(self._crops),
            *plain.few(self._crops),
        ]
        some = some_photos(self._photos, self._settings.seed)
        others = windows_at_random(some, self._positives.window, self._settings.seed, self._n_threads)
        can_compare = self._can_compare(len(others))
        if can_compare:
            self._tell("comparing crops", 0, 1, "with each other, with altered copies and with background")
            findings += self._odd_crops(others)
        good = self._positives.without({item.name for one in findings for item in one.items})
        can_search = can_compare and good.n_crops >= MIN_CROPS
        is_searched = self._searched() if can_search else np.zeros(len(self._photos), np.bool_)
        views = self._views(good if can_search else None, some, is_searched)
        photos = Pictures.photos(self._photos, np.stack([view.small for view in views]))
        copies = NearCopies.among(self._crops, photos, self._n_threads)
        findings += [plain.turned(photos), *plain.few(photos), *copies.findings(*self._held_out())]
        if can_search:
            findings.append(self._objects([find for view in views for find in view.finds], good, others))
        reach = self._reach()
        if reach.is_short:
            findings.append(Finding(Topic.REACH, "negatives", (), len(photos)))
        return DataCheck(
            _in_order(findings),
            self._positives.report,
            self._photos.report,
            self._positives.sizes,
            self._photos.sizes,
            self._positives.window,
            Alignment.of(good.windows[: good.n_crops] if good.n_crops else self._crops.windows),
            reach,
            int(is_searched.sum()),
            tuple(self._not_done),
        )

    def _can_compare(self, n_others: int) -> bool:
        """Tell whether there is enough to compare crops with, and say so if not."""
        n = len(self._crops)
        if n >= MIN_CROPS and n_others >= MIN_OTHERS:
            return True
        few = pluralize(n, "crop") if n < MIN_CROPS else f"{pluralize(n_others, 'window')} of negatives"
        self._not_done.append(
            f"{few} are too few to tell which crops are rotated, off-centre or of something else, and whether "
            "negatives show the object"
        )
        return False

    def _odd_crops(self, others: NDArray[np.uint8]) -> Iterator[Finding]:
        """Yield crops that are not like the others."""
        odd = find_odd_crops(
            self._crops.windows,
            _groups(self._positives),
            others,
            seed=self._settings.seed,
            n_threads=self._n_threads,
        )
        for topic in dict.fromkeys(odd.topics.values()):
            chosen = sorted((i for i, one in odd.topics.items() if one is topic), key=lambda i: odd.scores[i])
            items = tuple(self._crops.item(i) for i in chosen)
            yield Finding(topic, "positives", items, len(self._crops))

    def _tell(self, part: str, done: int, total: int, detail: str = "") -> None:
        self._listener(Progress(part, done, total, detail))

    def _searched(self) -> NDArray[np.bool_]:
        """Return which photos are searched."""
        n = len(self._photos)
        is_searched = np.zeros(n, np.bool_)
        is_searched[np.random.default_rng(self._settings.seed).permutation(n)[:MOST_SEARCHED]] = True
        if n > MOST_SEARCHED:
            self._not_done.append(
                f"only {MOST_SEARCHED:,} of {n:,} negatives, chosen at random, were searched for the object"
            )
        return is_searched

    def _views(
        self, good: Positives | None, some: BackgroundImages, is_searched: NDArray[np.bool_]
    ) -> list[PhotoView]:
        """Return what is seen in the photos, with a quick cascade trained on good crops if there are any."""
        cascade = None
        if good is not None:
            self._tell("training a quick cascade", 0, 1, "of a few stages")
            cascade = train_quickly(good, some, self._n_threads)
        return view_photos(
            self._photos,
            self._positives.window,
            cascade,
            searched=is_searched,
            n_threads=self._n_threads,
            progress=lambda done, total: self._tell("searching the negatives", done, total),
        )

    def _held_out(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the crops and photos that training would hold out."""
        _, windows = held_out_windows(self._positives, self._settings)
        _, photos = held_out_photos(self._photos, self._settings)
        return windows[windows < len(self._crops)], photos

    def _objects(self, finds: Sequence[Find], good: Positives, others: NDArray[np.uint8]) -> Finding:
        """Return the photos that seem to show the object."""
        crops = good.windows[: good.n_crops]
        items = []
        found = objects_among(
            finds,
            self._photos,
            crops,
            _groups(good),
            others,
            seed=self._settings.seed,
            n_threads=self._n_threads,
        )
        for find in found:
            detail = "at {},{}, {}x{}".format(*find.box)
            items.append(Item(self._photos.names[find.photo], detail, find.pixels))
        return Finding(Topic.OBJECT_IN_NEGATIVES, "negatives", tuple(items), len(self._photos))

    def _reach(self) -> Reach:
        trained, _ = held_out_windows(self._positives, self._settings)
        n_trained = min(len(trained), self._settings.max_positives)
        return Reach.of(self._photos.sizes, self._positives.window, n_trained, self._settings)


def _groups(positives: Positives) -> NDArray[np.intp]:
    """Return groups of crops, from 0 on: from one picture, or nearly copies."""
    n = positives.n_crops
    alike = pairs_alike(signatures(positives.windows[:n]))
    return connected(alike, positives.groups[:n])


def _in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings that are not empty, one for each topic and kind, warnings first."""
    joined: dict[tuple[bool, int, bool], Finding] = {}
    topics = list(Topic)
    for one in findings:
        if not one.items and one.topic not in {Topic.FEW, Topic.REACH}:
            continue
        key = one.level is Level.NOTE, topics.index(one.topic), one.kind == "negatives"
        before = joined.get(key)
        joined[key] = one if before is None else before.joined(one)
    return tuple(joined[key] for key in sorted(joined))
