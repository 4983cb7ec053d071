"""The same boxes in every format that annotations come in, as the tools write them."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from vjcascade.formats.annotations.pictures import AnnotatedObject
from vjcascade.types import Size


class Photo(NamedTuple):
    """A picture by its name in the folder, with the objects in it."""

    name: str
    size: Size
    objects: Sequence[AnnotatedObject]


Writer = Callable[[Path, Sequence[Photo]], Path]
"""Writes annotations into the folder of the pictures, and returns what to open."""


def opencv_list(folder: Path, photos: Sequence[Photo]) -> Path:
    lines = [
        " ".join([photo.name, str(len(photo.objects)), *(f"{n:g}" for one in photo.objects for n in one.box)])
        for photo in photos
    ]
    return _written(folder / "info.dat", "\n".join(lines) + "\n")


def csv_boxes(folder: Path, photos: Sequence[Photo]) -> Path:
    rows: list[list[object]] = [["file", "x", "y", "w", "h", "label", "ignore"]]
    for photo in photos:
        rows += [[photo.name, *one.box, one.label, one.flag] for one in photo.objects] or [[photo.name]]
    return _table(folder / "boxes.csv", rows)


def csv_corners(folder: Path, photos: Sequence[Photo]) -> Path:
    """Write a table as TensorFlow's tutorials do, with the size of the picture in each line."""
    rows: list[list[object]] = [
        ["filename", "width", "height", "class", "xmin", "ymin", "xmax", "ymax", "difficult"]
    ]
    for photo in photos:
        for x, y, w, h in (one.box for one in photo.objects):
            rows.append([photo.name, *photo.size, None, x, y, x + w, y + h, 0])
        for row, one in zip(rows[-len(photo.objects) :], photo.objects, strict=False):
            row[3], row[8] = one.label, int(bool(one.flag))
        rows += [] if photo.objects else [[photo.name, *photo.size]]
    return _table(folder / "train_labels.csv", rows)


def coco(folder: Path, photos: Sequence[Photo]) -> Path:
    labels = _labels(photos)
    boxes = [(i, one) for i, photo in enumerate(photos) for one in photo.objects]
    content = {
        "images": [
            {"id": i, "file_name": photo.name, "width": photo.size.width, "height": photo.size.height}
            for i, photo in enumerate(photos)
        ],
        "annotations": [
            {
                "id": number,
                "image_id": i,
                "category_id": labels.index(one.label),
                "bbox": one.box,
                "iscrowd": int(bool(one.flag)),
            }
            for number, (i, one) in enumerate(boxes)
        ],
        "categories": [{"id": number, "name": label} for number, label in enumerate(labels)],
    }
    return _written(folder / "instances.json", json.dumps(content))


def yolo(folder: Path, photos: Sequence[Photo]) -> Path:
    """Write text files beside the pictures, with the six decimals that tools give."""
    labels = _labels(photos)
    for photo in photos:
        lines = []
        for one in photo.objects:
            x, y, w, h = one.box
            shares = (
                (x + w / 2) / photo.size.width,
                (y + h / 2) / photo.size.height,
                w / photo.size.width,
                h / photo.size.height,
            )
            lines.append(f"{labels.index(one.label)} " + " ".join(f"{share:.6f}" for share in shares))
        _written((folder / photo.name).with_suffix(".txt"), "\n".join(lines))
    names = "\n".join(f"  {i}: {json.dumps(label)}" for i, label in enumerate(labels))
    return _written(folder / "data.yaml", f"path: .\ntrain: .\nval: .\nnames:\n{names}\n")


def voc(folder: Path, photos: Sequence[Photo]) -> Path:
    for photo in photos:
        things = ""
        for one in photo.objects:
            x, y, w, h = one.box
            corners = zip(("xmin", "ymin", "xmax", "ymax"), (x + 1, y + 1, x + w, y + h), strict=True)
            box = "".join(f"<{tag}>{number:g}</{tag}>" for tag, number in corners)
            flag = int(bool(one.flag))
            things += f"<object><name>{escape(one.label)}</name><difficult>{flag}</difficult>\n"
            things += f"<bndbox>{box}</bndbox></object>\n"
        size = f"<size><width>{photo.size.width}</width><height>{photo.size.height}</height><depth>3</depth></size>"
        text = f"<annotation>\n<filename>{escape(photo.name)}</filename>\n{size}\n{things}</annotation>\n"
        _written((folder / photo.name).with_suffix(".xml"), text)
    return folder


def via_json(folder: Path, photos: Sequence[Photo]) -> Path:
    content = {
        f"{photo.name}99": {
            "filename": photo.name,
            "size": 99,
            "regions": [
                {"shape_attributes": _rect(one), "region_attributes": _attributes(one)}
                for one in photo.objects
            ],
            "file_attributes": {},
        }
        for photo in photos
    }
    project = {"_via_settings": {"ui": {}}, "_via_img_metadata": content, "_via_attributes": {"region": {}}}
    return _written(folder / "via_project.json", json.dumps(project))


