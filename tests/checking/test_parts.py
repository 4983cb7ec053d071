"""The parts of a check: what pictures are compared by, and which are alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.checking.descriptors import Region, describe, signatures
from vjcascade.checking.discriminant import Discriminant, split_groups
from vjcascade.checking.near_copies import ALIKE, groups_of, pairs_alike
from vjcascade.checking.reach import Reach
from vjcascade.training.mining.row_sampling import RowSampler
from vjcascade.training.settings import TrainingSettings
from vjcascade.types import Size


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(8, 40), st.integers(8, 40))
def test_turning_a_window_turns_what_describes_it(seed, height, width):
    window = np.random.default_rng(seed).integers(0, 256, (1, height, width), np.uint8)
    once, twice = describe(window), describe(window[:, ::-1, ::-1][:, ::-1, ::-1])
    np.testing.assert_array_equal(once, twice)
    assert not np.array_equal(once, describe(window[:, ::-1, ::-1]))


def test_a_part_that_is_moved_shows_what_was_moved(rng):
    big = np.kron(rng.integers(0, 256, (12, 12)), np.ones((4, 4))).astype(np.uint8)
    windows = np.stack([big[8:40, 8:40], big[8:40, 12:44]])  # the second one shows all an eighth farther left
    inner = describe(windows[:1], Region(share=0.5))
    moved = describe(windows[1:], Region(0.5 - 4 / 32, 0.5, 0.5))
    np.testing.assert_allclose(inner, moved, atol=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60))
def test_pairs_are_those_of_all_with_all(seed, n):
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 256, (max(n // 3, 1), 16, 16))
    windows = base[rng.integers(len(base), size=n)] + rng.integers(0, 30, (n, 16, 16))
    rows = signatures((windows * 0.8).astype(np.uint8))
    correlations = rows @ rows.T
    expected = groups_of(np.argwhere(np.triu(correlations >= ALIKE, 1)), n)
    # A group has more members than neighbours are looked at only where all are alike, and hang together all the same.
    np.testing.assert_array_equal(groups_of(pairs_alike(rows), n), expected)


def test_flat_windows_are_like_none():
    windows = np.full((4, 12, 12), 7, np.uint8)
    assert len(pairs_alike(signatures(windows))) == 0


def test_scores_come_from_others(rng):
    """A window that is alone of its kind does not teach what judges it."""
    first, second = rng.normal(1, 1, (100, 20)), rng.normal(-1, 1, (100, 20))
    first[0] = -30 * np.ones(20)
    found = Discriminant.between(
        first.astype(np.float32),
        second.astype(np.float32),
        split_groups(np.arange(100), 0),
        split_groups(np.arange(100), 0),
    )
    assert found.first[0] < -1
    assert found.accuracy > 0.95
    rows = first[:5].astype(np.float32)
    np.testing.assert_allclose(found.judge(rows, np.arange(5)), found.first[:5], atol=1e-4)


@pytest.mark.parametrize("n_photos", [1, 7])
def test_reach_counts_the_windows_that_mining_looks_at(n_photos):
    size, window = Size(90, 70), Size(24, 24)
    reach = Reach.of([size] * n_photos, window, 400, TrainingSettings())
    assert reach.n_windows == n_photos * RowSampler(size, window).n_windows
    assert reach.n_negatives == 1000
    # The last stage fed finds its negatives; the next one would not.
    rate = 0.4
    assert (
        reach.n_windows * rate ** (reach.n_stages - 1)
        >= reach.n_negatives
        > reach.n_windows * rate**reach.n_stages
    )
