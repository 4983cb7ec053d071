"""YOLO data sets: for each picture a text file of `class x y w h`, with centre and size relative to the picture.

`data.yaml` (or a file of names, such as `classes.txt`) has the labels. A longer line is an outline `class x y x y ...`,
whose bounding box is used; a sixth number is a score and is not read. A picture without a text file has no objects. The
`ultralytics` package depends on PyTorch; PyYAML reads `data.yaml`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vjcascade.errors import ImageError, SourceError
from vjcascade.files import real_path
from vjcascade.formats.annotations.pictures import (
    NUMBER,
    AnnotatedObject,
    AnnotatedPicture,
    Annotations,
    Coordinates,
    Fault,
    brief,
    checked_box,
    decoded,
    read_bytes,
)
from vjcascade.formats.annotations.shapes import box_of_points
from vjcascade.imaging import IMAGE_SUFFIXES, find_images, image_size
from vjcascade.types import Size

MAX_YAML = 2**18
"""Largest `data.yaml` read, in bytes: names of thousands of classes."""

MAX_BYTES = 2**24
"""Largest file of labels read."""

MAX_DEPTH = 32
"""Deepest nesting in `data.yaml`; some have 2 levels."""

DATA_FILES = ("data.yaml", "data.yml", "dataset.yaml", "dataset.yml")
"""Names of the file that describes a data set, in its folder."""

NAME_FILES = ("classes.txt", "obj.names", "_darknet.labels", "labels.txt")
"""Files with the name of a class in each line, in the folder of the text files or a parent of it."""

SPLITS = ("train", "val", "valid", "test")
"""Splits of a data set in `data.yaml`."""

TOLERANCE = 0.01
"""Normalised coordinates may be outside of 0 to 1 by this much: tools round."""

DECIMALS = 6
"""Boxes are rounded to so many decimals of pixels, which restores whole pixels."""

_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
_CLASS = re.compile(r"\d{1,9}(\.0*)?", re.ASCII)


def is_label_line(line: str) -> bool:
    """Return whether a line describes an object.

    Examples
    --------
    >>> is_label_line("0 0.5 0.5 0.25 0.1"), is_label_line("a.png 1 2 3 4 5")
    (True, False)
    """
    first, *rest = line.split() or [""]
    is_right = _CLASS.fullmatch(first) and len(rest) >= 4 and all(map(NUMBER.fullmatch, rest))
    return bool(is_right) and all(-TOLERANCE <= float(word) <= 1 + TOLERANCE for word in rest[:4])


def is_data_yaml(text: str) -> bool:
    r"""Return whether a text describes a data set.

    Examples
    --------
    >>> is_data_yaml("train: images\nnames: [car]\n"), is_data_yaml("hit-rate = 0.99")
    (True, False)
    """
    keys = set(re.findall(r"^([a-z]+)[ \t]*:", text, re.MULTILINE))
    return "names" in keys and bool(keys.intersection(SPLITS))


def is_yolo_folder(folder: Path) -> bool:
    """Return whether a folder is a YOLO data set, by its `data.yaml`, by `images` and `labels`, or by text files.

    Text files, also in subfolders, as in data sets of Darknet and CVAT, count only if one is named like a picture
    beside it and its first line describes an object.

    Examples
    --------
    >>> is_yolo_folder(Path())
    False
    """
    if _data_file(folder) is not None:
        return True
    labels = folder / "labels" if (folder / "images").is_dir() else _moved(folder, "images", "labels")
    if labels is not None and labels.is_dir():
        return next(labels.rglob("*.txt"), None) is not None
    return any(map(_has_label_files, (Path(place) for place, _, _ in os.walk(folder))))


def _has_label_files(folder: Path) -> bool:
    """Return whether the first non-empty text file in a folder describes objects in a picture beside it."""
    texts = sorted(path for path in folder.glob("*.txt") if path.name.lower() not in NAME_FILES)
    filled = next((path for path in texts if path.is_file() and path.stat().st_size), None)
    if filled is None or _picture_beside(filled, ()) is None:
        return False
    with filled.open("rb") as file:
        return is_label_line(decoded(file.read(4096)).lstrip().partition("\n")[0])


def read_yolo(path: Path, first: Iterable[Path] = (), splits: Sequence[str] = ("train",)) -> Annotations:
    """Read a YOLO data set.

    Parameters
    ----------
    path : Path
        Its `data.yaml`; its folder; a folder of pictures, or of text files; or one text file.
    first : iterable of Path
        Folders to search for the pictures of text files before those of the text files.
    splits : sequence of str
        The split of a `data.yaml` to read: the first of these that it has, or else its first one.

    Returns
    -------
    Annotations
        All pictures, with or without a text file.

    Raises
    ------
    SourceError
        If there is nothing to read.
    """
    reader = _Reader(path, tuple(first))
    data = path if path.suffix.lower() in {".yaml", ".yml"} else _data_file(path)
    if data is not None:
        pairs = reader.of_data_file(data, splits)
    else:
        pairs = reader.of_folder(path) if path.is_dir() else reader.of_text_file(path)
    return reader.read(pairs)


class _Pair(NamedTuple):
    """A picture and its text file, which need not exist; or a text file without a picture."""

    picture: Path | None
    text: Path


class _Reader:
    def __init__(self, path: Path, first: tuple[Path, ...]) -> None:
        self._path = path
        self._first = first
        self._names: dict[int, str] = {}
        self._has_key_points = False
        self._faults: list[Fault] = []
        self._notes: list[str] = []

    def of_data_file(self, path: Path, splits: Sequence[str]) -> list[_Pair]:
        """Return the pictures of one split of a data set."""
        content = _yaml(path)
        self._names = _names_of(content.get("names"), path)
        self._has_key_points = "kpt_shape" in content
        there = [name for name in SPLITS if content.get(name)]
        chosen = next((name for name in (*splits, *there) if name in there), None)
        if chosen is None:
            raise SourceError(f"{path} names no pictures: add one of {', '.join(SPLITS)}")
        self._notes.append(f"{path.name}: the split {chosen!r} is read")
        given = content.get("path")
        roots = [path.parent / given, path.parent] if isinstance(given, str) else [path.parent]
        entries = content[chosen] if isinstance(content[chosen], list) else [content[chosen]]
        pairs: list[_Pair] = []
        for entry in entries:
            if not isinstance(entry, str):
                raise SourceError(f"{path}: {chosen}: {brief(str(entry))!r} is neither a folder nor a list")
            place = _existing(entry, roots)
            if place is None:
                tried = ", ".join(str((root / entry).absolute()) for root in roots)
                raise SourceError(
                    f"{path}: {chosen}: {brief(entry)!r} does not exist; looked for {brief(tried, 400)}"
                )
            try:
                pairs += self._of_place(place, path.parent / "labels")
            except SourceError as error:
                raise SourceError(f"{path}: {chosen}: {error}") from None
        return pairs

    def _of_place(self, place: Path, labels: Path) -> list[_Pair]:
        """Return the pictures of a folder or list of a data set."""
        if place.is_file():
            return self._of_list(place, labels)
        if not place.is_dir():
            raise SourceError(f"{place} is neither a folder nor a list")
        whole = real_path(place)
        if whole == whole.parent:
            raise SourceError(f"{place} is the whole file system; name the folder of the pictures")
        return self._of_folder(place)

    def of_folder(self, folder: Path) -> list[_Pair]:
        """Return the pictures of a folder, or those of its text files."""
        self._names = _names_near(folder)
        inner = folder / "images"
        return self._of_folder(inner if inner.is_dir() and (folder / "labels").is_dir() else folder)

    def of_text_file(self, path: Path) -> list[_Pair]:
        """Return the picture of a text file."""
        self._names = _names_near(path.parent)
        return [_Pair(_picture_beside(path, self._first), path)]

    def _of_folder(self, folder: Path) -> list[_Pair]:
        try:
            found = find_images(folder)
            if found.paths:
                self._notes += found.notes
                return [_Pair(path, _text_of(path)) for path in found.paths]
            texts = sorted(one for one in folder.rglob("*.txt") if one.name.lower() not in NAME_FILES)
        except OSError as error:
            raise SourceError(f"{folder} cannot be read: {error.strerror}") from error
        return [_Pair(_picture_beside(path, self._first), path) for path in texts]

    def _of_list(self, path: Path, labels: Path) -> list[_Pair]:
        """Return the pictures in a list; their text files may all be below one folder, `labels`."""
        lines = [line.strip() for line in decoded(read_bytes(path)).splitlines()]
        pictures = [path.parent / line for line in lines if line]
        if not labels.is_dir():
            return [_Pair(picture, _text_of(picture)) for picture in pictures]
        above = common_folder(pictures)
        texts = [labels / label_name(picture, above) for picture in pictures]
        return [
            _Pair(picture, text if text.is_file() else _text_of(picture))
            for picture, text in zip(pictures, texts, strict=True)
        ]

    def read(self, pairs: Sequence[_Pair]) -> Annotations:
        """Read the text files."""
        pictures = []
        for place, (picture, text) in enumerate(pairs, start=1):
            try:
                if picture is None:
                    raise ValueError("there is no picture of this name beside it or in the folder images")  # noqa: TRY301
                if not picture.is_file():
                    raise ValueError(f"{picture} does not exist")  # noqa: TRY301
                pictures.append(self._annotated(place, picture, text))
            except (ValueError, OSError) as error:
                self._faults.append(Fault(place, f"{text.name}: {error}"))
        labels = tuple(self._names.values())
        notes = tuple(self._notes)
        return Annotations(self._path, "YOLO", "file", tuple(pictures), tuple(self._faults), notes, labels)

    def _annotated(self, place: int, picture: Path, text: Path) -> AnnotatedPicture:
        name = self._name(picture)
        if not text.is_file():
            return AnnotatedPicture(place, name, picture)
        lines = [line.split() for line in decoded(read_bytes(text, MAX_BYTES)).splitlines()]
        if not any(lines):
            return AnnotatedPicture(place, name, picture)
        try:
            size = image_size(picture)
        except ImageError as error:
            raise ValueError(str(error)) from None
        objects = []
        for number, words in enumerate(lines, start=1):
            label = ""
            try:
                if words:
                    label = self._label(words[0])
                    objects.append(AnnotatedObject(self._box(words[1:], size), label))
            except ValueError as error:
                self._faults.append(Fault(place, f"{text.name}:{number}: {error}", label, name))
        return AnnotatedPicture(place, name, picture, tuple(objects), size)

    def _name(self, picture: Path) -> str:
        """Return the name of a picture relative to the folder of the data set."""
        folder = self._path if self._path.is_dir() else self._path.parent
        return (picture.relative_to(folder) if picture.is_relative_to(folder) else picture).as_posix()

    def _label(self, word: str) -> str:
        if not _CLASS.fullmatch(word):
            raise ValueError(f"{brief(word)!r} is not a class number")
        number = int(word.partition(".")[0])
        return self._names.get(number, f"class {number}")

    def _box(self, words: Sequence[str], size: Size) -> Coordinates:
        wrong = next((word for word in words if not NUMBER.fullmatch(word)), None)
        if wrong is not None:
            raise ValueError(f"{brief(wrong)!r} is not a number")
        words = words[:4] if self._has_key_points or len(words) == 5 else words
        numbers = list(map(float, words))
        outside = next((number for number in numbers if not -TOLERANCE <= number <= 1 + TOLERANCE), None)
        if outside is not None:
            raise ValueError(f"{outside:g} is not normalised: give numbers from 0 to 1, not pixels")
        if len(numbers) == 4:
            x, y, width, height = numbers
            left, top = x - width / 2, y - height / 2
        elif len(numbers) >= 6 and len(numbers) % 2 == 0:
            left, top, width, height = box_of_points(numbers[::2], numbers[1::2])
        else:
            raise ValueError(f"{len(numbers)} numbers after the class are neither a box (4) nor an outline")
        pixels = (left * size.width, top * size.height, width * size.width, height * size.height)
        return checked_box([round(number, DECIMALS) for number in pixels])


def common_folder(pictures: Sequence[Path]) -> Path:
    """Return the deepest folder that contains all pictures.

    Examples
    --------
    >>> common_folder([Path("a/b/1.png"), Path("a/c/1.png")]).name
    'a'
    """
    return Path(os.path.commonpath([_whole_path(path).parent for path in pictures]))


def label_name(picture: Path, above: Path) -> Path:
    """Return the name of a picture's text file relative to the folder of labels.

    Examples
    --------
    >>> label_name(Path("a/b/1.png"), Path("a").absolute()).as_posix()
    'b/1.txt'
    """
    return _whole_path(picture).relative_to(above).with_suffix(".txt")


def _whole_path(path: Path) -> Path:
    """Return an absolute path without `..`; links are not resolved, so that pictures keep their names."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def _text_of(picture: Path) -> Path:
    """Return the text file of a picture: beside it, or in `labels` for a picture in `images`."""
    beside = picture.with_suffix(".txt")
    moved = _moved(picture.parent, "images", "labels")
    return beside if moved is None or beside.is_file() else moved / beside.name


