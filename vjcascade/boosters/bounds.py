"""What a search computes over a whole pool, to find the few weak classifiers whose loss is worth computing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vjcascade.boosters.costs import Costs
from vjcascade.boosters.state import Floats, Round
from vjcascade.parallel import blocks

Bounds = Callable[[Floats], Floats]
"""From the values of a sieve's lines, shape (n_lines, n_features), to a bound for each feature, shape (n_features,)."""


@dataclass(frozen=True, eq=False)
class LossBounds:
    """Lines (a, b): for each, a search finds every feature's least a errors_p + b errors_n.

    Where a feature's errors lie is known from its values on a few lines: the least a errors_p + errors_n is a concave
    function of a, so between two lines it is no less than the straight line between its values at both, and nothing
    else is needed for a bound.

    Attributes
    ----------
    lines : ndarray of shape (n_lines, 2), dtype float64
        Coefficients, >= 0: one, or with bounds four.
    upper : callable or None
        Takes what the values of the lines, shape (n_lines, n_features), are at most, and returns what each feature's
        least loss cannot lie above, shape (n_features,).
    lower : callable or None
        Takes what these values are at least, and a bar, and returns what each feature's least loss cannot fall below:
        the nearer to the bar, the more closely. Without the two, the value of the first line is a guide only: the
        loss is computed for the features where it is least.
    by_impurity : bool
        Be guided by the Gini impurity of positives weighing a times, negatives b times as much, instead of
        by the line's value.
    is_loss : bool
        Whether the guide is the loss itself.

    Examples
    --------
    >>> LossBounds(np.array([[1.0, 1.0]])).lower is None
    True
    """

    lines: Floats
    upper: Callable[[Floats], Floats] | None = None
    lower: Callable[[Floats, float], Floats] | None = None
    by_impurity: bool = False
    is_loss: bool = False

    def __post_init__(self) -> None:
        n_lines = 1 if self.lower is None or self.upper is None else 4
        if self.lines.shape != (n_lines, 2):  # kernels rely on it
            raise ValueError(
                f"the lines of this sieve must be of shape ({n_lines}, 2), not {self.lines.shape}"
            )


LINE_STEPS = np.array([0.0, 0.7, 1.0, 1.6])
"""Steps whose slopes are taken as lines, as multiples of a guess at the winner's."""

STEP_COUNTS = 8, 32, 128, 512
"""Steps at which losses are bounded: few for all features, more for those that are left."""

FEATURES_AT_ONCE = 2048
"""What is computed for so many features at so many steps stays in a processor's cache."""

N_LEFT = 64
"""No more steps are taken once so few features are left."""


def least_loss_bounds(guess: float, costs: Costs, round_: Round) -> LossBounds:
    """Return the sieve for the least two-exponential loss, over all steps alpha.

    At a step, the loss is 2 sinh(C_P alpha) e_P + 2 sinh(C_N alpha) e_N and what it would be without errors. Between
    two steps it is no lower than the lesser of theirs, divided by cosh(C delta/2) with the larger cost C, since its
    second derivative in alpha is at most C^2 times the loss.

    Parameters
    ----------
    guess : float
        A step near the winner's.
    costs : Costs
        Misclassification costs.
    round_ : Round
        The round.

    Returns
    -------
    LossBounds
        Lines around the guess, with bounds.
    """
    factors = np.array([costs.positive, costs.negative])
    slopes = guess * LINE_STEPS
    lines = _unit(np.concatenate([[factors], np.sinh(np.outer(slopes[1:], factors))]))

    def losses_at(steps: Floats) -> Bounds:
        """Return what computes lower bounds of the least loss, from its values at some steps."""
        wanted, at_zero = _losses_at(guess * steps, factors, round_)
        gaps = np.diff(steps, append=steps[-1]) * guess
        slack = np.cosh(factors.max() * np.maximum(gaps, np.roll(gaps, 1)) / 2)
        last, thresholds = _slopes_and_thresholds(guess * steps[-1:], factors, round_)
        weights = np.concatenate(
            [_between_lines(lines, wanted) / slack[:, None], _between_lines(lines, last)]
        )
        offsets = (at_zero / slack)[:, None]

        def bound(values: Floats) -> Floats:
            least = _least_between(weights, values)
            falling = least[-1] < thresholds[0]  # some cut may fall on
            return np.where(falling, 0.0, (least[:-1] + offsets).min(axis=0))

        return bound

    def upper(values: Floats) -> Floats:
        wanted, at_zero = _losses_at(slopes[1:], factors, round_)
        highest = values[1:] * wanted.sum(axis=1, keepdims=True) + at_zero[:, None]
        least: Floats = np.minimum(highest.min(axis=0), 1.0)
        return least

    first = np.searchsorted(STEP_COUNTS[:-1], 8 * factors.max() * guess)  # fewer would let all features in
    counts = STEP_COUNTS[first:]
    return LossBounds(
        lines, upper, lambda values, threshold: _lower_bounds(values, threshold, losses_at, counts)
    )


