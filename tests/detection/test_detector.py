"""The detector on edge inputs (case 11), and equal results for every number of threads."""

import inspect
import math

import builders
import numpy as np
import pytest

from vjcascade.cascade import Cascade
from vjcascade.detection import DenseDetector, DetectionMemory, Detector, Scanner, detect, detect_dense
from vjcascade.detection.scales import scan_levels
from vjcascade.errors import SettingsError
from vjcascade.types import FeatureType, Size


@pytest.fixture(scope="module")
def everything():
    return builders.accept_all()


@pytest.fixture
def texture(rng):
    return rng.integers(0, 256, (24, 24), np.uint8)


def test_one_window(everything, texture):
    found = detect(texture, everything, min_neighbors=0)
    assert found.boxes.tolist() == [[0, 0, 24, 24]]
    assert found.boxes.dtype == np.int32
    assert found.scores.tolist() in [[v - float(everything.effective_thresholds[-1])] for v in (1.0, 2.0)]
    assert found.neighbors.tolist() == [1]


@pytest.mark.parametrize("shape", [(40, 23), (23, 40), (1, 1)])
def test_smaller_than_the_window(everything, shape, rng):
    found = detect(rng.integers(0, 256, shape, np.uint8), everything, min_neighbors=0)
    assert found.boxes.shape == (0, 4)
    assert found.boxes.dtype == np.int32


@pytest.mark.parametrize(
    "image", [None, np.zeros((0, 0), np.uint8), np.zeros((0, 30), np.uint8), "picture.png"]
)
def test_no_picture(everything, image):
    with pytest.raises((TypeError, ValueError)):
        detect(image, everything)


@pytest.mark.parametrize("scale_factor", [1.0, 0.9, math.nan, math.inf])
def test_scale_factor(everything, texture, scale_factor):
    with pytest.raises(ValueError, match="scale factor"):
        detect(texture, everything, scale_factor=scale_factor)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"min_neighbors": -1}, "min_neighbors -1"),
        ({"n_threads": 0}, "n_threads 0"),
        ({"min_size": (0, 10)}, "min_size"),
        ({"max_size": (10, -1)}, "max_size"),
        ({"max_size": (10, 10, 10)}, "max_size"),
        ({"min_size": (30, 20), "max_size": (20, 30)}, "min_size 30x20 is larger than max_size 20x30"),
        ({"min_size": 24}, r"min_size 24 .*\(24, 24\)"),
        ({"min_size": (math.inf, 3)}, "min_size .*inf"),
        ({"max_size": (24.9, 24)}, "max_size .*24.9"),
        ({"max_size": "24"}, "max_size '24'"),
        ({"min_neighbors": math.nan}, "min_neighbors nan"),
        ({"min_neighbors": 2.5}, "min_neighbors 2.5"),
        ({"min_neighbors": None}, "min_neighbors None"),
        ({"scale_factor": "1.1"}, "scale factor '1.1'"),
        ({"scale_factor": None}, "scale factor None"),
        ({"min_ranking_score": -1}, "min_ranking_score -1"),
        ({"min_ranking_score": math.inf}, "min_ranking_score inf"),
    ],
)
def test_bad_settings_are_named(everything, texture, settings, named):
    with pytest.raises(SettingsError, match=named):
        detect(texture, everything, **settings)


@pytest.mark.parametrize("kind", [Detector, DenseDetector])
@pytest.mark.parametrize("min_neighbors", [0, 2])
def test_detections_of_low_ranking_scores_are_left_out(rng, kind, min_neighbors):
    cascade, picture = builders.random_cascade(rng), builders.smooth_noise(rng, 60, 80)
    every = kind(cascade, min_neighbors=min_neighbors).detect(picture)
    least = float(np.median(every.ranking_scores))
    found = kind(cascade, min_neighbors=min_neighbors, min_ranking_score=least).detect(picture)
    assert 0 < len(found) < len(every)
    assert found.boxes.tolist() == every.boxes[every.ranking_scores >= least].tolist()


def test_too_many_scales(everything, rng):
    with pytest.raises(SettingsError, match=r"1\.0000001"):
        detect(rng.integers(0, 256, (200, 200), np.uint8), everything, scale_factor=1.0000001)


def test_flat_picture(everything):
    assert len(detect(np.full((60, 60), 128, np.uint8), everything, min_neighbors=0)) == 0