def _picture_beside(text: Path, first: Sequence[Path]) -> Path | None:
    """Return the picture of a text file: in a given folder, beside it, or in `images` for a text file in `labels`."""
    moved = _moved(text.parent, "labels", "images")
    folders = [*first, text.parent, *([] if moved is None else [moved])]
    names = [text.stem + suffix for stem in sorted(IMAGE_SUFFIXES) for suffix in (stem, stem.upper())]
    return next((folder / name for folder in folders for name in names if (folder / name).is_file()), None)


def _moved(folder: Path, old: str, new: str) -> Path | None:
    """Return a path with the last folder of the name `old` renamed; None if it has none."""
    parts = folder.absolute().parts
    if old not in parts:
        return None
    place = len(parts) - 1 - parts[::-1].index(old)
    return Path(*parts[:place], new, *parts[place + 1 :])


def _data_file(folder: Path) -> Path | None:
    """Return the file in a folder that describes a data set, if there is one."""
    for name in DATA_FILES:
        path = folder / name
        if path.is_file() and is_data_yaml(decoded(read_bytes(path)[:MAX_YAML])):
            return path
    return None


def _yaml(path: Path) -> Mapping[str, Any]:
    """Read a `data.yaml`, without aliases, deep nesting and tags.

    Raises
    ------
    SourceError
        If it is no YAML, or not of this kind.
    """
    import yaml

    text = decoded(read_bytes(path, MAX_YAML))
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > MAX_DEPTH:
                raise SourceError(
                    f"{path}: aliases and deep nesting are not supported; write names and folders in full"
                )
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, SourceError):
            raise
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or brief(str(error))
        raise SourceError(f"{path}{where}: invalid YAML ({problem}); correct the file") from None
    if not isinstance(content, dict) or not content.get("names"):
        raise SourceError(
            f"{path}: the names of the classes are missing; add names, as in a data.yaml of YOLO"
        )
    return content


