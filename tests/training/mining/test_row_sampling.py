"""Parts of photos: all rows, each once, whatever shares are dealt."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vjcascade.detection.scales import scan_levels
from vjcascade.training.mining.row_sampling import N_PARTS, SCALE_FACTOR, RowSampler, truncate_rows
from vjcascade.types import Size

WINDOW = Size(12, 10)
SIZES = st.builds(Size, st.integers(8, 70), st.integers(8, 60))
ENDS = st.lists(st.floats(0, 1), max_size=5)


@given(size=SIZES, ends=ENDS, seed=st.integers(0, 9))
def test_shares_make_up_the_whole(size, ends, seed):
    deck, sampled, bounds = RowSampler(size, WINDOW), Counter(), sorted([0, *ends, 1])
    for begin, end in pairwise(bounds):
        for part in deck.deal(np.random.default_rng(seed), begin, end):
            assert part.n_columns == part.level.size.width - WINDOW.width + 1
            assert part.rows.tolist() == sorted(part.rows.tolist())
            sampled.update((part.level, y) for y in part.rows.tolist())
    levels = scan_levels(size, WINDOW, SCALE_FACTOR)
    rows = {(level, y) for level in levels for y in range(level.size.height - WINDOW.height + 1)}
    assert sampled == Counter(rows)
    assert deck.n_windows == sum(level.size.width - WINDOW.width + 1 for level, _ in rows)


@given(size=SIZES, max_windows=st.integers(0, 5000), seed=st.integers(0, 9))
def test_a_cut_deal_has_no_more_windows(size, max_windows, seed):
    deck = RowSampler(size, WINDOW)
    sampled = deck.deal(np.random.default_rng(seed), 0, 1)
    cut = truncate_rows(sampled, max_windows)
    n_windows = sum(part.n_windows for part in cut)
    assert n_windows <= max_windows
    assert n_windows == deck.n_windows or n_windows > max_windows - size.width
    whole = {part.level: part.rows.tolist() for part in sampled}
    assert all(whole[part.level][: len(part.rows)] == part.rows.tolist() != [] for part in cut)


@pytest.mark.parametrize("end", [1e-12, 0.004, 0.012])
def test_a_first_share_is_never_empty(rng, end):
    (part,) = RowSampler(Size(70, 60), WINDOW).deal(rng, 0, end)
    assert (np.diff(part.rows) == N_PARTS).all()


def test_every_level_has_the_same_chance():
    deck, n_levels = RowSampler(Size(70, 60), WINDOW), len(scan_levels(Size(70, 60), WINDOW, SCALE_FACTOR))
    first = Counter(deck.deal(np.random.default_rng(seed), 0, 1e-9)[0].level.size for seed in range(2000))
    assert len(first) == n_levels
    expected = 2000 / n_levels
    assert max(first.values()) < 1.5 * expected


def test_rounding_errors_deal_nothing_twice():
    deck, bounds, sampled = RowSampler(Size(70, 60), WINDOW), [0.0], 0
    while bounds[-1] < 1:
        bounds.append(min(bounds[-1] + 0.1, 1.0))
    for begin, end in pairwise(bounds):
        sampled += sum(part.n_windows for part in deck.deal(np.random.default_rng(3), begin, end))
    assert sampled == deck.n_windows
