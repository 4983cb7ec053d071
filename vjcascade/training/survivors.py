"""Which windows pass the stages so far, as indices: no window is evaluated twice by the same stage."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.thresholds import n_allowed_misses
from vjcascade.cascade import Cascade
from vjcascade.detection.scanner import evaluate_windows
from vjcascade.errors import TrainingError
from vjcascade.training.data.training_data import TrainingData
from vjcascade.training.mining.retained_negatives import RetainedNegatives
from vjcascade.training.stage import MIN_CROPS_TO_EXCLUDE_ONE, StagePassed, StageWindows

USUAL_STAGES = 15
"""So many stages together are taken to find out how many crops a model may miss, however many there will be."""


class Survivors:
    """What is left of a run's positives, and of the negatives of its last stage.

    Positives meet the whole cascade once, when a run begins or goes on; from then on, a stage's training says which of
    its windows pass it.

    Parameters
    ----------
    data : TrainingData
        Of the run.
    cascade : Cascade
        Stages so far.
    retained : RetainedNegatives
        False alarms of its last stage.
    n_threads : int
        Threads; the result does not depend on it.
    outliers : collection of str
        Names of held-out crops that thresholds are no longer tuned on.

    Attributes
    ----------
    positives, held_out_positives : ndarray of shape (n,), dtype intp
        Which of the positives pass all stages.
    retained : RetainedNegatives
        False alarms of the last stage.
    stayed : ndarray of shape (n_stayed,), dtype intp, or None
        All of these, to train on, as indices into the training windows of the last stage; see `StageWindows`.
    """

    def __init__(
        self,
        data: TrainingData,
        cascade: Cascade,
        retained: RetainedNegatives,
        n_threads: int,
        outliers: Collection[str] = (),
    ) -> None:
        self._data = data
        names = data.held_out_names or tuple(map(str, range(len(data.held_out_positives))))
        self._names, self._crops = np.unique(np.array(names, np.str_), return_inverse=True)
        self._outliers = set(outliers) & set(self._names.tolist())
        self.stayed: NDArray[np.intp] | None = None
        self.positives = _passing(cascade, data.positives, n_threads)
        self.held_out_positives = _passing(cascade, data.held_out_positives, n_threads)
        self.retained = retained

    @property
    def hit_rate(self) -> float:
        """Share of the positives to train on that pass all stages."""
        return len(self.positives) / len(self._data.positives)

    @property
    def held_out_hit_rate(self) -> float | None:
        """Share of the held-out positives that pass all stages, if there are any."""
        n_positives = len(self._data.held_out_positives)
        return len(self.held_out_positives) / n_positives if n_positives else None

    @property
    def held_out_crops(self) -> tuple[int, int]:
        """How many held-out positives are crops, not copies of crops, and how many of these pass all stages."""
        n_crops = len(self._data.held_out_positives) - self._data.n_held_out_copies
        return n_crops, int(np.count_nonzero(self.held_out_positives < n_crops))

    @property
    def tuning_crops(self) -> NDArray[np.intp]:
        """For each held-out positive that passes all stages, its crop; -1 for outliers."""
        is_outlier = np.isin(self._names, list(self._outliers))
        crops = self._crops[self.held_out_positives]
        return np.where(is_outlier[crops], -1, crops)

    def max_outliers(self, hit_rate: float) -> int:
        """Return how many more held-out crops may be excluded from tuning.

        Of few crops, the hit rate of a stage allows none to be missed, but that of `USUAL_STAGES` stages allows a
        share. Of very few, more than that may be odd by chance: one of five counts in any case, and two of ten.

        Parameters
        ----------
        hit_rate : float
            Of a stage.

        Returns
        -------
        int
            0 where a stage may miss a crop anyway, or none at all.
        """
        n_crops = len(self._names)
        if n_crops < MIN_CROPS_TO_EXCLUDE_ONE or hit_rate == 1 or n_allowed_misses(n_crops, hit_rate) > 0:
            return 0
        share = n_allowed_misses(n_crops, hit_rate**USUAL_STAGES)
        by_chance = min(n_crops // MIN_CROPS_TO_EXCLUDE_ONE, 2)
        return min(max(share, by_chance), (n_crops - 1) // 2) - len(self._outliers)

    def exclude(self, crops: Sequence[int]) -> tuple[str, ...]:
        """Take note that thresholds are no longer tuned on held-out crops; return their names."""
        names = tuple(self._names[list(crops)].tolist())
        self._outliers.update(names)
        return names

    def positive_windows(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the positives that pass all stages: those to train on, and those that are held out.

        Raises
        ------
        TrainingError
            If there are none to train on.
        """
        if len(self.positives) == 0:
            raise TrainingError("no positive passes the stages so far")
        return self._data.positives[self.positives], self._data.held_out_positives[self.held_out_positives]

    def update(self, windows: StageWindows, passed: StagePassed) -> None:
        """Leave out what does not pass a new stage.

        Parameters
        ----------
        windows : StageWindows
            Of the stage: all that is left here, and negatives.
        passed : StagePassed
            Which of them pass it.
        """
        self.stayed = np.concatenate([passed.positives, len(windows.positives) + passed.negatives])
        self.positives = self.positives[passed.positives]
        self.held_out_positives = self.held_out_positives[passed.held_out_positives]
        self.retained = RetainedNegatives(
            windows.negatives[passed.negatives], windows.held_out_negatives[passed.held_out_negatives]
        )


def _passing(cascade: Cascade, windows: NDArray[np.uint8], n_threads: int) -> NDArray[np.intp]:
    n_passed, _ = evaluate_windows(cascade, windows, n_threads)
    return np.flatnonzero(n_passed == cascade.n_stages)
