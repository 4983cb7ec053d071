"""Tables in text files: cells between commas, semicolons or tabs, below a line of names.

Python's csv module parts the cells. The readers of pandas and polars are faster, but read without a word what is
refused here with the line: rows with too few cells (or, in pandas, all with too many, which shifts the columns), two
columns of one name, text after a closing quotation mark, bytes that are no text.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import reprlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vjcascade.errors import SourceError
from vjcascade.messages import memory_size, near_file, pluralize

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}

MISSING = frozenset({"", "?", "na", "n/a", "#n/a", "nan", "<na>", "null", "none"})
"""Cells that hold no value, in lower case."""

MAX_BYTES = 256 * 2**20

MAX_CELLS = 10_000_000

MAX_FIRST_LINE = 100_000
"""So many characters are looked at to find what separates cells; the csv module takes no longer cells."""


@dataclass(frozen=True)
class Delimited:
    """The cells of a file.

    Attributes
    ----------
    path : Path
        The file.
    names : tuple of str
        Of the columns; unique, but for those of columns without a name, which are empty.
    rows : list of list of str
        Cells, without the blanks around them; in each row one for each name.
    lines : list of int
        The line of the file that each row ends in, from 1.
    decimal_comma : bool
        Whether a comma may stand before the decimals of a number.
    notes : tuple of str
        What the reader of the file should know.
    """

    path: Path
    names: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]
    decimal_comma: bool = False
    notes: tuple[str, ...] = ()

    def value(self, cell: str) -> float | str | None:
        """Return what a cell holds: a number, else its text; None if it is one of `MISSING`."""
        return cell_value(cell, decimal_comma=self.decimal_comma)


def cell_value(cell: str, *, decimal_comma: bool = False) -> float | str | None:
    """Return what a cell holds: a number, else its text; None if it is one of `MISSING`.

    Examples
    --------
    >>> cell_value("-1.5e3"), cell_value("green"), cell_value("NA"), cell_value("1,5", decimal_comma=True)
    (-1500.0, 'green', None, 1.5)
    """
    if cell.casefold() in MISSING:
        return None
    try:
        number = float(cell.replace(",", ".") if decimal_comma else cell)
    except ValueError:
        return cell
    return cell if "_" in cell or math.isnan(number) else number


def read_delimited(path: Path) -> Delimited:
    """Read the cells of a file with a line of names.

    What separates the cells is found by the first line. The text may be UTF-8, with a mark in front or without, or
    UTF-16 with a mark; anything else is read as Latin-1. Cells may be quoted. Empty lines are skipped. In files with
    semicolons, a comma may stand before decimals.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Delimited
        With at least one row.

    Raises
    ------
    SourceError
        If the file is not there, too large, no text, has no names or rows, or a row has too few or too many cells.
    """
    text, notes = _text(path)
    separator = _separator(text)
    records = _records(path, text, separator)
    first, header = next(records, (0, []))
    if not header:
        raise SourceError(f"{path} is empty: a line of column names and rows of values are needed")
    names = _checked_names(path, first, header, separator)
    rows, lines = [], []
    for line, cells in records:
        if len(cells) != len(names):
            raise SourceError(
                f"{path}, line {line}: {pluralize(len(cells), 'cell')}, but line {first} names "
                f"{pluralize(len(names), 'column')}; cells that contain {SEPARATORS[separator]} must be quoted"
            )
        rows.append(cells)
        lines.append(line)
        if len(rows) * len(names) > MAX_CELLS:
            raise SourceError(f"{path} has more than {MAX_CELLS:,} cells: take fewer rows or columns")
    if not rows:
        raise SourceError(f"{path} has no rows below the names of its columns")
    return Delimited(path, names, rows, lines, separator == ";", notes)


def _text(path: Path) -> tuple[str, tuple[str, ...]]:
    if path.is_dir():
        raise SourceError(f"{path} is a folder: name the file with the table")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        near = near_file(path, Path.is_file)
        hint = f"; did you mean {near!r}?" if near else ""
        raise SourceError(f"there is no file {path.absolute()}{hint}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SourceError(f"{path} cannot be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise SourceError(f"{path} is larger than {memory_size(MAX_BYTES)}: take fewer rows or columns")
    return _decoded(path, data)


def _decoded(path: Path, data: bytes) -> tuple[str, tuple[str, ...]]:
    notes: tuple[str, ...] = ()
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text, notes = data.decode("latin-1"), ("not UTF-8: read as Latin-1",)
    if "\0" in text:
        raise SourceError(f"{path} is not a text file: give a file of comma-separated values")
    return text, notes


def _separator(text: str) -> str:
    """Return what parts the first line in most cells."""
    lines = io.StringIO(text, newline="")
    first = next((line[:MAX_FIRST_LINE] for line in lines if line.strip()), "")
    return max(SEPARATORS, key=lambda separator: len(next(csv.reader([first], delimiter=separator), [])))


def _records(path: Path, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines in which records end, and their cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if len(stripped) > 1 or any(stripped):
                yield reader.line_num, stripped
    except csv.Error as error:
        raise SourceError(
            f"{path}, line {reader.line_num}: {error}; is a quotation mark missing, or too many?"
        ) from None


def _checked_names(path: Path, line: int, header: list[str], separator: str) -> tuple[str, ...]:
    if len(header) < 2:
        known = ", ".join(SEPARATORS.values())
        raise SourceError(
            f"{path}, line {line}: one column only, {reprlib.repr(header[0])}; cells must be separated by {known}"
        )
    values = [cell_value(name, decimal_comma=separator == ";") for name in header]
    if not any(isinstance(value, str) for value in values):
        raise SourceError(
            f"{path}, line {line} names no columns: {reprlib.repr(header[0])} and all beside it are numbers or "
            "missing; put a line of names above the values"
        )
    twice = [name for name, n in Counter(header).items() if n > 1 and name]
    if twice:
        numbers = [str(i + 1) for i, name in enumerate(header) if name == twice[0]]
        raise SourceError(
            f"{path}, line {line}: columns {', '.join(numbers)} are all named {reprlib.repr(twice[0])}; "
            "give each its own name"
        )
    return tuple(header)
