"""The windows of a cascade's stages as datasets: every booster gets the same ones.

A reference cascade decides what reaches a stage: the positives that pass its stages before, and negatives mined for
each stage with these. All of a stage's windows are then split anew for every seed, so it does not matter that the
reference has learnt from some of them.
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
from vjcascade.comparison.problems import MIN_OF_CLASS, Indices, WindowProblem
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
    seed : int
        Of all random choices.
    """

    n_stages: Annotated[int, Meta(ge=1)] = 3
    n_samples: Annotated[int, Meta(ge=MIN_SAMPLES)] = 2000
    n_features: Annotated[int, Meta(ge=1)] | None = None
    features: FeatureType = FeatureType.HAAR
    mode: HaarMode = HaarMode.BASIC
    max_windows: Annotated[int, Meta(ge=1)] = 2_000_000_000
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
        Begin anew.
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
    chosen = _some_positives(positives, plan)
    groups = _image_groups(len(photos), plan.seed)
    n_passed, _ = evaluate_windows(reference, positives.windows[chosen], n_threads)
    pass_rate = 1.0
    for n_before in range(min(plan.n_stages, reference.n_stages + 1)):
        before = reference.first_stages(n_before)
        kept = chosen[n_passed >= n_before]
        mined = [
            _mine(photos.subset(group), before, plan, (number, len(groups)), pass_rate, n_threads, listener)
            for number, group in enumerate(groups)
        ]
        n_negatives, n_seen = sum(len(one.windows) for one in mined), sum(one.n_searched for one in mined)
        pass_rate = max(sum(one.n_accepted for one in mined), 1) / max(n_seen, 1)
        problem = (
            f"stage {n_before + 1}: {pluralize(len(kept), 'positive')} and {pluralize(n_negatives, 'negative')} "
            f"reach it ({n_seen:,} windows were searched)"
        )
        if min(len(kept), n_negatives) < 2 * MIN_OF_CLASS:
            if n_before == 0:
                raise SettingsError(
                    f"{problem}: at least {2 * MIN_OF_CLASS} of each are needed; give more pictures"
                )
            listener(Note(f"{problem}: too few; the comparison ends with stage {n_before}"))
            return
        listener(Note(problem))
        yield _problem(n_before + 1, positives, kept, mined, pool), pass_rate


def _some_positives(positives: Positives, plan: StagePlan) -> Indices:
    n = len(positives.windows)
    if n <= plan.n_of_class:
        return np.arange(n)
    return np.sort(np.random.default_rng(plan.seed).permutation(n)[: plan.n_of_class])


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
        -(-plan.n_of_class // n_parts),
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
    number: int, positives: Positives, kept: Indices, mined: list[Mined], pool: NDArray[np.void]
) -> WindowProblem:
    windows = np.concatenate([positives.windows[kept], *(one.windows for one in mined)])
    n_negatives = len(windows) - len(kept)
    first = int(positives.groups.max()) + 1
    if len(mined) > 1:
        negative_groups = np.repeat(np.arange(len(mined)), [len(one.windows) for one in mined])
    else:
        negative_groups = np.arange(n_negatives)
    return WindowProblem(
        name=f"stage {number}",
        pool=pool,
        integrals=WindowIntegrals.of(windows, tilted=family_of(pool).has_tilted(pool)),
        groups=np.concatenate([positives.groups[kept], first + negative_groups]).astype(np.intp),
        labels=labels_of(len(kept), len(windows)),
    )
