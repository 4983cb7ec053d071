"""CSV tables: a header, then one box per line.

Columns are `file,x,y,w,h` or `filename,xmin,ymin,xmax,ymax`, or have other common names for these; other columns are
not read. If there are corners, `width` and `height` are those of the picture, as in TensorFlow's tables. A picture
without objects has a line with empty columns for the box. A column `ignore` (`difficult`, `iscrowd`) marks regions to
ignore.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.pictures import (
    NUMBER,
    AnnotatedObject,
    AnnotatedPicture,
    Annotations,
    Coordinates,
    Fault,
    Flag,
    PictureFinder,
    brief,
    checked_box,
    decoded,
    known_size,
    read_bytes,
)
from vjcascade.imaging import IMAGE_SUFFIXES
from vjcascade.types import Size

_FILE = (
    "file",
    "filename",
    "file_name",
    "image",
    "img",
    "image_name",
    "image_path",
    "path",
    "picture",
    "name",
)
_COLUMNS = {
    "file": _FILE,
    "left": ("x", "left", "xmin", "x_min", "x1", "bbox_x"),
    "top": ("y", "top", "ymin", "y_min", "y1", "bbox_y"),
    "right": ("xmax", "x_max", "x2", "right"),
    "bottom": ("ymax", "y_max", "y2", "bottom"),
    "width": ("w", "width", "box_width", "bbox_w", "bbox_width"),
    "height": ("h", "height", "box_height", "bbox_h", "bbox_height"),
    "category": ("category", "class", "label"),
    "ignored": ("ignore", "ignored", "difficult", "iscrowd", "crowd"),
    "picture width": ("width", "image_width", "img_width"),
    "picture height": ("height", "image_height", "img_height"),
}
"""The names of columns by their meanings."""

_CORNERS = ("left", "top", "right", "bottom")
_SIZES = ("left", "top", "width", "height")

_NO = ("", "0", "0.0", "false", "no")

_FLAGS: dict[str, Flag] = {"difficult": "difficult", "crowd": "crowd", "iscrowd": "crowd"}
"""Flags by the names of columns and by the words in them; all others mean "ignore"."""

ADVICE = "the first line must name the columns, such as file,x,y,w,h"


def is_csv(text: str) -> bool:
    """Return whether the first line of a text is the header of a table of boxes.

    Examples
    --------
    >>> is_csv("file,x,y,w,h"), is_csv("filename,count,x,y,w,h"), is_csv("a.png 1 2 3 4 5")
    (True, False, False)
    """
    names = _names(_first_line(text.lstrip()))
    return bool(_columns(names)) and not {"count", "n", "num", "number"}.intersection(names)


def lacks_header(text: str) -> bool:
    """Return whether a text is a table of boxes without a header, and not an OpenCV list.

    Such a table is refused, as its numbers may be sizes or corners.

    Examples
    --------
    >>> lacks_header("a.png,1,2,3,4,car"), lacks_header("a.png,1,2,3,4"), lacks_header("a.png,1,2,3,4,5")
    (True, True, False)
    """
    lines = [line for line in text.splitlines()[:_SEEN] if line.strip()]
    return bool(lines) and all(_is_box(_names(line)) for line in lines)


_SEEN = 10
"""Lines that are checked."""


def _is_box(words: list[str]) -> bool:
    name, *rest = words
    numbers = [float(word) for word in rest if NUMBER.fullmatch(word)]
    if len(numbers) < 4 or not name.endswith(tuple(IMAGE_SUFFIXES)):
        return False
    counts_boxes = len(rest) == len(numbers) == 4 * numbers[0] + 1
    return not (counts_boxes and all(map(float.is_integer, numbers)))


def read_csv(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read a table of boxes.

    Parameters
    ----------
    path : Path
        The table, separated by commas, semicolons or tabs. Labels are in the column `class`, `label` or `category`.
    first : iterable of Path
        Folders to search for its pictures before that of the table.

    Returns
    -------
    Annotations
        A picture for each file name, with the boxes of all its lines.

    Raises
    ------
    SourceError
        If the file cannot be read or has no header.
    """
    return _Table(path, PictureFinder(path, first)).read()


