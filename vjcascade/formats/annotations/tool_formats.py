"""Writing of annotations in formats of other tools: OpenCV list, VIA, LabelMe, imglab, FDDB, WIDER, MATLAB.

What a format cannot express is left out: lists of OpenCV, FDDB and WIDER have no labels; OpenCV lists, FDDB lists and
MATLAB tables have no objects to ignore, and OpenCV lists only whole pixels. None of them has scores.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.pictures import AnnotatedObject, AnnotatedPicture, NameOf

DIGITS = 6
"""Decimals of computed numbers."""

Files = dict[Path, str]


def _opencv_list(path: Path, pictures: Sequence[AnnotatedPicture], name_of: NameOf) -> Files:
    """Return an `info.dat`."""
    lines = []
    for picture in pictures:
        numbers = [str(round(side)) for box in picture.boxes for side in box]
        lines.append(" ".join([_in_a_line(name_of(picture)), str(len(picture.boxes)), *numbers]))
    return {path: _ended(lines)}


def _via(path: Path, pictures: Sequence[AnnotatedPicture], name_of: NameOf) -> Files:
    """Return a project of VIA 2."""
    content: dict[str, Any] = {}
    for picture in pictures:
        name = name_of(picture)
        regions = [
            {"shape_attributes": _rectangle(one), "region_attributes": _attributes(one)}
            for one in picture.objects
        ]
        content[f"{name}-1"] = {"filename": name, "size": -1, "regions": regions, "file_attributes": {}}
    attributes = {"region": {"label": {"type": "text", "description": "", "default_value": ""}}, "file": {}}
    project = {
        "_via_settings": {"core": {"default_filepath": ""}},
        "_via_img_metadata": content,
        "_via_attributes": attributes,
    }
    return {path: json.dumps(project, indent=1) + "\n"}


def _via_csv(path: Path, pictures: Sequence[AnnotatedPicture], name_of: NameOf) -> Files:
    """Return a CSV as VIA exports it."""
    columns = (
        "filename file_size file_attributes region_count region_id region_shape_attributes region_attributes"
    )
    rows: list[list[object]] = [list(columns.split())]
    for picture in pictures:
        head = [name_of(picture), -1, "{}", len(picture.objects)]
        for number, one in enumerate(picture.objects):
            rows.append([*head, number, json.dumps(_rectangle(one)), json.dumps(_attributes(one))])
        if not picture.objects:
            rows.append([*head, 0, "{}", "{}"])
    return {path: _table(rows)}


def labelme_files_of(
    names: Mapping[Path, Path], pictures: Sequence[AnnotatedPicture], name_of: NameOf
) -> Files:
    """Return a LabelMe file for each picture.

    Parameters
    ----------
    names : mapping of Path to Path
        The file of each picture.
    pictures : sequence of AnnotatedPicture
        With their sizes.
    name_of : callable
        Returns the picture's name for its file.

    Returns
    -------
    dict of Path to str
        The texts by file.

    Raises
    ------
    SourceError
        If the size of a picture is unknown.
    """
    files = {}
    for picture in pictures:
        width, height = picture.known_size
        shapes = [
            {
                "label": one.label,
                "points": [[one.box[0], one.box[1]], [one.box[0] + one.box[2], one.box[1] + one.box[3]]],
                "group_id": None,
                "shape_type": "rectangle",
                "flags": {one.flag: True} if one.flag else {},
            }
            for one in picture.objects
        ]
        content: dict[str, Any] = {
            "version": "5.4.1",
            "flags": {},
            "shapes": shapes,
            "imagePath": name_of(picture),
            "imageData": None,
            "imageHeight": height,
            "imageWidth": width,
        }
        files[names[picture.path]] = json.dumps(content, indent=1) + "\n"
    return files


def _imglab(path: Path, pictures: Sequence[AnnotatedPicture], name_of: NameOf) -> Files:
    """Return a data set of dlib's imglab."""
    from xml.sax.saxutils import escape, quoteattr  # as in `writing`

    lines = ["<?xml version='1.0' encoding='UTF-8'?>", "<dataset>", "<images>"]
    for picture in pictures:
        width, height = picture.known_size
        lines.append(f"  <image file={quoteattr(name_of(picture))} width='{width}' height='{height}'>")
        for one in picture.objects:
            x, y, w, h = map(_number, one.box)
            flag = " ignore='1'" if one.flag else ""
            lines.append(f"    <box top='{y}' left='{x}' width='{w}' height='{h}'{flag}>")
            lines += [f"      <label>{escape(one.label)}</label>", "    </box>"]
        lines.append("  </image>")
    return {path: _ended([*lines, "</images>", "</dataset>"])}


