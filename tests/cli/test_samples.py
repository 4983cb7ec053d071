"""``vjcascade samples``: from boxes in pictures to a `.vec`, and `opencv_createsamples` in the same words."""

from __future__ import annotations

import errno
import json
import os
import struct

import numpy as np
import pytest
from easy_pictures import contents, easy_positive, save, soft_noise

from vjcascade.formats.annotations import vec_files
from vjcascade.training.data.positives import load_positives
from vjcascade.types import Size


@pytest.fixture
def photos(tmp_path, rng, monkeypatch):
    """Return a folder with photos of two objects each, `info.dat` and `coco.json`; it is the current one."""
    pictures, lines, images, boxes = [], [], [], []
    for i in range(8):
        picture = soft_noise(rng)
        for label, (x, y) in enumerate(((10, 20), (70, 60))):
            picture[y : y + 24, x : x + 24] = easy_positive(rng)
            boxes.append({"image_id": i, "category_id": label, "bbox": [x, y, 24, 24], "id": len(boxes)})
        pictures.append(picture)
        lines.append(f"photos/{i:03}.png 2 10 20 24 24 70 60 24 24\n")
        images.append({"id": i, "file_name": f"photos/{i:03}.png", "width": 120, "height": 120})
    save(tmp_path / "photos", pictures)
    (tmp_path / "info.dat").write_text("".join(lines))
    kinds = [{"id": 0, "name": "left"}, {"id": 1, "name": "right"}]
    (tmp_path / "coco.json").write_text(
        json.dumps({"images": images, "annotations": boxes, "categories": kinds})
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def as_opencv_reads(file, width, height):
    """Return the samples as OpenCV's trainer reads them: by the count of the header, of each number the lower byte."""
    data = file.read_bytes()
    count, size, _, _ = struct.unpack("<iihh", data[:12])
    assert size == width * height
    numbers = [
        struct.unpack(f"<{size}h", data[start + 1 : start + 1 + 2 * size])
        for start in range(12, 12 + count * (1 + 2 * size), 1 + 2 * size)
    ]
    return (np.array(numbers) & 255).reshape(count, height, width)


def test_samples_are_what_training_sees(run, photos):
    ran = run("samples", "info.dat", "a.vec", "--window", "20x24")
    assert (ran.code, ran.err) == (0, "")
    assert "positives: found 16 boxes in info.dat, used 16, skipped 0" in ran.out
    assert ran.out.endswith("written: a.vec (16 samples of 20x24 pixels)\n")
    crops = load_positives("info.dat", Size(20, 24))
    assert (as_opencv_reads(photos / "a.vec", 20, 24) == crops.windows).all()
    assert load_positives("a.vec", Size(20, 24)).fingerprint == crops.fingerprint


@pytest.mark.parametrize("label", ["left", "right"])
def test_one_kind_of_object_is_chosen(run, photos, label):
    assert run("samples", "coco.json", "a.vec", "--window", "24x24", "--label", label).code == 0
    crops = load_positives("coco.json", Size(24, 24), label=label, at_least=1)
    assert len(crops) == 8
    assert (as_opencv_reads(photos / "a.vec", 24, 24) == crops.windows).all()


def test_a_folder_and_a_proposed_window(run, photos, rng):
    save(photos / "crops", [easy_positive(rng) for _ in range(3)])
    ran = run("samples", "crops", "a.vec", "--limit", "2")
    assert ran.code == 0
    assert "window 24x24 proposed" in ran.out
    assert len(as_opencv_reads(photos / "a.vec", 24, 24)) == 2


def test_samples_that_look_like_another_size_are_told_of(run, photos, rng):
    noise = rng.integers(0, 256, (12, 20, 12), np.uint8)
    save(photos / "noise", noise)
    ran = run("samples", "noise", "b.vec", "--window", "12x20")
    assert ran.code == 0
    assert "look like others: give --window 12x20 with them" in ran.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("info.dat a.dat", "a.dat: samples are written as .vec files"),
        ("info.dat nowhere/a.vec", "there is no folder"),
        ("nothing.dat a.vec", "nothing.dat does not exist"),
        ("info.dat a.vec --window 300x20", "300x20"),
        ("coco.json a.vec --label car", "car"),
        ("info.dat a.vec --limit 0", "Must be >= 1"),
        ("photos a.vec --min-side 500", "0 of 8 image files in photos can be used as positives, at least 1 is needed"),
        ("copy.vec copy.vec", "would overwrite the model or an input"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_said(run, photos, words, sentence):
    vec_files.write_vec(photos / "copy.vec", np.zeros((2, 24, 24), np.uint8))
    before = contents(photos)
    ran = run("samples", *words.split())
    assert ran.code == 2
    assert sentence in ran.err
    assert contents(photos) == before


def test_strictly_nothing_is_written(run, photos):
    with (photos / "info.dat").open("a") as file:
        file.write("photos/gone.png 1 0 0 24 24\n")
    ran = run("samples", "info.dat", "a.vec", "--strict")
    assert (ran.code, "gone.png" in ran.err) == (2, True)
    assert not (photos / "a.vec").exists()
    assert run("samples", "info.dat", "a.vec").code == 0


def test_a_full_disk_leaves_the_file_that_was_there(run, photos, monkeypatch):
    assert run("samples", "info.dat", "a.vec", "--limit", "3").code == 0
    before = contents(photos)

    def fail(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(vec_files, "write_atomic", fail)
    ran = run("samples", "info.dat", "a.vec")
    assert (ran.code, ran.err) == (2, "vjcascade: error: a.vec: No space left on device\n")
    assert contents(photos) == before


def test_what_reads_otherwise_than_it_was_written_is_removed(run, photos, monkeypatch):
    def write_badly(path, data):
        path.write_bytes(data[:-2] + bytes([data[-2] ^ 1, 0]))

    monkeypatch.setattr(vec_files, "write_atomic", write_badly)
    ran = run("samples", "info.dat", "a.vec")
    assert ran.code == 2
    assert "a.vec: it reads otherwise than it was written, and was removed; check the disk" in ran.err
    assert not (photos / "a.vec").exists()


def test_a_vec_of_others_as_positives(run, photos):
    assert run("samples", "info.dat", "a.vec").code == 0
    assert run("samples", "a.vec", "b.vec", "--window", "24x24").code == 0
    assert (photos / "a.vec").read_bytes() == (photos / "b.vec").read_bytes()


def test_a_command_line_of_createsamples(run, photos):
    ran = run("samples", *["-info", "info.dat", "-vec", "a.vec", "-num", "10", "-w", "20", "-h", "24"])
    assert ran.code == 0
    for note in ("-info info.dat: used as the positives", "-num 10: used as --limit 10", "-h 24: used as"):
        assert note in ran.err
    assert "in other words: vjcascade samples info.dat a.vec --window 20x24 --limit 10\n" in ran.err
    assert len(as_opencv_reads(photos / "a.vec", 20, 24)) == 10


def test_without_sizes_they_are_those_of_createsamples(run, photos):
    ran = run("samples", *["-info", "info.dat", "-vec", "a.vec", "--strict"])
    assert ran.code == 0
    assert "not given, so as there: -w 24, -h 24\n" in ran.err
    assert len(as_opencv_reads(photos / "a.vec", 24, 24)) == 16


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("-vec a.vec", "-info must be given as for opencv_createsamples"),
        ("-img logo.png -vec a.vec", "-img is not for cropping boxes out of pictures"),
        ("-info info.dat -vec a.vec -show", "-show is not for cropping"),
        ("-info info.dat -vec a.vec -number 5", "no option of opencv_createsamples; did you mean '-num'?"),
        ("-info info.dat -vec a.vec -num 1.5", "'1.5' is not a whole number"),
        ("-info info.dat a.vec", "no words without an option, as 'a.vec': write -info FILE -vec FILE"),
        ("-vec a.vec -w 24 -h 24", "-info must be given"),
        ("info.dat a.vec -h", "-h stands among other words"),
    ],
)
def test_what_is_not_understood_is_an_error(run, photos, words, sentence):
    before = contents(photos)
    ran = run("samples", *words.split())
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert contents(photos) == before
