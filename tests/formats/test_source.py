import os
from pathlib import Path

import pytest

from vjcascade.cascade import Cascade
from vjcascade.compat import CascadeClassifier
from vjcascade.errors import CascadeError, ModelError, ModelNotFoundError
from vjcascade.formats import _source
from vjcascade.formats._source import read_model


def test_too_large(tmp_path):
    path = tmp_path / "large.xml"
    with path.open("wb") as file:
        file.truncate(_source.MAX_BYTES + 1)
    with pytest.raises(ModelError, match="32 MB are too much"):
        read_model(path)


def test_missing_file_shows_the_absolute_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelNotFoundError) as caught:
        read_model(Path("model.xml"))
    assert str(caught.value) == f"{tmp_path / 'model.xml'}: there is no such file; check the path"


def test_a_name_is_no_path():
    """The command line finds models by name, so users try it from Python, too."""
    with pytest.raises(ModelNotFoundError, match=r"or give vjcascade.compat.data.find\('frontalface'\)"):
        read_model(Path("frontalface"))


@pytest.mark.parametrize("wrong", ["frontalface.xm", "frontalfase.xml", "FrontalFace.XML"])
def test_missing_file_with_a_similar_name(tmp_path, wrong):
    for name in ("frontalface.xml", "eye.xml"):
        (tmp_path / name).touch()
    if (tmp_path / wrong).exists():
        pytest.skip("this file system does not tell case apart")
    with pytest.raises(ModelNotFoundError, match=r"did you mean frontalface\.xml\?"):
        read_model(tmp_path / wrong)


def test_missing_folder(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"the folder .*nowhere does not exist either"):
        read_model(tmp_path / "nowhere" / "model.xml")


def test_folder(tmp_path):
    with pytest.raises(ModelError, match="this is a folder"):
        read_model(tmp_path)


def test_folder_of_opencv_traincascade(tmp_path):
    for name in ("params.xml", "stage0.xml", "stage1.xml", "stage10.xml.bak"):
        (tmp_path / name).touch()
    with pytest.raises(
        ModelError, match=r"this is a folder; it holds 2 stages .* give .*params.xml, which stands for them"
    ):
        read_model(tmp_path)
    (tmp_path / "cascade.xml").touch()
    with pytest.raises(ModelError, match=rf"this is a folder; give {tmp_path / 'cascade.xml'}$"):
        read_model(tmp_path)


@pytest.mark.parametrize(
    "start", ['<?xml version="1.0"?>\n<opencv_storage>', "\n<opencv_storage>", "%YAML:1.0", "{"]
)
@pytest.mark.parametrize("load", [Cascade.load, CascadeClassifier], ids=["Cascade", "cv2"])
def test_a_text_for_a_path_is_named_in_a_short_sentence(start, load):
    with pytest.raises(CascadeError, match="the text of a file was given instead of its path") as caught:
        load(start + 900_000 * "1 ").detectMultiScale(None)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("path", [None, 3, b"model.xml", ["model.xml"]])
def test_what_is_no_path_is_named(path):
    with pytest.raises(TypeError, match=f"by the path of its file, not by {type(path).__name__}"):
        Cascade.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.xml")
    with pytest.raises(ModelError, match="not a regular file"):
        read_model(tmp_path / "pipe.xml")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [(PermissionError(13, "x"), "permission denied"), (OSError(5, "I/O error"), "I/O error")],
)
def test_unreadable_file(tmp_path, monkeypatch, error, sentence):
    def fail(path):
        raise error

    (tmp_path / "model.xml").touch()
    monkeypatch.setattr(Path, "read_bytes", fail)
    with pytest.raises(ModelError, match=sentence):
        read_model(tmp_path / "model.xml")


def test_a_null_character_in_a_path_is_named():
    with pytest.raises(ModelNotFoundError, match="null character"):
        read_model(Path("a\0b.xml"))
