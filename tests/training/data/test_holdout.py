"""The laws of holding out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vjcascade.training.data.holdout import split_held_out

GROUPS = st.lists(st.integers(0, 30), max_size=150)


@given(groups=GROUPS, fraction=st.floats(0, 0.9), min_samples=st.integers(0, 60), seed=st.integers(0, 2**32))
def test_laws(groups: list[int], fraction: float, min_samples: int, seed: int) -> None:
    settings = {"fraction": fraction, "min_samples": min_samples, "max_held_out": 40, "seed": seed}
    train, held_out = split_held_out(groups, **settings)
    assert sorted([*train, *held_out]) == list(range(len(groups)))
    assert list(train) == sorted(train)
    assert list(held_out) == sorted(held_out)
    assert not {groups[i] for i in train} & {groups[i] for i in held_out}
    assert len(held_out) <= min(fraction * len(groups), 40)
    if len(groups) < min_samples:
        assert len(held_out) == 0
    for part, again in zip((train, held_out), split_held_out(groups, **settings), strict=True):
        np.testing.assert_array_equal(part, again)


@given(n=st.integers(100, 300), seed=st.integers(0, 2**32))
def test_single_samples_fill_the_share(n: int, seed: int) -> None:
    train, held_out = split_held_out(np.arange(n), seed=seed)
    assert len(held_out) == n // 5
    assert len(train) == n - n // 5


@pytest.mark.parametrize(("n", "n_held_out"), [(0, 0), (99, 0), (100, 20), (20_000, 2000)])
def test_sizes(n: int, n_held_out: int) -> None:
    assert len(split_held_out(np.arange(n), seed=1)[1]) == n_held_out


def test_seed_matters() -> None:
    choices = {tuple(split_held_out(np.arange(100), seed=seed)[1]) for seed in range(5)}
    assert len(choices) == 5
