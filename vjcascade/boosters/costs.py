"""Misclassification costs: class costs, cost matrices, and the ways to write them."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import StrEnum
from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.state import Floats
from vjcascade.errors import SettingsError

SPELLINGS = (
    "4 (a missed positive costs 4 false alarms), 4:1 (what a missed positive and a false alarm cost), "
    "gamma=0.8 or matrix=0,4;1,0"
)
"""The ways to write costs on a command line, for messages."""


@dataclass(frozen=True)
class Costs:
    """Misclassification costs C_P and C_N.

    Attributes
    ----------
    positive : float
        Cost of a missed positive, > 0.
    negative : float
        Cost of a false alarm, > 0.

    Raises
    ------
    SettingsError
        If a cost is not a finite number above zero, or their ratio overflows.

    Examples
    --------
    >>> Costs.from_ratio(4.0)
    Costs(positive=4.0, negative=1.0)
    >>> str(Costs(4, 1)), Costs(4, 1).gamma
    ('4:1', 0.8)
    """

    positive: float = 1.0
    negative: float = 1.0

    def __post_init__(self) -> None:
        for name in ("positive", "negative"):
            object.__setattr__(self, name, _above_zero(f"{name} cost", getattr(self, name)))
        if not 0 < self.ratio < math.inf:
            raise SettingsError(f"costs {self} are too far apart: their ratio overflows")

    @classmethod
    def from_ratio(cls, ratio: float) -> Costs:
        """Return the costs with C_P / C_N = `ratio`, the smaller of them 1.

        Raises
        ------
        SettingsError
            If `ratio` is not a finite number above zero.
        """
        number = _above_zero("cost ratio", ratio)
        return cls(number, 1.0) if number >= 1 else cls(1.0, 1 / number)

    @classmethod
    def from_gamma(cls, gamma: float) -> Costs:
        """Return the costs with C_P / (C_P + C_N) = `gamma`, the paper's normalised asymmetry; the smaller is 1.

        Raises
        ------
        SettingsError
            If `gamma` is not in (0, 1).

        Examples
        --------
        >>> Costs.from_gamma(0.8)
        Costs(positive=4.0, negative=1.0)
        """
        number = _as_float(gamma)
        if not 0 < number < 1:
            raise SettingsError(f"gamma {_shown(gamma)} is not a number in (0, 1)")
        written = Fraction(repr(number))  # 4/5, not the nearest float: 0.8 must be 4:1 exactly
        return cls.from_ratio(float(written / (1 - written)))

    def normalised(self) -> Costs:
        """Return the costs scaled so that the smaller one is 1.

        Examples
        --------
        >>> Costs(4e12, 1e12).normalised(), Costs(0.5, 1).normalised()
        (Costs(positive=4.0, negative=1.0), Costs(positive=1.0, negative=2.0))
        """
        unit = min(self.positive, self.negative)
        return Costs(self.positive / unit, self.negative / unit)

    @property
    def ratio(self) -> float:
        """C_P / C_N: the cost of a missed positive in false alarms."""
        return self.positive / self.negative

    @property
    def gamma(self) -> float:
        """C_P / (C_P + C_N), the paper's normalised cost asymmetry."""
        return 1 / (1 + self.negative / self.positive)

    def of(self, labels: NDArray[np.int8]) -> Floats:
        """Return C_P for every +1 and C_N for every -1 in `labels`, same shape."""
        return np.where(labels > 0, self.positive, self.negative)

    def __str__(self) -> str:
        return ":".join(repr(cost).removesuffix(".0") for cost in (self.positive, self.negative))


class Scenario(StrEnum):
    """The paper's five cost scenarios (Appendix B); see `CostMatrix.scenario`.

    Examples
    --------
    >>> Scenario("dual asymmetry").name
    'DUAL_ASYMMETRY'
    """

    SYMMETRY = "symmetry"
    ERROR_ASYMMETRY = "error asymmetry"
    CORRECT_CLASSIFICATION_ASYMMETRY = "correct classification asymmetry"
    DUAL_ASYMMETRY = "dual asymmetry"
    REVERSED_DUAL_ASYMMETRY = "reversed dual asymmetry"


