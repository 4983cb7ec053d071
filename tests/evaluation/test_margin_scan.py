"""One scan with margins gives what a detector gives at each setting, to the last box and score."""

from __future__ import annotations

from dataclasses import replace

import builders
import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.cascade import Cascade
from vjcascade.compat.data import find
from vjcascade.detection import Detector, Scanner
from vjcascade.errors import SettingsError
from vjcascade.evaluation.margin_scan import scan_margins
from vjcascade.types import FeatureType, Size

KINDS = {
    "stumps": {},
    "tilted trees": {"tilted_share": 0.5, "tree_share": 1.0},
    "LBP trees": {"kind": FeatureType.LBP, "tree_share": 0.7},
}
SHIFTS = st.floats(-3, 3, width=32)
SIDES = st.none() | st.tuples(st.integers(1, 90), st.integers(1, 90))


def assert_same(found, wanted):
    for name in ("boxes", "scores", "neighbors", "stages", "ranking_scores"):
        got, expected = getattr(found, name), getattr(wanted, name)
        assert got.dtype == expected.dtype
        assert got.tolist() == expected.tolist()


@st.composite
def changes(draw, cascade, n_fixed):
    """Draw a cut of a cascade with other thresholds behind its fixed stages."""
    n = draw(st.integers(n_fixed, cascade.n_stages))
    return cascade.first_stages(n).with_shifted_thresholds(draw(SHIFTS), draw(st.integers(0, n - n_fixed)))


