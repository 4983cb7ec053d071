"""The memory of the last frames."""

from pathlib import Path

import builders
import numpy as np
import pytest

from vjcascade.cascade import Cascade
from vjcascade.detection import DenseDetector, DetectionMemory, detect_dense
from vjcascade.detection.memory import MAX_FRAMES
from vjcascade.errors import SettingsError
from vjcascade.types import Detections, Size

FACES = Path(__file__).parents[2] / "models" / "frontalface.xml"


@pytest.fixture(scope="module")
def detector():
    return DenseDetector(Cascade.load(FACES), min_neighbors=3, min_size=(60, 60))


@pytest.fixture(scope="module")
def face():
    return np.ascontiguousarray(builders.picture("astronaut.png")[20:200, 130:320])


def assert_same(found, expected):
    for column in ("boxes", "scores", "neighbors", "stages", "angles"):
        np.testing.assert_array_equal(getattr(found, column), getattr(expected, column), err_msg=column)


def test_one_frame_is_no_memory(detector, face):
    memory = DetectionMemory(1, detector)
    for frame in (face, face[:, ::-1], np.zeros_like(face)):
        assert_same(memory.detect(frame), detector.detect(frame))


def test_frames_are_grouped_together_newest_first(detector, face):
    frames = [face, np.roll(face, 3, axis=1), np.roll(face, 5, axis=0), face]
    memory = DetectionMemory(3, detector)
    for i, frame in enumerate(frames):
        found = memory.detect(frame)
        held = frames[max(i - 2, 0) : i + 1]
        raw = Detections.joined(detector.raw_windows(one)[0] for one in reversed(held))
        assert_same(found, detector.grouped(raw, len(held)))
        assert len(found) == 1
    assert found.neighbors[0] > 2 * detector.detect(face).neighbors[0]


def test_an_object_that_one_frame_misses_stays_and_then_goes(detector, face):
    memory, blank = DetectionMemory(3, detector), np.zeros_like(face)
    n_found = [len(memory.detect(frame)) for frame in (face, face, blank, blank, blank, blank)]
    assert n_found[:3] == [1, 1, 1]
    assert n_found[-1] == 0


def test_the_threshold_grows_with_the_frames(face):
    """What shows in one frame of two needs twice as many windows in it."""
    cascade = Cascade.load(FACES)
    n_windows = int(detect_dense(face, cascade, min_size=(60, 60)).neighbors[0])
    blank = np.zeros_like(face)
    for min_neighbors, is_found in ((n_windows // 2 - 1, True), (n_windows // 2 + 1, False)):
        memory = DetectionMemory(2, DenseDetector(cascade, min_neighbors=min_neighbors, min_size=(60, 60)))
        memory.detect(blank)
        assert bool(len(memory.detect(face))) is is_found


def test_frames_of_another_size_are_forgotten(detector, face):
    memory = DetectionMemory(5, detector)
    memory.detect(face)
    other = face[:-10]
    assert_same(memory.detect(other), detector.detect(other))
    assert memory.detect(other).neighbors[0] == 2 * detector.detect(other).neighbors[0]


def test_forget(detector, face):
    memory = DetectionMemory(5, detector)
    memory.detect(face)
    memory.forget()
    assert_same(memory.detect(face), detector.detect(face))


def test_the_region_may_move(detector, face):
    memory = DetectionMemory(2, detector)
    memory.detect(face, region=(0, 0, 185, 175))
    found = memory.detect(face, region=(3, 3, 180, 170))
    whole = detector.detect(face)
    assert np.abs(found.boxes[0] - whole.boxes[0]).max() < 8
    assert found.neighbors[0] > whole.neighbors[0]


def test_of_equal_windows_the_newest_stays(rng):
    frame = rng.integers(0, 256, (24, 26), np.uint8)
    memory = DetectionMemory(2, DenseDetector(Cascade(Size(24, 24)), group="nms", min_neighbors=0))
    for x in (0, 2, 1):
        assert memory.detect(frame, region=(x, 0, 24, 24)).boxes.tolist() == [[x, 0, 24, 24]]


def test_a_frame_that_is_refused_changes_nothing(detector, face):
    memory = DetectionMemory(3, detector)
    memory.detect(face)
    with pytest.raises(SettingsError, match="outside"):
        memory.detect(face, region=(1000, 0, 10, 10))
    assert memory.detect(face).neighbors[0] == 2 * detector.detect(face).neighbors[0]


def test_each_cascade_has_its_own_memory(detector, face):
    cascades = [*detector.cascades, builders.accept_all()]
    memory = DetectionMemory(2, DenseDetector(cascades, min_size=(60, 60)))
    alone = [DetectionMemory(2, DenseDetector(cascade, min_size=(60, 60))) for cascade in cascades]
    for frame in (face, face[:, ::-1]):
        each = memory.detect_each(frame)
        assert all(len(found) for found in each)
        for one, found in zip(alone, each, strict=True):
            assert_same(found, one.detect(frame))
    with pytest.raises(SettingsError, match="detect_each"):
        memory.detect(face)


def test_memory_does_not_grow(detector):
    memory = DetectionMemory(2, detector)
    for _ in range(10):
        memory.detect(np.zeros((70, 70), np.uint8))
    assert len(memory._frames) == 2


@pytest.mark.parametrize("n_frames", [0, -1, 1.5, None, "2"])
def test_bad_numbers_of_frames_are_named(detector, n_frames):
    with pytest.raises(SettingsError, match="n_frames"):
        DetectionMemory(n_frames, detector)


def test_raw_windows_cannot_be_remembered(detector):
    with pytest.raises(SettingsError, match="none"):
        DetectionMemory(2, DenseDetector(detector.cascades, group="none"))


def test_detectors_of_another_kind_are_named(detector):
    with pytest.raises(SettingsError, match="a DenseDetector, not a Cascade"):
        DetectionMemory(2, detector.cascades[0])


def test_memory_is_bounded(detector):
    with pytest.raises(SettingsError, match=f"n_frames 1000000000 .* to {MAX_FRAMES:,}"):
        DetectionMemory(10**9, detector)
