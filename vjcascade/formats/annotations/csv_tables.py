"""Boxes in a table: a line that names the columns, then one box a line.

Columns are `file,x,y,w,h` or `filename,xmin,ymin,xmax,ymax`, or go by other names that are usual for these; further
columns mean nothing. Where the corners are given, `width` and `height` are those of the picture, as in the tables of
TensorFlow. A picture without objects has a line of its own, with nothing in the columns of the box.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

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
    decoded,
    read_bytes,
)

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
}
"""What columns mean, by the names that they go by."""

_CORNERS = ("left", "top", "right", "bottom")
_SIZES = ("left", "top", "width", "height")

_NUMBER = re.compile(r"[-+]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][-+]?\d{1,3})?", re.ASCII)
_NO = ("", "0", "0.0", "false", "no")

ADVICE = "the first line must name the columns, such as file,x,y,w,h"


def is_csv(text: str) -> bool:
    """Tell whether the first line of a text names the columns of a table of boxes.

    Examples
    --------
    >>> is_csv("file,x,y,w,h"), is_csv("filename,count,x,y,w,h"), is_csv("a.png 1 2 3 4 5")
    (True, False, False)
    """
    names = _names(_first_line(text.lstrip()))
    return bool(_columns(names)) and not {"count", "n", "num", "number"}.intersection(names)


def read_csv(path: Path, *, finder: PictureFinder | None = None, category: str | None = None) -> Annotations:
    """Read a table of boxes.

    Parameters
    ----------
    path : Path
        The table; commas, semicolons or tabs part its columns.
    finder : PictureFinder, optional
        Finds its pictures; beside the table if not given.
    category : str, optional
        The kind of object, where a column `class`, `label` or `category` has several. Pictures that show others
        only have no objects.

    Returns
    -------
    Annotations
        A picture for each file that is named, with the boxes of all its lines.

    Raises
    ------
    SourceError
        If the file cannot be read, its first line does not name the columns, or the category is not to be told.
    """
    return _Table(path, finder or PictureFinder(path), category).read()


class _Table:
    def __init__(self, path: Path, finder: PictureFinder, category: str | None) -> None:
        text = decoded(read_bytes(path)).lstrip()
        self.path = path
        self.finder = finder
        self._lines = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(_first_line(text)))
        self.columns = _columns([name.strip().lower() for name in next(self._rows(), [])])
        if not self.columns:
            raise SourceError(f"{path}: {ADVICE}")
        self._category = category
        self._boxes: dict[str, tuple[list[Coordinates], list[Coordinates]]] = {}
        self._found: dict[str, tuple[int, Path]] = {}
        self.faults: list[Fault] = []

    def read(self) -> Annotations:
        rows = [(self._lines.line_num, row) for row in self._rows() if any(map(str.strip, row))]
        category = self._chosen(row for _, row in rows)
        for line, row in rows:
            try:
                self._add(line, row, category)
            except ValueError as error:
                self.faults.append(Fault(line, str(error)))
        pictures = (
            AnnotatedPicture(line, name, path, *map(tuple, self._boxes[name]))
            for name, (line, path) in self._found.items()
        )
        notes = tuple(self.finder.notes())
        return Annotations(self.path, "CSV", "line", tuple(pictures), tuple(self.faults), notes)

    def _rows(self) -> Iterator[list[str]]:
        try:
            yield from self._lines
        except csv.Error as error:  # such as a field of more than 131,072 characters
            raise SourceError(f"{self.path}:{self._lines.line_num}: {error}; {ADVICE}") from None

    def _chosen(self, rows: Iterator[list[str]]) -> str | None:
        if "category" not in self.columns:
            return chosen_category([], self._category, self.path)
        names = (self._field(row, "category") for row in rows)
        return chosen_category(filter(None, names), self._category, self.path)

    def _add(self, line: int, row: list[str], category: str | None) -> None:
        name = self._field(row, "file")
        if not name:
            raise ValueError("names no picture")
        box = self._box(row)
        if name not in self._found:
            self._found[name] = line, self.finder.locate(name)
            self._boxes[name] = [], []
        if box is not None and self._field(row, "category") in {"", category}:
            is_ignored = self._field(row, "ignored").lower() not in _NO
            self._boxes[name][is_ignored].append(box)

    def _box(self, row: list[str]) -> Coordinates | None:
        has_corners = self.columns.keys() >= set(_CORNERS)
        words = [self._field(row, name) for name in (_CORNERS if has_corners else _SIZES)]
        if not any(words):
            return None
        for word in words:
            if not _NUMBER.fullmatch(word):
                raise ValueError(
                    f"{brief(word)!r} is no number; a box needs four, a picture without objects none"
                )
        x, y, *rest = map(float, words)
        return checked_box([x, y, *((rest[0] - x, rest[1] - y) if has_corners else rest)])

    def _field(self, row: list[str], name: str) -> str:
        column = self.columns.get(name, len(row))
        return row[column].strip() if column < len(row) else ""


def _first_line(text: str) -> str:
    return re.match(r"[^\r\n]*", text)[0]  # type: ignore[index]  # it matches nothing, too


def _names(line: str) -> list[str]:
    return [name.strip(" \t\"'").lower() for name in line.split(_delimiter(line))]


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def _columns(names: list[str]) -> Mapping[str, int]:
    """Return which column has what; nothing if it is not a table of boxes."""
    found = {
        meaning: next(names.index(name) for name in spellings if name in names)
        for meaning, spellings in _COLUMNS.items()
        if set(spellings).intersection(names)
    }
    has_boxes = any(found.keys() >= {"file", *box} for box in (_CORNERS, _SIZES))
    return found if has_boxes else {}
