from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.comparison.problems import TableProblem, WindowProblem, in_order, split_samples
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode, enumerate_haar
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.types import Size


@st.composite
def grouped_labels(draw):
    """Return labels and groups, each group of one class."""
    sizes = {side: draw(st.lists(st.integers(1, 6), min_size=8, max_size=30)) for side in (1, -1)}
    labels = np.concatenate([np.full(sum(sizes[side]), side) for side in (1, -1)]).astype(np.int8)
    flat = sizes[1] + sizes[-1]
    return labels, np.repeat(np.arange(len(flat)), flat)


@settings(max_examples=50, deadline=None)
@given(grouped_labels(), st.integers(0, 5))
def test_parts_cover_everything_and_keep_groups_together(data, seed):
    labels, groups = data
    split = split_samples(labels, groups, (0.5, 0.25), seed)
    lists = split.train, split.tune, split.test
    assert np.array_equal(np.sort(np.concatenate(lists)), np.arange(len(labels)))
    for i, part in enumerate(lists):
        assert set(labels[part]) == {1, -1}
        for other in lists[:i]:
            assert not set(groups[part]) & set(groups[other])
    assert np.array_equal(split.trained_whole, np.sort(np.concatenate([split.train, split.tune])))


def test_shares_are_those_asked_for_and_seeds_differ():
    labels = np.repeat(np.array([1, -1], np.int8), 100)
    one, other = (split_samples(labels, np.arange(200), (0.5, 0.25), seed) for seed in (0, 1))
    assert [np.bincount(labels[part] > 0).tolist() for part in (one.train, one.tune, one.test)] == [
        [50, 50],
        [25, 25],
        [25, 25],
    ]
    assert not np.array_equal(one.train, other.train)


@pytest.mark.parametrize(
    ("n_positives", "group_of", "message"),
    [
        (5, np.arange, r"5 positives in 5 groups are too few to train, tune and test on: at least 8 in 3"),
        (20, lambda n: np.arange(n) // 15, "20 positives in 2 groups are too few"),
    ],
)
def test_too_few_samples_are_refused(n_positives, group_of, message):
    labels = np.where(np.arange(60) < n_positives, 1, -1).astype(np.int8)
    with pytest.raises(SettingsError, match=message):
        split_samples(labels, group_of(60), (0.5, 0.25), 0)


def test_shuffled_labels_are_as_many_positives_of_any_kind():
    labels = np.where(np.arange(200) < 50, 1, -1).astype(np.int8)
    order, n_positives = in_order(labels, np.arange(200), shuffle_seed=3)
    assert n_positives == 50
    assert np.array_equal(np.sort(order), np.arange(200))
    assert 3 < np.count_nonzero(labels[order[:50]] > 0) < 25


def a_problem(kind, rng):
    labels = np.where(np.arange(60) < 30, 1, -1).astype(np.int8)
    if kind == "table":
        return TableProblem("rows", rng.normal(size=(60, 4)), labels, np.arange(60))
    windows = rng.integers(0, 256, (60, 8, 8)).astype(np.uint8)
    pool = enumerate_haar(Size(8, 8), HaarMode.BASIC)[::50]
    return WindowProblem("stage 1", pool, WindowIntegrals.of(windows), np.arange(60), labels)


@pytest.mark.parametrize("kind", ["table", "windows"])
def test_a_trial_sees_the_samples_of_its_split(kind, rng):
    problem = a_problem(kind, rng)
    split = problem.split([0])
    trial = problem.trial(split, split.train, n_threads=1)
    assert np.array_equal(trial.search.labels, np.sort(problem.labels[split.train])[::-1])
    assert np.array_equal(trial.tune.labels, problem.labels[split.tune])
    assert np.array_equal(trial.test.labels, problem.labels[split.test])
    for feature in (0, 3):
        is_table = kind == "table"
        every = problem.table.T[feature] if is_table else problem.integrals.values(problem.pool[[feature]])[0]
        assert np.array_equal(trial.test.values_of(feature), every[split.test])
        assert np.array_equal(np.sort(trial.search.values(feature)), np.sort(every[split.train]))