def test_colour_gives_the_grey_result(everything, rng):
    gray = builders.smooth_noise(rng, 40, 50)
    colour = np.repeat(gray[:, :, None], 3, axis=2)
    expected = detect(gray, everything, min_neighbors=0).boxes
    opaque = np.concatenate([colour, np.full((40, 50, 1), 255, np.uint8)], axis=2)
    for image in (colour, opaque):
        np.testing.assert_array_equal(detect(image, everything, min_neighbors=0).boxes, expected)


def test_views_and_read_only_pictures(everything, rng):
    gray = builders.smooth_noise(rng, 60, 80)
    view = gray[5:55, 60:10:-1]
    view.flags.writeable = False
    np.testing.assert_array_equal(
        detect(view, everything, min_neighbors=0).boxes,
        detect(view.copy(), everything, min_neighbors=0).boxes,
    )


@pytest.mark.parametrize("min_neighbors", [0, 2])
def test_thread_count_does_not_matter(rng, min_neighbors):
    cascade = builders.random_cascade(rng, stages=(3, 4, 5))
    picture = builders.picture("astronaut.png")[::2, ::2]
    results = [detect(picture, cascade, min_neighbors=min_neighbors, n_threads=n) for n in (1, 2, 5)]
    assert len(results[0])
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].boxes, other.boxes)
        np.testing.assert_array_equal(results[0].scores, other.scores)
        np.testing.assert_array_equal(results[0].neighbors, other.neighbors)


def test_detector_is_reusable(everything, rng):
    detector = Detector(everything, min_neighbors=0, scale_factor=1.3)
    for shape in ((30, 40), (24, 24), (50, 33)):
        picture = builders.smooth_noise(rng, *shape)
        expected = detect(picture, everything, min_neighbors=0, scale_factor=1.3)
        np.testing.assert_array_equal(detector.detect(picture).boxes, expected.boxes)


@pytest.mark.parametrize("min_size", [(30, 30), [30, 30], np.array([30, 30])])
def test_sizes_may_be_any_two_whole_numbers(everything, rng, min_size):
    picture = builders.smooth_noise(rng, 80, 80)
    found = detect(picture, everything, min_neighbors=0, min_size=min_size, max_size=Size(40, 40))
    assert 30 <= found.boxes[:, 2].min() <= found.boxes[:, 2].max() <= 40


def test_boxes_lie_inside_the_picture(everything, rng):
    for width in range(24, 60, 7):
        found = detect(builders.smooth_noise(rng, 41, width), everything, min_neighbors=0, scale_factor=1.07)
        assert (found.boxes[:, :2] >= 0).all()
        assert (found.boxes[:, :2] + found.boxes[:, 2:] <= [width, 41]).all()
        assert (found.boxes[:, 2:] > 0).all()


@pytest.mark.parametrize(("shape", "last"), [((28, 40), 2), ((40, 28), 14), ((27, 40), 2), ((29, 40), 4)])
def test_the_last_row_is_lost_as_in_opencv(everything, rng, shape, last):
    found = detect(rng.integers(0, 256, shape, np.uint8), everything, min_neighbors=0)
    assert found.boxes[found.boxes[:, 2] == 24, 1].max() == last


def test_groups_take_the_largest_score(rng):
    cascade = builders.random_cascade(rng, bar=-0.5)
    picture = builders.smooth_noise(rng, 60, 60)
    raw = detect(picture, cascade, min_neighbors=0)
    groups = detect(picture, cascade, min_neighbors=1)
    assert groups.scores.max() == raw.scores.max()
    assert groups.neighbors.min() > 1


def test_cascade_detects(everything, texture):
    assert everything.detect(texture, min_neighbors=0).boxes.tolist() == [[0, 0, 24, 24]]


def test_a_cascade_without_stages_detects_whatever_has_contrast(texture):
    found = detect(texture, Cascade(Size(24, 24)), min_neighbors=0)
    assert found.boxes.tolist() == [[0, 0, 24, 24]]
    assert found.scores.tolist() == [0.0]


COLUMNS = ("boxes", "scores", "neighbors", "stages", "angles")


@pytest.fixture
def several(rng):
    """Return cascades of different windows: LBP, and Haar with and without tilted features."""
    return [
        builders.random_cascade(rng, Size(12, 12), kind=FeatureType.LBP, bar=-0.1),
        builders.random_cascade(rng, Size(12, 10), bar=-0.1),
        builders.random_cascade(rng, Size(20, 20), bar=-0.1, tilted_share=0.5),
        builders.random_cascade(rng, Size(9, 14), bar=-0.1, tree_share=0.5),
    ]