def _names_of(given: Any, path: Path) -> dict[int, str]:
    """Return the names of classes by their numbers, which may be in quotes."""
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(given, list):
        pairs = enumerate(given)
    elif isinstance(given, dict):
        pairs = given.items()
    names = {str(key): str(name).strip() for key, name in pairs if isinstance(name, str | int | float)}
    if not names or not all(map(_NUMBER.fullmatch, names)):
        raise SourceError(
            f"{path}: names must be a list of class names, or a mapping from class numbers to names"
        )
    return {int(number): name for number, name in names.items()}


def _names_near(folder: Path) -> dict[int, str]:
    """Return the names of classes from a file in a folder or its parents; empty if there is no such file."""
    for place in (folder, *folder.absolute().parents[:2]):
        if (data := _data_file(place)) is not None:
            return _names_of(_yaml(data).get("names"), data)
        for name in NAME_FILES:
            if (place / name).is_file():
                lines = decoded(read_bytes(place / name, MAX_YAML)).splitlines()
                return {i: line.strip() for i, line in enumerate(lines) if line.strip()}
    return {}


def _existing(entry: str, roots: Sequence[Path]) -> Path | None:
    """Return the path of an entry; Roboflow writes `../train/images` for `train/images`."""
    spellings = dict.fromkeys([entry, entry.removeprefix("../")])
    places = (root / spelling for root in roots for spelling in spellings)
    return next((place for place in places if os.path.exists(place)), None)  # noqa: PTH110  as names may be too long
