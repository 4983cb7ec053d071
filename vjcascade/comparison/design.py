"""What is compared: boosters at cost ratios, and the rules that set their thresholds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any

from msgspec import Meta

from vjcascade.boosters import Booster, Costs, booster_names, make_booster
from vjcascade.boosters.confidence import ConfidenceBooster
from vjcascade.boosters.costs import parse_costs
from vjcascade.boosters.decision import DecisionRule
from vjcascade.boosters.registry import code_digest
from vjcascade.checks import check_fields, checked_choice
from vjcascade.errors import SettingsError
from vjcascade.training.stage import BASELINE

MAX_ROUNDS = 10_000

SPREAD = 0.2
"""Rounds that curves are known at lie a fifth apart."""

MAX_SEEDS = 1000

MAX_COST = 1e9
"""Of either mistake, and its inverse the least: with costs further apart, some boosters leave the range of floats."""

NIKOLAOU_BOOSTERS = (
    "adaboost",
    "asymboost",
    "adacost",
    "csb0",
    "csb1",
    "csb2",
    "adac1",
    "adac2",
    "adac3",
    "cost-sensitive",
    "adaboostdb",
    "cost-generalized",
    "cost-generalized:sample",
)
"""The discrete boosters: one weight, alpha, for each weak classifier. The last is for the question whether
Cost-Generalized AdaBoost is more than AdaBoost with a threshold: at equal costs, the two are the same."""

NIKOLAOU_RATIOS = (100, 30, 10, 3)
"""Cost ratios, about evenly spaced on a log scale. Each is taken either way round, and 1 as well."""


class Prior(StrEnum):
    """What weighs the same before costs do."""

    CLASS = "class"
    SAMPLE = "sample"


class Rule(StrEnum):
    """How the threshold on a booster's score is found.

    `NATURAL` is 0. `THEORY` and `ADAMEC` belong to boosters that ignore costs while they learn. The others look at
    samples that were not trained on: `HIT_RATE` keeps the hit rate that is asked for, `MINIMUM_COST` and `CALIBRATED`
    are those of `vjcascade.boosters.decision.DecisionRule`.

    Examples
    --------
    >>> Rule("hit-rate").name
    'HIT_RATE'
    """

    NATURAL = "natural"
    THEORY = "theory"
    ADAMEC = "adamec"
    HIT_RATE = "hit-rate"
    MINIMUM_COST = "minimum-cost"
    CALIBRATED = "calibrated"

    @property
    def needs_samples(self) -> bool:
        """Whether the rule looks at samples that were not trained on."""
        return self is Rule.HIT_RATE or DecisionRule(self).needs_samples

    @classmethod
    def parse(cls, rule: Rule | str) -> Rule:
        """Return a rule by its name.

        Raises
        ------
        SettingsError
            If there is no such rule; near names are suggested.
        """
        return checked_choice("threshold rule", rule, cls)


USUAL_RULES = (Rule.NATURAL, Rule.THEORY, Rule.HIT_RATE, Rule.MINIMUM_COST, Rule.CALIBRATED)


@dataclass(frozen=True)
class Contender:
    """A booster that takes part.

    Attributes
    ----------
    booster : str
        Name in the registry, and after a colon, if need be, the prior: ``"cost-generalized:sample"`` starts from
        samples of equal weight, ``":class"`` from classes of equal weight, each times its costs.
    copy : int
        1, or more for one that was named again.
    shuffled : bool
        Whether it is trained on shuffled labels: it can learn nothing, and must end at chance.

    Examples
    --------
    >>> Contender("adaboost").booster
    'adaboost'
    """

    booster: str
    copy: int = 1
    shuffled: bool = False

    def made(self, costs: Costs, n_rounds: int) -> Booster:
        """Return the booster, ready to learn.

        Raises
        ------
        SettingsError
            If there is none of that name, it has no such prior, or cannot learn with the costs.

        Examples
        --------
        >>> Contender("cost-sensitive:class").made(Costs(4, 1), 10).prior
        'balanced'
        """
        name, colon, prior = self.booster.partition(":")
        booster = make_booster(name, costs, n_rounds)
        if not colon:
            return booster
        if not booster.priors:
            raise SettingsError(
                f"booster {name!r} has no prior to choose: leave out ':{prior}'. Other options cannot be named so: "
                "give a booster class with another default a name of its own"
            )
        return make_booster(
            name, costs, n_rounds, prior=booster.priors[checked_choice("prior", prior, Prior)]
        )

    @property
    def name(self) -> str:
        """The booster's name, with what makes it another."""
        again = f" ({self.copy})" if self.copy > 1 else ""
        return f"{self.booster}{again}{', shuffled labels' if self.shuffled else ''}"

    @property
    def uses_costs(self) -> bool:
        """Whether the booster minds costs while it learns."""
        return self.made(Costs(), 1).uses_costs

    def at(self, costs: Costs) -> str:
        """Return the name and, if the booster minds them, the costs, for example ``csb0 at 10:1``."""
        return f"{self.name} at {costs}" if self.uses_costs else self.name

    def allows(self, rule: Rule) -> bool:
        """Tell whether a rule makes sense after this booster."""
        if rule is Rule.THEORY:
            return not self.uses_costs
        if rule is Rule.ADAMEC:
            return not self.uses_costs and not isinstance(self.made(Costs(), 1), ConfidenceBooster)
        return True


