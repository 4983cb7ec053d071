"""Boosters by name: those of this package, registered ones, and plug-ins.

A plug-in is an installed package that names a class of its own as an entry point, in its ``pyproject.toml``::

    [project.entry-points."vjcascade.boosters"]
    madaboost = "vjcascade_madaboost:MadaBoost"

Plug-ins are only searched for an unknown name, or for the list of names. A broken one is missing from the list, and
raises an error with the reason when it is requested by name; nothing else is affected.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import warnings
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from vjcascade.boosters.adaboost import AdaBoost
from vjcascade.boosters.adac import AdaC1, AdaC2, AdaC3
from vjcascade.boosters.adacost import AdaCost
from vjcascade.boosters.asymboost import AsymBoost
from vjcascade.boosters.base import Booster, PriorName
from vjcascade.boosters.cost_generalized import CostGeneralizedAdaBoost
from vjcascade.boosters.cost_sensitive import AdaBoostDB, CostSensitiveAdaBoost
from vjcascade.boosters.costs import CostsLike, parse_costs
from vjcascade.boosters.csb import CSB0, CSB1, CSB2
from vjcascade.boosters.gentle import CostGeneralizedGentleAdaBoost, GentleAdaBoost
from vjcascade.boosters.logit import CostGeneralizedLogitBoost, CostSensitiveLogitBoost, LogitBoost
from vjcascade.boosters.real import CostGeneralizedRealAdaBoost, CostSensitiveRealBoost, RealAdaBoost
from vjcascade.checks import checked_whole
from vjcascade.errors import SettingsError
from vjcascade.messages import suggest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PLUGIN_GROUP = "vjcascade.boosters"
"""The entry-point group of plug-ins."""

_BUILT_IN: tuple[type[Booster], ...] = (
    AdaBoost,
    AdaBoostDB,
    AdaC1,
    AdaC2,
    AdaC3,
    AdaCost,
    AsymBoost,
    CSB0,
    CSB1,
    CSB2,
    CostGeneralizedAdaBoost,
    CostGeneralizedGentleAdaBoost,
    CostGeneralizedLogitBoost,
    CostGeneralizedRealAdaBoost,
    CostSensitiveAdaBoost,
    CostSensitiveLogitBoost,
    CostSensitiveRealBoost,
    GentleAdaBoost,
    LogitBoost,
    RealAdaBoost,
)
_BOOSTERS: dict[str, type[Booster]] = {booster.name: booster for booster in _BUILT_IN}


def register(booster: type[Booster]) -> type[Booster]:
    """Register a booster under its `name` in this process; usable as a class decorator.

    Raises
    ------
    SettingsError
        If another booster has that name.

    Examples
    --------
    >>> from vjcascade.boosters.adaboost import AdaBoost  # doctest: +SKIP
    >>> @register  # doctest: +SKIP
    ... class MyBoost(AdaBoost):
    ...     name = "myboost"
    """
    if _BOOSTERS.setdefault(booster.name, booster) is not booster:
        raise SettingsError(f"there already is a booster named {booster.name!r}")
    return booster


def booster_names() -> list[str]:
    """Return the names of all boosters, including plug-ins that are not broken, sorted.

    Examples
    --------
    >>> "cost-generalized" in booster_names()
    True
    """
    return sorted({*_BOOSTERS, *filter(_works, _plugins())})


class BoosterOptions(TypedDict, total=False):
    """Options of the boosters of this package; the docstring of each lists those that it has."""

    prior: PriorName
    scale: Literal["min", "given", "max", "sum"]
    sign: Literal["positive", "any"]
    select: Literal["maxroot", "minloss"]
    criterion: Literal["gini", "exponential"]


def make_booster(
    name: str, costs: CostsLike, n_rounds: int = 100, **options: Unpack[BoosterOptions]
) -> Booster:
    """Return a booster by its name.

    Parameters
    ----------
    name : str
        One of `booster_names`.
    costs : CostsLike
        Misclassification costs, or anything that `vjcascade.boosters.costs.parse_costs` takes.
    n_rounds : int
        Maximum number of rounds.
    **options
        The booster's own options, for example ``prior="sample"``. A plug-in may have others.

    Returns
    -------
    Booster
        Can be used for any number of runs.

    Raises
    ------
    SettingsError
        If the booster or an option does not exist (similar names are suggested), the costs cannot be read, or the
        booster is a broken plug-in.

    Examples
    --------
    >>> make_booster("cost-generalized", 4, prior="sample").prior
    'sample'
    """
    booster, costs = _find(name), parse_costs(costs)
    n_rounds = checked_whole("n_rounds", n_rounds, ge=1)
    own: dict[str, Any] = dict(options)
    _check_options(booster, own)
    try:
        inspect.signature(booster).bind(costs, n_rounds, **own)
    except TypeError as error:
        raise SettingsError(f"booster {name!r} cannot be made: {error}") from error
    return booster(costs, n_rounds, **own)


def code_digest(name: str) -> str:
    """Return a digest of the code of a booster that is not this package's: results of another version are not its own.

    Parameters
    ----------
    name : str
        One of `booster_names`.

    Returns
    -------
    str
        Of the files of its class and of those it is derived from, or of the classes alone if they are defined in a
        script; empty for boosters of this package, and where the code is not known.

    Raises
    ------
    SettingsError
        If there is no such booster, or it is a broken plug-in.

    Examples
    --------
    >>> code_digest("adaboost")
    ''
    """
    digest, n_known = hashlib.blake2b(digest_size=8), 0
    for kind in _find(name).__mro__:
        if kind.__module__.partition(".")[0] in {"vjcascade", "builtins", "abc"}:
            continue
        where = kind if kind.__module__ == "__main__" else sys.modules.get(kind.__module__, kind)
        with suppress(OSError, TypeError):
            digest.update(inspect.getsource(where).encode())
            n_known += 1
    return digest.hexdigest() if n_known else ""


def _find(name: str) -> type[Booster]:
    if name in _BOOSTERS:
        return _BOOSTERS[name]
    if name in _plugins():
        return _load(name)
    raise SettingsError(f"there is no booster named {name!r}; {suggest(str(name), booster_names())}")


def _check_options(booster: type[Booster], options: dict[str, Any]) -> None:
    parameters = list(inspect.signature(booster).parameters.values())
    known = [
        p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in {"costs", "n_rounds"}
    ]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    for option in options:
        if option not in known:
            hint = suggest(option, known) if known else "it has none"
            raise SettingsError(f"booster {booster.name!r} has no option {option!r}; {hint}")


@cache
def _plugins() -> dict[str, list[EntryPoint]]:
    """Return the entry points by name, except those with the name of another booster."""
    from importlib.metadata import entry_points

    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=PLUGIN_GROUP):
        known = _BOOSTERS.get(entry.name)
        if known is None:
            found.setdefault(entry.name, []).append(entry)
        elif (
            entry.value != f"{known.__module__}:{known.__qualname__}"
        ):  # otherwise it has also registered itself
            message = f"{_called(entry)} is not used: there already is a booster of that name"
            warnings.warn(message, stacklevel=2)
    return found


def _load(name: str) -> type[Booster]:
    """Return a plug-in's class, or raise `SettingsError` if it is broken."""
    found = _tried(name)
    if isinstance(found, SettingsError):
        raise found
    return found


