"""Boxes in pictures with an EXIF orientation."""

from __future__ import annotations

from vjcascade.formats.annotations.pictures import Coordinates
from vjcascade.types import Size


def upright_box(box: Coordinates, stored: Size, orientation: int) -> Coordinates:
    """Convert a box from the stored picture to the upright one.

    Parameters
    ----------
    box : Coordinates
        In pixels of the stored picture.
    stored : Size
        Its size.
    orientation : int
        The EXIF orientation, 1 to 8.

    Returns
    -------
    Coordinates
        In pixels of the picture that `read_image` returns.

    Examples
    --------
    >>> upright_box((1, 2, 10, 5), Size(40, 30), 6)
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
