"""What every annotation file says: pictures, where the objects in them are, and what is wrong with the file."""

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
"""Folders above that of an annotation file in which its pictures are looked for."""

MAX_COORDINATE = 10**9
"""Coordinates from here on are wrong: no picture is so large."""

MAX_BYTES = 2**30
"""Largest annotation file read; those of the 118,000 photos of COCO have 450 MB."""

SHOWN = 100
"""Characters of a line that messages show."""

NO_BLANK = re.compile(r"(.+\.[A-Za-z]{3,4})(\d+)")
"""A name that ran into its count: `a.png1`."""


NUMBER = re.compile(r"[-+]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][-+]?\d{1,3})?", re.ASCII)
"""How numbers are written in texts: no `nan`, and nothing that takes long to read."""

Flag: TypeAlias = Literal["", "ignore", "difficult", "crowd"]
"""Why an object counts neither as one to find nor as a false alarm; empty where it counts."""


class AnnotatedObject(NamedTuple):
    """A box around an object.

    Attributes
    ----------
    box : Coordinates
        As written: it may reach beyond the picture or be empty.
    label : str
        The kind of object; empty where the file does not say.
    flag : Flag
        Whether it is to be ignored, in the word of the format.
    score : float or None
        How sure a detector is; None of what a person marked.
    """

    box: Coordinates
    label: str = ""
    flag: Flag = ""
    score: float | None = None


class AnnotatedPicture(NamedTuple):
    """A picture that exists, and the objects in it.

    Attributes
    ----------
    place : int
        Where it is named: a line number, or its number among the pictures, from 1.
    name : str
        As written in the file.
    path : Path
        Where the picture was found.
    objects : tuple of AnnotatedObject
        In the order of the file.
    size : Size or None
        In pixels, as the file says; None where it does not.
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
        """The size, which formats need to write.

        Raises
        ------
        SourceError
            If it is not known.
        """
        if self.size is None:
            raise SourceError(f"{self.name}: its size is needed to write annotations")
        return self.size


NameOf: TypeAlias = Callable[[AnnotatedPicture], str]
"""What a picture is called in a file that is written."""


class Fault(NamedTuple):
    """A part of an annotation file that cannot be used, and why.

    Attributes
    ----------
    place : int
        As of `AnnotatedPicture`; 0 where there is none.
    reason : str
        In words.
    label : str
        The kind of object that it is about; empty where it is not about one.
    name : str
        The picture, as of `AnnotatedPicture`, of which an object is missing for it; empty where it is another fault.
    """

    place: int
    reason: str
    label: str = ""
    name: str = ""


@dataclass(frozen=True)
class Annotations:
    """What an annotation file says.

    Attributes
    ----------
    path : Path
        The file or folder.
    format : str
        What it was taken for, as "COCO JSON".
    unit : str
        What `place` counts: "line", "image", "file".
    pictures : tuple of AnnotatedPicture
        In the order of the file.
    faults : tuple of Fault
        What cannot be used.
    notes : tuple of str
        What the reader had to assume.
    labels : tuple of str
        Kinds of objects that the file knows, whether there are objects of them or not.
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
        """Kinds of objects that there are."""
        used = {one.label for picture in self.pictures for one in picture.objects}
        return (used | {fault.label for fault in self.faults}) - {""}

    def of_label(self, label: str | None) -> Annotations:
        """Return the same pictures with the objects of one kind only; those without a label are of any kind.

        Parameters
        ----------
        label : str or None
            The kind; None where there is but one.

        Returns
        -------
        Annotations
            Pictures that show others only have no objects.

        Raises
        ------
        SourceError
            If there are several kinds and none was chosen, or the one chosen is unknown.
        """
        used = self.used_labels
        chosen = chosen_category(used if label is None else used.union(self.labels), label, self.path)
        return self if used <= {chosen} else self.only(chosen)

    def only(self, label: str | None) -> Annotations:
        """Return the same pictures with the objects of a kind that need not be known."""
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

    Names are relative to the folder of the file or, where nothing is found there, to the current directory or to a
    folder above that of the file; either slash may stand in them. Of an absolute path that is not there, which is one
    of another machine, the name alone is looked for.

    Parameters
    ----------
    path : Path
        The annotation file.
    first : iterable of Path
        Folders to look in before.
    suffixes : sequence of str
        What may be missing at the end of the names.
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
        """Find the picture below one of the folders, also if written with backslashes; return the folder, too."""
        spellings = dict.fromkeys([name, name.replace("\\", "/"), name.replace("\\", "/").lstrip("/")])
        for base in self._bases:
            for spelling in (f"{one}{suffix}" for one in spellings for suffix in self._suffixes):
                # Path.is_file raises for a name that is too long, as a line of another format may be.
                if os.path.isfile(base / spelling):  # noqa: PTH113
                    return base, base / spelling
        return None

    def locate(self, name: str) -> Path:
        """Return where a picture is.

        Raises
        ------
        ValueError
            If it is nowhere; the message names the folders.
        """
        found = self.find(name) or self._find_by_name(name)
        if found is None:
            tried = ", ".join(dict.fromkeys(str(base.absolute()) for base in self._bases))
            raise ValueError(f"{brief(name)}: not found in {tried}{self._hint(name)}")
        base, path = found
        self._found_below[base] += 1
        return path

    def _find_by_name(self, name: str) -> tuple[Path, Path] | None:
        """Find what an absolute path of another machine names, unless another one has the same name."""
        path = PureWindowsPath(name)  # which takes either slash
        found = self.find(path.name) if path.anchor and path.name else None
        if found is not None and (other := self._by_name.setdefault(found[1], name)) != name:
            raise ValueError(
                f"{brief(name)}: not there, and {found[1]} may be it or {brief(other)}: write names relative to the "
                "file, so that they differ"
            )
        return found

    def notes(self) -> list[str]:
        """Say which pictures were found elsewhere than beside the file."""
        return [
            f"{self._path.name}: {pluralize(n_found, 'name')} found below {base.absolute()}, not below the folder of "
            "the list"
            for base, n_found in self._found_below.items()
            if base not in self._expected
        ]

    def _hint(self, name: str) -> str:
        run_together = NO_BLANK.fullmatch(name)
        if run_together and self.find(run_together[1]) is not None:
            return f"; a blank is missing between {run_together[1]} and {brief(run_together[2])}"
        is_folder = any(os.path.isdir(base / name) for base in self._bases)  # noqa: PTH112  as in `find`
        return "; it is a folder, and a list names pictures" if is_folder else ""


