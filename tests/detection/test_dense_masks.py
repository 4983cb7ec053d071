"""A mask of dense detection takes nothing away but what lies outside it, and saves the time for whole rows of that."""

import builders
import numpy as np
import pytest

from vjcascade.detection import detect_dense
from vjcascade.detection.scanner import Scanner
from vjcascade.types import Size

SHAPE = (70, 90)
OPTIONS = {
    "fine": {"scale_factor": 1.07},
    "coarse": {"scale_factor": 1.5, "stride": 3},
    "antialiased": {"scale_factor": 1.2, "antialias": True, "near_misses": 1},
    "turned": {"scale_factor": 1.3, "angles": (0, 20)},
}


@pytest.fixture(scope="module")
def weak():
    return builders.random_cascade(np.random.default_rng(7), Size(10, 8), stages=(2, 3), bar=-0.3)


@pytest.fixture(scope="module")
def picture():
    return builders.smooth_noise(np.random.default_rng(3), *SHAPE)


def mask_of(rows, columns=slice(None)):
    mask = np.zeros(SHAPE, np.bool_)
    mask[rows, columns] = True
    return mask


MASKS = {
    "one row": mask_of(31),
    "a few pixels": mask_of([5, 6, 40, 66], [80, 3, 50, 9]),
    "every third row": mask_of(slice(None, None, 3)),
    "the edges": mask_of([0, 3, -4, -1]),
    "nothing": mask_of([]),
}


@pytest.mark.parametrize("region", [None, (7, 11, 60, 50)])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("options", OPTIONS)
def test_what_is_found_is_all_that_lies_on_the_mask(weak, picture, options, mask, region):
    settings = {"group": "none", "region": region, **OPTIONS[options]}
    every, found = (
        detect_dense(picture, weak, **settings),
        detect_dense(picture, weak, mask=MASKS[mask], **settings),
    )
    x, y = (every.boxes[:, :2] + every.boxes[:, 2:] // 2).T
    expected = every.select(MASKS[mask][y, x])
    for column in ("boxes", "scores", "neighbors", "stages", "angles"):
        np.testing.assert_array_equal(getattr(found, column), getattr(expected, column), err_msg=column)


@pytest.fixture
def scans(monkeypatch):
    """Return the list of (level height, rows) of all scans."""
    found, scan_levels = [], Scanner.scan_levels

    def spy(self, integrals, rows, **options):
        found.extend((size.height, list(each)) for size, each in zip(integrals.sizes, rows, strict=True))
        return scan_levels(self, integrals, rows, **options)

    monkeypatch.setattr(Scanner, "scan_levels", spy)
    return found


def test_other_rows_and_levels_are_not_scanned(weak, picture, scans):
    detect_dense(picture, weak, mask=mask_of(5), scale_factor=1.2, n_threads=1)
    assert scans[0] == (70, [1])  # its window's centre lies 4 below its top
    assert max(len(rows) for _, rows in scans) == 1
    assert min(height for height, _ in scans) > 50  # no larger window has its centre so high
    n_scans = len(scans)
    detect_dense(picture, weak, scale_factor=1.2, n_threads=1)
    assert len(scans) - n_scans > 2 * n_scans


def test_turned_pictures_are_scanned_whole(weak, picture, scans):
    detect_dense(picture, weak, mask=mask_of(5), angles=(90,), n_threads=1)
    assert len(scans[0][1]) == 90 - 8 + 1
