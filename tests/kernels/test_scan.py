"""Vector code against scalar code, window after window."""

from dataclasses import replace

import builders
import numpy as np
import pytest
from numba import njit

from vjcascade.cascade import Cascade, Stage
from vjcascade.detection.compiled import CompiledModel, _float32_bounds
from vjcascade.detection.fast_nodes import fast_nodes
from vjcascade.detection.scanner import Scanner
from vjcascade.kernels.fast_lanes import UNDECIDED, quick_stage, wide_stage
from vjcascade.kernels.lanes import LANES
from vjcascade.kernels.scan import (
    TILE,
    WIDE,
    appended,
    bit_count,
    doubled,
    scalar_stage,
    tile_scales,
    tile_stage,
    visited_windows,
    window_scale,
)
from vjcascade.types import FeatureType, Size

compiled = pytest.mark.skipif(LANES == 1, reason="numba is switched off: one window at a time")

KINDS = {
    "stumps": {},
    "tilted": {"tilted_share": 0.5},
    "trees": {"tree_share": 0.7},
    "tilted trees": {"tilted_share": 0.5, "tree_share": 1.0},
    "LBP stumps": {"kind": FeatureType.LBP},
    "LBP trees": {"kind": FeatureType.LBP, "tree_share": 0.7},
}


def tiles(cascade, rng):
    """Yield integral images, the base and scales of some tiles of a noise picture, and the model."""
    integrals = Scanner(cascade).integrals(builders.smooth_noise(rng, 40, 60))
    norm_rect, model = CompiledModel(cascade).for_layout(integrals.layout)
    scales = np.ones(TILE + WIDE, np.float32)
    for y in range(0, 20, 3):
        base = np.uint64(y * integrals.layout.stride)
        if len(norm_rect):
            tile_scales(integrals.planes, integrals.squared, base, norm_rect, 80.0, TILE, scales)
        yield integrals, base, scales, model


def nodes_of(model, stage):
    return np.uint64(model[3][stage - 1] if stage else 0), np.uint64(model[3][stage])


@pytest.mark.parametrize("kind", KINDS)
def test_exact_sums_equal_those_of_single_windows(kind, rng):
    cascade = builders.random_cascade(rng, **KINDS[kind])
    alive = int(rng.integers(1, 1 << TILE))
    for integrals, base, scales, model in tiles(cascade, rng):
        planes = integrals.planes
        for stage in range(cascade.n_stages):
            sums = np.full(TILE + WIDE, np.nan)
            bits = tile_stage(planes, base, scales, alive, model, stage, sums)
            assert bits & ~alive == 0
            for window in range(TILE):
                if alive >> window & 1:
                    place = base + np.uint64(window)
                    total = scalar_stage(planes, place, scales[window], model, *nodes_of(model, stage))
                    assert total == sums[window]
                    assert bool(bits >> window & 1) == (total >= model[4][stage])


@njit
def quick(images, base, scales, starts, model, nodes, stage):
    """Call the intrinsic, which only compiled code can."""
    planes, shorts = images
    return quick_stage(planes, shorts, base, scales, starts, model, nodes, stage)


@njit
def wide(images, base, scales, starts, model, nodes, stage):
    """Call the intrinsic, which only compiled code can."""
    planes, shorts = images
    return wide_stage(planes, shorts, base, scales, starts, model, nodes, stage)


@compiled
@pytest.mark.parametrize("kind", KINDS)
def test_quick_verdicts_are_right_or_open(kind, rng):
    """With thresholds that many windows meet exactly, the open ones are among these."""
    cascade = builders.random_cascade(rng, **KINDS[kind])
    leaves = np.round(cascade.leaves * 4) / 4  # sums are equal to thresholds often
    thresholds = np.round(cascade.stage_thresholds * 4) / 4
    cascade = replace(cascade, leaves=leaves, stage_thresholds=thresholds + np.float32(1e-5))
    one, two = (np.uint64(3),), (np.uint64(3), np.uint64(20))
    n_open = 0
    for integrals, base, scales, model in tiles(cascade, rng):
        images, sums = (integrals.planes, integrals.shorts), np.zeros(TILE + WIDE)
        for stage in range(cascade.n_stages):
            for run, given, starts in ((quick, one, one), (quick, two, two), (wide, one, (3, 3 + LANES))):
                bits = run(images, base, scales, given, model, nodes_of(model, stage), np.uint64(stage))
                for i, start in enumerate(map(int, starts)):
                    exact = tile_stage(integrals.planes, base, scales, 0xFF << start, model, stage, sums)
                    passes, is_open = bits >> (8 * i) & 0xFF, bits >> (UNDECIDED + 8 * i) & 0xFF
                    assert passes & is_open == 0
                    assert (passes ^ exact >> start) & ~is_open & 0xFF == 0
                    n_open += bit_count(is_open)
                    near = np.abs(sums[start : start + 8] - model[4][stage]) < 1e-4
                    assert all(near[lane] for lane in range(8) if is_open >> lane & 1)
    assert n_open > 0


