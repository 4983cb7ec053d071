"""WIDER FACE's lists: for each face `x y w h blur expression illumination invalid occlusion pose`.

Faces with `invalid` 1 are regions to ignore, and so are heavily blurred ones (`blur` 2, "difficult"): they are no good
for training or testing a cascade. No library reads this format.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from vjcascade.formats.annotations.counted_blocks import blocks_of
from vjcascade.formats.annotations.pictures import (
    AnnotatedObject,
    AnnotatedPicture,
    Annotations,
    Fault,
    Flag,
    PictureFinder,
    checked_box,
    decoded,
    read_bytes,
)
from vjcascade.messages import pluralize

N_NUMBERS = (4, 10)
"""Numbers of a face, without and with attributes."""

BLUR, HEAVY, INVALID = 4, 2.0, 7
"""Index of blur, its value for heavy blur, and index of invalid."""

PICTURE_FOLDERS = ("WIDER_train/images", "WIDER_val/images", "images")
"""Folders of pictures, relative to the folder of the list or its parent."""


def read_wider(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read a list of faces.

    Parameters
    ----------
    path : Path
        The list, as `wider_face_train_bbx_gt.txt`.
    first : iterable of Path
        Folders to search for its pictures before the usual ones.

    Returns
    -------
    Annotations
        Without labels, as the format has none.

    Raises
    ------
    SourceError
        If the file cannot be read, or its counts do not fit its lines.
    """
    usual = [base / name for base in (path.parent, path.parent.parent) for name in PICTURE_FOLDERS]
    finder = PictureFinder(path, (*first, *filter(Path.is_dir, usual)))
    pictures, faults = [], []
    n_blurred = 0
    for block in blocks_of(decoded(read_bytes(path)), str(path)):
        objects = []
        for line, numbers in block.objects:
            try:
                objects.append(_face(numbers))
            except ValueError as error:
                faults.append(Fault(line, str(error), name=block.name))
        n_blurred += sum(one.flag == "difficult" for one in objects)
        try:
            found = finder.locate(block.name)
            pictures.append(AnnotatedPicture(block.line, block.name, found, tuple(objects)))
        except ValueError as error:
            faults.append(Fault(block.line, str(error)))
    notes = finder.notes()
    if n_blurred:
        notes.append(f"{path.name}: {pluralize(n_blurred, 'heavily blurred face')} will be ignored")
    return Annotations(path, "WIDER list", "line", tuple(pictures), tuple(faults), tuple(notes))


def _face(numbers: list[float]) -> AnnotatedObject:
    if len(numbers) not in N_NUMBERS:
        raise ValueError(f"a face has 4 or 10 numbers, not {len(numbers)}")
    flag: Flag = ""
    if len(numbers) > INVALID:
        flag = "ignore" if numbers[INVALID] else "difficult" if numbers[BLUR] == HEAVY else ""
    return AnnotatedObject(checked_box(numbers[:4]), flag=flag)
