"""The results of a comparison: its design, its datasets, and what every finished run was judged to reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vjcascade.boosters.state import Floats
from vjcascade.comparison.design import Design, Entry

COMMAND = "command"
"""The group of what a comparison tells whose values are command lines."""


class Measure(NamedTuple):
    """A measure.

    Attributes
    ----------
    title : str
        For people.
    meaning : str
        A sentence.
    bounds : pair of float
        Least and greatest value there can be.
    """

    title: str
    meaning: str
    bounds: tuple[float, float] = (0.0, 1.0)


MEASURES: dict[str, Measure] = {
    "weak": Measure(
        "weak classifiers",
        "Weak classifiers needed to reach the targets on the test samples; one more than were trained if none do.",
        bounds=(0.0, float("inf")),
    ),
    "hit_rate": Measure("hit rate", "Share of the test positives that pass after the last round."),
    "false_alarm_rate": Measure(
        "false-alarm rate", "Share of the test negatives that pass after the last round."
    ),
    "cost": Measure(
        "cost",
        "Cost of the decisions, as a share of the cost of being wrong about every sample, after the last round.",
    ),
    "auc": Measure("AUC", "Probability that a positive scores above a negative, after the last round."),
    "calibration_error": Measure(
        "calibration error", "How far 1 / (1 + exp(-2 f)), f the score, is from the frequency of positives."
    ),
    "calibration_error_platt": Measure(
        "calibration error, Platt", "The same after Platt's sigmoid was fitted on the samples to tune on."
    ),
    "seconds": Measure("seconds", "CPU time of boosting.", bounds=(0.0, float("inf"))),
}

CURVES = ("hit_rate", "false_alarm_rate", "cost")
"""Measures that are known after many rounds, not only after the last."""


@dataclass(frozen=True)
class Dataset:
    """A problem, and its samples of a seed.

    Attributes
    ----------
    name : str
        Of the stage or table.
    n_positives, n_negatives : int
        Samples in all.
    n_train, n_tune, n_test : int
        Samples that a seed trains on, tunes thresholds on and tests on; they differ little between seeds.
    pass_rate : float or None
        Of a stage: share of the windows in the photos that reach it.
    independent : bool
        Whether every seed has samples of its own, of which no other seed has any.
    """

    name: str
    n_positives: int
    n_negatives: int
    n_train: int
    n_tune: int
    n_test: int
    pass_rate: float | None = None
    independent: bool = False

    @property
    def test_share(self) -> float:
        """Test samples for each one that is trained on, which the bands depend on; 0 if seeds share no samples."""
        return 0.0 if self.independent else self.n_test / self.n_train


@dataclass(frozen=True, eq=False)
class Comparison:
    """A comparison, finished or not.

    Attributes
    ----------
    kind : str
        "stages" or "tables".
    design : Design
        Who is compared, and how.
    datasets : tuple of Dataset
        Stages or tables.
    cells : mapping
        By dataset, entry and seed (their numbers, from 0): a mapping of measures to numbers or None; and "curve": those
        of `CURVES` after each of `Design.kept_rounds`.
    metadata : mapping
        Settings of the data, sources, versions and command, as JSON values by name, in groups.
    """

    kind: str
    design: Design
    datasets: tuple[Dataset, ...]
    cells: Mapping[tuple[int, int, int], Mapping[str, Any]]
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The rows."""
        return self.design.entries

    @property
    def shape(self) -> tuple[int, int, int]:
        """Datasets, entries, seeds."""
        return len(self.datasets), len(self.entries), self.design.n_seeds

    @property
    def is_complete(self) -> bool:
        """Whether every cell is there."""
        return len(self.cells) == int(np.prod(self.shape))

    def values(self, measure: str) -> Floats:
        """Return a measure of all cells.

        Parameters
        ----------
        measure : str
            One of `MEASURES`.

        Returns
        -------
        ndarray of shape (n_datasets, n_entries, n_seeds), dtype float64
            nan where a cell is missing; inf in "weak" where the targets were not reached.
        """
        values = np.full(self.shape, np.nan)
        for place, cell in self.cells.items():
            number = cell[measure]
            values[place] = number if number is not None else np.inf
        return values

    def curves(self, dataset: int, entry: int, rate: str) -> Floats:
        """Return a rate after some of the rounds.

        Parameters
        ----------
        dataset, entry : int
            Which.
        rate : str
            One of `CURVES`.

        Returns
        -------
        ndarray of shape (n_seeds, n_kept_rounds), dtype float64
            Of the seeds that are there. An ensemble that ended early keeps its last rate.
        """
        cells = (self.cells.get((dataset, entry, seed)) for seed in range(self.design.n_seeds))
        curves = [cell["curve"][rate] for cell in cells if cell is not None]
        return np.array(curves).reshape(len(curves), len(self.design.kept_rounds))

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON values, of which `from_dict` makes it again."""
        return {
            "kind": self.kind,
            "design": self.design.as_dict(),
            "blocks": [asdict(dataset) for dataset in self.datasets],
            "cells": [
                {"block": dataset, "entry": entry, "seed": seed, **cell}
                for (dataset, entry, seed), cell in sorted(self.cells.items())
            ],
            "told": {name: dict(group) for name, group in self.metadata.items()},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Comparison:
        """Return the comparison that `as_dict` returned."""
        cells = {}
        for cell in values["cells"]:
            measures = {name: value for name, value in cell.items() if name not in {"block", "entry", "seed"}}
            cells[cell["block"], cell["entry"], cell["seed"]] = measures
        return cls(
            values["kind"],
            Design.from_dict(values["design"]),
            tuple(Dataset(**dataset) for dataset in values["blocks"]),
            cells,
            values["told"],
        )
