"""How far photos can feed training: each stage needs false alarms of all stages before it, and these get rare."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vjcascade.training.mining.row_sampling import RowSampler
from vjcascade.training.settings import TrainingSettings
from vjcascade.types import Size

FEW_STAGES = 8
"""Photos that feed fewer stages than asked for, and than this, are too few."""


@dataclass(frozen=True)
class Reach:
    """What photos can give.

    Attributes
    ----------
    n_windows : int
        Windows in all photos, at all places and levels.
    n_negatives : int
        That a stage needs.
    false_alarm_rate : float
        That a stage may have.
    n_wanted : int
        Stages that are asked for.
    """

    n_windows: int
    n_negatives: int
    false_alarm_rate: float
    n_wanted: int

    @classmethod
    def of(cls, sizes: Sequence[Size], window: Size, n_positives: int, settings: TrainingSettings) -> Reach:
        """Count the windows of photos.

        Parameters
        ----------
        sizes : sequence of Size
            Of the photos.
        window : Size
            The training window.
        n_positives : int
            Crops and copies that are trained on.
        settings : TrainingSettings
            Of the run.

        Returns
        -------
        Reach
            For these settings.
        """
        n_windows = sum(n * RowSampler(size, window).n_windows for size, n in Counter(sizes).items())
        return cls(
            n_windows, settings.negatives_for(n_positives), settings.false_alarm_rate, settings.max_stages
        )

    @property
    def n_stages(self) -> int:
        """Stages that these windows feed, about.

        Examples
        --------
        >>> Reach(1_000_000, 1000, 0.5, 15).n_stages, Reach(500, 1000, 0.5, 15).n_stages
        (10, 0)
        """
        if self.n_windows < self.n_negatives:
            return 0
        return 1 + math.floor(math.log(self.n_windows / self.n_negatives) / -math.log(self.false_alarm_rate))

    @property
    def is_short(self) -> bool:
        """Whether they feed fewer stages than are asked for and make a useful detector."""
        return self.n_stages < min(self.n_wanted, FEW_STAGES)

    def __str__(self) -> str:
        fed = f"about {self.n_stages}" if self.n_stages < self.n_wanted else "all"
        return (
            f"{self.n_windows:,} windows in the photos: enough for {fed} of {self.n_wanted} stages, at "
            f"{self.n_negatives:,} negatives and a false-alarm rate of {self.false_alarm_rate:.0%} per stage"
        )
