"""Putting the names into `cv2`: a stand-in for OpenCV, so that the real one stays as it is."""

import sys
import types

import pytest

from vjcascade import compat
from vjcascade.compat import data, installing

NAMES = {
    "CASCADE_DO_CANNY_PRUNING",
    "CASCADE_DO_ROUGH_SEARCH",
    "CASCADE_FIND_BIGGEST_OBJECT",
    "CASCADE_SCALE_IMAGE",
    "CascadeClassifier",
    "CascadeClassifier_convert",
    "groupRectangles",
}


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """Return a module with an empty `data`, as opencv-python 5 is; model files are in `tmp_path`."""
    module = types.ModuleType("cv2")
    module.data = types.ModuleType("cv2.data")
    module.data.haarcascades = str(tmp_path / "empty")
    monkeypatch.setattr(installing, "opencv", lambda: module)
    (tmp_path / "haarcascade_eye.xml").touch()
    monkeypatch.setattr(data, "_folders", lambda: iter([tmp_path]))
    return module


def test_what_is_missing_is_put_once(stand_in, tmp_path):
    assert set(compat.install()) == {*NAMES, "data.haarcascades"}
    assert stand_in.CascadeClassifier is compat.CascadeClassifier
    assert stand_in.CASCADE_SCALE_IMAGE == 2
    assert stand_in.data.haarcascades + "haarcascade_eye.xml" == str(tmp_path / "haarcascade_eye.xml")
    assert compat.install() == []


def test_what_is_there_stays_unless_forced(stand_in, tmp_path):
    stand_in.CascadeClassifier = theirs = object()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/haarcascade_smile.xml").touch()
    stand_in.data.haarcascades = folder = str(tmp_path / "theirs")
    assert set(compat.install()) == NAMES - {"CascadeClassifier"}
    assert stand_in.CascadeClassifier is theirs
    assert compat.install(force=True) == ["CascadeClassifier"]
    assert stand_in.CascadeClassifier is compat.CascadeClassifier
    assert stand_in.data.haarcascades == folder
    assert compat.install(force=True) == []


def test_without_model_files_the_folder_stays(stand_in, monkeypatch):
    monkeypatch.setattr(data, "_folders", lambda: iter([]))
    before = stand_in.data.haarcascades
    assert set(compat.install()) == NAMES
    assert stand_in.data.haarcascades == before


def test_an_opencv_without_data_gets_ours(stand_in, monkeypatch):
    monkeypatch.delitem(sys.modules, "cv2.data", raising=False)
    monkeypatch.delattr(stand_in, "data")
    try:
        assert set(compat.install()) == {*NAMES, "data"}
        assert stand_in.data is sys.modules["cv2.data"] is data
        assert compat.install() == []
    finally:
        sys.modules.pop("cv2.data", None)