def _fddb(path: Path, pictures: Sequence[AnnotatedPicture], name_of: NameOf) -> Files:
    """Return a list of ellipses, each inscribed in its box; the longer half axis comes first."""
    lines = []
    for picture in pictures:
        lines += [_in_a_line(name_of(picture)), str(len(picture.boxes))]
        for x, y, w, h in picture.boxes:
            axes = (h / 2, w / 2, math.pi / 2) if h > w else (w / 2, h / 2, 0.0)
            numbers = (*axes, x + w / 2, y + h / 2)
            lines.append(" ".join(f"{number:.{DIGITS}f}" for number in numbers) + " 1")
    return {path: _ended(lines)}


def _wider(path: Path, pictures: Sequence[AnnotatedPicture], name_of: NameOf) -> Files:
    """Return a list like WIDER FACE's; ignored objects and crowds are invalid, difficult ones heavily blurred."""
    lines = []
    for picture in pictures:
        lines += [_in_a_line(name_of(picture)), str(len(picture.objects))]
        for one in picture.objects:
            blur, invalid = 2 * (one.flag == "difficult"), int(one.flag in {"ignore", "crowd"})
            lines.append(" ".join([*map(_number, one.box), str(blur), "0", "0", str(invalid), "0", "0"]))
        lines += [] if picture.objects else ["0 0 0 0 0 0 0 0 0 0"]
    return {path: _ended(lines)}


def _matlab(path: Path, pictures: Sequence[AnnotatedPicture], name_of: NameOf) -> Files:
    """Return a ground truth table with a column for each label; pixels are counted from 1."""
    labels = list(dict.fromkeys(one.label for picture in pictures for one in picture.objects)) or ["object"]
    rows: list[list[object]] = [["imageFilename", *labels]]
    for picture in pictures:
        row: list[object] = [name_of(picture)]
        for label in labels:
            boxes = [one.box for one in picture.objects if one.label == label and not one.flag]
            words = (" ".join(map(_number, (x + 1, y + 1, w, h))) for x, y, w, h in boxes)
            row.append(f"[{'; '.join(words)}]")
        rows.append(row)
    return {path: _table(rows)}


Writer = Callable[[Path, Sequence[AnnotatedPicture], NameOf], Files]

ONE_FILE: Mapping[str, tuple[str, Writer]] = {
    "opencv": (".dat", _opencv_list),
    "via": (".json", _via),
    "via-csv": (".csv", _via_csv),
    "imglab": (".xml", _imglab),
    "fddb": (".txt", _fddb),
    "wider": (".txt", _wider),
    "matlab": (".csv", _matlab),
}
"""Formats with a single file: its suffix, and its writer."""


def _rectangle(one: AnnotatedObject) -> dict[str, Any]:
    return {"name": "rect", **dict(zip(("x", "y", "width", "height"), one.box, strict=True))}


def _attributes(one: AnnotatedObject) -> dict[str, Any]:
    return {"label": one.label, **({one.flag: "1"} if one.flag else {})}


def _in_a_line(name: str) -> str:
    if "\n" in name or "\r" in name:
        raise SourceError(
            f"{name!r}: a list cannot contain a name with a line break; rename the file, or write JSON"
        )
    return name


def _number(number: float) -> str:
    """Return the shortest text from which a number is read back exactly."""
    return str(int(number)) if number == int(number) else repr(float(number))


def _ended(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _table(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
