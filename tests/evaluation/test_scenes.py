"""Lists of scenes, and what may be wrong with them."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from vjcascade.errors import SourceError
from vjcascade.evaluation.scenes import read_scenes
from vjcascade.imaging import write_image


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["a.png 0"], "has no boxes"),
        (
            ["a.png 1 2 2 9 9", "b.png 1 2 2 9 9"],
            r"(?s)1 line .* cannot be used.*info.dat:2: b.png: not found",
        ),
        (["a.png 1 2 2 9"], "info.dat:1: 'a.png 1 2 2 9': the count 1 must be followed by four numbers"),
        (["a.png 1 2 2 0 9"], "box 2 2 0 9 is empty or lies outside the picture of 30x20 pixels"),
        (["a.png 1 30 2 4 9"], "box 30 2 4 9 is empty or lies outside"),
        (["a.png 1 2 2 9 9", "./a.png 0"], "info.dat:2: ./a.png is named twice"),
        (["c.png 1 2 2 9 9"], "info.dat:1: c.png: "),
    ],
)
def test_a_list_of_scenes_must_be_right_throughout(tmp_path, lines, sentence):
    write_image(tmp_path / "a.png", np.zeros((20, 30), np.uint8))
    (tmp_path / "c.png").write_bytes(b"no picture")
    (tmp_path / "info.dat").write_text("\n".join(lines))
    with pytest.raises(SourceError, match=sentence):
        read_scenes(tmp_path / "info.dat")


def test_a_folder_or_nothing_is_no_list_of_scenes(tmp_path):
    (tmp_path / "info.dat").write_text("")
    with pytest.raises(SourceError, match="is a folder without boxes"):
        read_scenes(tmp_path)
    with pytest.raises(SourceError, match=r"does not exist; did you mean info\.dat\?"):
        read_scenes(tmp_path / "infos.dat")


def test_boxes_are_cut_to_the_picture(tmp_path):
    write_image(tmp_path / "a.png", np.zeros((20, 30), np.uint8))
    (tmp_path / "info.dat").write_text("a.png 2 -1 2 9 30 25 0 9 9")
    assert read_scenes(tmp_path / "info.dat").scenes[0].boxes.tolist() == [[0, 2, 8, 18], [25, 0, 5, 9]]


CSV = "file,x,y,w,h\na.png,2,3,9.5,9\nb.png\n"
COCO = (
    '{"images": [{"id": 1, "file_name": "a.png"}, {"id": 2, "file_name": "b.png"}], '
    '"annotations": [{"image_id": 1, "bbox": [2, 3, 9.5, 9]}]}'
)
VOC = (
    "<annotation><filename>a.png</filename><object><bndbox><xmin>3</xmin><ymin>4</ymin><xmax>11.5</xmax>"
    "<ymax>12</ymax></bndbox></object></annotation>"
)


@pytest.fixture
def folder(tmp_path):
    for name in ("a.png", "b.png", "c.png"):
        write_image(tmp_path / name, np.full((20, 30), ord(name[0]), np.uint8))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "name", "boxes"),
    [
        ("a.png 1 2 3 9 9\nb.png 0", "OpenCV list", [2, 3, 9, 9]),
        ("name,count,x,y,w,h\na.png,1,2,3,9,9\nb.png,0", "OpenCV list", [2, 3, 9, 9]),
        (CSV, "CSV", [2, 3, 9.5, 9]),
        (f"\n {COCO}", "COCO JSON", [2, 3, 9.5, 9]),
    ],
)
def test_the_content_tells_the_format(folder, text, name, boxes):
    (folder / "scenes.anything").write_text(text)
    scenes = read_scenes(folder / "scenes.anything")
    assert scenes.format == name
    assert [scene.path.name for scene in scenes.scenes] == ["a.png", "b.png"]
    assert scenes.scenes[0].boxes.tolist() == [boxes]
    assert scenes.scenes[0].size == (30, 20)
    assert scenes.n_objects.tolist() == [1, 0]


def test_a_folder_or_a_file_of_voc(folder):
    (folder / "a.xml").write_text(VOC)
    of_folder, of_file = read_scenes(folder), read_scenes(folder / "a.xml")
    assert of_folder.format == "Pascal VOC XML"
    assert of_folder.scenes[0].boxes.tolist() == [[2, 3, 9.5, 9]]
    assert of_folder.fingerprint == of_file.fingerprint


def test_the_fingerprint_is_that_of_files_and_boxes(folder):
    for name, text in (("info.dat", "a.png 1 2 3 9 9\n"), ("boxes.csv", "file,x,y,w,h\na.png,2,3,9.0,9")):
        (folder / name).write_text(text)
        picture = hashlib.sha256((folder / "a.png").read_bytes()).digest()
        boxes = hashlib.sha256(np.array([2, 3, 9, 9], "<i4").tobytes()).digest()  # as ever
        assert read_scenes(folder / name).fingerprint == hashlib.sha256(picture + boxes).hexdigest()
    (folder / "boxes.csv").write_text("file,x,y,w,h,ignore\na.png,2,3,9.0,9,0\na.png,1,1,2,2,1")
    ignoring = read_scenes(folder / "boxes.csv")
    assert ignoring.scenes[0].ignored.tolist() == [[1, 1, 2, 2]]
    assert ignoring.fingerprint != hashlib.sha256(picture + boxes).hexdigest()


def test_pictures_that_are_not_named_are_searched_if_asked_for(folder):
    (folder / "boxes.csv").write_text(CSV)
    scenes = read_scenes(folder / "boxes.csv", all_pictures=True)
    assert [scene.path.name for scene in scenes.scenes] == ["a.png", "b.png", "c.png"]
    assert scenes.n_objects.tolist() == [1, 0, 0]


def test_pictures_elsewhere(folder):
    (folder / "elsewhere").mkdir()
    (folder / "a.png").rename(folder / "elsewhere" / "a.png")
    (folder / "info.dat").write_text("a.png 1 2 3 9 9")
    with pytest.raises(SourceError, match=r"a\.png: not found"):
        read_scenes(folder / "info.dat")
    scenes = read_scenes(folder / "info.dat", pictures=folder / "elsewhere", all_pictures=True)
    assert [scene.path.name for scene in scenes.scenes] == ["a.png"]


def test_boxes_are_left_as_they_are_if_asked_for(folder):
    (folder / "info.dat").write_text("a.png 1 -1 2 9 30")
    assert read_scenes(folder / "info.dat", cut=False).scenes[0].boxes.tolist() == [[-1, 2, 9, 30]]


def test_what_is_wrong_names_the_format_and_the_place(folder):
    (folder / "boxes.csv").write_text("file,x,y,w,h\na.png,1,2,3,x\nd.png,1,2,3,4\na.png,90,1,2,2")
    with pytest.raises(
        SourceError, match=r"(?s)3 lines of .*boxes\.csv \(CSV\) cannot be used.*boxes\.csv:2: 'x'"
    ):
        read_scenes(folder / "boxes.csv")
    lines = "".join(f"d{i}.png\n" for i in range(12))
    (folder / "boxes.csv").write_text(f"file,x,y,w,h\n{lines}")
    with pytest.raises(SourceError, match=r"\n  \.\.\. and 2 more$"):
        read_scenes(folder / "boxes.csv")
    (folder / "a.json").write_text(COCO.replace('"image_id": 1', '"image_id": 3'))
    with pytest.raises(
        SourceError, match=r"1 annotation of .*a\.json \(COCO JSON\).*\n  annotation 1: it refers to image 3"
    ):
        read_scenes(folder / "a.json")
    (folder / "a.xml").write_text(VOC.replace("11.5", "99999999999"))
    with pytest.raises(
        SourceError,
        match=r"\(Pascal VOC XML\) cannot be used.*\n.*: file 1: a\.xml: line 1: .*: 1e\+11 is no",
    ):
        read_scenes(folder)
    (folder / "info.dat").write_text("a.png 1 2 3 9 9")
    with pytest.raises(SourceError, match="an OpenCV list, which has no categories"):
        read_scenes(folder / "info.dat", category="face")


def test_the_kind_of_other_annotations_chooses_where_kinds_are_named(folder):
    def read(name, category):
        return read_scenes(folder / name, category=category, category_optional=True).scenes[0].boxes

    boxes = "file,x,y,w,h,class\na.png,1,2,9,9,{}\na.png,15,5,9,9,{}\n"
    (folder / "two.csv").write_text(boxes.format("car", "van"))
    assert read("two.csv", "van").tolist() == [[15, 5, 9, 9]]
    for category, message in ((None, "car"), ("bus", "bus")):
        with pytest.raises(SourceError, match=message):
            read("two.csv", category)
    (folder / "none.csv").write_text("file,x,y,w,h\na.png,1,2,9,9\na.png,15,5,9,9\n")
    assert len(read("none.csv", "van")) == 2
    (folder / "info.dat").write_text("a.png 1 2 3 9 9")
    assert len(read("info.dat", "van")) == 1
