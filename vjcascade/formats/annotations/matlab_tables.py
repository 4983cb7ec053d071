"""MATLAB's ground truth as CSV: `imageFilename`, then for each label a column of boxes `[x y w h; x y w h]`.

`writetable` writes this from the table of an `imageLabeler` whose matrices were converted to text (`cellfun(@mat2str,
...)`); if each picture has one box, there are four columns, `car_1` to `car_4`. Pixels are counted from 1: `x` 1 is the
first column. No Python library reads this format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PureWindowsPath

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.csv_tables import delimiter_of, table_rows
from vjcascade.formats.annotations.pictures import (
    AnnotatedObject,
    AnnotatedPicture,
    Annotations,
    Coordinates,
    Fault,
    PictureFinder,
    brief,
    checked_box,
    decoded,
    parsed_number,
    read_bytes,
)

FILE_COLUMN = "imagefilename"
"""The first column, in lower case."""

_NUMBERED = re.compile(r"(.+)_([1-4])")
_BRACKETS = str.maketrans("[](){}", " " * 6)


def is_matlab_table(text: str) -> bool:
    r"""Return whether a text is such a table, by its first line.

    Examples
    --------
    >>> is_matlab_table("imageFilename,car\na.png,[1 1 9 9]"), is_matlab_table("file,x,y,w,h")
    (True, False)
    """
    line = text.lstrip().partition("\n")[0]
    names = [name.strip(' \r"').lower() for name in line.split(delimiter_of(line))]
    return names[0] == FILE_COLUMN and len(names) > 1


def read_matlab_table(path: Path, first: Iterable[Path] = ()) -> Annotations:
    """Read a ground truth table.

    Parameters
    ----------
    path : Path
        The CSV.
    first : iterable of Path
        Folders to search for its pictures before that of the table.

    Returns
    -------
    Annotations
        A picture for each file name, with the boxes of all its lines; columns are labels.

    Raises
    ------
    SourceError
        If the file cannot be read or has no valid header.
    """
    rows = table_rows(decoded(read_bytes(path)).lstrip(), path)
    names = [name.strip() for name in next(rows, (0, []))[1]]
    if len(names) < 2 or names[0].lower() != FILE_COLUMN:
        raise SourceError(f"{path}: the first line must have the columns imageFilename and the labels")
    columns = _columns(names)
    finder = PictureFinder(path, first)
    found: dict[str, tuple[int, Path]] = {}
    objects: dict[str, list[AnnotatedObject]] = {}
    faults: list[Fault] = []
    for line, row in rows:
        name = row[0].strip()
        # The path may be that of another machine: fall back to its last part.
        name = PureWindowsPath(name).name if name and finder.find(name) is None else name
        try:
            if name not in found:
                found[name], objects[name] = (line, finder.locate(name)), []
        except ValueError as error:
            faults.append(Fault(line, str(error)))
            continue
        for label, places in columns.items():
            text = " ".join(row[place] for place in places if place < len(row))
            try:
                objects[name] += [AnnotatedObject(box, label) for box in _boxes(text)]
            except ValueError as error:
                faults.append(Fault(line, f"{brief(label)}: {error}", label, name))
    pictures = tuple(
        AnnotatedPicture(line, name, place, tuple(objects[name])) for name, (line, place) in found.items()
    )
    notes, labels = tuple(finder.notes()), tuple(columns)
    return Annotations(path, "MATLAB table", "line", pictures, tuple(faults), notes, labels)


def _columns(names: list[str]) -> dict[str, list[int]]:
    """Return the indices of the columns of each label; four if the name is numbered."""
    parted = [_NUMBERED.fullmatch(name) for name in names]
    stems = [match[1] if match else "" for match in parted]
    columns: dict[str, list[int]] = {}
    for place, (name, stem) in enumerate(zip(names[1:], stems[1:], strict=True), start=1):
        columns.setdefault(stem if stem and stems.count(stem) == 4 else name, []).append(place)
    return columns


def _boxes(text: str) -> list[Coordinates]:
    words = re.split(r"[\s,;]+", text.translate(_BRACKETS).strip())
    words = [] if words in (["NaN"] * 4, [""]) else words
    if len(words) % 4:
        raise ValueError(f"{brief(text)!r} has {len(words)} numbers, but each box has four")
    numbers = list(map(parsed_number, words))
    quads = (numbers[i : i + 4] for i in range(0, len(numbers), 4))
    return [checked_box([x - 1, y - 1, width, height]) for x, y, width, height in quads]
