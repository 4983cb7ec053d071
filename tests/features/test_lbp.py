import naive
import numpy as np
import pytest

from vjcascade.cascade import LBP_NODE_DTYPE, Cascade
from vjcascade.detection.scanner import evaluate_windows
from vjcascade.features import count_lbp, enumerate_lbp, lbp, lbp_features_at
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.features.lbp import lbp_codes
from vjcascade.types import LBP_DTYPE, Size


@pytest.mark.parametrize("window", [Size(8, 11), Size(3, 3), Size(7, 5)])
def test_the_pool_equals_plain_loops(window):
    pool = enumerate_lbp(window)
    assert pool.dtype == LBP_DTYPE
    assert pool["cell"].tolist() == [list(cell) for cell in naive.lbp_cells(*window)]
    assert len(pool) == count_lbp(window)
    assert lbp_features_at(range(len(pool)), window).tobytes() == pool.tobytes()


@pytest.mark.parametrize("index", [-1, 8464])
def test_features_that_a_window_has_not(index):
    with pytest.raises(IndexError, match=f"feature {index} is none of the 8464 of the pool"):
        lbp_features_at([index], Size(24, 24))


def test_a_feature_of_a_pool_that_no_memory_holds():
    window = Size(256, 256)
    assert lbp_features_at([count_lbp(window) - 1], window)["cell"][0].tolist() == [253, 253, 1, 1]


@pytest.fixture
def windows(rng):
    """Return windows of few grey levels, in which cells are often equally bright; one is flat."""
    windows = rng.integers(0, 3, (29, 9, 11), np.uint8) * 120
    windows[0] = 77
    return windows


def test_codes_equal_plain_loops_in_any_blocks(windows, monkeypatch):
    pool = enumerate_lbp(Size(11, 9))
    monkeypatch.setattr(lbp, "SAMPLES_PER_BLOCK", 8)
    codes = lbp_codes(pool, WindowIntegrals.of(windows))
    assert codes.tolist() == [[naive.lbp_code(w, feature["cell"]) for w in windows] for feature in pool]
    assert (codes[:, 0] == 255).all()  # all cells are as bright as the middle one
    assert len(np.unique(codes)) > 200


def test_codes_are_those_that_the_detector_finds(rng):
    """A stump over each bit of the code tells what the scanner sees."""
    windows = rng.integers(0, 256, (40, 6, 7), np.uint8)
    pool = enumerate_lbp(Size(7, 6))
    codes = lbp_codes(pool, WindowIntegrals.of(windows))
    for feature in range(0, len(pool), 5):
        seen = np.zeros(len(windows), np.int64)
        for bit in range(8):
            has_bit = (np.arange(256) >> bit & 1).astype(np.uint8)
            node = np.zeros(1, LBP_NODE_DTYPE)
            node["subset"] = np.packbits(has_bit, bitorder="little").view("<u4")
            node["right"] = -1
            one, none = np.array([0, 1], np.int32), np.zeros(1, np.float32)
            votes = np.array([1, 0], np.float32)
            cascade = Cascade(Size(7, 6), pool[[feature]], node, one, votes, one, none)
            seen += evaluate_windows(cascade, windows)[1].astype(np.int64) << bit
        assert seen.tolist() == codes[feature].tolist()


def test_cells_outside_the_window_are_refused(windows):
    for cell in ((3, 0, 3, 1), (0, 7, 1, 1), (-1, 0, 1, 1)):
        with pytest.raises(ValueError, match="reaches out of these 11x9 windows"):
            lbp_codes(np.array([(cell,)], LBP_DTYPE), WindowIntegrals.of(windows))
