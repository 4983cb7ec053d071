"""The scale list and the levels."""

import math

import numpy as np
import pytest

from vjcascade.detection.scales import MAX_LEVELS, dense_levels, scaled_size, scan_levels
from vjcascade.errors import SettingsError
from vjcascade.types import Size

WINDOW = Size(24, 24)


def scales_of(*args, **options):
    return [float(level.scale) for level in scan_levels(*args, **options)]


def test_all_scales_until_the_window_does_not_fit():
    assert scales_of(Size(100, 60), WINDOW, 2.0) == [1.0, 2.0]
    assert scales_of(Size(24, 24), WINDOW, 1.1) == [1.0]


def test_no_scale_where_the_window_does_not_fit():
    assert scan_levels(Size(23, 100), WINDOW, 1.1) == []
    assert scan_levels(Size(23, 100), WINDOW, 1.1, Size(10, 10), Size(20, 20)) == []


def test_scales_are_doubles_until_they_are_listed():
    scales = scales_of(Size(512, 512), WINDOW, 1.1)
    factor = 1.0
    for scale in scales:
        assert scale == np.float32(factor)
        factor *= 1.1


@pytest.mark.parametrize(
    ("min_size", "max_size", "widths"),
    [
        (Size(30, 30), None, [36, 54, 81]),
        (None, Size(40, 40), [24, 36]),
        (None, Size(40, 30), [24]),
        (Size(36, 36), Size(54, 54), [36, 54]),
        (Size(40, 40), Size(50, 50), [36]),  # none between them: the one nearest to min_size
        (Size(500, 500), None, [81]),
    ],
)
def test_bounds(min_size, max_size, widths):
    levels = scan_levels(Size(100, 100), WINDOW, 1.5, min_size, max_size)
    assert [scaled_size(WINDOW, level.scale).width for level in levels] == widths


def test_levels_are_rounded_half_to_even():
    assert [level.size for level in scan_levels(Size(61, 63), Size(20, 20), 2.0)] == [(61, 63), (30, 32)]


def test_step_and_rows():
    levels = scan_levels(Size(120, 90), WINDOW, 1.5)
    assert [level.step for level in levels] == [2, 2, 1, 1]
    assert [level.rows for level in levels] == [range(0, 67, 2), range(0, 37, 2), range(17), range(4)]
    assert [level.n_columns for level in levels] == [49, 29, 30, 13]


@pytest.mark.parametrize(("height", "rows"), [(28, [0, 2]), (29, [0, 2, 4]), (30, [0, 2, 4])])
def test_opencv_loses_the_last_row_of_an_odd_number(height, rows):
    """One stripe, since the picture is less than 32 windows wide."""
    (level,) = scan_levels(Size(40, height), WINDOW, 1.5)
    assert list(level.rows) == rows
    assert list(level.every_window().rows) == list(range(height - 24 + 1))


@pytest.mark.parametrize("stride", [1, 3])
def test_dense_rows_reach_the_bottom(stride):
    (level,) = dense_levels(Size(40, 31), WINDOW, 1.5, stride, (Size(24, 24), Size(24, 24)))
    assert level.rows == range(0, 8, stride)
    assert level.n_windows == len(range(0, 8, stride)) * len(range(0, 17, stride))
    assert level.every_window().n_windows == 8 * 17


@pytest.mark.parametrize(
    "scale_factor", [1.0, 0.9, math.nan, math.inf, -2.0, 10**400, 2j, np.complex64(2), "2"]
)
def test_scale_factor_must_be_above_one(scale_factor):
    with pytest.raises(SettingsError, match="scale factor"):
        scan_levels(Size(100, 100), WINDOW, scale_factor)


def test_too_many_scales_are_refused_at_once():
    with pytest.raises(SettingsError, match=rf"scale factor 1.0000001 asks for \d+ scales.*{MAX_LEVELS}"):
        scan_levels(Size(512, 512), WINDOW, 1.0000001)
    assert len(scan_levels(Size(512, 512), WINDOW, 1.001)) > 3000


@pytest.mark.parametrize(
    ("min_size", "max_size", "widths"),
    [
        ((1, 1), (100, 100), [24, 36, 54, 81]),
        ((30, 30), (100, 100), [36, 54, 81]),
        ((36, 1), (54, 54), [36, 54]),
        ((1, 1), (100, 40), [24, 36]),
        ((40, 40), (50, 50), []),  # none between them
        ((500, 500), (900, 900), []),
        ((50, 50), (40, 40), []),
    ],
)
def test_dense_levels_keep_the_bounds(min_size, max_size, widths):
    levels = dense_levels(Size(100, 100), WINDOW, 1.5, 3, (Size(*min_size), Size(*max_size)))
    assert [scaled_size(WINDOW, level.scale).width for level in levels] == widths
    assert {level.step for level in levels} <= {3}


def test_dense_levels_are_among_opencvs():
    of_opencv = {(level.scale, level.size) for level in scan_levels(Size(97, 61), WINDOW, 1.1)}
    levels = dense_levels(Size(97, 61), WINDOW, 1.1, 1, (Size(1, 1), Size(97, 61)))
    assert {(level.scale, level.size) for level in levels} == of_opencv


def test_a_huge_scale_factor_gives_one_scale():
    assert scales_of(Size(100, 100), WINDOW, 1e308) == [1]


def test_a_stride_beyond_the_level_is_no_longer_than_it():
    """Else the integral images, which are as wide as the stride, would fill the memory."""
    bounds = Size(1, 1), Size(100, 100)
    levels = dense_levels(Size(100, 80), WINDOW, 1.5, 10**30, bounds)
    assert levels
    assert [level.step for level in levels] == [level.size.width for level in levels]


def test_numbers_of_numpy_are_scale_factors():
    assert (
        scales_of(Size(30, 30), WINDOW, np.float32(1.5)) == scales_of(Size(30, 30), WINDOW, np.int8(2)) == [1]
    )
