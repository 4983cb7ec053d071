"""The one door to annotations: whatever format a file or folder is in, the same boxes come out.

=================  ====================================  ====================================================
format             recognised by                         what is read, and what is ignored
=================  ====================================  ====================================================
OpenCV list        any other text                        `NAME COUNT X Y WIDTH HEIGHT ...`, no labels
CSV                the names of the columns              boxes or corners, label, a column `ignore`
COCO JSON          `images`, `annotations`               `bbox`, category; `iscrowd`, `ignore`
YOLO               `data.yaml`, `images` and `labels`,   class and shares of the picture; nothing is ignored
                   text files named as the pictures
Pascal VOC XML     `<annotation>`, a folder of these     `bndbox`, counted from 1, name; `difficult`
VIA JSON, VIA CSV  `_via_img_metadata`, `regions`,       boxes around its shapes, the attribute that is the
                   `metadata` of VIA 3;                  label; attributes `ignore`, `difficult`, `crowd`
                   `region_shape_attributes`
LabelMe JSON       `shapes`, a folder of these           boxes around its shapes, label; flags as of VIA
imglab XML         `<dataset>`                           `box` and `label`; `ignore`, `difficult`
FDDB ellipses      name, count, lines of 6 numbers       the smallest box around each ellipse
WIDER list         name, count, lines of 4 or 10         boxes; `invalid`, and `blur` 2
MATLAB table       `imageFilename` in the first line     boxes counted from 1; columns are labels
=================  ====================================  ====================================================

Boxes are those of the upright picture. Where a file tells the size of a picture, and it is the one before EXIF turned
it by 90 degrees, the boxes are turned, too; any other size is a fault, for the boxes would lie elsewhere.

globox and supervision read some of these formats; both drag in much, and neither keeps the flags nor bounds what it
reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from vjcascade.errors import ImageError, SourceError
from vjcascade.formats.annotations.coco import read_coco
from vjcascade.formats.annotations.counted_blocks import numbers_in_blocks
from vjcascade.formats.annotations.csv_tables import is_csv, lacks_names, read_csv
from vjcascade.formats.annotations.fddb import N_NUMBERS as FDDB_NUMBERS, read_fddb
from vjcascade.formats.annotations.imglab import read_imglab
from vjcascade.formats.annotations.labelme import labelme_files, read_labelme
from vjcascade.formats.annotations.matlab_tables import is_matlab_table, read_matlab_table
from vjcascade.formats.annotations.opencv_lists import read_boxes_list, read_opencv_list
from vjcascade.formats.annotations.pictures import (
    AnnotatedPicture,
    Annotations,
    Fault,
    decoded,
    read_json_bytes,
)
from vjcascade.formats.annotations.turning import turned_box
from vjcascade.formats.annotations.vec_files import is_vec
from vjcascade.formats.annotations.via import is_via_csv, is_via_json, read_via_csv, read_via_json
from vjcascade.formats.annotations.voc import annotation_files, read_voc
from vjcascade.formats.annotations.wider import N_NUMBERS as WIDER_NUMBERS, read_wider
from vjcascade.formats.annotations.yolo import is_data_yaml, is_label_line, is_yolo_folder, read_yolo
from vjcascade.imaging import image_header
from vjcascade.types import Size

Reader = Callable[[Path, Sequence[Path]], Annotations]
"""Reads a file or folder; pictures are looked for in the folders given first."""

HEAD = 2**16
"""Characters at the beginning of a text that tell its format."""


def read_annotations(
    path: Path, *, pictures: Sequence[Path] = (), splits: Sequence[str] = ("train",)
) -> Annotations:
    """Read annotations; what is in the file, not its name, tells its format.

    Parameters
    ----------
    path : Path
        A file or folder in one of the formats above.
    pictures : sequence of Path
        Folders where the pictures are looked for first.
    splits : sequence of str
        Which part of a data set of YOLO is read, if it has several: the first of these.

    Returns
    -------
    Annotations
        Objects of all kinds; see `Annotations.of_label`.

    Raises
    ------
    SourceError
        If nothing can be read, or a folder tells no boxes. Parts that are wrong are among the faults.
    """
    reader = reader_of(path)
    if reader is None:
        raise SourceError(f"{path} is a folder, which tells no boxes")
    if reader is read_yolo:
        return upright(read_yolo(path, pictures, splits))
    return upright(reader(path, pictures))


def tells_boxes(path: Path) -> bool:
    """Tell whether a file or folder says where objects are in pictures, and does not only name or hold them.

    Raises
    ------
    SourceError
        If it cannot be read.

    Examples
    --------
    >>> tells_boxes(Path())
    False
    """
    if path.is_file() and is_vec(path):
        return False
    reader = reader_of(path)
    return reader is not None and (reader is not read_opencv_list or read_boxes_list(path).has_boxes)


def reader_of(path: Path) -> Reader | None:
    """Return what reads a file or folder; None for a folder that tells no boxes.

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
    if not path.is_file():  # a device without an end, or nothing
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
        (lacks_names, read_csv),  # which says that they are missing
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
        raise SourceError(f"{path}{line}: this is no JSON ({error}); save or copy it again") from None
    if "images" in keys or "annotations" in keys:
        return read_coco
    if "shapes" in keys:
        return read_labelme
    return read_via_json if is_via_json({name: bytes(raw) for name, raw in keys.items()}) else read_coco


_BYTE = re.compile(r"\(byte (\d+)\)")
"""Where it is that msgspec finds something wrong."""


def _reader_of_xml(head: str, path: Path) -> Reader:
    if "<annotations>" in head and "<annotation>" not in head:
        raise SourceError(
            f"{path}: this is CVAT's own XML, which is not read; export the task from there as COCO, YOLO or Pascal VOC"
        )
    if "<annotation" in head:
        return read_voc
    return read_imglab if "<dataset" in head else read_opencv_list  # says that it is a model or the like


def upright(read: Annotations) -> Annotations:
    """Return annotations with boxes in upright pictures, and without pictures of another size than they were made for.

    Pictures that cannot be opened stay as they are: whoever opens them says why. So do those without objects, which are
    not opened: there may be a hundred thousand of them.
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
            pictures.append(_turned(picture, size, orientation))
        else:
            faults.append(
                Fault(
                    picture.place,
                    f"{picture.name}: its boxes are for {picture.size} pixels, and the picture has {size}: they would "
                    "lie elsewhere; give the picture that was annotated",
                )
            )
    return Annotations(
        read.path, read.format, read.unit, tuple(pictures), tuple(faults), read.notes, read.labels
    )


def _turned(picture: AnnotatedPicture, size: Size, orientation: int) -> AnnotatedPicture:
    stored = Size(size.height, size.width)
    objects = tuple(one._replace(box=turned_box(one.box, stored, orientation)) for one in picture.objects)
    return picture._replace(objects=objects, size=size)
