"""Positives from folders and lists, among them those that break other tools."""

from __future__ import annotations

import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from numpy.typing import NDArray
from PIL import Image

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.opencv_lists import Box
from vjcascade.training.data.crops import grow_to_shape
from vjcascade.training.data.positives import load_positives, propose_window
from vjcascade.types import Size

WINDOW = Size(24, 24)


def save(path: Path, pixels: NDArray[np.uint8]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def easy_crop(rng: np.random.Generator, width: int = 24, height: int = 24) -> NDArray[np.uint8]:
    """Left half light, right half dark, with noise."""
    mean = np.where(np.arange(width) < width // 2, 200, 50)
    return (mean + rng.normal(0, 12, (height, width))).clip(0, 255).astype(np.uint8)


def easy_folder(folder: Path, rng: np.random.Generator, n: int = 60) -> Path:
    for i in range(n):
        save(folder / f"crop{i:03}.png", easy_crop(rng))
    return folder


def test_easy_folder(tmp_path: Path, rng: np.random.Generator) -> None:
    easy_folder(tmp_path / "pos", rng)
    positives = load_positives(tmp_path / "pos", WINDOW)
    assert positives.windows.shape == (60, 24, 24)
    assert positives.windows.dtype == np.uint8
    assert positives.windows.flags.writeable
    assert positives.names == tuple(f"crop{i:03}.png" for i in range(60))
    assert positives.groups.tolist() == list(range(60))
    assert positives.report.skipped == ()
    assert positives.report.notes == ("60 positives are few: a good detector needs hundreds to thousands",)


def test_junk_in_the_folder(tmp_path: Path, rng: np.random.Generator) -> None:
    pos = easy_folder(tmp_path / "pos", rng)
    (pos / "Thumbs.db").write_bytes(rng.bytes(500))
    (pos / ".DS_Store").write_bytes(rng.bytes(500))
    (pos / "notes.txt").write_text("notes")
    (pos / "empty.jpg").touch()
    (pos / "fake.png").write_text("no picture")
    cut = np.zeros((24, 24, 2), np.uint8)
    cut[..., 0] = 200
    cut[:, :12, 1] = 255
    save(pos / "cut.PNG", cut)

    positives = load_positives(pos, WINDOW)
    lines = positives.report.lines()
    assert lines[0] == f"positives: found 63 image files in {pos}, used 61, skipped 2"
    assert [skipped.name for skipped in positives.report.skipped] == ["empty.jpg", "fake.png"]
    assert not any(str(pos) in reason for _, reason, _ in positives.report.skipped)  # the name is enough
    window = positives.windows[positives.names.index("cut.PNG")]
    assert (window[:, :12] == 200).all()
    assert (window[:, 12:] == 128).all()
    with pytest.raises(SourceError, match=r"2 of 63 image files(.|\n)*empty\.jpg(.|\n)*fake\.png"):
        load_positives(pos, WINDOW, strict=True)


def test_boxes_that_do_not_fit(tmp_path: Path, rng: np.random.Generator) -> None:
    save(tmp_path / "photo.png", rng.integers(0, 256, (80, 100), np.uint8))
    (tmp_path / "info.dat").write_text(
        "photo.png 5 10 10 24 24 90 10 24 24 -5 10 24 24 10 10 0 24 200 200 24 24\nphoto.png 2 10 10 24 24\n"
    )
    with pytest.raises(SourceError) as caught:
        load_positives(tmp_path / "info.dat", WINDOW)
    message = str(caught.value)
    assert "1 of 6 boxes" in message
    assert "at least 10 are needed" in message
    for expected in (
        (
            "info.dat:2: 'photo.png 2 10 10 24 24': the count 2 must be followed by four numbers for each box, "
            "but 4 follow; expected "
        ),
        "info.dat:1: photo.png 90 10 24 24: 42 % of the box is inside the 100x80 picture",
        "info.dat:1: photo.png -5 10 24 24: 79 % of the box is inside the 100x80 picture",
        "info.dat:1: photo.png 10 10 0 24: the box is empty",
        "info.dat:1: photo.png 200 200 24 24: 0 % of the box is inside the 100x80 picture",
    ):
        assert expected in message


def test_boxes_of_a_list(tmp_path: Path, rng: np.random.Generator) -> None:
    photos = rng.integers(0, 256, (2, 200, 300), np.uint8)
    for i, photo in enumerate(photos):
        save(tmp_path / f"photo {i}.png", photo)
    boxes = [f"{10 + 20 * i} 20 24 24" for i in range(9)]
    (tmp_path / "info.dat").write_text(
        f"photo 0.png 9 {' '.join(boxes)}\nphoto 1.png 3 {' '.join(boxes[:2])} -4 176 24 24\nphoto 0.png 0\n"
    )
    positives = load_positives(tmp_path / "info.dat", WINDOW)
    assert positives.names[9] == "photo 1.png 10 20 24 24"
    assert positives.groups.tolist() == [0] * 9 + [1] * 3
    np.testing.assert_array_equal(positives.windows[1], photos[0, 20:44, 30:54])
    # The last box is clipped to 20x24 and then grown to 24x24 again, with edge pixels on the left.
    np.testing.assert_array_equal(
        positives.windows[11], np.pad(photos[1, 176:200, :22], ((0, 0), (2, 0)), mode="edge")
    )
    assert positives.report.n_found == 12
    assert [str(item) for item in positives.report.clipped] == [
        "info.dat:2: photo 1.png -4 176 24 24: used as 0 176 20 24"
    ]


def test_small_and_mixed_shapes(tmp_path: Path, rng: np.random.Generator) -> None:
    for n, size in ((20, (24, 24)), (10, (10, 10)), (10, (48, 24)), (10, (24, 72))):
        for i in range(n):
            save(tmp_path / f"{size[0]}x{size[1]}_{i}.png", easy_crop(rng, *size))
    positives = load_positives(tmp_path, WINDOW)
    assert len(positives) == 50
    small, shaped, _ = positives.report.notes
    assert small.startswith(
        "10 of 50 positives are smaller than the 24x24 window on one side and were enlarged"
    )
    assert shaped.startswith("20 of 50 positives have another aspect ratio than the 24x24 window")
    assert "padded" in shaped
    assert shaped.endswith("worst: 24x72_0.png (24x72), 24x72_1.png (24x72), 24x72_2.png (24x72)")

    proposed = load_positives(tmp_path)
    assert proposed.window == WINDOW
    assert "window 24x24 chosen from the median crop 24x24" in proposed.report.notes

    at_least = load_positives(tmp_path, WINDOW, min_side=12)
    assert len(at_least) == 40
    assert at_least.report.skipped[0].reason == "10x10 is smaller than the minimum side of 12 pixels"


def test_flat_and_doubled_crops_are_not_used(tmp_path: Path, rng: np.random.Generator) -> None:
    easy_folder(tmp_path, rng, n=12)
    save(tmp_path / "flat.png", np.full((24, 24), 90, np.uint8))
    shutil.copy(tmp_path / "crop003.png", tmp_path / "again.png")
    positives = load_positives(tmp_path, WINDOW)
    assert len(positives) == 12
    assert [str(skipped) for skipped in positives.report.skipped] == [
        "crop003.png: same pixels as again.png",
        (
            "flat.png: too little contrast to be detected: the standard deviation of its grey levels is 0.0 and must "
            "be above 10"
        ),
    ]


def test_copies_of_a_photo_are_one_group(tmp_path: Path, rng: np.random.Generator) -> None:
    photo = rng.integers(0, 256, (40, 400), np.uint8)
    for name in ("a.png", "copy.png"):
        save(tmp_path / name, photo)
    boxes = [f"{30 * i} 5 24 24" for i in range(10)]
    (tmp_path / "info.dat").write_text(
        f"a.png 5 {' '.join(boxes[:5])}\ncopy.png 6 {' '.join(boxes[4:])}\n", encoding="utf-8"
    )
    positives = load_positives(tmp_path / "info.dat", WINDOW)
    assert positives.groups.tolist() == [0] * 10
    assert positives.report.skipped[0].reason == "same pixels as info.dat:1: a.png 120 5 24 24"


def test_too_few(tmp_path: Path, rng: np.random.Generator) -> None:
    easy_folder(tmp_path, rng, n=9)
    with pytest.raises(SourceError, match=r"9 of 9 image files .* at least 10 are needed"):
        load_positives(tmp_path)


def test_no_readable_picture(tmp_path: Path) -> None:
    (tmp_path / "empty.png").touch()
    with pytest.raises(SourceError, match=r"0 of 1 image file(.|\n)*empty\.png"):
        load_positives(tmp_path)


def test_list_without_boxes(tmp_path: Path, rng: np.random.Generator) -> None:
    save(tmp_path / "photo.png", rng.integers(0, 256, (40, 40), np.uint8))
    (tmp_path / "info.dat").write_text("photo.png 0\n")
    with pytest.raises(SourceError, match=r"no picture in .*info\.dat; looked for lines NAME COUNT X Y"):
        load_positives(tmp_path / "info.dat")


def test_same_result_for_any_number_of_threads(tmp_path: Path, rng: np.random.Generator) -> None:
    easy_folder(tmp_path, rng)
    one, four = (load_positives(tmp_path, n_threads=n) for n in (1, 4))
    np.testing.assert_array_equal(one.windows, four.windows)
    assert one.names == four.names
    assert one.report == four.report
    assert one.fingerprint == four.fingerprint


def test_fingerprint_follows_the_pixels(tmp_path: Path, rng: np.random.Generator) -> None:
    easy_folder(tmp_path, rng, n=12)
    before = load_positives(tmp_path, WINDOW).fingerprint
    save(tmp_path / "crop000.png", easy_crop(rng))
    assert load_positives(tmp_path, WINDOW).fingerprint != before
    assert load_positives(tmp_path, Size(20, 20)).fingerprint != before


@pytest.mark.parametrize(
    ("sizes", "window"),
    [
        ([(25, 25)], (24, 24)),
        ([(100, 40)], (38, 15)),
        ([(40, 100)], (15, 38)),
        ([(20, 20), (20, 20), (300, 20)], (20, 20)),
        ([(5, 5)], (8, 8)),
        ([(640, 480)] * 3, (28, 21)),
    ],
)
def test_proposed_window(sizes: list[tuple[int, int]], window: tuple[int, int]) -> None:
    assert propose_window(sizes) == window


@pytest.mark.parametrize(("size", "ratio"), [((400, 10), "40"), ((10, 400), "0.025")])
def test_no_window_is_proposed_that_no_cascade_can_have(size: tuple[int, int], ratio: str) -> None:
    with pytest.raises(SourceError, match=f"ratio of width to height is {ratio} for the median crop"):
        propose_window([size])
    assert propose_window([(320, 10)]) == Size(256, 8)


def test_long_thin_crops_are_skipped_before_they_are_padded(tmp_path: Path, rng: np.random.Generator) -> None:
    easy_folder(tmp_path, rng, n=12)
    for size in ((4, 12000), (12000, 4), (10, 100)):
        save(tmp_path / f"{size[0]}x{size[1]}.png", easy_crop(rng, *size))
    load_positives(tmp_path, WINDOW)  # imports and compiles
    tracemalloc.start()
    positives = load_positives(tmp_path, WINDOW)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e7
    assert [str(skipped) for skipped in positives.report.skipped] == [
        f"{size}.png: {size} has an aspect ratio too far from the 24x24 window's: it would fill less than 1/10 of it"
        for size in ("12000x4", "4x12000")
    ]


def test_negative_minimum_sides_are_none(tmp_path: Path, rng: np.random.Generator) -> None:
    save(tmp_path / "photo.png", rng.integers(0, 256, (30, 300), np.uint8))
    boxes = " ".join(f"{24 * i} 0 24 24" for i in range(10))
    (tmp_path / "info.dat").write_text(f"photo.png 11 {boxes} 5 5 9 0\n")
    assert len(load_positives(tmp_path / "info.dat", min_side=-3)) == 10


@given(width=st.integers(1, 1000), height=st.integers(1, 1000))
def test_crops_of_one_size_have_the_shape_of_their_window(width: int, height: int) -> None:
    assume(max(width, height) <= 32 * min(width, height))
    box = Box(0, 0, width, height)
    assert grow_to_shape(box, propose_window([(width, height)])) == box


@pytest.mark.data
def test_cars_get_a_wide_window(shared_data, tmp_path: Path) -> None:
    for path in (shared_data("cars-uiuc") / "TrainImages").glob("pos-*"):
        (tmp_path / path.name).symlink_to(path)
    positives = load_positives(tmp_path)
    assert positives.window == Size(38, 15)
    assert len(positives) == 550
    assert positives.report.skipped == ()
    assert not any("shape" in note for note in positives.report.notes)


def test_a_list_of_bare_names_is_one_of_crops(tmp_path: Path, rng: np.random.Generator) -> None:
    easy_folder(tmp_path / "pos", rng, 12)
    (tmp_path / "positives.txt").write_text("\n".join(f"pos/crop{i:03}.png" for i in range(12)))
    positives = load_positives(tmp_path / "positives.txt", WINDOW)
    np.testing.assert_array_equal(positives.windows, load_positives(tmp_path / "pos", WINDOW).windows)
    assert positives.report.unit == "image files"
    note = "positives.txt names pictures without boxes: each is used as a crop of the object"
    assert note in positives.report.notes


def test_scenes_of_opencv_createsamples_are_warned_of(tmp_path: Path, rng: np.random.Generator) -> None:
    easy_folder(tmp_path, rng, 12)
    for i in range(3):
        save(tmp_path / f"000{i}_0400_0130_0043_0044.jpg", easy_crop(rng))
    (note,) = (note for note in load_positives(tmp_path, WINDOW).report.notes if "createsamples" in note)
    assert note.startswith("3 pictures named as opencv_createsamples names scenes")
    assert note.endswith("give a list with lines like 0000_0400_0130_0043_0044.jpg 1 400 130 43 44")


def test_crops_that_exif_turned_are_counted(tmp_path: Path, rng: np.random.Generator) -> None:
    easy_folder(tmp_path, rng, 12)
    for i in range(2):
        exif = Image.Exif()
        exif[274] = 6
        Image.fromarray(easy_crop(rng)).save(tmp_path / f"turned{i}.png", exif=exif)
    assert "2 files were rotated upright as EXIF says" in load_positives(tmp_path, WINDOW).report.notes


def test_no_positive_at_all_is_not_few(tmp_path: Path) -> None:
    save(tmp_path / "flat.png", np.full((24, 24), 9, np.uint8))
    with pytest.raises(SourceError) as caught:
        load_positives(tmp_path, WINDOW)
    assert "few" not in str(caught.value)
