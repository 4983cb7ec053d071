"""Types and dtypes that several rooms share, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import NDArray

from vjcascade.checks import checked_number
from vjcascade.errors import MissingLibraryError, SettingsError
from vjcascade.messages import pluralize, suggest

if TYPE_CHECKING:
    import pandas as pd
    import supervision as sv


class FeatureType(StrEnum):
    """The kind of features of a cascade; spelt as in OpenCV's files."""

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


class Box(NamedTuple):
    """A box in a picture, in pixels.

    Attributes
    ----------
    x, y : int
        The top left corner; the origin is that of the picture.
    w, h : int
        Width and height.

    Examples
    --------
    >>> x, y, w, h = Box(10, 20, 30, 40)
    >>> Box(10, 20, 30, 40).area
    1200
    """

    x: int
    y: int
    w: int
    h: int

    @property
    def area(self) -> int:
        """Width times height."""
        return self.w * self.h


class Detection(NamedTuple):
    """One detection: a row of `Detections`, in plain numbers.

    Attributes
    ----------
    box : Box
        Where it is.
    score : float
        As in `Detections.scores`.
    neighbors, stages : int
        As in `Detections`.
    angle : float
        As in `Detections.angles`.
    ranking_score : float
        As in `Detections.ranking_scores`.

    Examples
    --------
    >>> found = Detections(np.array([[5, 5, 24, 24]], np.int32), np.array([2.0]), np.array([3], np.int32))
    >>> found[0].box.area, found[0].score
    (576, 2.0)
    """

    box: Box
    score: float
    neighbors: int
    stages: int
    angle: float
    ranking_score: float


SortKey: TypeAlias = Literal[
    "ranking_score", "score", "neighbors", "stages", "angle", "area", "x", "y", "w", "h"
]
"""What detections can be sorted by."""

ROWS_SHOWN = 20
"""Detections that a notebook shows; the number of all stands above them."""


