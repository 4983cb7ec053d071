"""Boxes around the shapes of annotation tools."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.reading import read_annotations
from vjcascade.formats.annotations.shapes import box_of_ellipse, box_of_points


@given(st.tuples(*[st.floats(-500, 500)] * 2), st.tuples(*[st.floats(0.1, 300)] * 2), st.floats(-7, 7))
def test_an_ellipse_touches_its_box_on_all_sides(center, radii, angle):
    x, y, w, h = box_of_ellipse(center, radii, angle)
    t = np.linspace(0, 2 * math.pi, 20_001)
    along, across = radii[0] * np.cos(t), radii[1] * np.sin(t)
    xs = center[0] + along * math.cos(angle) - across * math.sin(angle)
    ys = center[1] + along * math.sin(angle) + across * math.cos(angle)
    assert (xs.min(), ys.min(), xs.max(), ys.max()) == pytest.approx((x, y, x + w, y + h), abs=1e-3)


def test_points_must_be_pairs():
    with pytest.raises(ValueError, match="2 x and 1 y coordinates"):
        box_of_points([1, 2], [1])
    with pytest.raises(ValueError, match="0 x and 0 y"):
        box_of_points([], [])
    with pytest.raises(ValueError, match="not a valid number of pixels"):
        box_of_points([1, math.inf], [1, 2])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.jpg").touch()
    return tmp_path


def via(folder, *regions, **options):
    path = folder / "via.json"
    regions = {str(i): one for i, one in enumerate(regions)} if options.get("of_via_1") else list(regions)
    path.write_text(json.dumps({"a.jpg1": {"filename": "a.jpg", "size": 1, "regions": regions}}))
    return read_annotations(path)


def region(shape, **attributes):
    return {"shape_attributes": shape, "region_attributes": attributes}


def test_shapes_of_via(folder):
    read = via(
        folder,
        region({"name": "rect", "x": 1, "y": 2, "width": 3, "height": 4}, kind="car"),
        region({"name": "circle", "cx": 10, "cy": 10, "r": 5}, label="car", colour="red"),
        region(
            {"name": "ellipse", "cx": 10, "cy": 10, "rx": 5, "ry": 3, "theta": math.pi / 2},
            type={"car": True},
        ),
        region({"name": "polygon", "all_points_x": [1, 5, 3], "all_points_y": [2, 2, 9]}, car="", ignore="1"),
        region({"name": "point", "cx": 1, "cy": 2}, label="nose"),
        of_via_1=True,
    )
    boxes = [one.box for one in read.pictures[0].objects]
    assert boxes[:2] == [(1, 2, 3, 4), (5, 5, 10, 10)]
    assert boxes[2] == pytest.approx((7, 5, 6, 10))
    assert boxes[3] == (1, 2, 4, 7)
    assert [(one.label, one.flag) for one in read.pictures[0].objects] == [*[("car", "")] * 3, ("", "ignore")]
    assert read.notes == ("via.json: 1 point left out, as points have no box",)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ({"name": "rect", "x": 1, "y": 2, "width": 3}, "height is 'None', which is not a number"),
        ({"name": "rect", "x": 1, "y": "2", "width": 3, "height": 4}, "y is '2', which is not a number"),
        ({"name": "rect", "x": True, "y": 2, "width": 3, "height": 4}, "x is 'True', which is not a number"),
        ({"name": "circle", "cx": 1, "cy": 2, "r": 10**400}, "not a valid number of pixels"),
        ({"name": "polygon", "all_points_x": 5, "all_points_y": [1]}, "all_points_x is not a list"),
        ({"name": "polygon", "all_points_x": [5, None], "all_points_y": [1, 2]}, "all_points_x is 'None'"),
        ({"name": "heart"}, "the shape 'heart' is not"),
        ({}, "the shape 'None' is not"),
    ],
)
def test_wrong_shapes_of_via_are_named(folder, shape, reason):
    (fault,) = via(folder, region(shape)).faults
    assert fault.place == 1
    assert fault.reason.startswith("region 1: ")
    assert reason in fault.reason


def test_wrong_lines_of_via_csv_are_named(folder):
    rows = ['a.jpg,"{""name"":""rect""}","{}"', "a.jpg,{,{}", "a.jpg", "b.jpg,{},{}", 'a.jpg,"[1]","{}"']
    path = folder / "via.csv"
    path.write_text("\n".join(["#filename,region_shape_attributes,region_attributes", *rows]))
    faults = read_annotations(path).faults
    assert [fault.place for fault in faults] == [2, 3, 4, 5, 6]
    assert "which is not a number" in faults[0].reason
    assert "fewer than the first line names" in faults[2].reason
    assert "b.jpg: not found" in faults[3].reason


def test_null_in_via(folder):
    rect = {"name": "rect", "x": 1, "y": 2, "width": 3, "height": 4}
    read = via(
        folder,
        {"shape_attributes": rect, "region_attributes": None},
        {"shape_attributes": None},
        region(rect),
    )
    assert read.pictures[0].boxes == ((1, 2, 3, 4),) * 2
    assert [fault.reason for fault in read.faults] == ["region 2: the shape 'None' is not supported"]
    (folder / "via.json").write_text('{"a.jpg1": {"filename": "a.jpg", "size": 1, "regions": null}}')
    assert read_annotations(folder / "via.json").pictures[0].boxes == ()


def test_null_in_labelme(folder):
    rect = {"label": None, "points": [[1, 2], [5, 6]], "shape_type": "rectangle", "flags": None}
    content = {
        "shapes": [rect, rect | {"points": None}],
        "imagePath": "a.jpg",
        "imageData": None,
        "imageWidth": None,
    }
    (folder / "a.json").write_text(json.dumps(content))
    read = read_annotations(folder)
    assert read.pictures[0].objects == (((1, 2, 4, 4), "", "", None),)
    assert [fault.reason for fault in read.faults] == [
        "a.json: shape 2: a rectangle has 2 or 4 points, not 0"
    ]


def test_shapes_of_labelme(folder):
    shapes = [
        {"label": "car", "points": [[5, 6], [1, 2]], "shape_type": "rectangle"},
        {"label": "car", "points": [[10, 10], [13, 14]], "shape_type": "circle"},
        {"label": "car", "points": [[1, 2], [5, 2], [3, 9.5]]},
        {"label": "nose", "points": [[1, 2]], "shape_type": "point"},
        {
            "label": "crowd",
            "points": [[1, 2], [3, 4]],
            "shape_type": "rectangle",
            "flags": {"crowd": True, "x": False},
        },
        {"label": "car", "points": [[1, 2]], "shape_type": "rectangle"},
    ]
    content = {
        "shapes": shapes,
        "imagePath": "..\\elsewhere\\a.jpg",
        "imageData": "x" * 200_000,
        "imageHeight": 0,
    }
    (folder / "a.json").write_text(json.dumps(content))
    (folder / "b.json").write_text('{"shapes": [], "imagePath": 3}')
    read = read_annotations(folder)
    (picture,) = read.pictures
    assert picture.boxes == ((1, 2, 4, 4), (5, 5, 10, 10), (1, 2, 4, 7.5))
    assert picture.ignored == ((1, 2, 2, 2),)
    assert [fault.reason[:33] for fault in read.faults] == [
        "a.json: shape 6: a rectangle has ",
        "b.json: not valid LabelMe JSON (E",
    ]
    with pytest.raises(SourceError, match=r"b\.json: not valid LabelMe JSON"):
        read_annotations(folder / "b.json")
