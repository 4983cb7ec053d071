"""Data sets of YOLO, as tools lay them out."""

from __future__ import annotations

import numpy as np
import pytest

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.reading import read_annotations, reader_of
from vjcascade.formats.annotations.yolo import read_yolo
from vjcascade.imaging import write_image


@pytest.fixture
def data_set(tmp_path):
    """Return a data set in the form of Ultralytics, with two parts."""
    for part in ("train", "val"):
        for kind in ("labels", "images"):
            (tmp_path / kind / part).mkdir(parents=True)
        write_image(tmp_path / "images" / part / "a.png", np.zeros((50, 100), np.uint8))
    (tmp_path / "labels" / "train" / "a.txt").write_text("0 0.5 0.5 0.25 0.2\n\n1 0.1 0.2 0.1 0.2\n")
    (tmp_path / "labels" / "val" / "a.txt").write_text("1 0.5 0.5 0.5 0.5")
    (tmp_path / "data.yaml").write_text(
        "path: .\ntrain: images/train\nval: images/val\nnames: [car, 'bus']\n"
    )
    return tmp_path


def boxes(read):
    return [(one.box, one.label) for picture in read.pictures for one in picture.objects]


TRAIN, VAL = [((37.5, 20, 25, 10), "car"), ((5, 5, 10, 10), "bus")], [((25, 12.5, 50, 25), "bus")]


def test_parts_of_a_data_set(data_set):
    for path in (data_set / "data.yaml", data_set):
        read = read_annotations(path)
        assert (boxes(read), read.labels) == (TRAIN, ("car", "bus"))
        assert read.notes == ("data.yaml: the split 'train' is read",)
    assert boxes(read_yolo(data_set / "data.yaml", splits=("test", "val"))) == VAL
    assert boxes(read_yolo(data_set / "data.yaml", splits=("test",))) == TRAIN
    assert boxes(read_annotations(data_set / "images" / "val")) == VAL  # the names are found above
    assert boxes(read_annotations(data_set / "labels" / "val")) == VAL
    assert boxes(read_annotations(data_set / "labels" / "val" / "a.txt")) == VAL


@pytest.mark.parametrize(
    ("entry", "file"),
    [
        ("train: ../images/train", ""),  # of Roboflow
        ("train: [images/train]", ""),
        ("train: list.txt", "images/train/a.png\n"),
        ("train: ./list.txt", "./images/train/a.png\r\n\r\n"),
    ],
)
def test_spellings_of_places(data_set, entry, file):
    (data_set / "data.yaml").write_text(f"{entry}\nnames: {{0: car, '1': bus}}\nnc: 2\n")
    (data_set / "list.txt").write_text(file)
    assert boxes(read_annotations(data_set / "data.yaml")) == TRAIN


def test_folders_without_a_data_file(tmp_path):
    write_image(tmp_path / "a.png", np.zeros((50, 100), np.uint8))
    write_image(tmp_path / "b.png", np.zeros((50, 100), np.uint8))
    (tmp_path / "a.txt").write_text("1 0.5 0.5 0.25 0.2 0.98\n0 0.1 0.1 0.3 0.1 0.3 0.5 0.2 0.9\n")
    read = read_annotations(tmp_path)
    assert boxes(read) == [((37.5, 20, 25, 10), "class 1"), ((10, 5, 20, 40), "class 0")]
    assert [picture.path.name for picture in read.pictures] == ["a.png", "b.png"]
    (tmp_path / "classes.txt").write_text("car\nbus\n")
    assert [label for _, label in boxes(read_annotations(tmp_path))] == ["bus", "car"]


