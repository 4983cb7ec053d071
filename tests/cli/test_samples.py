"""``vjcascade samples``: from boxes in pictures to a `.vec`, and `opencv_createsamples` in the same words."""

from __future__ import annotations

import errno
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from easy_pictures import contents, easy_positive, save, soft_noise
from PIL import Image

from vjcascade.cli.opencv_createsamples import PROGRAM as CREATESAMPLES
from vjcascade.evaluation import read_scenes
from vjcascade.formats.annotations import vec_files
from vjcascade.formats.annotations.reading import read_annotations
from vjcascade.imaging import read_gray
from vjcascade.training.data.holdout import split_held_out
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
    assert "window 24x24 chosen" in ran.out
    assert len(as_opencv_reads(photos / "a.vec", 24, 24)) == 2


def test_samples_that_look_like_another_size_are_told_of(run, photos, rng):
    noise = rng.integers(0, 256, (12, 20, 12), np.uint8)
    save(photos / "noise", noise)
    ran = run("samples", "noise", "b.vec", "--window", "12x20")
    assert ran.code == 0
    assert "look like another size: give --window 12x20" in ran.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("info.dat a.dat", "a.dat: samples are written to a .vec file or a folder"),
        ("info.dat", "give an output"),
        ("info.dat photos --make 5", "photos already exists"),
        ("info.dat a.vec --turn 9", "for altered samples, give their number, such as --make 2000"),
        ("info.dat a.vec --make 99999999999999999999", "Must be <= 1000000"),
        ("info.dat a.vec --make 5 --scenes --photos photos --max-scale nan", "Must be >= 1"),
        ("info.dat a.vec --make 5 --turn 200", "--turn 200.0 is not in [0, 180]"),
        ("info.dat a.vec --make 5 --blur nan", "--blur nan is not in [0, 20]"),
        ("info.dat a.vec --make 5 --photos photos", "crops have their own surroundings"),
        ("info.dat a.vec --make 5 --transparent 0", "info.dat is not one"),
        ("info.dat a.vec --make 5 --max-objects 2", "--max-objects and --max-scale need --scenes"),
        ("info.dat out --make 5 --format coco", "--format coco needs --scenes"),
        ("photos/000.png out --label car", "photos/000.png is one picture, so --label has no effect"),
        ("photos/000.png out --label car --min-side 5", "so --label and --min-side have no effect"),
        ("photos/000.png out --limit 5", "so --limit has no effect"),
        ("info.dat out --scenes", "give them with --photos FOLDER"),
        ("info.dat a.vec --scenes --photos photos", "scenes are written into a folder"),
        ("info.dat out --scenes --photos info.dat", "every photo has boxes around objects"),
        ("photos out --make 5 --sheet photos/look.png", "photos/look.png is inside photos"),
        ("photos photos/out --make 5", "photos/out is inside photos"),
        ("info.dat --sheet look.txt", "give a name that ends in .png"),
        ("info.dat --sheet nowhere/look.png", "there is no folder"),
        ("photos/000.png a.vec --tolerance 3", "give that level, too"),
        ("photos/000.png a.vec --transparent 300", "Must be <= 255"),
        ("photos/000.png a.vec --transparent 128 --tolerance 255", "the whole picture is transparent"),
        ("info.dat nowhere/a.vec", "there is no folder"),
        ("nothing.dat a.vec", "nothing.dat does not exist"),
        ("info.dat a.vec --window 300x20", "300x20"),
        ("info.dat a.vec --window 24x1", "3 to 256"),
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
    assert "a.vec: it differs from what was written, and was removed; check the disk" in ran.err
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
    assert "not given, so OpenCV's default: -w 24, -h 24\n" in ran.err
    assert len(as_opencv_reads(photos / "a.vec", 24, 24)) == 16


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("-vec a.vec", "-info must be given as for opencv_createsamples"),
        ("-img logo.png -info info.dat", "-img needs -vec FILE, or else -bg LIST and -info FILE"),
        ("-img logo.png -vec a.vec -maxzangle left", "-maxzangle 'left' is not a number"),
        ("-info info.dat -vec a.vec -show", "-show opens a window"),
        (
            "-info info.dat -vec a.vec -number 5",
            "not an option of opencv_createsamples; did you mean '-num'?",
        ),
        ("-info info.dat -vec a.vec -num 1.5", "'1.5' is not a whole number"),
        ("-info info.dat a.vec", "no words without an option, as 'a.vec': write -info FILE -vec FILE"),
        ("-vec a.vec -w 24 -h 24", "-info must be given"),
        ("info.dat a.vec -h", "-h is used with other arguments"),
    ],
)
def test_what_is_not_understood_is_an_error(run, photos, words, sentence):
    before = contents(photos)
    ran = run("samples", *words.split())
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert contents(photos) == before


