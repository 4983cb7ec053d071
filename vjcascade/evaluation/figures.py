"""The figures by which models are compared on scenes, and their values on all scenes and on such drawn of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.state import Floats
from vjcascade.evaluation.curves import (
    AveragePrecision,
    BestF1,
    EndFalseAlarms,
    EndPrecision,
    EndRecall,
    EqualPoint,
    LogAverageMissRate,
    Measure,
    RecallAt,
    Steps,
)
from vjcascade.evaluation.intervals import Interval

COCO_OVERLAPS = tuple(round(0.5 + 0.05 * i, 2) for i in range(10))
"""Intersections over union at which COCO averages the average precision."""

COCO = tuple(f"IoU {overlap:g}" for overlap in COCO_OVERLAPS)
"""Names of the curves at these; see `Figure.curves`."""

CURVE, POINT = "curve", "point"
"""Names of the curve by the chosen rule, and of what is found with the settings in use."""

PER_MEGAWINDOW = 1.0
"""False alarms per million windows at which recall is read."""

RATES = (0.1, 1.0)
"""False alarms per picture at which recall is read beside the number that was asked for."""


@dataclass(frozen=True)
class Figure:
    """One number that tells how good a model is.

    Attributes
    ----------
    key : str
        For files.
    measure : Measure
        What is read off the curves.
    curves : tuple of str
        Off which; the mean counts where there are several.
    words : str
        For people; the measure's name if not given.
    is_share : bool
        Whether it lies in [0, 1] and is shown in percent.
    is_per_megawindow : bool
        Whether the false alarms of `measure`, a `RecallAt`, are per million windows.

    Examples
    --------
    >>> Figure("best_f1", BestF1(), ("curve",)).name
    'best F1'
    """

    key: str
    measure: Measure
    curves: tuple[str, ...] = (CURVE,)
    words: str = ""
    is_share: bool = True
    is_per_megawindow: bool = False

    @property
    def name(self) -> str:
        """For people."""
        return self.words or self.measure.name

    def written(self, interval: Interval, sign: str = "") -> tuple[str, str, str]:
        """Return the ends of an interval, its middle first, in few digits; shares in percent, without the sign of it.

        Examples
        --------
        >>> Figure("best_f1", BestF1()).written(Interval(0.5, -0.1, 1.0), "+")
        ('+50.0', '-10.0', '+100.0')
        """
        scale, digits = (100, 1) if self.is_share else (1, 2)
        mean, low, high = (
            f"{scale * end:{sign}.{digits}f}" for end in (interval.mean, interval.low, interval.high)
        )
        return mean, low, high

    def measure_for(self, windows_per_picture: float) -> Measure:
        """Return the measure for a model that looks at so many windows in a picture."""
        if self.is_per_megawindow and isinstance(self.measure, RecallAt):
            per_picture = self.measure.false_alarms * windows_per_picture / 1e6
            return replace(self.measure, false_alarms=per_picture, per_picture=True)
        return self.measure


def main_figure(false_alarms_per_picture: float) -> Figure:
    """Return the figure that models are ranked by: recall at so many false alarms per picture.

    Examples
    --------
    >>> main_figure(1).name, main_figure(0.1).name
    ('recall at 1 false alarm per picture', 'recall at 0.1 false alarms per picture')
    """
    rate = f"{false_alarms_per_picture:g}"
    words = f"recall at {rate} false alarm{'' if rate == '1' else 's'} per picture"
    return Figure(
        f"recall_at_{rate}_per_picture", RecallAt(false_alarms_per_picture, per_picture=True), words=words
    )


def figures_for(false_alarms_per_picture: float, counts: Sequence[int]) -> tuple[Figure, ...]:
    """Return all figures, those of the settings in use first.

    Parameters
    ----------
    false_alarms_per_picture : float
        Where recall is read that models are ranked by.
    counts : sequence of int
        Total numbers of false alarms at which recall is given, too.

    Returns
    -------
    tuple of Figure
        Each key is there once.

    Examples
    --------
    >>> [figure.key for figure in figures_for(1, [5])][2:5]
    ['point_false_alarms_per_picture', 'recall_at_0.1_per_picture', 'recall_at_1_per_picture']
    """
    rates = sorted({*RATES, false_alarms_per_picture})
    per_megawindow = f"recall at {PER_MEGAWINDOW:g} false alarm per million windows"
    return (
        Figure("point_recall", EndRecall(), (POINT,), "recall, as used"),
        Figure("point_precision", EndPrecision(), (POINT,), "precision, as used"),
        Figure(
            "point_false_alarms_per_picture",
            EndFalseAlarms(),
            (POINT,),
            "false alarms per picture, as used",
            is_share=False,
        ),
        *map(main_figure, rates),
        *(Figure(f"recall_at_{n}", RecallAt(n)) for n in sorted(set(counts))),
        Figure(
            "recall_at_1_per_megawindow",
            RecallAt(PER_MEGAWINDOW),
            words=per_megawindow,
            is_per_megawindow=True,
        ),
        Figure("best_f1", BestF1()),
        Figure("equal_point", EqualPoint()),
        Figure("log_average_miss_rate", LogAverageMissRate()),
        Figure("ap_50", AveragePrecision(), COCO[:1], "AP at IoU 0.5"),
        Figure("ap_coco", AveragePrecision(), COCO, "AP at IoU 0.5 to 0.95 (COCO)"),
    )


def figure_values(
    figures: Sequence[Figure],
    curves: Mapping[str, Steps],
    weights: NDArray[np.int64],
    windows_per_picture: float,
) -> Floats:
    """Return the values of figures on scenes that come so many times each.

    Parameters
    ----------
    figures : sequence of Figure
        Which.
    curves : mapping of str to Steps
        By the names in `Figure.curves`.
    weights : ndarray of shape (n, n_scenes), dtype int64
        From `vjcascade.evaluation.intervals.scene_weights`.
    windows_per_picture : float
        That the model looks at.

    Returns
    -------
    ndarray of shape (n, n_figures), dtype float64
        nan where a figure cannot be told.
    """
    measures = [figure.measure_for(windows_per_picture) for figure in figures]
    totals = np.zeros((len(weights), len(figures)))
    for name, steps in curves.items():
        columns = [column for column, figure in enumerate(figures) if name in figure.curves]
        if columns:  # each curve is made once
            totals[:, columns] += steps.measured(weights, [measures[column] for column in columns])
    means: Floats = totals / [len(figure.curves) for figure in figures]
    return means