def greatest_step_bounds(guess: float, costs: Costs, round_: Round) -> LossBounds:
    """Return the sieve for the greatest best step, whose negative is the loss.

    The best step is greater than alpha if the loss still falls there: if 2 C_P cosh(C_P alpha) e_P +
    2 C_N cosh(C_N alpha) e_N is below a threshold.

    Parameters
    ----------
    guess : float
        A step near the winner's.
    costs : Costs
        Misclassification costs.
    round_ : Round
        The round.

    Returns
    -------
    LossBounds
        Lines around the guess, with bounds.
    """
    factors = np.array([costs.positive, costs.negative])

    slopes, passed_below = _slopes_and_thresholds(guess * LINE_STEPS, factors, round_)
    lines, scales = _unit(slopes), slopes.sum(axis=1)

    def losses_at(steps: Floats) -> Bounds:
        """Return what computes lower bounds of minus the best step, from whether it is beyond some steps."""
        wanted, thresholds = _slopes_and_thresholds(guess * steps, factors, round_)
        weights = _between_lines(lines, wanted)
        least_beyond = -np.append(guess * steps, np.inf)

        def bound(values: Floats) -> Floats:
            passed = _least_between(weights, values) < thresholds[:, None]
            behind = np.where(passed.any(axis=0), len(steps) - np.argmax(passed[::-1], axis=0), 0)
            bounds: Floats = least_beyond[behind]
            return bounds

        return bound

    def upper(values: Floats) -> Floats:
        highest = values * scales[:, None]
        n_passed = np.count_nonzero(highest < passed_below[:, None], axis=0)
        steps: Floats = -guess * np.append(0.0, LINE_STEPS)[n_passed]
        return steps

    return LossBounds(
        lines, upper, lambda values, threshold: _lower_bounds(values, threshold, losses_at, STEP_COUNTS)
    )


def _losses_at(steps: Floats, factors: Floats, round_: Round) -> tuple[Floats, Floats]:
    """Return the lines that the loss is at each step, and what it is without errors."""
    exponents = np.outer(steps, factors)
    return 2 * np.sinh(exponents), np.exp(-exponents) @ [round_.positive_weight, round_.negative_weight]


def _slopes_and_thresholds(steps: Floats, factors: Floats, round_: Round) -> tuple[Floats, Floats]:
    """Return lines, and what a weak classifier's value must be below for its loss still to fall at each step."""
    exponents = np.outer(steps, factors)
    thresholds = (factors * np.exp(-exponents)) @ [round_.positive_weight, round_.negative_weight]
    return 2 * factors * np.cosh(exponents), thresholds


def _unit(lines: Floats) -> Floats:
    """Return lines whose two coefficients sum to 1."""
    unit: Floats = lines / lines.sum(axis=1, keepdims=True)
    return unit


def _least_between(weights: Floats, values: Floats) -> Floats:
    """Return lower bounds of lines, shape (n_lines, n_features), as sums of a few values with weights.

    Not by a matrix product: for sums of four, the threads of the library behind it cost more than they save.
    """
    least: Floats = np.einsum("wl,lf->wf", weights, values)
    return least


def _between_lines(lines: Floats, wanted: Floats) -> Floats:
    """Return weights that bound wanted lines from below by values of the given ones, shape (n_wanted, n_lines).

    Each wanted line is a sum, with weights >= 0, of its two neighbours among the lines and the axes.
    """
    order = np.argsort(lines[:, 0])
    known = np.concatenate([[[0.0, 1.0]], lines[order], [[1.0, 0.0]]])
    ratios = wanted[:, 0] / np.maximum(wanted.sum(axis=1), 1e-300)
    place = np.clip(np.searchsorted(known[:, 0], ratios, side="right"), 1, len(known) - 1)
    (a, b), (c, d) = known[place - 1].T, known[place].T
    area = a * d - b * c
    safe = np.where(area != 0, area, 1.0)
    weights = np.zeros((len(known), len(wanted)))
    column = np.arange(len(wanted))
    weights[place - 1, column] = np.where(area != 0, (wanted[:, 0] * d - wanted[:, 1] * c) / safe, 0.0)
    weights[place, column] = np.where(
        area != 0, (wanted[:, 1] * a - wanted[:, 0] * b) / safe, wanted.sum(axis=1)
    )
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return np.maximum(weights[1:-1][back], 0.0).T


def _lower_bounds(
    values: Floats, threshold: float, losses_at: Callable[[Floats], Bounds], counts: Sequence[int]
) -> Floats:
    """Return lower bounds, computed in more and more steps for the features that are not above the bar yet."""
    lower = np.full(values.shape[1], -np.inf)
    among = np.arange(values.shape[1])
    for count in counts:
        around = [np.linspace(0, 0.6, count // 4, endpoint=False), np.linspace(0.6, 1.6, count // 2)]
        bound = losses_at(np.concatenate([*around, np.linspace(1.6, 3, count // 4 + 1)[1:]]))
        for part in blocks(len(among), FEATURES_AT_ONCE):
            lower[among[part]] = bound(values[:, among[part]])
        among = among[lower[among] <= threshold]
        if len(among) <= N_LEFT:
            break
    return lower