def test_altered_samples_of_one_picture_stay_on_its_sheet(run, photos):
    words = ["info.dat", "out", "--make", "40", "--window", "24x24", "--seed", "3"]
    ran = run("samples", *words, "--threads", "1", "--sheet", "look.png")
    assert (ran.code, ran.err) == (0, "")
    assert "written: out (56 samples of 24x24 pixels, and their list)" in ran.out
    assert "these are copies of 16 originals, not new data" in ran.out
    assert run("samples", *["info.dat", "again", *words[2:]], "--threads", "3").code == 0
    assert contents(photos / "out") == contents(photos / "again")

    read = load_positives(photos / "out" / "info.dat", Size(24, 24))
    assert len(read) == 56
    assert (
        np.bincount(read.groups).tolist() == [8] * 4 + [6] * 4
    )  # two crops a photo, two or three copies each
    plain = load_positives(photos / "info.dat", Size(24, 24))
    as_they_are = {window.tobytes() for window in plain.windows}
    assert sum(window.tobytes() in as_they_are for window in read.windows) == 16
    assert read_gray(photos / "look.png").shape == (
        8 * (72 + 4) + 4,
        4 * (72 + 4) + 4,
    )  # a crop and three copies


def test_training_never_splits_the_copies_of_a_picture(run, photos):
    assert run("samples", "info.dat", "out", "--make", "144", "--window", "24x24").code == 0
    read = load_positives(photos / "out" / "info.dat", Size(24, 24))
    train, held_out = split_held_out(read.groups, seed=0)
    assert len(held_out) == 20
    sheets = [{read.names[i].split()[0] for i in part} for part in (train, held_out)]
    assert not sheets[0] & sheets[1]


def test_samples_of_a_cutout_lie_on_photos(run, photos):
    cutout = np.zeros((40, 40, 2), np.uint8)
    cutout[5:35, 10:30] = [0, 255]
    cutout[5:35, 20:30, 0] = 255
    Image.fromarray(cutout, "LA").save(photos / "logo.png")
    (photos / "bg.txt").write_text("photos/000.png\nphotos/001.png\n")
    ran = run("samples", "logo.png", "a.vec", "--photos", "bg.txt", "--make", "20", "--window", "24x24")
    assert ran.code == 0
    assert "object: logo.png, of which 20x30 pixels are not transparent" in ran.out
    assert "nothing can be held out" in ran.out
    windows = as_opencv_reads(photos / "a.vec", 24, 24)
    assert len(windows) == 20
    assert (windows[:, 8:16, 13:18].mean(axis=(1, 2)) - windows[:, 8:16, 6:11].mean(axis=(1, 2))).min() > 60
    assert windows[:, :, 0].std(axis=0).min() > 5  # what is behind differs from sample to sample


def test_scenes_are_read_by_evaluate(run, photos, accept_all):
    (photos / "bg.txt").write_text("photos/000.png\nphotos/001.png\n")
    save(photos / "crops", [easy_positive(np.random.default_rng(5))])
    words = ["--scenes", "--photos", "bg.txt", "--make", "3", "--window", "24x24", "--max-objects", "2"]
    ran = run("samples", "crops/000.png", "scenes", *words, "--sheet", "scenes.png")
    assert (ran.code, ran.err) == (0, "")
    assert "negatives: found 2 image files in bg.txt, used 2, skipped 0" in ran.out
    assert "written: scenes (3 scenes with " in ran.out
    assert len((photos / "scenes" / "info.dat").read_text().splitlines()) == 3
    assert run("evaluate", accept_all, "scenes/info.dat").code == 0
    assert 3 <= read_scenes("scenes/info.dat").n_objects.sum() <= 6


@pytest.mark.parametrize(
    ("kind", "source"),
    [("coco", "annotations.json"), ("csv", "annotations.csv"), ("yolo", "data.yaml"), ("voc", "")],
)
def test_scenes_in_other_formats_have_the_same_boxes(run, photos, rng, kind, source):
    save(photos / "others", [soft_noise(rng) for _ in range(2)])
    words = ["--scenes", "--photos", "others", "--make", "3", "--window", "24x24", "--label", "left"]
    assert run("samples", "coco.json", "scenes", *words, "--format", kind).code == 0
    read = read_annotations(photos / "scenes" / source)
    listed = read_annotations(photos / "scenes" / "info.dat")
    assert {thing.label for one in read.pictures for thing in one.objects} == {"left"}
    assert [(one.path, [thing.box for thing in one.objects]) for one in read.pictures] == [
        (one.path, [thing.box for thing in one.objects]) for one in listed.pictures
    ]
    assert len(listed.pictures) == 3


