"""FDDB, WIDER, MATLAB's tables, and dlib's XML."""

from __future__ import annotations

import math
import time

import pytest

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.reading import read_annotations


@pytest.fixture
def folder(tmp_path):
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / name).touch()
    return tmp_path


def read(folder, text, name="list.txt"):
    (folder / name).write_text(text)
    return read_annotations(folder / name)


def test_an_ellipse_of_fddb_becomes_the_box_around_it(folder):
    text = "a\n1\n67.363819 44.511485 -1.476417 105.249970 87.209036  1\nb\n0\n"
    (first, second) = read(folder, text).pictures
    cos, sin = math.cos(-1.476417), math.sin(-1.476417)
    half = math.hypot(67.363819 * cos, 44.511485 * sin), math.hypot(67.363819 * sin, 44.511485 * cos)
    x, y, w, h = first.boxes[0]
    assert (x + w / 2, y + h / 2, w, h) == pytest.approx((105.24997, 87.209036, 2 * half[0], 2 * half[1]))
    assert (first.path.name, second.boxes) == ("a.jpg", ())


def test_flags_of_wider(folder):
    lines = ["1 2 3 4 0 0 0 0 0 0", "5 6 7 8 2 0 0 0 2 1", "9 10 11 12 2 1 1 1 0 0", "1 1 2 2 1 0 1 0 1 0"]
    found = read(folder, "\n".join(["a.jpg", "4", *lines, "b.jpg", "0", "0 0 0 0 0 0 0 0 0 0 ", ""]))
    assert [one.flag for one in found.pictures[0].objects] == ["", "difficult", "ignore", ""]
    assert found.pictures[0].boxes == ((1, 2, 3, 4), (1, 1, 2, 2))
    assert [picture.name for picture in found.pictures] == ["a.jpg", "b.jpg"]
    assert found.notes == ("list.txt: 1 heavily blurred face will be ignored",)


def test_pictures_of_wider_are_found_where_they_are(folder):
    (folder / "WIDER_val" / "images" / "0--Parade").mkdir(parents=True)
    (folder / "WIDER_val" / "images" / "0--Parade" / "c.jpg").touch()
    (folder / "wider_face_split").mkdir()
    found = read(folder, "0--Parade/c.jpg\n1\n1 2 3 4 0 0 0 0 0 0\n", "wider_face_split/val.txt")
    assert (len(found.pictures), found.notes) == (1, ())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a.jpg\n1\n1 2 3 4\nb.jpg\n", r"list\.txt:4: 'b\.jpg' is not followed by the number"),
        (
            "a.jpg\n3\n1 2 3 4\n1 2 3 4\n",
            r"list\.txt:1: 'a\.jpg' should be followed by 3 lines of numbers, but there are 2",
        ),
        (
            "a.jpg\n2\n1 2 3 4\nb.jpg\n1\n1 2 3 4",
            r"list\.txt:1: 'a\.jpg' should be followed by 2 lines of numbers, but there are 1",
        ),
        ("a.jpg\n9999999\n1 2 3 4\n", "should be followed by 9999999 lines"),
    ],
)
def test_counts_must_agree_with_lines(folder, text, reason):
    with pytest.raises(SourceError, match=reason):
        read(folder, text)


def test_wrong_numbers_are_named(folder):
    found = read(folder, "a.jpg\n2\n1 2 3 4\n1 2 3 4 5\nb.jpg\n1\n1 2 3 1e9\ngone.jpg\n0\n")
    assert [fault[:2] for fault in found.faults][:2] == [
        (4, "a face has 4 or 10 numbers, not 5"),
        (7, "1e+09 is not a valid number of pixels"),
    ]
    assert found.faults[2].reason.startswith("gone.jpg: not found in")
    found = read(folder, "a\n2\n9 5 0 3 4 1\n9 5 0 3\n")
    assert found.faults[0][:2] == (4, "an ellipse has 5 or 6 numbers, not 4")


@pytest.mark.parametrize(
    "text",
    [
        'imageFilename,car\nx/a.jpg,"[1,2,3,4; 5,6,7,8]"\nx/b.jpg,[]\n',
        "imageFilename;car\nx/a.jpg;{[1 2 3 4\t5 6 7 8]}\nx/b.jpg;\n",
        '"imageFilename","car_1","car_2","car_3","car_4"\nx/a.jpg,1,2,3,4\nx/a.jpg,5,6,7,8\nx/b.jpg,NaN,NaN,NaN,NaN\n',
    ],
)
def test_tables_of_matlab_count_from_one(folder, text):
    found = read(folder, text)
    assert (found.labels, found.faults) == (("car",), ())
    assert [one.boxes for one in found.pictures] == [((0, 1, 3, 4), (4, 5, 7, 8)), ()]


def test_wrong_tables_of_matlab_are_named(folder):
    found = read(folder, "imageFilename,car\na.jpg,[1 2 3]\na.jpg,[1 2 3 x]\nc.jpg,[]\n")
    assert [fault.reason.split(";")[0] for fault in found.faults[:2]] == [
        "car: '[1 2 3]' has 3 numbers, but each box has four",
        "car: 'x' is not a number",
    ]
    assert "c.jpg: not found" in found.faults[2].reason


def imglab(boxes, more=""):
    return f"<?xml version='1.0'?>\n<dataset><images>\n<image file='a.jpg'>{boxes}</image>{more}</images></dataset>"


def test_boxes_of_imglab(folder):
    one = "<box left='1' height='4' top='2' width='3'/>"
    hidden = "<box top='6' left='5' width='7' height='8' ignore='1'><label>a &amp; b</label></box>"
    part = '<part name="0" x="1" y="1"/>'
    hard = f'<box top="6" left="5" width="7" height="8" difficult="1"><label>car</label>{part}</box>'
    (picture,) = read(folder, imglab(one + hidden + hard), "a.xml").pictures
    assert [(one.box, one.label, one.flag) for one in picture.objects] == [
        ((1, 2, 3, 4), "", ""),
        ((5, 6, 7, 8), "a & b", "ignore"),
        ((5, 6, 7, 8), "car", "difficult"),
    ]


@pytest.mark.parametrize(
    ("boxes", "reason"),
    [
        ("<box top='1' left='1' width='1'/>", "line 3: the box that ends here: it has no height"),
        (
            "\n<box top='1' left='1' width='x' height='1'/>",
            "line 4: the box that ends here: 'x' is not a number",
        ),
        ("<box top='1' left='1' width='1e99' height='1'/>", "1e+99 is not a valid number of pixels"),
        ("</image><image file='gone.jpg'>", "gone.jpg: not found"),
        ("</image><image>", ": not found"),
    ],
)
def test_wrong_boxes_of_imglab_are_named(folder, boxes, reason):
    found = read(folder, imglab(boxes), "a.xml")
    assert reason in found.faults[0].reason
    assert len(found.pictures) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<dataset><images>", "cut off"),
        ("<dataset></images></dataset>", "</images> closes nothing"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><dataset/>", "document type or entities"),
        ("<dataset>" + "<a>" * 50_000, "it is not <dataset> of imglab"),
        ("<a><dataset/></a>", "it is not <dataset> of imglab"),
    ],
)
def test_other_xml_is_refused(folder, text, reason):
    with pytest.raises(SourceError, match=f"a.xml: .*{reason}"):
        read(folder, text, "a.xml")


def test_many_wrong_boxes_take_no_time(folder):
    began = time.process_time()
    assert len(read(folder, imglab("<box/>\n" * 100_000), "a.xml").faults) == 100_000
    assert time.process_time() - began < 5
