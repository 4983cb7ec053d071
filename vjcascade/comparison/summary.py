"""The numbers of a comparison: means with bands over seeds, differences from the baseline, ranks over datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Costs
from vjcascade.boosters.state import Floats
from vjcascade.comparison.design import Contender, Entry, Rule
from vjcascade.comparison.results import MEASURES, Comparison
from vjcascade.comparison.significance import FAMILIES, SIGNIFICANT, corrected_in_families, p_values
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

BASELINE_RULES: Mapping[str, tuple[Rule, ...]] = {
    "weak": (Rule.HIT_RATE,),
    "false_alarm_rate": (Rule.HIT_RATE,),
    "cost": (Rule.CALIBRATED, Rule.MINIMUM_COST, Rule.THEORY),
}
"""By measure that is compared with AdaBoost's: the rules of AdaBoost's threshold, of which the first that takes part
is the baseline's. Calibrated thresholds cost less than those of minimum cost: the baseline must be the better one."""

MATCHED_RULES = {"weak", "false_alarm_rate"}
"""Measures that only say something of entries with the same rule as the baseline."""

MIN_TABLES = 6
"""From so many finished tables on, differences are judged over tables, which then stand for others of their kind."""


class Verdict(StrEnum):
    """What a difference from the baseline says."""

    BETTER = "better"
    WORSE = "worse"
    ALIKE = "no evidence of a difference"
    UNKNOWN = "not known"

    @classmethod
    def of(cls, mean: float, corrected: float) -> Verdict:
        """Judge a difference in something of which less is better.

        Parameters
        ----------
        mean : float
            From the baseline.
        corrected : float
            Its p-value, corrected for all that are judged together; nan for none.

        Returns
        -------
        Verdict
            Unknown where there is no p-value.

        Examples
        --------
        >>> Verdict.of(-2.0, 0.01), Verdict.of(-2.0, 0.3)
        (<Verdict.BETTER: 'better'>, <Verdict.ALIKE: 'no evidence of a difference'>)
        """
        if np.isnan(corrected):
            return cls.UNKNOWN
        if corrected >= SIGNIFICANT:
            return cls.ALIKE
        return cls.BETTER if mean < 0 else cls.WORSE


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


@dataclass(frozen=True, eq=False)
class Differences(Bands):
    """Paired differences from the baseline: intervals of each by itself, and whether it is more than chance.

    Attributes
    ----------
    mean, low, high : ndarray, dtype float64
        All of one shape; nan where there is none.
    p : ndarray, dtype float64
        P-values of each by itself.
    corrected : ndarray, dtype float64
        The same, corrected for the family. nan for what is not judged: the baseline, and shuffled labels.
    """

    p: Floats
    corrected: Floats

    def verdict(self, *place: int) -> Verdict:
        """Judge one of them."""
        return Verdict.of(float(self.mean[place]), float(self.corrected[place]))


