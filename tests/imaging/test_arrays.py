"""Pixels in memory: grey conversion, resizing, drawing; and the one import of OpenCV."""

import subprocess
import sys
from pathlib import Path

import cv2
import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

import vjcascade
from vjcascade import imaging
from vjcascade.errors import ImageError, MissingLibraryError
from vjcascade.imaging import draw_boxes, resize_crop, resize_exact, to_gray
from vjcascade.types import Size

PROJECT = Path(vjcascade.__file__).parents[1]

# ---- arrays ----

GRAY = np.arange(256, dtype=np.uint8).reshape(16, 16)


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize(
    "convert",
    [
        lambda a: a.astype(np.uint16) * 257,
        lambda a: a.astype(np.uint16) * 256,
        lambda a: a.astype(">u2") * 257,
        lambda a: (a / 255).astype(np.float16),
        lambda a: (a / 255).astype(np.float32),
        lambda a: a / 255,
        lambda a: (a / 255).astype(">f4"),
        np.asfortranarray,
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    ],
)
def test_every_dtype_gives_the_grey_levels_of_uint8(convert, colour):
    image = np.dstack([GRAY, GRAY.T, GRAY[::-1]]) if colour else GRAY
    np.testing.assert_array_equal(to_gray(convert(image)), to_gray(image))


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (GRAY[:, :, None], GRAY),
        (np.array([[False, True]]), [[0, 255]]),
        (np.array([[0.0, 0.5, 1.0]]), [[0, 128, 255]]),
        (np.uint8([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]]), [[76, 150, 29]]),
        (np.uint8([[[9, 9, 9, 0], [9, 9, 9, 255]]]), [[128, 9]]),
        (np.array([[[1.0, 1.0, 1.0, 0.0]]]), [[128]]),
    ],
)
def test_to_gray(image, expected):
    gray = to_gray(image)
    np.testing.assert_array_equal(gray, expected)
    assert gray.dtype == np.uint8


def test_grey_uint8_comes_back_itself():
    assert to_gray(GRAY) is GRAY


@given(arrays(np.uint8, (3, 5, 3)))
def test_grey_is_opencvs_formula(rgb):
    np.testing.assert_array_equal(to_gray(rgb), naive.to_gray(rgb))


@given(arrays(np.uint8, (3, 5, 4)))
def test_alpha_of_arrays_is_the_rule_of_files(rgba):
    over_grey = naive.over_mid_grey(rgba[..., :3], rgba[..., 3:].astype(float))
    np.testing.assert_array_equal(to_gray(rgba), naive.to_gray(over_grey))


@pytest.mark.parametrize(
    ("image", "error", "words"),
    [
        (None, TypeError, "NoneType"),
        ([[1, 2]], TypeError, "list"),
        (np.zeros((2, 2), np.int64), TypeError, "int64"),
        (np.zeros((2, 2), np.int8), TypeError, "int8"),
        (np.zeros((2, 2), np.complex64), TypeError, "complex64"),
        (np.array([[None]]), TypeError, "object"),
        (np.zeros((0, 0), np.uint8), ImageError, r"\(0, 0\)"),
        (np.zeros((0, 5, 3), np.uint8), ImageError, r"\(0, 5, 3\)"),
        (np.zeros(7, np.uint8), ImageError, r"\(7,\)"),
        (np.zeros((2, 2, 2), np.uint8), ImageError, r"\(2, 2, 2\)"),
        (np.zeros((1, 2, 2, 3), np.uint8), ImageError, r"\(1, 2, 2, 3\)"),
        (np.array([[0.0, 255.0]]), ImageError, "0 to 255"),
        (np.array([[-0.5, 1.0]]), ImageError, "-0.5 to 1"),
        (np.array([[np.nan, 1.0]]), ImageError, "nan"),
        (np.array([[0.0, np.inf]]), ImageError, "inf"),
    ],
)
def test_to_gray_refuses(image, error, words):
    with pytest.raises(error, match=words):
        to_gray(image)


# ---- resizing, drawing ----


@pytest.mark.parametrize("resize", [resize_exact, resize_crop])
@pytest.mark.parametrize("size", [Size(24, 24), Size(100, 80), Size(30, 90), Size(60, 20)])
def test_resizing_gives_the_size(photo, resize, size):
    assert resize(photo[:, :, 0], size).shape == (size.height, size.width)


@pytest.mark.parametrize("resize", [resize_exact, resize_crop])
def test_equal_size_is_the_same_array(photo, resize):
    assert resize(photo, Size(60, 40)) is photo


@pytest.mark.parametrize(
    ("size", "interpolation"),
    [
        (Size(30, 20), cv2.INTER_AREA),
        (Size(60, 20), cv2.INTER_AREA),
        (Size(61, 20), cv2.INTER_LINEAR_EXACT),
        (Size(90, 80), cv2.INTER_LINEAR_EXACT),
    ],
)
def test_crops_are_averaged_where_they_shrink(photo, size, interpolation):
    expected = cv2.resize(photo, size, interpolation=interpolation)
    np.testing.assert_array_equal(resize_crop(photo, size), expected)


def test_boxes_are_crisp_and_the_picture_is_left_alone():
    image = np.zeros((20, 30), np.uint8)
    drawn = draw_boxes(image, np.array([[2, 3, 10, 8]], np.int32))
    expected = np.zeros((20, 30), bool)
    expected[3:11, 2:12] = True
    expected[4:10, 3:11] = False
    np.testing.assert_array_equal(drawn.any(axis=2), expected)
    assert drawn.shape == (20, 30, 3)
    assert np.unique(drawn.reshape(-1, 3), axis=0).tolist() == [[0, 0, 0], [0, 255, 0]]
    assert not image.any()


def test_lines_thicken_with_the_picture_inside_the_box():
    drawn = draw_boxes(np.zeros((900, 1200, 3), np.uint8), np.array([[100, 100, 200, 200]]))
    assert np.flatnonzero(drawn[200].any(axis=1)).tolist() == [100, 101, 102, 297, 298, 299]


def test_boxes_may_be_none_or_reach_beyond_the_picture():
    image = np.zeros((20, 20, 3), np.uint8)
    assert not draw_boxes(image, np.empty((0, 4), np.int32)).any()
    assert draw_boxes(image, np.array([[-5, -5, 60, 15]])).any()


# ---- OpenCV ----


@pytest.mark.parametrize("module", [None, type(sys)("cv2")], ids=["missing", "remains"])
def test_missing_opencv_says_what_to_install(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "cv2", module)
    with pytest.raises(MissingLibraryError, match="opencv-python-headless"):
        imaging.opencv.__wrapped__()


def test_import_is_lazy():
    program = (
        "import sys, vjcascade.imaging, vjcascade.video; print({'PIL', 'cv2', 'skimage'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PROJECT)
    assert run.stdout == "set()\n"
