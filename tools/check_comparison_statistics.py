"""Check by simulation that a comparison claims no difference where there is none, and finds one that is there.

``python tools/check_comparison_statistics.py`` makes up the results of 200 comparisons of each kind, hands them to the code that
answers, and counts those in which any difference at all is claimed: in the answer, or by a mark of the report, or by a diagram
of ranks. Without a difference between boosters, that may be so in 5 % of them at most. With a known one in all that one booster
reaches, of `POWER_AT` standard deviations of a paired difference, it must be named as the better one in 80 % at least.

Kinds: independent draws; splits of one sample, whose results are correlated as the corrected t takes them to be; tables, on
each of which boosters really differ, at random. Noise is normal, skewed, or counts with many ties.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vjcascade.boosters.state import Floats
from vjcascade.comparison import Comparison, Design, Summary
from vjcascade.comparison.answer import verdict
from vjcascade.comparison.results import CURVES, MEASURES, Dataset
from vjcascade.comparison.summary import Verdict

MOST_WRONG = 0.05
LEAST_FOUND = 0.8

BOOSTERS = ("adaboost", "cost-generalized", "cost-sensitive", "adac2", "csb2", "gentle")
COSTS = (1, 2, 10)
SHIFTED = "cost-generalized"
"""The booster that is better where there is a difference."""

N_TABLES, N_STAGES = 12, 3

Noise = Callable[[np.random.Generator, tuple[int, ...]], Floats]


@dataclass(frozen=True)
class Kind:
    """A kind of comparison.

    Attributes
    ----------
    name : str
        For people.
    n_seeds : int
        Draws or splits.
    correlation : float
        Between the results of two seeds.
    noise : callable
        Draws numbers of mean 0 and variance 1.
    n_tables : int
        0 for stages.
    """

    name: str
    n_seeds: int
    correlation: float
    noise: Noise
    n_tables: int = 0

    @property
    def n_units(self) -> int:
        """What differences are judged over."""
        return self.n_tables or self.n_seeds


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw normal noise."""
    return rng.standard_normal(shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw noise with a long tail to one side."""
    return rng.exponential(1.0, shape) - 1


def counts(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw noise of few values, which often tie."""
    return rng.poisson(1.0, shape) - 1.0


SPLIT_CORRELATION = 1 / 3
"""Where half is trained on and a quarter tested: test samples over those of training and test."""

KINDS = (
    Kind("8 independent draws", 8, 0.0, normal),
    Kind("8 independent draws, skewed", 8, 0.0, skewed),
    Kind("3 independent draws, counts", 3, 0.0, counts),
    Kind("10 splits of one sample", 10, SPLIT_CORRELATION, normal),
    Kind("3 splits of one sample, counts", 3, SPLIT_CORRELATION, counts),
    Kind("12 tables", 5, 0.5, normal, N_TABLES),
    Kind("12 tables, skewed", 5, 0.5, skewed, N_TABLES),
)

POWER_AT: Mapping[str, float] = {
    "8 independent draws": 3.0,
    "10 splits of one sample": 5.0,
    "12 tables": 2.5,
}
"""Standard deviations of a paired difference that must be found, by kind: what it takes among so many comparisons."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    faults = 0
    for line, is_right in checks(arguments.repeats, arguments.seed):
        print(f"{'ok  ' if is_right else 'FAIL'} {line}", flush=True)
        faults += not is_right
    sys.exit(bool(faults))


def checks(n_repeats: int, seed: int) -> Iterator[tuple[str, bool]]:
    """Yield what was found, and whether it is as it must be."""
    for kind in KINDS:
        rng = np.random.default_rng([seed, 1])
        summaries = [Summary(simulated(rng, kind, 0.0)) for _ in range(n_repeats)]
        wrong = sum(map(claims_anything, summaries)) / n_repeats
        n_claims = len(summaries[0].claims)
        yield (
            f"{kind.name}, no difference: {wrong:.1%} of {n_repeats} families of {n_claims} claim one",
            wrong <= MOST_WRONG,
        )
        apart = sum(map(tells_ranks_apart, summaries)) / n_repeats
        if kind.n_tables:
            yield (
                f"{kind.name}, no difference: {apart:.1%} of the sets of diagrams tell ranks apart",
                apart <= MOST_WRONG,
            )
    for kind in KINDS:
        if kind.name in POWER_AT:
            rng, effect = np.random.default_rng([seed, 2]), POWER_AT[kind.name]
            found = sum(finds_it(Summary(simulated(rng, kind, effect))) for _ in range(n_repeats)) / n_repeats
            yield (
                f"{kind.name}, a difference of {effect:g} standard deviations: found in {found:.1%} of {n_repeats}",
                found >= LEAST_FOUND,
            )


def simulated(rng: np.random.Generator, kind: Kind, effect: float) -> Comparison:
    """Return a comparison with made-up results.

    Parameters
    ----------
    rng : Generator
        Of all that is made up.
    kind : Kind
        Of what.
    effect : float
        By how many standard deviations of a paired difference, over the units that differences are judged over, one
        booster is better.

    Returns
    -------
    Comparison
        Complete. What is hard for one is hard for all, and entries of a booster are alike.
    """
    design = Design(
        BOOSTERS, COSTS, ("natural", "hit-rate", "calibrated"), n_rounds=400, n_seeds=kind.n_seeds
    )
    n_datasets = kind.n_tables or N_STAGES
    shape = n_datasets, len(design.entries), kind.n_seeds
    boosters = np.array([BOOSTERS.index(entry.contender.booster) for entry in design.entries])
    better = boosters == BOOSTERS.index(SHIFTED)
    found = {}
    for measure, middle, scale in (
        ("weak", 100.0, 8.0),
        ("false_alarm_rate", 0.4, 0.02),
        ("cost", 0.2, 0.01),
    ):
        own = _correlated(rng, kind, shape)
        of_booster = _correlated(rng, kind, (n_datasets, len(BOOSTERS), kind.n_seeds))[:, boosters]
        of_all = 3 * rng.standard_normal((n_datasets, 1, kind.n_seeds))
        noise = np.sqrt(0.5) * (own + of_booster)
        # The standard deviation of a paired difference over units: of sums or means over stages, or of each table
        # over its seeds.
        per_unit = (
            2 * (kind.correlation + (1 - kind.correlation) / kind.n_seeds)
            if kind.n_tables
            else 2 / n_datasets
        )
        shift = effect * np.sqrt(per_unit) * better[:, np.newaxis]
        values = middle + scale * (noise + of_all - shift)
        found[measure] = (
            np.clip(values.round() if measure == "weak" else values, 1, 400) if measure == "weak" else values
        )
    is_drawn = not kind.n_tables and kind.correlation == 0
    sizes = (400, 400, 400, 200, 200)
    datasets = tuple(Dataset(f"{i + 1}", *sizes, None, is_drawn) for i in range(n_datasets))
    rest: dict[str, Any] = dict.fromkeys(MEASURES, 0.5) | {"threshold": 0.0}
    rest["curve"] = {name: [0.5] * len(design.kept_rounds) for name in CURVES}
    cells = {
        place: rest | {name: float(values[place]) for name, values in found.items()}
        for place in np.ndindex(*shape)
    }
    return Comparison("tables" if kind.n_tables else "stages", design, datasets, cells)


def claims_anything(summary: Summary) -> bool:
    """Tell whether the answer or a mark claims a difference; both must say the same."""
    overall = [claim.verdict for claim in summary.claims]
    marks = [
        one.verdict(*place)
        for one in summary.differences.values()
        for place in np.ndindex(one.corrected.shape)
    ]
    claimed = bool({Verdict.BETTER, Verdict.WORSE} & {*overall, *marks})
    said = verdict(summary)
    if said.startswith("No evidence of a difference") == bool({Verdict.BETTER, Verdict.WORSE} & {*overall}):
        raise AssertionError(f"the answer does not say what is marked: {said}")
    return claimed


def tells_ranks_apart(summary: Summary) -> bool:
    """Tell whether any diagram shows two ranks as different."""
    return any(
        float(np.ptp(one.ranks)) >= one.difference
        for one in summary.cost_rank_tests.values()
        if not np.isnan(one.difference)
    )


def finds_it(summary: Summary) -> bool:
    """Tell whether the better booster is named, in cost."""
    return any(
        claim.verdict is Verdict.BETTER
        and claim.measure == "cost"
        and summary.comparison.entries[claim.entry].contender.booster == SHIFTED
        for claim in summary.claims
    )


def _correlated(rng: np.random.Generator, kind: Kind, shape: tuple[int, ...]) -> Floats:
    """Draw noise of variance 1, of which seeds share a part."""
    shared, own = kind.noise(rng, (*shape[:2], 1)), kind.noise(rng, shape)
    return np.sqrt(kind.correlation) * shared + np.sqrt(1 - kind.correlation) * own


if __name__ == "__main__":
    main()
