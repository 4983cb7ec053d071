"""Classes of objects by height."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vjcascade.errors import SettingsError
from vjcascade.evaluation.sizes import size_classes

HEIGHTS = st.lists(st.floats(1, 500), min_size=1, max_size=40)


@given(HEIGHTS, st.none() | st.lists(st.floats(1, 400), max_size=4))
def test_every_object_is_in_one_class(heights, bounds):
    classes = size_classes(heights, bounds)
    for height in heights:
        assert sum(one.low <= height < one.high for one in classes) == 1
    assert [one.high for one in classes[:-1]] == [one.low for one in classes[1:]]
    assert (classes[0].low, classes[-1].high) == (0, np.inf)


@given(HEIGHTS)
def test_without_bounds_there_are_at_most_three_and_none_is_empty(heights):
    classes = size_classes(heights)
    assert len(classes) <= 3
    assert all(any(one.low <= height < one.high for height in heights) for one in classes)


def test_thirds_by_hand():
    assert [one.low for one in size_classes(range(10, 19))] == [0, 13, 16]
    assert [str(one) for one in size_classes([20.5] * 7)] == ["all"]


@pytest.mark.parametrize("bound", [0, -3, np.inf, np.nan])
def test_bounds_are_heights(bound):
    with pytest.raises(SettingsError, match="is not a height in pixels"):
        size_classes([20], [bound])
