"""OpenCV's text lists: `info.dat` (pictures with boxes) and `bg.txt` (pictures alone, or with boxes to ignore).

One picture a line: `NAME COUNT X Y WIDTH HEIGHT X Y WIDTH HEIGHT ...`, or `NAME`. Names may hold blanks: the
numbers are read from the right end of the line. Empty lines and lines that begin with `#` mean nothing.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from vjcascade.errors import SourceError

_NUMBER = re.compile(r"[-+]?\d+", re.ASCII)

MAX_DIGITS = 9
"""Numbers of more digits are wrong: no picture is so large."""


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
    """What a list file says.

    Attributes
    ----------
    path : Path
        The list file.
    pictures : tuple of ListedPicture
        In the order of the lines.
    errors : tuple of LineError
        Lines that are not in the format, or whose picture is missing.
    notes : tuple of str
        What the reader had to assume.
    """

    path: Path
    pictures: tuple[ListedPicture, ...]
    errors: tuple[LineError, ...]
    notes: tuple[str, ...]


def read_boxes_list(path: str | os.PathLike[str]) -> PictureList:
    """Read a list like OpenCV's `info.dat`: `NAME COUNT X Y WIDTH HEIGHT ...`, one picture a line.

    Parameters
    ----------
    path : str or path-like
        Text in UTF-8 (with or without byte order mark), UTF-16 with byte order mark, or latin-1. Names are
        relative to the folder of this file or, where nothing is found there, to the current directory.

    Returns
    -------
    PictureList
        Wrong lines and missing pictures are in its `errors`, so that one typing error does not stop a run.

    Raises
    ------
    SourceError
        If the file cannot be read or is not a text.
    """
    return _read_list(Path(path), _parse_boxes)


def read_image_list(path: str | os.PathLike[str]) -> PictureList:
    """Read a list like OpenCV's `bg.txt`: one picture a line; boxes may follow, as in `info.dat`.

    A line that as a whole names a picture has no boxes, whatever numbers it ends with.

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
    folder = Path(path).parent

    def parse(line: str) -> tuple[str, tuple[Box, ...]]:
        is_name = _find(line, folder) is not None or not _NUMBER.fullmatch(line.rsplit(maxsplit=1)[-1])
        return (line, ()) if is_name else _parse_boxes(line)

    return _read_list(Path(path), parse)


def _read_list(path: Path, parse: Callable[[str], tuple[str, tuple[Box, ...]]]) -> PictureList:
    text, notes = _read_text(path)
    pictures: list[ListedPicture] = []
    errors: list[LineError] = []
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        try:
            name, boxes = parse(content)
            pictures.append(ListedPicture(number, name, _locate(name, path.parent), boxes))
        except ValueError as error:
            errors.append(LineError(number, str(error)))
    return PictureList(path, tuple(pictures), tuple(errors), notes)


def _read_text(path: Path) -> tuple[str, tuple[str, ...]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from error
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # PowerShell's `dir > bg.txt`
        return data.decode("utf-16", errors="replace"), ()
    if b"\0" in data:
        raise SourceError(f"{path} is not a text: give a folder of pictures, or a list that names one a line")
    try:
        return data.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        return data.decode("latin-1"), (f"{path.name} is not UTF-8 and was read as latin-1",)


def _parse_boxes(line: str) -> tuple[str, tuple[Box, ...]]:
    words = line.split()
    numbers = list(takewhile(_NUMBER.fullmatch, words[:0:-1]))[::-1]
    if not numbers:
        raise ValueError(f"{_brief(line)!r} is not NAME COUNT X Y WIDTH HEIGHT ... in whole numbers")
    name = line.rsplit(maxsplit=len(numbers))[0]
    for number in numbers:
        if len(number.lstrip("+-")) > MAX_DIGITS:
            raise ValueError(f"{_brief(name)}: {_brief(number)} has more than {MAX_DIGITS} digits")
    count, *rest = map(int, numbers)
    if len(rest) != 4 * count:
        problem = f"the count {count} needs four numbers a box after it, found {len(rest)}"
        raise ValueError(f"{_brief(name)}: {problem}")
    return name, tuple(Box(*rest[i : i + 4]) for i in range(0, len(rest), 4))


def _locate(name: str, folder: Path) -> Path:
    found = _find(name, folder)
    if found is None:
        raise ValueError(f"{_brief(name)}: not found in {folder.absolute()}")
    return found


def _find(name: str, folder: Path) -> Path | None:
    """Find the picture beside the list or in the current directory; also if written with backslashes."""
    for candidate in (folder / name, Path(name), folder / name.replace("\\", "/")):
        # Path.is_file raises for a name that is too long, as a line of another format may be.
        if os.path.isfile(candidate):  # noqa: PTH113
            return candidate
    return None


def _brief(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:97]}..."
