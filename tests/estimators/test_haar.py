from __future__ import annotations

import builders
import naive
import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the estimators need scikit-learn")

from sklearn.exceptions import NotFittedError

from vjcascade import HaarTransformer, Size
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode, enumerate_haar
from vjcascade.features.integrals import WindowIntegrals


@pytest.fixture
def windows(rng):
    return np.stack([builders.smooth_noise(rng, 7, 8) for _ in range(10)])


@pytest.mark.parametrize("mode", list(HaarMode))
def test_values_are_those_of_the_detector(windows, mode):
    values = HaarTransformer(mode=mode).fit_transform(windows)
    pool = enumerate_haar(Size(8, 7), mode)
    assert values.dtype == np.float32
    assert np.array_equal(values, WindowIntegrals.of(windows, tilted=True).values(pool).T)
    for i in range(0, len(pool), 97):
        window = windows[i % 10]
        assert values[i % 10, i] == np.float32(
            naive.feature_value(window, pool[i]) * naive.normalisation(window)
        )


@pytest.mark.parametrize("window", [Size(8, 7), (8, 7), [8, 7], "8x7"])
def test_flattened_windows_are_windows(windows, window):
    flat = HaarTransformer(window).fit(windows.reshape(10, -1))
    assert (flat.window_, flat.n_features_in_) == (Size(8, 7), 56)
    expected = HaarTransformer().fit_transform(windows)
    assert np.array_equal(flat.transform(windows.reshape(10, -1)), expected)
    assert np.array_equal(flat.transform(windows), expected)


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda indices: indices])
def test_some_features(windows, kind):
    indices = range(3, 900, 50)
    some = HaarTransformer(mode="all", features=kind(indices)).fit(windows)
    assert np.array_equal(
        some.transform(windows), HaarTransformer(mode="all").fit_transform(windows)[:, indices]
    )


def test_names_are_different(windows):
    transformer = HaarTransformer(mode="all").fit(windows)
    names = transformer.get_feature_names_out()
    assert len(set(names)) == len(names) == len(enumerate_haar(Size(8, 7), HaarMode.ALL))
    first = transformer.features_[0]
    assert names[0].startswith(f"upright({first['weights'][0]:+g}*{','.join(map(str, first['rects'][0]))} ")
    assert sum(name.startswith("tilted(") for name in names) == transformer.features_["tilted"].sum()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "al"}, "there is no feature mode 'al'; did you mean 'all'"),
        ({"window": "8x"}, "size '8x' is not WIDTHxHEIGHT"),
        ({"window": (8, 2)}, r"window \(8, 2\) is not usable"),
        ({"window": (7, 8)}, r"windows of shape \(7, 8\) are not 7x8: \(height, width\) must be \(8, 7\)"),
        ({"features": [0, 5000]}, "there is no feature 5000: a 8x7 window has"),
        ({"features": [-1]}, "there is no feature -1"),
        ({"features": []}, "must be a list of indices"),
        ({"features": [0.5]}, "must be a list of indices"),
        ({"features": 3}, "must be a list of indices, not 3"),
    ],
)
def test_settings_that_cannot_be(windows, options, words):
    with pytest.raises(SettingsError, match=words):
        HaarTransformer(**options).fit(windows)


def test_pixels_that_are_no_windows(windows):
    with pytest.raises(SettingsError, match="windows of 56 pixels are flattened"):
        HaarTransformer().fit(windows.reshape(10, -1))
    with pytest.raises(SettingsError, match="dtype float64, holds no windows"):
        HaarTransformer().fit(windows / 255)
    with pytest.raises(SettingsError, match=r"shape \(1, 10, 7, 8\)"):
        HaarTransformer().fit(windows[None])
    fitted = HaarTransformer().fit(windows)
    with pytest.raises(SettingsError, match=r"windows of shape \(6, 8\) are not 8x7"):
        fitted.transform(windows[:, 1:])


def test_not_fitted(windows):
    for method in (HaarTransformer().transform, HaarTransformer().get_feature_names_out):
        with pytest.raises(NotFittedError):
            method(windows)
