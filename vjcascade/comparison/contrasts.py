"""Contrasts: questions about pairs of entries that are fixed in a file before a comparison is run.

A file is TOML, with a table for each question::

    [[contrast]]
    question = "Is Cost-Generalized AdaBoost more than a threshold?"
    measure = "cost"
    first = {booster = "cost-generalized:sample", rule = "natural"}
    second = {booster = "adaboost", rule = "theory"}
    costs = ["3:1", "30:1"]

Every question is asked at each of its costs (all unequal ones of the comparison if none are given). All answers of a
comparison are one family; see `vjcascade.comparison.significance.corrected_in_families`.
"""

from __future__ import annotations

import csv
import io
import os
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from vjcascade.boosters import Costs
from vjcascade.boosters.costs import parse_costs
from vjcascade.comparison.design import Contender, Entry, Rule
from vjcascade.comparison.results import CURVES, MEASURES
from vjcascade.comparison.significance import corrected_in_families, p_values
from vjcascade.comparison.statistics import band
from vjcascade.comparison.summary import Summary, Verdict
from vjcascade.errors import SettingsError, SourceError
from vjcascade.evaluation.intervals import Interval

MAX_BYTES = 1_000_000
"""A longer file is no list of questions."""

JUDGED = ("weak", *CURVES)
"""Measures that may be asked for, of which less is better but for hit rates."""


