"""Annotations that are written come back."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.pictures import AnnotatedObject, AnnotatedPicture
from vjcascade.formats.annotations.reading import read_annotations
from vjcascade.formats.annotations.writing import WRITABLE, write_annotations
from vjcascade.imaging import write_image
from vjcascade.types import Size

KINDS = {kind: f"found{suffix}" for kind, suffix in WRITABLE.items()}
UNLABELLED, UNFLAGGED = ("opencv", "fddb", "wider"), ("opencv", "fddb", "matlab", "yolo")
SIZES = {"street/a.png": Size(97, 61), "street/b.png": Size(640, 480), "yard/a.png": Size(33, 20)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with pictures in two others."""
    folder = tmp_path_factory.mktemp("pictures")
    for name, (width, height) in SIZES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_image(folder / name, np.zeros((height, width), np.uint8))
    return folder


def pictures_of(folder, *objects):
    """Return the pictures with objects, the same ones in each."""
    return [
        AnnotatedPicture(place, name, folder / name, tuple(objects), size)
        for place, (name, size) in enumerate(SIZES.items(), start=1)
    ]


def read_back(folder, pictures, kind, place="out"):
    (folder / place).mkdir(exist_ok=True)
    path = folder / place / f"{kind}-{KINDS[kind]}"
    write_annotations(path, pictures, kind)
    read = read_annotations(path)
    assert read.faults == ()
    found = {one.path.resolve(): one for one in read.pictures}
    assert len(found) == len(pictures)
    return [found[one.path.resolve()] for one in pictures]


hundredths = st.integers(-500, 3000).map(lambda n: n / 100)
flags = st.sampled_from(["", "", "ignore", "difficult", "crowd"])
labels = st.sampled_from(["car", "a & <b>", 'two, "words"', "m\u00fcll", "0"])
boxes = st.tuples(*[st.integers(-5, 30)] * 2, *[st.integers(1, 33)] * 2)
fractions = st.tuples(*[hundredths] * 4)
scores = st.none() | st.floats(0, 99)
objects = st.lists(st.builds(AnnotatedObject, boxes | fractions, labels, flags, scores), max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(things=objects)
def test_round_trips_lose_nothing_that_the_format_holds(folder, things):
    for kind in ("coco", "csv", "voc"):
        for one in read_back(folder, pictures_of(folder, *things), kind):
            kept = [_as_held(thing, kind) for thing in things]
            assert [(o.label, o.flag, o.score) for o in one.objects] == [
                (o.label, o.flag, o.score) for o in kept
            ]
            for found, true in zip(one.objects, kept, strict=True):
                assert found.box == pytest.approx(true.box, abs=1e-9)
                if all(side == int(side) for side in true.box):
                    assert found.box == true.box
            assert one.size in SIZES.values()


def _as_held(thing, kind):
    """Return an object as a format holds it."""
    flag = {"coco": {"difficult": "ignore"}, "voc": dict.fromkeys(("ignore", "crowd"), "difficult")}.get(
        kind, {}
    )
    score = thing.score if kind == "coco" else None
    return thing._replace(flag=flag.get(thing.flag, thing.flag), score=score)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.lists(st.tuples(*map(st.integers, (0, 0, 1, 1), (30, 18, 33, 20))), max_size=4))
def test_whole_boxes_come_back_from_yolo(folder, inside):
    things = [AnnotatedObject((x, y, min(w, 33 - x), min(h, 20 - y)), "car") for x, y, w, h in inside]
    for one in read_back(folder, pictures_of(folder, *things), "yolo"):
        assert list(one.objects) == things


def test_what_yolo_has_no_place_for_is_left_out(folder):
    things = [AnnotatedObject((1, 2, 3, 4), "car", "crowd"), AnnotatedObject((5, 6, 7, 8), "bus")]
    for one in read_back(folder, pictures_of(folder, *things), "yolo"):
        assert [(thing.box, thing.label) for thing in one.objects] == [((5, 6, 7, 8), "bus")]


@pytest.mark.parametrize("kind", KINDS)
def test_files_may_lie_beside_or_below_or_above_the_pictures(folder, kind):
    thing = AnnotatedObject((1, 2, 3, 4), "car")
    for place in (".", "street/more", "yard"):
        for one in read_back(folder, pictures_of(folder, thing), kind, place):
            assert one.boxes == (pytest.approx(thing.box, abs=1e-6 if kind == "fddb" else 0),)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(things=objects)
def test_formats_of_other_tools_hold_what_they_can(folder, things):
    for kind in ("via", "via-csv", "labelme", "imglab", "fddb", "wider", "matlab"):
        kept = [thing for thing in things if not (thing.flag and kind in UNFLAGGED)]
        if kind == "fddb" and not kept:
            continue  # without an ellipse, nothing tells what it is
        for one in read_back(folder, pictures_of(folder, *things), kind):
            if kind == "matlab":  # a column after the other, in the order of the first object of each
                order = list(dict.fromkeys(thing.label for thing in things))
                kept.sort(key=lambda thing: order.index(thing.label))
            assert len(one.objects) == len(kept)
            for found, true in zip(one.objects, kept, strict=True):
                x, y, w, h = true.box
                turned = (
                    (min(x, x + w), min(y, y + h), abs(w), abs(h))
                    if kind in {"labelme", "fddb"}
                    else true.box
                )
                assert found.box == pytest.approx(turned, abs=1e-5)
                assert found.label == ("" if kind in UNLABELLED else true.label)
                assert bool(found.flag) == bool(true.flag)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(st.lists(boxes, max_size=4))
def test_whole_boxes_come_back_from_a_list_for_opencv(folder, places):
    things = [AnnotatedObject(place, "car") for place in places]
    for one in read_back(folder, pictures_of(folder, *things), "opencv"):
        assert list(one.boxes) == places


def test_two_pictures_of_one_name_are_refused(folder, tmp_path):
    pictures = pictures_of(folder)[:1]
    twin = pictures[0]._replace(path=folder / "street/a.jpg")
    for kind in ("yolo", "voc"):
        with pytest.raises(
            SourceError, match=r"a\.png and .*a\.jpg would both have the file a\.(txt|xml): rename one"
        ):
            write_annotations(tmp_path / "out", [*pictures, twin], kind)
    assert not (tmp_path / "out").exists()
    write_annotations(tmp_path / "out.json", [*pictures, twin], "coco")
    assert len(json.loads((tmp_path / "out.json").read_text())["images"]) == 2
    with pytest.raises(SourceError, match="the size of this picture is unknown"):
        write_annotations(tmp_path / "out.csv", [twin._replace(size=None)], "csv")


def test_what_is_read_can_be_written(folder, tmp_path):
    """A reader's result goes to every writer as it is."""
    thing = AnnotatedObject((1, 2, 3, 4), "car")
    write_annotations(tmp_path / "a.csv", pictures_of(folder, thing), "csv")
    read = read_annotations(tmp_path / "a.csv")
    for kind, name in KINDS.items():
        write_annotations(tmp_path / f"{kind} {name}", read.pictures, kind)
        again = read_annotations(tmp_path / f"{kind} {name}")
        for one in again.pictures:
            assert one.boxes == (pytest.approx(thing.box, abs=1e-6 if kind == "fddb" else 0),), kind
    assert read.used_labels == {"car"}
