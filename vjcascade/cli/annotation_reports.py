"""What a detector found, as annotations: to be corrected elsewhere, and trained from."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from vjcascade.cli.inputs import Input
from vjcascade.cli.outputs import check_output_file
from vjcascade.cli.reports import Format
from vjcascade.errors import SettingsError, SourceError
from vjcascade.formats.annotations.pictures import AnnotatedObject, AnnotatedPicture
from vjcascade.formats.annotations.writing import (
    FOLDER_FORMATS,
    annotation_files_of,
    names_of_files,
    write_annotations,
)
from vjcascade.types import Size

if TYPE_CHECKING:
    from vjcascade.cli.inputs import Shot
    from vjcascade.types import Detections


class AnnotationReport:
    """Results, written when all are there: to a file or folder, or as COCO's JSON to standard output.

    A context manager: the files appear when the block ends without an error.

    Parameters
    ----------
    kind : Format
        One of `ANNOTATIONS`.
    path : Path or None
        The file or folder; None for standard output.
    label : str
        The kind of object that the model finds.
    """

    def __init__(self, kind: Format, path: Path | None, label: str) -> None:
        self._kind = kind
        self._path = path
        self._label = label
        self._pictures: dict[Path, AnnotatedPicture] = {}

    def __enter__(self) -> Self:
        return self

    def add(self, shot: Shot, found: Detections) -> None:
        """Take what was found in a picture."""
        path = Path(shot.name)
        objects = tuple(
            AnnotatedObject((x, y, w, h), self._label, score=round(score, 6))
            for (x, y, w, h), score in zip(found.boxes.tolist(), found.scores.tolist(), strict=True)
        )
        height, width = shot.image.shape[:2]
        self._pictures[path] = AnnotatedPicture(
            len(self._pictures) + 1, shot.name, path, objects, Size(width, height)
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        pictures = list(self._pictures.values())
        if self._path is not None:
            write_annotations(self._path, pictures, self._kind.value)
            return
        for data in annotation_files_of(Path("found.json"), pictures, self._kind.value).values():
            sys.stdout.write(data.decode())


def check_annotations(kind: Format, path: Path | None, inputs: Sequence[Input]) -> list[Path]:
    """Refuse before the work what has no place in annotations.

    Parameters
    ----------
    kind : Format
        One of `ANNOTATIONS`.
    path : Path or None
        The file or folder; None for standard output.
    inputs : sequence of Input
        What will be searched.

    Returns
    -------
    list of Path
        The files that will be written, one for each picture where the format is a folder.

    Raises
    ------
    SettingsError
        If there are inputs that are no picture files, two whose files would have the same name, or the format needs
        a folder.
    """
    moving = next((source for source in inputs if source.path is None or source.is_moving), None)
    if moving is not None:
        raise SettingsError(
            f"--format {kind.value} names picture files and {moving.name} is none: give pictures, or another format"
        )
    stored = next((source for source in inputs if source.local_path is None), None)
    if stored is not None:
        raise SettingsError(
            f"--format {kind.value} names picture files for other programs, and {stored.name} is in an archive or at "
            "an address: unpack or download it, or take --format jsonl or csv"
        )
    if kind.value not in FOLDER_FORMATS:
        if path is not None:
            check_output_file(path)
        return [] if path is None else [path]
    if path is None:
        raise SettingsError(
            f"--format {kind.value} makes a file for each picture: give a folder for them to --output"
        )
    pictures = list(dict.fromkeys(source.local_path for source in inputs if source.local_path is not None))
    try:
        return list(names_of_files(path, pictures, kind.value).values())
    except SourceError as error:
        raise SettingsError(str(error)) from None
