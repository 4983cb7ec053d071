"""VGG Image Annotator: its JSON (a project of VIA 2 or 3, or the annotations alone) and the CSV of VIA 1 and 2.

Circles, ellipses, polygons and polylines become their bounding boxes. Points are not read, as they have no box. The
label is the region's attribute named `label`, `class`, `name`, `type`, `category` or `object`, or its only attribute.
An attribute `ignore`, `difficult` or `crowd` marks regions to ignore. No maintained library reads this format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.csv_tables import table_rows
from vjcascade.formats.annotations.pictures import (
    AnnotatedObject,
    AnnotatedPicture,
    Annotations,
    Coordinates,
    Fault,
    PictureFinder,
    brief,
    checked_box,
    decoded,
    read_bytes,
    read_json_bytes,
)
from vjcascade.formats.annotations.shapes import box_of_ellipse, box_of_points, flag_among
from vjcascade.messages import pluralize

_LABELS = ("label", "class", "name", "type", "category", "object")
"""Names of attributes with the label, in order of preference."""

COLUMNS = ("filename", "region_shape_attributes", "region_attributes")
"""Columns of its CSV; files of VIA 1 begin with `#filename`."""

_PROJECT = "_via_img_metadata"

_PROJECT_3 = frozenset({"file", "view", "metadata"})
"""Keys of a project of VIA 3."""


class _Region(msgspec.Struct):
    shape_attributes: dict[str, Any] | None
    region_attributes: dict[str, Any] | None = None


class _Picture(msgspec.Struct):
    filename: str
    regions: list[_Region] | dict[str, _Region] | None = None


class _File3(msgspec.Struct):
    fname: str


class _View3(msgspec.Struct):
    fid_list: list[int | str] = []


class _Metadata3(msgspec.Struct):
    vid: int | str
    xy: list[float] = []
    av: dict[str, Any] = {}


class _Attribute3(msgspec.Struct):
    aname: str
    options: dict[str, Any] = {}


class _Project3(msgspec.Struct):
    file: dict[str, _File3]
    view: dict[str, _View3]
    metadata: dict[str, _Metadata3]
    attribute: dict[str, _Attribute3] = {}


_SHAPES_3: Mapping[float, tuple[str, tuple[str, ...]]] = {
    1: ("point", ("cx", "cy")),
    2: ("rect", ("x", "y", "width", "height")),
    3: ("circle", ("cx", "cy", "r")),
    4: ("ellipse", ("cx", "cy", "rx", "ry")),
}
"""Shapes of VIA 3 by the first number of `xy`, with the names of the other numbers."""

_POINTS_3 = (5, 6, 7, 8)
"""Shapes of VIA 3 given by points: lines, polylines, polygons and extreme points of a rectangle."""


def is_via_json(keys: Mapping[str, bytes]) -> bool:
    """Return whether a JSON object is VIA's, by its keys and its first value.

    Examples
    --------
    >>> is_via_json({"a.png99": b'{"filename": "a.png", "regions": []}'}), is_via_json({"images": b"[]"})
    (True, False)
    """
    one = next(iter(keys.values()), b"")
    return (
        _PROJECT in keys
        or keys.keys() >= _PROJECT_3
        or (one.startswith(b"{") and b'"filename"' in one and b'"regions"' in one)
    )


def is_via_csv(text: str) -> bool:
    r"""Return whether a text is VIA's CSV, by its first line.

    Examples
    --------
    >>> is_via_csv("filename,file_size,region_shape_attributes,region_attributes\na.png,3")
    True
    """
    line = text.lstrip().partition("\n")[0]
    return set(COLUMNS).issubset(name.strip(' \r"#') for name in line.split(","))


def read_via_json(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read VIA JSON.

    Parameters
    ----------
    path : Path
        The file.
    first : iterable of Path
        Folders to search for its pictures before that of the file.

    Returns
    -------
    Annotations
        A picture for each entry.

    Raises
    ------
    SourceError
        If the file cannot be read or is not in the format.
    """
    data = read_json_bytes(path)
    try:
        keys = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        if keys.keys() >= _PROJECT_3:
            return _read_project_3(msgspec.json.decode(data, type=_Project3), _Reader(path, first))
        content = msgspec.json.decode(keys.get(_PROJECT, data), type=dict[str, _Picture])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(
            f"{path} is JSON, but not VIA annotations ({error}); save the project or export it again"
        ) from None
    reader = _Reader(path, first)
    for place, picture in enumerate(content.values(), start=1):
        given = picture.regions or []
        regions = given if isinstance(given, list) else list(given.values())
        reader.add(place, picture.filename)
        for number, region in enumerate(regions, start=1):
            reader.add_region(place, picture.filename, region, f"region {number}: ")
    return reader.annotations("VIA JSON", "image")


