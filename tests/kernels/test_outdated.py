"""Samples with outdated weights, selected without sorting: within the budget, and the largest differences."""

from __future__ import annotations

import naive
import numpy as np
import pytest

from vjcascade.kernels import outdated
from vjcascade.learning.quantized_weights import QuantizedWeights


@pytest.fixture
def kept(rng: np.random.Generator) -> tuple[QuantizedWeights, np.ndarray]:
    held = np.rint(rng.random((2, 500)) ** 4 * 1000)
    held[0, 200:] = held[1, :200] = 0
    unit = np.array([1e-5, 3e-6])
    parts = held * unit[:, None] * rng.choice([1, 1, 1, 1.02, 1.3, 4], 500)
    return QuantizedWeights(held, unit, 0.0, np.zeros(2), np.zeros(2)), parts


@pytest.mark.parametrize("tolerance", [0, 1e-6, 1e-3, 0.01, 0.1, 0.5, 1e9])
def test_what_stays_is_within_the_tolerance(kept, tolerance):
    weights, parts = kept
    off = naive.outdated_shares(parts, weights.held, weights.unit)
    samples = weights.out_of_date(parts, tolerance)
    assert (np.diff(samples) > 0).all()
    left = np.delete(off, samples)
    assert left.sum() <= 2 * tolerance * (1 + 1e-12)
    if len(samples):
        assert left.max(initial=0) <= off[samples].min() * (1 + 2**-4)  # in one class of sizes, any may stay
        assert len(samples) <= 1.1 * naive.n_to_update(off, 2 * tolerance) + 1


def test_equal_differences_fill_the_tolerance(kept):
    weights, _ = kept
    parts = np.where(weights.held > 0, 1.0, 0.0)
    none = QuantizedWeights.none(parts)
    off = naive.outdated_shares(parts, none.held, none.unit)
    for tolerance in (0.1, 0.4):
        n = len(none.out_of_date(parts, tolerance))
        assert n < len(off)
        assert off.sum() - n * off.max() <= 2 * tolerance


def test_keys_rise_with_the_numbers():
    numbers = np.concatenate([[0.0, 5e-324], np.geomspace(1e-300, 1e300, 1000)])
    keys = numbers.view(np.uint64) >> outdated.KEY_SHIFT
    assert (np.diff(keys.astype(np.int64)) >= 0).all()
    assert keys.max() < outdated.N_KEYS


def test_errors_are_added_up_by_their_sign(kept):
    weights, parts = kept
    above, below = np.empty(2), np.empty(2)
    outdated.add_up_errors(parts, weights.held, weights.unit, above, below)
    for part in range(2):
        off = [
            one - held * weights.unit[part] for one, held in zip(parts[part], weights.held[part], strict=True)
        ]
        assert above[part] == pytest.approx(-sum(one for one in off if one < 0), rel=1e-12)
        assert below[part] == pytest.approx(sum(one for one in off if one > 0), rel=1e-12)
