"""The windows of a cascade's stages as datasets: every booster gets the same ones.

A reference cascade decides what reaches a stage: the positives that pass its stages before, and negatives mined for
each stage with these. All of a stage's windows are then split anew for every seed, so it does not matter that the
reference has learnt from some of them. Or crops and photos are dealt into parts that have nothing in common: one that
the reference learns from, and one for each seed. What such draws say holds for other crops and photos of the kind, as
nothing in it is shared by all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.checks import check_fields
from vjcascade.comparison.design import MAX_SEEDS
from vjcascade.comparison.problems import MIN_OF_CLASS, Indices, WindowProblem, dealt
from vjcascade.detection.scanner import evaluate_windows
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode
from vjcascade.features.families import FAMILIES, family_of
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.learning.samples import labels_of
from vjcascade.messages import pluralize
from vjcascade.training.checkpoint import Checkpoint
from vjcascade.training.data.backgrounds import BackgroundImages
from vjcascade.training.data.positives import Positives
from vjcascade.training.data.training_data import TrainingData
from vjcascade.training.events import Listener, Note, ProgressReporter
from vjcascade.training.mining.mining import Mined, MiningPlan, mine_negatives
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.trainer import train_stages
from vjcascade.types import FeatureType, Size

N_PHOTO_GROUPS = 8
"""Groups that the background images are sampled into; negatives of one are never on both sides of a split."""

MIN_PHOTOS_TO_GROUP = 16
"""Of fewer photos, windows of one photo may be on both sides."""


FOR_REFERENCE = -1
"""In the place of a draw's number."""

MIN_SAMPLES = 20
"""Windows of each class; on fewer no reference is trained."""


@dataclass(frozen=True)
class StagePlan:
    """Which stages become datasets, and how large they are.

    Attributes
    ----------
    n_stages : int
        Stages, from the first.
    n_samples : int
        Windows of each class that a seed trains on, where there are so many; as many again are held out.
    n_features : int or None
        Features drawn at random from the pool; None for all of them.
    features : FeatureType
        Haar or LBP.
    mode : HaarMode
        Kinds of Haar features.
    max_windows : int
        Windows that mining for a stage looks at, at most.
    n_draws : int
        Independent draws: parts of the crops and photos, one for each seed. 0 splits all of them again for every seed.
    seed : int
        Of all random choices.

    Examples
    --------
    >>> StagePlan(n_stages=2, n_features=5000).n_samples
    2000
    """

    n_stages: Annotated[int, Meta(ge=1)] = 3
    n_samples: Annotated[int, Meta(ge=MIN_SAMPLES)] = 2000
    n_features: Annotated[int, Meta(ge=1)] | None = None
    features: FeatureType = FeatureType.HAAR
    mode: HaarMode = HaarMode.BASIC
    max_windows: Annotated[int, Meta(ge=1)] = 2_000_000_000
    n_draws: Annotated[int, Meta(ge=0, le=MAX_SEEDS)] = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def n_of_class(self) -> int:
        """Windows of each class that a stage has in all."""
        return int(self.n_samples / WindowProblem.shares[0])

    def pool(self, window: Size) -> NDArray[np.void]:
        """Return the features, shape (n_features,)."""
        whole = FAMILIES[self.features].enumerate(window, self.mode)
        if self.n_features is None or self.n_features >= len(whole):
            return whole
        return whole[np.sort(np.random.default_rng(self.seed).permutation(len(whole))[: self.n_features])]

    def reference_settings(self) -> TrainingSettings:
        """Return how the reference cascade is trained."""
        return TrainingSettings(
            features=self.features,
            mode=self.mode,
            max_stages=max(self.n_stages - 1, 1),
            max_samples=2 * self.n_samples,
            target_false_alarm_rate=1e-12,
            max_windows=self.max_windows,
            baseline=False,
            seed=self.seed,
        )


