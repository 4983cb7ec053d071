from __future__ import annotations

import shutil
from collections import namedtuple
from dataclasses import replace

import pytest

from vjcascade.errors import SettingsError
from vjcascade.training.memory_plan import MemoryEstimate, MemoryPlan
from vjcascade.types import Size

GIB = 2**30
ESTIMATE = MemoryEstimate(bins=5 * GIB, histograms=GIB // 2, rest=GIB // 4)


def folders(plan):
    return plan.bins.folder, plan.histograms.folder


def test_what_fits_stays_in_memory(tmp_path):
    assert folders(ESTIMATE.plan(6 * GIB, tmp_path)) == (None, None)


def test_bins_go_to_disk_first_then_histograms(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(100 * GIB))  # noqa: PYI024
    assert folders(ESTIMATE.plan(GIB, tmp_path / "not" / "made")) == (tmp_path, None)
    assert folders(ESTIMATE.plan(GIB // 2, tmp_path)) == (tmp_path, tmp_path)


def test_a_full_disk_is_named_with_both_sizes(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(GIB))  # noqa: PYI024
    with pytest.raises(SettingsError, match=r"they need 5\.0 ?GiB, but .* has 1\.0 ?GiB left"):
        ESTIMATE.plan(GIB, tmp_path)


def test_too_little_memory_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="even with all features on disk"):
        ESTIMATE.plan(GIB // 8, tmp_path)
    with pytest.raises(SettingsError, match=r"take 2\.0 GiB of the 1\.0 GiB allowed.*fewer threads"):
        ESTIMATE.plan(GIB, tmp_path, taken=2 * GIB)


def test_tilted_integral_images_count_twice():
    upright = MemoryEstimate.of(Size(24, 24), 1000, 10_000)
    tilted = MemoryEstimate.of(Size(24, 24), 1000, 10_000, tilted=True)
    assert tilted.rest - upright.rest == 4 * 625 * 10_000
    assert replace(tilted, rest=0) == replace(upright, rest=0)


def test_a_large_photo_needs_memory_as_well():
    usual = MemoryEstimate.of(Size(24, 24), 1000, 10_000, photo_memory=1000, n_threads=2)
    large = MemoryEstimate.of(Size(24, 24), 1000, 10_000, photo_memory=2 * 2**26 + 5, n_threads=2)
    assert large.rest - usual.rest == 5


def test_what_is_left_says_how_many_photos_are_searched_at_a_time(tmp_path):
    assert ESTIMATE.plan(6 * GIB, tmp_path).free == GIB // 4
    assert [MemoryPlan(free=free).threads_that_search(1000, 4) for free in (0, 999, 1000, 10_000)] == [
        1,
        1,
        2,
        4,
    ]
    assert MemoryPlan(free=0).threads_that_search(0, 4) == 1
