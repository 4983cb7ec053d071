"""The common form of annotations: pictures, the objects in them, and faults of the file; and finding of pictures."""

from __future__ import annotations

import codecs
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PureWindowsPath
from typing import Literal, NamedTuple, TypeAlias

from vjcascade.errors import SourceError
from vjcascade.files import read_at_most
from vjcascade.messages import pluralize, suggest
from vjcascade.types import Size

Coordinates: TypeAlias = tuple[float, float, float, float]
"""A box `x, y, w, h` in pixels of the picture, origin at the top left corner; fractions are allowed."""

MAX_PARENTS = 4
"""Parents of an annotation file's folder that are searched for its pictures."""

MAX_COORDINATE = 10**9
"""Coordinates of this size and above are invalid: no picture is that large."""

MAX_BYTES = 2**30
"""Largest annotation file read; that of COCO's 118,000 training photos has 450 MB."""

SHOWN = 100
"""Characters of a line that are shown in messages."""

NO_BLANK = re.compile(r"(.+\.[A-Za-z]{3,4})(\d+)")
"""A name joined to its count: `a.png1`."""

NUMBER = re.compile(r"[-+]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][-+]?\d{1,3})?", re.ASCII)
"""Numbers in texts: no `nan`, and no digits without end."""

Flag: TypeAlias = Literal["", "ignore", "difficult", "crowd"]
"""Why an object counts neither as an object to find nor as a false alarm; empty if it counts."""


class AnnotatedObject(NamedTuple):
    """A box around an object.

    Attributes
    ----------
    box : Coordinates
        As written: it may reach beyond the picture or be empty.
    label : str
        The kind of object; empty if the file does not give it.
    flag : Flag
        The reason for ignoring it; empty if it is not ignored.
    score : float or None
        A detector's score; None if a person drew the box.
    """

    box: Coordinates
    label: str = ""
    flag: Flag = ""
    score: float | None = None


class AnnotatedPicture(NamedTuple):
    """An existing picture, and the objects in it.

    Attributes
    ----------
    place : int
        Its position in the file: a line number, or its number among the pictures, from 1.
    name : str
        As written in the file.
    path : Path
        Where the picture was found.
    objects : tuple of AnnotatedObject
        In the order of the file.
    size : Size or None
        In pixels, as in the file; None if the file does not give it.
    """

    place: int
    name: str
    path: Path
    objects: tuple[AnnotatedObject, ...] = ()
    size: Size | None = None

    @property
    def boxes(self) -> tuple[Coordinates, ...]:
        """The objects to find."""
        return tuple(one.box for one in self.objects if not one.flag)

    @property
    def ignored(self) -> tuple[Coordinates, ...]:
        """Regions that count neither as objects nor as false alarms."""
        return tuple(one.box for one in self.objects if one.flag)

    @property
    def known_size(self) -> Size:
        """The size, for formats that contain it.

        Raises
        ------
        SourceError
            If it is unknown.
        """
        if self.size is None:
            raise SourceError(
                f"{self.name}: annotations cannot be written, as the size of this picture is unknown"
            )
        return self.size


NameOf: TypeAlias = Callable[[AnnotatedPicture], str]
"""Returns a picture's name for a file that is written."""


class Fault(NamedTuple):
    """A part of an annotation file that cannot be used, and why.

    Attributes
    ----------
    place : int
        Its position, as in `AnnotatedPicture`; 0 if there is none.
    reason : str
        In words.
    label : str
        The label of the object that it concerns; empty if it concerns none.
    name : str
        The picture that lacks an object because of it, as in `AnnotatedPicture`; empty for other faults.
    """

    place: int
    reason: str
    label: str = ""
    name: str = ""