@dataclass(frozen=True, eq=False)
class Split:
    """Which crops and photos serve whom.

    Attributes
    ----------
    crops : ndarray of shape (n_positives,), dtype intp
        Number of the draw that each positive belongs to; `FOR_REFERENCE` for those that only the reference learns from.
    photos : tuple of ndarray of int
        For each draw its photos.
    photos_for_reference : ndarray of int
        Those that only the reference learns from.
    """

    crops: Indices
    photos: tuple[Indices, ...]
    photos_for_reference: Indices

    @classmethod
    def of(cls, positives: Positives, n_photos: int, plan: StagePlan, *, has_reference: bool) -> Split:
        """Deal crops and photos; without draws, all are of one part.

        Parameters
        ----------
        positives : Positives
            Windows of the object; those of one picture stay together.
        n_photos : int
            Photos without it.
        plan : StagePlan
            How many draws.
        has_reference : bool
            Whether there is a reference already, so that none must be trained.

        Returns
        -------
        Split
            As equal as whole pictures allow.

        Raises
        ------
        SettingsError
            If there are too few crops or photos for so many draws.
        """
        if not plan.n_draws:
            return cls(np.zeros(len(positives), np.intp), (np.arange(n_photos),), np.empty(0, np.intp))
        trains = int(not has_reference)  # stages may be added later, and need it then
        n_parts = plan.n_draws + trains
        distinct, places = np.unique(positives.groups, return_inverse=True)
        if min(len(distinct), n_photos) < n_parts:
            raise SettingsError(
                f"{len(distinct):,} pictures of the object and {n_photos:,} photos are too few for {n_parts:,} "
                "disjoint parts: use fewer seeds"
            )
        rng = np.random.default_rng([plan.seed, plan.n_draws])
        sizes, wanted = np.bincount(places), np.full(n_parts, len(positives) / n_parts)
        crops = dealt(sizes, wanted, rng)[places] - trains
        order = rng.permutation(n_photos)
        photos = [np.sort(order[part::n_parts]) for part in range(n_parts)]
        return cls(crops, tuple(photos[trains:]), photos[0] if trains else np.empty(0, np.intp))

    def reference_crops(self, positives: Positives) -> Positives:
        """Return the positives that the reference learns from: all, without draws."""
        if not (self.crops == FOR_REFERENCE).any():
            return positives
        return positives.without({positives.names[i] for i in np.flatnonzero(self.crops != FOR_REFERENCE)})

    def reference_photos(self, photos: BackgroundImages) -> BackgroundImages:
        """Return the photos that the reference learns from: all, without draws."""
        return photos.subset(self.photos_for_reference) if len(self.photos_for_reference) else photos


def reference_cascade(
    positives: Positives,
    photos: BackgroundImages,
    plan: StagePlan,
    folder: Path,
    *,
    overwrite: bool = False,
    n_threads: int,
    listener: Listener,
) -> Cascade:
    """Train the reference, or go on with it.

    Parameters
    ----------
    positives : Positives
        Windows of the object.
    photos : BackgroundImages
        Photos without it.
    plan : StagePlan
        How many stages are needed.
    folder : Path
        Where it is kept.
    overwrite : bool
        Start again.
    n_threads : int
        Threads; the cascade does not depend on it.
    listener : Listener
        Gets the events of the training.

    Returns
    -------
    Cascade
        Of one stage less than planned, or fewer if negatives run out.
    """
    window = positives.window
    if plan.n_stages == 1:
        return Cascade.empty(window, plan.features)
    settings = plan.reference_settings()
    prints = {"positives_sha256": positives.fingerprint, "photos_sha256": photos.fingerprint}
    checkpoint = Checkpoint.open(folder, window, settings, prints, resume=not overwrite, overwrite=overwrite)
    if checkpoint.cascade.n_stages >= settings.max_stages:
        return checkpoint.cascade
    data = TrainingData.split(positives, photos, settings)
    return train_stages(data, settings, checkpoint, n_threads=n_threads, listener=listener)


def make_stage_datasets(
    positives: Positives,
    photos: BackgroundImages,
    reference: Cascade,
    plan: StagePlan,
    parts: Split,
    n_threads: int,
    listener: Listener,
) -> Iterator[tuple[WindowProblem, float]]:
    """Yield the stages, one after the other, each with the share of the photos' windows that reach it.

    Parameters
    ----------
    positives : Positives
        Windows of the object, some of them if there are too many.
    photos : BackgroundImages
        Photos without it.
    reference : Cascade
        Its stages say what reaches the next.
    plan : StagePlan
        How many, how large.
    parts : Split
        Which crops and photos are of which draw.
    n_threads : int
        Threads; the windows do not depend on it.
    listener : Listener
        Gets notes and progress.

    Yields
    ------
    problem : WindowProblem
        Of stage 1, 2 and so on.
    pass_rate : float
        In (0, 1].

    Raises
    ------
    SettingsError
        If the windows of the first stage do not suffice. Too few for a later one end it, and a note says so.
    """
    pool = plan.pool(positives.window)
    chosen = np.concatenate([_some_positives(parts.crops, draw, plan) for draw in range(len(parts.photos))])
    groups = [
        (draw, photos_of_draw[group])
        for draw, photos_of_draw in enumerate(parts.photos)
        for group in _image_groups(len(photos_of_draw), plan.seed)
    ]
    n_passed, _ = evaluate_windows(reference, positives.windows[chosen], n_threads)
    pass_rate = 1.0
    for n_before in range(min(plan.n_stages, reference.n_stages + 1)):
        before = reference.first_stages(n_before)
        kept = chosen[n_passed >= n_before]
        mined = [
            _Part(
                draw,
                _mine(
                    photos.subset(group), before, plan, (number, len(groups)), pass_rate, n_threads, listener
                ),
            )
            for number, (draw, group) in enumerate(groups)
        ]
        n_negatives, n_seen = (
            sum(len(one.mined.windows) for one in mined),
            sum(one.mined.n_searched for one in mined),
        )
        pass_rate = max(sum(one.mined.n_accepted for one in mined), 1) / max(n_seen, 1)
        problem = (
            f"stage {n_before + 1}: {pluralize(len(kept), 'positive')} and {pluralize(n_negatives, 'negative')} "
            f"reach it ({n_seen:,} windows were searched)"
        )
        if _fewest(parts, kept, mined) < 2 * MIN_OF_CLASS:
            where = " for every draw" if plan.n_draws else ""
            if n_before == 0:
                raise SettingsError(
                    f"{problem}: at least {2 * MIN_OF_CLASS} of each are needed{where}; give more pictures"
                )
            listener(Note(f"{problem}: too few{where}; the comparison ends with stage {n_before}"))
            return
        listener(Note(problem))
        draws = parts.crops if plan.n_draws else None
        yield _problem(n_before + 1, positives, kept, mined, pool, draws), pass_rate


