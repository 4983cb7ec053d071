"""Which pictures and rows are drawn, and how that is told."""

from __future__ import annotations

import builders
import numpy as np
import pytest

from vjcascade.errors import ImageError
from vjcascade.imaging import write_image
from vjcascade.inspection import picture_scan as module, scan_pictures


@pytest.fixture
def paths(tmp_path, rng):
    for number in range(6):
        write_image(tmp_path / f"{number}.png", builders.smooth_noise(rng, 30 + 4 * number, 40))
    return sorted(tmp_path.iterdir())


def test_few_pictures_are_all_scanned(rng, paths):
    heard = []
    scan = scan_pictures(builders.random_cascade(rng), paths, listener=heard.append)
    assert (scan.n_found, scan.costs.n_pictures, scan.share) == (6, 6, 1.0)
    assert str(scan) == f"{scan.costs.n_windows:,} windows of 6 pictures"
    assert [event.done for event in heard] == list(range(6))


def test_of_many_some_are_drawn_by_the_seed(rng, paths, monkeypatch):
    monkeypatch.setattr(module, "MAX_PICTURES", 3)
    monkeypatch.setattr(module, "share_of_rows", lambda *_: 0.5)
    cascade = builders.random_cascade(rng)
    first, again, *others = (scan_pictures(cascade, paths, seed=seed) for seed in (1, 1, 2, 3))
    assert (first.n_found, first.costs.n_pictures) == (6, 3)
    assert "of 3 of 6 pictures, drawn at random, in 50% of their rows, drawn at random" in str(first)
    assert np.array_equal(first.costs.n_reached, again.costs.n_reached)
    assert all(not np.array_equal(first.costs.n_reached, one.costs.n_reached) for one in others)


def test_pictures_that_are_too_small_or_broken(rng, tmp_path):
    small, broken = tmp_path / "small.png", tmp_path / "broken.png"
    write_image(small, np.zeros((9, 40), np.uint8))
    broken.write_bytes(b"no picture")
    with pytest.raises(ImageError, match=r"small.png and 1 more picture: smaller than the window .* 12x10"):
        scan_pictures(builders.random_cascade(rng), [small, small])
    with pytest.raises(ImageError, match=r"broken.png"):
        scan_pictures(builders.random_cascade(rng), [broken])
