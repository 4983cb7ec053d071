"""Pools of weak classifiers given by their outputs, and costs, for the tests of boosters."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from vjcascade.boosters import Costs

seeds = st.integers(0, 2**32 - 1)
costs = st.builds(Costs, st.floats(0.2, 8), st.floats(0.2, 8))
far_costs = st.builds(Costs, st.floats(0.03, 30), st.floats(0.03, 30))


def random_pool(seed, n_positive=None, n_negative=None, n_weak=None):
    """Return outputs (samples x weak classifiers) and labels; classes and sizes of any kind unless given.

    Most weak classifiers are right more often than not; none always is, or never. Half of the pools also hold
    constants, and copies and negatives of others: exact ties.
    """
    rng = np.random.default_rng(seed)
    n_positive = n_positive or int(rng.integers(3, 13))
    n_negative = n_negative or int(rng.integers(3, 19))
    labels = rng.permutation(np.repeat([1, -1], [n_positive, n_negative])).astype(np.int8)
    noise = rng.uniform(0.15, 0.5, n_weak or int(rng.integers(3, 11)))
    wrong = rng.random((len(labels), len(noise))) < noise
    columns = np.arange(len(noise))
    two = rng.permuted(np.tile(np.arange(len(labels)), (len(noise), 1)), axis=1)[:, :2]
    wrong[two[:, 0], columns], wrong[two[:, 1], columns] = True, False
    pool = np.where(wrong, -labels[:, None], labels[:, None]).astype(np.int8)
    return (with_ties(pool, rng) if rng.random() < 0.5 else pool), labels


def milder(costs):
    """Return costs of a ratio at which weights keep their digits through some rounds, even in differences."""
    return Costs(costs.positive**0.3, costs.negative**0.3)


def with_ties(pool, rng):
    """Return a pool with the negatives of its members, copies of some, and both constants, in any order."""
    constant = np.ones((len(pool), 1), np.int8)
    copies = pool[:, rng.integers(0, pool.shape[1], 3)]
    together = np.hstack([pool, -pool, copies, constant, -constant])
    return together[:, rng.permutation(together.shape[1])]


def complete_pool(rates, n_each):
    """Return pool and labels on which any score can be reached: a cell of samples for each rate of positives.

    There are `n_each` samples in each cell, and a weak classifier for every way to tell cells apart.
    """
    positives = np.round(np.asarray(rates) * n_each).astype(int)
    cells = np.repeat(np.arange(len(rates)), n_each)
    labels = np.concatenate([np.repeat([1, -1], [p, n_each - p]) for p in positives]).astype(np.int8)
    ways = 2 * ((np.arange(2 ** len(rates))[None, :] >> np.arange(len(rates))[:, None]) & 1) - 1
    return ways[cells].astype(np.int8), labels
