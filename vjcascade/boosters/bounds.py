"""Bounds of the loss, by which a search finds the few features of a pool whose loss must be computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from vjcascade.boosters.costs import Costs
from vjcascade.boosters.state import Floats, Round
from vjcascade.parallel import blocks

LINE_STEPS = np.array([0.0, 0.7, 1.0, 1.6])
"""Steps whose slopes are used as lines, as multiples of a guess at the winner's step or of a shorter step."""

MAX_SLOPE = 1e6
"""What an error of the class that costs more may count on a line, as a multiple of the other's where both classes weigh
the same. On steeper lines, the other class's errors would be lost when sums of weights are rounded, and every feature's
least value would be 0. Where the first class weighs less, its sums are rounded by less, and lines may be steeper."""

LEAST_EXPONENT = 1.0
"""Steps are not shortened further than this, times the difference of the costs: shorter ones would give four lines that
are nearly the same, however steep. So where costs alone are more unequal than `MAX_SLOPE`, lines are steeper, too."""

STEP_COUNTS = 8, 32, 128, 512
"""Numbers of steps at which losses are bounded: few for all features, more for those that remain."""

FEATURES_AT_ONCE = 2048
"""Features in a block whose intermediate results fit into a processor's cache."""

N_LEFT = 64
"""Bounds are not refined further once so few features remain."""


class LossBounds:
    """A line (a, b): a search finds every feature's least a errors_p + b errors_n.

    That is the loss itself if it is linear. Otherwise it is a guide: the loss is computed for the features where it is
    least. `GiniGuide` is a guide without a line; `TwoErrorBounds` prove which features cannot win.

    Parameters
    ----------
    lines : ndarray of shape (n_lines, 2), dtype float64
        Coefficients, >= 0; in this class, of one line.

    Raises
    ------
    ValueError
        If the number of lines is not that of the class.

    Examples
    --------
    >>> LossBounds(np.array([[1.0, 3.0]])).lines.shape
    (1, 2)
    """

    n_lines: ClassVar[int] = 1

    def __init__(self, lines: Floats) -> None:
        if lines.shape != (self.n_lines, 2):  # kernels rely on it
            raise ValueError(
                f"the lines of these bounds must be of shape ({self.n_lines}, 2), not {lines.shape}"
            )
        self.lines = lines


class GiniGuide(LossBounds):
    """The Gini impurity with weights of positives multiplied by a, and of negatives by b, as a guide.

    Parameters
    ----------
    lines : ndarray of shape (1, 2), dtype float64
        a and b.
    is_loss : bool
        Whether this impurity is the loss itself.

    Examples
    --------
    >>> GiniGuide(np.ones((1, 2))).is_loss
    False
    """

    def __init__(self, lines: Floats, *, is_loss: bool = False) -> None:
        super().__init__(lines)
        self.is_loss = is_loss


