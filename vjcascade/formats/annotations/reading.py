"""Reading of annotations: the format is recognised, and the boxes of all formats have the same form.

`docs/reference/annotations.md` has the table of the formats, what they are recognised by, and what is read of them.

globox and supervision read some of these formats, but have many dependencies, drop the flags, and set no limits to what
they read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from vjcascade.errors import ImageError, SourceError
from vjcascade.formats.annotations.coco import read_coco
from vjcascade.formats.annotations.counted_blocks import numbers_in_blocks
from vjcascade.formats.annotations.csv_tables import is_csv, lacks_header, read_csv
from vjcascade.formats.annotations.fddb import N_NUMBERS as FDDB_NUMBERS, read_fddb
from vjcascade.formats.annotations.imglab import read_imglab
from vjcascade.formats.annotations.labelme import labelme_files, read_labelme
from vjcascade.formats.annotations.matlab_tables import is_matlab_table, read_matlab_table
from vjcascade.formats.annotations.opencv_lists import read_boxes_list, read_opencv_list
from vjcascade.formats.annotations.orientation import upright_box
from vjcascade.formats.annotations.pictures import (
    AnnotatedPicture,
    Annotations,
    Fault,
    decoded,
    read_json_bytes,
)
from vjcascade.formats.annotations.vec_files import is_vec
from vjcascade.formats.annotations.via import is_via_csv, is_via_json, read_via_csv, read_via_json
from vjcascade.formats.annotations.voc import annotation_files, read_voc
from vjcascade.formats.annotations.wider import N_NUMBERS as WIDER_NUMBERS, read_wider
from vjcascade.formats.annotations.yolo import is_data_yaml, is_label_line, is_yolo_folder, read_yolo
from vjcascade.imaging import image_header
from vjcascade.types import Size

Reader = Callable[[Path, Sequence[Path]], Annotations]
"""Reads a file or folder; the folders are searched for pictures first."""

HEAD = 2**16
"""Bytes at the beginning of a file from which its format is recognised."""


def read_annotations(
    path: Path, *, pictures: Sequence[Path] = (), splits: Sequence[str] = ("train",)
) -> Annotations:
    """Read annotations; the format is recognised by the content of the file, not by its name.

    Parameters
    ----------
    path : Path
        A file or folder in one of the formats above.
    pictures : sequence of Path
        Folders to search for the pictures first.
    splits : sequence of str
        The split of a YOLO data set to read: the first of these that it has.

    Returns
    -------
    Annotations
        Objects of all labels; see `Annotations.of_label`.

    Raises
    ------
    SourceError
        If nothing can be read, or a folder has no annotations. Invalid parts of a file are among the faults.
    """
    reader = reader_of(path)
    if reader is None:
        raise SourceError(f"{path} is a folder without annotations; give a file or folder of annotations")
    if reader is read_yolo:
        return upright(read_yolo(path, pictures, splits))
    return upright(reader(path, pictures))


def contains_boxes(path: Path) -> bool:
    """Return whether a file or folder contains boxes in pictures, and not only pictures or their names.

    Raises
    ------
    SourceError
        If it cannot be read.

    Examples
    --------
    >>> contains_boxes(Path())
    False
    """
    if path.is_file() and is_vec(path):
        return False
    reader = reader_of(path)
    return reader is not None and (reader is not read_opencv_list or read_boxes_list(path).has_boxes)


def reader_of(path: Path) -> Reader | None:
    """Return the reader of a file or folder; None for a folder without annotations.

    Raises
    ------
    SourceError
        If it cannot be read.
    """
    try:
        return _reader_of_folder(path) if path.is_dir() else _reader_of_file(path)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from error


def _reader_of_folder(folder: Path) -> Reader | None:
    if is_yolo_folder(folder):
        return read_yolo
    xml = annotation_files(folder)
    if xml and _reader_of_xml(_head(xml[0]), xml[0]) is read_voc:
        return read_voc
    return read_labelme if labelme_files(folder) else None


def _head(path: Path) -> str:
    with path.open("rb") as file:
        return decoded(file.read(HEAD)).lstrip()


def _reader_of_file(path: Path) -> Reader:
    if not path.is_file():  # a device, which may be endless, or nothing
        return read_opencv_list
    head = _head(path)
    if head.startswith("["):
        return read_coco
    if head.startswith("{"):
        return _reader_of_json(path)
    if head.startswith("<"):
        return _reader_of_xml(head, path)
    if path.suffix.lower() in {".yaml", ".yml"} or is_data_yaml(head):
        return read_yolo
    tables: list[tuple[Callable[[str], bool], Reader]] = [
        (is_via_csv, read_via_csv),
        (is_matlab_table, read_matlab_table),
        (is_csv, read_csv),
        (lacks_header, read_csv),  # which reports that the header is missing
        (lambda text: is_label_line(text.partition("\n")[0]), read_yolo),
        (lambda text: numbers_in_blocks(text) in FDDB_NUMBERS, read_fddb),
        (lambda text: numbers_in_blocks(text) in WIDER_NUMBERS, read_wider),
    ]
    return next((reader for is_it, reader in tables if is_it(head)), read_opencv_list)


def _reader_of_json(path: Path) -> Reader:
    data = read_json_bytes(path)
    try:
        keys = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        place = _BYTE.search(str(error))
        n_before = 0 if place is None else data.count(b"\n", 0, int(place[1]))
        line = "" if place is None else f":{n_before + 1}"
        raise SourceError(f"{path}{line}: invalid JSON ({error}); save or copy the file again") from None
    if "images" in keys or "annotations" in keys:
        return read_coco
    if "shapes" in keys:
        return read_labelme
    return read_via_json if is_via_json({name: bytes(raw) for name, raw in keys.items()}) else read_coco


_BYTE = re.compile(r"\(byte (\d+)\)")
"""The position in an error message of msgspec."""


def _reader_of_xml(head: str, path: Path) -> Reader:
    if "<annotations>" in head and "<annotation>" not in head:
        raise SourceError(
            f"{path}: CVAT's own XML cannot be read; export the task from CVAT as COCO, YOLO or Pascal VOC"
        )
    if "<annotation" in head:
        return read_voc
    return read_imglab if "<dataset" in head else read_opencv_list  # which reports a model or other XML


def upright(read: Annotations) -> Annotations:
    """Return annotations with boxes in upright pictures, without pictures of another size than in the file.

    Pictures that cannot be opened are kept: the error is reported where they are used. Those without objects are kept
    without opening them, as there may be a hundred thousand.
    """
    pictures: list[AnnotatedPicture] = []
    faults = list(read.faults)
    for picture in read.pictures:
        try:
            is_checked = picture.size is not None and picture.objects
            size, orientation = image_header(picture.path) if is_checked else (picture.size, 1)
        except ImageError:
            size, orientation = picture.size, 1
        if picture.size == size:
            pictures.append(picture)
        elif size is not None and picture.size == size[::-1] and orientation > 4:
            pictures.append(_rotated(picture, size, orientation))
        else:
            faults.append(
                Fault(
                    picture.place,
                    f"{picture.name}: its boxes are for {picture.size} pixels, but the picture has {size}; use the "
                    "picture that was annotated",
                )
            )
    return Annotations(
        read.path, read.format, read.unit, tuple(pictures), tuple(faults), read.notes, read.labels
    )


def _rotated(picture: AnnotatedPicture, size: Size, orientation: int) -> AnnotatedPicture:
    stored = Size(size.height, size.width)
    objects = tuple(one._replace(box=upright_box(one.box, stored, orientation)) for one in picture.objects)
    return picture._replace(objects=objects, size=size)
