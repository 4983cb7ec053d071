"""Spoil a copy of a data set in many ways, and count what `vjcascade check` names: `check_spoiled.py CROPS PHOTOS`.

A kind of damage counts as named where at least half of the spoiled pictures are listed under the right topic. The set as
it is must come out without a warning.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import skimage
from numpy.typing import NDArray
from PIL import Image

from vjcascade.checking import DataCheck, check
from vjcascade.checking.findings import Topic
from vjcascade.imaging import find_images, read_gray, resize_crop
from vjcascade.types import Size

Gray = NDArray[np.uint8]


class Spoiler:
    """Makes spoiled pictures of good ones."""

    def __init__(self, crops: list[Gray], photos: list[Gray], seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.photos = photos
        self.faces = (255 * skimage.data.lfw_subset()[:100]).astype(np.uint8)
        heights, widths = zip(*(crop.shape for crop in crops), strict=True)
        self.size = Size(int(np.median(widths)), int(np.median(heights)))

    def background(self, size: Size) -> Gray:
        """Return a part of a photo with some contrast."""
        while True:
            photo = self.photos[self.rng.integers(len(self.photos))]
            y, x = (
                int(self.rng.integers(max(side - least, 0) + 1))
                for side, least in zip(photo.shape, size[::-1], strict=True)
            )
            part = photo[y : y + size.height, x : x + size.width]
            if part.shape == (size.height, size.width) and part.std() > 20:
                return part.copy()

    def on_background(self, crop: Gray, scale: float, shift: tuple[float, float]) -> Gray:
        """Return a crop, smaller or larger and shifted by shares of its sides, on a part of a photo of its size."""
        height, width = crop.shape
        pasted = resize_crop(crop, Size(round(scale * width), round(scale * height)))
        ground = self.background(
            Size(3 * width, 3 * height) if min(crop.shape) < 40 else Size(2 * width, 2 * height)
        )
        x = (ground.shape[1] - pasted.shape[1]) // 2
        y = (ground.shape[0] - pasted.shape[0]) // 2
        ground[y : y + pasted.shape[0], x : x + pasted.shape[1]] = pasted
        left = (ground.shape[1] - width) // 2 - round(shift[0] * width)
        top = (ground.shape[0] - height) // 2 - round(shift[1] * height)
        return ground[top : top + height, left : left + width].copy()

    def shifted(self, crop: Gray) -> Gray:
        """Return a crop with the object far from the middle."""
        sign = self.rng.choice([-1, 1])
        return self.on_background(
            crop, 1.0, (0.24 * sign, 0) if self.rng.random() < 0.5 else (0, 0.24 * sign)
        )

    def wide(self, crop: Gray) -> Gray:
        """Return a crop with much around the object."""
        return self.on_background(crop, 0.62, (0, 0))

    def slanted(self, crop: Gray) -> Gray:
        """Return a crop with the object turned so far that its ends leave the middle by a seventh of the shorter side."""
        slope = 2 * 0.15 * min(crop.shape) / max(crop.shape) * self.rng.choice([-1, 1])
        height, width = crop.shape
        padded = Image.fromarray(np.pad(crop, ((height, height), (width, width)), mode="edge"))
        turned = padded.rotate(np.degrees(np.arctan(slope)), Image.Resampling.BILINEAR)
        return np.asarray(turned)[height : 2 * height, width : 2 * width].copy()

    def tight(self, crop: Gray) -> Gray:
        """Return a crop without the outer parts of the object."""
        height, width = crop.shape
        inner = crop[round(0.17 * height) : round(0.83 * height), round(0.17 * width) : round(0.83 * width)]
        return resize_crop(inner, Size(width, height))

    def half(self, crop: Gray) -> Gray:
        """Return one half of a crop."""
        return crop[:, : crop.shape[1] // 2].copy()

    def faint(self, crop: Gray) -> Gray:
        """Return a crop with hardly any contrast."""
        return np.rint(120 + 5.0 * (crop - crop.mean()) / crop.std()).clip(0, 255).astype(np.uint8)

    def other_object(self, crop: Gray) -> Gray:
        """Return a face in the shape of a crop."""
        face = self.faces[self.rng.integers(len(self.faces))]
        height = max(min(round(25 * crop.shape[0] / crop.shape[1]), 25), 5)
        width = max(min(round(25 * crop.shape[1] / crop.shape[0]), 25), 5)
        y, x = (25 - height) // 2, (25 - width) // 2
        return resize_crop(face[y : y + height, x : x + width], Size(crop.shape[1], crop.shape[0]))

    def altered_a_little(self, crop: Gray) -> Gray:
        """Return a crop a little lighter, and resized there and back."""
        smaller = resize_crop(crop, Size(round(0.8 * crop.shape[1]), round(0.8 * crop.shape[0])))
        lighter = (1.05 * resize_crop(smaller, Size(*crop.shape[::-1])) + 12).clip(0, 255)
        return lighter.astype(np.uint8)

    def photo_with_object(self, crop: Gray) -> Gray:
        """Return a part of a photo with the object in it."""
        scale = self.rng.uniform(0.9, 1.8)
        size = Size(round(scale * crop.shape[1]), round(scale * crop.shape[0]))
        photo = self.background(Size(size.width + 60, size.height + 60))
        y, x = self.rng.integers(0, 60, 2)
        photo[y : y + size.height, x : x + size.width] = resize_crop(crop, size)
        return photo


class Damage(NamedTuple):
    """A way to spoil pictures.

    Attributes
    ----------
    name : str
        For the table.
    topics : tuple of Topic
        Under which it may be named.
    make : callable
        Of a good crop, the spoiled picture.
    folder : str
        Where it goes.
    keeps : bool
        Whether the good crop stays in the set.
    save : str
        How it is written: png, jpeg, cut off, or jpeg with a wrong EXIF orientation.
    """

    name: str
    topics: tuple[Topic, ...]
    make: Callable[[Spoiler, Gray], Gray]
    folder: str = "positives"
    keeps: bool = False
    save: str = "png"


DAMAGES = (
    Damage("turned by 90 degrees", (Topic.TURNED, Topic.SHAPE), lambda _, crop: np.rot90(crop)),
    Damage("upside down", (Topic.UPSIDE_DOWN,), lambda _, crop: crop[::-1, ::-1]),
    Damage("wrong EXIF orientation", (Topic.UPSIDE_DOWN,), lambda _, crop: crop, save="exif"),
    Damage("inverted", (Topic.INVERTED,), lambda _, crop: 255 - crop),
    Damage("exact copies", (Topic.COPIES,), lambda _, crop: crop, keeps=True),
    Damage("near copies", (Topic.NEAR_COPIES,), Spoiler.altered_a_little, keeps=True, save="jpeg"),
    Damage(
        "crops among negatives", (Topic.IN_BOTH,), lambda _, crop: crop, "negatives", keeps=True, save="jpeg"
    ),
    Damage(
        "photos with the object",
        (Topic.OBJECT_IN_NEGATIVES,),
        Spoiler.photo_with_object,
        "negatives",
        keeps=True,
    ),
    Damage("flat", (Topic.FLAT,), lambda _, crop: np.full_like(crop, 128)),
    Damage("faint", (Topic.FAINT,), Spoiler.faint),
    Damage(
        "negatives among positives", (Topic.NOT_OBJECT,), lambda spoiler, _: spoiler.background(spoiler.size)
    ),
    Damage("another object", (Topic.NOT_OBJECT,), Spoiler.other_object),
    Damage("shifted", (Topic.SHIFTED,), Spoiler.shifted),
    Damage("slanted", (Topic.SLANTED,), Spoiler.slanted),
    Damage("cut too tight", (Topic.TIGHT,), Spoiler.tight),
    Damage("cut too wide", (Topic.WIDE,), Spoiler.wide),
    Damage("half of the object", (Topic.SHAPE,), Spoiler.half),
    Damage(
        "tiny",
        (Topic.SMALL,),
        lambda _, crop: resize_crop(crop, Size(max(crop.shape[1] // 6, 4), max(crop.shape[0] // 6, 4))),
    ),
    Damage("cut-off files", (Topic.UNREADABLE,), lambda _, crop: crop, save="cut"),
)


def save(picture: Gray, path: Path, how: str) -> Path:
    """Write a picture, and return its path."""
    image = Image.fromarray(np.ascontiguousarray(picture))
    if how == "png":
        path = path.with_suffix(".png")
        image.save(path)
        return path
    path = path.with_suffix(".jpg")
    exif = Image.Exif()
    if how == "exif":
        exif[274] = 3  # turned by 180 degrees
    image.save(path, quality=80 if how == "jpeg" else 92, exif=exif)
    if how == "cut":
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
    return path


def spoil(crops: list[Path], photos: list[Path], folder: Path, n_each: int, seed: int) -> dict[str, set[str]]:
    """Make the spoiled set, with links to the good pictures; return the names of the spoiled ones by kind of damage."""
    for name in ("positives", "negatives"):
        (folder / name).mkdir(parents=True)
    rng = np.random.default_rng(seed)
    some_photos = [read_gray(photos[i]) for i in rng.permutation(len(photos))[:200]]
    order = iter(rng.permutation(len(crops)).tolist())
    read = {i: read_gray(crops[i]) for i in range(len(crops))}
    spoiler = Spoiler(list(read.values()), some_photos, seed)
    gone: set[int] = set()
    spoiled: dict[str, set[str]] = {}
    for damage in DAMAGES:
        names = set()
        for number in range(n_each):
            i = next(order)
            if not damage.keeps:
                gone.add(i)
            made = damage.make(spoiler, read[i])
            path = folder / damage.folder / f"spoiled-{damage.name.replace(' ', '-')}-{number}"
            names.add(save(made, path, damage.save).name)
        spoiled[damage.name] = names
    for kind, paths in (
        ("positives", [p for i, p in enumerate(crops) if i not in gone]),
        ("negatives", photos),
    ):
        for number, path in enumerate(paths):
            (folder / kind / f"{number:05}-{path.name}").symlink_to(path.absolute())
    return spoiled


def count(result: DataCheck, spoiled: dict[str, set[str]]) -> list[tuple[str, int, int, int, bool]]:
    """Return for each kind of damage: name, pictures, named under the right topic, under any, and whether it is named."""
    rows = []
    for damage in DAMAGES:
        names = spoiled[damage.name]
        right, any_ = set(), set()
        for finding in result.warnings:
            found = {Path(item.name).name for item in finding.items} & names
            any_ |= found
            if finding.topic in damage.topics:
                right |= found
        # Of two copies of one picture, either may be named.
        if Topic.COPIES in damage.topics or Topic.NEAR_COPIES in damage.topics:
            right |= {
                name
                for f in result.warnings
                if f.topic in damage.topics
                for item in f.items
                for name in names
                if name in item.detail
            }
        rows.append((damage.name, len(names), len(right), len(any_ | right), 2 * len(right) >= len(names)))
    return rows


def falsely_named(result: DataCheck, spoiled: dict[str, set[str]]) -> list[str]:
    """Return the good pictures that warnings name, with the topics; copies of spoiled ones do not count."""
    all_spoiled = set().union(*spoiled.values())
    return [
        f"{finding.topic}: {item.name}"
        for finding in result.warnings
        for item in finding.items
        if Path(item.name).name not in all_spoiled and "spoiled-" not in item.detail
    ]


def linked(folder: Path, paths: list[Path]) -> Path:
    """Return a new folder with links to pictures."""
    folder.mkdir(parents=True)
    for number, path in enumerate(paths):
        (folder / f"{number:05}-{path.name}").symlink_to(path.absolute())
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("crops", type=Path, help="folder of good crops")
    parser.add_argument("photos", type=Path, nargs="+", help="folders of photos without the object")
    parser.add_argument("--pattern", default="*", help="names of the crops")
    parser.add_argument("--photo-pattern", default="*", help="names of the photos")
    parser.add_argument("--without", type=Path, help="file with names of photos to leave out")
    parser.add_argument("--each", type=int, default=8, help="pictures for each kind of damage")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the spoiled set")
    parser.add_argument("--no-clean", action="store_true", help="do not check the set as it is")
    options = parser.parse_args()
    left_out = set(options.without.read_text().split()) if options.without else set()
    crops = [p for p in find_images(options.crops).paths if p.match(options.pattern)]
    photos = [
        p
        for folder in options.photos
        for p in find_images(folder).paths
        if p.name not in left_out
        and p not in set(crops)
        and (folder != options.crops or p.match(options.photo_pattern))
    ]
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary) / "spoiled"
        if not options.no_clean:
            clean = check(
                linked(Path(temporary) / "crops", crops), linked(Path(temporary) / "photos", photos)
            )
            print(f"as it is: {len(clean.warnings)} warnings")
            for finding in clean.warnings:
                print(f"  {finding}: {', '.join(map(str, finding.items[:5]))}")
            failed |= bool(clean.warnings)
        spoiled = spoil(crops, photos, folder, options.each, options.seed)
        result = check(folder / "positives", folder / "negatives")
        rows = count(result, spoiled)
        print("\n| damage | pictures | named so | named at all | |\n|---|---|---|---|---|")
        for name, n, right, any_, is_named in rows:
            print(f"| {name} | {n} | {right} | {any_} | {'named' if is_named else 'missed'} |")
        n_named = sum(row[-1] for row in rows)
        print(f"\n{n_named} of {len(rows)} kinds of damage are named")
        false = falsely_named(result, spoiled)
        print(f"good pictures that are named: {len(false)}" + "".join(f"\n  {one}" for one in false[:20]))
        failed |= n_named < len(rows) - 1
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
