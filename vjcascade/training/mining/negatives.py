"""Negatives of a stage: false alarms of the stage before, and as many mined windows as are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.clusters import Cluster
from vjcascade.errors import TrainingError
from vjcascade.features.families import family_of
from vjcascade.messages import pluralize
from vjcascade.training.data.backgrounds import BackgroundImages
from vjcascade.training.events import Listener, MiningDone, Note, ProgressReporter, StageRecord
from vjcascade.training.mining.mining import Mined, MiningPlan, count_windows, mine_negatives
from vjcascade.training.mining.photo_scan import scanning_memory
from vjcascade.training.mining.retained_negatives import RetainedNegatives
from vjcascade.training.settings import MIN_NEGATIVES, TrainingSettings

UNRECORDED_FALSE_ALARM_RATE = 0.5
"""What a stage that others trained is expected to pass, before it is measured: what most trainers aim at."""


@dataclass(frozen=True, eq=False)
class Negatives:
    """Negatives of a stage.

    Attributes
    ----------
    windows : ndarray of shape (n, h, w), dtype uint8
        Distinct windows that pass the stages so far, those retained from the stage before first.
    mined : Mined
        What was found of them in the photos; its rate counts all windows that pass, whether new or retained.
    pass_rate : float
        Share of the windows in the photos that pass the stages so far, in (0, 1], as measured in mining; the one
        expected where nothing had to be mined.
    """

    windows: NDArray[np.uint8]
    mined: Mined
    pass_rate: float

    def __len__(self) -> int:
        return len(self.windows)


def search_memory(photos: BackgroundImages) -> int:
    """Return how many bytes searching the neediest photo takes, besides pixels that are kept in memory."""
    needed = [
        scanning_memory(photo.size) + photo.decoding_memory * (photo.pixels is None)
        for photo in photos.photos
    ]
    return max(needed, default=0)


class NegativesSearch:
    """Finds the negatives of stage after stage.

    Parameters
    ----------
    photos, held_out_photos : BackgroundImages
        To train on and to measure on; the second may be empty.
    settings : TrainingSettings
        Seed and bounds.
    n_threads : int
        Results do not depend on it.
    listener : Listener
        Gets the progress, what is expected, and `MiningDone`.
    cluster : Cluster, optional
        Whose workers search the photos; results do not depend on it.
    """

    def __init__(
        self,
        photos: BackgroundImages,
        held_out_photos: BackgroundImages,
        settings: TrainingSettings,
        n_threads: int,
        listener: Listener,
        cluster: Cluster | None = None,
    ) -> None:
        self._cluster = cluster
        self._photos = photos
        self._held_out_photos = held_out_photos
        self._settings = settings
        self._n_threads = n_threads
        self._listener = listener

    def next_stage(
        self, cascade: Cascade, records: Sequence[StageRecord], retained: RetainedNegatives, n_wanted: int
    ) -> tuple[Negatives, Negatives]:
        """Find the next stage's negatives, both to train on and to measure on.

        Parameters
        ----------
        cascade : Cascade
            Stages so far.
        records : sequence of StageRecord
            Of the last stages, if any has one.
        retained : RetainedNegatives
            False alarms of the last stage.
        n_wanted : int
            Windows to train on; half as many are to measure on.

        Returns
        -------
        training, held_out : Negatives
            Both begin with what is retained.

        Raises
        ------
        TrainingError
            If there are too few to train on.
        """
        pass_rate = expected_pass_rate(records, cascade.n_stages)
        self._listener(Note(self.forecast(cascade, n_wanted, len(retained.training), pass_rate)))
        training = self.find(cascade, n_wanted, retained.training, pass_rate)
        if why := why_too_few(cascade, training):
            raise TrainingError(why)
        self._listener(
            MiningDone(cascade.n_stages + 1, len(training), training.mined.n_searched, training.pass_rate)
        )
        held_out = self.find(cascade, len(training) // 2, retained.held_out, pass_rate, held_out=True)
        return training, held_out

    def find(
        self,
        cascade: Cascade,
        n_wanted: int,
        retained: NDArray[np.uint8],
        pass_rate: float,
        *,
        held_out: bool = False,
    ) -> Negatives:
        """Find the next stage's negatives, to train on or to measure on.

        Parameters
        ----------
        cascade : Cascade
            Stages so far.
        n_wanted : int
            Windows, those that are retained included.
        retained : ndarray of shape (n, h, w), dtype uint8
            Windows that are there already, and that the cascade passes.
        pass_rate : float
            Share of windows that should pass the cascade, in (0, 1].
        held_out : bool
            Whether they are to measure on: they come from the photos that are held out, and are never the hardest.

        Returns
        -------
        Negatives
            Fewer than wanted if the photos have no more; those retained only where there are no such photos.
        """
        n_missing = n_wanted - len(retained)
        photos = self._held_out_photos if held_out else self._photos
        if n_missing <= 0 or len(photos) == 0:
            return Negatives(retained, Mined(retained[:0], 0, 0, exhausted=False), pass_rate)
        number, kind = cascade.n_stages + 1, "held-out negatives" if held_out else "negatives"
        plan = MiningPlan(
            expected_pass_rate=pass_rate,
            max_windows=self._settings.max_windows,
            seed=[self._settings.seed, number, not held_out],
            hardest=self._settings.hardest_negatives and not held_out,  # measured is what is usual
        )
        progress = ProgressReporter(f"stage {number}: mining {kind}", self._listener)
        mined = mine_negatives(
            photos,
            cascade,
            n_missing,
            plan,
            known=retained,
            n_threads=self._n_threads,
            progress=progress,
            cluster=self._cluster,
        )
        measured = max(mined.n_accepted, 1) / mined.n_searched if mined.n_searched else pass_rate
        return Negatives(np.concatenate([retained, mined.windows]), mined, measured)

    def forecast(self, cascade: Cascade, n_wanted: int, n_retained: int, pass_rate: float) -> str:
        """Say how many windows have to be searched for the stage's negatives, and whether there are so many.

        Parameters
        ----------
        cascade : Cascade
            Stages so far.
        n_wanted, n_retained : int
            Windows wanted, and those of them that are there already.
        pass_rate : float
            Share of windows that should pass the cascade, in (0, 1].

        Returns
        -------
        str
            A sentence.
        """
        n_windows = count_windows(self._photos, cascade.window)
        fresh_rate = max(pass_rate - n_retained / n_windows, 1 / n_windows)  # of windows not yet found
        n_missing = n_wanted - n_retained
        needed, possible = n_missing / fresh_rate, min(n_windows, self._settings.max_windows)
        retained = f"{pluralize(n_retained, 'false alarm')} of the last stage and " if n_retained else ""
        text = (
            f"stage {cascade.n_stages + 1}: {retained}{pluralize(n_missing, 'new negative')}, expected in about "
            f"{needed:,.0f} windows; up to {possible:,} can be scanned"
        )
        return text if needed <= possible else f"{text}: too few, so expect fewer negatives"


def expected_pass_rate(records: Sequence[StageRecord], n_stages: int) -> float:
    """Return the share of windows that should pass the stages so far.

    Parameters
    ----------
    records : sequence of StageRecord
        Of the last stages, if any has one.
    n_stages : int
        All stages.

    Returns
    -------
    float
        In (0, 1]; what the last record says, or a guess for stages without.

    Examples
    --------
    >>> expected_pass_rate([], 0), expected_pass_rate([], 3)
    (1.0, 0.125)
    """
    rate = records[-1].overall_false_alarm_rate if records else UNRECORDED_FALSE_ALARM_RATE**n_stages
    return max(rate, 1e-12)


def why_too_few(cascade: Cascade, negatives: Negatives) -> str:
    """Say why no stage can be trained on these negatives; nothing if one can.

    Parameters
    ----------
    cascade : Cascade
        Stages so far.
    negatives : Negatives
        What was found.

    Returns
    -------
    str
        A sentence with advice, or an empty one.
    """
    n_found, mined = len(negatives), negatives.mined
    if n_found >= MIN_NEGATIVES:
        return ""
    if cascade.n_stages:
        kind, advice = " that the stages so far accept", "For more stages, add background photos"
    elif family_of(cascade.features).is_normalised:
        kind, advice = " above the contrast floor of 10 grey levels", "Give photos with more contrast"
    else:  # every window passes; copies count once
        kind, advice = "", "Add more photos, with more varied content"
    only = f"only {pluralize(n_found, 'negative window')}" if n_found else "no negative window"
    looked = f"{only} can be found{kind}; {mined.n_searched:,} windows were scanned"
    if not mined.exhausted:
        return f"{looked}, the limit for a stage. Raise max_windows"
    return f"{looked}, all there are. {advice}"