def _read_project_3(project: _Project3, reader: _Reader) -> Annotations:
    """Read a project of VIA 3, which lists files, views of files and regions of views separately."""
    files = {fid: (place, one.fname) for place, (fid, one) in enumerate(project.file.items(), start=1)}
    for place, name in files.values():
        reader.add(place, name)
    for key, one in project.metadata.items():
        view = project.view.get(str(one.vid), _View3())
        place, name = next((files[str(fid)] for fid in view.fid_list if str(fid) in files), (0, ""))
        if not one.xy:  # metadata of a whole file, or of a time in a video
            continue
        region = _Region(_shape_3(one.xy), _attributes_3(one.av, project.attribute))
        if name:
            reader.add_region(place, name, region, f"metadata {key}: ")
        else:
            reason = f"metadata {key}: its view {brief(str(one.vid))} refers to none of the files"
            reader.faults.append(Fault(0, reason, _label(region.region_attributes or {})))
    return reader.annotations("VIA JSON", "image")


def _shape_3(xy: list[float]) -> dict[str, Any]:
    """Convert a shape of VIA 3 to the form of VIA 2; an unknown one is named by its number."""
    kind, *numbers = xy
    if kind in _POINTS_3:
        return {"name": "polygon", "all_points_x": numbers[::2], "all_points_y": numbers[1::2]}
    name, keys = _SHAPES_3.get(kind, (f"shape {kind:g}", ()))
    return {"name": name, **dict(zip(keys, numbers, strict=False))}


def _attributes_3(values: Mapping[str, Any], known: Mapping[str, _Attribute3]) -> dict[str, Any]:
    """Return attributes by their names, with the names of the chosen options."""
    found = {}
    for key, value in values.items():
        one = known.get(key, _Attribute3(key))
        words = value.split(",") if one.options and isinstance(value, str) else [value]
        found[one.aname] = ", ".join(str(one.options.get(str(word), word)) for word in words)
    return found


