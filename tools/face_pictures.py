"""The pictures that models/frontalface.xml is trained on: faces as old, printed and small photos show them, too.

Faces of the web are sharper than those of scanned newspapers and of group pictures. Besides each face as it is, there
is an altered copy: turned, shifted and scaled a little, every second one mirrored, unevenly lit, blurred and noisy, and half of
them printed: of few grey levels, dithered. All pictures of a face stand in one
strip, so that they stay on one side when samples are held out. Photos without faces are given turned by 180 degrees
as well, noisy and printed as the faces. Photos of people show what is near faces: hands, knees, clothes.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter

from vjcascade.imaging import image_size, read_gray, resize_crop, write_image
from vjcascade.parallel import ordered_map
from vjcascade.training.data.copies import Region
from vjcascade.types import Size

Gray = NDArray[np.uint8]

Box = tuple[int, int, int, int]
"""x, y, width and height, in pixels."""

UNLABELLED = Path(__file__).with_name("faces-unlabelled.csv")
"""Faces in photos of people that have no box there: found by two models, and looked at."""

FOR_DEVELOPMENT = "258"
"""Photos of people whose numbers end so are not trained on."""

SOURCES = ("caltech10k/train", "lfw/train", "opencv24/train")
VARIANTS = ("_0", "_3", "_6")
"""Of the ten that `opencv24` has of each face, mirrored, turned and shifted, these are used."""

PLAIN_VARIANTS = VARIANTS[:2]
"""Those that are used where faces are taken as they are."""

DETAIL = Size(32, 32)
"""Of altered copies before they are blurred."""

MAX_BLUR = 0.6
"""Pixels of a window, one standard deviation."""

MAX_NOISE = 0.15
"""Of the standard deviation of the grey levels."""

MAX_GAMMA = 1.6
"""Of the grey levels' curve; at least its inverse."""

PRINTED_SHARE = 0.5
"""Of altered faces and turned photos, which are dithered."""

MAX_PRINTED_SIDE = 60
"""Pixels of a printed face; at least those of the window."""

MIN_GREYS, MAX_GREYS = 4, 16
"""Grey levels of pictures that are dithered to few of them."""

SCREEN = 3
"""Dots of a printer to a pixel of the scanned print, each way."""

MAX_SLOPE = 40.0
"""Grey levels from one side of a face to the other, light that falls from there."""


def link_faces(faces: Path, folder: Path) -> None:
    """Gather the faces as they are in one folder, as links."""
    folder.mkdir()
    for source in SOURCES:
        for path in (path for paths in _faces(faces / source) for path in paths):
            if "opencv24" not in source or path.stem.endswith(PLAIN_VARIANTS):
                (folder / f"{source.split('/')[0]}_{path.name}").symlink_to(path.absolute())


def write_faces(faces: Path, folder: Path, window: Size, n_threads: int) -> Path:
    """Write strips of faces, and a list of their boxes like OpenCV's `info.dat`; return the list's path."""
    folder.mkdir()

    def strip_of(paths: Sequence[Path]) -> str:
        originals = [read_gray(path) for path in paths]
        tiles = [*originals, altered(originals[0], window)]
        strip = np.zeros((max(map(len, tiles)), sum(tile.shape[1] for tile in tiles)), np.uint8)
        boxes, x = [], 0
        for tile in tiles:
            height, width = tile.shape
            strip[:height, x : x + width] = tile
            boxes.append(f"{x} 0 {width} {height}")
            x += width
        name = f"{paths[0].parent.parent.name}-{paths[0].stem}.png"
        write_image(folder / name, strip)
        return f"{name} {len(boxes)} {' '.join(boxes)}\n"

    lines = list(
        ordered_map(strip_of, [paths for source in SOURCES for paths in _faces(faces / source)], n_threads)
    )
    listing = folder / "faces.txt"
    listing.write_text("".join(lines))
    return listing


def write_turned_photos(photos: Path, folder: Path, n_threads: int) -> None:
    """Write photos turned by 180 degrees, every second one mirrored, and worse than they were."""
    folder.mkdir()

    def turn(path: Path) -> None:
        turned, _ = _turned(read_gray(path))
        write_image(folder / f"{path.stem}.png", turned)

    for _ in ordered_map(turn, sorted(photos.glob("*.jpg")), n_threads):
        pass


def list_people(scenes: Path, listing: Path) -> None:
    """List photos of people, with the boxes of their faces to be left alone: all around them are negatives.

    A third of the photos is left for development, by their numbers' last digits.
    """
    lines = [_line(scenes / file, boxes) for file, boxes in _people(scenes)]
    listing.write_text("".join(lines))