@dataclass(frozen=True)
class Claim:
    """A comparison with the baseline, judged in its family.

    Attributes
    ----------
    measure : str
        One of `BASELINE_RULES`, or "features".
    entry : int
        Whose.
    mean : float
        Difference from the baseline.
    corrected : float
        P-value, corrected for the family.
    """

    measure: str
    entry: int
    mean: float
    corrected: float

    @property
    def verdict(self) -> Verdict:
        """What it says."""
        return Verdict.of(self.mean, self.corrected)


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
        Whether ranks differ at all; None with fewer than 2 tables or 3 entries, and of stages: these depend on each
        other.
    difference : float
        The critical difference of mean ranks; nan with fewer than 2 tables or 2 entries, and of stages.
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

    Examples
    --------
    >>> Summary(compare_tables(["patients.csv"], "ill", "tables", design))  # doctest: +SKIP
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
    def differences(self) -> Mapping[str, Differences]:
        """Paired differences from the baseline, by those measures that have one, shape (n_datasets, n_entries).

        All are one family. Where all datasets together show no difference, none of them does: no corrected p-value is
        less than the least of `overall_differences`.
        """
        shares = np.array([dataset.test_share for dataset in self.comparison.datasets])
        found = {name: self._from_baseline(name) for name in BASELINE_RULES}
        p = {
            name: np.reshape([p_values(*one) for one in zip(values, shares, strict=True)], values.shape[:2])
            for name, values in found.items()
        }
        least = min((claim.corrected for claim in self.claims), default=1.0)
        corrected = {name: np.maximum(one, least) for name, one in self._corrected(p).items()}
        return {
            name: self._joined(self._dataset_bands(values, UNBOUNDED), p[name], corrected[name])
            for name, values in found.items()
        }

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
    def overall_differences(self) -> Mapping[str, Differences]:
        """Paired differences of what `overall` tells, and of "features" where they are known, shape (n_entries,).

        All are one family: `claims`. Of `MIN_TABLES` tables and more, the tables are what is counted, each with its
        mean over seeds ("weak" is then no sum); of fewer, and of stages, the seeds.
        """
        found = {name: self.unit_differences(name) for name in BASELINE_RULES}
        if self._features is not None:
            found["features"] = self._minus_baseline("weak", self._features)
        p = {name: p_values(values, self.unit_share) for name, values in found.items()}
        corrected = self._corrected(p)
        return {
            name: self._joined(Bands(*band(values.T, self.unit_share)), p[name], corrected[name])
            for name, values in found.items()
        }

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The family of all comparisons with the baseline over all finished datasets, those of least p-value first."""
        found = [
            Claim(name, entry, float(one.mean[entry]), float(one.corrected[entry]))
            for name, one in self.overall_differences.items()
            for entry in np.flatnonzero(self._is_judged(name) & ~np.isnan(one.corrected)).tolist()
        ]
        return tuple(sorted(found, key=lambda claim: claim.corrected))

    @property
    def counts_tables(self) -> bool:
        """Whether differences are judged over tables, not over seeds."""
        return self.comparison.kind == "tables" and len(self.complete) >= MIN_TABLES

    @property
    def unit_share(self) -> float:
        """Test share of the units that differences are judged over: 0 for tables and draws, which are independent."""
        return 0.0 if self.counts_tables else self.test_share

    @cached_property
    def features(self) -> Bands | None:
        """Expected features per window, shape (n_entries,), or None if it is not known how many windows get where.

        The sum over finished stages of weak classifiers to reach the targets, times the share of windows that the
        stage sees. All stages before are those of the reference, whoever is measured.
        """
        values = self._features
        return None if values is None else self.over_datasets(values, bounds=(0.0, np.inf))

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

    def curves(self, entry: int, name: str) -> Floats:
        """Return the mean over finished datasets of what is known after many rounds.

        Parameters
        ----------
        entry : int
            Whose.
        name : str
            One of `vjcascade.comparison.results.CURVES`.

        Returns
        -------
        ndarray of shape (n_seeds, n_kept_rounds), dtype float64
            After each of `Design.kept_rounds`; without rows if no dataset is finished.
        """
        found = [self.comparison.curves(dataset, entry, name) for dataset in self.complete]
        return np.mean(found, axis=0) if found else np.empty((0, len(self.comparison.design.kept_rounds)))

    def unit_differences(self, measure: str, pairs: Sequence[tuple[int, int]] | None = None) -> Floats:
        """Return paired differences of what `overall` tells, unit by unit.

        Parameters
        ----------
        measure : str
            One of `MEASURES`.
        pairs : sequence of (int, int), optional
            Entries: of the first minus the second. If not given, every entry minus its baseline.

        Returns
        -------
        ndarray of shape (n_pairs, n_units), dtype float64
            Units are tables, or seeds: see `overall_differences`.
        """
        values = self._values[measure]
        if pairs is None:
            values = self._from_baseline(measure)
        else:
            first, second = np.array(pairs, np.intp).reshape(-1, 2).T
            values = values[:, first] - values[:, second]
        if self.counts_tables:
            return np.asarray(values[list(self.complete)].mean(axis=2).T, np.float64)
        return self._together(measure, values)

    def baseline_rule(self, measure: str) -> Rule | None:
        """Return the rule of the baseline's threshold, or None if none that would do takes part.

        Parameters
        ----------
        measure : str
            One of `BASELINE_RULES`.

        Returns
        -------
        Rule or None
            The first of `BASELINE_RULES` that takes part.
        """
        return next((one for one in BASELINE_RULES[measure] if one in self.comparison.design.rules), None)

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
        one, rule = self.comparison.entries[entry], self.baseline_rule(measure)
        if rule is None or (measure in MATCHED_RULES and one.rule is not rule):
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
                if one.rule is Rule.HIT_RATE
                and not one.contender.shuffled
                and (one.contender.uses_costs or one.costs == first)
            ],
        )

    @cached_property
    def cost_rank_tests(self) -> Mapping[Costs, RankTest]:
        """For each costs all pairs of a booster and a rule, by the cost of their decisions.

        Those of all costs are one family: Friedman's p-values are corrected as `overall_differences` are, and the level
        of the critical difference by Bonferroni's method.
        """
        entries, design = list(enumerate(self.comparison.entries)), self.comparison.design
        tests = [
            self._rank_test(
                "cost",
                [i for i, one in entries if one.costs == costs and not one.contender.shuffled],
                len(design.costs),
            )
            for costs in design.costs
        ]
        corrected = corrected_in_families(
            np.array([one.friedman.p_value if one.friedman else np.nan for one in tests])
        )
        return {
            costs: replace(one, friedman=one.friedman and replace(one.friedman, p_value=float(p)))
            for costs, one, p in zip(design.costs, tests, corrected, strict=True)
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

    def _is_judged(self, measure: str) -> NDArray[np.bool_]:
        """Tell which entries count in a family, shape (n_entries,): each once; no baseline, no shuffled labels."""
        base, first = "weak" if measure == "features" else measure, self.comparison.design.costs[0]
        return np.array(
            [
                self.baseline_of(place, base) not in (None, place)
                and not one.contender.shuffled
                and (base not in MATCHED_RULES or one.contender.uses_costs or one.costs == first)
                for place, one in enumerate(self.comparison.entries)
            ],
            np.bool_,
        )

    def _corrected(self, p: Mapping[str, Floats]) -> dict[str, Floats]:
        """Correct the p-values of a family, given by measure in shape (..., n_entries)."""
        family = {name: np.where(self._is_judged(name), one, np.nan) for name, one in p.items()}
        flat = corrected_in_families(np.concatenate([one.ravel() for one in family.values()]))
        parts = np.split(flat, np.cumsum([one.size for one in family.values()])[:-1])
        shaped = zip(family, parts, strict=True)
        return {name: self._for_all_costs(name, part.reshape(p[name].shape)) for name, part in shaped}

    def _for_all_costs(self, measure: str, corrected: Floats) -> Floats:
        """Give boosters that do not mind costs at all costs what was judged at the first, where costs do not matter."""
        if measure == "cost":
            return corrected
        first, entries = self.comparison.design.costs[0], self.comparison.entries
        places = [
            place if one.contender.uses_costs else self._places[replace(one, costs=first)]
            for place, one in enumerate(entries)
        ]
        return corrected[..., places]

    @staticmethod
    def _joined(bands: Bands, p: Floats, corrected: Floats) -> Differences:
        return Differences(bands.mean, bands.low, bands.high, p, corrected)

    def _rank_test(self, measure: str, entries: Sequence[int], n_tests: int = 1) -> RankTest:
        table = self.means[measure].mean[np.ix_(self.complete, entries)]
        n_datasets, n = table.shape
        can_differ = self.comparison.kind == "tables" and n_datasets >= 2 and n >= 2
        return RankTest(
            tuple(entries),
            mean_ranks(table),
            n_datasets,
            friedman(table) if can_differ else None,
            critical_difference(n, n_datasets, 1 - SIGNIFICANT / (FAMILIES * n_tests))
            if can_differ
            else np.nan,
        )
