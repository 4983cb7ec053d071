"""Pascal VOC's XML: one file for each picture, with a `<bndbox>` in each `<object>`.

Pixels are counted from 1 there, and `xmax` and `ymax` are the last pixels inside, so that a box of `xmin` 1 and `xmax`
24 is `x` 0 and `w` 24. An object marked `<difficult>1</difficult>` is a region to ignore. Boxes of parts of objects
are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import NamedTuple

from vjcascade.errors import ModelError
from vjcascade.formats._xml import line_of, tokens
from vjcascade.formats.annotations.pictures import (
    AnnotatedPicture,
    Annotations,
    Coordinates,
    Fault,
    PictureFinder,
    brief,
    checked_box,
    chosen_category,
    decoded,
    read_bytes,
)

MAX_BYTES = 2**24
"""Largest file read; those of VOC have some kB."""

MAX_DEPTH = 16
"""Deepest nesting; the files of VOC have 5."""

MAX_OBJECTS = 100_000
"""Most objects in a picture."""

FOLDERS = ("Annotations", "annotations")
"""Where a folder in the form of VOC has its XML files."""

PICTURE_FOLDERS = ("JPEGImages", "images", "Images")
"""Beside them, in this form, are folders of the pictures."""

_CORNERS = ("xmin", "ymin", "xmax", "ymax")
_NUMBER = re.compile(r"[-+]?\d{1,40}(\.\d{0,40})?([eE][-+]?\d{1,3})?", re.ASCII)


def annotation_files(folder: Path) -> list[Path]:
    """Return the XML files in a folder, or in its subfolder of annotations; in order of their names.

    Examples
    --------
    >>> annotation_files(Path())
    []
    """
    places = (folder, *(folder / name for name in FOLDERS))
    found = (sorted(path for path in place.glob("*.[xX][mM][lL]") if path.is_file()) for place in places)
    return next(filter(None, found), [])


def read_voc(
    paths: list[Path], *, pictures: tuple[Path, ...] = (), category: str | None = None
) -> Annotations:
    """Read files of Pascal VOC's XML.

    Parameters
    ----------
    paths : list of Path
        The files, at least one, all of one folder.
    pictures : tuple of Path
        Folders to look for the pictures in before that of the files and the usual ones beside it.
    category : str, optional
        The name of the kind of object, where there are several. Pictures that show others only have no objects.

    Returns
    -------
    Annotations
        A picture for each file.

    Raises
    ------
    SourceError
        If the category is not to be told. Files that are wrong are among the faults.
    """
    folder = paths[0].parent
    beside = tuple(folder.parent / name for name in PICTURE_FOLDERS if (folder.parent / name).is_dir())
    finder = PictureFinder(paths[0], (*pictures, *beside))
    faults: list[Fault] = []
    read: list[tuple[int, _Picture]] = []
    for place, path in enumerate(paths, start=1):
        try:
            read.append((place, _parse(decoded(read_bytes(path, MAX_BYTES)))))
        except ValueError as error:
            faults.append(Fault(place, f"{path.name}: {error}"))
    chosen = chosen_category((one.name for _, picture in read for one in picture.objects), category, folder)
    found = []
    for place, picture in read:
        try:
            found.append(_annotated(place, picture, finder, chosen))
        except ValueError as error:
            faults.append(Fault(place, f"{paths[place - 1].name}: {error}"))
    notes = tuple(finder.notes())
    return Annotations(folder, "Pascal VOC XML", "file", tuple(found), tuple(faults), notes)


class _Object(NamedTuple):
    name: str
    box: Coordinates
    is_ignored: bool


class _Picture(NamedTuple):
    file_name: str
    objects: list[_Object]


def _annotated(
    place: int, picture: _Picture, finder: PictureFinder, category: str | None
) -> AnnotatedPicture:
    path = finder.locate(picture.file_name)
    chosen = [one for one in picture.objects if one.name == category]
    boxes, ignored = (tuple(one.box for one in chosen if one.is_ignored == kind) for kind in (False, True))
    return AnnotatedPicture(place, picture.file_name, path, boxes, ignored)


def _parse(text: str) -> _Picture:
    """Read a file.

    Raises
    ------
    ValueError
        If it is not in the format.
    """
    file_name, objects = "", []
    fields: dict[str, str] = {}
    for end, path, value in _values(text):
        if path == ("annotation", "filename"):
            file_name = value
        elif path[:2] == ("annotation", "object") and len(path) <= 4:
            fields["/".join(path[2:])] = value
            if len(path) == 2:  # its end
                objects.append(_object(text, end, fields))
                fields = {}
                if len(objects) > MAX_OBJECTS:
                    raise ValueError(f"it has more than {MAX_OBJECTS:,} objects; do not trust it")
    if not file_name:
        raise ValueError("it has no <filename>")
    return _Picture(file_name, objects)


def _object(text: str, end: int, fields: Mapping[str, str]) -> _Object:
    corners = [fields.get(f"bndbox/{name}", "") for name in _CORNERS]
    wrong = next((word for word in corners if not _NUMBER.fullmatch(word)), None)
    if wrong is not None:
        names = ", ".join(_CORNERS)
        raise ValueError(
            f"line {line_of(text, end)}: the object that ends here has {brief(wrong)!r} for one of {names}"
        )
    left, top, right, bottom = map(float, corners)
    box = checked_box([left - 1, top - 1, right - left + 1, bottom - top + 1])
    return _Object(fields.get("name", ""), box, fields.get("difficult", "") == "1")


def _values(text: str) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Yield where each element of `<annotation>` ends, the names of those it is in and its own, and its text."""
    opened: list[str] = []
    pieces: list[str] = []
    for token in tokens(text):
        kind, place = token.lastgroup, token.start()
        if kind == "text":
            pieces.append(token["text"])
        if kind == "empty":  # the last group of a start tag
            opened.append(token["start"])
            pieces.clear()
            if opened[0] != "annotation" or len(opened) > MAX_DEPTH:
                raise ModelError(f"line {line_of(text, place)}: it is no <annotation> of Pascal VOC")
        if kind == "end" or token["empty"]:
            if not opened or opened[-1] != (token["end"] or token["start"]):
                raise ModelError(f"line {line_of(text, place)}: </{brief(token['end'], 40)}> closes nothing")
            yield place, tuple(opened), unescape("".join(pieces).strip())
            pieces.clear()
            opened.pop()
            if not opened:
                return
