"""Frames of a video searched with what is known of the previous one: the same detections, and fewer windows."""

import builders
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade import Cascade, Detector, PreviousFrame, load_detector
from vjcascade.compat import data
from vjcascade.detection import pyramid
from vjcascade.detection.frames import rows_to_scan

FACE, EYE = (Cascade.load(data.find(name)).first_stages(3) for name in ("frontalface-small", "frontalface"))
"""They pass many windows; their windows differ in size, so that levels are shared in part."""


def scene(seed=0, size=(70, 90)):
    """Return smooth noise, which windows of a face cascade pass, as they do not pass white noise."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (size[0] // 5, size[1] // 5), np.uint8)
    return np.kron(coarse, np.ones((5, 5), np.uint8))


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        for name in ("boxes", "scores", "neighbors", "stages", "ranking_scores"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name


patches = st.lists(
    st.tuples(st.integers(0, 69), st.integers(0, 89), st.integers(1, 20), st.integers(1, 60)), max_size=2
)


@settings(max_examples=25, deadline=None)
@given(changes=st.lists(patches, min_size=1, max_size=4), scale_factor=st.sampled_from([1.1, 1.5]))
@pytest.mark.parametrize("n_threads", [1, 2])
def test_detections_are_those_of_each_frame_alone(changes, scale_factor, n_threads):
    detector = Detector([FACE, EYE], scale_factor=scale_factor, min_neighbors=0, n_threads=n_threads)
    previous, frame, n_found = PreviousFrame(), scene(), 0
    for number, change in enumerate([[], *changes]):
        for y, x, height, width in change:
            place = slice(y, y + height), slice(x, x + width)
            frame[place] = scene(number + 1)[place]
        expected = detector.detect_each(frame)
        assert_same(detector.detect_each(frame, previous=previous), expected)
        n_found += sum(map(len, expected))
    assert n_found > 100


def n_rows_scanned(monkeypatch, detector, frames):
    """Return how many rows of windows are scanned in each frame."""
    counts = []
    scan = pyramid.Scanner.scan_levels

    def counted(self, integrals, rows, **options):
        counts[-1] += sum(map(len, rows))
        return scan(self, integrals, rows, **options)

    monkeypatch.setattr(pyramid.Scanner, "scan_levels", counted)
    previous = PreviousFrame()
    for frame in frames:
        counts.append(0)
        detector.detect(frame, previous=previous)
    return counts


def test_what_has_not_changed_is_not_scanned(monkeypatch):
    still, low = scene(), scene()
    low[60:, 10:15] ^= 255
    detector = Detector(FACE, n_threads=1)
    first, second, third, fourth = n_rows_scanned(
        monkeypatch, detector, [still, still.copy(), low, still ^ 255]
    )
    assert (second, fourth) == (0, first)
    assert 0 < third < first / 2


def test_a_frame_that_is_written_over_is_not_mistaken_for_the_next():
    frame, previous = scene(), PreviousFrame()
    detector = Detector(FACE, min_neighbors=0)
    detector.detect(frame, previous=previous)
    frame[:] = scene(1)
    assert_same([detector.detect(frame, previous=previous)], [detector.detect(frame)])


def test_another_size_or_detector_starts_anew():
    previous = PreviousFrame()
    for detector in (Detector(FACE, min_neighbors=0), Detector(EYE, min_neighbors=0)):
        for frame in (scene(), scene(size=(60, 100)), scene(), np.zeros((5, 5), np.uint8)):
            assert_same([detector.detect(frame, previous=previous)], [detector.detect(frame)])


def test_an_interrupted_search_leaves_what_was_known(monkeypatch):
    detector, previous = Detector(FACE, min_neighbors=0, n_threads=1), PreviousFrame()
    detector.detect(scene(), previous=previous)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pyramid.Scanner, "scan_levels", interrupted)
        with pytest.raises(KeyboardInterrupt):
            detector.detect(scene(1), previous=previous)
    assert_same([detector.detect(scene(1), previous=previous)], [detector.detect(scene(1))])


def test_tuned_settings_and_ranking_bounds_hold():
    detector = load_detector(data.find("frontalface-small"), min_neighbors=0, min_ranking_score=0.5)
    previous = PreviousFrame()
    for _ in range(2):
        found = detector.detect(scene(2), previous=previous)
        assert_same([found], [detector.detect(scene(2))])


@given(
    height=st.integers(1, 12),
    window=st.integers(1, 12),
    changed=st.lists(st.booleans(), min_size=12, max_size=12),
    step=st.integers(1, 3),
)
def test_rows_with_changed_pixels(height, window, changed, step):
    visited = range(0, max(height - window + 1, 0), step)
    changed = np.array(changed[:height])
    expected = [y for y in visited if changed[y : y + window].any()]
    assert list(rows_to_scan(visited, changed, window)) == expected
    assert rows_to_scan(visited, None, window) is visited


def test_a_cascade_that_accepts_all_keeps_all():
    detector = Detector(builders.accept_all(), min_neighbors=0)
    previous = PreviousFrame()
    first, second = (detector.detect(scene(), previous=previous) for _ in range(2))
    assert len(first) > 500
    assert_same([second], [first])