@cache
def _tried(name: str) -> type[Booster] | SettingsError:
    """Import a plug-in, once: return its class, or the error."""
    try:
        return _imported(name)
    except SettingsError as error:
        return error


def _imported(name: str) -> type[Booster]:
    entry, *others = _plugins()[name]
    if others:
        raise SettingsError(f"{_called(entry)} has the name of {_called(others[0])}: uninstall one of them")
    try:
        found = entry.load()
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise SettingsError(f"{_called(entry)} cannot be imported: {reason}; fix or uninstall it") from error
    if not (isinstance(found, type) and issubclass(found, Booster)):
        raise SettingsError(
            f"{_called(entry)} is not a subclass of vjcascade.boosters.Booster, but {found!r}"
        )
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise SettingsError(f"{_called(entry)} is abstract: it lacks {missing}")
    if getattr(found, "name", None) != name:
        own = getattr(found, "name", None)
        raise SettingsError(f"{_called(entry)} has the class attribute name = {own!r}: it must be {name!r}")
    return found


def _works(name: str) -> bool:
    return not isinstance(_tried(name), SettingsError)


def _called(entry: EntryPoint) -> str:
    package = f" of the package {entry.dist.name}" if entry.dist else ""
    return f"the plug-in booster {entry.name!r}{package} ({entry.value})"
