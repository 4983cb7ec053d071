"""OpenCV's text lists: `info.dat` (pictures with boxes) and `bg.txt` (pictures only, or with boxes to ignore).

One picture per line: `NAME COUNT X Y WIDTH HEIGHT X Y WIDTH HEIGHT ...`, or `NAME`. Names may contain spaces: the
numbers are read from the end of the line. Empty lines and lines that begin with `#` are skipped. Common variations are
accepted if they are unambiguous: names in quotes, commas, semicolons or brackets between the numbers, `24.0` for 24, a
first line of column names.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.pictures import (
    NO_BLANK,
    SHOWN,
    AnnotatedObject,
    AnnotatedPicture,
    Annotations,
    Fault,
    PictureFinder,
    brief,
    checked_box,
    read_bytes,
)

_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?", re.ASCII)

_SEPARATORS = str.maketrans(",;()[]{}", " " * 8)

_COLUMNS = frozenset({
    "file", "filename", "file_name", "image", "img", "image_name", "name", "path", "picture", "count", "n", "num",
    "number", "x", "y", "w", "h", "width", "height", "left", "top", "xmin", "ymin", "xmax", "ymax", "x1", "y1", "x2",
    "y2", "label", "class", "box", "boxes", "bbox",
})  # fmt: skip
"""Words of a first line that names columns: `filename,count,x,y,w,h`."""

LIST_NAME = "info.dat"
"""Name of the list in a folder of samples or scenes."""

OPENCV_LIST = "OpenCV list"
"""Name of the format."""

_FORM = "NAME COUNT X Y WIDTH HEIGHT ... in whole numbers"

MAX_BYTES = 256 * 2**20
"""Largest list read: millions of lines."""

MAX_DIGITS = 9
"""Numbers with more digits are invalid: no picture is that large."""


class Box(NamedTuple):
    """A rectangle in a picture, in pixels, origin at the top left corner.

    Examples
    --------
    >>> str(Box(10, 12, 24, 24))
    '10 12 24 24'
    """

    x: int
    y: int
    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.x} {self.y} {self.width} {self.height}"


class ListedPicture(NamedTuple):
    """A line that names an existing picture.

    Attributes
    ----------
    line : int
        Line number, from 1.
    name : str
        As written in the list.
    path : Path
        Where the picture was found.
    boxes : tuple of Box
        As written: they may reach beyond the picture or be empty.
    """

    line: int
    name: str
    path: Path
    boxes: tuple[Box, ...]


class LineError(NamedTuple):
    """A line that cannot be used, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class PictureList:
    """The content of a list.

    Attributes
    ----------
    path : Path
        The list file.
    pictures : tuple of ListedPicture
        In the order of the lines.
    errors : tuple of LineError
        Lines that are not in the format, or whose picture is missing.
    notes : tuple of str
        Assumptions made while reading.
    has_boxes : bool
        Whether any line has numbers after the name; a list of bare names stands for whole pictures.
    """

    path: Path
    pictures: tuple[ListedPicture, ...]
    errors: tuple[LineError, ...]
    notes: tuple[str, ...]
    has_boxes: bool = True


def read_boxes_list(path: str | os.PathLike[str], first: Iterable[Path] = ()) -> PictureList:
    """Read a list like OpenCV's `info.dat`: `NAME COUNT X Y WIDTH HEIGHT ...`, one picture per line.

    A list of bare names, which many guides make for `opencv_createsamples`, gives pictures without boxes.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8 (with or without byte order mark), UTF-16 with byte order mark, or latin-1. Names are
        relative to the folder of this file or, if nothing is found there, to the current directory or to a parent of
        that folder; slashes and backslashes both work.
    first : iterable of Path
        Folders to search for the pictures first.

    Returns
    -------
    PictureList
        Invalid lines and missing pictures are in its `errors`, so that a typo does not stop a run.

    Raises
    ------
    SourceError
        If the file cannot be read or is not a text.
    """
    reader = _Reader(Path(path), first)
    has_boxes = not all(reader.is_name(line) for _, line in reader.lines)
    return reader.read(has_boxes=has_boxes, needs_boxes=has_boxes)


