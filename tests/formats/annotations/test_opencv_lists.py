"""The lists of OpenCV's tools, as people write them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.opencv_lists import Box, read_boxes_list, read_image_list

PICTURES = ("a.png", "sub/b.png", "my photo 2.png", "köln.png", "b(1),2.png")


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
        ("a.png 1 10.0 11 24.00 25", "a.png", (Box(10, 11, 24, 25),)),
        ("a.png,1,10,11,24,25", "a.png", (Box(10, 11, 24, 25),)),
        ("a.png; 1; 10; 11; 24; 25", "a.png", (Box(10, 11, 24, 25),)),
        ("a.png 1 [10, 11, 24, 25]", "a.png", (Box(10, 11, 24, 25),)),
        ("a.png 2 (10 11 24 25) (1, 2, 3, 4)", "a.png", (Box(10, 11, 24, 25), Box(1, 2, 3, 4))),
        ('"my photo 2.png" 1 1 2 3 4', "my photo 2.png", (Box(1, 2, 3, 4),)),
        ("'my photo 2.png', 1, 1, 2, 3, 4", "my photo 2.png", (Box(1, 2, 3, 4),)),
        (r"\sub\b.png 1 1 2 3 4", r"\sub\b.png", (Box(1, 2, 3, 4),)),
        ("a.png 1 1. 2. 3. 4.", "a.png", (Box(1, 2, 3, 4),)),
        ('"a.png","1","1","2","3","4"', "a.png", (Box(1, 2, 3, 4),)),
        ("b(1),2.png,1,1,2,3,4", "b(1),2.png", (Box(1, 2, 3, 4),)),
        ("b(1),2.png 1 [1, 2, 3, 4]", "b(1),2.png", (Box(1, 2, 3, 4),)),
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
        (
            "a.png 2 10 10 24 24",
            "'a.png 2 10 10 24 24': the count 2 must be followed by four numbers for each box, but 4 follow",
        ),
        (
            "a.png 1 10 10 24 24 7",
            "the count 1 must be followed by four numbers for each box, but 5 follow; expected NAME COUNT X",
        ),
        ("a.png -1 10 10 24 24", "the count -1 must be followed by four numbers for each box, but 4 follow"),
        ("a.png 10 10 24 24", "the count 10 must be followed by four numbers for each box, but 3 follow"),
        ("a.png 1 10 10.5 24 24", "a.png: 10.5 is not a whole number of pixels; expected NAME COUNT X Y"),
        ("a.png1 0 0 50 50", "'a.png1 0 0 50 50': a space is missing between a.png and the count 1"),
        ("a.png1", "is not NAME COUNT X Y"),
        ("sub 0", "sub: not found in"),
        ("sub 0", "it is a folder, but a list names pictures"),
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
    start = time.thread_time()
    read = read_boxes_list(folder / "table.csv")
    assert (
        time.thread_time() - start < 20
    )  # half a second; were each number to look at all others, many minutes
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
    assert all("followed by four numbers for each box" in error.reason for error in read.errors[1:])


def test_bare_names_are_whole_pictures(folder):
    (folder / "positives.txt").write_text("a.png\n'my photo 2.png'\nsub\\b.png\ngone.png\n")
    read = read_boxes_list(folder / "positives.txt")
    assert not read.has_boxes
    assert [(picture.path, picture.boxes) for picture in read.pictures] == [
        (folder / "a.png", ()),
        (folder / "my photo 2.png", ()),
        (folder / "sub/b.png", ()),
    ]
    assert [error.line for error in read.errors] == [4]


@pytest.mark.parametrize(
    "first", ["filename,count,x,y,w,h", "image x y width height", "# name;x;y", "File\tBox"]
)
def test_a_line_of_column_names_is_left_out(folder, first):
    (folder / "info.csv").write_text(f"{first}\na.png,1,1,2,3,4\n")
    read = read_boxes_list(folder / "info.csv")
    assert (len(read.pictures), read.errors) == (1, ())
    assert bool(read.notes) == (not first.startswith("#"))


def test_a_name_like_a_column_is_a_name_where_there_is_such_a_picture(folder):
    (folder / "image one.png").touch()
    (folder / "bg.txt").write_text("image one.png\na.png\n")
    assert len(read_image_list(folder / "bg.txt").pictures) == 2


@pytest.mark.parametrize("name", ["nf/0.png", r"nf\0.png", r"\nf\0.png", "/nf/0.png"])
def test_a_list_in_the_folder_of_its_pictures(folder, name, monkeypatch):
    """As guides make it: names relative to the folder above, read from anywhere."""
    (folder / "nf").mkdir()
    (folder / "nf" / "0.png").touch()
    (folder / "nf" / "bg.txt").write_text(f"{name}\n{name}\n")
    monkeypatch.chdir(folder / "sub")
    read = read_image_list(folder / "nf" / "bg.txt")
    assert [picture.path for picture in read.pictures] == [folder / "nf" / "0.png"] * 2
    assert read.notes == (f"bg.txt: 2 names found below {folder}, not below the folder of the list",)


def test_all_folders_that_were_tried_are_named(folder, monkeypatch):
    monkeypatch.chdir(folder / "sub")
    (folder / "bg.txt").write_text("gone.png\n")
    (error,) = read_image_list(folder / "bg.txt").errors
    for tried in (folder, folder / "sub", folder.parent):
        assert str(tried) in error.reason


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("pos.vec", b"\x0a\0\0\0\x40\x02\0\0\0\0\0\0", "samples of opencv_createsamples"),
        ("bg.txt", "a.png\n".encode("utf-16-le"), "UTF-16 without a byte order mark"),
        ("bg.txt", "a.png\n".encode("utf-16-be"), "UTF-16 without a byte order mark"),
        ("bg.bin", bytes(300), "not a text"),
        ("bg.txt", b"a.png 1 1 2 30 30\0\n", "not a text"),
        (
            "cascade.xml",
            b"<?xml version='1.0'?>\n<opencv_storage>",
            "an XML file, such as a model, and not a list",
        ),
    ],
)
def test_files_that_are_no_lists_are_named_for_what_they_are(folder, name, data, reason):
    (folder / name).write_bytes(data)
    with pytest.raises(SourceError, match=reason):
        read_boxes_list(folder / name)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without an end")
@pytest.mark.parametrize("read", [read_boxes_list, read_image_list])
def test_a_device_without_an_end_is_refused(read):
    with pytest.raises(SourceError, match=r"^/dev/zero cannot be read: it has more than 256 MiB$"):
        read("/dev/zero")


@pytest.mark.parametrize("line", ["file 2 1 1 2 30 30", "imagea 1 1 2 30 30", "images 2", "file_7 1 0 0 9 9"])
def test_a_line_with_numbers_names_no_columns(folder, line):
    (folder / "info.dat").write_text(f"{line}\na.png 1 1 2 3 4\n")
    read = read_boxes_list(folder / "info.dat")
    assert [error.line for error in read.errors] == [1]
    assert read.notes == ()


def test_a_comma_behind_a_bare_name_means_nothing(folder):
    (folder / "bg.txt").write_text("a.png,\nsub/b.png;\n")
    assert [picture.name for picture in read_image_list(folder / "bg.txt").pictures] == ["a.png", "sub/b.png"]
