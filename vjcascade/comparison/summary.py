"""The numbers of a comparison: means with bands over seeds, differences from the baseline, ranks over datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Costs
from vjcascade.boosters.state import Floats
from vjcascade.comparison.design import Contender, Entry, Rule
from vjcascade.comparison.results import MEASURES, Comparison
from vjcascade.comparison.statistics import (
    UNBOUNDED,
    Friedman,
    band,
    censored_median,
    critical_difference,
    friedman,
    mean_ranks,
    share_reached,
)
from vjcascade.evaluation.intervals import Interval
from vjcascade.training.stage import BASELINE

BASELINE_RULES = {"weak": Rule.HIT_RATE, "false_alarm_rate": Rule.HIT_RATE, "cost": Rule.MINIMUM_COST}
"""By measure that is compared with AdaBoost's: the rule of AdaBoost's threshold, set afterwards."""

MATCHED_RULES = {"weak", "false_alarm_rate"}
"""Measures that only say something of entries with the same rule as the baseline."""


class Verdict(StrEnum):
    """What a difference from the baseline says."""

    BETTER = "better"
    WORSE = "worse"
    ALIKE = "no significant difference"
    UNKNOWN = "not known"

    @classmethod
    def of(cls, difference: Interval) -> Verdict:
        """Judge a difference in something of which less is better.

        Parameters
        ----------
        difference : Interval
            From the baseline.

        Returns
        -------
        Verdict
            Unknown where there is no band.

        Examples
        --------
        >>> Verdict.of(Interval(-2.0, -3.0, -1.0)), Verdict.of(Interval(-2.0, -5.0, 1.0))
        (<Verdict.BETTER: 'better'>, <Verdict.ALIKE: 'no significant difference'>)
        """
        if np.isnan(difference.low):
            return cls.UNKNOWN
        if difference.high < 0:
            return cls.BETTER
        return cls.WORSE if difference.low > 0 else cls.ALIKE


@dataclass(frozen=True, eq=False)
class Bands:
    """Many intervals.

    Attributes
    ----------
    mean, low, high : ndarray, dtype float64
        All of one shape; nan where there is none.
    """

    mean: Floats
    low: Floats
    high: Floats

    def at(self, *place: int) -> Interval:
        """Return one of them."""
        return Interval(float(self.mean[place]), float(self.low[place]), float(self.high[place]))

    def verdict(self, *place: int) -> Verdict:
        """Judge one of them, if they are differences."""
        return Verdict.of(self.at(*place))


@dataclass(frozen=True, eq=False)
class RankTest:
    """Entries ranked against one another over datasets.

    Attributes
    ----------
    entries : tuple of int
        Who takes part, as numbers of entries.
    ranks : ndarray of shape (n_entries,), dtype float64
        Mean ranks over the finished datasets, 1 the best; nan without any.
    n_datasets : int
        Finished datasets.
    friedman : Friedman or None
        Whether ranks differ at all; None with fewer than 2 datasets or 3 entries.
    difference : float
        The critical difference of mean ranks; nan with fewer than 2 datasets or 2 entries.
    """

    entries: tuple[int, ...]
    ranks: Floats
    n_datasets: int
    friedman: Friedman | None
    difference: float

    @property
    def order(self) -> list[int]:
        """Places in `entries`, best first."""
        return [int(place) for place in np.argsort(self.ranks, kind="stable")]


@dataclass(frozen=True, eq=False)
class Summary:
    """What a comparison comes to; computed when asked for.

    An ensemble that does not reach the targets counts as one weak classifier more than were trained, in every mean and
    difference of "weak": means are at least what is shown then, and `reached` says so.

    Attributes
    ----------
    comparison : Comparison
        Finished or not. What is said of all datasets together is of the finished ones only.
    """

    comparison: Comparison

    @cached_property
    def complete(self) -> tuple[int, ...]:
        """Datasets of which every cell is there."""
        missing = np.isnan(self._values["seconds"]).any(axis=(1, 2))
        return tuple(np.flatnonzero(~missing).tolist())

    @property
    def kind(self) -> str:
        """What a dataset is: "stage" or "table"."""
        return self.comparison.kind.removesuffix("s")

    @property
    def test_share(self) -> float:
        """Test samples for each one that is trained on, for bands over all finished datasets: the largest of theirs."""
        return max((self.comparison.datasets[dataset].test_share for dataset in self.complete), default=0.0)

    @cached_property
    def n_seeds(self) -> NDArray[np.intp]:
        """Seeds that are there, shape (n_datasets, n_entries)."""
        return np.asarray((~np.isnan(self._values["seconds"])).sum(axis=2), np.intp)

    @cached_property
    def weak_median(self) -> Floats:
        """Median of the weak classifiers to reach the targets, shape (n_datasets, n_entries); may be infinite."""
        return np.asarray(np.apply_along_axis(censored_median, 2, self.comparison.values("weak")))

    @cached_property
    def reached(self) -> Floats:
        """Share of the seeds that reach the targets, shape (n_datasets, n_entries)."""
        return np.asarray(np.apply_along_axis(share_reached, 2, self.comparison.values("weak")))

    @cached_property
    def means(self) -> Mapping[str, Bands]:
        """Means over seeds by measure, shape (n_datasets, n_entries)."""
        return {
            name: self._dataset_bands(values, self._bounds(name)) for name, values in self._values.items()
        }

    @cached_property
    def differences(self) -> Mapping[str, Bands]:
        """Paired differences from the baseline, by those measures that have one, shape (n_datasets, n_entries)."""
        return {name: self._dataset_bands(self._from_baseline(name), UNBOUNDED) for name in BASELINE_RULES}

    @cached_property
    def overall(self) -> Mapping[str, Bands]:
        """Over all finished datasets, shape (n_entries,): "weak" is their sum, the others are means."""
        return {
            name: self.over_datasets(
                self._together(name, values), bounds=self._bounds(name, len(self.complete))
            )
            for name, values in self._values.items()
        }

    @cached_property
    def overall_differences(self) -> Mapping[str, Bands]:
        """Paired differences of what `overall` tells, shape (n_entries,)."""
        return {name: self.over_datasets(self.seed_differences(name)) for name in BASELINE_RULES}

    @cached_property
    def features(self) -> Bands | None:
        """Expected features per window, shape (n_entries,), or None if it is not known how many windows get where.

        The sum over finished stages of weak classifiers to reach the targets, times the share of windows that the
        stage sees. All stages before are those of the reference, whoever is measured.
        """
        values = self._features
        return None if values is None else self.over_datasets(values, bounds=(0.0, np.inf))

    @cached_property
    def feature_differences(self) -> Bands | None:
        """Paired differences of `features` from the baseline for "weak"."""
        values = self._features
        return None if values is None else self.over_datasets(self._minus_baseline("weak", values))

    def over_datasets(
        self, values: Floats, level: float = 0.95, bounds: tuple[float, float] = UNBOUNDED
    ) -> Bands:
        """Return means over seeds of something that is known of all finished datasets together.

        Parameters
        ----------
        values : ndarray of shape (n, n_seeds), dtype float64
            Seed by seed.
        level : float
            Of the bands.
        bounds : pair of float
            Where they end.

        Returns
        -------
        Bands
            Shape (n,). They say nothing of other datasets than these.
        """
        return Bands(*band(values.T, self.test_share, level, bounds))

    def seed_totals(self, measure: str) -> Floats:
        """Return what `overall` is the mean of, shape (n_entries, n_seeds)."""
        return self._together(measure, self._values[measure])

    def seed_differences(self, measure: str) -> Floats:
        """Return what `overall_differences` is the mean of, shape (n_entries, n_seeds)."""
        return self._together(measure, self._from_baseline(measure))

    def baseline_of(self, entry: int, measure: str) -> int | None:
        """Return the entry that one is compared with.

        Parameters
        ----------
        entry : int
            Its number.
        measure : str
            One of `BASELINE_RULES`.

        Returns
        -------
        int or None
            None if AdaBoost or its rule does not take part, or the measure says nothing under the entry's rule.
        """
        one, rule = self.comparison.entries[entry], BASELINE_RULES[measure]
        if measure in MATCHED_RULES and one.rule is not rule:
            return None
        return self._places.get(Entry(Contender(BASELINE), one.costs, rule))

    def place_of(self, entry: Entry) -> int | None:
        """Return an entry's number, or None if it does not take part."""
        return self._places.get(entry)

    @cached_property
    def weak_rank_test(self) -> RankTest:
        """All pairs of a booster and costs, by the weak classifiers that reach the targets with a tuned threshold.

        Boosters that do not mind costs take part once.
        """
        first = self.comparison.design.costs[0]
        return self._rank_test(
            "weak",
            [
                place
                for place, one in enumerate(self.comparison.entries)
                if one.rule is BASELINE_RULES["weak"]
                and not one.contender.shuffled
                and (one.contender.uses_costs or one.costs == first)
            ],
        )

    @cached_property
    def cost_rank_tests(self) -> Mapping[Costs, RankTest]:
        """For each costs all pairs of a booster and a rule, by the cost of their decisions."""
        entries = list(enumerate(self.comparison.entries))
        return {
            costs: self._rank_test(
                "cost", [i for i, one in entries if one.costs == costs and not one.contender.shuffled]
            )
            for costs in self.comparison.design.costs
        }

    @cached_property
    def _places(self) -> Mapping[Entry, int]:
        return {entry: place for place, entry in enumerate(self.comparison.entries)}

    @cached_property
    def _values(self) -> Mapping[str, Floats]:
        most = float(self.comparison.design.n_rounds + 1)
        return {name: np.minimum(self.comparison.values(name), self._most(name, most)) for name in MEASURES}

    @cached_property
    def _features(self) -> Floats | None:
        rates = [self.comparison.datasets[dataset].pass_rate for dataset in self.complete]
        known = [rate for rate in rates if rate is not None]
        if not known or len(known) < len(rates):
            return None
        return np.asarray(np.tensordot(known, self._values["weak"][list(self.complete)], 1), np.float64)

    @staticmethod
    def _most(measure: str, most_weak: float) -> float:
        return most_weak if measure == "weak" else np.inf

    def _bounds(self, measure: str, n_datasets: int = 1) -> tuple[float, float]:
        low, high = MEASURES[measure].bounds
        return low, min(high, n_datasets * self._most(measure, self.comparison.design.n_rounds + 1.0))

    def _dataset_bands(self, values: Floats, bounds: tuple[float, float]) -> Bands:
        datasets = zip(values, self.comparison.datasets, strict=True)
        found = [band(one.T, dataset.test_share, bounds=bounds) for one, dataset in datasets]
        return Bands(*np.array(found).reshape(-1, 3, values.shape[1]).swapaxes(0, 1))

    def _from_baseline(self, measure: str) -> Floats:
        return self._minus_baseline(measure, self._values[measure])

    def _minus_baseline(self, measure: str, values: Floats) -> Floats:
        """Subtract each entry's baseline from values of shape (..., n_entries, n_seeds); nan where there is none."""
        places = [self.baseline_of(entry, measure) for entry in range(values.shape[-2])]
        lacks = np.array([place is None for place in places])
        baselines = values[..., [place or 0 for place in places], :]
        return np.where(lacks[:, np.newaxis], np.nan, values - baselines)

    def _together(self, measure: str, values: Floats) -> Floats:
        """Return the sum or mean over finished datasets of values of shape (n_datasets, n_entries, n_seeds)."""
        if not self.complete:
            return np.full(values.shape[1:], np.nan)
        complete = values[list(self.complete)]
        return np.asarray(complete.sum(axis=0) if measure == "weak" else complete.mean(axis=0), np.float64)

    def _rank_test(self, measure: str, entries: Sequence[int]) -> RankTest:
        table = self.means[measure].mean[np.ix_(self.complete, entries)]
        n_datasets, n = table.shape
        can_differ = n_datasets >= 2 and n >= 2
        return RankTest(
            tuple(entries),
            mean_ranks(table),
            n_datasets,
            friedman(table),
            critical_difference(n, n_datasets) if can_differ else np.nan,
        )
