"""Background images: which are used, and that they stay what they were."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from vjcascade.errors import SourceError
from vjcascade.training.data.backgrounds import open_background_images
from vjcascade.training.data.sources import pixel_digest
from vjcascade.types import Size

WINDOW = Size(24, 24)
FORM = "expected NAME COUNT X Y WIDTH HEIGHT ... in whole numbers"


@pytest.fixture
def photos(rng: np.random.Generator) -> NDArray[np.uint8]:
    return rng.integers(0, 256, (6, 50, 60), np.uint8)


@pytest.fixture
def folder(tmp_path: Path, photos: NDArray[np.uint8]) -> Path:
    (tmp_path / "neg").mkdir()
    for name, photo in zip("abcdef", photos, strict=True):
        Image.fromarray(photo).save(tmp_path / "neg" / f"{name}.png")
    return tmp_path / "neg"


@pytest.mark.parametrize("memory_limit", [2**30, 2 * 50 * 60, 0])
def test_pictures_from_memory_and_from_files(
    folder: Path, photos: NDArray[np.uint8], memory_limit: int
) -> None:
    steps: list[tuple[int, int]] = []
    backgrounds = open_background_images(
        folder, WINDOW, memory_limit=memory_limit, progress=lambda *step: steps.append(step)
    )
    assert len(backgrounds) == 6
    assert backgrounds.names == ("a.png", "b.png", "c.png", "d.png", "e.png", "f.png")
    assert backgrounds.sizes == (Size(60, 50),) * 6
    n_kept = sum(photo.pixels is not None for photo in backgrounds.photos)
    assert n_kept == min(memory_limit // (50 * 60), 6)
    for i, photo in enumerate(photos):
        np.testing.assert_array_equal(backgrounds[i], photo)
    assert steps == [(i, 6) for i in range(1, 7)]


def test_subset_and_fingerprint(folder: Path, photos: NDArray[np.uint8]) -> None:
    backgrounds = open_background_images(folder, WINDOW)
    subset = backgrounds.subset([4, 1])
    assert subset.names == ("e.png", "b.png")
    np.testing.assert_array_equal(subset[1], photos[1])
    again = open_background_images(folder, WINDOW, n_threads=1, memory_limit=0)
    assert again.fingerprint == backgrounds.fingerprint
    assert subset.fingerprint != backgrounds.fingerprint


def test_windows_list(folder: Path) -> None:
    (folder.parent / "bg.txt").write_bytes(
        b"neg/a.png\r\n\r\nneg/b.png   \r\n# comment\r\nneg/c.png\r\nneg/missing.png\r\nneg/d.png"
    )
    backgrounds = open_background_images(folder.parent / "bg.txt", WINDOW)
    assert backgrounds.names == ("neg/a.png", "neg/b.png", "neg/c.png", "neg/d.png")
    (line,) = [line for line in backgrounds.report.lines() if "skipped bg.txt" in line]
    assert line.startswith("  skipped bg.txt:6: neg/missing.png: not found")


def test_small_broken_and_doubled_photos_are_skipped(folder: Path, rng: np.random.Generator) -> None:
    Image.fromarray(rng.integers(0, 256, (50, 16), np.uint8)).save(folder / "small.png")
    (folder / "broken.jpg").write_bytes(b"no picture")
    shutil.copy(folder / "c.png", folder / "g.png")
    backgrounds = open_background_images(folder, WINDOW)
    assert len(backgrounds) == 6
    broken, double, small = backgrounds.report.skipped
    assert broken.name == "broken.jpg"
    assert str(double) == "g.png: same pixels as c.png"
    assert str(small) == "small.png: 16x50 is smaller than the 24x24 window"
    with pytest.raises(SourceError, match="3 of 9 image files"):
        open_background_images(folder, WINDOW, strict=True)


def test_all_too_small(tmp_path: Path, rng: np.random.Generator) -> None:
    for i in range(20):
        Image.fromarray(rng.integers(0, 256, (16, 16), np.uint8)).save(tmp_path / f"{i:02}.png")
    expected = r"20 of 20 negatives are smaller than the 24x24 window, for example 00\.png\."
    with pytest.raises(SourceError, match=expected):
        open_background_images(tmp_path, WINDOW)
    Image.fromarray(rng.integers(0, 256, (64, 64), np.uint8)).save(tmp_path / "large.png")
    backgrounds = open_background_images(tmp_path, WINDOW)
    assert backgrounds.names == ("large.png",)
    assert backgrounds.report.lines()[0].endswith("used 1, skipped 20")


def test_none_readable(tmp_path: Path) -> None:
    (tmp_path / "fake.png").write_text("no picture")
    with pytest.raises(SourceError, match=r"none of the 1 negatives(.|\n)*fake\.png"):
        open_background_images(tmp_path, WINDOW)


def test_photo_that_goes_or_changes_while_training(folder: Path) -> None:
    backgrounds = open_background_images(folder, WINDOW, memory_limit=0)
    shutil.copy(folder / "a.png", folder / "b.png")
    (folder / "c.png").unlink()
    with pytest.raises(SourceError, match=r"b\.png has changed since"):
        backgrounds[1]
    with pytest.raises(SourceError, match=r"c\.png can no longer be read"):
        backgrounds[2]


def test_boxes_to_ignore(folder: Path) -> None:
    lines = ["neg/a.png 1 5 6 20 10", "neg/b.png 0", "neg/c.png", "neg/d.png 2 -3 0 9 9 40 40 50 50"]
    (folder.parent / "info.dat").write_text("\n".join(lines))
    backgrounds = open_background_images(folder.parent / "info.dat", WINDOW)
    assert backgrounds.names == ("neg/a.png", "neg/b.png", "neg/c.png", "neg/d.png")
    boxes = [backgrounds.ignored(i).tolist() for i in range(4)]
    assert boxes == [[[5, 6, 20, 10]], [], [], [[-3, 0, 9, 9], [40, 40, 50, 50]]]
    assert backgrounds.ignored(1).shape == (0, 4)
    assert backgrounds.ignored(1).dtype == np.int32
    assert backgrounds.subset([3, 1]).ignored(0).tolist() == boxes[3]


def test_boxes_are_part_of_the_fingerprint(folder: Path) -> None:
    fingerprints = set()
    for line in ("", " 0", " 1 5 6 20 10", " 1 5 6 20 11"):
        (folder.parent / "bg.txt").write_text(f"neg/a.png{line}\nneg/b.png\n")
        fingerprints.add(open_background_images(folder.parent / "bg.txt", WINDOW).fingerprint)
    assert len(fingerprints) == 3
    assert open_background_images(folder, WINDOW).subset([0, 1]).fingerprint in fingerprints


def test_boxes_of_copies_are_joined(folder: Path) -> None:
    shutil.copy(folder / "a.png", folder / "z.png")
    lines = ["neg/a.png 1 5 6 20 10", "neg/z.png 2 5 6 20 10 1 1 8 8", "neg/a.png 1 30 30 9 9"]
    (folder.parent / "info.dat").write_text("\n".join(lines))
    backgrounds = open_background_images(folder.parent / "info.dat", WINDOW)
    assert backgrounds.ignored(0).tolist() == [[5, 6, 20, 10], [1, 1, 8, 8], [30, 30, 9, 9]]
    assert [str(item) for item in backgrounds.report.skipped] == [
        "info.dat:2: neg/z.png: same pixels as neg/a.png",
        "info.dat:3: neg/a.png: same pixels as neg/a.png",
    ]


def test_photos_with_wrong_boxes_are_skipped(folder: Path) -> None:
    lines = ["neg/a.png 1 5 6 0 10", "neg/b.png 2 5 6 20 10", "neg/c.png 1 5 6 9 -1", "neg/d.png"]
    (folder.parent / "info.dat").write_text("\n".join(lines))
    backgrounds = open_background_images(folder.parent / "info.dat", WINDOW)
    assert backgrounds.names == ("neg/d.png",)
    assert {str(item) for item in backgrounds.report.skipped} == {
        "info.dat:1: neg/a.png: box 5 6 0 10 to ignore has no area",
        (
            f"info.dat:2: 'neg/b.png 2 5 6 20 10': the count 2 must be followed by four numbers for each box, but "
            f"4 follow; {FORM}"
        ),
        "info.dat:3: neg/c.png: box 5 6 9 -1 to ignore has no area",
    }


def test_pictures_of_the_object_are_no_photos(folder: Path, photos: NDArray[np.uint8]) -> None:
    """Whatever their names and formats; boxes to ignore make them usable."""
    digests = {pixel_digest(photos[1]), pixel_digest(photos[4])}
    backgrounds = open_background_images(folder, WINDOW, not_these=digests)
    assert backgrounds.names == ("a.png", "c.png", "d.png", "f.png")
    reason = "is also among the positives: it shows the object"
    assert [str(item) for item in backgrounds.report.skipped] == [f"b.png: {reason}", f"e.png: {reason}"]
    (folder.parent / "info.dat").write_text("neg/b.png 1 5 5 20 20\nneg/e.png\n")
    listed = open_background_images(folder.parent / "info.dat", WINDOW, not_these=digests)
    assert listed.names == ("neg/b.png",)
    with pytest.raises(SourceError, match="none of the 6 negatives"):
        open_background_images(folder, WINDOW, not_these={pixel_digest(photo) for photo in photos})
