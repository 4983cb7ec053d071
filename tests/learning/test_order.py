from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as stn

from vjcascade.learning.order import between, rising


@given(
    stn.arrays(
        st.sampled_from([np.float32, np.float64, np.uint8]),
        st.integers(0, 40),
        elements=st.sampled_from([0.0, 1.0, 2.0, 7.0, 200.0]),
    )
)
def test_equal_values_stay_in_order(values):
    assert rising(values).tolist() == np.argsort(values, kind="stable").tolist()


@given(
    stn.arrays(
        np.float32,
        st.integers(1, 60),
        elements=st.floats(width=32, allow_nan=False) | st.sampled_from([0.0, -0.0, np.inf, -np.inf]),
    )
)
def test_of_any_sign_and_size(values):
    assert rising(values).tolist() == np.argsort(values, kind="stable").tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_threshold_lies_above_the_lower_value(dtype):
    low = dtype(0.1)
    assert between(low, np.nextafter(low, dtype(1))) > low
    assert between(dtype(1), dtype(2)) == 1.5