@st.composite
def bounds(draw):
    least, most = draw(SIDES), draw(SIDES)
    if least and most:
        least, most = tuple(map(min, least, most)), tuple(map(max, least, most))
    return {"min_size": least, "max_size": most, "min_neighbors": draw(st.integers(0, 4))}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_scan_equals_separate_runs_at_each_setting(kind, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    cascade = builders.random_cascade(rng, stages=(2, 3, 4, 4), bar=-0.1, **KINDS[kind])
    height, width = data.draw(st.tuples(st.integers(8, 70), st.integers(8, 110)))
    picture = builders.smooth_noise(rng, height, width)
    n_fixed = data.draw(st.integers(1, 4))
    scale_factor = data.draw(st.sampled_from([1.05, 1.1, 1.3, 2.0]))
    scan = scan_margins(picture, cascade, n_fixed, scale_factor=scale_factor, n_threads=1)
    for _ in range(4):
        changed, options = data.draw(changes(cascade, n_fixed)), data.draw(bounds())
        detector = Detector(changed, scale_factor=scale_factor, n_threads=1, **options)
        assert_same(scan.detections(changed, **options), detector.detect(picture))


@pytest.mark.parametrize("shift", [-4.0, 0.75])
@pytest.mark.parametrize("n_stages", [6, 9, 13])
def test_a_real_picture_and_a_real_model(n_stages, shift):
    faces, picture = Cascade.load(find("frontalface")), builders.picture("astronaut.png")[30:220, 120:330]
    scan = scan_margins(picture, faces, 5)
    changed = faces.first_stages(n_stages).with_shifted_thresholds(shift, 1)
    for options in ({}, {"min_neighbors": 0}, {"min_neighbors": 1, "min_size": (40, 40)}):
        assert_same(scan.detections(changed, **options), Detector(changed, **options).detect(picture))
    assert len(scan.detections(changed)) > 0


@pytest.mark.data
@pytest.mark.oracle
def test_real_scenes_and_opencv_files(opencv_models, shared_data, rng):
    from vjcascade.imaging import read_gray

    pictures = sorted((shared_data("faces-scenes-train") / "images").glob("*.jpg"))[:3]
    for name in ("frontalface_alt2", "frontalface_default"):
        cascade = Cascade.load(opencv_models / f"haarcascade_{name}.xml")
        for picture in map(read_gray, pictures):
            scan = scan_margins(picture, cascade, cascade.n_stages - 6)
            for _ in range(5):
                n = int(rng.integers(scan.n_fixed, cascade.n_stages + 1))
                last = int(rng.integers(0, n - scan.n_fixed + 1))
                changed = cascade.first_stages(n).with_shifted_thresholds(rng.normal(0, 3), last)
                side = int(rng.integers(20, 120))
                options = {"min_neighbors": int(rng.integers(0, 5)), "min_size": (side, side)}
                assert_same(scan.detections(changed, **options), Detector(changed, **options).detect(picture))


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_those_of_plain_loops(kind, rng):
    cascade = builders.random_cascade(rng, **KINDS[kind])
    scanner, level = Scanner(cascade), builders.smooth_noise(rng, 20, 40)
    for step in (1, 2):
        integrals = scanner.integrals(level, step)
        found = scanner.scan_rows(integrals, min_stages=1)
        for first in range(4):
            sums = scanner.stage_sums(integrals, found.positions, first)
            assert sums.shape == (len(found), 3 - first)
            for (x, y), got in zip(found.positions, sums.tolist(), strict=True):
                assert got == naive.stage_sums(cascade, level[y : y + 10, x : x + 12])[first:]


def test_windows_elsewhere_are_refused(rng):
    scanner = Scanner(builders.random_cascade(rng))
    integrals = scanner.integrals(builders.smooth_noise(rng, 20, 40), 2)
    for position in ((-2, 0), (30, 0), (0, 11), (1, 0)):
        with pytest.raises(ValueError, match="do not lie in the 40x20 level at steps of 2 pixels"):
            scanner.stage_sums(integrals, np.array([position], np.int32))
    assert scanner.stage_sums(integrals, np.array([[28, 10]], np.int32)).shape == (1, 3)


def test_margins_and_stages(rng):
    cascade = builders.random_cascade(rng)
    picture = builders.smooth_noise(rng, 40, 50)
    scan = scan_margins(picture, cascade, 1)
    assert scan.margins.shape == (len(scan), 3)
    assert (scan.margins[:, 0] >= 0).all()
    visited = scan.accepted(
        cascade.first_stages(1)
    )  # not rows that only other bounds on the object make it visit
    for n in (1, 2, 3):
        assert scan.accepted(cascade.first_stages(n)).tolist() == visited[scan.stages[visited] >= n].tolist()


def test_a_picture_smaller_than_the_window(rng):
    cascade = builders.random_cascade(rng)
    scan = scan_margins(np.zeros((9, 40), np.uint8), cascade, 2)
    assert (len(scan), len(scan.detections(cascade)), scan.sums.shape) == (0, 0, (0, 2))


def test_too_many_windows_are_refused_before_their_sums_are_computed(rng, monkeypatch):
    picture, cascade = builders.smooth_noise(rng, 60, 60), builders.accept_all(Size(12, 10), 3)
    monkeypatch.setattr(Scanner, "stage_sums", None)
    with pytest.raises(
        SettingsError, match="more than 100 windows of the picture pass the first 2 stages: fix"
    ):
        scan_margins(picture, cascade, 2, max_windows=100, n_threads=1)


def test_other_models_and_settings_are_refused(rng):
    cascade = builders.random_cascade(rng)
    scan = scan_margins(builders.smooth_noise(rng, 40, 40), cascade, 2)
    with pytest.raises(SettingsError, match="stages 1 is not a whole number from 2 to 3"):
        scan.detections(cascade.first_stages(1))
    with pytest.raises(SettingsError, match=r"not the scanned model .* after stage 2"):
        scan.detections(cascade.with_shifted_thresholds(0.5, 2))
    with pytest.raises(SettingsError, match="not the scanned model"):
        scan.detections(replace(cascade, leaves=cascade.leaves + 1))
    with pytest.raises(SettingsError, match="min_neighbors -1"):
        scan.detections(cascade, min_neighbors=-1)
    with pytest.raises(SettingsError, match=r"min_size .* is larger than max_size"):
        scan.detections(cascade, min_size=(9, 9), max_size=(8, 8))
    for n_fixed in (0, 4, 1.5):
        with pytest.raises(SettingsError, match=f"fixed stages {n_fixed} is not a whole number from 1 to 3"):
            scan_margins(np.zeros((40, 40), np.uint8), cascade, n_fixed)
    with pytest.raises(SettingsError, match="scale factor"):
        scan_margins(np.zeros((40, 40), np.uint8), cascade, 2, scale_factor=1)
