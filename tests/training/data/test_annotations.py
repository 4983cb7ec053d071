"""Annotations and `.vec` files as sources of training."""

from __future__ import annotations

import builders
import numpy as np
import pytest
from annotation_files import FORMS, Photo, coco, csv_boxes, opencv_list, voc, yolo
from PIL import Image

from vjcascade import TrainingSettings, train
from vjcascade.errors import SourceError
from vjcascade.formats.annotations.opencv_lists import Box
from vjcascade.formats.annotations.pictures import AnnotatedObject
from vjcascade.formats.annotations.vec_files import write_vec
from vjcascade.imaging import write_image
from vjcascade.training.data.backgrounds import open_background_images
from vjcascade.training.data.positives import load_positives
from vjcascade.training.data.sources import list_pictures
from vjcascade.types import Size

WINDOW = Size(16, 12)


@pytest.fixture
def photos(tmp_path, rng):
    """Return photos with five objects each, of two kinds; they are in the folder."""
    found = []
    for i in range(4):
        name, size = f"{i}.png", Size(150, 100 + i)
        write_image(tmp_path / name, builders.smooth_noise(rng, size.height, size.width))
        objects = []
        for label in ("car", "car", "car", "bus", "bus"):
            x, y, w = int(rng.integers(0, 100)), int(rng.integers(0, 60)), int(rng.integers(20, 40))
            objects.append(AnnotatedObject((x, y, w, round(w * 0.75)), label))
        found.append(Photo(name, size, objects))
    return found


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.write.__name__)
def test_the_same_boxes_give_the_same_crops(tmp_path, photos, form):
    kept = [photo._replace(objects=[one for one in photo.objects if one.label == "car"]) for photo in photos]
    true = load_positives(opencv_list(tmp_path, kept), WINDOW)
    (tmp_path / "info.dat").unlink()
    path = form.write(tmp_path, photos if form.has_labels else kept)
    read = load_positives(path, WINDOW, label="car" if form.has_labels else None)
    assert len(true) == 12
    assert read.fingerprint == true.fingerprint
    assert (read.groups == true.groups).all()
    if form.has_labels:
        with pytest.raises(SourceError, match="choose one with --label"):
            load_positives(path, WINDOW)


def test_boxes_with_fractions_become_the_nearest_ones(tmp_path, photos):
    things = [AnnotatedObject((2.4, 3.5, 20.2, 20.2), "car"), AnnotatedObject((2.6, 3.4, 20.0, 20.0), "car")]
    path = csv_boxes(tmp_path, [photos[0]._replace(objects=things)])
    (picture,) = list_pictures(path, "positives").pictures
    assert picture.boxes == (Box(2, 4, 21, 20), Box(3, 3, 20, 20))
    assert picture.origin == "boxes.csv:2: "
    (picture,) = list_pictures(path, "negatives").pictures  # nothing of the object is left outside
    assert picture.boxes == (Box(2, 3, 21, 21), Box(2, 3, 21, 21))


def test_outside_the_boxes_are_negatives(tmp_path, photos):
    things = [*photos[0].objects, AnnotatedObject((1, 1, 9, 9), "car", "crowd")]
    path = coco(tmp_path, [photos[0]._replace(objects=things), *photos[1:3], photos[3]._replace(objects=[])])
    every, cars = open_background_images(path, WINDOW), open_background_images(path, WINDOW, label="car")
    assert (len(every), len(cars)) == (4, 4)
    assert every.ignored(0).tolist() == [list(one.box) for one in things]
    assert cars.ignored(0).tolist() == [list(one.box) for one in things if one.label == "car"]
    assert every.ignored(3).tolist() == []
    assert any("16 boxes are left out of the negatives" in note for note in every.report.notes)
    assert len(open_background_images(path, WINDOW, label="unknown").ignored(0)) == 0


def test_objects_to_ignore_are_neither(tmp_path, photos):
    first, second, *rest = photos[0].objects[:3]
    hidden = [photos[0]._replace(objects=[first, second._replace(flag="ignore"), *rest]), *photos[1:]]
    path = csv_boxes(tmp_path, hidden)
    crops = load_positives(path, WINDOW, label="car")
    assert f"0.png {Box(*map(int, second.box))}" not in crops.names
    assert len(crops) == 11
    assert "1 object marked to be ignored left out" in crops.report.notes
    assert list(second.box) in open_background_images(path, WINDOW, label="car").ignored(0).tolist()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.write.__name__)
def test_pictures_with_objects_that_cannot_be_read_are_no_negatives(tmp_path, photos, form):
    """Else the object would be learned as a negative."""
    first = photos[0].objects[0]
    wrong = [
        first._replace(box=(*first.box[:3], 2e9)),
        *photos[0].objects[1:],
    ]
    path = form.write(tmp_path, [photos[0]._replace(objects=wrong), *photos[1:]])
    opened = open_background_images(path, WINDOW)
    assert [photo.path.name for photo in opened.photos] == [photo.name for photo in photos[1:]]
    assert len(opened.report.skipped) == 1
    assert len(opened.ignored(0)) == 5


def test_pictures_that_no_annotations_name_are_no_negatives(tmp_path, photos):
    voc(tmp_path, photos[:3])
    opened = open_background_images(tmp_path, WINDOW)
    assert len(opened) == 3
    assert any("1 picture in" in note for note in opened.report.notes)