def brief(text: str, most: int = SHOWN) -> str:
    """Return a text of at most so many characters.

    Examples
    --------
    >>> brief("an endless name", 9)
    'an end...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def read_bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    """Read an annotation file whole.

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
            f"{path} has {size / 2**20:.0f} MB, too much for annotations; check that this is the right file"
        )
    return data


def read_json_bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    """Read a JSON file whole, as UTF-8 without the mark that editors and shells of Windows put before it.

    Raises
    ------
    SourceError
        As `read_bytes`.
    """
    data = read_bytes(path, most)
    is_marked_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return decoded(data).encode() if is_marked_utf16 else data.removeprefix(codecs.BOM_UTF8)


def decoded(data: bytes) -> str:
    """Return the text of a file in UTF-8, UTF-16 with its mark, or latin-1.

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
    """Return a box whose numbers a picture may have.

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
        raise ValueError(f"{wrong:g} is no number of pixels")
    return x, y, width, height


def parsed_number(word: str) -> float:
    """Return the number that a word is.

    Raises
    ------
    ValueError
        If it is none, or infinite.

    Examples
    --------
    >>> parsed_number("24.50")
    24.5
    """
    number = float(word) if NUMBER.fullmatch(word) else math.nan
    if not math.isfinite(number):
        raise ValueError(f"{brief(word)!r} is no number")
    return number


def known_size(width: object, height: object) -> Size | None:
    """Return the size that a file says a picture has; None where it says none that a picture can have.

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
    """Return the kind of object that is meant; None where all are of one kind.

    Parameters
    ----------
    names : iterable of str
        Kinds in the file.
    category : str or None
        The one asked for.
    path : Path
        Of the file, for messages.

    Returns
    -------
    str or None
        One of the names.

    Raises
    ------
    SourceError
        If the file has several and none was chosen, or has not the one that was.

    Examples
    --------
    >>> chosen_category(["face", "face"], None, Path("a.csv"))
    'face'
    """
    known = sorted(set(names))
    if category is None and len(known) > 1:
        kinds = brief(", ".join(known))
        raise SourceError(f"{path} has objects of {len(known)} kinds ({kinds}); choose one of them (--label)")
    if category is not None and category not in known:
        advice = suggest(category, known) if known else "it names no categories"
        raise SourceError(f"{path} has no objects of the category {category!r}; {advice}")
    return category if category is not None else next(iter(known), None)
