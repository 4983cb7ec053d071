"""Integral images against plain loops and OpenCV."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as npst

from vjcascade.kernels.integral import deinterleave_row, fill_integrals, fill_tilted


def integral_image(gray):
    """Return the plain integral image; the kernel leaves an empty squared one alone."""
    total = np.full(np.add(gray.shape, 1), -1, np.int32)
    fill_integrals(gray, 1, total, np.empty((0, 0), np.uint32))
    return total


def squared_integral(gray):
    """Return the squared integral image, and check the plain one that comes with it."""
    total, squared = integral_image(gray), np.full(np.add(gray.shape, 1), 77, np.uint32)
    again = np.full_like(total, -1)
    fill_integrals(gray, 1, again, squared)
    np.testing.assert_array_equal(again, total)
    return squared


def tilted_integral(gray):
    tilted = np.full(np.add(gray.shape, 1), -1, np.int32)
    fill_tilted(gray, 1, tilted)
    return tilted


PAIRS = [
    (integral_image, naive.integral_image),
    (squared_integral, naive.squared_integral),
    (tilted_integral, naive.tilted_integral),
]
images = npst.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9)))


@pytest.mark.parametrize(("fast", "plain"), PAIRS, ids=["sum", "squared", "tilted"])
@settings(max_examples=40, deadline=None)
@given(gray=images)
def test_equals_plain_loops(fast, plain, gray):
    np.testing.assert_array_equal(fast(gray), plain(gray))


def test_squared_sum_wraps():
    white = np.full((300, 300), 255, np.uint8)
    exact = 255**2 * np.arange(301, dtype=np.int64)[:, None] * np.arange(301)
    np.testing.assert_array_equal(squared_integral(white), (exact % 2**32).astype(np.uint32))


def test_deinterleave_row():
    out = np.full(6, -1, np.int32)
    deinterleave_row(np.array([5, 6, 7, 8, 9], np.int32), 2, out)
    assert out.tolist() == [5, 7, 9, 6, 8, -1]


@pytest.mark.parametrize("step", [2, 3])
def test_integrals_with_steps_are_deinterleaved(rng, step):
    gray = rng.integers(0, 256, (7, 11), np.uint8)
    total, squared = np.full((8, 12), -1, np.int32), np.full((8, 12), 77, np.uint32)
    tilted = np.full_like(total, -1)
    fill_integrals(gray, step, total, squared)
    fill_tilted(gray, step, tilted)
    plain = integral_image(gray), squared_integral(gray), tilted_integral(gray)
    for image, expected in zip((total, squared, tilted), plain, strict=True):
        phases = [expected[:, first::step] for first in range(step)]
        np.testing.assert_array_equal(image, np.hstack(phases))


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2), (31, 47), (333, 257)])
def test_equals_opencv(oracle, rng, shape):
    gray = rng.integers(0, 256, shape, np.uint8)
    expected = oracle("integrals", gray=gray)
    np.testing.assert_array_equal(integral_image(gray), expected["sum"])
    np.testing.assert_array_equal(squared_integral(gray), expected["squared"])
    np.testing.assert_array_equal(tilted_integral(gray), expected["tilted"])