def read_via_csv(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read VIA CSV, which has a line for each region.

    Parameters
    ----------
    path : Path
        The file.
    first : iterable of Path
        Folders where its pictures are looked for before that of the file.

    Returns
    -------
    Annotations
        A picture for each file that is named, with the regions of all its lines.

    Raises
    ------
    SourceError
        If the file cannot be read or is not in the format.
    """
    rows = table_rows(decoded(read_bytes(path)).lstrip(), path)
    names = [name.strip(" #") for name in next(rows, (0, []))[1]]
    if not set(COLUMNS).issubset(names):
        raise SourceError(f"{path}: the first line of a CSV of VIA names {', '.join(COLUMNS)}")
    places = [names.index(name) for name in COLUMNS]
    reader = _Reader(path, first)
    for line, row in rows:
        name = ""
        try:
            name, *attributes = _fields(row, places)
            reader.add(line, name)
            shape, region = (
                msgspec.json.decode(text.strip() or "{}", type=dict[str, Any]) for text in attributes
            )
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            reader.faults.append(Fault(line, str(error), name=name))
            continue
        if shape:  # a picture without regions has a line of its own
            reader.add_region(line, name, _Region(shape, region))
    return reader.annotations("VIA CSV", "line")


def _fields(row: list[str], places: list[int]) -> Iterator[str]:
    if len(row) <= max(places):
        raise ValueError(f"it has {len(row)} columns, fewer than the first line names")
    return (row[place] for place in places)


class _Reader:
    """Pictures by name, with the regions of all entries that name them."""

    def __init__(self, path: Path, first: Iterable[Path]) -> None:
        self._path = path
        self._finder = PictureFinder(path, first)
        self._found: dict[str, tuple[int, Path, list[AnnotatedObject]]] = {}
        self._missing: set[str] = set()
        self._n_points = 0
        self.faults: list[Fault] = []

    def add(self, place: int, name: str) -> None:
        """Find a picture and add it."""
        if name in self._found or name in self._missing:
            return
        try:
            self._found[name] = place, self._finder.locate(name), []
        except ValueError as error:
            self._missing.add(name)
            self.faults.append(Fault(place, str(error)))

    def add_region(self, place: int, name: str, region: _Region, where: str = "") -> None:
        """Add a region to a picture."""
        shape, attributes = region.shape_attributes or {}, region.region_attributes or {}
        label = _label(attributes)
        if shape.get("name") == "point":
            self._n_points += 1
            return
        try:
            box = _box(shape)
        except ValueError as error:
            self.faults.append(Fault(place, f"{where}{error}", label, name))
            return
        if name in self._found:
            one = AnnotatedObject(box, label, flag_among(attributes))
            self._found[name][2].append(one)

    def annotations(self, name: str, unit: str) -> Annotations:
        """Return what was read."""
        pictures = tuple(
            AnnotatedPicture(place, picture, path, tuple(objects))
            for picture, (place, path, objects) in self._found.items()
        )
        notes = self._finder.notes()
        if self._n_points:
            left_out = pluralize(self._n_points, "point")
            notes.append(f"{self._path.name}: {left_out} left out, as points have no box")
        return Annotations(self._path, name, unit, pictures, tuple(self.faults), tuple(notes))


def _label(attributes: Mapping[str, Any]) -> str:
    """Return the label among the attributes of a region."""
    words = {name.strip().lower(): _word(value) for name, value in attributes.items()}
    named = next((words[name] for name in _LABELS if words.get(name)), "")
    others = [word for name, word in words.items() if word and not flag_among({name: "1"})]
    return named or (others[0] if len(others) == 1 else "")


def _word(value: Any) -> str:
    """Return a value as text; for check boxes, the checked ones."""
    if isinstance(value, dict):
        return ", ".join(sorted(name for name, is_on in value.items() if is_on))
    return value.strip() if isinstance(value, str) else ""


def _box(shape: Mapping[str, Any]) -> Coordinates:
    kind = shape.get("name")
    match kind:
        case "rect":
            return checked_box([_number(shape, name) for name in ("x", "y", "width", "height")])
        case "circle":
            radius = _number(shape, "r")
            return box_of_ellipse((_number(shape, "cx"), _number(shape, "cy")), (radius, radius))
        case "ellipse":
            x, y, along, across = (_number(shape, name) for name in ("cx", "cy", "rx", "ry"))
            return box_of_ellipse((x, y), (along, across), _number(shape, "theta") if "theta" in shape else 0)
        case "polygon" | "polyline":
            return box_of_points(*(_numbers(shape, f"all_points_{axis}") for axis in "xy"))
    raise ValueError(f"the shape {brief(str(kind))!r} is not supported")


def _number(shape: Mapping[str, Any], name: str) -> float:
    value = shape.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is {brief(str(value))!r}, which is not a number")  # noqa: TRY004  of a file
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        raise ValueError(f"{name} is {brief(str(value))}, which is not a valid number of pixels") from None


def _numbers(shape: Mapping[str, Any], name: str) -> list[float]:
    values = shape.get(name)
    if not isinstance(values, list):
        raise ValueError(f"{name} is not a list of numbers")  # noqa: TRY004  of a file
    return [_number({name: value}, name) for value in values]
