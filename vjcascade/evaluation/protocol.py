"""How models are judged on scenes, and the models with the settings that they are used with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vjcascade.cascade import Cascade
from vjcascade.checks import checked_number, checked_whole
from vjcascade.detection.checks import only
from vjcascade.detection.detector import Detector
from vjcascade.evaluation.curves import Score, Ties
from vjcascade.evaluation.figures import Figure, figures_for, main_figure
from vjcascade.evaluation.intervals import LEVEL, N_RESAMPLES
from vjcascade.evaluation.matching import IoU, MatchingRule

CURVE_NEIGHBORS = 1
"""Groups of more windows than this make the curve, as in the figures published for OpenCV's models."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How models are evaluated.

    Attributes
    ----------
    rule : MatchingRule
        What a hit is.
    score : Score
        What detections are ranked by.
    ties : Ties
        How detections with equal scores count.
    false_alarms_per_picture : float
        False alarms per picture at which recall ranks the models; > 0.
    counts : tuple of int
        Total numbers of false alarms at which recall is given, too.
    size_bounds : tuple of float or None
        Heights between classes of objects; if None, they are thirds of the objects in the scenes.
    n_resamples, level, seed : int, float, int
        Of the bootstrap over scenes; see `vjcascade.evaluation.intervals.bootstrap`.

    Raises
    ------
    SettingsError
        If a number is out of range.

    Examples
    --------
    >>> str(Protocol().rule), Protocol().main.name
    ('intersection over union at least 0.5', 'recall at 0.1 false alarms per picture')
    """

    rule: MatchingRule = field(default_factory=IoU)
    score: Score = Score.RANKING
    ties: Ties = Ties.TOGETHER
    false_alarms_per_picture: float = 0.1
    counts: tuple[int, ...] = (0, 5, 10, 50)
    size_bounds: tuple[float, ...] | None = None
    n_resamples: int = N_RESAMPLES
    level: float = LEVEL
    seed: int = 0

    def __post_init__(self) -> None:
        checked_number("false alarms per picture", self.false_alarms_per_picture, gt=0, lt=np.inf)
        for count in self.counts:
            checked_whole("a number of false alarms", count, ge=0)
        checked_number("level of confidence", self.level, gt=0, lt=1)
        checked_whole("draws of scenes", self.n_resamples, ge=1)

    @property
    def main(self) -> Figure:
        """What models are ranked by."""
        return main_figure(self.false_alarms_per_picture)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """What is measured."""
        return figures_for(self.false_alarms_per_picture, self.counts)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "rule": self.rule.as_dict(),
            "score": str(self.score),
            "ties": str(self.ties),
            "curve_min_neighbors": CURVE_NEIGHBORS,
            "false_alarms_per_picture": self.false_alarms_per_picture,
            "draws": self.n_resamples,
            "level": self.level,
            "seed": self.seed,
        }


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model to evaluate.

    Attributes
    ----------
    name : str
        In tables.
    detector : Detector
        Of one cascade, with the settings that are in use.
    is_tuned : bool
        Whether these come from the model's operating point.

    Examples
    --------
    >>> from vjcascade.cascade import Cascade
    >>> from vjcascade.types import Size
    >>> Candidate("mine", Detector(Cascade(Size(24, 24)), min_neighbors=1)).name
    'mine'
    """

    name: str
    detector: Detector
    is_tuned: bool = False

    @property
    def cascade(self) -> Cascade:
        """The model."""
        return only(self.detector.scanners).cascade

    @property
    def settings(self) -> dict[str, Any]:
        """The settings in use, as plain JSON values."""
        detector = self.detector
        sizes = {"min_size": detector.min_size, "max_size": detector.max_size}
        return {
            "scale_factor": detector.scale_factor,
            "min_neighbors": detector.min_neighbors,
            "min_ranking_score": detector.min_ranking_score,
            **{name: None if size is None else list(size) for name, size in sizes.items()},
        }
