from __future__ import annotations

import numpy as np
import pytest

from vjcascade.kernels.tiles import GROUPS, TILE, put_rows, swap_columns, take_rows


@pytest.mark.parametrize("n_samples", [8, 16, 72])
def test_a_tile_holds_the_bytes_of_its_features_sample_by_sample(rng, n_samples):
    rows = rng.integers(0, 256, (TILE, n_samples)).astype(np.uint8)
    words = np.empty((n_samples, GROUPS), np.uint64)
    put_rows(rows.view(np.uint64), words)
    assert np.array_equal(words.view(np.uint8), rows.T)


def test_rows_of_some_columns(rng):
    tiles = rng.integers(0, 256, (3, 20, TILE)).astype(np.uint8)
    features, columns = np.array([130, 5, 64]), np.array([3, 4, 19], np.uint32)
    rows = np.zeros((3, 3), np.uint8)
    take_rows(tiles, features, columns, np.array([2, 0, 1], np.uint32), rows)
    expected = tiles.transpose(0, 2, 1).reshape(-1, 20)[features][:, [4, 19, 3]]
    assert np.array_equal(rows, expected)


def test_columns_change_places(rng):
    words = rng.integers(0, 2**63, (2, 6, GROUPS)).astype(np.uint64)
    before = words.copy()
    swap_columns(words, np.array([0, 4], np.uint32), np.array([5, 1], np.uint32))
    assert np.array_equal(words, before[:, [5, 4, 2, 3, 1, 0]])