class TwoErrorBounds(LossBounds, ABC):
    """Bounds of a concave loss of the two errors, from a feature's least values on four lines.

    A feature's least a errors_p + errors_n is a concave function of a. So between two of the lines it is at least the
    linear interpolation of its values on both, from which lower bounds are computed.
    """

    n_lines: ClassVar[int] = 4
    step_counts: Sequence[int] = STEP_COUNTS
    """Numbers of steps of successive refinements of the lower bounds."""

    @abstractmethod
    def upper(self, values: Floats) -> Floats:
        """Return upper bounds of each feature's least loss.

        Parameters
        ----------
        values : ndarray of shape (4, n_features), dtype float64
            Upper bounds of each feature's values on the lines.

        Returns
        -------
        ndarray of shape (n_features,), dtype float64
            Upper bounds.
        """

    def lower(self, values: Floats, threshold: float) -> Floats:
        """Return lower bounds of each feature's least loss.

        They are refined with more and more steps for the features that are not above the threshold yet.

        Parameters
        ----------
        values : ndarray of shape (4, n_features), dtype float64
            Lower bounds of each feature's values on the lines.
        threshold : float
            Bounds above it are not refined further.

        Returns
        -------
        ndarray of shape (n_features,), dtype float64
            Lower bounds.
        """
        lower = np.full(values.shape[1], -np.inf)
        among = np.arange(values.shape[1])
        for count in self.step_counts:
            around = [np.linspace(0, 0.6, count // 4, endpoint=False), np.linspace(0.6, 1.6, count // 2)]
            steps = np.concatenate([*around, np.linspace(1.6, 3, count // 4 + 1)[1:]])
            at_steps = self.at_steps(steps)
            for part in blocks(len(among), FEATURES_AT_ONCE):
                lower[among[part]] = at_steps.lower(values[:, among[part]])
            among = among[lower[among] <= threshold]
            if len(among) <= N_LEFT:
                break
        return lower

    @abstractmethod
    def at_steps(self, steps: Floats) -> AtSteps:
        """Return lower bounds from the values at some steps, given as multiples of the guess."""


class AtSteps(Protocol):
    """Lower bounds of losses, from their values at some steps."""

    def lower(self, values: Floats) -> Floats:
        """Return a bound for each feature, shape (n_features,), from its values on the lines."""


class LeastLossBounds(TwoErrorBounds):
    """Bounds of the least two-exponential loss, over all steps alpha.

    At a step, the loss is 2 sinh(C_P alpha) e_P + 2 sinh(C_N alpha) e_N plus the loss without errors. Between two steps
    it is at least the smaller of the losses there, divided by cosh(C delta/2) with the larger cost C, since its second
    derivative in alpha is at most C^2 times the loss.

    Parameters
    ----------
    guess : float
        A step near the winner's.
    costs : Costs
        Misclassification costs.
    round_ : Round
        The round.
    """

    def __init__(self, guess: float, costs: Costs, round_: Round) -> None:
        self._guess, self._round = guess, round_
        self._factors = np.array([costs.positive, costs.negative])
        self._slopes = _steps_of_lines(guess, self._factors, round_)[1:]
        super().__init__(
            _unit(np.concatenate([[self._factors], np.sinh(np.outer(self._slopes, self._factors))]))
        )
        first = np.searchsorted(STEP_COUNTS[:-1], 8 * self._factors.max() * guess)
        self.step_counts = STEP_COUNTS[first:]  # fewer steps would prune no features

    def upper(self, values: Floats) -> Floats:
        """Return the least of the losses at the lines' steps and of the loss without a step, which is 1."""
        wanted, at_zero = _losses_at(self._slopes, self._factors, self._round)
        highest = values[1:] * wanted.sum(axis=1, keepdims=True) + at_zero[:, None]
        least: Floats = np.minimum(highest.min(axis=0), 1.0)
        return least

    def at_steps(self, steps: Floats) -> LossAtSteps:
        """Return lower bounds of the least loss, from its values at some steps."""
        wanted, at_zero = _losses_at(self._guess * steps, self._factors, self._round)
        gaps = np.diff(steps, append=steps[-1]) * self._guess
        slack = np.cosh(self._factors.max() * np.maximum(gaps, np.roll(gaps, 1)) / 2)
        last, thresholds = _slopes_and_thresholds(self._guess * steps[-1:], self._factors, self._round)
        weights = [_between_lines(self.lines, wanted) / slack[:, None], _between_lines(self.lines, last)]
        return LossAtSteps(np.concatenate(weights), (at_zero / slack)[:, None], thresholds[0])


class LossAtSteps(NamedTuple):
    """Lower bounds of the least loss, from its values at some steps.

    Attributes
    ----------
    weights : ndarray of shape (n_steps + 1, 4), dtype float64
        Weights of a feature's values on the lines in its loss at each step, and in the loss's slope at the last step.
    offsets : ndarray of shape (n_steps, 1), dtype float64
        The loss at each step without errors.
    threshold : float
        The loss still decreases at the last step if the slope's line is below this.
    """

    weights: Floats
    offsets: Floats
    threshold: float

    def lower(self, values: Floats) -> Floats:
        """Return the least of the losses at the steps; 0 if the loss may still decrease after the last."""
        least = _least_between(self.weights, values)
        falling = least[-1] < self.threshold
        return np.where(falling, 0.0, (least[:-1] + self.offsets).min(axis=0))


class GreatestStepBounds(TwoErrorBounds):
    """Bounds of the greatest best step, whose negative is the loss.

    The best step is greater than alpha if the loss still decreases there: if 2 C_P cosh(C_P alpha) e_P +
    2 C_N cosh(C_N alpha) e_N is below a threshold.

    Parameters
    ----------
    guess : float
        A step near the winner's.
    costs : Costs
        Misclassification costs.
    round_ : Round
        The round.
    """

    def __init__(self, guess: float, costs: Costs, round_: Round) -> None:
        self._guess, self._round = guess, round_
        self._factors = np.array([costs.positive, costs.negative])
        self._steps = _steps_of_lines(guess, self._factors, round_)
        slopes, self._passed_below = _slopes_and_thresholds(self._steps, self._factors, round_)
        super().__init__(_unit(slopes))
        self._scales = slopes.sum(axis=1)

    def upper(self, values: Floats) -> Floats:
        """Return minus the last of the lines' steps at which the loss still decreases."""
        highest = values * self._scales[:, None]
        n_passed = np.count_nonzero(highest < self._passed_below[:, None], axis=0)
        steps: Floats = -np.append(0.0, self._steps)[n_passed]
        return steps

    def at_steps(self, steps: Floats) -> PassedSteps:
        """Return lower bounds, from whether the best step is beyond some steps."""
        wanted, thresholds = _slopes_and_thresholds(self._guess * steps, self._factors, self._round)
        least_beyond = -np.append(self._guess * steps, np.inf)
        return PassedSteps(_between_lines(self.lines, wanted), thresholds[:, None], least_beyond)


class PassedSteps(NamedTuple):
    """Lower bounds of minus the best step, from whether it is beyond some steps.

    Attributes
    ----------
    weights : ndarray of shape (n_steps, 4), dtype float64
        Weights of a feature's values on the lines in the slope of its loss at each step.
    thresholds : ndarray of shape (n_steps, 1), dtype float64
        The loss still decreases at a step if the slope's line is below this.
    least_beyond : ndarray of shape (n_steps + 1,), dtype float64
        Lower bound of minus the best step, by the number of steps that it is beyond.
    """

    weights: Floats
    thresholds: Floats
    least_beyond: Floats

    def lower(self, values: Floats) -> Floats:
        """Return minus the step after the last one that the best step may be beyond."""
        passed = _least_between(self.weights, values) < self.thresholds
        behind = np.where(passed.any(axis=0), len(passed) - np.argmax(passed[::-1], axis=0), 0)
        bounds: Floats = self.least_beyond[behind]
        return bounds


def _steps_of_lines(guess: float, factors: Floats, round_: Round) -> Floats:
    """Return the steps whose slopes are used as lines: around the guess, or below it if they would be too steep.

    At a step s, the ratio of the coefficients is at most C/c exp((C - c) s), with the larger cost C and the smaller c.
    """
    dear, cheap = (0, 1) if factors[0] > factors[1] else (1, 0)
    difference = factors[dear] - factors[cheap]
    if difference > 0:
        class_weights = round_.positive_weight, round_.negative_weight
        lighter = max(1.0, class_weights[cheap] / max(class_weights[dear], 1e-300))
        exponent = np.log(MAX_SLOPE * lighter * factors[cheap] / factors[dear])
        greatest = max(exponent, LEAST_EXPONENT) / difference
        guess = min(guess, greatest / LINE_STEPS[-1])
    return guess * LINE_STEPS


def _losses_at(steps: Floats, factors: Floats, round_: Round) -> tuple[Floats, Floats]:
    """Return the loss at each step as a line in the errors, and its value without errors."""
    exponents = np.outer(steps, factors)
    return 2 * np.sinh(exponents), np.exp(-exponents) @ [round_.positive_weight, round_.negative_weight]


def _slopes_and_thresholds(steps: Floats, factors: Floats, round_: Round) -> tuple[Floats, Floats]:
    """Return lines and thresholds: a loss still decreases at a step if the value of its line is below the threshold."""
    exponents = np.outer(steps, factors)
    thresholds = (factors * np.exp(-exponents)) @ [round_.positive_weight, round_.negative_weight]
    return 2 * factors * np.cosh(exponents), thresholds


def _unit(lines: Floats) -> Floats:
    """Return lines whose two coefficients sum to 1."""
    unit: Floats = lines / lines.sum(axis=1, keepdims=True)
    return unit


def _least_between(weights: Floats, values: Floats) -> Floats:
    """Return lower bounds of lines, shape (n_lines, n_features), as weighted sums of values.

    Not by a matrix product: for sums of four, the threads of the BLAS library cost more than they save.
    """
    least: Floats = np.einsum("wl,lf->wf", weights, values)
    return least


def _between_lines(lines: Floats, wanted: Floats) -> Floats:
    """Return weights of the given lines' values in lower bounds of wanted lines, shape (n_wanted, n_lines).

    Each wanted line is a sum, with weights >= 0, of its two neighbours among the lines and the axes. Where these are so
    close that rounding makes the sum larger than the line, it is made smaller: a bound must not be above the loss.
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
    found = np.maximum(weights[1:-1][back], 0.0).T
    excess = found @ lines / np.maximum(wanted, 1e-300)
    bounds: Floats = found / np.maximum(excess.max(axis=1, keepdims=True), 1.0)
    return bounds
