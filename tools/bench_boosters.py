"""Time a boosting round of every booster, in rounds of AdaBoost on the same samples.

``python tools/bench_boosters.py`` boosts faces against crops of photos (both from inside scikit-image, the faces in altered
copies; or from folders of yours), once with every booster, and prints a Markdown table. Times and ratios are medians over all rounds
but the first. The speed of a machine that others work on drifts; so a round of plain AdaBoost is timed before and after each of the
booster's, and the ratio is that to the mean of the two. The ratio that counts is that of processor seconds.

What a round costs depends on the costs only for boosters whose loss is not the weighted error: those are timed at
several ratios, the others at one. A booster that ends by itself is timed on the rounds until then.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bench_data import Timed, median, parser, stage_samples, timed

from vjcascade.boosters import Booster, Costs, booster_names, make_booster
from vjcascade.learning.boosting import WeakClassifier, boost
from vjcascade.learning.samples import WindowSamples
from vjcascade.learning.search import StumpSearch

LINEAR, OTHER, LOGIT = "one weighted error", "another loss", "LogitBoost"
LIMITS = {LINEAR: 1.25, OTHER: 1.75, LOGIT: 3.5}
"""Rounds of AdaBoost that a round may cost, by kind of booster: that with room for noise of what was measured with 162,336
features and 10,000 samples. Boosters of one weighted error took 1.0, two errors 1.2 to 1.4, Real and Gentle AdaBoost and their kin
1.2 to 1.6, and LogitBoost, where a sample counts in part for each class, 3."""

RATIOS = (2.0, 1.0, 10.0, 100.0)
"""Ratios of the costs; the first for boosters whose rounds do not depend on it."""

WITHOUT_COSTS = ("gentle", "logit", "real")
MORE_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "adaboostdb": [{"select": "minloss"}],
    "cost-sensitive": [{"sign": "any"}],
    "real": [{"criterion": "exponential"}],
}
"""Options, besides the booster's own, that change how a weak classifier is searched for."""


class Case(NamedTuple):
    """A booster to be timed."""

    name: str
    costs: Costs
    options: dict[str, Any]

    def make(self, n_rounds: int) -> Booster:
        """Return the booster."""
        return make_booster(self.name, self.costs, n_rounds, **self.options)

    @property
    def kind(self) -> str:
        """Which of `LIMITS` counts."""
        if self.name.endswith("logit"):
            return LOGIT
        return LINEAR if self.make(1).loss_is_linear else OTHER

    def __str__(self) -> str:
        options = "".join(f" {name}={value}" for name, value in self.options.items())
        return f"{self.name}{options}, {self.costs}"


REFERENCE = Case("adaboost", Costs(), {})


class Measurement(NamedTuple):
    """A booster's round, and its ratio to AdaBoost's."""

    case: Case
    n_rounds: int
    took: Timed
    ratio: Timed


def main() -> None:
    arguments = options()
    wanted = cases(arguments.boosters, arguments.ratios)
    few = stage_samples(arguments, 1000 * arguments.features_step)
    for case in wanted:
        measure(case, few, 2, 1)  # kernels are compiled
    samples = stage_samples(arguments, arguments.features_step)
    n_features, n_samples = len(samples.bins), samples.bins.n_samples
    print(f"{n_features:,} features x {n_samples:,} samples, {arguments.threads} threads\n")
    print("| booster, costs | rounds | processor s | wall s | ratio, processors | ratio, wall |")
    print("|---|---|---|---|---|---|")
    measured = []
    for case in wanted:
        found = measure(case, samples, arguments.rounds, arguments.threads)
        print(
            f"| {found.case} | {found.n_rounds} | {found.took.cpu:.3f} | {found.took.wall:.3f} "
            f"| {found.ratio.cpu:.2f} | {found.ratio.wall:.2f} |",
            flush=True,
        )
        measured.append(found)
    print(f"\n{verdict(measured)}")


def options() -> argparse.Namespace:
    made = parser(__doc__, rounds=12)
    made.add_argument("--features-step", type=int, default=1, help="take every so manieth feature")
    made.add_argument("--boosters", nargs="+", choices=booster_names(), default=booster_names())
    made.add_argument(
        "--ratios", nargs="+", type=float, default=RATIOS, help="of the costs, the main one first"
    )
    return made.parse_args()


def cases(names: Sequence[str], ratios: Sequence[float]) -> list[Case]:
    """Return what to time: boosters, options, and as many costs as make a difference to the time of a round."""
    wanted = [(name, option) for name in names for option in ({}, *MORE_OPTIONS.get(name, []))]
    made = []
    for name, option in wanted:
        linear = make_booster(name, Costs(), **option).loss_is_linear
        some = ratios[:1] if linear or name in WITHOUT_COSTS else ratios
        made += [Case(name, Costs.from_ratio(ratio), option) for ratio in some]
    return made


def measure(case: Case, samples: WindowSamples, n_rounds: int, n_threads: int) -> Measurement:
    """Time a booster's rounds, each between two rounds of AdaBoost; leave out the first round of both."""
    rounds = boost(StumpSearch(samples, n_threads), case.make(n_rounds))
    reference = endless(StumpSearch(samples, n_threads), REFERENCE.make(n_rounds))
    took, ratios = [], []
    before = timed(lambda: next(reference))[1]
    for n_done in range(n_rounds):
        weak, times = timed(lambda: next(rounds, None))
        after = timed(lambda: next(reference))[1]
        if n_done > 0 or weak is None:
            took.append(times)
            ratios.append(Timed(*(2 * t / (b + a) for t, b, a in zip(times, before, after, strict=True))))
        before = after
        if weak is None or weak.perfect:
            break
    return Measurement(case, len(took), median(took), median(ratios))


def endless(search: StumpSearch, booster: Booster) -> Iterator[WeakClassifier]:
    """Boost, from the start again when a run has come to its end."""
    while True:
        yield from boost(search, booster)


def verdict(measured: Sequence[Measurement]) -> str:
    """Return each kind's greatest ratio and limit, and what is above it, in words."""
    lines = []
    for kind, limit in LIMITS.items():
        found = [one for one in measured if one.case.kind == kind]
        if found:
            worst = max(found, key=lambda one: one.ratio.cpu)
            above = [str(one.case) for one in found if one.ratio.cpu > limit]
            lines.append(
                f"{kind}: the greatest ratio of processor seconds is {worst.ratio.cpu:.2f} ({worst.case}); "
                f"above {limit}: {'; '.join(above) or 'none'}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
