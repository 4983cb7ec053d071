"""The file of boxes: COCO JSON, written and read.

In addition to COCO's fields, an image has `done` (all its objects have boxes), `use` ("train" or "validate") and
`false_alarms` (rejected detections); other programs ignore these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from vjcascade.errors import SettingsError
from vjcascade.formats.annotations.pictures import Coordinates, checked_box, known_size, read_bytes
from vjcascade.labelling.changes import BoxFlag, Use
from vjcascade.types import Size

LABELS_NAME = "labels.json"
"""The file in the photos' folder."""

PROGRAM = "boxes of vjcascade label"
"""Marks files of `vjcascade label`: files of other programs are not overwritten."""


class _Info(msgspec.Struct):
    description: str = ""
    version: str = "1"


class _Image(msgspec.Struct):
    id: int
    file_name: str
    width: int
    height: int
    done: bool = False
    use: Use = "train"
    false_alarms: list[Coordinates] = []  # msgspec copies an empty list


class _Annotation(msgspec.Struct, omit_defaults=True):
    id: int
    image_id: int
    category_id: int
    bbox: Coordinates
    area: float
    iscrowd: Literal[0, 1]
    ignore: Literal[0, 1] = 0
    score: float | None = None


class _Category(msgspec.Struct):
    id: int
    name: str


class _Dataset(msgspec.Struct):
    info: _Info
    images: list[_Image]
    annotations: list[_Annotation]
    categories: list[_Category]


class _Lines(NamedTuple):
    """The lines of a photo in the file, encoded for one revision."""

    revision: int
    image: bytes
    annotations: bytes


class Box(msgspec.Struct, frozen=True):
    """A box that was drawn or accepted.

    Attributes
    ----------
    id : int
        Unique in the file.
    box : Coordinates
        In pixels of the upright photo.
    label : str
        The kind of object.
    flag : str
        "ignore" or "crowd" if it does not count as an object; empty if it does.
    score : float or None
        Score of the model that proposed it; None if it was drawn.
    """

    id: int
    box: Coordinates
    label: str
    flag: BoxFlag = ""
    score: float | None = None


@dataclass
class Labels:
    """A photo's boxes and state.

    Attributes
    ----------
    size : Size
        In pixels.
    use : str
        What the photo is used for, "train" or "validate".
    boxes : dict of int to Box
        By their ids.
    false_alarms : list of Coordinates
        Rejected detections.
    done : bool
        Whether all objects have boxes.
    revision : int
        The store's revision at the photo's latest change.
    """

    size: Size
    use: Use
    boxes: dict[int, Box] = field(default_factory=dict)
    false_alarms: list[Coordinates] = field(default_factory=list)
    done: bool = False
    revision: int = 0


class LabelsFile:
    """Reads and encodes the file; images keep their ids.

    Examples
    --------
    >>> labels = {"a.png": Labels(Size(40, 30), "train", {7: Box(7, (3, 4, 12, 12), "face")})}
    >>> path = Path("labels.json")
    >>> _ = path.write_bytes(LabelsFile().encoded(labels, ["face"]))
    >>> LabelsFile().read(path)[0]["a.png"].boxes[7].label
    'face'
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._highest = 0
        self._lines: dict[str, _Lines] = {}

    def encoded(self, labels: Mapping[str, Labels], names_of_labels: Sequence[str]) -> bytes:
        """Return the file's content, with one line per photo and per box, so that diffs show what changed.

        Parameters
        ----------
        labels : mapping of str to Labels
            By the names of photos.
        names_of_labels : sequence of str
            The kinds of objects, including those of all boxes.

        Returns
        -------
        bytes
            JSON.
        """
        kinds = [
            _Category(number, name) for number, name in enumerate(names_of_labels or ["object"], start=1)
        ]
        kind_numbers = {kind.name: kind.id for kind in kinds}
        lines = [self._lines_of(name, one, kind_numbers) for name, one in labels.items()]
        parts = {
            "images": [one.image for one in lines],
            "annotations": [one.annotations for one in lines if one.annotations],
            "categories": [msgspec.json.encode(kind) for kind in kinds],
        }
        lists = (b'"%s": [\n%s\n]' % (name.encode(), b",\n".join(rows)) for name, rows in parts.items())
        return b'{"info": %s,\n%s}\n' % (msgspec.json.encode(_Info(PROGRAM)), b",\n".join(lists))

    def _lines_of(self, name: str, labels: Labels, kind_numbers: Mapping[str, int]) -> _Lines:
        """Return the lines of a photo; only those of changed photos are encoded again."""
        known = self._lines.get(name)
        if known is not None and known.revision == labels.revision:
            return known
        number = self._numbers.setdefault(name, self._highest + 1)
        self._highest = max(self._highest, number)
        image = _Image(number, name, *labels.size, labels.done, labels.use, labels.false_alarms)
        annotations = [
            _Annotation(
                one.id,
                number,
                kind_numbers[one.label],
                one.box,
                round(one.box[2] * one.box[3], 2),
                1 if one.flag == "crowd" else 0,
                1 if one.flag == "ignore" else 0,
                one.score,
            )
            for one in labels.boxes.values()
        ]
        made = _Lines(
            labels.revision, msgspec.json.encode(image), b",\n".join(map(msgspec.json.encode, annotations))
        )
        self._lines[name] = made
        return made

    def read(self, path: Path) -> tuple[dict[str, Labels], list[str]]:
        """Return the boxes in a file by the names of photos, and the kinds of objects.

        Raises
        ------
        SettingsError
            If it was written by another program, or is damaged.
        SourceError
            If it cannot be read.
        """
        data = read_bytes(path)
        try:
            dataset = msgspec.json.decode(data, type=_Dataset)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise SettingsError(
                f"{path} was not written by vjcascade label, or is damaged ({error}): to start from its boxes, "
                "give it with --boxes, and another file with --output"
            ) from None
        if dataset.info.description != PROGRAM:
            raise SettingsError(
                f"{path} was written by another program: to start from its boxes, give it with --boxes, and another "
                "file with --output"
            )
        return self._labels_of(dataset, path), list(dict.fromkeys(one.name for one in dataset.categories))

    def _labels_of(self, dataset: _Dataset, path: Path) -> dict[str, Labels]:
        found: dict[str, Labels] = {}
        names = {one.id: one.name for one in dataset.categories}
        by_number: dict[int, Labels] = {}
        for image in dataset.images:
            size = known_size(image.width, image.height)
            if size is None or image.id in by_number or image.file_name in found:
                raise SettingsError(
                    f"{path}: the image {image.file_name!r:.100} has no valid size, or appears twice; correct the file"
                )
            labels = Labels(size, image.use, {}, image.false_alarms, image.done)
            by_number[image.id] = found[image.file_name] = labels
            self._numbers[image.file_name] = image.id
            self._highest = max(self._highest, image.id)
        for one in dataset.annotations:
            labels_of_it, label = by_number.get(one.image_id), names.get(one.category_id)
            if labels_of_it is None or label is None:
                raise SettingsError(
                    f"{path}: the annotation {one.id} refers to an unknown image or category; correct the file"
                )
            flag: BoxFlag = "crowd" if one.iscrowd else "ignore" if one.ignore else ""
            labels_of_it.boxes[one.id] = Box(one.id, checked_box(one.bbox), label, flag, one.score)
        return found


def is_ours(path: Path) -> bool:
    """Return whether a file was written by `vjcascade label`.

    Examples
    --------
    >>> is_ours(Path("nowhere.json"))
    False
    """
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_START)) == _START


_START = b'{"info": ' + msgspec.json.encode(_Info(PROGRAM))
