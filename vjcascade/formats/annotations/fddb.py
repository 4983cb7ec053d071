"""FDDB's lists of ellipses: for each face `major_radius minor_radius angle x y 1`.

Boxes are the bounding boxes of the ellipses; see `box_of_ellipse`. Names have no suffix: `2002/08/11/big/img_591` is
`img_591.jpg`. No library reads this format.
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
"""Numbers of a face; the sixth is a confidence, which is always 1."""


def read_fddb(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read a list of ellipses.

    Parameters
    ----------
    path : Path
        The list, as `FDDB-fold-01-ellipseList.txt`.
    first : iterable of Path
        Folders to search for its pictures before that of the list.

    Returns
    -------
    Annotations
        Without labels, as the format has none.

    Raises
    ------
    SourceError
        If the file cannot be read, or its counts do not fit its lines.
    """
    finder = PictureFinder(path, first, suffixes=(".jpg", ".jpeg", ".png"))
    pictures, faults = [], []
    for block in blocks_of(decoded(read_bytes(path)), str(path)):
        objects = []
        for line, numbers in block.objects:
            try:
                if len(numbers) not in N_NUMBERS:
                    raise ValueError(f"an ellipse has 5 or 6 numbers, not {len(numbers)}")  # noqa: TRY301
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