@dataclass(frozen=True)
class Annotations:
    """The content of an annotation file.

    Attributes
    ----------
    path : Path
        The file or folder.
    format : str
        The recognised format, such as "COCO JSON".
    unit : str
        What `place` counts: "line", "image" or "file".
    pictures : tuple of AnnotatedPicture
        In the order of the file.
    faults : tuple of Fault
        Parts that cannot be used.
    notes : tuple of str
        Assumptions made while reading.
    labels : tuple of str
        Labels that the file defines, whether it has objects of them or not.
    """

    path: Path
    format: str
    unit: str
    pictures: tuple[AnnotatedPicture, ...]
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def used_labels(self) -> set[str]:
        """The labels of objects and faults."""
        used = {one.label for picture in self.pictures for one in picture.objects}
        return (used | {fault.label for fault in self.faults}) - {""}

    def of_label(self, label: str | None) -> Annotations:
        """Return the same pictures with the objects of one label only; objects without a label are kept.

        Parameters
        ----------
        label : str or None
            The label; None if there is only one.

        Returns
        -------
        Annotations
            Pictures that only have other objects stay, without objects.

        Raises
        ------
        SourceError
            If there are several labels and none was chosen, or the chosen one is unknown.
        """
        used = self.used_labels
        chosen = chosen_category(used if label is None else used.union(self.labels), label, self.path)
        return self if used <= {chosen} else self.only(chosen)

    def only(self, label: str | None) -> Annotations:
        """Return the same pictures with the objects of one label, which need not exist, and those without a label."""
        kept = {"", label}
        pictures = tuple(
            picture._replace(objects=tuple(one for one in picture.objects if one.label in kept))
            for picture in self.pictures
        )
        return replace(
            self, pictures=pictures, faults=tuple(fault for fault in self.faults if fault.label in kept)
        )


class PictureFinder:
    """Finds the pictures that an annotation file names.

    Names are relative to the folder of the file or, if nothing is found there, to the current directory or to a parent
    of that folder; slashes and backslashes both work. If an absolute path does not exist, it is one of another machine,
    and its last part is searched for.

    Parameters
    ----------
    path : Path
        The annotation file.
    first : iterable of Path
        Folders to search first.
    suffixes : sequence of str
        Suffixes that names may lack.
    """

    def __init__(self, path: Path, first: Iterable[Path] = (), suffixes: Sequence[str] = ()) -> None:
        self._path = path
        self._suffixes = ("", *suffixes)
        self._expected = [*first, path.parent]
        above = path.absolute().parents[1 : MAX_PARENTS + 1]
        self._bases = list(dict.fromkeys([*self._expected, Path(), *above]))
        self._found_below: Counter[Path] = Counter()
        self._by_name: dict[Path, str] = {}

    def find(self, name: str) -> tuple[Path, Path] | None:
        """Return the folder and the path of a picture, also if the name has backslashes; None if it is not found."""
        spellings = dict.fromkeys([name, name.replace("\\", "/"), name.replace("\\", "/").lstrip("/")])
        for base in self._bases:
            for spelling in (f"{one}{suffix}" for one in spellings for suffix in self._suffixes):
                # Path.is_file raises for a name that is too long, as a line of another format may be.
                if os.path.isfile(base / spelling):  # noqa: PTH113
                    return base, base / spelling
        return None

    def locate(self, name: str) -> Path:
        """Return the path of a picture.

        Raises
        ------
        ValueError
            If it is not found; the message names the folders.
        """
        found = self.find(name) or self._find_by_name(name)
        if found is None:
            tried = ", ".join(dict.fromkeys(str(base.absolute()) for base in self._bases))
            raise ValueError(f"{brief(name)}: not found in {tried}{self._hint(name)}")
        base, path = found
        self._found_below[base] += 1
        return path

    def _find_by_name(self, name: str) -> tuple[Path, Path] | None:
        """Find the picture of an absolute path of another machine by its last part, unless that is ambiguous."""
        path = PureWindowsPath(name)  # which accepts both slashes
        found = self.find(path.name) if path.anchor and path.name else None
        if found is not None and (other := self._by_name.setdefault(found[1], name)) != name:
            raise ValueError(
                f"{brief(name)} does not exist, and {found[1]} may be this picture or {brief(other)}: use names "
                "relative to the annotation file, so that they differ"
            )
        return found

    def notes(self) -> list[str]:
        """Report pictures that were found in unexpected folders."""
        return [
            f"{self._path.name}: {pluralize(n_found, 'name')} found below {base.absolute()}, not below the folder of "
            "the list"
            for base, n_found in self._found_below.items()
            if base not in self._expected
        ]

    def _hint(self, name: str) -> str:
        run_together = NO_BLANK.fullmatch(name)
        if run_together and self.find(run_together[1]) is not None:
            return f"; a space is missing between {run_together[1]} and {brief(run_together[2])}"
        is_folder = any(os.path.isdir(base / name) for base in self._bases)  # noqa: PTH112  as in `find`
        return "; it is a folder, but a list names pictures" if is_folder else ""


