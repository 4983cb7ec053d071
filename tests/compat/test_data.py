"""Finding model files: places, names, folders, and none at all."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from vjcascade.compat import CascadeClassifier, data
from vjcascade.errors import ModelNotFoundError

OURS = data.find("car")


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """Return an empty home and working directory, with nothing else to look at but what a test adds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr(data, "_SYSTEMS", (str(tmp_path / "usr"),))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return tmp_path


def put(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True)
    for name in names:
        shutil.copy(OURS, folder / name)


PLACES = [
    "prefix/lib/python3.12/site-packages/cv2/data",
    "prefix/Lib/site-packages/cv2/data",
    "prefix/Library/etc/haarcascades",
    "usr/share/opencv4/haarcascades",
    "usr/share/opencv/haarcascades",
    "usr/lib/python3/dist-packages/cv2/data",
    ".venv-oracle/lib/python3.11/site-packages/cv2/data",
    "venv/lib/python3.11/site-packages/cv2/data",
    ".virtualenvs/cv/lib/python3.11/site-packages/cv2/data",
    "miniconda3/envs/cv/share/opencv4/haarcascades",
    "anaconda3/share/opencv4/haarcascades",
    "opencv4/cv2/data",
    "opencv-4.x/data/haarcascades",
]


@pytest.mark.parametrize("place", PLACES)
def test_places(nowhere, place):
    assert list(data.available()) == ["car", "frontalface", "frontalface-small", "plate"]
    put(nowhere / place, "haarcascade_eye.xml", "notes.xml")
    assert list(data.available()) == ["car", "frontalface", "frontalface-small", "haarcascade_eye", "plate"]
    assert data.find("haarcascade_eye").samefile(nowhere / place / "haarcascade_eye.xml")
    assert Path(data.haarcascades).samefile(nowhere / place)
    assert Path(data.haarcascades).is_absolute()  # else it would be lost with a change of folder
    assert not CascadeClassifier(data.haarcascades + "haarcascade_eye.xml").empty()


@pytest.mark.parametrize(
    "place", ["opencv4/cv2/data", ".venv-4/lib/python3.11/site-packages/cv2/data", "cv2/data"]
)
def test_what_was_found_stays_found_in_another_working_directory(nowhere, monkeypatch, place):
    put(nowhere / place, "haarcascade_eye.xml")
    monkeypatch.setattr(sys, "path", [""])  # the working directory, as in an interactive session
    folder, eye = data.haarcascades, data.find("eye")
    assert Path(folder).is_absolute()
    (nowhere / "else").mkdir()
    monkeypatch.chdir(nowhere / "else")
    assert data.haarcascades == folder
    assert data.find("eye") == eye
    assert not CascadeClassifier(data.haarcascades + "haarcascade_eye.xml").empty()
    shutil.rmtree(nowhere / place)
    assert not data.has_models(data.haarcascades, "haarcascades")
    with pytest.raises(ModelNotFoundError):
        data.find("eye")


def test_modules_that_can_be_imported_come_first(nowhere, monkeypatch):
    put(nowhere / "usr/share/opencv4/haarcascades", "haarcascade_eye.xml", "haarcascade_smile.xml")
    put(nowhere / "modules/cv2/data", "haarcascade_eye.xml")
    monkeypatch.setattr(sys, "path", [str(nowhere / "modules")])
    assert data.find("eye") == nowhere / "modules/cv2/data/haarcascade_eye.xml"
    assert data.find("smile").parts[-3:] == ("opencv4", "haarcascades", "haarcascade_smile.xml")


def test_lbp_files(nowhere, monkeypatch):
    put(nowhere / "modules/skimage/data", "lbpcascade_frontalface_opencv.xml")
    monkeypatch.setattr(sys, "path", [str(nowhere / "modules")])
    assert Path(data.lbpcascades) == nowhere / "modules/skimage/data"
    assert data.find("frontalface_opencv").name == "lbpcascade_frontalface_opencv.xml"
    assert not data.has_models(data.haarcascades, "haarcascades")


@pytest.mark.parametrize(
    "name", ["eye", "eye.xml", "haarcascade_eye", "haarcascade_eye.xml", "else/where/eye.xml", Path("eye")]
)
def test_names(nowhere, name):
    put(nowhere / "usr/share/opencv4/haarcascades", "haarcascade_eye.xml")
    assert data.find(name).name == "haarcascade_eye.xml"


def test_near_names_and_where_to_get_the_files(nowhere):
    put(nowhere / "usr/share/opencv4/haarcascades", "haarcascade_frontalcatface.xml")
    with pytest.raises(ModelNotFoundError, match=r"did you mean 'haarcascade_frontalcatface'\?.*opencv-data"):
        data.find("haarcascade_frontalcatfaces.xml")
    (nowhere / "usr/share/opencv4/haarcascades/haarcascade_frontalface_alt.xml").write_text("")
    with pytest.raises(
        ModelNotFoundError, match=r"'frontalface_alt2' on this machine; `vjcascade models fetch`"
    ):
        data.find("frontalface_alt2")  # OpenCV's: another one is not meant
    with pytest.raises(
        ModelNotFoundError,
        match=r"'eye' on this machine; `vjcascade models fetch`.*OpenCV's model files come with",
    ):
        data.find("eye")


def test_what_was_found_is_found_after_a_change_of_folder(nowhere, monkeypatch):
    put(nowhere / "here/opencv4/cv2/data", "haarcascade_eye.xml")
    monkeypatch.chdir(nowhere / "here")
    folder = data.haarcascades
    monkeypatch.chdir(nowhere)
    assert data.haarcascades == folder
    assert data.find("eye").parent.samefile(folder)


def test_no_folder_at_all(nowhere, monkeypatch, caplog):
    """The string is there, so that the usual line runs, and the classifier says what to do."""
    (nowhere / "modules/cv2/data").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(nowhere / "modules")])
    assert data.haarcascades == str(nowhere / "modules/cv2/data") + os.sep
    classifier = CascadeClassifier(data.haarcascades + "haarcascade_eye.xml")
    assert classifier.empty()
    (record,) = caplog.records
    assert record.name == "vjcascade"
    assert re.search(r"haarcascade_eye.xml.*vjcascade models fetch.*opencv-data", record.getMessage())
    with pytest.raises(Exception, match=r"haarcascade_eye.xml.*opencv-data"):
        classifier.detectMultiScale(None)


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="no attribute 'hogcascades'; did you mean 'haarcascades'"):
        data.hogcascades  # noqa: B018


def test_our_folder_in_a_wheel(nowhere, monkeypatch):
    package = nowhere / "site-packages/vjcascade"
    put(package / "models", "frontalface.xml")
    put(nowhere / "site-packages/models", "stranger.xml")
    monkeypatch.setattr(data, "__file__", str(package / "compat/data.py"))
    assert list(data.available()) == ["frontalface"]
    assert data.find("frontalface") == package.resolve() / "models/frontalface.xml"