@pytest.mark.parametrize("kind", ["samples", "scenes"])
def test_sheets_and_scenes_are_no_crops_and_no_photos(run, photos, rng, kind):
    save(photos / "others", [soft_noise(rng) for _ in range(2)])
    more = ["--scenes", "--photos", "others"] if kind == "scenes" else []
    assert run("samples", "info.dat", "made", "--make", "3", "--window", "24x24", *more).code == 0
    ran = run("train", "made", "photos", "--output", "out")
    assert ran.code == 2
    assert (
        "positives: made holds pictures with boxes around the object, according to info.dat in it" in ran.err
    )
    assert "Give that file in place of the folder: made/info.dat" in ran.err
    ran = run("train", "info.dat", "made", "--output", "out")
    assert (ran.code, (photos / "out").exists()) == (2, False)
    assert "Give photos without it" in ran.err


def test_strictly_no_photo_is_left_out(run, photos):
    (photos / "bg.txt").write_text("photos/000.png\ngone.png\n")
    words = ["samples", "photos/001.png", "out", "--photos", "bg.txt", "--make", "2"]
    ran = run(*words, "--strict")
    assert (ran.code, "gone.png" in ran.err) == (2, True)
    assert not (photos / "out").exists()
    assert run(*words).code == 0


def test_a_sheet_alone_writes_nothing_else(run, photos):
    before = contents(photos).keys()
    assert run("samples", "info.dat", "--sheet", "look.png").code == 0
    assert contents(photos).keys() - before == {Path("look.png")}


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (
            "-img a.png -vec a.vec -num 7 -maxxangle 0.2 -maxyangle 0 -maxzangle 0.1 -inv -rngseed 5",
            (
                "a.png a.vec --window 24x24 --transparent 0 --tolerance 80 --strength 0 --brightness 40 --tilt-x 11.46 "
                "--tilt-y 0 --turn 5.73 --inverted yes --seed 5 --make 7"
            ),
        ),
        (
            "-img a.png -info b/info.dat -bg bg.txt -bgcolor 255 -bgthresh 9 -maxidev 8 -maxscale 3 -randinv -w 9 -h 8",
            (
                "a.png b/info --scenes --window 9x8 --transparent 255 --tolerance 9 --strength 0 --brightness 8 "
                "--tilt-x 63.03 --tilt-y 63.03 --turn 28.65 --inverted half --photos bg.txt --max-scale 3 "
                "--max-objects 1"
            ),
        ),
        (
            "-img a.png -vec a.vec -bg bg.txt --strength 0.5 -w 9 -h 8",
            (
                "a.png a.vec --window 9x8 --transparent 0 --tolerance 80 --brightness 40 --tilt-x 63.03 --tilt-y 63.03 "
                "--turn 28.65 --make 1000 --photos bg.txt --strength 0.5"
            ),
        ),
    ],
)
def test_one_picture_in_the_words_of_createsamples(words, command):
    commands, _ = CREATESAMPLES.translated(words.split())
    assert commands == [["samples", *command.split()]]


def test_a_command_line_of_createsamples_with_one_picture_runs(run, photos):
    (photos / "bg.txt").write_text("photos/000.png\nphotos/001.png\n")
    picture = np.full((30, 30), 250, np.uint8)
    picture[5:25, 5:25] = easy_positive(np.random.default_rng(0))[:20, 2:22]
    save(photos / "logo", [picture])
    words = [
        "-img",
        "logo/000.png",
        "-bgcolor",
        "250",
        "-bgthresh",
        "3",
        "-bg",
        "bg.txt",
        "-w",
        "20",
        "-h",
        "20",
    ]
    ran = run("samples", *words, "-vec", "a.vec", "-num", "6")
    assert ran.code == 0
    assert "-bgthresh 3: used as --tolerance 3" in ran.err
    assert len(as_opencv_reads(photos / "a.vec", 20, 20)) == 6
    assert run("samples", *words, "-info", "test/info.dat", "-num", "2").code == 0
    assert len((photos / "test" / "info" / "info.dat").read_text().splitlines()) == 2
