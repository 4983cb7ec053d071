"""Every feature family keeps the contract that training and detection rely on."""

import builders
import numpy as np
import pytest

from vjcascade.cascade import DTYPES, Cascade
from vjcascade.features import HaarMode
from vjcascade.features.families import FAMILIES, family_of
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.types import FeatureType, Size

WINDOW = Size(8, 7)
BOTH = [(kind, mode) for kind in FeatureType for mode in HaarMode]


def test_every_feature_type_has_a_family():
    assert list(FAMILIES) == list(FeatureType) == list(DTYPES)


@pytest.mark.parametrize(("kind", "mode"), BOTH)
def test_pools_are_counted_and_known_again(kind, mode):
    family = FAMILIES[kind]
    pool = family.enumerate(WINDOW, mode)
    assert len(pool) == family.count(WINDOW, mode) > 0
    assert pool.dtype == family.dtype == DTYPES[kind][0]
    assert family_of(pool) is family_of(pool[:0]) is family
    assert family.has_tilted(pool) == family.needs_tilted(mode) == (kind == "HAAR" and mode == "all")
    assert not family.has_tilted(pool[:0])


@pytest.mark.parametrize("kind", FeatureType)
def test_corners_lie_where_values_are_read(rng, kind):
    family, windows = FAMILIES[kind], rng.integers(0, 256, (20, 7, 8), np.uint8)
    pool = family.enumerate(WINDOW, HaarMode.ALL)
    corners = family.corners(pool, WINDOW)
    n_images = 2 if family.has_tilted(pool) else 1
    assert len(corners) == len(pool)
    assert (n_images - 1) * 9 * 8 <= corners.max() < n_images * 9 * 8
    values = family.values(pool, WindowIntegrals.of(windows, tilted=n_images == 2))
    assert values.shape == (len(pool), 20)
    brighter = family.values(pool, WindowIntegrals.of(windows // 2 + 100, tilted=n_images == 2))
    assert (values == brighter).mean() < 1  # reads pixels
    assert family.is_categorical == (values.dtype == np.uint8)


@pytest.mark.parametrize("kind", FeatureType)
def test_bins_follow_values(rng, kind):
    """Equal values share a bin; bins of numbers rise with them, and those of codes are the codes."""
    family = FAMILIES[kind]
    pool = family.enumerate(WINDOW, HaarMode.BASIC)[::50]
    integrals = WindowIntegrals.of(builders.smooth_noise(rng, 7 * 40, 8).reshape(40, 7, 8))
    rows = family.bin_store(pool, integrals, n_threads=1).bins_of(integrals).rows(np.arange(len(pool)))
    values = family.values(pool, integrals)
    if family.is_categorical:
        np.testing.assert_array_equal(rows, values)
    for bins, numbers in zip(rows, values, strict=True):
        assert (np.diff(bins[np.argsort(numbers)].astype(int)) >= 0).all()


@pytest.mark.parametrize("kind", FeatureType)
def test_families_fit_cascades(kind):
    cascade = Cascade.empty(WINDOW, kind)
    assert family_of(cascade.features) is FAMILIES[cascade.feature_type] is FAMILIES[kind]