@dataclass(frozen=True)
class Entry:
    """A row of the comparison: who learnt, what mistakes cost, how the threshold was found.

    Attributes
    ----------
    contender : Contender
        The booster.
    costs : Costs
        Known to the booster if it minds them, and to the rule; decisions are judged by them.
    rule : Rule
        The threshold's.

    Examples
    --------
    >>> from vjcascade.boosters import Costs
    >>> Entry(Contender("adaboost"), Costs(4, 1), Rule.CALIBRATED).rule
    <Rule.CALIBRATED: 'calibrated'>
    """

    contender: Contender
    costs: Costs
    rule: Rule

    @property
    def name(self) -> str:
        """All three, for example ``cost-generalized 4:1, hit-rate``."""
        return f"{self.contender.name} {self.costs}, {self.rule}"


@dataclass(frozen=True)
class Run:
    """One boosting run of a dataset and a seed.

    Attributes
    ----------
    contender : Contender
        The booster.
    costs : Costs or None
        What it is trained with; None for boosters that do not mind them.
    whole : bool
        Whether the samples that thresholds are tuned on are trained on as well, for rules that do not need them.
    """

    contender: Contender
    costs: Costs | None
    whole: bool

    @property
    def name(self) -> str:
        """For people."""
        return self.contender.name if self.costs is None else f"{self.contender.name} {self.costs}"

    @property
    def key(self) -> str:
        """The run in one word, for files: another one for a plug-in whose code has changed."""
        words = [self.contender.name, str(self.costs or "any"), "whole" if self.whole else "half"]
        code = code_digest(self.contender.booster.partition(":")[0])
        return "|".join([*words, code] if code else words)


@dataclass(frozen=True)
class Design:
    """Who is compared, and how.

    Attributes
    ----------
    boosters : tuple of str
        Names in the registry, with a prior if need be, as of `Contender`; one that is named twice takes part twice. All
        in the registry if not given.
    costs : tuple of Costs
        Each is anything that `vjcascade.boosters.costs.parse_costs` takes.
    rules : tuple of Rule
        Those that make no sense after a booster are left out for it.
    n_rounds : int
        Weak classifiers of each ensemble at most.
    n_seeds : int
        Number of random splits of the samples.
    hit_rate, false_alarm_rate : float
        A stage's targets, in (0, 1).
    sanity : bool
        Add AdaBoost on shuffled labels.
    seed : int
        Of all random choices.

    Raises
    ------
    SettingsError
        If a name is unknown, a number out of range, or a booster cannot learn with one of the costs.

    Examples
    --------
    >>> design = Design(boosters=("adaboost", "cost-generalized"), costs=(1, 10), rules=("natural", "hit-rate"))
    >>> len(design.entries), len(design.runs(trains_whole=False))
    (8, 3)
    """

    boosters: tuple[str, ...] = field(default_factory=lambda: tuple(booster_names()))
    costs: tuple[Costs, ...] = tuple(Costs.from_ratio(ratio) for ratio in (1, 3, 10, 30, 100))
    rules: tuple[Rule, ...] = USUAL_RULES
    n_rounds: Annotated[int, Meta(ge=1, le=MAX_ROUNDS)] = 60
    n_seeds: Annotated[int, Meta(ge=1, le=MAX_SEEDS)] = 5
    hit_rate: Annotated[float, Meta(gt=0, lt=1)] = 0.995
    false_alarm_rate: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    sanity: bool = False
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 0

    def __post_init__(self) -> None:
        for name, convert in (("boosters", str), ("costs", parse_costs), ("rules", Rule.parse)):
            given: Sequence[Any] = getattr(self, name)
            if not given:
                raise SettingsError(f"{name}: none is given; name at least one")
            object.__setattr__(self, name, tuple(convert(one) for one in given))
        for name in ("costs", "rules"):
            _refuse_twice(name, getattr(self, name))
        check_fields(self)
        for costs in self.costs:
            if not all(1 / MAX_COST <= cost <= MAX_COST for cost in (costs.positive, costs.negative)):
                raise SettingsError(f"costs {costs} are not both between {1 / MAX_COST:g} and {MAX_COST:g}")
        for booster in self.boosters:
            for costs in self.costs:
                Contender(booster).made(costs, self.n_rounds)
        if not self.entries:
            raise SettingsError(
                f"none of the rules {', '.join(self.rules)} makes sense after {', '.join(self.boosters)}: add natural"
            )

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """Those who take part, in the order named, AdaBoost on shuffled labels last."""
        seen: Counter[str] = Counter()
        found = []
        for booster in self.boosters:
            seen[booster] += 1
            found.append(Contender(booster, seen[booster]))
        return (*found, Contender(BASELINE, shuffled=True)) if self.sanity else tuple(found)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All rows: contender by contender, for each the costs, for each the rules."""
        return tuple(
            Entry(contender, costs, rule)
            for contender in self.contenders
            for costs in self.costs
            for rule in self.rules
            if contender.allows(rule)
        )

    @cached_property
    def kept_rounds(self) -> tuple[int, ...]:
        """Numbers of the rounds, from 1, after which rates are kept."""
        return tuple(spread_rounds(self.n_rounds))

    def runs(self, *, trains_whole: bool) -> tuple[Run, ...]:
        """Return the boosting runs that a dataset and a seed need.

        Parameters
        ----------
        trains_whole : bool
            Whether rules that need no samples get ensembles that were trained on all of them.

        Returns
        -------
        tuple of Run
            Each once, in the order of the entries that need them first.
        """
        needed = ((entry, trains_whole and not entry.rule.needs_samples) for entry in self.entries)
        runs = (
            Run(entry.contender, entry.costs if entry.contender.uses_costs else None, whole)
            for entry, whole in needed
        )
        return tuple(dict.fromkeys(runs))

    def entries_of(self, run: Run, *, trains_whole: bool) -> Iterator[Entry]:
        """Yield the rows that a run serves."""
        for entry in self.entries:
            same = entry.contender == run.contender and run.costs in (None, entry.costs)
            if same and run.whole == (trains_whole and not entry.rule.needs_samples):
                yield entry

    def as_dict(self) -> dict[str, Any]:
        """Return the design as plain JSON values, of which `from_dict` makes it again."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return plain | {
            "boosters": list(self.boosters),
            "costs": [str(costs) for costs in self.costs],
            "rules": [str(rule) for rule in self.rules],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Design:
        """Return the design that `as_dict` returned.

        Raises
        ------
        SettingsError
            If the values are not of its kind.
        """
        try:
            return cls(**values)
        except TypeError as error:
            raise SettingsError(f"this is not a design of a comparison: {error}") from None


