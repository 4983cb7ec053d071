"""Turned pictures, and the way back from them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.imaging import opencv
from vjcascade.types import Size


@dataclass(frozen=True)
class Rotation:
    """How to turn a picture so that objects turned by an angle stand upright in it.

    Attributes
    ----------
    size : Size
        Of the picture.
    angle : float
        By how many degrees objects are turned counter-clockwise, as one sees them.

    Examples
    --------
    >>> quarter = Rotation(Size(3, 2), 90)
    >>> quarter.upright(np.array([[1, 2, 3], [4, 5, 6]], np.uint8)).tolist()
    [[4, 1], [5, 2], [6, 3]]
    >>> quarter.to_picture(np.array([[1, 0, 1, 1]], np.int32)).tolist()
    [[0, 0, 1, 1]]
    """

    size: Size
    angle: float

    @property
    def is_none(self) -> bool:
        """Whether pictures stay as they are."""
        return self.angle % 360 == 0

    @property
    def is_sideways(self) -> bool:
        """Whether the picture lies on its side: nearer to a quarter turn than to none or half a turn."""
        (cos, sin), _ = self._matrix()
        return bool(abs(sin) > abs(cos))

    @property
    def canvas(self) -> Size:
        """Size of the turned picture, which holds all of the original."""
        (a, b), (c, d) = np.abs(self._matrix())
        width, height = self.size  # rounded first, so that quarter turns do not grow by what cos(90) is not 0
        return Size(math.ceil(round(a * width + b * height, 6)), math.ceil(round(c * width + d * height, 6)))

    def upright(self, gray: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Turn a picture, bilinearly; its edge pixels are repeated outwards. Quarter turns only move pixels.

        Parameters
        ----------
        gray : ndarray of shape (h, w), dtype uint8
            The picture, of this size.

        Returns
        -------
        ndarray of shape (canvas.height, canvas.width), dtype uint8
            Itself if there is nothing to turn.
        """
        if self.is_none:
            return gray
        cv2 = opencv()
        matrix = self._matrix()
        shift = np.array(self.size) / 2 - 0.5 - matrix @ (np.array(self.canvas) / 2 - 0.5)
        turned: NDArray[np.uint8] = cv2.warpAffine(
            gray,
            np.column_stack([matrix, shift]),
            self.canvas,
            flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
            borderMode=cv2.BORDER_REPLICATE,
        )
        return turned

    def to_picture(self, boxes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Map boxes of the turned picture to upright boxes around the same centres.

        Parameters
        ----------
        boxes : ndarray of shape (n, 4), dtype int32
            In pixels of the turned picture.

        Returns
        -------
        ndarray of shape (n, 4), dtype int32
            In pixels of the picture, to the nearest one; may reach beyond it. Width and height change
            places where the picture lies on its side.
        """
        centres = boxes[:, :2] + boxes[:, 2:] / 2 - np.array(self.canvas) / 2
        sides = boxes[:, :1:-1] if self.is_sideways else boxes[:, 2:]
        corners = np.floor(centres @ self._matrix().T + np.array(self.size) / 2 - sides / 2 + 0.5)
        return np.concatenate([corners.astype(np.int32), sides], axis=1)

    def _matrix(self) -> NDArray[np.float64]:
        """Return what takes a point of the turned picture to the picture, centre to centre."""
        angle = math.radians(self.angle)
        cos, sin = round(math.cos(angle), 15), round(math.sin(angle), 15)  # 0 and 1 at quarter turns
        return np.array([[cos, sin], [-sin, cos]])