@dataclass(frozen=True)
class CostMatrix:
    """The costs of the four outcomes.

    In the paper's c_np, the first letter is the decision and the second the actual class, and so are the rows and
    columns of its matrix ``[[c_nn, c_np], [c_pn, c_pp]]``, negatives first. (Confusion matrices of scikit-learn are
    its transpose.) Negative costs are gains.

    Attributes
    ----------
    true_negative : float
        c_nn, a negative that is called negative.
    false_negative : float
        c_np, a positive that is called negative: a miss.
    false_positive : float
        c_pn, a negative that is called positive: a false alarm.
    true_positive : float
        c_pp, a positive that is called positive: a hit.

    Raises
    ------
    SettingsError
        If a cost is not a finite number, or the matrix is not reasonable: for each actual class, the right decision
        must cost less than the wrong one, c_nn < c_pn and c_pp < c_np.

    Notes
    -----
    The paper prints the conditions as c_nn < c_np and c_pp < c_pn, which compares different samples. Elkan's [1]_
    are those above; if just one of them fails, one of the two decisions is never worse, and there is nothing to learn.

    References
    ----------
    .. [1] Elkan, "The foundations of cost-sensitive learning", IJCAI 2001, sec. 1.

    Examples
    --------
    >>> CostMatrix(true_negative=0, false_negative=5, false_positive=1, true_positive=1).reduced()
    Costs(positive=4.0, negative=1.0)
    """

    true_negative: float
    false_negative: float
    false_positive: float
    true_positive: float

    def __post_init__(self) -> None:
        for name, value in vars(self).copy().items():
            number = _as_float(value)
            if not math.isfinite(number):
                raise SettingsError(f"{name} {_shown(value)} in a cost matrix is not a finite number")
            object.__setattr__(self, name, number)
        for right, wrong in (("true_negative", "false_positive"), ("true_positive", "false_negative")):
            if getattr(self, right) >= getattr(self, wrong):
                raise SettingsError(
                    f"cost matrix {self} is not reasonable: {right} {getattr(self, right):g} must be below {wrong} "
                    f"{getattr(self, wrong):g} (rows are decisions, columns actual classes, negatives first)"
                )
        self.reduced()  # raises if a difference overflows

    @classmethod
    def from_costs(cls, costs: Costs) -> CostMatrix:
        """Return the matrix with these costs of mistakes, in which right decisions cost nothing."""
        return cls(0.0, costs.positive, costs.negative, 0.0)

    def reduced(self) -> Costs:
        """Return the class costs with the same best decision for every sample: C_P = c_np - c_pp, C_N = c_pn - c_nn.

        A constant added to both costs of an actual class is paid whatever the decision is [1]_, so the cost of right
        decisions can be subtracted.

        References
        ----------
        .. [1] Elkan, "The foundations of cost-sensitive learning", IJCAI 2001, sec. 1.
        """
        return Costs(self.false_negative - self.true_positive, self.false_positive - self.true_negative)

    @property
    def scenario(self) -> Scenario:
        """The paper's name for the matrix.

        The class whose mistakes cost more takes the role of the paper's positives (it assumes c_np >= c_pn, and swaps
        the labels otherwise); if they cost the same, the class whose right decisions cost more. A constant added to all
        four costs, a positive factor and swapped labels do not change the name. A constant added to the costs of one
        class does, though it changes no decision: with regard to decisions there are only two scenarios, those of
        `reduced`, which `recommend` uses.
        """
        positive = self.false_negative, self.true_positive
        negative = self.false_positive, self.true_negative
        (dear_wrong, dear_right), (wrong, right) = max(positive, negative), min(positive, negative)
        if dear_wrong == wrong:
            return Scenario.SYMMETRY if dear_right == right else Scenario.CORRECT_CLASSIFICATION_ASYMMETRY
        if dear_right == right:
            return Scenario.ERROR_ASYMMETRY
        return Scenario.DUAL_ASYMMETRY if dear_right > right else Scenario.REVERSED_DUAL_ASYMMETRY

    def __str__(self) -> str:
        nn, np_, pn, pp = (repr(cost).removesuffix(".0") for cost in astuple(self))
        return f"[[{nn}, {np_}], [{pn}, {pp}]]"


CostsLike: TypeAlias = (
    Costs | CostMatrix | float | str | Sequence[Any] | Mapping[str, Any] | NDArray[np.generic]
)
"""Types that `parse_costs` accepts."""


