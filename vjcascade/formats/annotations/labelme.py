"""LabelMe JSON: one file for each picture, with `shapes` of a `label`, a `shape_type` and `points`.

Shapes other than rectangles, such as polygons, circles, lines and masks, become their bounding boxes. A shape with one
of the `flags` `ignore`, `difficult` or `crowd` is a region to ignore. Points are not read, as they have no box. The
labelme package depends on Qt.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path, PureWindowsPath
from typing import Any

import msgspec

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.pictures import (
    AnnotatedObject,
    AnnotatedPicture,
    Annotations,
    Coordinates,
    Fault,
    PictureFinder,
    known_size,
    read_json_bytes,
)
from vjcascade.formats.annotations.shapes import box_of_ellipse, box_of_points, flag_among
from vjcascade.messages import pluralize

MAX_BYTES = 2**28
"""Largest file read: it may contain the picture, too."""


class _Shape(msgspec.Struct):
    label: str | None
    points: list[tuple[float, float]] | None
    shape_type: str | None = "polygon"
    flags: dict[str, Any] | None = None


class _File(msgspec.Struct, rename="camel"):
    shapes: list[_Shape]
    image_path: str
    image_height: Any = None
    image_width: Any = None


def read_labelme(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read files of LabelMe JSON.

    Parameters
    ----------
    path : Path
        One file, or a folder of them; other JSON files in it are not read.
    first : iterable of Path
        Folders to search for the pictures before that of the file.

    Returns
    -------
    Annotations
        A picture for each file. Invalid files of a folder are among the faults.

    Raises
    ------
    SourceError
        If `path` is a single invalid file.
    """
    paths = labelme_files(path) if path.is_dir() else [path]
    finder = PictureFinder(paths[0] if paths else path / "*.json", first)
    pictures, faults, n_points = [], [], 0
    for place, one in enumerate(paths, start=1):
        try:
            read = msgspec.json.decode(read_json_bytes(one, MAX_BYTES), type=_File)
            # The path may be that of another machine, also of Windows: fall back to its last part.
            name = read.image_path
            name = PureWindowsPath(name).name if finder.find(name) is None else name
            objects = []
            for number, shape in enumerate(read.shapes, start=1):
                if shape.shape_type in _POINTS:
                    n_points += 1
                    continue
                label = shape.label or ""
                try:
                    objects.append(AnnotatedObject(_box(shape), label, flag_among(shape.flags or {})))
                except ValueError as error:
                    faults.append(Fault(place, f"{one.name}: shape {number}: {error}", label, name))
            size = known_size(read.image_width, read.image_height)
            pictures.append(AnnotatedPicture(place, name, finder.locate(name), tuple(objects), size))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            reason = f"not valid LabelMe JSON ({error})"
            if not path.is_dir():
                raise SourceError(f"{path}: {reason}; it must have shapes and imagePath") from None
            faults.append(Fault(place, f"{one.name}: {reason}"))
        except ValueError as error:
            faults.append(Fault(place, f"{one.name}: {error}"))
    notes = finder.notes()
    if n_points:
        notes.append(f"{path.name}: {pluralize(n_points, 'point')} left out, as points have no box")
    return Annotations(path, "LabelMe JSON", "file", tuple(pictures), tuple(faults), tuple(notes))


_POINTS = ("point", "points")


def labelme_files(folder: Path) -> list[Path]:
    """Return the LabelMe files in a folder, sorted by name.

    Examples
    --------
    >>> labelme_files(Path())
    []
    """
    return [
        path for path in sorted(folder.glob("*.[jJ][sS][oO][nN]")) if path.is_file() and _is_labelme(path)
    ]


def _is_labelme(path: Path) -> bool:
    """Check the first and last part of a file, between which the picture may be."""
    with path.open("rb") as file:
        head = file.read(_SEEN)
        file.seek(max(path.stat().st_size - _SEEN, 0))
        ends = head + file.read(_SEEN)
    return head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") and b'"shapes"' in ends and b'"image' in ends


_SEEN = 2**16


def _box(shape: _Shape) -> Coordinates:
    points = shape.points or []
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if shape.shape_type == "circle" and len(xs) == 2:
        radius = math.hypot(xs[1] - xs[0], ys[1] - ys[0])
        return box_of_ellipse((xs[0], ys[0]), (radius, radius))
    if shape.shape_type == "rectangle" and len(xs) not in {2, 4}:
        raise ValueError(f"a rectangle has 2 or 4 points, not {len(xs)}")
    return box_of_points(xs, ys)
