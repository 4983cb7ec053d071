"""What an operating point is chosen for, and what a detector reaches on scenes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vjcascade.checks import checked_number
from vjcascade.errors import SettingsError

FEW_OBJECTS = 50
"""With fewer objects in the scenes, figures may be off by ten points and more."""


@dataclass(frozen=True)
class Figures:
    """How well a detector does on scenes.

    Attributes
    ----------
    n_scenes, n_objects, n_hits, n_false_alarms : int
        Counts.

    Examples
    --------
    >>> figures = Figures(10, 20, 18, 2)
    >>> figures.recall, figures.precision, figures.f1, figures.false_alarms_per_picture
    (0.9, 0.9, 0.9, 0.2)
    >>> print(figures)
    recall 90.0%, precision 90.0%, 0.20 false alarms per picture, F1 0.900
    """

    n_scenes: int
    n_objects: int
    n_hits: int
    n_false_alarms: int

    @property
    def recall(self) -> float:
        """Share of the objects found."""
        return self.n_hits / max(self.n_objects, 1)

    @property
    def precision(self) -> float:
        """Share of the detections that are right; 1 without detections."""
        n = self.n_hits + self.n_false_alarms
        return self.n_hits / n if n else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of recall and precision."""
        return 2 * self.n_hits / max(self.n_hits + self.n_false_alarms + self.n_objects, 1)

    @property
    def false_alarms_per_picture(self) -> float:
        """Their mean number."""
        return self.n_false_alarms / max(self.n_scenes, 1)

    def __add__(self, other: Figures) -> Figures:
        return Figures(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def __str__(self) -> str:
        return (
            f"recall {self.recall:.1%}, precision {self.precision:.1%}, {self.false_alarms_per_picture:.2f} false "
            f"alarms per picture, F1 {self.f1:.3f}"
        )


@dataclass(frozen=True)
class Goal:
    """The goal that an operating point is chosen for; the best F1 if none of the three is given.

    Attributes
    ----------
    recall : float or None
        Lowest recall to accept, with as few false alarms as possible.
    false_alarms_per_picture : float or None
        Most false alarms per picture to accept, with the highest recall.
    precision : float or None
        Lowest precision to accept, with the highest recall.

    Raises
    ------
    SettingsError
        If a value is out of range, or several are given.

    Examples
    --------
    >>> str(Goal(recall=0.95)), str(Goal())
    ('recall at least 0.95', 'best F1')
    """

    recall: float | None = None
    false_alarms_per_picture: float | None = None
    precision: float | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        if len(given) > 1:
            raise SettingsError(f"{' and '.join(given)} cannot both be the goal: give one of them")
        for name, value in given.items():
            if name == "false_alarms_per_picture":
                checked_number(name, value, ge=0, lt=np.inf)
            else:
                checked_number(name, value, gt=0, le=1)

    def __str__(self) -> str:
        if self.recall is not None:
            return f"recall at least {self.recall:g}"
        if self.precision is not None:
            return f"precision at least {self.precision:g}"
        if self.false_alarms_per_picture is not None:
            return f"at most {self.false_alarms_per_picture:g} false alarms per picture"
        return "best F1"

    def qualities(
        self, n_hits: ArrayLike, n_false: ArrayLike, n_objects: int, n_scenes: int
    ) -> NDArray[np.float64]:
        """Return how good points of a curve are for the goal: in [0, 1] where the goal is met, below 0 where it is not.

        Parameters
        ----------
        n_hits, n_false : array_like of shape (n,), whole numbers
            Of each point.
        n_objects, n_scenes : int
            In all scenes.

        Returns
        -------
        ndarray of shape (n,), dtype float64
            Precision for a wanted recall, recall for a wanted precision or bound on false alarms, or F1.

        Examples
        --------
        >>> Goal(recall=0.5).qualities([4, 5, 6], [0, 0, 2], 10, 3).tolist()
        [-0.6, 1.0, 0.75]
        """
        n_hits, n_false = np.asarray(n_hits, np.int64), np.asarray(n_false, np.int64)
        recall = n_hits / max(n_objects, 1)
        precision = n_hits / np.maximum(n_hits + n_false, 1)
        if self.recall is not None:
            return np.where(recall >= self.recall, precision, recall - 1.0)
        if self.precision is not None:
            return np.where(precision >= self.precision, recall, precision - 1.0)
        if self.false_alarms_per_picture is not None:
            allowed = self.false_alarms_per_picture * n_scenes
            return np.where(n_false <= allowed, recall, -n_false / (1.0 + n_false))
        f1: NDArray[np.float64] = 2 * n_hits / np.maximum(n_hits + n_false + n_objects, 1)
        return f1

    def quality(self, figures: Figures) -> float:
        """Return how good some figures are for the goal; see `qualities`."""
        counts = [figures.n_hits], [figures.n_false_alarms], figures.n_objects, figures.n_scenes
        return float(self.qualities(*counts)[0])
