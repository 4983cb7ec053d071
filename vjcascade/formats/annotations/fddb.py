"""FDDB's lists of ellipses: for each face `major_radius minor_radius angle x y 1`.

The box of an ellipse is the smallest upright one that it fits into; see `box_of_ellipse`. Names have no suffix there:
`2002/08/11/big/img_591` is `img_591.jpg`. No library reads it.
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
    PictureFinder,
    decoded,
    read_bytes,
)
from vjcascade.formats.annotations.shapes import box_of_ellipse

N_NUMBERS = (5, 6)
"""Of a face; the last of six says how sure it is, and is always 1."""


def read_fddb(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read a list of ellipses.

    Parameters
    ----------
    path : Path
        The list, as `FDDB-fold-01-ellipseList.txt`.
    first : iterable of Path
        Folders where its pictures are looked for before that of the list.

    Returns
    -------
    Annotations
        Without labels, for the format has none.

    Raises
    ------
    SourceError
        If the file cannot be read, or its counts and lines do not agree.
    """
    finder = PictureFinder(path, first, suffixes=(".jpg", ".jpeg", ".png"))
    pictures, faults = [], []
    for block in blocks_of(decoded(read_bytes(path)), str(path)):
        objects = []
        for line, numbers in block.objects:
            try:
                if len(numbers) not in N_NUMBERS:
                    raise ValueError(f"an ellipse has 6 numbers, found {len(numbers)}")  # noqa: TRY301
                along, across, angle, *center = numbers[:5]
                objects.append(AnnotatedObject(box_of_ellipse(center, (along, across), angle)))
            except ValueError as error:
                faults.append(Fault(line, str(error), name=block.name))
        try:
            found = finder.locate(block.name)
            pictures.append(AnnotatedPicture(block.line, block.name, found, tuple(objects)))
        except ValueError as error:
            faults.append(Fault(block.line, str(error)))
    notes = tuple(finder.notes())
    return Annotations(path, "FDDB ellipses", "line", tuple(pictures), tuple(faults), notes)
