"""Who trains a whole cascade, and what one is like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from vjcascade.boosters import Costs
from vjcascade.boosters.costs import parse_costs
from vjcascade.comparison.design import Contender
from vjcascade.comparison.scenes import Found


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
        If a booster is unknown (near names are suggested), or a booster cannot learn with one of the costs.

    Examples
    --------
    >>> [entry.name for entry in full_entries([Contender("adaboost"), Contender("adac2")], ["2:1", "10:1"])]
    ['adaboost', 'adac2 at 2:1', 'adac2 at 10:1']
    """
    parsed = [parse_costs(one) for one in costs]
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
