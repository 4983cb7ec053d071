"""Integral images of many windows, laid out for feature values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.features.haar import corner_offsets, norm_rect_offsets
from vjcascade.kernels.haar import feature_values, window_tables
from vjcascade.types import Size

SAMPLES_PER_BLOCK = 256
"""Windows that are worked on together; the 625 corners of so many of 24x24 pixels stay in a second-level cache."""


@dataclass(frozen=True, eq=False)
class WindowIntegrals:
    """Integral images and contrasts of equally sized windows; what every feature value is computed from.

    Attributes
    ----------
    window : Size
        Size of the windows, in pixels.
    corners : ndarray of shape (n_corners, n_windows), dtype int32
        Row ``y * (width + 1) + x`` is the upright integral at (x, y) of every window; the tilted integrals
        follow in as many rows more, where they were asked for.
    inverse_norms : ndarray of shape (n_windows,), dtype float32
        ``1 / (area * sigma)`` over the rectangle (1, 1, w - 2, h - 2); 0 for a window below the contrast
        floor, which no cascade accepts and whose feature values are all 0.
    """

    window: Size
    corners: NDArray[np.int32]
    inverse_norms: NDArray[np.float32]

    @classmethod
    def of(cls, windows: NDArray[np.uint8], *, tilted: bool = False) -> Self:
        """Compute them for windows.

        Parameters
        ----------
        windows : ndarray of shape (n, h, w), dtype uint8
            Grey levels.
        tilted : bool
            Whether tilted features will be asked for.

        Returns
        -------
        WindowIntegrals
            Of all windows.

        Raises
        ------
        ValueError
            If the windows have another dtype.

        Examples
        --------
        >>> import numpy as np
        >>> WindowIntegrals.of(np.zeros((5, 20, 24), np.uint8)).corners.shape
        (525, 5)
        """
        if windows.dtype != np.uint8:
            raise ValueError(f"windows of dtype {windows.dtype} have no fixed white; make them uint8")
        n_windows, height, width = windows.shape
        n_corners = (height + 1) * (width + 1)
        corners = np.empty((n_corners * (2 if tilted else 1), n_windows), np.int32)
        inverse_norms = np.empty(n_windows, np.float32)
        norm_rect = norm_rect_offsets(Size(width, height), width + 1)
        window_tables(np.ascontiguousarray(windows), norm_rect, corners, inverse_norms)
        return cls(Size(width, height), corners, inverse_norms)

    def __len__(self) -> int:
        return len(self.inverse_norms)

    def take(self, indices: NDArray[np.intp]) -> Self:
        """Return the integrals of some of the windows."""
        return type(self)(
            self.window, np.ascontiguousarray(self.corners[:, indices]), self.inverse_norms[indices]
        )

    def values(self, features: NDArray[np.void]) -> NDArray[np.float32]:
        """Compute feature values exactly as the detector does.

        Parameters
        ----------
        features : ndarray of shape (n_features,), dtype `FEATURE_DTYPE`
            Tilted ones need integrals made with ``tilted=True``.

        Returns
        -------
        values : ndarray of shape (n_features, n_windows), dtype float32
            Weighted pixel sums, divided by area and contrast.

        Raises
        ------
        ValueError
            If a feature is tilted and these integrals are not, or if it reaches out of the window.
        """
        values = np.empty((len(features), len(self)), np.float32)
        rows, weights = self.corner_rows(features), np.ascontiguousarray(features["weights"])
        feature_values(self.corners, rows, weights, self.inverse_norms, values)
        return values

    def corner_rows(self, features: NDArray[np.void]) -> NDArray[np.uint32]:
        """Return the rows of `corners` that features read, shape (n_features, 3, 4).

        Raises
        ------
        ValueError
            As `values`: kernels would read whatever lies in memory behind the last row.
        """
        stride = self.window.width + 1
        rows = corner_offsets(features, stride, stride * (self.window.height + 1))
        if rows.max(initial=0) >= len(self.corners):
            raise ValueError(
                f"the integral images of these {self.window} windows have {len(self.corners)} corners, and a "
                f"feature needs corner {rows.max()}; for tilted features make them with tilted=True"
            )
        return rows
