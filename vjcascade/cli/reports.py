"""What a detector found, as text, JSON lines or CSV."""

from __future__ import annotations

import csv
import io
import json
import sys
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from vjcascade.cli.text import printable
from vjcascade.words import counted

if TYPE_CHECKING:
    from vjcascade.cli.inputs import Shot
    from vjcascade.types import Detections


class Format(StrEnum):
    """How results are written."""

    TEXT = "text"
    JSONL = "jsonl"
    CSV = "csv"


class Report:
    """Results, written to standard output as they come, or to a file when all are there.

    A context manager: the file appears when the block ends without an error.

    Parameters
    ----------
    kind : Format
        How to write them.
    path : Path or None
        The file; None for standard output.
    """

    def __init__(self, kind: Format, path: Path | None) -> None:
        self._path = path
        self._stream = sys.stdout if path is None else io.StringIO(newline="")
        self._render = {Format.TEXT: text_line, Format.JSONL: json_line, Format.CSV: csv_rows}[kind]
        if kind is Format.CSV:
            self._stream.write("file,frame,x,y,w,h,score,neighbors\n")

    def __enter__(self) -> Self:
        return self

    def add(self, shot: Shot, found: Detections) -> None:
        """Write what was found in a picture or frame."""
        self._stream.write(self._render(shot, found))
        self._stream.flush()  # whoever reads a pipe may be waiting for it

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(self._stream, io.StringIO) and self._path is not None and kind is None:
            from vjcascade.files import write_atomic

            write_atomic(self._path, self._stream.getvalue().encode("utf-8", "surrogateescape"))


def text_line(shot: Shot, found: Detections) -> str:
    """Return one line for people."""
    frame = "" if shot.frame is None else f" frame {shot.frame} ({shot.seconds:.2f} s)"
    boxes = [
        f"{x} {y} {w} {h} (score {score:.2f}, {counted(neighbors, 'neighbor')})"
        for (x, y, w, h), score, neighbors in _rows(found)
    ]
    count = counted(len(boxes), "detection")
    return f"{printable(shot.name)}{frame}: {count}{': ' if boxes else ''}{'; '.join(boxes)}\n"


def json_line(shot: Shot, found: Detections) -> str:
    """Return one JSON object."""
    height, width = shot.image.shape[:2]
    time = {} if shot.frame is None else {"frame": shot.frame, "seconds": shot.seconds}
    detections = [
        {"x": x, "y": y, "w": w, "h": h, "score": score, "neighbors": neighbors}
        for (x, y, w, h), score, neighbors in _rows(found)
    ]
    record = {"file": shot.name, "width": width, "height": height, **time, "detections": detections}
    return json.dumps(record) + "\n"


def csv_rows(shot: Shot, found: Detections) -> str:
    """Return one row for each detection; none where nothing was found."""
    rows = io.StringIO(newline="")
    writer = csv.writer(rows, lineterminator="\n")
    for box, score, neighbors in _rows(found):
        writer.writerow([shot.name, shot.frame, *box, score, neighbors])
    return rows.getvalue()


def _rows(found: Detections) -> list[tuple[list[int], float, int]]:
    return list(zip(found.boxes.tolist(), found.scores.tolist(), found.neighbors.tolist(), strict=True))
