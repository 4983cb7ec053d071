"""Writing of annotations, in the formats that are read.

COCO JSON, YOLO data sets, Pascal VOC XML and CSV are here, formats of other tools in `tool_formats.py`.

For objects to ignore, CSV keeps the reason, COCO JSON whether it is a crowd, and Pascal VOC XML marks all of them as
`difficult`; YOLO's text files cannot express them, so they are left out. Only COCO JSON contains scores. Names of
pictures are relative to the files.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from vjcascade.errors import SourceError
from vjcascade.files import made_folder, write_together
from vjcascade.formats.annotations.pictures import AnnotatedObject, AnnotatedPicture
from vjcascade.formats.annotations.tool_formats import ONE_FILE, labelme_files_of
from vjcascade.formats.annotations.yolo import common_folder, label_name
from vjcascade.types import Size

DIGITS = 12
"""Significant digits of normalised coordinates in YOLO's text files: enough to restore whole pixels exactly."""

WRITABLE = {
    "coco": ".json",
    "csv": ".csv",
    "yolo": "",
    "voc": "",
    "labelme": "",
    **{kind: suffix for kind, (suffix, _) in ONE_FILE.items()},
}
"""Formats that can be written, with the suffixes of their files; formats of folders have none."""

FOLDER_FORMATS = ("yolo", "voc", "labelme")
"""Formats that are folders of files."""


def write_annotations(path: Path, pictures: Sequence[AnnotatedPicture], kind: str) -> None:
    """Write annotations, all files or none.

    Parameters
    ----------
    path : Path
        The file, or for YOLO, Pascal VOC and LabelMe the folder, which is made if it does not exist.
    pictures : sequence of AnnotatedPicture
        With their sizes.
    kind : str
        The format, one of `WRITABLE`.

    Raises
    ------
    SourceError
        If the files of two pictures would have the same name.
    OSError
        If a file cannot be written.

    Examples
    --------
    >>> face = AnnotatedObject((3, 4, 24, 24), "face")
    >>> picture = AnnotatedPicture(1, "a.png", Path("a.png"), (face,), Size(64, 48))
    >>> write_annotations(Path("found.csv"), [picture], "csv")
    >>> print(Path("found.csv").read_text().splitlines()[1])
    a.png,64,48,face,3,4,27,28,
    """
    files = annotation_files_of(path, pictures, kind)
    with ExitStack() as stack:
        for folder in dict.fromkeys(file.parent for file in files):
            stack.enter_context(made_folder(folder))
        write_together(files)


def annotation_files_of(path: Path, pictures: Sequence[AnnotatedPicture], kind: str) -> dict[Path, bytes]:
    """Return the content of the files that `write_annotations` writes.

    Parameters
    ----------
    path : Path
        The file or folder.
    pictures : sequence of AnnotatedPicture
        With their sizes.
    kind : str
        The format, one of `WRITABLE`.

    Returns
    -------
    dict of Path to bytes
        The contents by file.

    Raises
    ------
    SourceError
        As `write_annotations`.
    """
    if kind in _WRITERS:
        return _WRITERS[kind](path, pictures)
    return _encoded(ONE_FILE[kind][1](path, pictures, lambda one: relative_name(one.path, path.parent)))


def names_of_files(path: Path, pictures: Sequence[Path], kind: str) -> dict[Path, Path]:
    """Return the text, XML or JSON file of each picture.

    Parameters
    ----------
    path : Path
        The folder.
    pictures : sequence of Path
        Picture files.
    kind : {"yolo", "voc", "labelme"}
        The format.

    Returns
    -------
    dict of Path to Path
        The file of each picture.

    Raises
    ------
    SourceError
        If two pictures would have the same file.
    """
    above = common_folder(pictures) if pictures else Path()
    names: dict[Path, Path] = {}
    taken: dict[Path, Path] = {}
    for picture in pictures:
        name = label_name(picture, above)
        if kind in _SUFFIXES:  # whose files are all in one folder
            name = Path("_".join(name.parts)).with_suffix(_SUFFIXES[kind])
        other = taken.setdefault(name, picture)
        if other != picture:
            raise SourceError(
                f"{other} and {picture} would both have the file {name}: rename one of them, or write COCO JSON"
            )
        names[picture] = (path / "labels" if kind == "yolo" else path) / name
    return names


_SUFFIXES = {"voc": ".xml", "labelme": ".json"}


def _coco(path: Path, pictures: Sequence[AnnotatedPicture]) -> dict[Path, bytes]:
    labels = _labels(pictures)
    numbers = {label: number for number, label in enumerate(labels, start=1)}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, picture in enumerate(pictures, start=1):
        width, height = picture.known_size
        name = relative_name(picture.path, path.parent)
        images.append({"id": number, "file_name": name, "width": width, "height": height})
        for one in picture.objects:
            annotation: dict[str, Any] = {
                "id": len(annotations) + 1,
                "image_id": number,
                "category_id": numbers[one.label],
                "bbox": [_plain(side) for side in one.box],
                "area": _plain(one.box[2] * one.box[3]),
                "iscrowd": int(one.flag == "crowd"),
            }
            annotation |= {"ignore": 1} if one.flag in {"ignore", "difficult"} else {}
            annotation |= {} if one.score is None else {"score": one.score}
            annotations.append(annotation)
    categories = [{"id": number, "name": label} for label, number in numbers.items()]
    content = {"images": images, "annotations": annotations, "categories": categories}
    return {path: (json.dumps(content, indent=1) + "\n").encode()}


