"""Pascal VOC XML: one file for each picture, with a `<bndbox>` in each `<object>`.

Pixels are counted from 1, and `xmax` and `ymax` are the last pixels inside, so that a box of `xmin` 1 and `xmax` 24 has
`x` 0 and `w` 24. An object marked `<difficult>1</difficult>` is a region to ignore. An object without a box is left out
and reported; the others of its picture are read. Boxes of parts of objects are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from vjcascade.formats._xml import elements
from vjcascade.formats.annotations.pictures import (
    NUMBER,
    AnnotatedObject,
    AnnotatedPicture,
    Annotations,
    Fault,
    PictureFinder,
    checked_box,
    decoded,
    known_size,
    parsed_number,
    read_bytes,
)
from vjcascade.formats.annotations.shapes import flag_among
from vjcascade.types import Size

MAX_BYTES = 2**24
"""Largest file read; those of VOC have some kB."""

MAX_OBJECTS = 100_000
"""Most objects in a picture."""

FOLDERS = ("Annotations", "annotations")
"""Subfolders with the XML files of a VOC data set."""

PICTURE_FOLDERS = ("JPEGImages", "images", "Images")
"""Folders with the pictures, beside these."""

_CORNERS = ("xmin", "ymin", "xmax", "ymax")
_TOP = (("filename",), ("path",), ("size", "width"), ("size", "height"))
"""Elements that are read, except for objects."""


def annotation_files(folder: Path) -> list[Path]:
    """Return the XML files in a folder, or in its subfolder of annotations, sorted by name.

    Examples
    --------
    >>> annotation_files(Path())
    []
    """
    places = (folder, *(folder / name for name in FOLDERS))
    found = (sorted(path for path in place.glob("*.[xX][mM][lL]") if path.is_file()) for place in places)
    return next(filter(None, found), [])


def read_voc(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read files of Pascal VOC XML.

    Parameters
    ----------
    path : Path
        One file, or a folder; see `annotation_files`.
    first : iterable of Path
        Folders to search for the pictures before the usual ones and that of the files.

    Returns
    -------
    Annotations
        A picture for each file. Invalid files are among the faults.
    """
    paths = annotation_files(path) if path.is_dir() else [path]
    folder = paths[0].parent if paths else path
    beside = tuple(folder.parent / name for name in PICTURE_FOLDERS if (folder.parent / name).is_dir())
    finder = PictureFinder(folder / "*.xml", (*first, *beside))
    faults: list[Fault] = []
    found = []
    for place, one in enumerate(paths, start=1):
        try:
            picture = _parse(decoded(read_bytes(one, MAX_BYTES)))
            annotated = _annotated(place, picture, finder)
        except ValueError as error:
            faults.append(Fault(place, f"{one.name}: {error}"))
            continue
        found.append(annotated)
        faults += [
            Fault(place, f"{one.name}: {wrong}", label, annotated.name) for wrong, label in picture.wrong
        ]
    notes = tuple(finder.notes())
    return Annotations(folder, "Pascal VOC XML", "file", tuple(found), tuple(faults), notes)


class _Picture(NamedTuple):
    file_name: str
    path: str
    objects: list[AnnotatedObject]
    wrong: list[tuple[str, str]]
    """The reason and the label of each object that cannot be used."""
    size: Size | None


def _annotated(place: int, picture: _Picture, finder: PictureFinder) -> AnnotatedPicture:
    """Return the picture of a file: at its `<path>`, if that is relative and exists, otherwise by its `<filename>`.

    Absolute paths are those of the machine where the file was made, and are not used.
    """
    is_relative = picture.path and not PureWindowsPath(picture.path).anchor
    name = picture.path if is_relative and finder.find(picture.path) is not None else picture.file_name
    return AnnotatedPicture(place, name, finder.locate(name), tuple(picture.objects), picture.size)


def _parse(text: str) -> _Picture:
    """Read a file.

    Raises
    ------
    ValueError
        If it is not in the format.
    """
    top: dict[tuple[str, ...], str] = {}
    objects: list[AnnotatedObject] = []
    wrong: list[tuple[str, str]] = []
    fields: dict[str, str] = {}
    counted, line = 0, 1
    for path, place, tag, value in elements(text, "annotation", "Pascal VOC"):
        if tag:
            continue
        if path[1:] in _TOP:
            top[path[1:]] = value
        elif path[:2] == ("annotation", "object") and len(path) <= 4:
            fields["/".join(path[2:])] = value
            if len(path) == 2:  # its end
                line += text.count("\n", counted, place)
                counted = place
                try:
                    objects.append(_object(fields))
                except ValueError as error:
                    wrong.append((f"line {line}: the object that ends here: {error}", fields.get("name", "")))
                fields = {}
                if len(objects) + len(wrong) > MAX_OBJECTS:
                    raise ValueError(f"it has more than {MAX_OBJECTS:,} objects, the limit for a picture")
    file_name, path_name, *sides = (top.get(name, "") for name in _TOP)
    if not file_name:
        raise ValueError("it has no <filename>")
    size = known_size(*(float(side) if NUMBER.fullmatch(side) else None for side in sides))
    return _Picture(file_name, path_name, objects, wrong, size)


def _object(fields: Mapping[str, str]) -> AnnotatedObject:
    left, top, right, bottom = (_corner(fields, name) for name in _CORNERS)
    box = checked_box([left - 1, top - 1, right - left + 1, bottom - top + 1])
    return AnnotatedObject(
        box, fields.get("name", ""), flag_among({"difficult": fields.get("difficult", "")})
    )


def _corner(fields: Mapping[str, str], name: str) -> float:
    word = fields.get(f"bndbox/{name}", "")
    if not word:
        raise ValueError(f"it has no {name}")
    try:
        return parsed_number(word)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
