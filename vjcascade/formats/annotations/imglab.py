"""dlib's imglab XML: `<image file='...'>` with `<box top left width height>` and its `<label>`.

A box with `ignore='1'` or `difficult='1'` is a region to ignore. Parts (landmarks) are not read. dlib, which defines
the format, does not read the boxes in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from vjcascade.errors import ModelError, SourceError
from vjcascade.formats._xml import attributes_of, elements
from vjcascade.formats.annotations.pictures import (
    NUMBER,
    AnnotatedObject,
    AnnotatedPicture,
    Annotations,
    Coordinates,
    Fault,
    Flag,
    PictureFinder,
    checked_box,
    decoded,
    known_size,
    parsed_number,
    read_bytes,
)
from vjcascade.types import Size

MAX_BYTES = 2**28
"""Largest file read: millions of boxes."""

_SIDES = ("left", "top", "width", "height")


def read_imglab(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read an imglab data set.

    Parameters
    ----------
    path : Path
        The XML file.
    first : iterable of Path
        Folders to search for its pictures before that of the file.

    Returns
    -------
    Annotations
        A picture for each `<image>`.

    Raises
    ------
    SourceError
        If the file cannot be read or is not valid XML of this format.
    """
    reader = _Reader(decoded(read_bytes(path, MAX_BYTES)), PictureFinder(path, first))
    try:
        reader.read()
    except ModelError as error:
        raise SourceError(f"{path}: {error}") from None
    notes = tuple(reader.finder.notes())
    return Annotations(path, "imglab XML", "image", tuple(reader.pictures), tuple(reader.faults), notes)


class _Reader:
    """Collects the images of a file, tag by tag."""

    def __init__(self, text: str, finder: PictureFinder) -> None:
        self._text = text
        self.finder = finder
        self.pictures: list[AnnotatedPicture] = []
        self.faults: list[Fault] = []
        self._n_images = 0
        self._image: Mapping[str, str] = {}
        self._objects: list[AnnotatedObject] = []
        self._box: Mapping[str, str] = {}
        self._label = ""
        self._counted = 0, 1

    def read(self) -> None:
        """Read all images.

        Raises
        ------
        ModelError
            If the text is not valid XML of this format.
        """
        for path, place, tag, text in elements(self._text, "dataset", "imglab"):
            match path[1:], bool(tag):
                case ("images", "image"), True:
                    self._n_images += 1
                    self._image, self._objects = attributes_of(tag), []
                case ("images", "image", "box"), True:
                    self._box, self._label = attributes_of(tag), ""
                case ("images", "image", "box", "label"), False:
                    self._label = text
                case ("images", "image", "box"), False:
                    self._end_box(place)
                case ("images", "image"), False:
                    self._end_image()

    def _end_box(self, place: int) -> None:
        try:
            self._objects.append(AnnotatedObject(_box(self._box), self._label, _flag(self._box)))
        except ValueError as error:
            reason = f"line {self._line(place)}: the box that ends here: {error}"
            self.faults.append(Fault(self._n_images, reason, self._label, self._image.get("file", "")))

    def _end_image(self) -> None:
        name = self._image.get("file", "")
        try:
            path = self.finder.locate(name)
        except ValueError as error:
            self.faults.append(Fault(self._n_images, str(error)))
            return
        objects = tuple(self._objects)
        self.pictures.append(AnnotatedPicture(self._n_images, name, path, objects, _size(self._image)))

    def _line(self, place: int) -> int:
        """Return the line of a position, counted from the last one: there may be a million invalid boxes."""
        before, line = self._counted
        self._counted = place, line + self._text.count("\n", before, place)
        return self._counted[1]


def _box(attributes: Mapping[str, str]) -> Coordinates:
    missing = next((name for name in _SIDES if name not in attributes), None)
    if missing is not None:
        raise ValueError(f"it has no {missing}")
    return checked_box([parsed_number(attributes[name]) for name in _SIDES])


def _flag(attributes: Mapping[str, str]) -> Flag:
    """Return why a box is to be ignored."""
    if attributes.get("ignore", "0") not in {"0", "false"}:
        return "ignore"
    return "difficult" if attributes.get("difficult", "0") not in {"0", "false"} else ""


def _size(attributes: Mapping[str, str]) -> Size | None:
    """Return the size of an image, which only newer files have."""
    sides = [attributes.get(name, "") for name in ("width", "height")]
    return known_size(*(float(side) if NUMBER.fullmatch(side) else None for side in sides))
