"""Types and dtypes that several rooms share, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import SettingsError


class FeatureType(StrEnum):
    """What the nodes of a cascade look at; spelt as in OpenCV's files."""

    HAAR = "HAAR"
    LBP = "LBP"

    @property
    def label(self) -> str:
        """The name as it is written in sentences."""
        return "Haar" if self is FeatureType.HAAR else str(self)


FEATURE_DTYPE = np.dtype(
    [
        (
            "rects",
            np.int32,
            (3, 4),
        ),  # x, y, w, h in window pixels; a third rectangle of zeros where there are two
        (
            "weights",
            np.float32,
            (3,),
        ),  # float32 because OpenCV multiplies in float32; 0 marks the absent third
        ("tilted", np.bool_),
    ]
)
"""One Haar feature: up to three weighted rectangles, all upright or all turned by 45 degrees."""

LBP_DTYPE = np.dtype([("cell", np.int32, (4,))])  # x, y, w, h of the top left one of 3x3 equal cells
"""One multi-block LBP feature: which of eight cells are at least as bright as the one that they surround."""


class Size(NamedTuple):
    """Width and height in pixels, in this order (arrays are `(height, width)`).

    Examples
    --------
    >>> Size.parse("24x20")
    Size(width=24, height=20)
    >>> str(Size(24, 20))
    '24x20'
    """

    width: int
    height: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `"WIDTHxHEIGHT"`, or one number for a square.

        Raises
        ------
        SettingsError
            If `text` is not one or two positive whole numbers of at most six digits.
        """
        parts = [part.strip() for part in text.lower().replace("×", "x").split("x")]
        numbers = [int(part) for part in parts if part.isdecimal() and len(part) <= 6]
        if len(parts) > 2 or len(numbers) < len(parts) or min(numbers) == 0:
            brief = text if len(text) <= 40 else f"{text[:37]}..."
            raise SettingsError(f"size {brief!r} is not WIDTHxHEIGHT in pixels, for example 24x24")
        return cls(numbers[0], numbers[-1])

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


@dataclass(frozen=True, eq=False)
class Detections:
    """What a detector found in one picture: parallel arrays, one row a detection.

    Attributes
    ----------
    boxes : ndarray of shape (n, 4), dtype int32
        `x, y, w, h` in pixels, origin at the top left corner. Shape (0, 4) when nothing was found.
    scores : ndarray of shape (n,), dtype float64
        Margin of the last stage that was evaluated: its sum of leaf values minus the stage threshold, >= 0
        unless that stage rejected the window. That of the best window of the group where windows were grouped.
    neighbors : ndarray of shape (n,), dtype int32
        Raw windows in the group; 1 for raw windows.
    stages : ndarray of shape (n,), dtype int32
        Stages passed by the best window of the group; zeros if not given.
    angles : ndarray of shape (n,), dtype float64
        By how many degrees the best window of the group is turned counter-clockwise; zeros if not given.
    ranking_scores : ndarray of shape (n,), dtype float64
        What to rank detections by, also across pictures: the square roots of scores, 0 for negative ones, added up over
        the windows of the group. On faces and cars this was better than the number of windows, the best score, or their
        plain sum. If not given, each row counts as a single window.

    Examples
    --------
    >>> len(Detections.empty()), Detections.empty().boxes.shape
    (0, (0, 4))
    """

    boxes: NDArray[np.int32]
    scores: NDArray[np.float64]
    neighbors: NDArray[np.int32]
    stages: NDArray[np.int32] = None  # type: ignore[assignment]  # None does not outlive the constructor
    angles: NDArray[np.float64] = None  # type: ignore[assignment]
    ranking_scores: NDArray[np.float64] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        n = len(self.boxes)
        missing = [name for name in ("stages", "angles", "ranking_scores") if getattr(self, name) is None]
        if missing:
            single_windows = np.sqrt(np.maximum(self.scores, 0.0))
            columns = {
                "stages": np.zeros(n, np.int32),
                "angles": np.zeros(n),
                "ranking_scores": single_windows,
            }
            for name in missing:
                object.__setattr__(self, name, columns[name])
        rows = {field.name: getattr(self, field.name).shape for field in fields(self)}
        if rows.pop("boxes") != (n, 4) or any(shape != (n,) for shape in rows.values()):
            given = ", ".join(f"{name} {shape}" for name, shape in rows.items())
            raise ValueError(
                f"boxes {self.boxes.shape}, {given} must have the shapes (n, 4) and, all others, (n,)"
            )

    @classmethod
    def empty(cls) -> Self:
        """Return no detections, in arrays of the usual shapes."""
        return cls(np.empty((0, 4), np.int32), np.empty(0), np.empty(0, np.int32))

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Return the rows of all parts, one part after the other.

        Examples
        --------
        >>> len(Detections.joined([]))
        0
        """
        parts = [cls.empty(), *parts]
        columns = ([getattr(part, field.name) for part in parts] for field in fields(cls))
        return cls(*(np.concatenate(column) for column in columns))

    def select(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Self:
        """Return some rows: those that a mask of shape (n,) marks, or those with these indices, in this order.

        Examples
        --------
        >>> one = Detections(np.ones((1, 4), np.int32), np.ones(1), np.ones(1, np.int32))
        >>> len(one.select(np.array([False]))), len(one.select(np.array([0, 0])))
        (0, 2)
        """
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))

    def __len__(self) -> int:
        return len(self.boxes)
