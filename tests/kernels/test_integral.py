"""Integral images against plain loops and OpenCV."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as npst

from vjcascade.kernels.integral import deinterleave, integral_image, squared_integral, tilted_integral

PAIRS = [
    (integral_image, naive.integral_image, np.int32),
    (squared_integral, naive.squared_integral, np.uint32),
    (tilted_integral, naive.tilted_integral, np.int32),
]
images = npst.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9)))


@pytest.mark.parametrize(("fast", "plain", "dtype"), PAIRS, ids=["sum", "squared", "tilted"])
@settings(max_examples=40, deadline=None)
@given(gray=images)
def test_equals_plain_loops(fast, plain, dtype, gray):
    result = fast(gray)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, plain(gray))


def test_squared_sum_wraps():
    white = np.full((300, 300), 255, np.uint8)
    exact = 255**2 * np.arange(301, dtype=np.int64)[:, None] * np.arange(301)
    np.testing.assert_array_equal(squared_integral(white), (exact % 2**32).astype(np.uint32))


@pytest.mark.parametrize("function", [integral_image, squared_integral, tilted_integral])
def test_takes_views_and_read_only_arrays(function, rng):
    gray = rng.integers(0, 256, (20, 30), np.uint8)
    view = gray[::2, 3::3]
    view.flags.writeable = False
    np.testing.assert_array_equal(function(view), function(view.copy()))


def test_deinterleave():
    out = np.full(12, -1, np.int32)
    deinterleave(np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]], np.int32), 2, out)
    assert out.tolist() == [0, 2, 4, 1, 3, -1, 5, 7, 9, 6, 8, -1]


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2), (31, 47), (333, 257)])
def test_equals_opencv(oracle, rng, shape):
    gray = rng.integers(0, 256, shape, np.uint8)
    expected = oracle("integrals", gray=gray)
    np.testing.assert_array_equal(integral_image(gray), expected["sum"])
    np.testing.assert_array_equal(squared_integral(gray), expected["squared"])
    np.testing.assert_array_equal(tilted_integral(gray), expected["tilted"])
