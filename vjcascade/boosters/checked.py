"""Checks of the values that a booster returns, so that errors of a plug-in are reported as such."""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from vjcascade.boosters.base import Booster, Vote
from vjcascade.boosters.bounds import LossBounds
from vjcascade.boosters.costs import Costs
from vjcascade.boosters.state import BoostingState, Round
from vjcascade.errors import CascadeError, SettingsError


def checked(booster: Booster) -> Booster:
    """Return a copy of a booster, for one run, whose methods check what they return.

    Shapes, dtypes and values are checked, that no method changes the state of the run, and that the first weights do
    not change with the costs if the class says that it does not use them; exceptions are reported as errors of the
    method that raised them.

    Parameters
    ----------
    booster : Booster
        A booster of any class.

    Returns
    -------
    Booster
        Of a subclass. It raises `SettingsError` with the booster's class, the method, and the invalid value or the
        exception.

    Examples
    --------
    >>> from vjcascade.boosters import BoostingState, Costs
    >>> from vjcascade.boosters.adaboost import AdaBoost
    >>> class Broken(AdaBoost):
    ...     def alpha(self, error_p, error_n, round_):
    ...         return float("nan")
    >>> labels, sides = np.array([1, -1], np.int8), np.array([-1, 1], np.int8)
    >>> booster = checked(Broken(Costs()))
    >>> round_ = booster.begin_round(BoostingState.start(labels))
    >>> booster.weigh(np.array([0.1, 0.4]), np.array([0.4, 0.1]), sides, round_)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    vjcascade.errors.SettingsError: booster 'adaboost' (...Broken): alpha returned nan, not a finite number
    """
    kind = type(booster)
    methods = {
        name: _checking(name, method, find_fault)
        for name, find_fault in _FAULTS.items()
        if callable(method := getattr(kind, name, None))
    }
    for name in ("begin_round", "weigh"):
        methods[name] = _watching(name, methods[name])
    names = {
        "is_watched": True,
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
    }
    watched = copy.copy(booster)
    watched.__class__ = type(kind.__name__, (kind,), names | methods)
    return watched


def unchecked(booster: Booster) -> Booster:
    """Return a copy of a booster without the checks of `checked`: it can be sent to another process.

    Examples
    --------
    >>> from vjcascade.boosters import Costs, make_booster
    >>> plain = make_booster("adaboost", Costs())
    >>> type(unchecked(checked(plain))) is type(plain)
    True
    """
    if not hasattr(type(booster), "is_watched"):
        return booster
    plain = copy.copy(booster)
    plain.__class__ = type(booster).__mro__[1]
    plain.__dict__.pop("state_of_run", None)
    return plain


def _checking(name: str, method: Callable[..., Any], find_fault: Callable[..., str]) -> Callable[..., Any]:
    """Return a method that checks its result, and reports exceptions."""

    def ask(booster: Booster, *arguments: Any) -> Any:
        try:
            answer = method(booster, *arguments)
        except (CascadeError, MemoryError):  # already reported by the method that raised it
            raise
        except Exception as error:
            raise _error(booster, f"{name} raised {type(error).__name__}: {error}") from error
        if fault := find_fault(answer, *arguments):
            raise _error(booster, f"{name} returned {fault}")
        return answer

    return ask