@pytest.mark.parametrize("size", [0.01, 1.0, 1e30])
def test_bounds_hold_off_rounding(rng, size):
    """Random sums in float32 never lie on the wrong side of bounds around a threshold that the exact sum meets."""
    window, feature = Size(12, 10), builders.accept_all(Size(12, 10)).features[:1]
    for n in (1, 2, 30, 400):
        leaves = (rng.normal(0, size, (n, 2)) + rng.normal(0, size)).astype(np.float32)
        side = rng.integers(0, 2, n)
        exact = float(leaves[np.arange(n), side].astype(np.float64).sum())
        stage = Stage(feature.repeat(n), np.zeros(n, np.float32), leaves, np.float32(0))
        cascade = Cascade(window).with_stage(stage)
        nodes = fast_nodes(cascade, np.zeros((n, 12), np.uint32))
        ends = np.array([n], np.int32)
        slow = np.zeros((n, 6), np.float32)
        slow[:, 4:] = leaves
        for fast in (nodes, None):
            low, high, start = _float32_bounds(slow, ends, np.array([exact]), fast)[0]
            gains = (leaves[:, 0] - leaves[:, 1].astype(np.float64)).astype(np.float32)
            running = start
            for i in range(n):
                step = leaves[i, side[i]] if fast is None else gains[i] if side[i] == 0 else np.float32(0)
                running += step
            assert low <= running
            assert running < high or n == 1
            assert high - low <= 1e-5 * n * np.abs(leaves.astype(np.float64)).sum()


def test_verdicts_are_right_where_float32_overflows(rng):
    """The exact sum of 3e38, 3e38, -3e38 and -3e38 is 0, the running one in float32 infinite."""
    cascade = builders.accept_all(Size(12, 10))
    feature = cascade.features[:1].repeat(4)
    leaves = np.array([[3e38] * 2, [3e38] * 2, [-3e38] * 2, [-3e38] * 2], np.float32)
    level = builders.smooth_noise(rng, 12, 60)
    for threshold, passes in ((1.0, False), (-1.0, True)):
        stage = Stage(feature, np.zeros(4, np.float32), leaves, np.float32(threshold))
        scanner = Scanner(Cascade(Size(12, 10)).with_stage(stage))
        found = scanner.scan_rows(scanner.integrals(level))
        assert (len(found) > 100) == passes
        assert set(found.sums) <= {0.0}


def test_scales_of_tiles_equal_those_of_single_windows(rng):
    level = builders.smooth_noise(rng, 30, 300)
    level[5:25, 40:130] = 100 + level[5:25, 40:130] // 16  # near the contrast floor
    level[:, 200:260] = 255
    everything = builders.accept_all(Size(12, 10))
    integrals = Scanner(everything).integrals(level)
    norm_rect, _ = CompiledModel(everything).for_layout(integrals.layout)
    scales, n_flat = np.empty(TILE + WIDE, np.float32), 0
    for y in range(20):
        for first in range(0, 288 - TILE, TILE):
            base = np.uint64(y * integrals.layout.stride + first)
            bits = tile_scales(integrals.planes, integrals.squared, base, norm_rect, 80.0, TILE, scales)
            for x in range(TILE):
                one = window_scale(integrals.planes, integrals.squared, base + np.uint64(x), norm_rect, 80.0)
                assert scales[x] == one
                assert bool(bits >> x & 1) == (one > 0)
                n_flat += one == 0
    assert 100 < n_flat < 4000


@pytest.mark.parametrize(
    ("evaluable", "passed", "skip_first", "visited", "skip_next"),
    [
        (0b11111111, 0b11111111, False, 0b11111111, False),
        (0b11111111, 0b00000000, False, 0b01010101, False),
        (0b11111111, 0b00000000, True, 0b10101010, True),
        (0b00000000, 0b00000000, False, 0b11111111, False),  # the contrast floor does not skip
        (0b00000000, 0b00000000, True, 0b11111110, False),
        (0b11111111, 0b01111111, False, 0b11111111, True),
    ],
)
def test_visited_windows(evaluable, passed, skip_first, visited, skip_next):
    assert visited_windows(evaluable, passed, 8, skip_first) == (visited, skip_next)


def test_windows_are_visited_one_after_the_other(rng):
    for _ in range(500):
        n = int(rng.integers(1, TILE + 1))
        evaluable, passed = (int(bits) & ((1 << n) - 1) for bits in rng.integers(0, 1 << TILE, 2))
        passed &= evaluable & int(rng.integers(0, 1 << TILE))
        skip = first = bool(rng.integers(0, 2))
        visited = 0
        for window in range(n):
            visited |= (not skip) << window
            skip = not skip and bool((evaluable & ~passed) >> window & 1)
        assert visited_windows(evaluable, passed, n, first) == (visited, skip)


def test_bit_count():
    assert [bit_count(bits) for bits in (0, 1, 0b1010, 0xFF, (1 << TILE) - 1)] == [0, 1, 2, 8, TILE]


def test_appended_notes_the_windows_of_bits():
    windows, sums, n = np.empty((2, 3), np.int32), np.empty(2), 1
    windows[0], sums[0] = (9, 9, 9), 0.5
    tile_sums = np.arange(TILE + WIDE, dtype=np.float64)
    windows, sums, n = appended(windows, sums, n, (0b1010001, 100, 2, 7, 3), tile_sums)
    assert n == 4
    assert windows[:4].tolist() == [[9, 9, 9], [200, 7, 3], [208, 7, 3], [212, 7, 3]]
    assert sums[:4].tolist() == [0.5, 0, 4, 6]


def test_doubled_keeps_what_is_there():
    windows, sums = doubled(np.array([[1, 2, 0], [3, 4, 0]], np.int32), np.array([5.0, 6.0]))
    assert windows.shape == (4, 3)
    assert windows[:2].tolist() == [[1, 2, 0], [3, 4, 0]]
    assert sums[:2].tolist() == [5.0, 6.0]