def parse_costs(value: CostsLike) -> Costs:
    """Read costs in any of the ways to write them.

    Parameters
    ----------
    value : CostsLike
        A ratio C_P / C_N; a pair (C_P, C_N); a 2x2 matrix ``[[c_nn, c_np], [c_pn, c_pp]]``; a mapping with one of
        the keys ratio, gamma and matrix, or with positive and negative; text, such as ``"4"``, ``"4:1"``,
        ``"4,1"``, ``"gamma=0.8"`` or ``"matrix=0,4;1,0"``; `Costs`; or a `CostMatrix`.

    Returns
    -------
    Costs
        For a matrix, the reduced costs.

    Raises
    ------
    SettingsError
        If `value` is none of these, a cost is not a finite number above zero, or a matrix is not reasonable.

    Examples
    --------
    >>> parse_costs(4) == parse_costs("4:1") == parse_costs("gamma=0.8") == parse_costs([[0, 4], [1, 0]])
    True
    """
    found = _read(value)
    return found.reduced() if isinstance(found, CostMatrix) else found


def parse_cost_matrix(value: CostsLike) -> CostMatrix:
    """Read costs as `parse_costs` does, but keep the costs of right decisions.

    Parameters
    ----------
    value : CostsLike
        As for `parse_costs`.

    Returns
    -------
    CostMatrix
        Right decisions cost nothing in it, unless `value` is a matrix.

    Examples
    --------
    >>> str(parse_cost_matrix("4:1"))
    '[[0, 4], [1, 0]]'
    """
    found = _read(value)
    return found if isinstance(found, CostMatrix) else CostMatrix.from_costs(found)


def _read(value: Any) -> Costs | CostMatrix:
    """Read costs of any type."""
    if isinstance(value, Costs | CostMatrix):
        return value
    if isinstance(value, str):
        return _read_text(value)
    if isinstance(value, Mapping):
        if set(value) == {"positive", "negative"}:
            return Costs(**value)
        if len(value) == 1 and set(value) <= _READERS.keys():
            name = next(iter(value))
            return _READERS[name](value[name])
    if _is_number(value):
        return Costs.from_ratio(value)
    items = _items(value)
    if len(items) != 2:
        raise _unreadable(value)
    return _read_matrix(value) if any(_items(item) for item in items) else Costs(*items)


def _read_text(text: str) -> Costs | CostMatrix:
    """Read texts such as "4", "4:1", "gamma=0.8" and "matrix=0,4;1,0"."""
    name, equals, rest = text.partition("=")
    try:
        numbers = _numbers((rest if equals else text).strip())
    except (ValueError, RecursionError):
        raise _unreadable(text) from None
    if not equals:
        return _read(numbers)
    if name.strip() not in _READERS:
        raise _unreadable(text)
    return _READERS[name.strip()](numbers)


def _numbers(text: str) -> Any:
    """Return a number, a list of numbers, or a list of such lists."""
    if text.startswith("["):
        return json.loads(text)
    rows = [[float(number) for number in re.split("[,:]", row)] for row in text.split(";")]
    if len(rows) > 1:
        return rows
    return rows[0] if len(rows[0]) > 1 else rows[0][0]


def _read_matrix(value: Any) -> CostMatrix:
    rows = [_items(row) for row in _items(value)]
    if [len(row) for row in rows] != [2, 2]:
        raise SettingsError(f"cost matrix {_shown(value)} is not 2x2, such as [[0, 4], [1, 0]]")
    return CostMatrix(*rows[0], *rows[1])


_READERS: dict[str, Callable[[Any], Costs | CostMatrix]] = {
    "ratio": Costs.from_ratio,
    "gamma": Costs.from_gamma,
    "matrix": _read_matrix,
}


def _items(value: Any) -> list[Any]:
    """Return the items of a list, tuple or array; empty for anything else."""
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    return list(value) if is_array or isinstance(value, list | tuple) else []


def _unreadable(value: Any) -> SettingsError:
    return SettingsError(f"costs {_shown(value)} cannot be read; write, for example, {SPELLINGS}")


def _above_zero(name: str, value: Any) -> float:
    number = _as_float(value)
    if not 0 < number < math.inf:
        raise SettingsError(f"{name} {_shown(value)} is not a finite number above zero")
    return number


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _as_float(value: Any) -> float:
    """Return a number as a float; nan for anything else."""
    try:
        return float(value) if _is_number(value) else math.nan
    except OverflowError:
        return math.inf


def _shown(value: Any) -> str:
    """Return a value as Python writes it, shortened."""
    return reprlib.repr(value.item() if isinstance(value, np.generic) else value)
