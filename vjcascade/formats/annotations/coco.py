"""COCO JSON: `images`, `annotations` with `bbox` `[x, y, width, height]`, and `categories`.

An annotation with `iscrowd` 1, or `ignore` 1 as in other data sets of this format, is a region to ignore. Outlines
(`segmentation`), key points and everything else are not read. `null` counts as missing; images and annotations that
lack a required field are left out and reported. Many tools write names without the folder of the pictures; see
`picture_folders`. pycocotools reads these files, too, but without checks and limits.
"""

from __future__ import annotations

from collections.abc import Iterable
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
from vjcascade.types import Size


class _Image(msgspec.Struct):
    id: int | str | None
    file_name: str | None
    width: Any = None
    height: Any = None


class _Annotation(msgspec.Struct):
    image_id: int | str | None
    category_id: int | str | None = None
    bbox: msgspec.Raw = msgspec.Raw(b"null")
    """Decoded later, so that an error can name the annotation."""
    iscrowd: bool | int | None = False
    ignore: bool | int | None = False
    score: float | None = None


class _Category(msgspec.Struct):
    id: int | str | None
    name: str | None


class _Dataset(msgspec.Struct):
    images: list[_Image]
    annotations: list[_Annotation]
    categories: list[_Category] | None = None


def read_coco(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read annotations in COCO JSON.

    Parameters
    ----------
    path : Path
        The file.
    first : iterable of Path
        Folders to search for its pictures before that of the file and the usual ones beside it.

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
            f"{path} is JSON, but not COCO annotations ({error}); images, annotations and categories must be lists"
        ) from None
    finder = PictureFinder(path, (*first, path.parent, *picture_folders(path)))
    return _Reader(dataset, path, finder).read()


def picture_folders(path: Path) -> list[Path]:
    """Return the folders in which a file without folder names may have its pictures.

    COCO itself, CVAT, Datumaro and FiftyOne put them into `images` or `data`, or into a folder, by itself or in
    `images`, named like the end of the file's name; all beside the file or its folder.

    Parameters
    ----------
    path : Path
        The file, as `annotations/instances_train2017.json`.

    Returns
    -------
    list of Path
        Those that exist, as `images` and `train2017`.
    """
    subset = path.stem.rpartition("_")[2]
    names = ("images", f"images/{subset}", subset, "data")
    folders = [base / name for base in (path.parent, path.absolute().parent.parent) for name in names]
    return list(filter(Path.is_dir, folders))


class _Reader:
    """Collects the images of a file and their objects."""

    def __init__(self, dataset: _Dataset, path: Path, finder: PictureFinder) -> None:
        self.dataset = dataset
        self.path = path
        self.finder = finder
        self.faults: list[Fault] = []
        self._labels = {
            one.id: f"category {one.id}" if one.name is None else one.name for one in dataset.categories or ()
        }
        self._places: dict[int | str, int] = {}
        self._names: dict[int | str, str] = {}

    def read(self) -> Annotations:
        paths = self._located()
        objects = self._objects()
        pictures = [
            AnnotatedPicture(
                self._places[id_],
                self._names[id_],
                path,
                tuple(objects[id_]),
                self._size(id_),
            )
            for id_, path in paths.items()
        ]
        return Annotations(
            self.path,
            "COCO JSON",
            "image",
            tuple(pictures),
            tuple(self.faults),
            tuple(self.finder.notes()),
            tuple(self._labels.values()),
        )

    def _located(self) -> dict[int | str, Path]:
        """Return the paths of images by their ids."""
        paths = {}
        for place, image in enumerate(self.dataset.images, start=1):
            if image.id is None or image.file_name is None:
                self.faults.append(Fault(place, f"its {'id' if image.id is None else 'file_name'} is null"))
                continue
            if self._places.setdefault(image.id, place) != place:
                self.faults.append(Fault(place, f"{brief(image.file_name)}: its id {image.id} appears twice"))
                continue
            self._names[image.id] = image.file_name
            try:
                paths[image.id] = self.finder.locate(image.file_name)
            except ValueError as error:
                self.faults.append(Fault(place, str(error)))
        return paths

    def _size(self, image_id: int | str) -> Size | None:
        image = self.dataset.images[self._places[image_id] - 1]
        return known_size(image.width, image.height)

    def _objects(self) -> dict[int | str, list[AnnotatedObject]]:
        """Return the objects of images by their ids."""
        objects: dict[int | str, list[AnnotatedObject]] = {id_: [] for id_ in self._names}
        for number, one in enumerate(self.dataset.annotations, start=1):
            label = self._label(one.category_id)
            flag: Flag = "crowd" if one.iscrowd else "ignore" if one.ignore else ""
            id_ = one.image_id
            try:
                if id_ is None or id_ not in objects:
                    which = "null" if id_ is None else id_
                    raise ValueError(f"it refers to image {which}, which does not exist")  # noqa: TRY301
                objects[id_].append(AnnotatedObject(_box(one.bbox), label, flag, one.score))
            except ValueError as error:
                place, name = (0, "") if id_ is None else (self._places.get(id_, 0), self._names.get(id_, ""))
                self.faults.append(Fault(place, f"annotation {number}: {error}", label, name))
        return objects

    def _label(self, category_id: int | str | None) -> str:
        return "" if category_id is None else self._labels.get(category_id, f"category {category_id}")


_BOX = msgspec.json.Decoder(tuple[float, float, float, float])


def _box(bbox: msgspec.Raw) -> Coordinates:
    if bytes(bbox) == b"null":
        raise ValueError("it has no bbox")
    try:
        return checked_box(_BOX.decode(bbox))
    except msgspec.MsgspecError as error:
        raise ValueError(f"its bbox is not [x, y, width, height]: {error}") from None
