"""What a run trains on and what it measures with: positives and photos, split once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.thresholds import n_allowed_misses
from vjcascade.messages import pluralize
from vjcascade.training.data.backgrounds import BackgroundImages
from vjcascade.training.data.holdout import split_held_out
from vjcascade.training.data.positives import Positives
from vjcascade.training.settings import TrainingSettings

MIN_PHOTOS_TO_SPLIT = 10
"""Fewer photos all serve training; nothing is held out."""


def held_out_windows(
    positives: Positives, settings: TrainingSettings
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of the positives to train on, and of those held out; see `split_held_out`."""
    return split_held_out(positives.groups, fraction=settings.held_out, seed=settings.seed)


def held_out_photos(
    photos: BackgroundImages, settings: TrainingSettings
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of the photos to train on, and of those held out; see `split_held_out`."""
    return split_held_out(
        np.arange(len(photos)),
        fraction=settings.held_out,
        min_samples=MIN_PHOTOS_TO_SPLIT,
        seed=settings.seed,
    )


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Positives and photos, split once for the whole run.

    Attributes
    ----------
    positives, held_out_positives : ndarray of shape (n, h, w), dtype uint8
        Windows.
    photos, held_out_photos : BackgroundImages
        Photos without objects.
    n_copies, n_held_out_copies : int
        How many of the positives, the last ones, are altered copies of the others.
    held_out_names : tuple of str
        Name of the crop that each held-out positive is, or is a copy of; empty if unknown.
    further_photos : BackgroundImages or None
        Those among the photos to train on that come from further sources.
    """

    positives: NDArray[np.uint8]
    held_out_positives: NDArray[np.uint8]
    photos: BackgroundImages
    held_out_photos: BackgroundImages
    n_copies: int = 0
    n_held_out_copies: int = 0
    held_out_names: tuple[str, ...] = ()
    further_photos: BackgroundImages | None = None

    @classmethod
    def split(
        cls,
        positives: Positives,
        photos: BackgroundImages,
        settings: TrainingSettings,
        more_photos: BackgroundImages | None = None,
    ) -> TrainingData:
        """Hold out a part of both, by rule and seed; thin the positives if there are too many.

        Parameters
        ----------
        positives : Positives
            Windows of the object.
        photos : BackgroundImages
            Photos without it.
        settings : TrainingSettings
            Say which part, and how many at most.
        more_photos : BackgroundImages, optional
            Photos that all serve training: frames that gave false alarms are there to be learned from, and
            would make the rates that are measured look worse than they are.

        Returns
        -------
        TrainingData
            Both kinds, in two parts without a window or photo in common.
        """
        train, held_out = held_out_windows(positives, settings)
        most = settings.max_positives
        if len(train) > most:
            shuffled = np.random.default_rng(settings.seed).permutation(train)
            crops_first = shuffled[np.argsort(shuffled >= positives.n_crops, kind="stable")]
            train = np.sort(crops_first[:most])
        train_photos, away = held_out_photos(photos, settings)
        training = photos.subset(train_photos)
        if more_photos is not None:
            training = replace(training, photos=training.photos + more_photos.photos)
        return cls(
            positives.windows[train],
            positives.windows[held_out],
            training,
            photos.subset(away),
            int(np.count_nonzero(train >= positives.n_crops)),
            int(np.count_nonzero(held_out >= positives.n_crops)),
            tuple(positives.names[i] for i in held_out),
            more_photos if more_photos else None,
        )

    def counts(self) -> dict[str, int]:
        """Return how many there are of each."""
        return {
            "positives": len(self.positives),
            "held_out_positives": len(self.held_out_positives),
            "photos": len(self.photos),
            "held_out_photos": len(self.held_out_photos),
        }

    def note(self, settings: TrainingSettings) -> str:
        """Say how many windows a stage gets, and what is held out."""
        n_positives, n_photos = len(self.held_out_positives), len(self.held_out_photos)
        held_out = pluralize(n_positives, "positive") + _of_crops(n_positives, self.n_held_out_copies)
        held_out = f"held out for validation: {held_out} and {pluralize(n_photos, 'photo')}"
        if n_positives == 0:
            held_out += "; hit rates are measured on training windows"
        elif n_allowed_misses(n_positives, settings.hit_rate) == 0:
            few = f"as they are too few for a hit rate of {settings.hit_rate:.4g}"
            held_out += f"; a stage may miss one of these positives, {few}"
        n_negatives = settings.negatives_for(len(self.positives))
        return (
            f"training on {len(self.positives):,} positives{_of_crops(len(self.positives), self.n_copies)} and "
            f"{n_negatives:,} negatives per stage; {held_out}"
        )


def _of_crops(n_positives: int, n_copies: int) -> str:
    return f" ({pluralize(n_positives - n_copies, 'crop')} and their copies)" if n_copies else ""
