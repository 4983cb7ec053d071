"""The lists of OpenCV's tools, as people write them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.opencv_lists import Box, read_boxes_list, read_image_list

PICTURES = ("a.png", "sub/b.png", "my photo 2.png", "köln.png")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    for name in PICTURES:
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("line", "name", "boxes"),
    [
        ("a.png 1 10 11 24 25", "a.png", (Box(10, 11, 24, 25),)),
        ("a.png 2 1 2 3 4 -5 6 7 0", "a.png", (Box(1, 2, 3, 4), Box(-5, 6, 7, 0))),
        ("  sub/b.png\t1  1\t2 3 4  ", "sub/b.png", (Box(1, 2, 3, 4),)),
        (r"sub\b.png 1 1 2 3 4", r"sub\b.png", (Box(1, 2, 3, 4),)),
        ("my photo 2.png 1 1 2 3 4", "my photo 2.png", (Box(1, 2, 3, 4),)),
        ("a.png 0", "a.png", ()),
    ],
)
def test_line_with_boxes(folder: Path, line: str, name: str, boxes: tuple[Box, ...]) -> None:
    (folder / "info.dat").write_text(line)
    read = read_boxes_list(folder / "info.dat")
    assert read.errors == ()
    assert [(p.line, p.name, p.boxes) for p in read.pictures] == [(1, name, boxes)]
    assert read.pictures[0].path.is_file()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a.png 2 10 10 24 24", "a.png: the count 2 needs four numbers a box after it, found 4"),
        ("a.png 1 10 10 24 24 7", "a.png: the count 1 needs four numbers a box after it, found 5"),
        ("a.png -1 10 10 24 24", "a.png: the count -1 needs four numbers a box after it, found 4"),
        ("a.png 1 10 10.5 24 24", "a.png 1 10 10.5: the count 24 needs four numbers a box after it, found 1"),
        (f"a.png 1 10 10 {'9' * 400} 24", f"a.png: {'9' * 97}... has more than 9 digits"),
        (f"a.png {'9' * 5000}", "has more than 9 digits"),
        ("a.png 1 10 10 -1234567890 24", "a.png: -1234567890 has more than 9 digits"),
        ("a.png", "'a.png' is not NAME COUNT X Y WIDTH HEIGHT"),
        ("a.png one box", "'a.png one box' is not NAME COUNT X Y WIDTH HEIGHT"),
        ("gone.png 1 1 2 3 4", "gone.png: not found in"),
        ("x" * 5000 + " 0", "xxx...: not found in"),
    ],
)
def test_wrong_line_is_an_error_and_reading_goes_on(folder: Path, line: str, reason: str) -> None:
    (folder / "info.dat").write_text(f"a.png 0\n\n{line}\na.png 0\n")
    read = read_boxes_list(folder / "info.dat")
    assert [error.line for error in read.errors] == [3]
    assert reason in read.errors[0].reason
    assert [picture.line for picture in read.pictures] == [1, 4]


def test_image_list_from_windows(folder: Path) -> None:
    (folder / "bg.txt").write_bytes(b"a.png\r\n\r\nsub\\b.png   \r\n# comment\r\ngone.png\r\nmy photo 2.png")
    read = read_image_list(folder / "bg.txt")
    assert [(p.line, p.path) for p in read.pictures] == [
        (1, folder / "a.png"),
        (3, folder / "sub/b.png"),
        (6, folder / "my photo 2.png"),
    ]
    assert [error.line for error in read.errors] == [5]
    assert "gone.png" in read.errors[0].reason


@pytest.mark.parametrize(
    ("encoding", "notes"),
    [
        ("utf-8", ()),
        ("utf-8-sig", ()),
        ("utf-16", ()),
        ("latin-1", ("bg.txt is not UTF-8 and was read as latin-1",)),
    ],
)
def test_encodings(folder: Path, encoding: str, notes: tuple[str, ...]) -> None:
    (folder / "bg.txt").write_bytes("köln.png\na.png".encode(encoding))
    read = read_image_list(folder / "bg.txt")
    assert [picture.name for picture in read.pictures] == ["köln.png", "a.png"]
    assert read.errors == ()
    assert read.notes == notes


def test_names_relative_to_the_current_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "lists").mkdir()
    (folder / "lists" / "bg.txt").write_text("a.png\n")
    monkeypatch.chdir(folder)
    read = read_image_list(folder / "lists" / "bg.txt")
    assert [picture.path.resolve() for picture in read.pictures] == [folder / "a.png"]


def test_a_picture_is_not_a_list(folder: Path) -> None:
    (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    with pytest.raises(SourceError, match=r"a\.png is not a text"):
        read_boxes_list(folder / "a.png")


def test_no_list(folder: Path) -> None:
    with pytest.raises(SourceError, match=r"gone\.dat cannot be read: No such file"):
        read_boxes_list(folder / "gone.dat")


def test_a_long_line_of_another_kind_is_read_quickly(folder: Path) -> None:
    (folder / "table.csv").write_text("1 " * 200_000 + "end\n" + "1 " * 200_000)
    start = time.perf_counter()
    read = read_boxes_list(folder / "table.csv")
    assert time.perf_counter() - start < 2
    assert [len(error.reason) < 200 for error in read.errors] == [True, True]


def test_lists_of_pictures_may_have_boxes(folder):
    (folder / "a.png 1 2").write_bytes(b"")
    (folder / "bg.txt").write_text(
        "a.png 1 2 3 4 5\na.png 0\na.png 1 2\na.png\ngone.png\ngone 7\na.png 1 2 3 4"
    )
    read = read_image_list(folder / "bg.txt")
    assert [(picture.name, picture.boxes) for picture in read.pictures] == [
        ("a.png", (Box(2, 3, 4, 5),)),
        ("a.png", ()),
        ("a.png 1 2", ()),
        ("a.png", ()),
    ]
    assert [error.line for error in read.errors] == [5, 6, 7]
    assert "gone.png: not found" in read.errors[0].reason
    assert all("needs four numbers a box" in error.reason for error in read.errors[1:])
