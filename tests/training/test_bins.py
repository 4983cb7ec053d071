from __future__ import annotations

import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Round
from vjcascade.training import bins as module
from vjcascade.training.bins import Bins


@pytest.mark.parametrize("n_threads", [1, 3])
def test_orders_add_up(rng, monkeypatch, n_threads):
    monkeypatch.setattr(module, "ROWS_PER_TASK", 2)
    rows = rng.integers(0, 256, (7, 20)).astype(np.uint8)
    bins = Bins(rows.copy())
    for _ in range(3):
        bins.reorder(rng.permutation(20), n_threads)
    assert np.array_equal(bins.rows, rows[:, bins.order])
    labels = np.where(np.arange(20) < 8, 1, -1).astype(np.int8)
    now = Round.of_weights(rng.random(20), BoostingState.start(labels))
    seen = bins.arranged(now)
    assert np.array_equal(seen.weights, now.weights[bins.order])
    assert (seen.positive_mass, seen.negative_mass) == (now.positive_mass, now.negative_mass)
