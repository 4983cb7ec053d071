"""The scanner against plain loops."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import builders
import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.cascade import Cascade
from vjcascade.detection.scales import opencv_rows
from vjcascade.detection.scanner import IntegralMemory, Scanner, evaluate_windows
from vjcascade.errors import SettingsError
from vjcascade.types import FeatureType, Size

KINDS = {
    "stumps": {},
    "tilted": {"tilted_share": 0.5},
    "trees": {"tree_share": 0.7},
    "tilted trees": {"tilted_share": 0.5, "tree_share": 1.0},
    "LBP stumps": {"kind": FeatureType.LBP},
    "LBP trees": {"kind": FeatureType.LBP, "tree_share": 0.7},
}
SMALL = Size(7, 6)


def as_tuples(found):
    rows = zip(*found.positions.T.tolist(), found.sums.tolist(), found.stages.tolist(), strict=True)
    return list(rows)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.integers(5, 30) | st.integers(100, 120),  # more than two tiles
    height=st.integers(5, 13),
    step=st.integers(1, 3),
)
def test_scans_equal_plain_loops(kind, seed, width, height, step):
    rng = np.random.default_rng(seed)
    cascade = builders.random_cascade(rng, SMALL, (2, 2), **KINDS[kind])
    scanner, level = Scanner(cascade), builders.smooth_noise(rng, height, width, 3)
    integrals = scanner.integrals(level, step)
    rows = np.flatnonzero(rng.random(max(height - SMALL.height + 1, 0)) < 0.7)
    for min_stages in (None, 1):
        found = scanner.scan_rows(integrals, rows, min_stages=min_stages)
        assert (as_tuples(found), found.n_windows) == naive.scan_rows(cascade, level, rows, step, min_stages)
    n_stripes = int(rng.integers(1, 4))
    visited = opencv_rows(height - SMALL.height + 1, step, n_stripes)
    found = scanner.scan_rows(integrals, visited, skip=True)
    assert (as_tuples(found), found.n_windows) == naive.scan_opencv(cascade, level, step, n_stripes)


@pytest.mark.parametrize("kind", KINDS)
def test_crops_equal_plain_loops(kind, rng):
    cascade = builders.random_cascade(rng, SMALL, (2, 2, 2), **KINDS[kind])
    noise = builders.smooth_noise(rng, 6 * 5, 7 * 8, 3)
    crops = noise.reshape(5, 6, 8, 7).swapaxes(1, 2).reshape(-1, 6, 7)
    crops[3] = 7  # flat
    expected = [naive.evaluate_window(cascade, crop) for crop in crops]
    n_passed, sums = evaluate_windows(cascade, crops)
    assert n_passed.dtype == np.int32
    assert list(zip(n_passed.tolist(), sums.tolist(), strict=True)) == expected
    assert (expected[3] == (-1, 0.0)) == ("LBP" not in kind)


def test_crops_and_scan_agree(rng):
    cascade = builders.random_cascade(rng, stages=(3, 4, 5, 6))
    level = builders.smooth_noise(rng, 60, 83)
    windows = np.lib.stride_tricks.sliding_window_view(level, (10, 12))
    n_passed, sums = evaluate_windows(cascade, windows.reshape(-1, 10, 12))
    scanner = Scanner(cascade)
    found = scanner.scan_rows(scanner.integrals(level))
    assert found.n_windows == windows.shape[0] * windows.shape[1]
    where = np.flatnonzero(n_passed == cascade.n_stages)
    assert 0 < len(where) < found.n_windows
    y, x = np.divmod(where, windows.shape[1])
    np.testing.assert_array_equal(found.positions, np.stack([x, y], axis=1))
    np.testing.assert_array_equal(found.sums, sums[where])


def test_more_windows_than_the_first_buffer_holds(rng):
    scanner = Scanner(builders.accept_all(Size(8, 8)))
    found = scanner.scan_rows(scanner.integrals(rng.integers(0, 256, (70, 90), np.uint8)))
    assert found.n_windows == len(found) == 63 * 83
    assert found.positions[-1].tolist() == [82, 62]
    assert set(found.sums) == {1.0, 2.0}


def test_no_stages_accept_what_has_contrast(rng):
    scanner = Scanner(Cascade(Size(8, 8)))
    level = rng.integers(0, 256, (8, 40), np.uint8)
    level[:, :8] = 128
    found = scanner.scan_rows(scanner.integrals(level))
    assert found.n_windows == 33
    assert found.positions[0, 0] > 0
    assert len(found) > 24
    assert (found.sums == 0).all()
    assert (evaluate_windows(scanner.cascade, level[None, :, 4:12])[0] >= -1).all()


@pytest.mark.parametrize("shape", [(7, 100), (100, 7), (1, 1)])
def test_levels_smaller_than_the_window(shape):
    scanner = Scanner(Cascade(Size(8, 8)))
    integrals = scanner.integrals(np.zeros(shape, np.uint8))
    visited = opencv_rows(shape[0] - 8 + 1, 1, 1)
    for found in (scanner.scan_rows(integrals), scanner.scan_rows(integrals, visited, skip=True)):
        assert found.n_windows == len(found) == 0
        assert found.positions.shape == (0, 2)


def test_rows_outside_the_level_are_refused():
    scanner = Scanner(Cascade(Size(8, 8)))
    integrals = scanner.integrals(np.zeros((20, 20), np.uint8))
    for row in (-1, 13):
        with pytest.raises(ValueError, match=r"in \[0, 13\)"):
            scanner.scan_rows(integrals, np.array([row]))


def test_levels_may_be_views_and_read_only(rng):
    scanner = Scanner(builders.random_cascade(rng, tilted_share=0.5))
    level = builders.smooth_noise(rng, 60, 80)[5:55, 60:10:-1]
    level.flags.writeable = False
    one, other = (scanner.scan_rows(scanner.integrals(each), min_stages=0) for each in (level, level.copy()))
    assert len(one) > 100
    assert as_tuples(one) == as_tuples(other)


def test_levels_scanned_together_give_what_each_gives_alone(rng):
    for step in (1, 2, 3):
        scanner = Scanner(builders.random_cascade(rng, tilted_share=0.3, tree_share=0.5))
        shapes = [(70, 90), (12, 10), (64, 81), (11, 30), (5, 5), (58, 300)]
        levels = [builders.smooth_noise(rng, *shape) for shape in shapes]
        rows = [range(0, max(height - 9, 0), 2) for height, _ in shapes]
        rows[2] = np.array([0, 3, 4, 50])
        together = scanner.integrals_of_levels(levels, step)
        for options in ({}, {"skip": True}, {"min_stages": 1}):
            found = scanner.scan_levels(together, rows, **options)
            for level, mine, each in zip(levels, rows, found, strict=True):
                alone = scanner.scan_rows(scanner.integrals(level, step), mine, **options)
                assert (as_tuples(each), each.n_windows) == (as_tuples(alone), alone.n_windows)


@pytest.mark.parametrize("kind", KINDS)
def test_memory_that_was_used_before_changes_nothing(kind, rng):
    scanner = Scanner(builders.random_cascade(rng, SMALL, (2, 2), **KINDS[kind]))
    memory = IntegralMemory()
    for height, width, step in ((60, 80, 1), (200, 150, 2), (31, 44, 1), (90, 300, 2)):
        level = builders.smooth_noise(rng, height, width)
        for one in (memory.planes, memory.shorts, memory.squared):
            one.array((400_000,), np.uint8)[:] = 255
        fresh, again = scanner.integrals(level, step), scanner.integrals(level, step, memory)
        found = [scanner.scan_rows(each, skip=True, min_stages=0) for each in (fresh, again)]
        assert len(found[0]) > 0
        assert as_tuples(found[0]) == as_tuples(found[1])
    assert np.shares_memory(again.planes, memory.planes.array(again.planes.shape, np.int32))


@pytest.mark.parametrize(
    ("level", "words"),
    [
        (np.zeros((20, 20)), "float64"),
        (np.zeros((20, 20), np.int32), "int32"),
        (np.zeros((20, 20, 3), np.uint8), r"\(20, 20, 3\)"),
    ],
)
def test_levels_of_another_kind_are_refused(level, words):
    with pytest.raises(ValueError, match=words):
        Scanner(Cascade(Size(8, 8))).integrals(level)


def test_upright_integrals_do_not_do_for_tilted_features(rng):
    upright, tilted = (Scanner(builders.random_cascade(rng, tilted_share=share)) for share in (0, 1))
    level = builders.smooth_noise(rng, 40, 60)
    for skip in (False, True):
        with pytest.raises(ValueError, match="needs the tilted integral image"):
            tilted.scan_rows(upright.integrals(level), skip=skip)
    found = upright.scan_rows(tilted.integrals(level))
    assert as_tuples(found) == as_tuples(upright.scan_rows(upright.integrals(level)))


def test_integrals_of_lbp_do_not_do_for_haar(rng):
    lbp, haar = (
        Scanner(builders.random_cascade(rng, kind=kind)) for kind in (FeatureType.LBP, FeatureType.HAAR)
    )
    level = builders.smooth_noise(rng, 40, 60)
    with pytest.raises(ValueError, match="needs the squared integral image"):
        haar.scan_rows(lbp.integrals(level))
    found = lbp.scan_rows(haar.integrals(level))
    assert as_tuples(found) == as_tuples(lbp.scan_rows(lbp.integrals(level)))


@pytest.mark.parametrize("n_threads", [0, -1])
def test_threads_are_checked(n_threads):
    with pytest.raises(SettingsError, match=f"n_threads {n_threads}"):
        evaluate_windows(Cascade(Size(24, 24)), np.zeros((1, 24, 24), np.uint8), n_threads)


@pytest.mark.parametrize("shape", [(3, 24, 23), (24, 24), (0, 23, 24)])
def test_crops_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match="expected"):
        evaluate_windows(Cascade(Size(24, 24)), np.zeros(shape, np.uint8))
    with pytest.raises(ValueError, match="float64"):
        evaluate_windows(Cascade(Size(24, 24)), np.zeros((1, 24, 24)))


def test_no_crops():
    n_passed, sums = evaluate_windows(Cascade(Size(24, 24)), np.zeros((0, 24, 24), np.uint8))
    assert n_passed.shape == sums.shape == (0,)


def test_thread_count_does_not_matter(rng):
    cascade = builders.random_cascade(rng)
    crops = builders.smooth_noise(rng, 12 * 1500, 10).reshape(1500, 10, 12)
    one, three = (evaluate_windows(cascade, crops, n_threads) for n_threads in (1, 3))
    np.testing.assert_array_equal(one[0], three[0])
    np.testing.assert_array_equal(one[1], three[1])


def test_one_scanner_serves_many_threads(rng):
    scanner = Scanner(builders.random_cascade(rng, tilted_share=0.3, tree_share=0.3))
    levels = [builders.smooth_noise(rng, 50, 60 + i) for i in range(12)]

    def scan(level):
        return scanner.scan_rows(scanner.integrals(level))

    with ThreadPoolExecutor(4) as pool:
        for found, level in zip(pool.map(scan, levels), levels, strict=True):
            assert as_tuples(found) == as_tuples(scan(level))


def test_copies_leave_the_layouts_of_pictures_behind(rng):
    scanner = Scanner(builders.random_cascade(rng, tilted_share=0.5))
    level = builders.smooth_noise(rng, 40, 60)
    expected, size = (
        as_tuples(scanner.scan_rows(scanner.integrals(level))),
        len(pickle.dumps(Scanner(scanner.cascade))),
    )
    assert len(pickle.dumps(scanner)) == size
    for other in (pickle.loads(pickle.dumps(scanner)), copy.deepcopy(scanner)):
        assert as_tuples(other.scan_rows(other.integrals(level))) == expected
