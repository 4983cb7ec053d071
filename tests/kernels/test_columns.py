import numpy as np

from vjcascade.kernels.columns import reorder_columns


def test_columns_come_in_the_order_asked_for(rng):
    rows = rng.integers(0, 256, (5, 70)).astype(np.uint8)
    order = rng.permutation(70)
    moved = rows.copy()
    reorder_columns(moved, order.astype(np.uint32))
    assert np.array_equal(moved, rows[:, order])
