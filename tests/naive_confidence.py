"""Boosters with real-valued leaves as their recipes are printed, one side of a hypothesis at a time."""

from __future__ import annotations

import numpy as np
from naive_boosters import TOLERANCE, balanced


class Real:
    """A confidence for each side of h."""

    def __init__(self, labels, cost_p, cost_n, by):
        self.y = labels.astype(float)
        self.cost_p, self.cost_n, self.by = cost_p, cost_n, by
        self.score = np.zeros(len(labels))

    def start(self, weights):
        self.first = self.weights = weights / weights.sum()

    def value(self, side):
        share = np.clip((self.weights * (self.y > 0))[side].sum() / self.weights[side].sum(), 1e-5, 1 - 1e-5)
        return 0.5 * np.log(share / (1 - share))

    def left(self, side):
        """Return the Gini impurity times the weight, or the exponential loss that the side's value leaves."""
        weights, positive = self.weights[side], self.y[side] > 0
        if self.by == "gini":
            share = weights[positive].sum() / weights.sum()
            return weights.sum() * (1 - share**2 - (1 - share) ** 2)
        cost = np.where(positive, self.cost_p, self.cost_n) * self.y[side]
        return (weights * np.exp(-cost * self.value(side))).sum()

    def update(self, outputs):
        self.score += outputs
        raw = self.first * np.exp(-self.y * self.score)
        self.weights = raw / raw.sum()


class CostSensitiveReal(Real):
    def value(self, side):
        share = (self.weights * (self.y > 0))[side].sum() / self.weights[side].sum()
        dear = self.cost_p * share / (self.cost_p * share + self.cost_n * (1 - share))
        dear = np.clip(dear, 1e-5, 1 - 1e-5)
        return np.log(dear / (1 - dear)) / (self.cost_p + self.cost_n)

    def update(self, outputs):
        self.score += outputs
        raw = self.first * np.exp(-np.where(self.y > 0, self.cost_p, self.cost_n) * self.y * self.score)
        self.weights = raw / raw.sum()


class Gentle(Real):
    def value(self, side):
        return (self.weights * self.y)[side].sum() / self.weights[side].sum()

    def left(self, side):
        return (self.weights[side] * (self.y[side] - self.value(side)) ** 2).sum()


class Logit(Gentle):
    eta = 0.0

    def start(self, weights):
        self.first = weights
        self.update(0.0)

    def value(self, side):
        return 0.5 * (self.weights * self.responses)[side].sum() / self.weights[side].sum()

    def left(self, side):
        return (self.weights[side] * (self.responses[side] - 2 * self.value(side)) ** 2).sum()

    def update(self, outputs):
        self.score = self.score + outputs
        p = 1 / (1 + np.exp(-2 * (self.score + self.eta)))
        self.weights = self.first * p * (1 - p) / (self.first * p * (1 - p)).sum()
        self.responses = np.clip(np.where(self.y > 0, 1 / p, -1 / (1 - p)), -10, 10)


class CostSensitiveLogit(Logit):
    def start(self, weights):
        self.eta = 0.5 * np.log(self.cost_n / self.cost_p)
        super().start(weights)


CONFIDENT = {
    "real": Real,
    "gentle": Gentle,
    "logit": Logit,
    "cost-sensitive-real": CostSensitiveReal,
    "cost-sensitive-logit": CostSensitiveLogit,
}


def boost(name, pool, labels, costs, n_rounds, *, by="gini", prior="given"):
    """Boost with a value for each side; return choices and scores. `prior` is "class" or "sample" if costs weigh."""
    weights = np.full(len(labels), 1 / len(labels))
    weights = balanced(weights, labels) if prior == "class" else weights
    recipe = CONFIDENT[name](labels, *costs, by)
    recipe.start(weights if prior == "given" else weights * np.where(labels > 0, *costs))
    chosen = []
    for _ in range(n_rounds):
        sides = [[side for side in (h < 0, h > 0) if side.any()] for h in pool.T]
        left = [sum(recipe.left(side) for side in two) for two in sides]
        best = next(j for j, loss in enumerate(left) if loss <= min(left) + TOLERANCE)
        recipe.update(sum(recipe.value(side) * side for side in sides[best]))
        chosen.append(best)
    return chosen, recipe.score
