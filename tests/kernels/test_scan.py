"""Vector code against scalar code, window after window."""

import builders
import numpy as np
import pytest

from vjcascade.detection.flat import FlatModel, Layout
from vjcascade.detection.scanner import Scanner
from vjcascade.kernels.lanes import LANES
from vjcascade.kernels.scan import bit_count, block_stage, doubled, row_scales, scalar_stage, visited_lanes

KINDS = {
    "stumps": {},
    "tilted": {"tilted_share": 0.5},
    "trees": {"tree_share": 0.7},
    "tilted trees": {"tilted_share": 0.5, "tree_share": 1.0},
}


@pytest.mark.parametrize("kind", KINDS)
def test_block_equals_single_windows(kind, rng):
    cascade = builders.random_cascade(rng, **KINDS[kind])
    integrals = Scanner(cascade).integrals(builders.smooth_noise(rng, 40, 60))
    stride = integrals.size.width + 1
    inset, model = FlatModel(cascade).place(Layout(stride, stride * (integrals.size.height + 1)))
    scales, sums = np.zeros(LANES, np.float32), np.zeros(LANES)
    for y in range(0, 20, 3):
        base = np.uint64(y * stride + 2 * y)
        row_scales(integrals.planes, integrals.squared, base, inset, 80.0, scales)
        for stage, end in enumerate(model[3]):
            bits = block_stage(integrals.planes, base, scales, np.uint64(0), model, stage, sums)
            first = np.uint64(model[3][stage - 1] if stage else 0)
            for lane in range(LANES):
                window = base + np.uint64(lane)
                total = scalar_stage(integrals.planes, window, scales[lane], model, first, np.uint64(end))
                assert total == sums[lane]
                assert bool(bits >> lane & 1) == (total >= model[4][stage])


@pytest.mark.skipif(LANES == 1, reason="numba is switched off: one window at a time")
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
def test_visited_lanes(evaluable, passed, skip_first, visited, skip_next):
    assert visited_lanes(evaluable, passed, 8, skip_first) == (visited, skip_next)


def test_bit_count():
    assert [bit_count(bits) for bits in (0, 1, 0b1010, 0xFF)] == [0, 1, 2, 8]


def test_doubled_keeps_what_is_there():
    positions, sums = doubled(np.array([[1, 2], [3, 4]], np.int32), np.array([5.0, 6.0]))
    assert positions.shape == (4, 2)
    assert positions[:2].tolist() == [[1, 2], [3, 4]]
    assert sums[:2].tolist() == [5.0, 6.0]
