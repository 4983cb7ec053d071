"""Boxes in pictures that EXIF turns."""

from __future__ import annotations

from vjcascade.formats.annotations.pictures import Coordinates
from vjcascade.types import Size


def turned_box(box: Coordinates, stored: Size, orientation: int) -> Coordinates:
    """Return where a box of the stored picture is in the upright one.

    Parameters
    ----------
    box : Coordinates
        In the pixels of the file.
    stored : Size
        Of these.
    orientation : int
        Of EXIF, 1 to 8.

    Returns
    -------
    Coordinates
        In the picture that `read_image` gives.

    Examples
    --------
    >>> turned_box((1, 2, 10, 5), Size(40, 30), 6)
    (23, 1, 5, 10)
    """
    x, y, width, height = box
    picture_width, picture_height = stored
    if orientation in (5, 6, 7, 8):
        x, y, width, height = y, x, height, width
        picture_width, picture_height = picture_height, picture_width
    if orientation in (2, 3, 6, 7):
        x = picture_width - x - width
    if orientation in (3, 4, 7, 8):
        y = picture_height - y - height
    return x, y, width, height