def test_key_points_are_no_outline(data_set):
    (data_set / "data.yaml").write_text("train: images/train\nnames: [car]\nkpt_shape: [2, 2]\n")
    (data_set / "labels" / "train" / "a.txt").write_text("0 0.5 0.5 0.25 0.2 0.1 0.1 0.9 0.9")
    assert boxes(read_annotations(data_set)) == [((37.5, 20, 25, 10), "car")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("car 0.5 0.5 0.1 0.1", "'car' is not a class number"),
        ("-1 0.5 0.5 0.1 0.1", "'-1' is not a class number"),
        ("0 0.5 0.5 0.1", "3 numbers after the class are neither a box"),
        ("0 0.5 0.5 0.1 0.1 0.1 0.1 0.1", "7 numbers after the class"),
        ("0 50 50 10 10", "50 is not normalised"),
        ("0 0.5 0.5 nan 0.1", "'nan' is not a number"),
    ],
)
def test_wrong_lines_are_named(data_set, line, reason):
    (data_set / "labels" / "train" / "a.txt").write_text("0 0.5 0.5 0.25 0.2\n" + line)
    read = read_annotations(data_set / "data.yaml")
    (fault,) = read.faults
    assert fault.reason.startswith("a.txt:2: " + reason)
    assert boxes(read) == TRAIN[:1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("train: [a\nnames: [b]", r"data\.yaml:2: invalid YAML"),
        ("train: images\n", "names of the classes are missing"),
        ("names: [a]\n", "names no pictures: add one of train, val"),
        ("train: gone\nnames: [a]\n", "'gone' does not exist; looked for"),
        ("train: 3\nnames: [a]\n", "'3' is neither a folder nor a list"),
        (
            "path: /\ntrain: .\nnames: [a]\n",
            "train: .* is the whole file system; name the folder of the pictures",
        ),
        ("train: /\nnames: [a]\n", "train: / is the whole file system"),
        ("train: /dev/null\nnames: [a]\n", "train: /dev/null is neither a folder nor a list"),
        ("train: images\nnames: car\n", "names must be a list"),
        ("train: images\nnames: {car: 0}\n", "names must be a list"),
        ("train: &a [*a]\nnames: [a]\n", "aliases and deep nesting"),
        ("train: " + "[" * 5000, "aliases and deep nesting"),
        ("train: !!python/object/apply:os.getcwd []\nnames: [a]", "invalid YAML"),
        ("train: images\nnames: [a]\nb: 2001-99-99\n", "invalid YAML"),
        ("a: " + "b" * 300_000, "too much for annotations"),
    ],
)
def test_other_yaml_is_refused(data_set, text, reason):
    (data_set / "data.yaml").write_text(text)
    with pytest.raises(SourceError, match=reason):
        read_annotations(data_set / "data.yaml")


def test_pictures_that_are_missing_or_damaged_are_named(data_set):
    (data_set / "images" / "train" / "a.png").write_bytes(b"no picture")
    (fault,) = read_annotations(data_set).faults
    assert "a.txt: " in fault.reason
    assert "not a picture" in fault.reason
    (data_set / "images" / "train" / "a.png").unlink()
    (fault,) = read_yolo(data_set / "labels" / "train").faults
    assert fault.reason.startswith("a.txt: there is no picture of this name")


def test_a_folder_of_crops_is_none(tmp_path):
    write_image(tmp_path / "a.png", np.zeros((50, 100), np.uint8))
    assert reader_of(tmp_path) is None
    (tmp_path / "a.txt").write_text("a nice car")
    assert reader_of(tmp_path) is None


def test_pictures_with_text_files_in_a_subfolder(tmp_path):
    """As CVAT and Darknet lay them out: taken for crops, whole photos would be learned."""
    (tmp_path / "obj_train_data").mkdir()
    write_image(tmp_path / "obj_train_data" / "a.png", np.zeros((50, 100), np.uint8))
    (tmp_path / "obj_train_data" / "a.txt").write_text("1 0.5 0.5 0.5 0.5\n")
    (tmp_path / "obj.names").write_text("car\nbus\n")
    (tmp_path / "train.txt").write_text("data/obj_train_data/a.png\n")
    assert boxes(read_annotations(tmp_path)) == VAL