@pytest.mark.parametrize(
    ("min_neighbors", "min_size"), [(0, None), (2, None), (1, (25, 25)), (0, (500, 500))]
)
def test_several_cascades_find_what_each_finds_alone(several, rng, min_neighbors, min_size):
    picture = builders.smooth_noise(rng, 70, 90)
    options = {"min_neighbors": min_neighbors, "min_size": min_size, "scale_factor": 1.3}
    each = Detector(several, **options).detect_each(picture)
    assert any(len(found) for found in each)
    for cascade, found in zip(several, each, strict=True):
        alone = detect(picture, cascade, **options)
        for column in COLUMNS:
            np.testing.assert_array_equal(getattr(found, column), getattr(alone, column))


def test_levels_and_integral_images_are_shared(several, rng, monkeypatch):
    made = []

    def count(self, levels, *args, _made=Scanner.integrals_of_levels):
        made.extend(level.shape for level in levels)
        return _made(self, levels, *args)

    monkeypatch.setattr(Scanner, "integrals_of_levels", count)
    picture = builders.smooth_noise(rng, 70, 90)
    Detector([several[2], *several], n_threads=1).detect_each(picture)
    assert len(made) == len(set(made))
    assert len(made) == max(len(scan_levels(Size(90, 70), cascade.window, 1.1)) for cascade in several)


KINDS = {
    "OpenCV's way": Detector,
    "dense": DenseDetector,
    "memory": lambda cascades: DetectionMemory(2, DenseDetector(cascades)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_detector_takes_one_cascade_or_several(several, texture, kind):
    make = KINDS[kind]
    alone = [make(cascade).detect(texture) for cascade in several]
    assert sum(map(len, alone)) > 0
    assert [len(found) for found in make(several).detect_each(texture)] == [len(found) for found in alone]
    (one,) = make(several[0]).detect_each(texture)
    for found in (one, make(several[:1]).detect(texture), *make(tuple(several[:1])).detect_each(texture)):
        np.testing.assert_array_equal(found.boxes, alone[0].boxes)


@pytest.mark.parametrize("kind", KINDS)
def test_one_result_needs_one_cascade(several, texture, kind):
    with pytest.raises(SettingsError, match=r"4 cascades.*detect_each"):
        KINDS[kind](several).detect(texture)


@pytest.mark.parametrize("kind", [Detector, DenseDetector])
def test_detectors_show_their_settings_and_keep_them(several, kind):
    detector = kind(several[0], min_size=(30, 40), n_threads=1)
    assert detector.cascades == (several[0],)
    assert [scanner.cascade for scanner in detector.scanners] == [several[0]]
    assert (detector.min_size, detector.n_threads) == (Size(30, 40), 1)
    assert f"min_size={Size(30, 40)!r}" in repr(detector)
    with pytest.raises(AttributeError):
        detector.min_neighbors = 1


@pytest.mark.parametrize("cascades", [[], "frontalface.xml", [None], None])
def test_what_is_no_cascade_is_refused(cascades):
    with pytest.raises(SettingsError, match="needs a Cascade"):
        Detector(cascades)


def test_windows_passed_all_stages(rng):
    cascade = builders.random_cascade(rng, stages=(2, 3), bar=-0.5)
    found = detect(builders.smooth_noise(rng, 60, 60), cascade, min_neighbors=1)
    assert set(found.stages.tolist()) == {2}
    assert set(found.angles.tolist()) == {0.0}


def test_settings_have_the_same_names_order_and_values_everywhere():
    def settings(function):
        parameters = inspect.signature(function).parameters.values()
        return {one.name: one.default for one in parameters if one.kind is one.KEYWORD_ONLY}

    ours, dense = settings(Detector), settings(DenseDetector)
    assert [name for name in dense if name in ours] == list(ours)
    assert list(dense)[:5] == list(ours)[:5]
    assert {name: dense[name] for name in ours} == ours
    for function in (detect, Cascade.detect):
        assert list(settings(function).items()) == list(ours.items())
    for function in (detect_dense, Cascade.detect_dense):
        assert list(settings(function).items())[: len(dense)] == list(dense.items())
        assert list(settings(function))[len(dense) :] == ["region", "mask"]