def read_image_list(path: str | os.PathLike[str]) -> PictureList:
    """Read a list like OpenCV's `bg.txt`: one picture per line; boxes may follow, as in `info.dat`.

    If the whole line is the name of an existing picture, it has no boxes, even if it ends with numbers.

    Parameters
    ----------
    path : str or path-like
        As for `read_boxes_list`.

    Returns
    -------
    PictureList
        Missing pictures and wrong boxes are in its `errors`.

    Raises
    ------
    SourceError
        If the file cannot be read or is not a text.
    """
    return _Reader(Path(path)).read(has_boxes=True, needs_boxes=False)


def read_opencv_list(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read a list as `read_boxes_list` does, and return it as annotations.

    Parameters
    ----------
    path : Path
        The list.
    first : iterable of Path
        Folders to search for the pictures first.

    Returns
    -------
    Annotations
        Without labels, as the format has none.

    Raises
    ------
    SourceError
        If the file cannot be read or is not a text.
    """
    listed = read_boxes_list(path, first)
    pictures = tuple(
        AnnotatedPicture(
            one.line, one.name, one.path, tuple(AnnotatedObject(checked_box(box)) for box in one.boxes)
        )
        for one in listed.pictures
    )
    faults = tuple(Fault(error.line, error.reason) for error in listed.errors)
    return Annotations(path, OPENCV_LIST, "line", pictures, faults, listed.notes)


class _Reader:
    """The lines of a list, and a finder for its pictures."""

    def __init__(self, path: Path, first: Iterable[Path] = ()) -> None:
        text, notes = _read_text(path)
        self.path = path
        self.notes = list(notes)
        stripped = (
            (number, line.strip()) for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1)
        )
        self.lines = [(number, line) for number, line in stripped if line and not line.startswith("#")]
        self._finder = PictureFinder(path, first)
        if self.lines and _names_columns(self.lines[0][1]) and self._finder.find(self.lines[0][1]) is None:
            number, line = self.lines.pop(0)
            self.notes.append(f"{path.name}:{number}: {brief(line)!r} was taken for the names of the columns")

    def read(self, *, has_boxes: bool, needs_boxes: bool) -> PictureList:
        """Read all lines; with `needs_boxes`, one without numbers is an error."""
        pictures: list[ListedPicture] = []
        errors: list[LineError] = []
        for number, line in self.lines:
            try:
                bare = not has_boxes or (not needs_boxes and self.is_name(line))
                name, boxes = (self._bare_name(line), ()) if bare else _parse_boxes(line)
                pictures.append(ListedPicture(number, name, self._finder.locate(name), boxes))
            except ValueError as error:
                errors.append(LineError(number, str(error)))
        self.notes += self._finder.notes()
        return PictureList(self.path, tuple(pictures), tuple(errors), tuple(self.notes), has_boxes)

    def is_name(self, line: str) -> bool:
        """Return whether a line is the name of a picture, without numbers after it."""
        last = line.replace('"', "").translate(_SEPARATORS).split()[-1:]
        return (
            not (last and _NUMBER.fullmatch(last[0])) or self._finder.find(self._bare_name(line)) is not None
        )

    def _bare_name(self, line: str) -> str:
        """Return the name in a line, without quotes and trailing separators."""
        found = (
            name
            for name in (line, _unquoted(line), line.rstrip(" ,;"))
            if self._finder.find(name) is not None
        )
        return next(found, _unquoted(line))


def _read_text(path: Path) -> tuple[str, tuple[str, ...]]:
    data = read_bytes(path, MAX_BYTES)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # PowerShell's `dir > bg.txt`
        return data.decode("utf-16", errors="replace"), ()
    if b"\0" in data:
        raise SourceError(f"{path} {_not_a_text(path, data)}")
    if data[:99].lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"<?xml", b"<opencv_storage")):
        raise SourceError(
            f"{path} is an XML file, such as a model, and not a list: give a folder of pictures, or a list"
        )
    try:
        return data.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        return data.decode("latin-1"), (f"{path.name} is not UTF-8 and was read as latin-1",)


def _not_a_text(path: Path, data: bytes) -> str:
    """Describe a file that contains null bytes, and what to do."""
    if path.suffix.lower() == ".vec":
        return (
            "contains samples of opencv_createsamples, which are crops without positions in pictures: give the list "
            "of boxes that it was made from"
        )
    even, odd = (data[first : 2 * SHOWN : 2].count(0) for first in (0, 1))
    if min(even, odd) == 0 and 3 * max(even, odd) > len(data[: 2 * SHOWN]):
        return "is UTF-16 without a byte order mark: save it as UTF-8"
    return "is not a text file: give a folder of pictures, or a list with one name per line"


def _unquoted(name: str) -> str:
    quoted = len(name) > 2 and name[0] == name[-1] and name[0] in "\"'" and name[0] not in name[1:-1]
    return name[1:-1] if quoted else name


def _names_columns(line: str) -> bool:
    words = re.split(r"[\s,;|]+", line.strip(" ,;|#").replace('"', "").lower())
    return len(words) > 1 and _COLUMNS.issuperset(words)


def _parse_boxes(line: str) -> tuple[str, tuple[Box, ...]]:
    name, numbers = _name_and_numbers(line)
    if not numbers:
        raise ValueError(f"{brief(line)!r} is not {_FORM}")
    for number in numbers:
        if len(number.lstrip("+-")) > MAX_DIGITS:
            raise ValueError(f"{brief(name)}: {brief(number)} has more than {MAX_DIGITS} digits")
        if not float(number).is_integer():
            raise ValueError(f"{brief(name)}: {number} is not a whole number of pixels; expected {_FORM}")
    count, *rest = (int(float(number)) for number in numbers)
    if len(rest) != 4 * count:
        problem = f"the count {count} must be followed by four numbers for each box, but {len(rest)} follow"
        run_together = NO_BLANK.fullmatch(name)
        if run_together and len(numbers) == 4 * int(run_together[2][:MAX_DIGITS]):
            problem = f"a space is missing between {run_together[1]} and the count {run_together[2]}"
        raise ValueError(f"{brief(line, SHOWN // 2)!r}: {problem}; expected {_FORM}")
    return name, tuple(Box(*rest[i : i + 4]) for i in range(0, len(rest), 4))


def _name_and_numbers(line: str) -> tuple[str, list[str]]:
    """Split a line into its name and the numbers after it, with any separators."""
    quoted = re.match(r"([\"'])(.+?)\1[\s,;]*(.*)", line)
    if quoted:
        words = quoted[3].replace(quoted[1], "").translate(_SEPARATORS).split()
        return quoted[2], words if all(map(_NUMBER.fullmatch, words)) else []
    ways = (_from_the_right(line, _BLANKS), _from_the_right(line.replace('"', ""), _SEPARATED))
    return next((found for found in ways if found[1] and _fits(found[1])), ways[0])


def _from_the_right(line: str, words: re.Pattern[str]) -> tuple[str, list[str]]:
    """Split a line where the numbers at its end begin; its first word is always a name."""
    found = list(words.finditer(line))[:0:-1]
    numbers = list(takewhile(lambda word: _NUMBER.fullmatch(word[0]), found))[::-1]
    return (line[: numbers[0].start()].rstrip(" \t,;([{") if numbers else line), [word[0] for word in numbers]


_BLANKS, _SEPARATED = re.compile(r"\S+"), re.compile(r"[^\s,;()\[\]{}]+")


def _fits(numbers: list[str]) -> bool:
    """Return whether the first number is the count of the boxes that follow."""
    return len(numbers[0]) <= MAX_DIGITS and 4 * float(numbers[0]) == len(numbers) - 1
