"""COCO's JSON: `images`, `annotations` with `bbox` `[x, y, width, height]`, and `categories`.

An annotation with `iscrowd` 1 is a region to ignore. Outlines (`segmentation`), key points and everything else are
not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.pictures import (
    AnnotatedPicture,
    Annotations,
    Coordinates,
    Fault,
    PictureFinder,
    brief,
    checked_box,
    chosen_category,
    read_bytes,
)


class _Image(msgspec.Struct):
    id: int | str
    file_name: str


class _Annotation(msgspec.Struct):
    image_id: int | str
    category_id: int | str = 0
    bbox: Sequence[float] = ()
    iscrowd: bool | int = False


class _Category(msgspec.Struct):
    id: int | str
    name: str


class _Dataset(msgspec.Struct):
    images: list[_Image]
    annotations: list[_Annotation]
    categories: list[_Category] = []  # msgspec copies an empty list


_Boxes = dict[int | str, tuple[list[Coordinates], list[Coordinates]]]


def read_coco(path: Path, *, finder: PictureFinder | None = None, category: str | None = None) -> Annotations:
    """Read a file of annotations in COCO's JSON.

    Parameters
    ----------
    path : Path
        The file.
    finder : PictureFinder, optional
        Finds its pictures; beside the file if not given.
    category : str, optional
        The name of the kind of object, where annotations are of several. Pictures that show others only have no
        objects.

    Returns
    -------
    Annotations
        A picture for each of `images`.

    Raises
    ------
    SourceError
        If the file cannot be read, is not in the format, or the category is not to be told.
    """
    try:
        dataset = msgspec.json.decode(read_bytes(path), type=_Dataset)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(
            f"{path} is JSON, but no annotations of COCO ({error}); images, annotations and categories must be lists"
        ) from None
    return _Reader(dataset, path, finder or PictureFinder(path)).read(category)


class _Reader:
    """The images of a file, and what is found out about them."""

    def __init__(self, dataset: _Dataset, path: Path, finder: PictureFinder) -> None:
        self.dataset = dataset
        self.path = path
        self.finder = finder
        self.faults: list[Fault] = []
        self._names = {one.id: one.name for one in dataset.categories}
        self._places: dict[int | str, int] = {}

    def read(self, category: str | None) -> Annotations:
        paths = self._located()
        boxes = self._boxes(self._chosen(category))
        pictures = [
            AnnotatedPicture(place, image.file_name, paths[place], *map(tuple, boxes[image.id]))
            for place, image in enumerate(self.dataset.images, start=1)
            if place in paths
        ]
        notes = tuple(self.finder.notes())
        return Annotations(self.path, "COCO JSON", "image", tuple(pictures), tuple(self.faults), notes)

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

    def _chosen(self, category: str | None) -> str | None:
        used = {self._name(one) for one in self.dataset.annotations}
        return chosen_category(
            used if category is None else {*used, *self._names.values()}, category, self.path
        )

    def _name(self, annotation: _Annotation) -> str:
        return self._names.get(annotation.category_id, f"category {annotation.category_id}")

    def _boxes(self, category: str | None) -> _Boxes:
        """Return the boxes and the ignored regions of each image."""
        boxes: _Boxes = {image.id: ([], []) for image in self.dataset.images}
        for number, one in enumerate(self.dataset.annotations, start=1):
            if self._name(one) != category:
                continue
            place = self._places.get(one.image_id, 0)
            try:
                _image_of(one, boxes)[bool(one.iscrowd)].append(_box(one))
            except ValueError as error:
                self.faults.append(Fault(place, f"annotation {number}: {error}"))
        return boxes


def _image_of(annotation: _Annotation, boxes: _Boxes) -> tuple[list[Coordinates], list[Coordinates]]:
    if annotation.image_id not in boxes:
        raise ValueError(f"it is of image {annotation.image_id}, which is not among the images")
    return boxes[annotation.image_id]


def _box(annotation: _Annotation) -> Coordinates:
    if len(annotation.bbox) != 4:
        raise ValueError(f"its bbox has {len(annotation.bbox)} numbers instead of x, y, width, height")
    return checked_box(annotation.bbox)
