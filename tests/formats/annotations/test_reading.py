"""All formats of annotations give the same boxes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from annotation_files import FORMS, Photo
from hypothesis import HealthCheck, given, settings, strategies as st
from PIL import Image

from vjcascade.errors import SourceError
from vjcascade.evaluation.scenes import read_scenes
from vjcascade.formats.annotations.orientation import upright_box
from vjcascade.formats.annotations.pictures import AnnotatedObject
from vjcascade.formats.annotations.reading import read_annotations, reader_of
from vjcascade.imaging import image_header, read_image, write_image
from vjcascade.types import Size

SIZES = {"a.png": Size(97, 61), "b.png": Size(64, 128), "none.png": Size(33, 20)}
BOXES = [(3, 4, 24, 31), (40, 20, 57, 41), (0, 0, 10, 12), (7, 100, 30, 28)]
THINGS = [
    AnnotatedObject(box, label) for box, label in zip(BOXES, ("car", "car", "bus & tram", "car"), strict=True)
]
PHOTOS = [
    Photo("a.png", SIZES["a.png"], THINGS[:2]),
    Photo("b.png", SIZES["b.png"], THINGS[2:]),
    Photo("none.png", SIZES["none.png"], []),
]
SIZED = [form for form in FORMS if form.write.__name__ in {"coco", "voc", "labelme", "imglab", "csv_corners"}]
IDS = [form.write.__name__ for form in FORMS]


@pytest.fixture
def folder(tmp_path):
    for name, (width, height) in SIZES.items():
        write_image(tmp_path / name, np.zeros((height, width), np.uint8))
    return tmp_path


def sorted_objects(picture):
    return sorted(picture.objects)


@pytest.mark.parametrize("form", FORMS, ids=IDS)
def test_the_same_boxes_in_every_format(folder, form):
    read = read_annotations(form.write(folder, PHOTOS))
    assert (read.format, read.faults) == (form.name, ())
    assert [picture.path.name for picture in read.pictures] == list(SIZES)
    for picture, photo in zip(read.pictures, PHOTOS, strict=True):
        assert picture.size in {None, photo.size}
        for one, true in zip(sorted_objects(picture), sorted(photo.objects), strict=True):
            assert one.box == pytest.approx(true.box, abs=0 if form.is_exact else 1e-3)
            assert one.label == (true.label if form.has_labels else "")
            assert not one.flag


@pytest.mark.parametrize(
    "form", [form for form in FORMS if form.has_flags], ids=lambda form: form.write.__name__
)
@pytest.mark.parametrize("flag", ["ignore", "difficult", "crowd"])
def test_objects_to_ignore_are_told_from_others(folder, form, flag):
    first, second = PHOTOS[0].objects
    photos = [PHOTOS[0]._replace(objects=[first, second._replace(flag=flag)]), *PHOTOS[1:]]
    read = read_annotations(form.write(folder, photos))
    assert (read.pictures[0].boxes, read.pictures[0].ignored) == ((first.box,), (second.box,))


@pytest.mark.parametrize("form", FORMS, ids=IDS)
def test_scenes_of_every_format(folder, form):
    label = "car" if form.has_labels else None
    path = form.write(folder, PHOTOS)
    scenes = read_scenes(path, category=label)
    assert scenes.format == form.name
    assert scenes.n_objects.tolist() == ([2, 1, 0] if form.has_labels else [2, 2, 0])
    assert [scene.size for scene in scenes.scenes] == list(SIZES.values())
    if form.has_labels:
        with pytest.raises(SourceError, match=r"has objects of 2 kinds \(bus & tram, car\)"):
            read_scenes(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(
    st.sampled_from(FORMS),
    st.lists(
        st.tuples(st.integers(0, 96), st.integers(0, 60), st.integers(1, 97), st.integers(1, 61)), max_size=5
    ),
)
def test_any_whole_boxes_inside_the_picture(folder, form, boxes):
    inside = [(x, y, min(w, 97 - x), min(h, 61 - y)) for x, y, w, h in boxes]
    photos = [Photo("a.png", SIZES["a.png"], [AnnotatedObject(box, "car") for box in inside]), PHOTOS[1]]
    _remove_texts(folder)
    read = read_annotations(form.write(folder, photos))
    (picture,) = (one for one in read.pictures if one.name.startswith("a"))
    for one, true in zip(picture.boxes, inside, strict=True):
        assert one == pytest.approx(true, abs=0 if form.is_exact else 1e-3)


def test_folders_of_pictures_alone_tell_no_boxes(folder):
    assert reader_of(folder) is None
    (folder / "notes.txt").write_text("0 0.5 0.5 0.1 0.1")  # of no picture
    (folder / "settings.json").write_text('{"a": 1}')
    (folder / "model.xml").write_text("<opencv_storage/>")
    assert reader_of(folder) is None
    with pytest.raises(SourceError, match="is a folder without annotations"):
        read_annotations(folder)


def turned_file(path, pixels, orientation):
    """Write a file whose pixels are those of an upright picture, as a camera held in another way stores them."""
    stored = {
        1: pixels, 2: pixels[:, ::-1], 3: pixels[::-1, ::-1], 4: pixels[::-1],
        5: pixels.T, 6: np.rot90(pixels), 7: pixels[::-1, ::-1].T, 8: np.rot90(pixels, -1),
    }[orientation]  # fmt: skip
    exif = Image.Exif()
    exif[274] = orientation
    Image.fromarray(np.ascontiguousarray(stored)).save(path, exif=exif)
    return Size(stored.shape[1], stored.shape[0])


@pytest.mark.parametrize("suffix", ["png", "tif"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_boxes_and_orientation_agree(tmp_path, orientation, suffix):
    pixels = np.zeros((30, 50), np.uint8)
    pixels[4:11, 20:32] = 200
    stored = turned_file(tmp_path / f"a.{suffix}", pixels, orientation)
    assert (read_image(tmp_path / f"a.{suffix}") == pixels).all()
    assert image_header(tmp_path / f"a.{suffix}") == (Size(50, 30), orientation)
    true = AnnotatedObject((20, 4, 12, 7), "car")
    for form in FORMS:
        if form.write.__name__ == "fddb" and suffix == "tif":
            continue  # whose pictures are JPEG
        read = read_annotations(form.write(tmp_path, [Photo(f"a.{suffix}", Size(50, 30), [true])]))
        assert read.pictures[0].boxes[0] == pytest.approx(true.box, abs=1e-3)
        _remove_texts(tmp_path)
    if stored == Size(50, 30):
        return
    # Annotated with a tool that does not turn pictures: their size tells.
    rows, columns = np.nonzero(_as_stored(tmp_path / f"a.{suffix}"))
    left, top = int(columns.min()), int(rows.min())
    box = (left, top, int(columns.max()) - left + 1, int(rows.max()) - top + 1)
    assert upright_box(box, stored, orientation) == true.box
    for form in SIZED:
        read = read_annotations(
            form.write(tmp_path, [Photo(f"a.{suffix}", stored, [AnnotatedObject(box, "car")])])
        )
        assert (read.pictures[0].boxes, read.pictures[0].size) == ((true.box,), Size(50, 30))
        _remove_texts(tmp_path)


def _remove_texts(folder):
    """Remove what was written before, for some formats are folders of files."""
    for path in folder.iterdir():
        if path.suffix not in {".png", ".tif"}:
            path.unlink()


def _as_stored(path):
    """Return pixels as they are in the file."""
    with Image.open(path) as picture:
        if picture.format != "TIFF":
            return np.asarray(picture)
    import tifffile

    return tifffile.imread(path)


@pytest.mark.parametrize("form", SIZED, ids=lambda form: form.write.__name__)
def test_a_picture_of_another_size_is_a_fault(folder, form):
    path = form.write(folder, [PHOTOS[0]._replace(size=Size(194, 122))])
    (fault,) = read_annotations(path).faults
    assert "a.png: its boxes are for 194x122 pixels, but the picture has 97x61" in fault.reason


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["coco", "via_json", "labelme"])
def test_json_with_a_mark_at_its_beginning(folder, name, encoding):
    """As editors and shells of Windows save it."""
    form = next(form for form in FORMS if form.write.__name__ == name)
    path = form.write(folder, PHOTOS[:1])
    path = next(path.glob("*.json")) if path.is_dir() else path
    path.write_text(path.read_text("utf-8"), encoding)
    assert [one.box for one in read_annotations(path).pictures[0].objects] == BOXES[:2]


@pytest.mark.parametrize("before", ["/home/somebody/set/", "C:\\set\\"])
def test_absolute_paths_of_another_machine(folder, before):
    table = folder / "boxes.csv"
    table.write_text(f"file,x,y,w,h\n{before}a.png,3,4,24,31\n")
    assert read_annotations(table).pictures[0].path == folder / "a.png"
    table.write_text(f"file,x,y,w,h\n{before}one/a.png,3,4,24,31\n{before}two/a.png,1,1,9,9\n")
    read = read_annotations(table)
    ((line, reason, *_),) = read.faults
    assert (len(read.pictures), line) == (1, 3)
    assert "two" in reason
    assert "one" in reason


def test_a_project_of_via_3(folder):
    marks = {
        "1_a": {"vid": "1", "xy": [2, 3, 4, 24, 31], "av": {"1": "0"}},
        "1_b": {"vid": "1", "xy": [7, 40, 20, 97, 20, 97, 61], "av": {"1": "1", "2": "0"}},
        "1_c": {"vid": "1", "xy": [1, 5, 5], "av": {}},
        "1_d": {"vid": "1", "xy": [], "z": [0.1, 2], "av": {}},
        "2_a": {"vid": "9", "xy": [2, 1, 1, 9, 9], "av": {}},
        "1_e": {"vid": "1", "xy": [2, 1, 1], "av": {"1": "0"}},
        "1_f": {"vid": "1", "xy": [9, 1, 1, 9, 9, 4, 4], "av": {"1": "0"}},
    }
    project = {
        "project": {"data_format_version": "3.1.1"},
        "attribute": {
            "1": {"aname": "class", "options": {"0": "car", "1": "bus"}},
            "2": {"aname": "ignore", "options": {"0": "yes"}},
        },
        "file": {"1": {"fid": 1, "fname": "a.png"}, "2": {"fid": 2, "fname": "none.png"}},
        "view": {"1": {"fid_list": [1]}, "2": {"fid_list": [2]}},
        "metadata": marks,
    }
    path = folder / "project.json"
    path.write_text(json.dumps(project))
    read = read_annotations(path)
    assert read.format == "VIA JSON"
    assert [(one.name, one.objects) for one in read.pictures] == [
        (
            "a.png",
            (
                AnnotatedObject((3, 4, 24, 31), "car"),
                AnnotatedObject((40, 20, 57, 41), "bus", "ignore"),
            ),
        ),
        ("none.png", ()),
    ]
    assert read.notes == ("project.json: 1 point left out, as points have no box",)
    assert [(place, reason) for place, reason, *_ in read.faults] == [
        (0, "metadata 2_a: its view 9 refers to none of the files"),
        (1, "metadata 1_e: width is 'None', which is not a number"),
        (1, "metadata 1_f: the shape 'shape 9' is not supported"),
    ]


def test_xml_of_cvat_itself_is_refused(folder):
    path = folder / "annotations.xml"
    path.write_text('<?xml version="1.0"?>\n<annotations>\n<image id="0" name="a.png"/></annotations>\n')
    with pytest.raises(SourceError, match=r"annotations\.xml: CVAT's own XML.* COCO, YOLO or Pascal VOC"):
        read_annotations(path)