def test_what_cannot_be_used_is_named_with_its_place(tmp_path, photos):
    path = csv_boxes(tmp_path, photos)
    path.write_text(path.read_text() + "gone.png,1,2,3,4,car,\n0.png,1,2,3,x,car,\n0.png,140,90,40,40,car,\n")
    report = load_positives(path, WINDOW, label="car").report
    assert [(one.name, one.reason.split(";")[0][:20]) for one in report.skipped[:2]] == [
        ("boxes.csv:22", "gone.png: not found "),
        ("boxes.csv:23", "'x' is not a number"),
    ]
    assert report.skipped[2].name == "boxes.csv:2: 0.png 140 90 40 40"
    with pytest.raises(SourceError, match=r"3 of 15 boxes in .* cannot be used"):
        load_positives(path, WINDOW, label="car", strict=True)
    with pytest.raises(SourceError, match="no objects of the category 'cart'; did you mean 'car'"):
        load_positives(path, WINDOW, label="cart")


def test_a_label_for_what_has_none_is_said(tmp_path, photos):
    path = opencv_list(tmp_path, photos)
    note = "info.dat has no labels: the label 'car' chooses nothing there"
    assert note in load_positives(path, WINDOW, label="car").report.notes
    assert list_pictures(path, "negatives", label="car").notes == ()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_crops_of_turned_pictures_are_those_of_upright_ones(tmp_path, photos, orientation):
    upright = {photo.name: np.asarray(Image.open(tmp_path / photo.name)) for photo in photos}
    true = load_positives(csv_boxes(tmp_path, photos), WINDOW, label="car")
    for photo in photos:
        pixels = upright[photo.name]
        stored = [pixels, pixels[:, ::-1], pixels[::-1, ::-1], pixels[::-1], pixels.T, np.rot90(pixels),
                  pixels[::-1, ::-1].T, np.rot90(pixels, -1)][orientation - 1]  # fmt: skip
        exif = Image.Exif()
        exif[274] = orientation
        Image.fromarray(np.ascontiguousarray(stored)).save(tmp_path / photo.name, exif=exif)
    for form in FORMS:
        if form.has_labels:
            path = form.write(tmp_path, photos)
            assert load_positives(path, WINDOW, label="car").fingerprint == true.fingerprint
            for text in tmp_path.iterdir():
                if text.suffix != ".png":
                    text.unlink()


@pytest.fixture
def samples(tmp_path, rng):
    """Return crops of 20x12 pixels, and their `.vec`."""
    y, x = np.mgrid[:12, :20]
    slopes, starts = rng.uniform(0.1, 0.4, (30, 2, 1, 1)), rng.uniform(0, 7, (30, 1, 1))
    crops = (128 + 100 * np.sin(slopes[:, 0] * x + slopes[:, 1] * y + starts)).astype(np.uint8)
    write_vec(tmp_path / "pos.vec", crops)
    return crops


def test_the_crops_of_a_vec_are_used_as_they_are(tmp_path, samples):
    read = load_positives(tmp_path / "pos.vec")
    assert (read.windows == samples).all()
    assert (read.window, read.names[3]) == (Size(20, 12), "sample 3")
    assert read.report.lines()[0].startswith("positives: found 30 samples in ")
    assert "window 20x12, as the samples look" in read.report.notes
    assert (
        load_positives(tmp_path / "pos.vec", Size(20, 12)).fingerprint
        == load_positives(samples, Size(20, 12)).fingerprint
    )
    swapped = load_positives(tmp_path / "pos.vec", Size(12, 20))
    assert swapped.window == Size(12, 20)
    assert any("20x12" in note for note in swapped.report.notes)
    with pytest.raises(SourceError, match="they may be 20x12"):
        load_positives(tmp_path / "pos.vec", Size(24, 24))
    with pytest.raises(SourceError, match=r"pos\.vec holds crops of opencv_createsamples"):
        open_background_images(tmp_path / "pos.vec", WINDOW)


def test_training_from_one_file_for_both(tmp_path, photos):
    settings = TrainingSettings(n_negatives=60, max_stages=1, max_weak=3, baseline=False)
    path = csv_boxes(tmp_path, photos)
    cascade = train(path, path, None, settings, window=WINDOW, label="car")
    assert (cascade.window, cascade.n_stages) == (WINDOW, 1)
    plain = opencv_list(tmp_path, photos)
    assert train(plain, plain, None, settings, window=WINDOW).n_stages == 1
    with pytest.raises(SourceError, match="choose one with --label"):
        train(path, path, None, settings, window=WINDOW)
    names = tmp_path / "names.txt"
    names.write_text("\n".join(photo.name for photo in photos))
    with pytest.raises(SourceError, match="for positives and negatives"):
        train(names, names, None, settings, window=WINDOW)


def test_a_folder_with_annotations_is_no_folder_of_crops(tmp_path, photos):
    yolo(tmp_path, photos)
    settings = TrainingSettings(n_negatives=60, max_stages=1, max_weak=3, baseline=False)
    (tmp_path / "streets").mkdir()
    for i in range(3):
        write_image(
            tmp_path / "streets" / f"{i}.png", builders.smooth_noise(np.random.default_rng(i), 60, 70)
        )
    assert train(tmp_path, tmp_path / "streets", None, settings, window=WINDOW, label="car").n_stages == 1
