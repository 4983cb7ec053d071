"""Folders of pictures: what is found, what is left out, and what is said of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vjcascade.errors import ImageError
from vjcascade.imaging import find_images, read_image


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def found_in(folder):
    return [path.relative_to(folder).as_posix() for path in find_images(folder).paths]


def test_folders_are_listed_sorted_without_hidden_files(tmp_path):
    names = ("b.JPG", "sub/deep/a.png", "sub-2/a.png", "B.png", "a.jpeg")
    touch(tmp_path / ".data", *names, "notes.txt", ".hidden.png", ".cache/x.png", "sub/.trash/y.png", "png")
    assert found_in(tmp_path / ".data") == sorted(names)
    assert find_images(tmp_path / ".data").notes == []


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        find_images(tmp_path / "gone")
    assert caught.value.filename == str(tmp_path / "gone")


def test_a_subfolder_that_cannot_be_read_is_left_out_and_named(tmp_path, monkeypatch):
    touch(tmp_path, "a.png", "secret/b.png")
    scandir = os.scandir

    def guarded(path):
        if Path(path).name == "secret":  # root may read everything
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    assert found_in(tmp_path) == ["a.png"]
    assert find_images(tmp_path).notes == ["secret cannot be read (permission denied) and is left out"]


def test_linked_folders_are_followed_once(tmp_path):
    touch(tmp_path, "photos/a.png", "photos/sub/b.png", "elsewhere/c.png")
    (tmp_path / "photos" / "more").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "photos" / "again").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "photos" / "sub" / "up").symlink_to(tmp_path / "photos")
    (tmp_path / "photos" / "self").symlink_to("self")
    (tmp_path / "photos" / "self.png").symlink_to("self.png")
    found = find_images(tmp_path / "photos").paths
    assert [path.resolve(strict=False).name for path in found if path.name != "self.png"] == [
        "a.png",
        "c.png",
        "b.png",
    ]
    with pytest.raises(ImageError, match="cannot be opened"):
        read_image(tmp_path / "photos" / "self.png")


@pytest.mark.parametrize("mark", ["events.jsonl", "history/mean-positive.png"])
def test_folders_of_training_runs_are_left_out_and_named(tmp_path, mark):
    touch(
        tmp_path,
        "a.png",
        "model/cascade.xml",
        f"model/{mark}",
        "model/history/worst.png",
        "kept/cascade.xml",
        "kept/b.png",
    )
    assert found_in(tmp_path) == ["a.png", "kept/b.png"]
    assert find_images(tmp_path).notes == ["model is the folder of a training run and is left out"]


def test_a_run_that_writes_beside_its_pictures_leaves_them_usable(tmp_path):
    touch(tmp_path, "pos/a.png", "cascade.xml", "events.jsonl", "history/mean-positive.png")
    assert found_in(tmp_path) == ["pos/a.png"]


def test_drawn_copies_are_left_out_and_counted(tmp_path):
    touch(tmp_path, "a.png", "a.found.png", "sub/b.found.png", "found.png")
    assert found_in(tmp_path) == ["a.png", "found.png"]
    assert find_images(tmp_path).notes == [
        "2 drawn copies (NAME.found.SUFFIX) are left out, for example a.found.png"
    ]
