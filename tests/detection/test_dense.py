"""Dense detection: against plain loops, OpenCV's mode, and the laws of its options."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import builders
import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.cascade import Cascade
from vjcascade.detection import DenseDetector, Detector, detect_dense
from vjcascade.detection.scales import scaled_size
from vjcascade.errors import SettingsError
from vjcascade.imaging import resize_crop, resize_exact
from vjcascade.types import Detections, FeatureType, Size

FACES = Path(__file__).parents[2] / "models" / "frontalface.xml"
FACE = np.array([173, 63, 103, 103])  # about where it is in the picture of the astronaut
COLUMNS = ("boxes", "scores", "neighbors", "stages", "angles")


@pytest.fixture(scope="module")
def faces():
    return Cascade.load(FACES)


@pytest.fixture(scope="module")
def astronaut():
    return builders.picture("astronaut.png")


@pytest.fixture(scope="module")
def small(astronaut):
    """Return a picture with a face of about 40 pixels."""
    return resize_crop(np.ascontiguousarray(astronaut[:256, 100:356]), Size(96, 96))


@pytest.fixture(scope="module")
def weak():
    """Return a cascade that accepts some windows everywhere, of a window that is not square."""
    return builders.random_cascade(np.random.default_rng(7), Size(10, 8), stages=(2, 3), bar=-0.3)


def assert_same(found, expected):
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(found, column), getattr(expected, column), err_msg=column)


def raw(cascade, picture, **options):
    return detect_dense(picture, cascade, group="none", **options)


def rows_of(found):
    return {tuple(row) for row in np.column_stack([found.boxes, found.scores]).tolist()}


def overlap(box, other):
    low, high = np.maximum(box[:2], other[:2]), np.minimum(box[:2] + box[2:], other[:2] + other[2:])
    shared = np.maximum(high - low, 0).prod()
    return shared / (box[2:].prod() + other[2:].prod() - shared)


# --- which windows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stride", "antialias"), [(1, False), (1, True), (2, False), (3, True)])
def test_equals_plain_loops(rng, weak, stride, antialias):
    picture = builders.smooth_noise(rng, 21, 26)
    bar = float(weak.effective_thresholds[-1])
    expected = []
    for scale in np.array([1, 1.5, 1.5**2], np.float32):
        size = Size(round(float(26 / scale)), round(float(21 / scale)))
        level = (resize_crop if antialias else resize_exact)(picture, size)
        windows, _ = naive.scan_rows(weak, level, range(0, size.height - 8 + 1, stride), stride)
        width, height = scaled_size(weak.window, scale)
        for x, y, total, _ in windows:
            left = min(int(np.rint(np.float32(x) * scale)), 26 - width)
            top = min(int(np.rint(np.float32(y) * scale)), 21 - height)
            expected.append([left, top, width, height, total - bar])
    found = raw(weak, picture, scale_factor=1.5, stride=stride, antialias=antialias)
    assert len(found) > 5
    assert np.column_stack([found.boxes, found.scores]).tolist() == expected
    assert set(found.stages.tolist()) == {weak.n_stages}
    assert set(found.angles.tolist()) == {0.0}


def test_no_row_and_column_is_lost():
    """OpenCV visits rows 0 and 2 only of this one, and every other column."""
    found = raw(
        Cascade(Size(24, 24)),
        np.random.default_rng(1).integers(0, 256, (28, 40), np.uint8),
        max_size=(24, 24),
    )
    assert sorted(set(found.boxes[:, 1].tolist())) == [0, 1, 2, 3, 4]
    assert sorted(set(found.boxes[:, 0].tolist())) == list(range(17))


def test_finds_all_that_opencv_finds(faces, astronaut):
    of_opencv = Detector(faces, min_neighbors=0).detect(astronaut)
    dense = raw(faces, astronaut)
    assert len(dense) > len(of_opencv) > 20
    inside = (of_opencv.boxes[:, :2] + of_opencv.boxes[:, 2:]).max(
        axis=1
    ) < 500  # others are cut there, moved here
    assert rows_of(of_opencv.select(inside)) < rows_of(dense)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 100),
    shape=st.tuples(st.integers(5, 40), st.integers(5, 40)),
    bounds=st.lists(st.integers(1, 40), min_size=4, max_size=4),
    angles=st.sampled_from([(0,), (0, 90), (33, -100)]),
    group=st.sampled_from(["none", "average", "weighted", "nms"]),
)
def test_bounds_are_honest(weak, seed, shape, bounds, angles, group):
    """No box is smaller or larger than asked for, or leaves the picture; groups and turned windows too."""
    picture = builders.smooth_noise(np.random.default_rng(seed), *shape)
    low, high = np.sort(np.reshape(bounds, (2, 2)), axis=0).tolist()
    options = {"angles": angles, "group": group, "min_neighbors": 0, "scale_factor": 1.2, "n_threads": 1}
    boxes = detect_dense(picture, weak, min_size=low, max_size=high, **options).boxes
    assert (boxes[:, 2:] >= low).all()
    assert (boxes[:, 2:] <= high).all()
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, :2] + boxes[:, 2:] <= shape[::-1]).all()


def test_nothing_where_no_scale_lies_between(faces, astronaut):
    bounds = {
        "min_size": (103, 103),
        "max_size": (108, 108),
    }  # of the face's size; levels are for 101 and 111
    assert len(raw(faces, astronaut, **bounds)) == 0
    assert len(Detector(faces, min_neighbors=0, **bounds).detect(astronaut)) > 0  # OpenCV's surprise


def test_bounds_leave_the_other_windows_alone(faces, small):
    every = raw(faces, small)
    low, high = np.quantile(every.boxes[:, 2], [0.3, 0.7]).astype(int).tolist()
    between = (every.boxes[:, 2] >= low) & (every.boxes[:, 2] <= high)
    assert 0 < between.sum() < len(every)
    assert_same(raw(faces, small, min_size=(low, low), max_size=(high, high)), every.select(between))


def test_antialiased_levels_keep_fine_texture_from_looking_like_objects():
    """A fine checkerboard has no contrast at larger scales, where point samples still see some."""
    board = builders.checkerboard(40, 40, 100)
    everything = Cascade(Size(6, 6))
    options = {"min_size": (17, 17), "scale_factor": 1.3}
    assert len(raw(everything, board, antialias=False, **options)) > 0
    assert len(raw(everything, board, antialias=True, **options)) == 0


@pytest.mark.parametrize("near_misses", [1, 2, 9])
def test_near_misses_equal_plain_loops(rng, near_misses):
    """Scores are margins of the stage that rejected the window: negative exactly where a stage did."""
    cascade = builders.random_cascade(rng, Size(10, 8), stages=(2, 2, 3), bar=0.1)
    picture = builders.smooth_noise(rng, 18, 22)
    bars, expected = cascade.effective_thresholds.astype(float), []
    for y in range(18 - 8 + 1):
        for x in range(22 - 10 + 1):
            passed, total = naive.evaluate_window(cascade, picture[y : y + 8, x : x + 10])
            if passed >= max(3 - near_misses, 0):
                expected.append((x, y, passed, total - bars[min(passed, 2)]))
    found = raw(cascade, picture, near_misses=near_misses, max_size=(10, 8))
    assert len(set(found.stages.tolist())) > 1
    rows = zip(*found.boxes[:, :2].T.tolist(), found.stages.tolist(), found.scores.tolist(), strict=True)
    assert list(rows) == expected
    assert ((found.scores < 0) == (found.stages < 3)).all()


def test_near_misses_help_a_face_to_more_windows(faces, astronaut):
    all_stages, more = (detect_dense(astronaut, faces, near_misses=n, min_size=(60, 60)) for n in (0, 2))
    assert more.neighbors[0] > all_stages.neighbors[0]
    assert more.scores[0] == all_stages.scores[0]
    assert overlap(more.boxes[0], FACE) > 0.7


# --- region and mask -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["none", "average", "weighted", "nms"])
@pytest.mark.parametrize("angles", [(0,), (0, 25)])
def test_a_region_is_a_picture_of_its_own(weak, small, group, angles):
    options = {"group": group, "angles": angles, "min_neighbors": 1, "scale_factor": 1.3}
    x, y, w, h = region = (17, 23, 41, 30)
    found = detect_dense(small, weak, region=region, **options)
    crop = detect_dense(small[y : y + h, x : x + w], weak, **options)
    assert len(found) > 1
    np.testing.assert_array_equal(found.boxes, crop.boxes + np.array([x, y, 0, 0]))
    np.testing.assert_array_equal(found.scores, crop.scores)


@pytest.mark.parametrize(
    ("given_region", "inside"), [((-20, -5, 60, 65), (0, 0, 40, 60)), ((60, 70, 99, 99), (60, 70, 36, 26))]
)
def test_a_region_is_cut_to_the_picture(weak, small, given_region, inside):
    assert_same(raw(weak, small, region=given_region), raw(weak, small, region=inside))


@pytest.mark.parametrize("angles", [(0,), (0, 40)])
def test_a_mask_says_where_centres_may_lie(weak, small, angles):
    mask = np.zeros(small.shape, np.uint8)
    mask[:30, 50:], mask[70:, 10:20] = 255, 1
    every = raw(weak, small, angles=angles)
    x, y = (every.boxes[:, :2] + every.boxes[:, 2:] // 2).T
    kept = every.select(((y < 30) & (x >= 50)) | ((y >= 70) & (x >= 10) & (x < 20)))
    assert 0 < len(kept) < len(every)
    for same in (mask, mask > 0):
        assert_same(raw(weak, small, angles=angles, mask=same), kept)


def test_a_mask_belongs_to_the_picture_not_to_the_region(weak, small):
    mask = np.zeros(small.shape, np.bool_)
    mask[30:50] = True
    found = raw(weak, small, region=(20, 20, 50, 60), mask=mask)
    centres = found.boxes[:, 1] + found.boxes[:, 3] // 2
    assert 30 <= centres.min() <= centres.max() < 50
    assert found.boxes[:, 0].min() >= 20


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"region": (96, 0, 10, 10)}, "outside the 96x96 picture"),
        ({"region": (0, 0, 0, 10)}, r"region \(0, 0, 0, 10\)"),
        ({"region": (0, 0, 10)}, r"region \(0, 0, 10\)"),
        ({"region": (0, 0, 10.5, 10)}, "whole pixels"),
        ({"region": 7}, "region 7"),
        ({"mask": np.ones((96, 95), np.bool_)}, r"\(96, 95\).*\(96, 96\)"),
        ({"mask": np.ones((50, 50), np.bool_), "region": (0, 0, 50, 50)}, r"\(50, 50\).*\(96, 96\)"),
        ({"mask": np.ones((96, 96))}, "float64"),
        ({"mask": "all"}, "str"),
    ],
)
def test_bad_regions_and_masks_are_named(weak, small, where, said):
    with pytest.raises(SettingsError, match=said):
        detect_dense(small, weak, **where)


# --- angles ----------------------------------------------------------------------------------------------------


def turned(picture, degrees):
    """Turn a picture counter-clockwise by another program than ours."""
    from skimage.transform import rotate

    return np.rint(rotate(picture, degrees, mode="edge", preserve_range=True)).astype(np.uint8)


@pytest.mark.parametrize("degrees", [30, -30])
@pytest.mark.parametrize("group", ["average", "nms"])
def test_a_turned_face_is_found(faces, astronaut, degrees, group):
    picture = turned(astronaut, degrees)
    centre = np.array([256, 256])
    angle = np.deg2rad(degrees)
    way = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    place = np.concatenate([way @ (FACE[:2] + FACE[2:] / 2 - centre) + centre - FACE[2:] / 2, FACE[2:]])
    options = {"min_size": (60, 60), "group": group}
    found = detect_dense(picture, faces, angles=(-30, 0, 30), **options)
    assert found.angles[0] == degrees  # the best one
    assert overlap(found.boxes[0], place) > 0.6
    upright = detect_dense(picture, faces, **options)
    assert all(overlap(box, place) < 0.3 for box in upright.boxes)


@pytest.mark.parametrize("full", [0, 360, -720])
def test_no_turn_is_no_turn(faces, small, full):
    found, expected = (raw(faces, small, **options) for options in ({"angles": [full]}, {}))
    assert len(found)
    assert_same(replace(found, angles=expected.angles), expected)
    assert set(found.angles.tolist()) == {full}


@pytest.mark.parametrize("shape", [(60, 75), (75, 60), (61, 75)])
def test_quarter_turns_are_exact(weak, small, shape):
    """Looking for objects turned by 90 degrees is looking for upright ones in the picture turned back."""
    picture = small[: shape[0], : shape[1]]
    found = raw(weak, picture, angles=(90,), scale_factor=1.3)
    back = raw(weak, np.ascontiguousarray(np.rot90(picture, -1)), scale_factor=1.3)
    x, y, w, h = back.boxes.T
    assert len(back) > 20
    np.testing.assert_array_equal(found.boxes, np.column_stack([y, shape[0] - x - w, h, w]))
    np.testing.assert_array_equal(found.scores, back.scores)


def test_half_turns_are_exact(weak, small):
    found = raw(weak, small[:70], angles=(180,))
    back = raw(weak, small[:70][::-1, ::-1])
    corners = [96, 70] - back.boxes[:, :2] - back.boxes[:, 2:]
    np.testing.assert_array_equal(found.boxes, np.column_stack([corners, back.boxes[:, 2:]]))


def test_raw_windows_come_angle_by_angle(weak, small):
    angles = (20, 0, -20)
    expected = Detections.joined([raw(weak, small, angles=(angle,)) for angle in angles])
    assert_same(raw(weak, small, angles=angles), expected)
    assert list(dict.fromkeys(expected.angles.tolist())) == list(angles)


# --- grouping --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["average", "weighted", "nms"])
def test_the_best_comes_first(faces, astronaut, group):
    found = detect_dense(astronaut, faces.first_stages(15), group=group, min_neighbors=1)
    assert len(found) > 2
    assert (np.diff(found.scores) <= 0).all()
    assert (found.neighbors > 1).all()
    assert overlap(found.boxes[0], FACE) > 0.7


def test_a_single_window_is_a_group_without_a_minimum(faces, astronaut):
    found = detect_dense(astronaut, faces, min_neighbors=0)
    assert found.neighbors.min() == 1


# --- several cascades, threads, settings -----------------------------------------------------------------------


def test_several_cascades_find_what_each_finds_alone(rng, weak, small, faces):
    tilted = builders.random_cascade(rng, Size(12, 12), tilted_share=0.5, bar=-0.4)
    lbp = builders.random_cascade(rng, Size(15, 12), kind=FeatureType.LBP, bar=-0.4)
    cascades = [lbp, faces, weak, tilted]
    options = {"angles": (0, 15), "min_neighbors": 1, "min_size": (14, 14)}
    mask = np.indices(small.shape)[1] > 20
    each = DenseDetector(cascades, **options).detect_each(small, region=(3, 0, 80, 90), mask=mask)
    assert all(len(found) for found in each)
    for cascade, found in zip(cascades, each, strict=True):
        assert_same(found, detect_dense(small, cascade, region=(3, 0, 80, 90), mask=mask, **options))


def test_one_result_needs_one_cascade(weak, small):
    with pytest.raises(SettingsError, match=r"2 cascades.*detect_each"):
        DenseDetector([weak, weak]).detect(small)


@pytest.mark.parametrize("group", ["none", "weighted", "nms"])
def test_thread_count_does_not_matter(weak, small, group):
    options = {"group": group, "angles": (0, 10), "min_neighbors": 0}
    picture = small[:60, :50]
    expected = detect_dense(picture, weak, n_threads=1, **options)
    for n_threads in (2, 5):
        assert_same(detect_dense(picture, weak, n_threads=n_threads, **options), expected)


def test_threads_may_share_a_detector(faces, small):
    detector = DenseDetector(faces, min_neighbors=0, n_threads=2)
    pictures = [small, small[:, ::-1], small[10:], small.T] * 4
    with ThreadPoolExecutor(8) as pool:
        at_once = list(pool.map(detector.detect, pictures))
    assert len(at_once[0])
    for picture, found in zip(pictures, at_once, strict=True):
        assert_same(found, detector.detect(picture))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"scale_factor": 1.0}, "scale factor 1.0"),
        ({"stride": 0}, "stride 0"),
        ({"stride": 1.5}, "stride 1.5"),
        ({"min_size": (0, 1)}, "min_size"),
        ({"max_size": 24}, "max_size 24"),
        ({"group": "mean"}, "grouping 'mean'; .*average"),
        ({"group": None}, "grouping None"),
        ({"min_neighbors": -1}, "min_neighbors -1"),
        ({"overlap": 1.1}, "overlap 1.1"),
        ({"overlap": float("nan")}, "overlap nan"),
        ({"overlap": "0.3"}, "overlap '0.3'"),
        ({"angles": ()}, r"angles \(\)"),
        ({"angles": 30}, "angles 30"),
        ({"angles": (0, float("inf"))}, "angles.*inf"),
        ({"angles": "abc"}, "angles 'abc'"),
        ({"angles": (0, 90, -270)}, "twice"),
        ({"near_misses": -1}, "near_misses -1"),
        ({"n_threads": 0}, "n_threads 0"),
        ({"antialias": "no"}, "antialias 'no'"),
        ({"min_size": (30, 30), "max_size": (40, 20)}, "min_size 30x30 is larger than max_size 40x20"),
    ],
)
def test_bad_settings_are_named(weak, options, named):
    with pytest.raises(SettingsError, match=named):
        DenseDetector(weak, **options)


@pytest.mark.parametrize("cascades", [[], "frontalface.xml", [None]])
def test_what_is_no_cascade_is_refused(cascades):
    with pytest.raises(SettingsError, match="needs a Cascade"):
        DenseDetector(cascades)


def test_smaller_than_the_window(faces):
    found = detect_dense(np.zeros((10, 300), np.uint8), faces, angles=(0, 45))
    assert found.boxes.shape == (0, 4)
    assert found.boxes.dtype == np.int32
