"""The boosters by name."""

from __future__ import annotations

from typing import Any

from vjcascade.boosters.adaboost import AdaBoost
from vjcascade.boosters.base import Booster, Costs
from vjcascade.boosters.cost_generalized import CostGeneralizedAdaBoost
from vjcascade.errors import SettingsError
from vjcascade.words import name_hint

_BOOSTERS: dict[str, type[Booster]] = {}


def register(booster: type[Booster]) -> type[Booster]:
    """Make a booster known under its `name`; usable as a class decorator.

    Raises
    ------
    SettingsError
        If another booster has that name.
    """
    if _BOOSTERS.setdefault(booster.name, booster) is not booster:
        raise SettingsError(f"there already is a booster named {booster.name!r}")
    return booster


def booster_names() -> list[str]:
    """Return the known names, sorted.

    Examples
    --------
    >>> "cost-generalized" in booster_names()
    True
    """
    return sorted(_BOOSTERS)


def make_booster(name: str, costs: Costs, n_rounds: int = 100, **options: Any) -> Booster:
    """Return a booster by its name.

    Parameters
    ----------
    name : str
        One of `booster_names`.
    costs : Costs
        Misclassification costs.
    n_rounds : int
        Rounds planned at most.
    **options
        The booster's own settings, for example ``prior="sample"``.

    Returns
    -------
    Booster
        Ready for any number of runs.

    Raises
    ------
    SettingsError
        If there is no booster of that name (near names are told) or it does not know an option.

    Examples
    --------
    >>> make_booster("cost-generalized", Costs(4, 1), prior="sample").prior
    'sample'
    """
    if name not in _BOOSTERS:
        raise SettingsError(f"there is no booster named {name!r}; {name_hint(name, booster_names())}")
    try:
        return _BOOSTERS[name](costs, n_rounds, **options)
    except TypeError as error:
        raise SettingsError(f"booster {name!r} does not take these options: {error}") from error


for _booster in (AdaBoost, CostGeneralizedAdaBoost):
    register(_booster)
