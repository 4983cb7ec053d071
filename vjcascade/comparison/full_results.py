"""Who trains whole cascades, what these reach on full scenes, and how sure that is."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Costs
from vjcascade.boosters.costs import parse_costs
from vjcascade.boosters.state import Floats
from vjcascade.comparison.design import Contender
from vjcascade.comparison.scenes import Found
from vjcascade.comparison.significance import max_t
from vjcascade.errors import SettingsError
from vjcascade.evaluation.curves import RecallAt, Steps
from vjcascade.evaluation.intervals import N_RESAMPLES, Interval, percentile_intervals, scene_weights
from vjcascade.training.stage import BASELINE

FALSE_ALARMS_PER_SCENE = (0.01, 0.1, 1.0)
"""Where the hit rate is read off the curve: false alarms over all scenes, divided by the scenes."""

MAIN_FALSE_ALARMS = 0.1
"""The one of these that entries are ranked by: a false alarm in every tenth picture."""

MEANS = (
    "features",
    "n_stages",
    "n_weak",
    "held_out_hit_rate",
    "false_alarm_rate",
    "seconds",
    "processor_seconds",
    "memory",
)
"""What is known of an entry beside its curve: numbers of its outcomes, and the features of what they found."""


@dataclass(frozen=True)
class FullEntry:
    """Who trains a cascade.

    Attributes
    ----------
    contender : Contender
        The booster.
    costs : Costs
        What it is trained with.
    """

    contender: Contender
    costs: Costs

    @property
    def name(self) -> str:
        """Both; boosters that ignore costs go by their name alone.

        Examples
        --------
        >>> FullEntry(Contender("adac2"), Costs(4, 1)).name, FullEntry(Contender("adaboost"), Costs()).name
        ('adac2 at 4:1', 'adaboost')
        """
        return self.contender.at(self.costs)

    @property
    def slug(self) -> str:
        """The same for a folder.

        Examples
        --------
        >>> FullEntry(Contender("adac2", copy=2), Costs(4, 1)).slug
        'adac2-2-costs-4-1'
        """
        words = [self.contender.booster]
        words += [str(self.contender.copy)] if self.contender.copy > 1 else []
        words += ["costs", str(self.costs).replace(":", "-")] if self.contender.uses_costs else []
        return "-".join(words)


def full_entries(contenders: Iterable[Contender], costs: Sequence[Any]) -> tuple[FullEntry, ...]:
    """Return who trains cascades: every booster with all costs, those that ignore costs once.

    Parameters
    ----------
    contenders : iterable of Contender
        Such on shuffled labels train no cascades and are left out.
    costs : sequence of Costs
        Each is anything that `vjcascade.boosters.costs.parse_costs` takes.

    Returns
    -------
    tuple of FullEntry
        Booster by booster, for each the costs as given.

    Raises
    ------
    SettingsError
        If a booster is unknown (near names are suggested), cannot learn with one of the costs, or is named with a
        prior, which training does not take.

    Examples
    --------
    >>> [entry.name for entry in full_entries([Contender("adaboost"), Contender("adac2")], ["2:1", "10:1"])]
    ['adaboost', 'adac2 at 2:1', 'adac2 at 10:1']
    """
    parsed = [parse_costs(one) for one in costs]
    contenders = list(contenders)
    priors = [contender.booster for contender in contenders if ":" in contender.booster]
    if priors:
        raise SettingsError(
            f"boosters: whole cascades are trained without a choice of prior; leave {priors[0]} out"
        )
    return tuple(
        FullEntry(contender, one)
        for contender in contenders
        if not contender.shuffled
        for one in (parsed if contender.uses_costs else [Costs()])
    )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a cascade is like.

    Attributes
    ----------
    found : Found or None
        In the scenes; None if not even one stage could be trained.
    ended : str
        Why training ended, in a sentence.
    n_stages, n_weak : int
        Stages and weak classifiers.
    held_out_hit_rate : float or None
        Share of held-out positives that pass, if any were held out.
    false_alarm_rate : float or None
        Estimate of training for windows of photos without the object.
    seconds, processor_seconds : float or None
        Of all stages; None if those of a stage are not known. Other work on the machine counts in the first.
    memory : int or None
        The most resident bytes that were seen.
    """

    found: Found | None
    ended: str
    n_stages: int = 0
    n_weak: int = 0
    held_out_hit_rate: float | None = None
    false_alarm_rate: float | None = None
    seconds: float | None = None
    processor_seconds: float | None = None
    memory: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON values, of which `from_dict` makes it again."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return plain | {"found": None if self.found is None else self.found.as_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Outcome:
        """Return the outcome that `as_dict` returned."""
        found = values["found"]
        return replace(cls(**values), found=None if found is None else Found.from_dict(found))