def write_turned_people(scenes: Path, folder: Path, n_threads: int) -> Path:
    """Write these photos turned as those without faces, and list both, as `list_people` does; return the list's path."""
    folder.mkdir()

    def lines_of(photo: tuple[str, list[Box]]) -> str:
        file, boxes = photo
        gray = read_gray(scenes / file)
        turned, is_mirrored = _turned(gray)
        height, width = gray.shape
        moved = [(x if is_mirrored else width - x - w, height - y - h, w, h) for x, y, w, h in boxes]
        path = folder / f"{Path(file).stem}.png"
        write_image(path, turned)
        return _line(scenes / file, boxes) + _line(path, moved)

    listing = folder / "people.txt"
    listing.write_text("".join(ordered_map(lines_of, _people(scenes), n_threads)))
    return listing


def _people(scenes: Path) -> list[tuple[str, list[Box]]]:
    boxes: dict[str, list[Box]] = {}
    for table in (scenes / "boxes.csv", UNLABELLED):
        for row in csv.DictReader(table.read_text().splitlines()):
            if Path(row["file"]).stem[-1] not in FOR_DEVELOPMENT:
                boxes.setdefault(row["file"], []).append(_within(scenes / row["file"], row))
    return sorted(boxes.items())


def _line(picture: Path, boxes: Sequence[Box]) -> str:
    return f"{picture} {len(boxes)} {' '.join(str(value) for box in boxes for value in box)}\n"


def _within(picture: Path, row: dict[str, str]) -> Box:
    """Return a box in whole pixels, cut to its picture."""
    size = image_size(picture)
    x, y, w, h = (float(row[name]) for name in "xywh")
    left, top = max(int(x), 0), max(int(y), 0)
    right, bottom = min(ceil(x + w), size.width), min(ceil(y + h), size.height)
    return left, top, right - left, bottom - top


def _turned(gray: Gray) -> tuple[Gray, bool]:
    """Return a picture turned by 180 degrees and worse than it was, and whether it is mirrored, too."""
    rng = _rng(gray)
    is_mirrored = bool(rng.random() >= 0.5)
    worsened = _worsened(gray[::-1] if is_mirrored else gray[::-1, ::-1], rng)
    printed = rng.random() < PRINTED_SHARE
    return (_printed(worsened, rng) if printed else worsened), is_mirrored


def altered(face: Gray, window: Size) -> Gray:
    """Return an altered copy of a face, of the window's size; which one depends on its pixels alone."""
    rng = _rng(face)
    region = Region(resize_crop(face, DETAIL), DETAIL)
    detailed = region.altered(DETAIL, rng, is_mirrored=rng.random() < 0.5).astype(np.float64)
    slope = rng.uniform(-MAX_SLOPE, MAX_SLOPE, 2)
    rows, columns = np.mgrid[-0.5 : 0.5 : DETAIL.height * 1j, -0.5 : 0.5 : DETAIL.width * 1j]
    lit = np.clip(detailed + slope[0] * rows + slope[1] * columns, 0, 255).astype(np.uint8)
    if rng.random() >= PRINTED_SHARE:
        return _worsened(resize_crop(lit, window), rng)
    scale = (MAX_PRINTED_SIDE / window.width) ** rng.random()
    side = Size(round(scale * window.width), round(scale * window.height))
    return resize_crop(_printed(_worsened(resize_crop(lit, side), rng), rng), window)


def _printed(gray: Gray, rng: np.random.Generator) -> Gray:
    """Return a picture as prints and old screens show it: in black dots, or dithered to a few grey levels."""
    picture = Image.fromarray(gray)
    if rng.random() < 0.5:
        dots = picture.resize((SCREEN * picture.width, SCREEN * picture.height), Image.Resampling.BICUBIC)
        return np.asarray(dots.convert("1").convert("L").resize(picture.size, Image.Resampling.BOX))
    greys = np.linspace(gray.min(), gray.max(), rng.integers(MIN_GREYS, MAX_GREYS + 1))
    palette = Image.new("P", (1, 1))
    palette.putpalette([level for grey in greys for level in [round(grey)] * 3])
    dithered = picture.convert("RGB").quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)
    return np.asarray(dithered.convert("L"))


def _worsened(gray: Gray, rng: np.random.Generator) -> Gray:
    """Return a picture with another curve of grey levels, blurred, and with noise."""
    gamma = MAX_GAMMA ** rng.uniform(-1, 1)
    levels = 255 * (gray / 255.0) ** gamma
    blurred = gaussian_filter(levels, max(MAX_BLUR * rng.uniform(-1, 1), 0))
    noise = rng.normal(0, max(MAX_NOISE * blurred.std() * rng.uniform(-1, 1), 0), gray.shape)
    return np.clip(np.rint(blurred + noise), 0, 255).astype(np.uint8)


def _rng(gray: Gray) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(gray.tobytes()).digest()[:16]))


def _faces(folder: Path) -> Iterator[list[Path]]:
    """Return the pictures of each face."""
    paths = sorted(folder.glob("*.png"))
    if folder.parent.name != "opencv24":
        yield from ([path] for path in paths)
        return
    for _, variants in groupby(paths, key=lambda path: path.stem.rsplit("_", 1)[0]):
        yield [path for path in variants if path.stem.endswith(VARIANTS)]
