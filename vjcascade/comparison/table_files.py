"""Tables to compare boosters on, from files: which column is to be learnt, and features from the others."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.state import Floats
from vjcascade.comparison.delimited import MAX_CELLS, Delimited, cell_value, read_delimited
from vjcascade.comparison.problems import Indices, TableProblem
from vjcascade.errors import SettingsError, SourceError
from vjcascade.messages import near_name, pluralize

AFFIRMATIVE = frozenset({"1", "true", "yes", "positive"})
"""Of two values of a target, the one that is among these, in lower case, is the positive."""

MAX_CATEGORIES = 20
"""A column of text with more values is no feature."""

ROWS_PER_VALUE = 10
"""With fewer rows for each of its values, a column may tell the target by chance."""

MAX_NUMBER = 1e300

N_SHOWN, MAX_SHOWN = 5, 60
"""Names, and characters of each, that a message tells."""

Value: TypeAlias = float | str | None


@dataclass(frozen=True, eq=False)
class FileTable(TableProblem):
    """The rows of a table that was read from a file.

    Attributes
    ----------
    name : str
        The file's, without what follows the last dot.
    table : ndarray of shape (n, n_features), dtype float64
        Finite; the positives first.
    labels : ndarray of shape (n,), dtype int8
        +1 or -1.
    groups : ndarray of shape (n,), dtype intp
        Equal rows of a class are a group.
    feature_names : tuple of str
        Of the columns of `table`; ``"colour=red"`` where a value of a column of text became a feature.
    notes : tuple of str
        What was decided about the file, one sentence each; which value is positive comes first.
    """

    feature_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_table(
    path: str | os.PathLike[str], target: str, positive: str | None = None, ignored: Sequence[str] = ()
) -> FileTable:
    r"""Read a table from a file, as a problem of two classes.

    Numbers are features as they are. A column of text with at most `MAX_CATEGORIES` values becomes a feature of 0 and
    1 for each value. Left out, with a note, are columns of text with more values, columns without a name, columns
    that are the same in every row, and those with few values that tell the target without fail: a copy of
    the target is nothing to learn from. Rows without a value of the target are left out as well.

    Parameters
    ----------
    path : path
        A file that `read_delimited` reads.
    target : str
        The column to be learnt.
    positive : str, optional
        Its value for positives; all others are negatives. If not given, there must be two values: positive is the one
        that is 1, true, yes or positive; if there is none, the rarer one.
    ignored : sequence of str
        Columns to leave out.

    Returns
    -------
    FileTable
        With its notes.

    Raises
    ------
    SourceError
        If the file cannot be read, holds a number without bounds, or nothing to learn from.
    SettingsError
        If a column is not there, the target has not two classes, or a class has too few rows to be split.

    Notes
    -----
    A missing value is taken for a number below all others of its column. For stumps nothing is lost by that: a cut
    below the least number tells the missing from the known ones. Nor does a row learn anything from the others, as it
    would from their median.

    Examples
    --------
    >>> import tempfile
    >>> rows = [f"{i},{'yes' if i % 3 else 'no'}" for i in range(40)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "thirds.csv")
    ...     _ = path.write_text("number,third\n" + "\n".join(rows))
    ...     problem = read_table(path, "third")
    >>> problem.table.shape, problem.notes
    ((40, 1), ("third 'yes' is positive: 26 rows, against 14",))
    """
    text = read_delimited(Path(path))
    places = [_place(text, name) for name in (target, *ignored)]
    if places[0] in places[1:]:
        raise SettingsError(f"{text.path}: {target!r} is the target and cannot be ignored")
    wanted = _values(text, places[0])
    kept = [row for row, value in enumerate(wanted) if value is not None]
    is_positive, decision = _classes(text.path, target, [wanted[row] for row in kept], positive)
    notes = [decision, *text.notes]
    if len(kept) < len(wanted):
        n_lost = pluralize(len(wanted) - len(kept), "row")
        notes.append(f"{n_lost} without a value of {target} left out")
    features = _Features(text, kept, is_positive, target)
    for place in range(len(text.names)):
        if place not in places:
            features.add(place)
    return _problem(text, features, is_positive, tuple(notes))


def _place(text: Delimited, name: str) -> int:
    names = [one for one in text.names if one]
    if name not in names:
        near = near_name(name, names)
        hint = f"did you mean {near!r}?" if near else f"its columns are {_some(names)}"
        raise SettingsError(f"{text.path} has no column {name!r}; {hint}")
    return text.names.index(name)


def _values(text: Delimited, place: int) -> list[Value]:
    cells = [row[place] for row in text.rows]
    read = {cell: text.value(cell) for cell in set(cells)}
    return [read[cell] for cell in cells]


def _classes(
    path: Path, target: str, values: Sequence[Value], positive: str | None
) -> tuple[NDArray[np.bool_], str]:
    """Return which rows are positive, and a sentence that says it."""
    counts = Counter(values)
    shown = {_shown(value): value for value in sorted(counts, key=str)}
    if len(counts) < 2:
        raise SettingsError(
            f"{path}: {target} has {'the one value ' + _some(shown) if counts else 'no value'}; two classes are needed"
        )
    if positive is not None:
        chosen = cell_value(positive.strip())
        if chosen not in counts:
            near = near_name(positive, shown)
            hint = f"did you mean {near!r}?" if near else f"its values are {_some(shown)}"
            raise SettingsError(f"{path}: {target} is never {positive!r}; {hint}")
    elif len(counts) > 2:
        raise SettingsError(
            f"{path}: {target} has {len(counts):,} values ({_some(shown)}); say which one is positive, against all the "
            "others (--positive VALUE)"
        )
    else:
        affirmative = [value for name, value in shown.items() if name.casefold() in AFFIRMATIVE]
        rarer = min(shown.values(), key=lambda value: counts[value])
        chosen = affirmative[0] if len(affirmative) == 1 else rarer
    is_positive = np.array([value == chosen for value in values])
    n = counts[chosen]
    return (
        is_positive,
        f"{target} {_shown(chosen)!r} is positive: {pluralize(n, 'row')}, against {len(values) - n:,}",
    )


@dataclass(eq=False)
class _Features:
    """Columns that become features, and what becomes of the others."""

    text: Delimited
    kept: list[int]
    is_positive: NDArray[np.bool_]
    target: str
    names: list[str] = field(default_factory=list)
    columns: list[Floats] = field(default_factory=list)
    said: dict[str, list[str]] = field(default_factory=dict)

    def add(self, place: int) -> None:
        """Take a column in, or say why not."""
        name = self.text.names[place]
        everywhere = _values(self.text, place)
        values = [everywhere[row] for row in self.kept]
        distinct = set(values)
        known = distinct - {None}
        if not name:
            self._say("left out, as it has no name", f"column {place + 1}")
        elif len(distinct) < 2:
            self._say("left out, the same in every row", name)
        elif self._tells_target(values, len(distinct)):
            self._say(f"left out, as its values determine {self.target}", name)
        elif all(isinstance(value, float) for value in known):
            self._add_numbers(name, values)
        elif len(known) <= MAX_CATEGORIES:
            self._add_categories(name, place)
        else:
            self._say(f"left out, text with more than {MAX_CATEGORIES} values", name)
        if len(self.columns) * len(values) > MAX_CELLS:
            raise SourceError(
                f"{self.text.path}: with a feature for each value of text, there are more than {MAX_CELLS:,} cells: "
                "ignore some columns, or take fewer rows"
            )

    @property
    def notes(self) -> list[str]:
        """What became of columns that are not plain features."""
        return [f"{_some(names)}: {what}" for what, names in self.said.items()]

    def _say(self, what: str, name: str) -> None:
        self.said.setdefault(what, []).append(name)

    def _tells_target(self, values: Sequence[Value], n_distinct: int) -> bool:
        """Tell whether each value has rows of one class only, and not by chance."""
        if n_distinct > 2 and (n_distinct > MAX_CATEGORIES or len(values) < ROWS_PER_VALUE * n_distinct):
            return False
        return len(set(zip(values, self.is_positive.tolist(), strict=True))) == n_distinct

    def _add_numbers(self, name: str, values: Sequence[Value]) -> None:
        column = np.array([np.nan if value is None else float(value) for value in values])
        missing = np.isnan(column)
        beyond = np.flatnonzero(np.abs(np.where(missing, 0.0, column)) > MAX_NUMBER)
        if len(beyond):
            row = self.kept[int(beyond[0])]
            cell = self.text.rows[row][self.text.names.index(name)]
            raise SourceError(
                f"{self.text.path}, line {self.text.lines[row]}: {name} is {_short(cell)}, which is not a finite "
                f"number up to {MAX_NUMBER:g}; leave the cell empty if there is no value, or ignore the column"
            )
        if missing.any():
            low, high = column[~missing].min(), column[~missing].max()
            column[missing] = low - max(high - low, abs(low), 1.0)
            self._say("missing values, treated as a number below all others", f"{name} ({missing.sum():,})")
        self.names.append(name)
        self.columns.append(column)

    def _add_categories(self, name: str, place: int) -> None:
        cells = [self.text.rows[row][place] for row in self.kept]
        cells = ["" if self.text.value(cell) is None else cell for cell in cells]
        categories = sorted(set(cells) - {""})
        if len(categories) == 2 and "" not in cells:
            categories = categories[1:]  # the other feature would say the same
        self._say("text, a feature for each value", name)
        for category in categories:
            self.names.append(f"{name}={category}")
            self.columns.append(np.array([float(cell == category) for cell in cells]))


def _problem(
    text: Delimited, features: _Features, is_positive: NDArray[np.bool_], notes: tuple[str, ...]
) -> FileTable:
    notes = (*notes, *features.notes)
    if not features.columns:
        raise SourceError(
            f"{text.path} has no column to learn from ({'; '.join(features.notes) or 'none is left'})"
        )
    order = np.argsort(~is_positive, kind="stable")
    table = np.column_stack(features.columns)[order] + 0.0  # -0 is 0
    labels = np.where(is_positive[order], 1, -1).astype(np.int8)
    problem = FileTable(
        text.path.stem,
        table,
        labels,
        _groups(table, labels),
        feature_names=tuple(features.names),
        notes=notes,
    )
    try:
        problem.split([0])
    except SettingsError as error:
        raise SettingsError(f"{text.path}: {error}") from None
    return problem


def _groups(table: Floats, labels: NDArray[np.int8]) -> Indices:
    """Return a number for each row, the same for rows of a class that are equal."""
    seen: dict[tuple[int, bytes], int] = {}
    rows = zip(labels.tolist(), table, strict=True)
    return np.array([seen.setdefault((label, row.tobytes()), len(seen)) for label, row in rows], np.intp)


def _some(names: Iterable[str]) -> str:
    """Return a few names, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - N_SHOWN:,} more" if len(names) > N_SHOWN else ""
    return ", ".join(map(_short, names[:N_SHOWN])) + more


def _short(name: str) -> str:
    return name if len(name) <= MAX_SHOWN else f"{name[:MAX_SHOWN]}..."


def _shown(value: Value) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
