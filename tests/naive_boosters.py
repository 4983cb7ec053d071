"""Boosters as their recipes are printed: weights multiplied round by round, steps found by bisection.

Nothing here knows of class-wise errors, hulls, logarithms of weights or closed forms. A recipe looks at one
hypothesis at a time: `h` is its outputs in {-1, +1}.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FLOOR = 1e-12
TOLERANCE = 1e-12

NAMES = {
    "adaboost": ("adaboost", {}),
    "asymboost": ("asymboost", {}),
    "adacost": ("adacost", {}),
    "csb0": ("csb0", {"scale": "given"}),
    "csb1": ("csb1", {"scale": "given"}),
    "csb2": ("csb2", {"scale": "given"}),
    "adac1": ("adac1", {}),
    "adac2": ("adac2", {}),
    "adac3": ("adac3", {}),
    "adac1_sum": ("adac1", {"scale": "sum"}),
    "adac3_sum": ("adac3", {"scale": "sum"}),
    "csa_uniform": ("cost-sensitive", {"prior": "uniform"}),
    "csa_uniform_anysign": ("cost-sensitive", {"prior": "uniform", "sign": "any"}),
    "csa_balanced": ("cost-sensitive", {"prior": "balanced"}),
    "adaboostdb": ("adaboostdb", {"prior": "balanced"}),
    "adaboostdb_mass": ("adaboostdb", {"prior": "uniform"}),
    "cga": ("cost-generalized", {"prior": "class"}),
    "cga_sample": ("cost-generalized", {"prior": "sample"}),
}
"""The golden file's names, and what the package calls them."""


def costs_in_print(algorithm, costs):
    """Return the pair (C_P, C_N) at which a recipe does what the package does; only CSB takes costs as given."""
    costs = costs if algorithm.startswith("csb") else costs.normalised()
    return costs.positive, costs.negative


@dataclass
class NaiveRun:
    """Choices, steps, the sum of alpha h, what the ensemble votes, and the weights after the last round."""

    chosen: list[int]
    alphas: list[float]
    score: np.ndarray
    vote: np.ndarray
    weights: np.ndarray


def boost(algorithm, pool, labels, costs, n_rounds, *, sample_weight=None, literal=True, planned=None):
    """Boost over a pool (samples x hypotheses); without `literal`, stop where a step is not above 0."""
    given = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, float)
    recipe = RECIPES[algorithm](labels, *costs, planned or n_rounds)
    recipe.start(given / given.sum())
    run = NaiveRun([], [], np.zeros(len(labels)), np.zeros(len(labels)), recipe.weights)
    for _ in range(n_rounds):
        losses = recipe.losses(pool)
        best = next(j for j, loss in enumerate(losses) if loss <= min(losses) + TOLERANCE)
        h = pool[:, best].astype(float)
        alpha = recipe.alpha(h)
        if not (literal or recipe.helps(alpha)):
            break
        recipe.update(h, alpha)
        run.chosen.append(best)
        run.alphas.append(alpha)
        run.score += alpha * h
        run.vote += recipe.vote(h, alpha)
        run.weights = recipe.weights
    return run


def clipped_half_log_odds(error):
    error = min(max(error, FLOOR), 1 - FLOOR)
    return 0.5 * np.log((1 - error) / error)