@dataclass(frozen=True)
class FullRow:
    """An entry of a comparison in numbers.

    Attributes
    ----------
    entry : FullEntry
        Which.
    n_trained : int
        Seeds with which a cascade could be trained.
    hit_rates : tuple of Interval
        One for each of `FALSE_ALARMS_PER_SCENE`.
    differences : tuple of Interval
        By how much these are above those of `BASELINE`, on the same scenes; nan if that takes no part.
    corrected : tuple of float
        P-values of the differences, corrected for all entries and all of `FALSE_ALARMS_PER_SCENE` together (max-T over
        the draws of scenes and seeds); nan for the baseline and what was not trained.
    means : mapping
        By the names in `MEANS`; nan where nothing is known.
    """

    entry: FullEntry
    n_trained: int
    hit_rates: tuple[Interval, ...]
    differences: tuple[Interval, ...]
    corrected: tuple[float, ...]
    means: Mapping[str, float]

    @property
    def main(self) -> Interval:
        """Hit rate at `MAIN_FALSE_ALARMS`."""
        return self.hit_rates[FALSE_ALARMS_PER_SCENE.index(MAIN_FALSE_ALARMS)]

    @property
    def main_difference(self) -> Interval:
        """Difference at `MAIN_FALSE_ALARMS`."""
        return self.differences[FALSE_ALARMS_PER_SCENE.index(MAIN_FALSE_ALARMS)]

    @property
    def main_corrected(self) -> float:
        """Corrected p-value at `MAIN_FALSE_ALARMS`."""
        return self.corrected[FALSE_ALARMS_PER_SCENE.index(MAIN_FALSE_ALARMS)]


