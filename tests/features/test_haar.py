from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.features import HaarMode, count_haar, enumerate_haar, haar_features_at
from vjcascade.features.binning import HaarBins
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.types import Size

COUNTS = {Size(24, 24): (162336, 210400, 261600), Size(20, 20): (78460, 101329, 125199)}


@pytest.mark.parametrize("window", COUNTS)
def test_counts_of_opencv(window):
    assert tuple(len(enumerate_haar(window, mode)) for mode in HaarMode) == COUNTS[window]
    assert tuple(count_haar(window, mode) for mode in HaarMode) == COUNTS[window]


@pytest.mark.parametrize("mode", HaarMode)
@pytest.mark.parametrize("window", [Size(8, 8), Size(9, 6), Size(5, 11), Size(3, 3)])
def test_order_is_that_of_opencvs_loops(window, mode):
    features = enumerate_haar(window, mode)
    expected = naive.haar_features(window.width, window.height, str(mode))
    assert len(features) == len(expected) == count_haar(window, mode)
    for feature, (tilted, rects) in zip(features, expected, strict=True):
        assert bool(feature["tilted"]) == tilted
        for i, (x, y, w, h, weight) in enumerate(rects):
            assert feature["rects"][i].tolist() == [x, y, w, h]
            assert feature["weights"][i] == weight
        assert not feature["weights"][len(rects) :].any()


@settings(deadline=None)
@given(st.integers(3, 12), st.integers(3, 12), st.sampled_from(list(HaarMode)), st.booleans(), st.data())
def test_single_features_are_those_of_the_list(width, height, mode, balanced, data):
    window = Size(width, height)
    pool = enumerate_haar(window, mode, balanced=balanced)
    indices = data.draw(st.lists(st.integers(0, len(pool) - 1), max_size=20))
    found = haar_features_at(indices, window, mode, balanced=balanced)
    assert found.tobytes() == pool[np.array(indices, np.intp)].tobytes()


def test_the_whole_list_is_found_feature_by_feature():
    pool = enumerate_haar(Size(7, 8), HaarMode.ALL)
    assert haar_features_at(range(len(pool)), Size(7, 8), HaarMode.ALL).tobytes() == pool.tobytes()


@pytest.mark.parametrize("index", [-1, 162336])
def test_features_that_a_window_has_not(index):
    with pytest.raises(IndexError, match=f"feature {index} is none of the 162336 of the pool"):
        haar_features_at([0, index], Size(24, 24))


def test_a_feature_of_a_pool_that_no_memory_holds():
    last = count_haar(Size(256, 256)) - 1
    found = haar_features_at([last], Size(256, 256))[0]
    assert found["rects"][:2].tolist() == [[255, 254, 1, 2], [255, 255, 1, 1]]


def test_balanced_features_do_not_see_brightness(rng):
    features = enumerate_haar(Size(8, 7), HaarMode.ALL)
    window = rng.integers(0, 200, (1, 7, 8), np.uint8)
    both = np.concatenate([window, window + 50])
    values = WindowIntegrals.of(both, tilted=True).values(features)
    np.testing.assert_allclose(values[:, 0], values[:, 1], atol=1e-5)


def test_weight_two_of_opencvs_trainer_is_offered():
    balanced = enumerate_haar(Size(6, 6))
    unbalanced = enumerate_haar(Size(6, 6), balanced=False)
    changed = balanced["weights"] != unbalanced["weights"]
    assert changed.any()
    assert (unbalanced["weights"][changed] == 2).all()
    assert (balanced["weights"][changed] == 3).all()


@pytest.mark.parametrize(
    "use", [WindowIntegrals.values, lambda integrals, pool: HaarBins(pool, integrals, 1)]
)
def test_features_that_need_other_integrals_are_refused(use, rng):
    windows = rng.integers(0, 256, (3, 6, 6), np.uint8)
    tilted, larger = enumerate_haar(Size(6, 6), HaarMode.ALL), enumerate_haar(Size(7, 7))
    assert len(WindowIntegrals.of(windows, tilted=True).values(tilted)) == len(tilted)
    for features in (tilted, larger):
        with pytest.raises(ValueError, match="needs corner"):
            use(WindowIntegrals.of(windows), features)
    assert WindowIntegrals.of(windows).values(tilted[:0]).shape == (0, 3)


def test_windows_of_another_dtype_are_refused():
    with pytest.raises(ValueError, match="float64"):
        WindowIntegrals.of(np.zeros((3, 6, 6)))


@given(st.integers(3, 9), st.integers(3, 9), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_values_equal_plain_loops(width, height, seed):
    rng = np.random.default_rng(seed)
    windows = rng.integers(0, 256, (3, height, width), np.uint8)
    windows[2] = 77  # below the contrast floor: all values are 0
    pool = enumerate_haar(Size(width, height), HaarMode.ALL)
    features = pool[rng.permutation(len(pool))[:40]]
    values = WindowIntegrals.of(windows, tilted=True).values(features)
    for i, window in enumerate(windows):
        norm = naive.normalisation(window)
        expected = [naive.feature_value(window, feature) * (norm or np.float32(0)) for feature in features]
        assert values[:, i].tolist() == expected


def test_bins_are_monotone_and_independent_of_threads(rng):
    windows = rng.integers(0, 256, (700, 6, 6), np.uint8)
    features = enumerate_haar(Size(6, 6))
    integrals = WindowIntegrals.of(windows)
    every = np.arange(len(features))
    bins = HaarBins(features, integrals, n_threads=1).bins_of(integrals).rows(every)
    values = integrals.values(features)
    for f in range(len(features)):
        order = np.argsort(values[f], kind="stable")
        assert (np.diff(bins[f][order].astype(int)) >= 0).all()
        assert len(np.unique(bins[f])) > 20 or len(np.unique(values[f])) < 40
    for n_threads in (2, 4):
        assert np.array_equal(bins, HaarBins(features, integrals, n_threads).bins_of(integrals).rows(every))