class Side(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One side of a contrast.

    Attributes
    ----------
    booster : str
        As for `Contender`.
    rule : str
        Name of a `Rule`.
    """

    booster: str
    rule: str

    def entry(self, costs: Costs) -> Entry:
        """Return the entry at some costs."""
        return Entry(Contender(self.booster), costs, Rule.parse(self.rule))


class Contrast(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question.

    Attributes
    ----------
    question : str
        In words.
    measure : str
        One of `JUDGED`.
    first, second : Side
        Who is compared.
    costs : tuple of str
        At each of which; all unequal ones of a comparison if there are none.

    Examples
    --------
    >>> natural, calibrated = Side("adaboost", "natural"), Side("adaboost", "calibrated")
    >>> Contrast("Does calibration help?", "cost", natural, calibrated).costs
    ()
    """

    question: str
    measure: str
    first: Side
    second: Side
    costs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The answer to a question at some costs.

    Attributes
    ----------
    contrast : Contrast
        The question.
    costs : Costs
        Where.
    means : pair of float
        Of the two sides.
    difference : Interval
        Of the first minus the second, with its 95 % interval.
    p : float
        P-value by itself.
    corrected : float
        The same, corrected for all questions of the comparison.
    n_units : int
        Splits, draws or tables that were counted.
    """

    contrast: Contrast
    costs: Costs
    means: tuple[float, float]
    difference: Interval
    p: float
    corrected: float
    n_units: int

    @property
    def verdict(self) -> Verdict:
        """Whether the first is better or worse than the second."""
        sign = -1 if self.contrast.measure == "hit_rate" else 1
        return Verdict.of(sign * self.difference.mean, self.corrected)

    def in_words(self) -> str:
        """Return the answer in a clause, for example ``cost of a (natural) at 3:1 less than of b (theory)``."""
        first, second = (f"{one.booster} ({one.rule})" for one in (self.contrast.first, self.contrast.second))
        less = "less" if self.difference.mean < 0 else "more"
        title = MEASURES[self.contrast.measure].title
        return (
            f"{title} of {first} at {self.costs} {less} than of {second} (corrected p {self.corrected:.2g})"
        )


def read_contrasts(path: str | os.PathLike[str]) -> tuple[Contrast, ...]:
    """Read contrasts from a file.

    Parameters
    ----------
    path : path
        TOML, as the head of this module tells.

    Returns
    -------
    tuple of Contrast
        At least one.

    Raises
    ------
    SourceError
        If there is no such file, or it is no list of contrasts; what is wrong is named.

    Examples
    --------
    >>> [contrast.question for contrast in read_contrasts("samples/comparison/contrasts.toml")]  # doctest: +SKIP
    """
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SourceError(f"{path} has more than {MAX_BYTES:,} bytes: too many for a list of contrasts")
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        found = msgspec.convert(values, _File).contrast
        for one in found:
            _check(one)
    except (OSError, ValueError, RecursionError, msgspec.ValidationError, SettingsError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SourceError(f"{path} is not a list of contrasts: {reason}") from None
    return found


def judged(summary: Summary, contrasts: Sequence[Contrast]) -> tuple[Outcome, ...]:
    """Answer contrasts; those whose sides or costs take no part are left out.

    Parameters
    ----------
    summary : Summary
        Of the comparison.
    contrasts : sequence of Contrast
        What was asked.

    Returns
    -------
    tuple of Outcome
        In the order of the questions. One family for the correction.

    Examples
    --------
    >>> outcomes = judged(Summary(comparison), read_contrasts("contrasts.toml"))  # doctest: +SKIP
    """
    asked = [(one, *place) for one in contrasts for place in _places(summary, one)]
    found = []
    for one, costs, first, second in asked:
        differences = summary.unit_differences(one.measure, [(first, second)])
        mean, low, high = (float(side[0]) for side in band(differences.T, summary.unit_share))
        means = summary.overall[one.measure].mean
        p = float(p_values(differences, summary.unit_share)[0])
        n_units = int(np.count_nonzero(~np.isnan(differences)))
        found.append(
            (one, costs, (float(means[first]), float(means[second])), Interval(mean, low, high), p, n_units)
        )
    corrected = corrected_in_families(np.array([p for *_, p, _ in found]))
    return tuple(Outcome(*one[:5], float(p), one[5]) for one, p in zip(found, corrected, strict=True))


def contrasts_csv(outcomes: Sequence[Outcome]) -> str:
    """Return answers as a table, one line for each.

    Parameters
    ----------
    outcomes : sequence of Outcome
        Of `judged`.

    Returns
    -------
    str
        Comma-separated values with a header.

    Examples
    --------
    >>> Path("contrasts.csv").write_text(contrasts_csv(judged(Summary(comparison), contrasts)))  # doctest: +SKIP
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    sides = [f"{name}_{what}" for name in ("first", "second") for what in ("booster", "rule", "mean")]
    ends = ["difference", "difference_low", "difference_high"]
    writer.writerow(["question", "measure", "costs", *sides, *ends, "p", "corrected_p", "units", "verdict"])
    for one in outcomes:
        asked = one.contrast
        pairs = zip((asked.first, asked.second), one.means, strict=True)
        found = [one.difference.mean, one.difference.low, one.difference.high, one.p, one.corrected]
        writer.writerow(
            [
                asked.question,
                asked.measure,
                one.costs,
                *(word for side, mean in pairs for word in (side.booster, side.rule, f"{mean:.6g}")),
                *(f"{number:.4g}" if not np.isnan(number) else "" for number in found),
                one.n_units,
                one.verdict,
            ]
        )
    return text.getvalue()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    contrast: tuple[Contrast, ...]


def _check(contrast: Contrast) -> None:
    """Refuse what no comparison could answer."""
    if contrast.measure not in JUDGED:
        raise SettingsError(f"measure {contrast.measure!r} is not one of {', '.join(JUDGED)}")
    for costs in map(parse_costs, contrast.costs or ("1",)):
        for side in (contrast.first, contrast.second):
            entry = side.entry(costs)
            if not entry.contender.allows(entry.rule):
                raise SettingsError(f"the rule {entry.rule} makes no sense after {entry.contender.name}")


def _places(summary: Summary, contrast: Contrast) -> Iterator[tuple[Costs, int, int]]:
    """Yield where a question can be asked: costs, and the numbers of the two entries."""
    every: Sequence[Any] = contrast.costs or [
        one for one in summary.comparison.design.costs if one.ratio != 1
    ]
    for costs in map(parse_costs, every):
        first, second = (summary.place_of(side.entry(costs)) for side in (contrast.first, contrast.second))
        if first is not None and second is not None:
            yield costs, first, second