@dataclass(frozen=True, eq=False)
class FullComparison:
    """Whole cascades, compared on full scenes.

    The intervals are of the bootstrap over scenes: all that they say is how much the same cascades would differ on
    other scenes of the kind. With more than one seed, which are drawn anew as well, chance in training counts, too;
    draws of few seeds vary too little, by a third at three.

    Attributes
    ----------
    entries : tuple of FullEntry
        Who.
    seeds : tuple of int
        With which each has trained.
    n_objects : ndarray of shape (n_scenes,), dtype int64
        True boxes by scene.
    outcomes : mapping
        By entry and seed (their numbers, from 0).
    metadata : mapping
        Settings, data and scenes, as JSON values by name, in groups.
    """

    entries: tuple[FullEntry, ...]
    seeds: tuple[int, ...]
    n_objects: NDArray[np.int64]
    outcomes: Mapping[tuple[int, int], Outcome]
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def baseline(self) -> int | None:
        """Number of the entry that all are compared with, if it takes part."""
        boosters = [entry.contender.booster for entry in self.entries]
        return boosters.index(BASELINE) if BASELINE in boosters else None

    @cached_property
    def rows(self) -> tuple[FullRow, ...]:
        """The entries in numbers."""
        rates = self._resampled(np.array(FALSE_ALARMS_PER_SCENE))
        base = np.full_like(rates[0], np.nan) if self.baseline is None else rates[self.baseline]
        differences = [self._over_seeds(one - base) for one in rates]
        corrected = self._corrected(differences)
        return tuple(
            FullRow(
                entry,
                sum(self.outcomes[number, k].found is not None for k in range(len(self.seeds))),
                percentile_intervals(self._over_seeds(rates[number])),
                percentile_intervals(differences[number]),
                tuple(corrected[number].tolist()),
                self._means(number),
            )
            for number, entry in enumerate(self.entries)
        )

    @cached_property
    def curves(self) -> tuple[Floats, tuple[tuple[Interval, ...], ...]]:
        """False alarms per scene, rising, and for each entry the hit rate at each of them."""
        false_alarms = np.geomspace(1 / len(self.n_objects), 10, 31)
        rates = self._resampled(false_alarms)
        return false_alarms, tuple(percentile_intervals(self._over_seeds(one)) for one in rates)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON values, of which `from_dict` makes it again."""
        return {
            "entries": [
                {"booster": e.contender.booster, "copy": e.contender.copy, "costs": str(e.costs)}
                for e in self.entries
            ],
            "seeds": list(self.seeds),
            "n_objects": self.n_objects.tolist(),
            "outcomes": [
                {"entry": entry, "seed": seed, **outcome.as_dict()}
                for (entry, seed), outcome in sorted(self.outcomes.items())
            ],
            "told": {name: dict(group) for name, group in self.metadata.items()},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> FullComparison:
        """Return the comparison that `as_dict` returned."""
        outcomes = {}
        for one in values["outcomes"]:
            outcome = {name: value for name, value in one.items() if name not in {"entry", "seed"}}
            outcomes[one["entry"], one["seed"]] = Outcome.from_dict(outcome)
        return cls(
            tuple(
                FullEntry(Contender(e["booster"], e["copy"]), parse_costs(e["costs"]))
                for e in values["entries"]
            ),
            tuple(values["seeds"]),
            np.array(values["n_objects"], np.int64),
            outcomes,
            values["told"],
        )

    def _resampled(self, false_alarms: Floats) -> Floats:
        """Return hit rates, shape (n_entries, n_seeds, 1 + N_RESAMPLES, n), on the scenes and on such drawn of them."""
        n_scenes = len(self.n_objects)
        weights = scene_weights(n_scenes, N_RESAMPLES)
        limits = np.round(false_alarms * n_scenes, 9)  # 0.29 * 100 is below 29
        shape = len(self.entries), len(self.seeds), len(weights), len(limits)
        rates = np.full(shape, np.nan)
        for place, outcome in self.outcomes.items():
            if outcome.found is not None:
                rates[place] = hit_rates(outcome.found, self.n_objects, weights, limits)
        return rates

    def _over_seeds(self, rates: Floats) -> Floats:
        """Return the means, shape (1 + N_RESAMPLES, n), over the seeds and over such drawn of them."""
        n_seeds = len(self.seeds)
        draws = np.random.default_rng(1).integers(0, n_seeds, (N_RESAMPLES, n_seeds))
        picks = np.concatenate([np.arange(n_seeds)[np.newaxis], draws])
        picked = rates[picks.T, np.arange(len(picks))]
        there = ~np.isnan(picked)
        with np.errstate(invalid="ignore"):  # no seed that was trained
            means: Floats = np.where(there, picked, 0.0).sum(axis=0) / there.sum(axis=0)
        return means

    def _corrected(self, differences: Sequence[Floats]) -> Floats:
        """Return corrected p-values, shape (n_entries, n); a family of all that is compared with the baseline."""
        corrected = np.full((len(self.entries), differences[0].shape[1]), np.nan)
        judged = [number for number in range(len(self.entries)) if number != self.baseline]
        if judged and self.baseline is not None:
            found, _ = max_t(np.concatenate([differences[number] for number in judged], axis=1))
            corrected[judged] = found.reshape(len(judged), -1)
        return corrected

    def _means(self, entry: int) -> dict[str, float]:
        outcomes = [self.outcomes[entry, k] for k in range(len(self.seeds))]
        trained = [outcome for outcome in outcomes if outcome.found is not None]
        return {name: _mean([_number(outcome, name) for outcome in trained]) for name in MEANS}


def hit_rates(
    found: Found, n_objects: NDArray[np.int64], weights: NDArray[np.int64], limits: Floats
) -> Floats:
    """Return which share of the objects is found with no more than so many false alarms.

    Parameters
    ----------
    found : Found
        Detections, the best first.
    n_objects : ndarray of shape (n_scenes,), dtype int64
        True boxes by scene.
    weights : ndarray of shape (n, n_scenes), dtype int64
        How many times each scene counts.
    limits : ndarray of shape (m,), dtype float64
        False alarms in all scenes together.

    Returns
    -------
    ndarray of shape (n, m), dtype float64
        In [0, 1]; that of all detections where these have fewer false alarms; nan where there is no object.

    Examples
    --------
    >>> found = Found(np.array([0, 1]), np.array([5.5, 2.5]), np.array([True, False]), 1.0)
    >>> hit_rates(found, np.array([1, 1]), np.array([[1, 1], [0, 2]]), np.array([0.0, 1.0])).tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """
    steps = Steps.of_rows(
        found.scores, found.scenes, found.hits.astype(np.float64), (~found.hits).astype(np.int64), n_objects
    )
    return steps.measured(weights, [RecallAt(limit) for limit in limits.tolist()])


def full_csv(full: FullComparison) -> str:
    """Return the entries in numbers as a table, one line for each.

    Parameters
    ----------
    full : FullComparison
        What was compared.

    Returns
    -------
    str
        Comma-separated values with a header; empty where nothing is known.
    """
    names = [f"{name}_at_{rate:g}" for rate in FALSE_ALARMS_PER_SCENE for name in ("hit_rate", "difference")]
    columns = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    columns += [f"difference_at_{rate:g}_corrected_p" for rate in FALSE_ALARMS_PER_SCENE]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["entry", "booster", "costs", "seeds", "trained", *columns, *MEANS])
    for row in full.rows:
        pairs = zip(row.hit_rates, row.differences, strict=True)
        numbers = [end for pair in pairs for one in pair for end in (one.mean, one.low, one.high)]
        writer.writerow(
            [
                row.entry.name,
                row.entry.contender.name,
                row.entry.costs if row.entry.contender.uses_costs else "",
                len(full.seeds),
                row.n_trained,
                *map(_written, [*numbers, *row.corrected]),
                *(_written(row.means[name]) for name in MEANS),
            ]
        )
    return text.getvalue()


def full_json(full: FullComparison) -> str:
    """Return all of a comparison, every detection included, of which `FullComparison.from_dict` makes it again.

    Parameters
    ----------
    full : FullComparison
        What was compared.

    Returns
    -------
    str
        JSON.
    """
    return json.dumps(full.as_dict(), allow_nan=False, ensure_ascii=False) + "\n"


def _number(outcome: Outcome, name: str) -> float | None:
    if name == "features":
        return None if outcome.found is None else outcome.found.features
    value: float | None = getattr(outcome, name)
    return value


def _mean(numbers: Sequence[float | None]) -> float:
    known = [number for number in numbers if number is not None]
    return float(np.mean(known)) if known else math.nan


def _written(number: float) -> str:
    return "" if math.isnan(number) else f"{number:.6g}"