def _csv(path: Path, pictures: Sequence[AnnotatedPicture]) -> dict[Path, bytes]:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["filename", "width", "height", "class", "xmin", "ymin", "xmax", "ymax", "ignore"])
    for picture in pictures:
        head = [relative_name(picture.path, path.parent), *picture.known_size]
        for one in picture.objects:
            x, y, width, height = one.box
            corners = map(_plain, (x, y, x + width, y + height))
            writer.writerow([*head, one.label, *corners, one.flag])
        if not picture.objects:
            writer.writerow([*head, "", "", "", "", "", ""])
    return {path: text.getvalue().encode("utf-8", "surrogateescape")}


def _yolo(path: Path, pictures: Sequence[AnnotatedPicture]) -> dict[Path, bytes]:
    labels = _labels(pictures)
    numbers = {label: number for number, label in enumerate(labels)}
    names = names_of_files(path, [picture.path for picture in pictures], "yolo")
    files: dict[Path, str] = {}
    for picture in pictures:
        lines = [
            f"{numbers[one.label]} {_normalized(one, picture.known_size)}\n"
            for one in picture.objects
            if not one.flag
        ]
        files[names[picture.path]] = "".join(lines)
    listed = (f"./{relative_name(picture.path, path)}\n" for picture in pictures)
    files[path / "pictures.txt"] = "".join(listed)
    entries = "".join(f"  {number}: {json.dumps(label)}\n" for label, number in numbers.items())
    files[path / "data.yaml"] = f"train: pictures.txt\nval: pictures.txt\nnames:\n{entries}"
    return _encoded(files)


def _voc(path: Path, pictures: Sequence[AnnotatedPicture]) -> dict[Path, bytes]:
    names = names_of_files(path, [picture.path for picture in pictures], "voc")
    return _encoded({names[picture.path]: _voc_text(picture, path) for picture in pictures})


def _voc_text(picture: AnnotatedPicture, folder: Path) -> str:
    from xml.sax.saxutils import escape  # it imports the network's libraries, 30 ms

    width, height = picture.known_size
    lines = [
        "<annotation>",
        f"  <folder>{escape(picture.path.absolute().parent.name)}</folder>",
        f"  <filename>{escape(picture.path.name)}</filename>",
        f"  <path>{escape(relative_name(picture.path, folder))}</path>",
        f"  <size><width>{width}</width><height>{height}</height><depth>3</depth></size>",
    ]
    for one in picture.objects:
        x, y, w, h = one.box
        corners = {"xmin": x + 1, "ymin": y + 1, "xmax": x + w, "ymax": y + h}
        box = "".join(f"<{tag}>{_plain(number)}</{tag}>" for tag, number in corners.items())
        lines += [
            "  <object>",
            f"    <name>{escape(one.label)}</name>",
            f"    <difficult>{int(bool(one.flag))}</difficult>",
            f"    <bndbox>{box}</bndbox>",
            "  </object>",
        ]
    return "\n".join([*lines, "</annotation>\n"])


def _labelme(path: Path, pictures: Sequence[AnnotatedPicture]) -> dict[Path, bytes]:
    names = names_of_files(path, [picture.path for picture in pictures], "labelme")
    return _encoded(labelme_files_of(names, pictures, lambda one: relative_name(one.path, path)))


_WRITERS: Mapping[str, Callable[[Path, Sequence[AnnotatedPicture]], dict[Path, bytes]]] = {
    "coco": _coco,
    "yolo": _yolo,
    "voc": _voc,
    "csv": _csv,
    "labelme": _labelme,
}


def relative_name(picture: Path, folder: Path) -> str:
    """Return the name of a picture relative to a folder; an absolute one if that is impossible.

    Examples
    --------
    >>> relative_name(Path("photos/a.png"), Path("found"))
    '../photos/a.png'
    """
    try:
        return Path(os.path.relpath(picture, folder)).as_posix()
    except ValueError:  # another drive
        return picture.absolute().as_posix()


def _labels(pictures: Sequence[AnnotatedPicture]) -> list[str]:
    return list(dict.fromkeys(one.label for picture in pictures for one in picture.objects)) or ["object"]


def _plain(number: float) -> float:
    """Return whole numbers as int."""
    return int(number) if number == int(number) else number


def _normalized(one: AnnotatedObject, size: Size) -> str:
    x, y, width, height = one.box
    center = (x + width / 2) / size.width, (y + height / 2) / size.height
    return " ".join(f"{part:.{DIGITS}g}" for part in (*center, width / size.width, height / size.height))


def _encoded(files: Mapping[Path, str]) -> dict[Path, bytes]:
    return {path: text.encode("utf-8", "surrogateescape") for path, text in files.items()}