def bisect(falls_below, low, high):
    """Return where a condition that holds to the left stops to hold; of many conditions at once."""
    for _ in range(80):
        middle = (low + high) / 2
        holds = falls_below(middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return (low + high) / 2


class AdaBoost:
    def __init__(self, labels, cost_p, cost_n, n_rounds):
        self.y = labels.astype(float)
        self.cost_p, self.cost_n, self.n_rounds = cost_p, cost_n, n_rounds
        self.cost = np.where(labels > 0, cost_p, cost_n)

    def start(self, weights):
        self.set_weights(weights)

    def set_weights(self, raw):
        self.weights = raw / raw.sum()

    def error(self, h):
        return self.weights[h != self.y].sum()

    def losses(self, pool):
        return [self.error(h) for h in pool.T]

    def alpha(self, h):
        return clipped_half_log_odds(self.error(h))

    def helps(self, alpha):
        return alpha > TOLERANCE

    def update(self, h, alpha):
        self.set_weights(self.weights * np.exp(-alpha * self.y * h))

    def vote(self, h, alpha):
        return alpha * h


class AsymBoost(AdaBoost):
    def start(self, weights):
        self.tilt = (self.cost_p / self.cost_n) ** (self.y / (2 * self.n_rounds))
        self.set_weights(weights * self.tilt)

    def update(self, h, alpha):
        self.set_weights(self.weights * np.exp(-alpha * self.y * h) * self.tilt)


class AdaCost(AdaBoost):
    def start(self, weights):
        self.C = self.cost / (self.cost_p + self.cost_n)
        self.set_weights(self.C * weights)

    def step(self, h):
        """Return y h beta."""
        return self.y * h * np.where(h == self.y, (1 - self.C) / 2, (1 + self.C) / 2)

    def r(self, h):
        return (self.weights * self.step(h)).sum()

    def alpha(self, h):
        return 0.5 * np.log((1 + self.r(h)) / (1 - self.r(h)))

    def update(self, h, alpha):
        self.set_weights(self.weights * np.exp(-alpha * self.step(h)))


class CSB0(AdaBoost):
    def start(self, weights):
        self.set_weights(self.cost * weights)

    def step(self, h, alpha):  # noqa: ARG002
        return np.ones_like(h)

    def update(self, h, alpha):
        self.set_weights(self.weights * np.where(h != self.y, self.cost, 1.0) * self.step(h, alpha))

    def vote(self, h, alpha):
        return alpha * h * np.where(h > 0, self.cost_p, self.cost_n)


class CSB1(CSB0):
    def step(self, h, alpha):  # noqa: ARG002
        return np.exp(-self.y * h)


class CSB2(CSB0):
    def step(self, h, alpha):
        return np.exp(-alpha * self.y * h)


class AdaC1(AdaBoost):
    """`c` is C divided by the larger cost; in the golden file's `_sum` variants, by the sum of both."""

    unit = max

    def start(self, weights):
        self.c = self.cost / type(self).unit((self.cost_p, self.cost_n))
        self.set_weights(weights)

    def error(self, h):
        return (self.c * self.weights)[h != self.y].sum()

    def alpha(self, h):
        total, error = (self.c * self.weights).sum(), max(self.error(h), FLOOR)
        return 0.5 * np.log((1 + total - 2 * error) / (1 - total + 2 * error))

    def update(self, h, alpha):
        self.set_weights(self.weights * np.exp(-alpha * self.c * self.y * h))


class AdaC1Sum(AdaC1):
    unit = sum


class AdaC2(AdaC1):
    def alpha(self, h):
        return clipped_half_log_odds(self.error(h) / (self.c * self.weights).sum())

    def update(self, h, alpha):
        self.set_weights(self.c * self.weights * np.exp(-alpha * self.y * h))


class AdaC3(AdaC1):
    def error(self, h):
        return (self.c**2 * self.weights)[h != self.y].sum()

    def alpha(self, h):
        total, square = (self.c * self.weights).sum(), (self.c**2 * self.weights).sum()
        gain = square - 2 * max(self.error(h), FLOOR)
        return 0.5 * np.log((total + gain) / (total - gain))

    def update(self, h, alpha):
        self.set_weights(self.c * self.weights * np.exp(-alpha * self.c * self.y * h))


class AdaC3Sum(AdaC3):
    unit = sum


def balanced(weights, y):
    totals = np.where(y > 0, weights[y > 0].sum(), weights[y < 0].sum())
    return weights / totals


class CostSensitive(AdaBoost):
    """The steps are where the derivatives of the losses change sign."""

    may_be_negative = False

    def after(self, h, alpha):
        """Return what each sample adds to the loss after a step along h."""
        return self.weights * np.exp(-self.cost * self.y * h * alpha)

    def alphas(self, pool):
        limit = np.full(pool.shape[1], clipped_half_log_odds(0) / min(self.cost_p, self.cost_n))
        signed = (self.cost * self.y)[:, None] * pool
        with np.errstate(over="ignore"):
            return bisect(
                lambda alphas: (signed.T * self.weights * np.exp(-signed * alphas).T).sum(axis=1) > 0,
                -limit,
                limit,
            )

    def alpha(self, h):
        return self.alphas(h[:, None])[0]

    def losses(self, pool):
        alphas = self.alphas(pool)
        alphas = alphas if self.may_be_negative else np.maximum(alphas, 0)
        return [self.after(h, alpha).sum() for h, alpha in zip(pool.T, alphas, strict=True)]

    def update(self, h, alpha):
        self.set_weights(self.after(h, alpha))


class CostSensitiveAnySign(CostSensitive):
    may_be_negative = True

    def helps(self, alpha):
        return abs(alpha) > TOLERANCE


class CostSensitiveBalanced(CostSensitive):
    def start(self, weights):
        self.set_weights(balanced(weights, self.y))


class AdaBoostDB(AdaBoost):
    """As listed: weights normalised in each class, accumulators, the root of the polynomial; largest root wins."""

    def start(self, weights):
        self.by_class, self.mass_p, self.mass_n = balanced(weights, self.y), 1.0, 1.0
        self.join()

    def join(self):
        self.set_weights(self.by_class * np.where(self.y > 0, self.mass_p, self.mass_n))

    def alpha(self, h):
        a, b = self.cost_p * self.mass_p, self.cost_n * self.mass_n
        a, b = a / (a + b), b / (a + b)
        error_p = self.by_class[(h < 0) & (self.y > 0)].sum()
        error_n = self.by_class[(h > 0) & (self.y < 0)].sum()

        def polynomial(x):
            both, difference = x ** (self.cost_p + self.cost_n), x ** (self.cost_p - self.cost_n)
            costly = a * error_p * x ** (2 * self.cost_p)
            return costly + b * error_n * both + b * (error_n - 1) * difference + a * (error_p - 1)

        limit = clipped_half_log_odds(0) / min(self.cost_p, self.cost_n)
        return bisect(lambda alpha: polynomial(np.exp(alpha)) < 0, 0.0, limit)

    def losses(self, pool):
        return [-self.alpha(h) for h in pool.T]

    def update(self, h, alpha):
        raw = self.by_class * np.exp(-self.cost * self.y * h * alpha)
        self.mass_p *= raw[self.y > 0].sum()
        self.mass_n *= raw[self.y < 0].sum()
        self.by_class = balanced(raw, self.y)
        self.join()


class AdaBoostDBMass(AdaBoostDB):
    def start(self, weights):
        super().start(weights)
        self.mass_p, self.mass_n = weights[self.y > 0].sum(), weights[self.y < 0].sum()
        self.join()


class CostGeneralized(AdaBoost):
    def start(self, weights):
        gamma = self.cost_p / (self.cost_p + self.cost_n)
        self.set_weights(balanced(weights, self.y) * np.where(self.y > 0, gamma, 1 - gamma))


class CostGeneralizedBySample(AdaBoost):
    def start(self, weights):
        self.set_weights(self.cost * weights)


RECIPES = {
    "adaboost": AdaBoost,
    "asymboost": AsymBoost,
    "adacost": AdaCost,
    "csb0": CSB0,
    "csb1": CSB1,
    "csb2": CSB2,
    "adac1": AdaC1,
    "adac2": AdaC2,
    "adac3": AdaC3,
    "adac1_sum": AdaC1Sum,
    "adac3_sum": AdaC3Sum,
    "csa_uniform": CostSensitive,
    "csa_uniform_anysign": CostSensitiveAnySign,
    "csa_balanced": CostSensitiveBalanced,
    "adaboostdb": AdaBoostDB,
    "adaboostdb_mass": AdaBoostDBMass,
    "cga": CostGeneralized,
    "cga_sample": CostGeneralizedBySample,
}