def via_csv(folder: Path, photos: Sequence[Photo]) -> Path:
    names = (
        "filename file_size file_attributes region_count region_id region_shape_attributes region_attributes"
    )
    rows: list[list[object]] = [list(names.split())]
    for photo in photos:
        for i, one in enumerate(photo.objects):
            shape, attributes = json.dumps(_rect(one)), json.dumps(_attributes(one))
            rows.append([photo.name, 99, "{}", len(photo.objects), i, shape, attributes])
        rows += [] if photo.objects else [[photo.name, 99, "{}", 0, 0, "{}", "{}"]]
    return _table(folder / "via_export.csv", rows)


def labelme(folder: Path, photos: Sequence[Photo]) -> Path:
    for photo in photos:
        shapes = []
        for one in photo.objects:
            x, y, w, h = one.box
            points = [[x + w, y], [x, y + h]]  # whichever corners were clicked
            flags = {one.flag: True} if one.flag else {}
            shapes.append({"label": one.label, "points": points, "shape_type": "rectangle", "flags": flags})
        content = {
            "version": "5.4.1",
            "flags": {},
            "shapes": shapes,
            "imagePath": photo.name,
            "imageData": None,
            "imageHeight": photo.size.height,
            "imageWidth": photo.size.width,
        }
        _written((folder / photo.name).with_suffix(".json"), json.dumps(content, indent=2))
    return folder


def imglab(folder: Path, photos: Sequence[Photo]) -> Path:
    text = "<?xml version='1.0' encoding='ISO-8859-1'?>\n<?xml-stylesheet type='text/xsl' href='a.xsl'?>\n"
    text += "<dataset>\n<name>cars</name>\n<comment>made by imglab</comment>\n<images>\n"
    for photo in photos:
        text += f"  <image file={quoteattr(photo.name)} width='{photo.size.width}' height='{photo.size.height}'>\n"
        for one in photo.objects:
            x, y, w, h = (f"{number:g}" for number in one.box)
            flag = " ignore='1'" if one.flag else ""
            text += f"    <box top='{y}' left='{x}' width='{w}' height='{h}'{flag}>\n"
            text += (
                f"      <label>{escape(one.label)}</label>\n      <part name='a' x='3' y='4'/>\n    </box>\n"
            )
        text += "  </image>\n"
    return _written(folder / "training.xml", text + "</images>\n</dataset>\n")


def fddb(folder: Path, photos: Sequence[Photo]) -> Path:
    """Write upright ellipses: half of the heads have the long axis written first, as FDDB does."""
    lines = []
    for photo in photos:
        lines += [photo.name.rpartition(".")[0], str(len(photo.objects))]
        for one in photo.objects:
            x, y, w, h = one.box
            radii = (h / 2, w / 2, math.pi / 2) if h > w else (w / 2, h / 2, 0.0)
            lines.append(" ".join(f"{n:.6f}" for n in (*radii, x + w / 2, y + h / 2)) + "  1")
    return _written(folder / "FDDB-fold-01-ellipseList.txt", "\n".join(lines) + "\n")


def wider(folder: Path, photos: Sequence[Photo]) -> Path:
    lines = []
    for photo in photos:
        lines += [photo.name, str(len(photo.objects))]
        for one in photo.objects:
            blur, invalid = 2 * (one.flag == "difficult"), int(one.flag not in {"", "difficult"})
            lines.append(" ".join(f"{n:g}" for n in (*one.box, blur, 0, 0, invalid, 0, 0)))
        lines += [] if photo.objects else ["0 0 0 0 0 0 0 0 0 0"]
    return _written(folder / "wider_face_train_bbx_gt.txt", "\n".join(lines) + "\n")


def matlab(folder: Path, photos: Sequence[Photo]) -> Path:
    labels = _labels(photos)
    rows: list[list[object]] = [["imageFilename", *labels]]
    for photo in photos:
        row: list[object] = [f"C:\\data\\{photo.name}"]
        for label in labels:
            boxes = [one.box for one in photo.objects if one.label == label]
            row.append("[" + ";".join(f"{x + 1:g} {y + 1:g} {w:g} {h:g}" for x, y, w, h in boxes) + "]")
        rows.append(row)
    return _table(folder / "gTruth.csv", rows)


class Form(NamedTuple):
    """A format: its name for people, who writes it, and what it can hold."""

    name: str
    write: Writer
    has_labels: bool = True
    has_flags: bool = True
    is_exact: bool = True


FORMS = [
    Form("OpenCV list", opencv_list, has_labels=False, has_flags=False),
    Form("CSV", csv_boxes),
    Form("CSV", csv_corners),
    Form("COCO JSON", coco),
    Form("YOLO", yolo, has_flags=False, is_exact=False),
    Form("Pascal VOC XML", voc),
    Form("VIA JSON", via_json),
    Form("VIA CSV", via_csv),
    Form("LabelMe JSON", labelme),
    Form("imglab XML", imglab),
    Form("FDDB ellipses", fddb, has_labels=False, has_flags=False, is_exact=False),
    Form("WIDER list", wider, has_labels=False),
    Form("MATLAB table", matlab, has_flags=False),
]


def _labels(photos: Sequence[Photo]) -> list[str]:
    return sorted({one.label for photo in photos for one in photo.objects})


def _rect(one: AnnotatedObject) -> dict[str, object]:
    return {"name": "rect", **dict(zip(("x", "y", "width", "height"), one.box, strict=True))}


def _attributes(one: AnnotatedObject) -> dict[str, object]:
    return {"label": one.label, **({one.flag: {"yes": True}} if one.flag else {})}


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _table(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path
