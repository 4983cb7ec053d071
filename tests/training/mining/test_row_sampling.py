"""Rows of images: all of them are sampled, each once, whatever the shares are."""

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
    sampler, sampled, bounds = RowSampler(size, WINDOW), Counter(), sorted([0, *ends, 1])
    for begin, end in pairwise(bounds):
        for level in sampler.sample(np.random.default_rng(seed), begin, end):
            assert level.n_columns == level.size.width - WINDOW.width + 1
            assert list(level.rows) == sorted(level.rows)
            sampled.update((level.scale, level.size, y) for y in level.rows.tolist())
    levels = scan_levels(size, WINDOW, SCALE_FACTOR)
    rows = [
        (level.scale, level.size, y) for level in levels for y in range(level.size.height - WINDOW.height + 1)
    ]
    assert sampled == Counter(rows)
    assert sampler.n_windows == sum(size.width - WINDOW.width + 1 for _, size, _ in rows)


@given(size=SIZES, max_windows=st.integers(0, 5000), seed=st.integers(0, 9))
def test_cut_levels_have_no_more_windows(size, max_windows, seed):
    sampler = RowSampler(size, WINDOW)
    sampled = sampler.sample(np.random.default_rng(seed), 0, 1)
    cut = truncate_rows(sampled, max_windows)
    n_windows = sum(level.n_windows for level in cut)
    assert n_windows <= max_windows
    assert n_windows == sampler.n_windows or n_windows > max_windows - size.width
    whole = {level.scale: list(level.rows) for level in sampled}
    assert all(whole[level.scale][: len(level.rows)] == list(level.rows) != [] for level in cut)


@pytest.mark.parametrize("end", [1e-12, 0.004, 0.012])
def test_a_first_share_is_never_empty(rng, end):
    (level,) = RowSampler(Size(70, 60), WINDOW).sample(rng, 0, end)
    assert (np.diff(level.rows) == N_PARTS).all()


def test_every_level_has_the_same_chance():
    sampler, n_levels = RowSampler(Size(70, 60), WINDOW), len(scan_levels(Size(70, 60), WINDOW, SCALE_FACTOR))
    first = Counter(sampler.sample(np.random.default_rng(seed), 0, 1e-9)[0].size for seed in range(2000))
    assert len(first) == n_levels
    expected = 2000 / n_levels
    assert max(first.values()) < 1.5 * expected


def test_rounding_errors_sample_nothing_twice():
    sampler, bounds, n_sampled = RowSampler(Size(70, 60), WINDOW), [0.0], 0
    while bounds[-1] < 1:
        bounds.append(min(bounds[-1] + 0.1, 1.0))
    for begin, end in pairwise(bounds):
        n_sampled += sum(level.n_windows for level in sampler.sample(np.random.default_rng(3), begin, end))
    assert n_sampled == sampler.n_windows
