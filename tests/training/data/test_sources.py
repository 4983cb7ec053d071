"""Folders and lists before a picture is opened, and the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from easy_pictures import save, soft_noise

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.pictures import AnnotatedObject, AnnotatedPicture
from vjcascade.formats.annotations.writing import write_annotations
from vjcascade.imaging import write_image
from vjcascade.training.data.sources import Skipped, SourceReport, list_pictures, pixel_digest, refuse_skipped
from vjcascade.types import Size


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_folder_is_searched_in_a_fixed_order(tmp_path: Path) -> None:
    junk = ("Thumbs.db", ".DS_Store", "notes.txt", ".hidden.png", ".cache/x.png", "sub/.trash/y.png", "png")
    touch(tmp_path, "b.JPG", "sub/deep/a.png", "B.png", "a.jpeg", *junk)
    listing = list_pictures(tmp_path, "positives")
    assert [picture.name for picture in listing.pictures] == ["B.png", "a.jpeg", "b.JPG", "sub/deep/a.png"]
    assert listing.skipped == ()
    assert listing.unit == "image files"


def test_hidden_parents_of_the_source_do_not_matter(tmp_path: Path) -> None:
    touch(tmp_path, ".data/pos/a.png")
    assert len(list_pictures(tmp_path / ".data" / "pos", "positives").pictures) == 1


@pytest.mark.parametrize(("written", "near"), [("poss", "pos"), ("pis", "pos"), ("NEG", None)])
def test_source_that_does_not_exist(tmp_path: Path, written: str, near: str | None) -> None:
    touch(tmp_path, "pos/a.png")
    with pytest.raises(SourceError) as caught:
        list_pictures(tmp_path / written, "positives")
    assert str(tmp_path / written) in str(caught.value)
    assert ("did you mean" in str(caught.value)) is (near is not None)
    assert near is None or f"did you mean {near}?" in str(caught.value)


def test_source_whose_name_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"positives: .* cannot be read: File name too long"):
        list_pictures(tmp_path / ("x" * 5000), "positives")


def test_missing_folder_on_the_way(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"does not exist$"):
        list_pictures(tmp_path / "gone" / "pos", "positives")


def test_folder_without_pictures_says_what_was_looked_for(tmp_path: Path) -> None:
    touch(tmp_path, "notes.txt")
    with pytest.raises(SourceError, match=r"no picture in .*looked for files named .*\*\.png"):
        list_pictures(tmp_path, "negatives")


def test_empty_list(tmp_path: Path) -> None:
    (tmp_path / "bg.txt").write_text("\n# nothing\n")
    with pytest.raises(SourceError, match=r"no picture in .*bg\.txt; looked for lines that name"):
        list_pictures(tmp_path / "bg.txt", "negatives")


def test_list_keeps_lines_for_the_report(tmp_path: Path) -> None:
    touch(tmp_path, "a.png")
    (tmp_path / "info.dat").write_text("a.png 1 1 2 3 4\ngone.png 1 1 2 3 4\n")
    listing = list_pictures(tmp_path / "info.dat", "positives")
    assert listing.unit == "boxes"
    assert [picture.label for picture in listing.pictures] == ["info.dat:1: a.png"]
    assert [skipped.name for skipped in listing.skipped] == ["info.dat:2"]


def test_report_is_cut_after_the_limit() -> None:
    skipped = tuple(Skipped(f"{i}.png", "is empty") for i in range(25))
    report = SourceReport("negatives", "neg", "image files", 3, skipped, notes=("look here",))
    lines = report.lines()
    assert lines[0] == "negatives: found 28 image files in neg, used 3, skipped 25"
    assert lines[1] == "  skipped 0.png: is empty"
    assert lines[20:] == ["  skipped 19.png: is empty", "  ... and 5 more", "  note: look here"]
    assert len(report.lines(limit=2)) == 5


def test_strict_names_what_was_skipped() -> None:
    refuse_skipped(SourceReport("positives", "pos", "image files", 3))
    report = SourceReport("positives", "pos", "image files", 3, (Skipped("a.png", "is empty"),))
    with pytest.raises(SourceError, match=r"1 of 4 image files in pos(.|\n)*a\.png: is empty"):
        refuse_skipped(report)


def test_digest_sees_shape_and_pixels() -> None:
    gray = np.arange(6, dtype=np.uint8)
    digests = {pixel_digest(gray.reshape(shape)) for shape in ((2, 3), (3, 2), (1, 6))}
    assert len(digests) == 3
    assert pixel_digest(gray.reshape(2, 3)) in digests
    assert pixel_digest(gray.reshape(2, 3)[:, ::-1]) not in digests


@pytest.mark.parametrize(
    ("unit", "one"), [("image files", "1 image file"), ("boxes", "1 box"), ("arrays", "1 array")]
)
def test_one_is_counted_in_the_singular(unit, one):
    assert SourceReport("positives", "pos", unit, 1).lines() == [
        f"positives: found {one} in pos, used 1, skipped 0"
    ]
    assert f"found 2 {unit} in" in SourceReport("positives", "pos", unit, 2).lines()[0]


def test_names_with_line_breaks_stay_on_their_line():
    skipped = Skipped("a.jpg\nb.jpg", "is empty")
    report = SourceReport("positives", "pos\nitives", "image files", 1, (skipped,), notes=("one\ntwo",))
    assert [line.count("\n") for line in report.lines()] == [0, 0, 0]
    assert report.lines()[1] == r"  skipped a.jpg\nb.jpg: is empty"


def test_a_list_of_whole_pictures_does_not_bar_their_folder(tmp_path, rng):
    save(tmp_path / "crops", [soft_noise(rng)[:24, :20] for _ in range(2)])
    whole = "000.png 1 0 0 20 24\n001.png 1 0 0 20 24\n"
    (tmp_path / "crops" / "info.dat").write_text(whole)
    assert len(list_pictures(tmp_path / "crops", "positives").pictures) == 2
    (tmp_path / "crops" / "info.dat").write_text(whole.replace("001.png 1 0 0 20", "001.png 1 2 0 18"))
    with pytest.raises(SourceError, match=r"according to info\.dat in it: 001\.png has 1\. Give that file"):
        list_pictures(tmp_path / "crops", "positives")


@pytest.mark.parametrize("name", ["labels.json", "boxes.csv"])
def test_a_folder_whose_pictures_have_boxes_in_a_file_there_is_refused(tmp_path, rng, name):
    """Whole photos would be taken for the object, or the object would be among the negatives."""
    write_image(tmp_path / "a.png", rng.integers(0, 256, (60, 90), dtype=np.uint8))
    (tmp_path / "notes.json").write_text('{"a": 1}')
    assert len(list_pictures(tmp_path, "positives").pictures) == 1
    objects = (AnnotatedObject((3, 4, 24, 24), "car"),)
    picture = AnnotatedPicture(1, "a.png", tmp_path / "a.png", objects, Size(90, 60))
    write_annotations(tmp_path / name, [picture], "coco" if name.endswith("json") else "csv")
    for kind, advice in (
        ("positives", "Give that file in place"),
        ("negatives", "Give photos without it; or"),
    ):
        with pytest.raises(SourceError, match=f"according to {name} in it: a.png has 1. {advice}"):
            list_pictures(tmp_path, kind)
    assert len(list_pictures(tmp_path / name, "negatives").pictures) == 1