def brief(text: str, most: int = SHOWN) -> str:
    """Shorten a text to at most so many characters.

    Examples
    --------
    >>> brief("an endless name", 9)
    'an end...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def read_bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    """Read a whole annotation file.

    Raises
    ------
    SourceError
        If it cannot be read or has more than `most` bytes.
    """
    try:
        size = path.stat().st_size
        data = read_at_most(path, most) if size <= most else b""
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from error
    if size > most:
        raise SourceError(
            f"{path} has {size / 2**20:.0f} MB, too much for annotations; check that it is the right file"
        )
    return data


def read_json_bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    """Read a whole JSON file, converted to UTF-8 without the byte order mark that Windows programs add.

    Raises
    ------
    SourceError
        As `read_bytes`.
    """
    data = read_bytes(path, most)
    is_marked_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return decoded(data).encode() if is_marked_utf16 else data.removeprefix(codecs.BOM_UTF8)


def decoded(data: bytes) -> str:
    """Decode a text in UTF-8, UTF-16 with byte order mark, or latin-1.

    Examples
    --------
    >>> decoded("k\u00f6ln".encode()) == decoded("k\u00f6ln".encode("latin-1")) == "k\u00f6ln"
    True
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # PowerShell's `dir > bg.txt`
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def checked_box(numbers: Sequence[float]) -> Coordinates:
    """Return a box as floats, checked for numbers that no picture can have.

    Raises
    ------
    ValueError
        If one is infinite or too large.

    Examples
    --------
    >>> checked_box([1, 2, 3.5, 4])
    (1.0, 2.0, 3.5, 4.0)
    """
    x, y, width, height = map(float, numbers)
    wrong = next((n for n in (x, y, width, height) if not math.isfinite(n) or abs(n) >= MAX_COORDINATE), None)
    if wrong is not None:
        raise ValueError(f"{wrong:g} is not a valid number of pixels")
    return x, y, width, height


def parsed_number(word: str) -> float:
    """Convert a word to a number.

    Raises
    ------
    ValueError
        If it is not a number, or infinite.

    Examples
    --------
    >>> parsed_number("24.50")
    24.5
    """
    number = float(word) if NUMBER.fullmatch(word) else math.nan
    if not math.isfinite(number):
        raise ValueError(f"{brief(word)!r} is not a number")
    return number


def known_size(width: object, height: object) -> Size | None:
    """Return the size of a picture from the values in a file; None if these are missing or invalid.

    Examples
    --------
    >>> known_size(640, 480.0), known_size(0, 0), known_size(None, "480")
    (Size(width=640, height=480), None, None)
    """
    sides = [side for side in (width, height) if isinstance(side, int | float) and not isinstance(side, bool)]
    if len(sides) < 2 or not all(2 <= side < MAX_COORDINATE and side == int(side) for side in sides):
        return None
    return Size(int(sides[0]), int(sides[1]))


def chosen_category(names: Iterable[str], category: str | None, path: Path) -> str | None:
    """Return the chosen label, or the only one.

    Parameters
    ----------
    names : iterable of str
        Labels in the file.
    category : str or None
        The chosen label; None for the only one.
    path : Path
        The file, for messages.

    Returns
    -------
    str or None
        One of the names; None if there are none.

    Raises
    ------
    SourceError
        If the file has several labels and none was chosen, or does not have the chosen one.

    Examples
    --------
    >>> chosen_category(["face", "face"], None, Path("a.csv"))
    'face'
    """
    known = sorted(set(names))
    if category is None and len(known) > 1:
        kinds = brief(", ".join(known))
        raise SourceError(f"{path} has objects of {len(known)} kinds ({kinds}); choose one with --label")
    if category is not None and category not in known:
        advice = suggest(category, known) if known else "the file has no categories"
        raise SourceError(f"{path} has no objects of the category {category!r}; {advice}")
    return category if category is not None else next(iter(known), None)