@dataclass(frozen=True, eq=False)
class _Part:
    """Negatives of a part of the photos, and the draw that it belongs to."""

    draw: int
    mined: Mined


def _fewest(parts: Split, kept: Indices, mined: list[_Part]) -> int:
    """Return the least number of windows of a class in a draw."""
    n = len(parts.photos)
    n_positives = np.bincount(parts.crops[kept], minlength=n)
    negatives = np.bincount([one.draw for one in mined], [len(one.mined.windows) for one in mined], n)
    return int(min(n_positives.min(), negatives.min()))


def _some_positives(crops: Indices, draw: int, plan: StagePlan) -> Indices:
    """Return the positives of a draw, some of them if they are too many."""
    members = np.flatnonzero(crops == draw)
    if len(members) <= plan.n_of_class:
        return members
    seed = [plan.seed, draw] if plan.n_draws else plan.seed
    return members[np.sort(np.random.default_rng(seed).permutation(len(members))[: plan.n_of_class])]


def _image_groups(n_photos: int, seed: int) -> list[Indices]:
    """Sample the background images into groups; all into one if they are few."""
    if n_photos < MIN_PHOTOS_TO_GROUP:
        return [np.arange(n_photos)]
    order = np.random.default_rng(seed).permutation(n_photos)
    return [np.sort(order[group::N_PHOTO_GROUPS]) for group in range(N_PHOTO_GROUPS)]


def _mine(
    photos: BackgroundImages,
    before: Cascade,
    plan: StagePlan,
    part: tuple[int, int],
    pass_rate: float,
    n_threads: int,
    listener: Listener,
) -> Mined:
    """Mine one part of the photos, given by its number and how many there are."""
    number, (index, n_parts) = before.n_stages + 1, part
    return mine_negatives(
        photos,
        before,
        -(-plan.n_of_class * max(plan.n_draws, 1) // n_parts),
        MiningPlan(
            expected_pass_rate=pass_rate * (0.5 if before.n_stages else 1),
            max_windows=max(plan.max_windows // n_parts, 1),
            seed=[plan.seed, number, index],
        ),
        n_threads=n_threads,
        progress=ProgressReporter(
            f"stage {number}: mining negatives, part {index + 1} of {n_parts}", listener
        ),
    )


def _problem(
    number: int,
    positives: Positives,
    kept: Indices,
    mined: list[_Part],
    pool: NDArray[np.void],
    draws: Indices | None,
) -> WindowProblem:
    windows = np.concatenate([positives.windows[kept], *(one.mined.windows for one in mined)])
    sizes = [len(one.mined.windows) for one in mined]
    first = int(positives.groups.max()) + 1
    n_parts = np.bincount([one.draw for one in mined])
    groups, n_groups = [], 0
    for one, size in zip(mined, sizes, strict=True):
        is_alone = n_parts[one.draw] == 1  # the only part of a draw: its windows must be split
        groups.append(first + n_groups + (np.arange(size) if is_alone else np.zeros(size, np.intp)))
        n_groups += size if is_alone else 1
    return WindowProblem(
        name=f"stage {number}",
        pool=pool,
        integrals=WindowIntegrals.of(windows, tilted=family_of(pool).has_tilted(pool)),
        groups=np.concatenate([positives.groups[kept], *groups]).astype(np.intp),
        labels=labels_of(len(kept), len(windows)),
        draws=None
        if draws is None
        else np.concatenate([draws[kept], np.repeat([one.draw for one in mined], sizes)]),
    )
