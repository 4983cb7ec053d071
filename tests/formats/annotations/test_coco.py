"""COCO's JSON."""

from __future__ import annotations

import json

import pytest

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.coco import read_coco

IMAGES = [{"id": 7, "file_name": "a.png", "width": 640}, {"id": 9, "file_name": "b.png"}]
CATEGORIES = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog", "supercategory": "animal"}]


def box(image, numbers, category=1, **more):
    return {"id": 1, "image_id": image, "category_id": category, "bbox": numbers, **more}


@pytest.fixture
def folder(tmp_path):
    for name in ("a.png", "b.png"):
        (tmp_path / name).touch()
    return tmp_path


def read(folder, annotations, images=IMAGES, categories=CATEGORIES, **options):
    path = folder / "instances.json"
    path.write_text(
        json.dumps({"images": images, "annotations": annotations, "categories": categories, "info": {}})
    )
    return read_coco(path, options.get("first", ())).of_label(options.get("category"))


def test_boxes_crowds_and_pictures_without(folder):
    outline = [[1.0, 2.0, 3.0, 4.0]]
    annotations = [box(7, [1.5, 2, 3, 4], segmentation=outline), box(7, [5, 6, 7, 8], iscrowd=1)]
    found = read(folder, annotations)
    assert [(one.name, one.boxes, one.ignored) for one in found.pictures] == [
        ("a.png", ((1.5, 2, 3, 4),), ((5, 6, 7, 8),)),
        ("b.png", (), ()),
    ]
    assert found.faults == ()
    assert found.format == "COCO JSON"


def test_the_category_is_chosen_by_name(folder):
    annotations = [box(7, [1, 2, 3, 4]), box(9, [5, 6, 7, 8], category=2)]
    assert [one.boxes for one in read(folder, annotations, category="dog").pictures] == [(), ((5, 6, 7, 8),)]
    with pytest.raises(SourceError, match=r"2 kinds \(cat, dog\)"):
        read(folder, annotations)
    with pytest.raises(SourceError, match="category 'dgo'; did you mean 'dog'"):
        read(folder, annotations, category="dgo")
    assert [one.boxes for one in read(folder, annotations[:1]).pictures] == [((1, 2, 3, 4),), ()]


@pytest.mark.parametrize("place", ["images", "../images", "../images/train2017", "../train2017", "data"])
def test_pictures_where_tools_put_them(folder, place):
    inner = folder / "annotations"
    (inner / place).mkdir(parents=True)
    for name in ("a.png", "b.png"):
        (folder / name).rename(inner / place / name)
    path = inner / "instances_train2017.json"
    path.write_text(json.dumps({"images": IMAGES, "annotations": [], "categories": CATEGORIES}))
    found = read_coco(path)
    assert [one.path.resolve() for one in found.pictures] == [
        (inner / place / name).resolve() for name in ("a.png", "b.png")
    ]
    assert (found.faults, found.notes) == ((), ())


def test_pictures_in_another_folder(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (folder / "a.png").rename(tmp_path / "elsewhere" / "a.png")
    first = read(folder, [], first=[tmp_path / "elsewhere"]).pictures[0]
    assert first.path == tmp_path / "elsewhere" / "a.png"


@pytest.mark.parametrize(
    ("images", "annotations", "fault"),
    [
        (
            IMAGES,
            [box(7, [1, 2, 3])],
            (1, "annotation 1: its bbox is not [x, y, width, height]: Expected `array`"),
        ),
        (
            IMAGES,
            [box(9, [1, 2, "3", 4])],
            (2, "annotation 1: its bbox is not [x, y, width, height]: Expected `float`"),
        ),
        (
            IMAGES,
            [box(9, [1, 2, None, 4])],
            (2, "annotation 1: its bbox is not [x, y, width, height]: Expected `float`"),
        ),
        (IMAGES, [box(7, None)], (1, "annotation 1: it has no bbox")),
        (IMAGES, [{"image_id": 9}], (2, "annotation 1: it has no bbox")),
        (
            IMAGES,
            [box(None, [1, 2, 3, 4])],
            (0, "annotation 1: it refers to image null, which does not exist"),
        ),
        ([*IMAGES, {"id": None, "file_name": "b.png"}], [], (3, "its id is null")),
        ([*IMAGES, {"id": 8, "file_name": None}], [], (3, "its file_name is null")),
        (IMAGES, [box(9, [1, 2, 3, 1e300])], (2, "annotation 1: 1e+300 is not a valid number of pixels")),
        (
            IMAGES,
            [box(3, [1, 2, 3, 4])],
            (0, "annotation 1: it refers to image 3, which does not exist"),
        ),
        ([*IMAGES, {"id": 7, "file_name": "b.png"}], [], (3, "b.png: its id 7 appears twice")),
        ([*IMAGES, {"id": 8, "file_name": "../gone.png"}], [], (3, "../gone.png: not found in")),
    ],
)
def test_what_is_wrong_is_named(folder, images, annotations, fault):
    found = read(folder, annotations, images)
    ((place, reason, *_),) = found.faults
    assert place == fault[0]
    assert reason.startswith(fault[1])
    assert [one.name for one in found.pictures] == ["a.png", "b.png"]


def test_null_where_nothing_is_meant(folder):
    nulls = dict.fromkeys(("segmentation", "area", "score", "iscrowd", "ignore", "license", "keypoints"))
    images = [
        {"id": 7, "file_name": "a.png", "width": None, "height": None, "license": None, "date_captured": None}
    ]
    (picture,) = read(folder, [box(7, [1, 2, 3, 4], **nulls), box(7, [5, 6, 7, 8], None)], images).pictures
    assert picture.objects == (((1, 2, 3, 4), "cat", "", None), ((5, 6, 7, 8), "", "", None))
    assert picture.size is None
    (picture,) = read(folder, [box(7, [1, 2, 3, 4])], images, None).pictures
    assert picture.objects[0].label == "category 1"
    (picture,) = read(folder, [box(7, [1, 2, 3, 4])], images, [{"id": 1, "name": None}]).pictures
    assert picture.objects[0].label == "category 1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "Expected `object`"),
        ('{"images": []}', "missing required field `annotations`"),
        ('{"images": [{"id": 1}], "annotations": []}', "missing required field `file_name`"),
        ('{"images": [], "annotations": [{"image_id": 1, "iscrowd": "a"}]}', "iscrowd"),
        ('{"images": [', "truncated"),
        ('{"images": [], "annotations": [], "x": ' + "[" * 100_000, "recursion"),
        ('{"images": [], "annotations": [{"image_id": 1, "score": 1e999}]}', "out of range"),
        (b'{"images": [{"id": 1, "file_name": "\xff"}], "annotations": []}', "utf-8"),
    ],
)
def test_other_json_is_refused(tmp_path, text, reason):
    path = tmp_path / "a.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SourceError, match=f"(?i)is JSON, but not COCO annotations .*{reason}"):
        read_coco(path)
