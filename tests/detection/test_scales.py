"""The scale list and the levels."""

import math

import numpy as np
import pytest

from vjcascade.detection.scales import MAX_LEVELS, scaled_size, scan_levels
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


def test_step_and_stripes():
    levels = scan_levels(Size(120, 90), WINDOW, 1.5)
    assert [level.step for level in levels] == [2, 2, 1, 1]
    assert {level.n_stripes for level in levels} == {math.ceil(97 / 32)}


@pytest.mark.parametrize("scale_factor", [1.0, 0.9, math.nan, math.inf, -2.0])
def test_scale_factor_must_be_above_one(scale_factor):
    with pytest.raises(SettingsError, match="scale factor"):
        scan_levels(Size(100, 100), WINDOW, scale_factor)


def test_too_many_scales_are_refused_at_once():
    with pytest.raises(SettingsError, match=rf"scale factor 1.0000001 asks for \d+ scales.*{MAX_LEVELS}"):
        scan_levels(Size(512, 512), WINDOW, 1.0000001)
    assert len(scan_levels(Size(512, 512), WINDOW, 1.001)) > 3000