def _watching(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that begins or ends a round, and checks that the state has not changed."""

    def ask(booster: Any, *arguments: Any) -> Any:
        if name == "begin_round":
            booster.state_of_run = arguments[0], copy.deepcopy(arguments[0])
        elif fault := _change(*booster.state_of_run):
            raise _error(booster, f"a method that was called between begin_round and weigh changed {fault}")
        answer = method(booster, *arguments)
        if fault := _change(*booster.state_of_run):
            raise _error(booster, f"{name} changed {fault}")
        if name == "begin_round" and arguments[0].n_rounds == 0 and not booster.uses_costs:
            _refuse_unsaid_costs(booster, method, arguments[0], answer)
        return answer

    return ask


def _refuse_unsaid_costs(
    booster: Booster, begin_round: Callable[..., Any], state: BoostingState, round_: Round
) -> None:
    """Refuse a booster that uses its costs, but says that it does not: it would be trained once for all costs."""
    if not isinstance(getattr(booster, "costs", None), Costs):
        raise _error(booster, "it has no costs: its __init__ must call super().__init__ with them")
    other = copy.copy(booster)
    other.costs = Costs(3 * booster.costs.positive, booster.costs.negative).normalised()
    again = begin_round(other, state)
    for part in ("positive_part", "negative_part"):
        if not np.allclose(getattr(round_, part), getattr(again, part), rtol=1e-9, atol=0.0):
            raise _error(
                booster,
                "its weights change with the costs, but its uses_costs is False: set it to True in the class",
            )


def _error(booster: Booster, fault: str) -> SettingsError:
    kind = type(booster)
    return SettingsError(f"booster {booster.name!r} ({kind.__module__}.{kind.__qualname__}): {fault}")


def _change(state: BoostingState, before: BoostingState) -> str:
    """Describe what has changed in a state since it was copied; empty if nothing has."""
    for field in fields(state):
        old, new = getattr(before, field.name), getattr(state, field.name)
        if not np.array_equal(old, new):
            place = "" if np.shape(old) != np.shape(new) or not np.shape(old) else _first_place(old != new)
            return f"state.{field.name}{place}, which boosters must not change"
    return ""


def _first_place(wrong: Any) -> str:
    return str([int(index[0]) for index in np.nonzero(wrong)])


# ---- Descriptions of what is wrong with a returned value; empty if it is valid -------------------------------------


def _array_fault(value: Any, shape: tuple[int, ...], least: float = -np.inf) -> str:
    """Describe what is wrong with an array of finite numbers of at least `least`."""
    if not isinstance(value, np.ndarray):
        return f"{reprlib.repr(value)}, not an array of shape {shape}"
    if value.shape != shape:
        return f"an array of shape {value.shape}, not {shape}"
    if value.dtype != np.float64:
        return f"an array of dtype {value.dtype}, not float64"
    if value.size == 0 or (least <= value.min() and -np.inf < value.min() and value.max() < np.inf):
        return ""
    wrong = ~(np.isfinite(value) & (value >= least))
    limit = "" if least == -np.inf else f", {least:g} or more"
    return f"an array with {value[wrong][0]} at {_first_place(wrong)}, not finite numbers{limit}"


def _logs_fault(logs: Any, state: BoostingState) -> str:
    """Describe what is wrong with logarithms of weights; -inf stands for weight 0."""
    if not (isinstance(logs, np.ndarray) and logs.shape == state.labels.shape and logs.dtype == np.float64):
        return _array_fault(logs, state.labels.shape)
    if np.isfinite(logs.max()):
        return ""
    if np.all(logs == -np.inf):
        return "-inf for all samples, which would all have weight 0"
    wrong = np.isnan(logs) | (logs == np.inf)
    return f"an array with {logs[wrong][0]} at {_first_place(wrong)}, not logarithms of weights"


def _number_fault(value: Any, least: float = -np.inf) -> str:
    is_number = isinstance(value, float | int | np.number) and type(value) is not bool
    if is_number and np.isfinite(value) and least <= value:
        return ""
    return f"{reprlib.repr(value)}, not a finite number" + (
        "" if least == -np.inf else f", {least:g} or more"
    )


def _pair_fault(pair: Any, least: float = -np.inf) -> str:
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        return f"{reprlib.repr(pair)}, not two numbers"
    return _number_fault(pair[0], least) or _number_fault(pair[1], least)


def _round_fault(round_: Any, state: BoostingState) -> str:
    if not isinstance(round_, Round):
        return f"{reprlib.repr(round_)}, not a Round"
    for name in ("positive_part", "negative_part"):
        if fault := _array_fault(getattr(round_, name), state.labels.shape, 0.0):
            return f"a Round whose {name} is {fault}"
    for name in ("positive_weight", "negative_weight"):
        if fault := _number_fault(getattr(round_, name), 0.0):
            return f"a Round whose {name} is {fault}"
    return ""


def _same_shape_fault(values: Any, like: Any, *others: Any) -> str:  # noqa: ARG001
    return _array_fault(values, np.shape(like))


def _choice_fault(index: Any, errors_p: Any, *others: Any) -> str:  # noqa: ARG001
    n = len(errors_p)
    is_whole = isinstance(index, int | np.integer) and not isinstance(index, bool)
    return (
        ""
        if is_whole and 0 <= index < n
        else f"{reprlib.repr(index)}, not the index of one of {n} weak classifiers"
    )


def _bounds_fault(bounds: Any, *others: Any) -> str:  # noqa: ARG001
    if not isinstance(bounds, LossBounds):
        return f"{reprlib.repr(bounds)}, not LossBounds"
    fault = _array_fault(bounds.lines, bounds.lines.shape, 0.0)
    return f"LossBounds whose lines are {fault}" if fault else ""


def _vote_fault(vote: Any, sums_p: Any, *others: Any) -> str:  # noqa: ARG001
    if not isinstance(vote, Vote):
        return f"{reprlib.repr(vote)}, not a Vote"
    if fault := _number_fault(vote.alpha):
        return f"a Vote whose alpha is {fault}"
    for name in ("outputs", "leaves"):
        if fault := _array_fault(getattr(vote, name), sums_p.shape):
            return f"a Vote whose {name} are {fault}"
    return (
        ""
        if isinstance(vote.helps, bool | np.bool_)
        else f"a Vote whose helps is {reprlib.repr(vote.helps)}, not a bool"
    )


_FAULTS: dict[str, Callable[..., str]] = {
    "log_prior": _logs_fault,
    "log_weights": _logs_fault,
    "selection_costs": lambda pair: _pair_fault(pair, 0.0),
    "begin_round": _round_fault,
    "loss": _same_shape_fault,
    "choose": _choice_fault,
    "slope": lambda pair, *_: _pair_fault(pair, 0.0),
    "loss_bounds": _bounds_fault,
    "weigh": _vote_fault,
    "alpha": lambda alpha, *_: _number_fault(alpha),
    "leaves": lambda pair, *_: _pair_fault(pair),
    "impurity": _same_shape_fault,
    "leaf_values": _same_shape_fault,
}
"""The check of each method's result, called with the result and the method's arguments."""
