"""What a detector found, as text, JSON lines or CSV."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from vjcascade.errors import SettingsError
from vjcascade.files import write_atomic
from vjcascade.messages import one_line, pluralize

if TYPE_CHECKING:
    from vjcascade.cli.inputs import Shot
    from vjcascade.types import Detections


COLUMNS = ("x", "y", "w", "h", "score", "neighbors", "ranking_score")
"""What is written of a detection."""

DENSE_COLUMNS = (*COLUMNS[:-1], "stages", "angle", COLUMNS[-1])
"""The same for dense detection."""

Row = dict[str, float]
"""A detection by column."""


class Format(StrEnum):
    """How results are written."""

    TEXT = "text"
    JSONL = "jsonl"
    CSV = "csv"
    COCO = "coco"
    YOLO = "yolo"
    VOC = "voc"


ANNOTATIONS = frozenset({Format.COCO, Format.YOLO, Format.VOC})
"""Formats that name pictures with the objects in them, so that people can correct what was found."""


class Report:
    """Results, written to standard output as they come, or to a file when all are there.

    A context manager: the file appears when the block ends without an error.

    Parameters
    ----------
    kind : Format
        How to write them.
    path : Path or None
        The file; None for standard output.
    is_dense : bool
        Whether the stages passed and the angles belong to the results.
    skips_empty : bool
        Whether text has no line for a picture or frame in which nothing was found.
    """

    def __init__(
        self, kind: Format, path: Path | None, *, is_dense: bool = False, skips_empty: bool = False
    ) -> None:
        self._path = path
        self._skips_empty = skips_empty and kind is Format.TEXT
        self._render = {Format.TEXT: text_line, Format.JSONL: json_line, Format.CSV: csv_rows}[kind]
        self._columns = DENSE_COLUMNS if is_dense else COLUMNS
        self._heading = ",".join(("file", "frame", *self._columns)) + "\n" if kind is Format.CSV else ""

    def __enter__(self) -> Self:
        # Not in memory: a camera may run for days.
        self._stream = sys.stdout if self._path is None else _spool()
        self._stream.write(self._heading)
        return self

    def add(self, shot: Shot, found: Detections) -> None:
        """Write what was found in a picture or frame."""
        if self._skips_empty and not len(found):
            return
        self._stream.write(self._render(shot, rows_of(found, self._columns)))
        if self._path is None:
            self._stream.flush()  # whoever reads a pipe may be waiting for it

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path is None:
            return
        with self._stream as written:
            if kind is None:
                written.seek(0)
                write_atomic(self._path, written.read().encode("utf-8", "surrogateescape"))


class ResumableReport:
    """JSON lines that are kept beside the output while pictures are searched, so that a run can go on where it ended.

    A context manager: the output appears when the block ends without an error and `is_complete` was set.

    Parameters
    ----------
    path : Path
        The output.
    key : str
        Tells runs apart: only what a run with the same one has left is gone on with.
    is_dense : bool
        As for `Report`.

    Attributes
    ----------
    is_complete : bool
        Whether all pictures were searched.
    """

    def __init__(self, path: Path, key: str, *, is_dense: bool = False) -> None:
        self._path = path
        self._kept = path.with_name(f"{path.name}.{key[:12]}.partial")
        self._columns = DENSE_COLUMNS if is_dense else COLUMNS
        self.is_complete = False

    def n_done(self, names: Sequence[str]) -> int:
        """Return how many pictures, by their names in order, need not be searched again; what is not whole is cut off.

        Raises
        ------
        SettingsError
            If what was kept is not of these pictures.
        """
        if not self._kept.exists():
            return 0
        place = n_bytes = 0
        with self._kept.open("r+b") as kept:
            for line in kept:
                if not line.endswith(b"\n"):
                    break
                try:
                    name = json.loads(line)["file"]
                    place = names.index(name, place) + 1
                except (ValueError, KeyError, TypeError):
                    raise SettingsError(
                        f"{self._kept} is damaged, or belongs to other pictures: delete it to start again"
                    ) from None
                n_bytes += len(line)
            kept.truncate(n_bytes)
        return place

    def __enter__(self) -> Self:
        self._stream = self._kept.open("a", encoding="utf-8", errors="surrogateescape", newline="")
        return self

    def add(self, shot: Shot, found: Detections) -> None:
        """Write what was found in a picture; it is safe from here on, whatever becomes of the process."""
        self._stream.write(json_line(shot, rows_of(found, self._columns)))
        self._stream.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stream as stream:
            os.fsync(stream.fileno())
        if kind is None and self.is_complete:
            self._kept.replace(self._path)
        else:
            sys.stderr.write(
                f"results so far are in {one_line(str(self._kept))}; run the same command to continue\n"
            )


def run_key(*parts: str) -> str:
    """Return what tells a run from others, in hexadecimal digits.

    Examples
    --------
    >>> run_key("model", "a.png")[:8]
    '3a3ee541'
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part.encode("utf-8", "surrogateescape")).digest())
    return digest.hexdigest()


def _spool() -> TextIO:
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogateescape", newline="")


def rows_of(found: Detections, columns: Sequence[str]) -> list[Row]:
    """Return a row for each detection: its values in plain numbers, by column."""
    return [{column: row[column] for column in columns} for row in found.to_dicts()]


def text_line(shot: Shot, rows: Sequence[Row]) -> str:
    """Return what people read: a line, and where there are several detections, one more for each, the best first."""
    frame = "" if shot.frame is None else f" frame {shot.frame} ({shot.seconds:.2f} s)"
    boxes = [
        f"{row['x']} {row['y']} {row['w']} {row['h']} (score {row['score']:.2f}, "
        f"{pluralize(int(row['neighbors']), 'neighbor')}, ranking score {row['ranking_score']:.1f}{_turned(row)})"
        for row in sorted(rows, key=lambda row: -row["ranking_score"])
    ]
    head = f"{one_line(shot.name)}{frame}: {pluralize(len(boxes), 'detection')}"
    return f"{head}: {boxes[0]}\n" if len(boxes) == 1 else "\n  ".join([head, *boxes]) + "\n"


def json_line(shot: Shot, rows: Sequence[Row]) -> str:
    """Return one JSON object."""
    height, width = shot.image.shape[:2]
    time = {} if shot.frame is None else {"frame": shot.frame, "seconds": round(shot.seconds, 6)}
    record = {"file": shot.name, "width": width, "height": height, **time, "detections": rows}
    return json.dumps(record) + "\n"


def csv_rows(shot: Shot, rows: Sequence[Row]) -> str:
    """Return one row for each detection; none where nothing was found."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([shot.name, shot.frame, *row.values()])
    return text.getvalue()


def _turned(row: Row) -> str:
    return f", turned {row['angle']:g} degrees" if row.get("angle") else ""