def nikolaou_design(n_seeds: int = 30, seed: int = 0) -> Design:
    """Return a design for tables that follows Nikolaou et al. 2016 [1]_.

    Theirs are the boosters (all that minimise a bound on the cost, or reweigh by heuristics, with one weight for each
    weak classifier), the rules, the measure (`vjcascade.evaluation.costs.normalised_expected_cost`), 100 rounds, a
    quarter of the rows to test on, half of the others to calibrate on where a rule does, and 30 repeats. As there,
    only costs vary; the classes stay as unbalanced as they are.

    Parameters
    ----------
    n_seeds : int
        Number of random splits of the rows.
    seed : int
        Of all random choices.

    Returns
    -------
    Design
        Its costs are `NIKOLAOU_RATIOS`; the shares of rows are those of every `TableProblem`.

    Notes
    -----
    What differs: weak classifiers are stumps here, and were logistic regressions of one feature there. There were 21
    cost ratios, here are 9. Only AdaBoost, Cost-Generalized AdaBoost and AsymBoost were calibrated there, here
    all are. AdaCost with its second beta is not among the boosters here; Cost-Generalized AdaBoost with the prior of
    samples, and the thresholds of theory and of minimum cost, were not among those there. Equal rows stay together when
    rows are split, and classes keep their shares.

    References
    ----------
    .. [1] Nikolaou, Edakunni, Kull, Flach & Brown, "Cost-sensitive boosting algorithms: do we really need them?",
           Machine Learning 104, 2016. :doi:`10.1007/s10994-016-5572-x`

    Examples
    --------
    >>> design = nikolaou_design()
    >>> [str(costs) for costs in design.costs]
    ['1:100', '1:30', '1:10', '1:3', '1:1', '3:1', '10:1', '30:1', '100:1']
    >>> [entry.name for entry in design.entries if "1:10," in entry.name][:3]
    ['adaboost 1:10, natural', 'adaboost 1:10, theory', 'adaboost 1:10, adamec']
    """
    dear_positives = [Costs(ratio, 1.0) for ratio in reversed(NIKOLAOU_RATIOS)]
    dear_negatives = [Costs(1.0, ratio) for ratio in NIKOLAOU_RATIOS]
    return Design(
        boosters=NIKOLAOU_BOOSTERS,
        costs=(*dear_negatives, Costs(), *dear_positives),
        rules=(Rule.NATURAL, Rule.THEORY, Rule.ADAMEC, Rule.MINIMUM_COST, Rule.CALIBRATED),
        n_rounds=100,
        n_seeds=n_seeds,
        seed=seed,
    )


def spread_rounds(n_rounds: int) -> list[int]:
    """Return numbers of rounds, from 1 to the last, each about a fifth more than the one before.

    Examples
    --------
    >>> spread_rounds(60)
    [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40, 48, 58, 60]
    """
    numbers = [1]
    while numbers[-1] < n_rounds:
        numbers.append(min(math.ceil(numbers[-1] * (1 + SPREAD)), n_rounds))
    return numbers


def _refuse_twice(name: str, values: Sequence[object]) -> None:
    twice = [str(value) for value, n in Counter(values).items() if n > 1]
    if twice:
        raise SettingsError(f"{name}: {', '.join(twice)} is given twice")
