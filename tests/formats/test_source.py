import os
from pathlib import Path

import pytest

from vjcascade.errors import ModelError, ModelNotFoundError
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