@dataclass(frozen=True, eq=False, repr=False)
class Detections:
    """What a detector found in one picture: parallel arrays, one row per detection.

    Iterating gives a `Detection` for each row, an index one of them, and a slice, a mask or an array of indices some
    rows as `Detections`. In a notebook, it shows itself as a table.

    Attributes
    ----------
    boxes : ndarray of shape (n, 4), dtype int32
        `x, y, w, h` in pixels, origin at the top left corner. Shape (0, 4) when nothing was found.
    scores : ndarray of shape (n,), dtype float64
        Margin of the last stage that was evaluated: its sum of leaf values minus the stage threshold, >= 0
        unless that stage rejected the window. Of a group, the margin of its best window.
    neighbors : ndarray of shape (n,), dtype int32
        Raw windows in the group; 1 for raw windows.
    stages : ndarray of shape (n,), dtype int32
        Stages passed by the best window of the group; zeros if not given.
    angles : ndarray of shape (n,), dtype float64
        Rotation of the best window of the group in degrees counter-clockwise; zeros if not given.
    ranking_scores : ndarray of shape (n,), dtype float64
        What to rank detections by, also across pictures: the sum of the square roots of scores, 0 for negative ones,
        over the windows of the group. On faces and cars this worked better than the number of windows, the best
        score, or the plain sum of scores. If not given, each row counts as a single window.

    Examples
    --------
    >>> len(Detections.empty()), Detections.empty().boxes.shape
    (0, (0, 4))
    >>> boxes = np.array([[5, 5, 24, 24], [9, 0, 40, 40]], np.int32)
    >>> found = Detections(boxes, np.array([0.5, 4.0]), np.array([4, 9], np.int32))
    >>> for detection in found.sorted():
    ...     x, y, w, h = detection.box
    ...     print(x, y, w, h, detection.score)
    9 0 40 40 4.0
    5 5 24 24 0.5
    >>> found[found.scores > 1].boxes.tolist()
    [[9, 0, 40, 40]]
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

    def select(self, rows: NDArray[np.bool_] | NDArray[np.integer[Any]] | slice) -> Self:
        """Return some rows: those selected by a mask of shape (n,), or those with these indices, in this order.

        Examples
        --------
        >>> one = Detections(np.ones((1, 4), np.int32), np.ones(1), np.ones(1, np.int32))
        >>> len(one.select(np.array([False]))), len(one.select(np.array([0, 0])))
        (0, 2)
        """
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))

    def filter(
        self,
        *,
        min_score: float | None = None,
        min_ranking_score: float | None = None,
        min_neighbors: int | None = None,
        min_size: tuple[int, int] | None = None,
        max_size: tuple[int, int] | None = None,
        region: tuple[int, int, int, int] | None = None,
    ) -> Self:
        """Return the detections within all given bounds, in the same order.

        Any other condition is a mask: `found[found.boxes[:, 1] > 100]`.

        Parameters
        ----------
        min_score, min_ranking_score : float, optional
            Lowest score to keep.
        min_neighbors : int, optional
            More raw windows than this, as in detectors: 3 asks for four.
        min_size, max_size : Size or tuple of int, optional
            Bounds on width and height, in pixels.
        region : tuple of int, optional
            `x, y, w, h` in pixels, in which the whole box lies.

        Returns
        -------
        Detections
            Some of these.

        Examples
        --------
        >>> boxes = np.array([[5, 5, 24, 24], [9, 0, 40, 40]], np.int32)
        >>> found = Detections(boxes, np.array([0.5, 4.0]), np.array([4, 9], np.int32))
        >>> len(found.filter(min_neighbors=4)), len(found.filter(max_size=(30, 30), min_score=1))
        (1, 0)
        """
        kept = np.ones(len(self), np.bool_)
        for values, least in ((self.scores, min_score), (self.ranking_scores, min_ranking_score)):
            if least is not None:
                kept &= values >= least
        if min_neighbors is not None:
            kept &= self.neighbors > min_neighbors
        if min_size is not None:
            kept &= (self.boxes[:, 2:] >= np.asarray(min_size)).all(axis=1)
        if max_size is not None:
            kept &= (self.boxes[:, 2:] <= np.asarray(max_size)).all(axis=1)
        if region is not None:
            x, y, w, h = region
            corners = self.boxes[:, :2].astype(np.int64)
            kept &= (corners >= (x, y)).all(axis=1)
            kept &= (corners + self.boxes[:, 2:] <= (x + w, y + h)).all(axis=1)
        return self.select(kept)

    def sorted(self, by: SortKey = "ranking_score", *, ascending: bool = False) -> Self:
        """Return the same detections in another order; equal ones keep theirs.

        Parameters
        ----------
        by : str, optional
            "ranking_score", the best order for detections of one model; or "score", "neighbors", "stages",
            "angle", "area", "x", "y", "w" or "h".
        ascending : bool, optional
            Whether the smallest comes first.

        Returns
        -------
        Detections
            All of these.

        Raises
        ------
        SettingsError
            If `by` is not one of these names.

        Examples
        --------
        >>> boxes = np.array([[5, 5, 24, 24], [9, 0, 40, 40]], np.int32)
        >>> found = Detections(boxes, np.array([0.5, 4.0]), np.array([4, 9], np.int32))
        >>> found.sorted("x", ascending=True).boxes[:, 0].tolist()
        [5, 9]
        """
        if by not in get_args(SortKey):
            raise SettingsError(
                f"detections cannot be sorted by {by!r}; {suggest(str(by), get_args(SortKey))}"
            )
        area = self.boxes[:, 2].astype(np.int64) * self.boxes[:, 3]
        values = (self._columns() | {"area": area})[by]
        return self.select(np.argsort(values if ascending else -values, kind="stable"))

    def to_dicts(self) -> list[dict[str, float]]:
        """Return a dict for each detection, in plain numbers, as `vjcascade detect --format jsonl` writes them.

        Examples
        --------
        >>> Detections(np.array([[5, 5, 24, 24]], np.int32), np.array([4.0]), np.array([9], np.int32)).to_dicts()
        [{'x': 5, 'y': 5, 'w': 24, 'h': 24, 'score': 4.0, 'neighbors': 9, 'stages': 0, 'angle': 0.0,
        'ranking_score': 2.0}]
        """
        columns = self._columns()
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each detection and columns named like the keys of `to_dicts`.

        Raises
        ------
        MissingLibraryError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingLibraryError("`to_pandas` needs pandas: `pip install pandas`") from None
        return pd.DataFrame(self._columns())

    def to_supervision(self) -> sv.Detections:
        """Return `supervision.Detections`, for the annotators, trackers and zones of that library.

        Ranking scores are its `confidence` (0 and more; not only up to 1), `class_id` is 0, and `data` has the other
        columns.

        Raises
        ------
        MissingLibraryError
            If supervision is not installed.
        """
        try:
            import supervision as sv
        except ImportError:
            raise MissingLibraryError(
                "`to_supervision` needs supervision: `pip install supervision`"
            ) from None
        corners = self.boxes.astype(np.float32)
        corners[:, 2:] += corners[:, :2]
        return sv.Detections(
            xyxy=corners,
            confidence=self.ranking_scores.astype(np.float32),
            class_id=np.zeros(len(self), np.int64),
            data={
                name: column
                for name, column in self._columns().items()
                if name not in {*Box._fields, "ranking_score"}
            },
        )

    def draw(self, image: NDArray[Any], *, scores: bool = True) -> NDArray[np.uint8]:
        """Draw the boxes on a copy of a picture, with their ranking scores.

        Parameters
        ----------
        image : ndarray
            The picture that was searched; whatever `vjcascade.imaging.to_gray` takes.
        scores : bool, optional
            Whether ranking scores are written beside the boxes.

        Returns
        -------
        ndarray of shape (h, w, 3), dtype uint8
            RGB.

        Raises
        ------
        ValueError or TypeError
            If `image` is not a picture.

        Examples
        --------
        >>> found = Detections(np.array([[5, 5, 24, 24]], np.int32), np.array([4.0]), np.array([9], np.int32))
        >>> found.draw(np.zeros((40, 60), np.uint8)).shape
        (40, 60, 3)
        """
        from vjcascade.imaging import draw_boxes

        return draw_boxes(
            image, self.boxes, [f"{score:.1f}" for score in self.ranking_scores] if scores else None
        )

    def crops(self, image: NDArray[Any], *, margin: float = 0.0) -> list[NDArray[Any]]:
        """Cut the detections out of the picture that was searched.

        Parameters
        ----------
        image : ndarray of shape (h, w) or (h, w, channels)
            The picture.
        margin : float, optional
            Extra border on each side, as a share of the box's width and height; not beyond the picture.

        Returns
        -------
        list of ndarray
            A copy of the pixels of each box, in the same order and of the picture's dtype.

        Raises
        ------
        SettingsError
            If the margin is negative.

        Examples
        --------
        >>> found = Detections(np.array([[5, 5, 24, 24]], np.int32), np.array([4.0]), np.array([9], np.int32))
        >>> found.crops(np.zeros((40, 60), np.uint8), margin=0.25)[0].shape
        (35, 35)
        """
        margin = checked_number("margin", margin, ge=0, lt=np.inf)
        height, width = image.shape[:2]
        sides = np.rint(self.boxes[:, 2:] * margin).astype(np.int64)
        first = np.maximum(self.boxes[:, :2] - sides, 0)
        end = np.minimum(self.boxes[:, :2] + self.boxes[:, 2:] + sides, (width, height))
        return [
            image[top:bottom, left:right].copy()
            for (left, top), (right, bottom) in zip(first.tolist(), end.tolist(), strict=True)
        ]

    def _columns(self) -> dict[str, NDArray[Any]]:
        """Return each number of a detection by its name, shape (n,)."""
        return {
            **dict(zip(Box._fields, self.boxes.T, strict=True)),
            "score": self.scores,
            "neighbors": self.neighbors,
            "stages": self.stages,
            "angle": self.angles,
            "ranking_score": self.ranking_scores,
        }

    def __len__(self) -> int:
        return len(self.boxes)

    def __iter__(self) -> Iterator[Detection]:
        """Yield a `Detection` for each row."""
        columns = [column.tolist() for column in self._columns().values()]
        for x, y, w, h, *others in zip(*columns, strict=True):
            yield Detection(Box(x, y, w, h), *others)

    @overload
    def __getitem__(self, rows: int | np.integer[Any]) -> Detection: ...

    @overload
    def __getitem__(self, rows: slice | NDArray[np.bool_] | NDArray[np.integer[Any]] | list[int]) -> Self: ...

    def __getitem__(self, rows: Any) -> Detection | Self:
        """Return one `Detection`, or some rows as `Detections`."""
        if isinstance(rows, int | np.integer):
            return next(iter(self.select(np.array([rows], np.intp))))
        return self.select(
            rows if isinstance(rows, slice) else np.asarray(rows, None if len(rows) else np.intp)
        )

    def __repr__(self) -> str:
        """Return one line: the arrays of a scan fill pages."""
        if not len(self):
            return "<Detections: none>"
        best = self[int(self.ranking_scores.argmax())]
        shown = (
            f"best at {', '.join(map(str, best.box))} (x, y, w, h), ranking score {best.ranking_score:.1f}"
        )
        return f"<Detections: {len(self)}, {shown}>"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = self[:ROWS_SHOWN].to_dicts()
        caption = pluralize(len(self), "detection") + (
            f", the first {ROWS_SHOWN} of them" if len(self) > ROWS_SHOWN else ""
        )
        if not rows:
            return f"<p>{caption}</p>"
        heading = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in rows[0])
        lines = ("".join(f"<td>{value:.4g}</td>" for value in row.values()) for row in rows)
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table><caption>{caption}</caption><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>"
