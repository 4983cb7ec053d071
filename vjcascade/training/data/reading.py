"""Read the sources of a run, and tell what became of every file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vjcascade.imaging import opencv
from vjcascade.messages import pluralize
from vjcascade.parallel import MemoryBudget
from vjcascade.training.data.backgrounds import BackgroundImages, open_background_images
from vjcascade.training.data.copies import NO_COPIES, CopyRule
from vjcascade.training.data.positives import Positives, load_positives
from vjcascade.training.data.sources import Source, name_of
from vjcascade.training.data.training_data import TrainingData
from vjcascade.training.events import Listener, Note, Progress
from vjcascade.training.settings import TrainingSettings
from vjcascade.types import Size


@dataclass(frozen=True, eq=False)
class Sources:
    """What a run was given, read.

    Attributes
    ----------
    positives : Positives
        Windows of the object.
    photos : BackgroundImages
        Photos without it.
    more_photos : BackgroundImages
        Photos of further sources that are no copies; may be empty.
    """

    positives: Positives
    photos: BackgroundImages
    more_photos: BackgroundImages

    def split(self, settings: TrainingSettings) -> TrainingData:
        """Return what a run trains on and what it measures with; see `TrainingData.split`."""
        return TrainingData.split(self.positives, self.photos, settings, self.more_photos)

    def fingerprints(self) -> dict[str, Any]:
        """Return what tells these data from others, as plain JSON values."""
        prints: dict[str, Any] = {
            "positives": self.positives.n_crops,
            "positives_sha256": self.positives.fingerprint,
            "photos": len(self.photos),
            "photos_sha256": self.photos.fingerprint,
        }
        if len(self.more_photos):
            prints |= {
                "more_photos": len(self.more_photos),
                "more_photos_sha256": self.more_photos.fingerprint,
            }
        return prints


@dataclass(frozen=True)
class Reader:
    """How sources are read.

    Attributes
    ----------
    n_threads : int
        Threads that decode.
    strict : bool
        Whether a file that cannot be used ends the run.
    listener : Listener
        Gets progress and reports.
    memory_budget : MemoryBudget or None
        What decoding may take; None for most of the machine's memory.
    label : str or None
        The kind of object, where annotations have several.
    """

    n_threads: int
    strict: bool
    listener: Listener
    memory_budget: MemoryBudget | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        opencv()  # resizes crops and photos: if it is missing, that is said before the pictures are read

    def positives(
        self, source: Source, window: Size | None, min_side: int | None, copies: CopyRule = NO_COPIES
    ) -> Positives:
        """Read crops.

        Parameters
        ----------
        source : path or sequence of ndarray
            As for `load_positives`.
        window : Size or None
            Training window; None to have one proposed.
        min_side : int or None
            Crops whose shorter side is smaller are not used.
        copies : CopyRule
            How many altered copies of each are made; none by default.

        Returns
        -------
        Positives
            Of window size.

        Raises
        ------
        SourceError
            As `load_positives`.
        """
        crops = load_positives(
            source,
            window,
            min_side=min_side,
            copies=copies,
            n_threads=self.n_threads,
            memory_budget=self.memory_budget,
            strict=self.strict,
            progress=lambda done, total: self.listener(Progress("reading positives", done, total)),
            label=self.label,
        )
        self._tell(crops.report.lines())
        return crops

    def photos(self, source: Source, crops: Positives, memory_limit: int) -> BackgroundImages:
        """Read photos.

        Parameters
        ----------
        source : path or sequence of ndarray
            As for `open_background_images`.
        crops : Positives
            The object: their window is the training window, and copies of their pictures are no photos.
        memory_limit : int
            Bytes of pixels to keep.

        Returns
        -------
        BackgroundImages
            At least one photo.

        Raises
        ------
        SourceError
            As `open_background_images`.
        """
        photos = self._opened(source, crops, memory_limit)
        crop, photo = (_median_size(sizes) for sizes in (crops.sizes, photos.sizes))
        if photo.width * photo.height < crop.width * crop.height:
            note = (
                f"  note: half of the photos are no larger than {photo}, but the objects {crop}; are the two folders "
                "swapped? Crops of the object come first"
            )
            self._tell([note])
        return photos

    def _opened(self, source: Source, crops: Positives, memory_limit: int) -> BackgroundImages:
        photos = open_background_images(
            source,
            crops.window,
            n_threads=self.n_threads,
            memory_budget=self.memory_budget,
            memory_limit=memory_limit,
            not_these=crops.digests,
            strict=self.strict,
            progress=lambda done, total: self.listener(Progress("reading negatives", done, total)),
            label=self.label,
        )
        self._tell(photos.report.lines())
        return photos

    def more_photos(
        self,
        sources: Sequence[Source],
        photos: BackgroundImages,
        crops: Positives,
        memory_limit: int,
    ) -> BackgroundImages:
        """Read further sources, without copies of what is there already.

        Parameters
        ----------
        sources : sequence
            Of sources, as for `open_background_images`.
        photos : BackgroundImages
            The first source.
        crops : Positives
            As for `photos`.
        memory_limit : int
            Bytes of pixels to keep, those of `photos` included.

        Returns
        -------
        BackgroundImages
            The photos of all of them; none without sources.
        """
        known = {photo.digest for photo in photos.photos}
        more = photos.subset([])
        for source in sources:
            left = max(memory_limit - _kept_bytes(photos) - _kept_bytes(more), 0)
            opened = self._opened(source, crops, left)
            new = tuple(photo for photo in opened.photos if photo.digest not in known)
            if len(new) < len(opened):
                n_copies = pluralize(len(opened) - len(new), "photo")
                self._tell(
                    [
                        f"  note: {n_copies} of {name_of(source)} are in the folders before it, too, and count once"
                    ]
                )
            known |= {photo.digest for photo in new}
            more = replace(opened, photos=more.photos + new)
        return more

    def _tell(self, lines: list[str]) -> None:
        for line in lines:
            self.listener(Note(line))


def _median_size(sizes: Sequence[Size]) -> Size:
    """Return the median width and height; 0x0 of none."""
    return Size(*(round(side) for side in np.median(sizes, axis=0).tolist())) if sizes else Size(0, 0)


def _kept_bytes(photos: BackgroundImages) -> int:
    return sum(photo.pixels.nbytes for photo in photos.photos if photo.pixels is not None)