class _Table:
    def __init__(self, path: Path, finder: PictureFinder) -> None:
        text = decoded(read_bytes(path)).lstrip()
        self.path = path
        self.finder = finder
        self._rows = table_rows(text, path)
        names = [name.strip().lower() for name in next(self._rows, (0, []))[1]]
        self.columns = _columns(names)
        if not self.columns and lacks_header(text):
            raise SourceError(
                f"{path}: the header is missing; add a first line such as file,x,y,w,h,label or "
                "file,xmin,ymin,xmax,ymax,label, in the order of your columns"
            )
        if not self.columns:
            raise SourceError(f"{path}: {ADVICE}")
        self._has_corners = self.columns.keys() >= set(_CORNERS)
        ignored = self.columns.get("ignored")
        self._flag = "ignore" if ignored is None else _FLAGS.get(names[ignored], "ignore")
        self._found: dict[str, tuple[int, Path, Size | None]] = {}
        self._objects: dict[str, list[AnnotatedObject]] = {}
        self.faults: list[Fault] = []

    def read(self) -> Annotations:
        for line, row in self._rows:
            label = self._field(row, "category")
            try:
                self._add(line, row, label)
            except ValueError as error:
                self.faults.append(Fault(line, str(error), label, self._field(row, "file")))
        pictures = (
            AnnotatedPicture(line, name, path, tuple(self._objects[name]), size)
            for name, (line, path, size) in self._found.items()
        )
        notes = tuple(self.finder.notes())
        return Annotations(self.path, "CSV", "line", tuple(pictures), tuple(self.faults), notes)

    def _add(self, line: int, row: list[str], label: str) -> None:
        name = self._field(row, "file")
        if not name:
            raise ValueError("there is no file name")
        box = self._box(row)
        if name not in self._found:
            self._found[name] = line, self.finder.locate(name), self._size(row)
            self._objects[name] = []
        if box is not None:
            word = self._field(row, "ignored").lower()
            flag = "" if word in _NO else _FLAGS.get(word, self._flag)
            self._objects[name].append(AnnotatedObject(box, label, flag))

    def _box(self, row: list[str]) -> Coordinates | None:
        words = [self._field(row, name) for name in (_CORNERS if self._has_corners else _SIZES)]
        if not any(words):
            return None
        for word in words:
            if not NUMBER.fullmatch(word):
                raise ValueError(
                    f"{brief(word)!r} is not a number; a box needs four, a picture without objects none"
                )
        x, y, *rest = map(float, words)
        return checked_box([x, y, *((rest[0] - x, rest[1] - y) if self._has_corners else rest)])

    def _size(self, row: list[str]) -> Size | None:
        """Return the picture's size, unless `width` and `height` are those of the box, as in tables without corners."""
        words = [self._field(row, name) for name in ("picture width", "picture height")]
        taken = {self.columns.get("width"), self.columns.get("height")} if not self._has_corners else set()
        if {self.columns.get("picture width"), self.columns.get("picture height")} & taken:
            return None
        return known_size(*(float(word) if NUMBER.fullmatch(word) else None for word in words))

    def _field(self, row: list[str], name: str) -> str:
        column = self.columns.get(name, len(row))
        return row[column].strip() if column < len(row) else ""


def table_rows(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the non-empty rows of a table, each with the number of its last line.

    Raises
    ------
    SourceError
        If the CSV is invalid, for example because a quoted field does not end.
    """
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(_first_line(text)))
    try:
        for row in lines:
            if any(map(str.strip, row)):
                yield lines.line_num, row
    except csv.Error as error:  # such as a field of more than 131,072 characters
        raise SourceError(f"{path}:{lines.line_num}: {error}; {ADVICE}") from None


def _first_line(text: str) -> str:
    return re.match(r"[^\r\n]*", text)[0]  # type: ignore[index]  # it matches nothing, too


def _names(line: str) -> list[str]:
    return [name.strip(" \t\"'").lower() for name in line.split(delimiter_of(line))]


def delimiter_of(line: str) -> str:
    """Return the delimiter of the columns in a line.

    Examples
    --------
    >>> delimiter_of("file;x;y")
    ';'
    """
    return max(",;\t", key=line.count)


def _columns(names: list[str]) -> Mapping[str, int]:
    """Return the columns by their meanings; empty if it is not a table of boxes."""
    found = {
        meaning: next(names.index(name) for name in spellings if name in names)
        for meaning, spellings in _COLUMNS.items()
        if set(spellings).intersection(names)
    }
    has_boxes = any(found.keys() >= {"file", *box} for box in (_CORNERS, _SIZES))
    return found if has_boxes else {}
