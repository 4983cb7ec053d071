from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the estimators need scikit-learn")

from vjcascade.boosters import Costs
from vjcascade.estimators.rows import TrainingRows, weighted_example_costs


def as_dict(rows):
    """Return {(row, label): weight}."""
    keys = [(*row, int(label)) for row, label in zip(rows.table.tolist(), rows.labels, strict=True)]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, rows.weights.tolist(), strict=True))


def random_rows(rng, n=60):
    table = rng.integers(-2, 3, (n, 2)) / 4
    labels = np.where(rng.random(n) < 0.4, 1, -1).astype(np.int8)
    return table, labels, rng.integers(1, 5, n).astype(float)


def test_join_adds_up_equal_rows_of_a_class(rng):
    table, labels, weights = random_rows(rng)
    expected = {}
    for row, label, weight in zip(table.tolist(), labels.tolist(), weights.tolist(), strict=True):
        expected[*row, label] = expected.get((*row, label), 0) + weight
    rows = TrainingRows.join(table, labels, weights)
    assert as_dict(rows) == expected
    assert rows.labels.tolist() == sorted(rows.labels, reverse=True)
    assert rows.weight_sums() == (weights[labels > 0].sum(), weights[labels < 0].sum())


def test_join_knows_no_order(rng):
    table, labels, weights = random_rows(rng)
    order = rng.permutation(len(table))
    one, other = (
        TrainingRows.join(table, labels, weights),
        TrainingRows.join(table[order], labels[order], weights[order]),
    )
    for name in ("table", "labels", "weights"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_zero_has_no_sign():
    rows = TrainingRows.join(np.array([[0.0], [-0.0], [1.0]]), np.array([1, 1, -1], np.int8), np.ones(3))
    assert as_dict(rows) == {(0.0, 1): 2.0, (1.0, -1): 1.0}


def test_halves_are_parts(rng):
    rows = TrainingRows.join(*random_rows(rng))
    boosted, held_out = rows.halves(np.random.default_rng(1))
    assert as_dict(boosted) | as_dict(held_out) == as_dict(rows)
    for side in (1, -1):
        counts = [np.count_nonzero(half.labels == side) for half in (boosted, held_out)]
        assert counts[0] - counts[1] in {0, 1}
        assert counts[1] > 0
    assert as_dict(rows.halves(np.random.default_rng(2))[0]) != as_dict(boosted)


def test_a_lonely_row_is_in_both_halves():
    rows = TrainingRows.join(
        np.array([[5.0], [1.0], [2.0], [3.0]]), np.array([1, -1, -1, -1], np.int8), np.array([3.0, 1, 1, 1])
    )
    for half, n_negatives in zip(rows.halves(np.random.default_rng(0)), (2, 1), strict=True):
        assert as_dict(half)[5.0, 1] == 1.5
        assert np.count_nonzero(half.labels < 0) == n_negatives


def test_example_costs_are_kept_in_all(rng):
    labels = np.where(np.arange(20) % 3 == 0, 1, -1).astype(np.int8)
    costs, weights = rng.lognormal(size=20), rng.integers(1, 4, 20).astype(float)
    class_costs, new = weighted_example_costs(costs, labels, weights)
    np.testing.assert_allclose(class_costs.of(labels) * new, costs * weights)
    for side in (labels > 0, labels < 0):
        assert new[side].sum() == pytest.approx(weights[side].sum())  # as many samples as before


def test_equal_example_costs_are_class_costs():
    labels = np.array([1, -1, -1], np.int8)
    costs, weights = weighted_example_costs([4, 2, 2], labels, np.array([1.0, 5.0, 2.0]))
    assert costs == Costs(4, 2)
    assert weights.tolist() == [1, 5, 2]
