"""The scanner in NumPy against the engine."""

import builders
import numpy as np
import pytest
from hypothesis import given, strategies as st

import vjcascade
from vjcascade.cascade import Cascade
from vjcascade.detection import detect
from vjcascade.exports.base import check_tables
from vjcascade.exports.scanner import NumpyScanner, read_picture, resized
from vjcascade.exports.tables import model_tables
from vjcascade.imaging import read_image, resize_exact, to_gray, write_image
from vjcascade.types import Size


def test_windows_and_boxes_are_the_engines(model, trial):
    check_tables(model_tables(model), trial)


@pytest.mark.parametrize("min_neighbors", [0, 1, 3])
@pytest.mark.parametrize(
    "bounds", [{}, {"min_size": (15, 15), "max_size": (40, 40)}, {"min_size": (500, 500)}]
)
def test_detections_are_the_detectors(model, rng, min_neighbors, bounds):
    scanner = NumpyScanner(model_tables(model))
    for _ in range(3):
        picture = builders.smooth_noise(rng, *rng.integers(10, 120, 2))
        ours = detect(picture, model, scale_factor=1.13, min_neighbors=min_neighbors, **bounds)
        theirs = scanner.detect(picture, 1.13, min_neighbors, **bounds)
        for name in theirs._fields:
            assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes(), name


def test_settings_are_those_of_the_operating_point(model, trial):
    scanner = NumpyScanner(model_tables(model))
    assert scanner.settings["scale_factor"] == 1.2
    ours = detect(trial.picture, model, scale_factor=1.2, min_neighbors=2)
    assert (scanner.detect(trial.picture).boxes == ours.boxes).all()
    least = np.sort(ours.ranking_scores)[len(ours) // 2]
    fewer = detect(trial.picture, model, scale_factor=1.2, min_neighbors=2, min_ranking_score=least)
    assert (scanner.detect(trial.picture, min_ranking_score=least).boxes == fewer.boxes).all()
    assert 0 < len(fewer) < len(ours)


def test_a_real_model_on_a_photo():
    cascade = Cascade.load(vjcascade.compat.data.find("frontalface")).first_stages(10)
    photo = builders.picture("astronaut.png")[50:170, 165:285].copy()
    found = NumpyScanner(model_tables(cascade)).detect(photo)
    assert len(found.boxes) > 0
    assert (found.boxes == detect(photo, cascade).boxes).all()


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 60), st.integers(1, 60), st.integers(0, 99))
def test_resizing_is_opencvs(width, height, new_width, new_height, seed):
    grey = np.random.default_rng(seed).integers(0, 256, (height, width), np.uint8)
    expected = resize_exact(grey, Size(new_width, new_height))
    assert (resized(grey, new_width, new_height) == expected).all()


def test_a_scale_factor_that_never_ends(model):
    with pytest.raises(ValueError, match=r"scale factor 1 must be above 1"):
        NumpyScanner(model_tables(model)).detect(np.zeros((30, 30), np.uint8), 1)


@pytest.mark.parametrize("name", ["grey.pgm", "colour.ppm", "grey.npy", "colour.npy"])
def test_pictures_are_read(tmp_path, rng, name):
    pixels = rng.integers(0, 256, (9, 7, 3) if "colour" in name else (9, 7), np.uint8)
    path = tmp_path / name
    if name.endswith("npy"):
        np.save(path, pixels)
        expected = to_gray(pixels)
    else:
        write_image(path, pixels)
        expected = to_gray(read_image(path))
    assert (read_picture(str(path)) == expected).all()


def test_comments_in_a_pgm_file(tmp_path):
    (tmp_path / "a.pgm").write_bytes(b"P5\n# made by hand\n2 1\n255\n\x07\x09")
    assert read_picture(str(tmp_path / "a.pgm")).tolist() == [[7, 9]]


@pytest.mark.parametrize("data", [b"", b"P2 1 1 255 1", b"\x89PNG", b"P5 1 1 65535 \0\0"])
def test_other_files_are_no_pictures(tmp_path, data):
    (tmp_path / "a.pgm").write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.pgm is neither a \.npy file nor a binary PGM"):
        read_picture(str(tmp_path / "a.pgm"))
