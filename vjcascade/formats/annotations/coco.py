"""COCO's JSON: `images`, `annotations` with `bbox` `[x, y, width, height]`, and `categories`.

An annotation with `iscrowd` 1, or `ignore` 1 as in data sets that took over the form, is a region to ignore. Outlines
(`segmentation`), key points and everything else are not read. pycocotools reads these files, too, but neither checks
nor bounds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.pictures import (
    AnnotatedObject,
    AnnotatedPicture,
    Annotations,
    Coordinates,
    Fault,
    Flag,
    PictureFinder,
    brief,
    checked_box,
    known_size,
    read_json_bytes,
)


class _Image(msgspec.Struct):
    id: int | str
    file_name: str
    width: Any = None
    height: Any = None


class _Annotation(msgspec.Struct):
    image_id: int | str
    category_id: int | str = 0
    bbox: Sequence[float] = ()
    iscrowd: bool | int = False
    ignore: bool | int = False
    score: float | None = None


class _Category(msgspec.Struct):
    id: int | str
    name: str


class _Dataset(msgspec.Struct):
    images: list[_Image]
    annotations: list[_Annotation]
    categories: list[_Category] = []  # msgspec copies an empty list


def read_coco(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read a file of annotations in COCO's JSON.

    Parameters
    ----------
    path : Path
        The file.
    first : iterable of Path
        Folders where its pictures are looked for before that of the file.

    Returns
    -------
    Annotations
        A picture for each of `images`.

    Raises
    ------
    SourceError
        If the file cannot be read or is not in the format.
    """
    try:
        dataset = msgspec.json.decode(read_json_bytes(path), type=_Dataset)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(
            f"{path} is JSON, but no annotations of COCO ({error}); images, annotations and categories must be lists"
        ) from None
    return _Reader(dataset, path, PictureFinder(path, first)).read()


class _Reader:
    """The images of a file, and what is found out about them."""

    def __init__(self, dataset: _Dataset, path: Path, finder: PictureFinder) -> None:
        self.dataset = dataset
        self.path = path
        self.finder = finder
        self.faults: list[Fault] = []
        self._names = {one.id: one.name for one in dataset.categories}
        self._places: dict[int | str, int] = {}

    def read(self) -> Annotations:
        paths = self._located()
        objects = self._objects()
        pictures = [
            AnnotatedPicture(
                place,
                image.file_name,
                paths[place],
                tuple(objects[image.id]),
                known_size(image.width, image.height),
            )
            for place, image in enumerate(self.dataset.images, start=1)
            if place in paths
        ]
        return Annotations(
            self.path,
            "COCO JSON",
            "image",
            tuple(pictures),
            tuple(self.faults),
            tuple(self.finder.notes()),
            tuple(self._names.values()),
        )

    def _located(self) -> dict[int, Path]:
        """Return where the images are, by their places in the file."""
        paths = {}
        for place, image in enumerate(self.dataset.images, start=1):
            if self._places.setdefault(image.id, place) != place:
                self.faults.append(
                    Fault(place, f"{brief(image.file_name)}: its id {image.id} is there twice")
                )
                continue
            try:
                paths[place] = self.finder.locate(image.file_name)
            except ValueError as error:
                self.faults.append(Fault(place, str(error)))
        return paths

    def _objects(self) -> dict[int | str, list[AnnotatedObject]]:
        """Return what is in each image."""
        objects: dict[int | str, list[AnnotatedObject]] = {image.id: [] for image in self.dataset.images}
        for number, one in enumerate(self.dataset.annotations, start=1):
            label = self._names.get(one.category_id, f"category {one.category_id}")
            flag: Flag = "crowd" if one.iscrowd else "ignore" if one.ignore else ""
            try:
                if one.image_id not in objects:
                    raise ValueError(f"it is of image {one.image_id}, which is not among the images")  # noqa: TRY301
                objects[one.image_id].append(AnnotatedObject(_box(one), label, flag, one.score))
            except ValueError as error:
                place = self._places.get(one.image_id, 0)
                name = self.dataset.images[place - 1].file_name if place else ""
                self.faults.append(Fault(place, f"annotation {number}: {error}", label, name))
        return objects


def _box(annotation: _Annotation) -> Coordinates:
    if len(annotation.bbox) != 4:
        raise ValueError(f"its bbox has {len(annotation.bbox)} numbers instead of x, y, width, height")
    return checked_box(annotation.bbox)
