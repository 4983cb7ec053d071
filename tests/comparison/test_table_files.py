"""Tables from files: what becomes of columns, cells and classes, and what is said about files that will not do."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from vjcascade.comparison import delimited, table_files
from vjcascade.comparison.delimited import MISSING, cell_value
from vjcascade.comparison.problems import TableProblem
from vjcascade.comparison.table_files import FileTable, read_table
from vjcascade.errors import SettingsError, SourceError

N = 40
QUICK = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Return `write(text) -> path` of a file."""

    def write(text: str | bytes, name: str = "table.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def lines(*columns: str, n: int = N, y: Callable[[int], object] = lambda i: i % 4 // 3) -> str:
    """Return a table: x counts, `columns` are the same in all rows, y is 1 in a quarter of them."""
    names = ",".join(["x", *(f"c{i}" for i in range(len(columns))), "y"])
    rows = (",".join([str(i), *columns, str(y(i))]) for i in range(n))
    return "\n".join([names, *rows])


def content(problem: FileTable) -> tuple[list[tuple[int, ...]], list[str]]:
    """Return the rows with their labels and the sizes of their groups, in an order of their own; and the features."""
    places = np.argsort(problem.feature_names)
    sizes = np.bincount(problem.groups)[problem.groups]
    rows = zip(problem.labels.tolist(), sizes.tolist(), problem.table[:, places].tolist(), strict=True)
    return sorted((label, size, *row) for label, size, row in rows), sorted(problem.feature_names)


def test_numbers_are_taken_as_they_are_positives_first(write: Callable[..., Path]) -> None:
    problem = read_table(write(lines()), "y")
    assert problem.name == "table"
    assert problem.feature_names == ("x",)
    assert problem.table[:10, 0].tolist() == list(range(3, N, 4))
    assert problem.labels.tolist() == [1] * 10 + [-1] * 30
    assert problem.notes == ("y '1' is positive: 10 rows, against 30",)
    parts = problem.split([0])
    assert len(parts.train) == TableProblem.shares[0] * N


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_separators_and_encodings(
    write: Callable[..., Path], separator: str, encoding: str, newline: str
) -> None:
    text = lines("é").replace(",", separator).replace("\n", newline).replace("c0", '"größe, x;\t"', 1)
    problem = read_table(write(text.encode(encoding)), "y")
    assert problem.feature_names == ("x",)
    assert any("größe, x;" in note and "same in every row" in note for note in problem.notes)
    assert any("Latin-1" in note for note in problem.notes) == (encoding == "latin-1")


def test_a_comma_before_decimals_in_files_with_semicolons(write: Callable[..., Path]) -> None:
    text = "x;y\n" + "\n".join(f"{i},5;{i % 2}" for i in range(N))
    assert np.sort(read_table(write(text), "y").table[:, 0]).tolist() == [i + 0.5 for i in range(N)]


@pytest.mark.parametrize("cell", ["1_000", "-nan", "1,5", "0x10", "½"])
def test_what_only_looks_like_a_number_is_text(cell: str) -> None:
    assert cell_value(cell) == cell


def test_text_becomes_a_feature_for_each_value(write: Callable[..., Path]) -> None:
    colours = ["red", "green", "blue", ""]
    rows = (f"{colours[i % 4]},{'ab'[i % 2]},{i // 4 % 2}" for i in range(N))
    problem = read_table(write("colour,letter,y\n" + "\n".join(rows)), "y")
    assert problem.feature_names == ("colour=blue", "colour=green", "colour=red", "letter=b")
    assert problem.table.sum(axis=0).tolist() == [10, 10, 10, 20]
    assert "colour, letter: text, a feature for each value" in problem.notes


def test_text_of_many_values_is_left_out(write: Callable[..., Path]) -> None:
    rows = (f"{i},name {i},{i // 4 % 2}" for i in range(N))
    problem = read_table(write("x,name,y\n" + "\n".join(rows)), "y")
    assert problem.feature_names == ("x",)
    assert "name: left out, text with more than 20 values" in problem.notes


@pytest.mark.parametrize("word", [*sorted(MISSING), "NaN", "N/A", " "])
def test_missing_numbers_lie_below_all_others(write: Callable[..., Path], word: str) -> None:
    rows = (f"{word if i % 5 == 0 else i - 20},{i // 4 % 2}" for i in range(N))
    problem = read_table(write("x,y\n" + "\n".join(rows)), "y")
    values = np.sort(problem.table[:, 0])
    assert (values[:8] == values[0]).all()
    assert values[0] < values[8] == -19
    assert "x (8): missing values, treated as a number below all others" in problem.notes


def test_copies_of_the_target_are_left_out(write: Callable[..., Path]) -> None:
    kinds = ["cat", "dog", "cow", "hen"]
    rows = (f"{i % 7},{i % 2},{2 - i % 2},{kinds[i % 4]}" for i in range(N))
    problem = read_table(write("x,y,copy,kind\n" + "\n".join(rows)), "y")
    assert problem.feature_names == ("x",)
    assert "copy, kind: left out, as its values determine y" in problem.notes


def test_few_rows_tell_the_target_by_chance(write: Callable[..., Path]) -> None:
    text = "x,y\n" + "\n".join(f"{i // 2},{i // 2 % 2}" for i in range(38))
    assert read_table(write(text), "y").feature_names == ("x",)


def test_ignored_and_unnamed_columns(write: Callable[..., Path]) -> None:
    text = ",a,b,c,y\n" + "\n".join(f"{i},{i % 3},{i % 7},5,{i // 4 % 2}" for i in range(N))
    problem = read_table(write(text), "y", ignored=["b"])
    assert problem.feature_names == ("a",)
    assert "column 1: left out, as it has no name" in problem.notes
    assert "c: left out, the same in every row" in problem.notes


def test_rows_without_a_target_are_left_out(write: Callable[..., Path]) -> None:
    problem = read_table(write(lines(y=lambda i: ["0", "1", "?"][i % 3])), "y")
    assert len(problem.labels) == 27
    assert "13 rows without a value of y left out" in problem.notes


@pytest.mark.parametrize(
    ("values", "positive"),
    [
        (("0", "1"), "1"),
        (("-1", "+1"), "1"),
        (("2", "1.0"), "1"),
        (("False", "True"), "True"),
        (("no", "YES"), "YES"),
        (("1", "yes"), "yes"),  # both affirm: the rarer
        (("B", "M"), "M"),
        (("0", "5"), "5"),
    ],
)
def test_the_usual_value_or_the_rarer_is_positive(
    write: Callable[..., Path], values: tuple[str, str], positive: str
) -> None:
    problem = read_table(write(lines(y=lambda i: values[i % 4 == 3])), "y")
    assert problem.notes[0] == f"y {positive!r} is positive: 10 rows, against 30"
    assert np.count_nonzero(problem.labels > 0) == 10


def test_a_named_value_is_positive_against_all_others(write: Callable[..., Path]) -> None:
    path = write(lines(y=lambda i: i % 3))
    assert np.count_nonzero(read_table(path, "y", "2.0").labels > 0) == 13
    with pytest.raises(SettingsError, match=r"y has 3 values \(0, 1, 2\).*--positive VALUE"):
        read_table(path, "y")
    with pytest.raises(SettingsError, match=r"y is never '5'; its values are 0, 1, 2"):
        read_table(path, "y", "5")
    with pytest.raises(SettingsError, match=r"y is never 'nan'"):
        read_table(path, "y", "nan")


def test_equal_rows_of_a_class_stay_together(write: Callable[..., Path]) -> None:
    text = "x,y\n" + "\n".join(f"{'-0' if i > 20 else '0' if i > 10 else i},{i % 2}" for i in range(N))
    problem = read_table(write(text), "y")
    for label in (1, -1):
        zeros = problem.groups[(problem.table[:, 0] == 0) & (problem.labels == label)]
        assert len(zeros) > 10
        assert len(set(zeros)) == 1
    assert len(set(problem.groups)) == 12
    for group in range(12):
        assert len(set(problem.labels[problem.groups == group])) == 1


BROKEN = {
    "": "is empty",
    "x,y\n": "no rows",
    "x\n1\n2\n": "one column only, 'x'.*commas, semicolons, tabs",
    "1,2\n3,4\n": "line 1 names no columns.*put a line of names",
    "x,y,x\n1,2,3\n": "columns 1, 3 are all named 'x'",
    "x,y\n1,0\n\n2\n": "line 4: 1 cell, but line 1 names 2 columns",
    "x,y\n1,0\n2,1,3\n": "line 3: 3 cells",
    'x,y\n"1,0\n2,1\n': "line 3: unexpected end of data.*quotation mark",
    'x,y\n"1"2,0\n': "line 2.*quotation mark",
    "x,y\n1,0\n\0,1\n": "is not a text file",
    "x,y\n" + "1" * 200_000 + ",0\n": "line 2: field larger than field limit",
    "x" * 200_000: "line 1: field larger than field limit",
    "x" * 90_000: "one column only",
    lines().replace("\n7,", "\n" + "7" * 90_000 + ","): "line 9: x is 7777",
    lines().replace("\n7,", "\ninf,"): "line 9: x is inf, which is not a finite number",
    lines().replace("\n7,", "\n1e999,"): "line 9: x is 1e999",
    "a,y\n" + "1,0\n1,1\n" * 20: r"no column to learn from \(a: left out, the same",
}


@pytest.mark.parametrize(("text", "message"), BROKEN.items(), ids=range(len(BROKEN)))
def test_broken_files_are_refused(write: Callable[..., Path], text: str, message: str) -> None:
    path = write(text)
    with pytest.raises(SourceError, match=message) as caught:
        read_table(path, "y")
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 400


def test_what_is_no_file_is_refused(write: Callable[..., Path], tmp_path: Path) -> None:
    write(lines(), "heart.csv")
    with pytest.raises(SourceError, match=r"no file .*haert.csv; did you mean 'heart.csv'\?"):
        read_table(tmp_path / "haert.csv", "y")
    with pytest.raises(SourceError, match="is a folder"):
        read_table(tmp_path, "y")
    with pytest.raises(SourceError, match="cannot be read"):
        read_table("heart\0.csv", "y")


def test_columns_that_are_not_there_are_refused(write: Callable[..., Path]) -> None:
    path = write(lines("1", "2").replace("y\n", "outcome\n", 1))
    with pytest.raises(SettingsError, match=r"no column 'outcom'; did you mean 'outcome'\?"):
        read_table(path, "outcom")
    with pytest.raises(SettingsError, match=r"no column 'qq'; its columns are x, c0, c1, outcome"):
        read_table(path, "outcome", ignored=["qq"])
    with pytest.raises(SettingsError, match="'outcome' is the target"):
        read_table(path, "outcome", ignored=["outcome"])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (lambda _: 1, "y has the one value 1; two classes are needed"),
        (lambda _: "", "y has no value"),
        (lambda i: i < 5, "5 positives in 5 groups are too few"),
        (lambda i: f"{i:.1f}", r"y has 40 values \(0, 1, 10, 11, 12 and 35 more\)"),
    ],
)
def test_targets_without_two_classes_are_refused(
    write: Callable[..., Path], y: Callable[[int], object], message: str
) -> None:
    path = write(lines(y=y))
    with pytest.raises(SettingsError, match=message) as caught:
        read_table(path, "y")
    assert str(path) in str(caught.value)


def test_sizes_are_bounded(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(lines())
    monkeypatch.setattr(delimited, "MAX_CELLS", 60)
    with pytest.raises(SourceError, match="more than 60 cells"):
        read_table(path, "y")
    monkeypatch.setattr(delimited, "MAX_CELLS", 10**6)
    monkeypatch.setattr(delimited, "MAX_BYTES", 100)
    with pytest.raises(SourceError, match="larger than"):
        read_table(path, "y")
    monkeypatch.setattr(delimited, "MAX_BYTES", 10**6)
    monkeypatch.setattr(table_files, "MAX_CELLS", 100)
    rows = "\n".join(f"{'abcd'[i % 4]},{i // 4 % 2}" for i in range(N))
    with pytest.raises(SourceError, match="a feature for each value of text"):
        read_table(write("letter,y\n" + rows), "y")


tables = st.integers(1, 4).flatmap(
    lambda n_columns: st.lists(
        st.tuples(*[st.one_of(st.floats(-1e300, 1e300), st.integers(0, 2).map(float))] * n_columns),
        min_size=24,
        max_size=40,
    )
)


@QUICK
@given(tables, st.randoms(use_true_random=False))
def test_what_is_written_is_read(tmp_path: Path, rows: list[tuple[float, ...]], random: Random) -> None:
    """A table comes back as it was written, but for columns that are the same in every row or tell the target."""
    labels = [1, 0] * 8 + [random.randrange(2) for _ in rows[16:]]
    rows = [(float(i), *row) for i, row in enumerate(rows)]
    path = tmp_path / "written.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["y", *(f"x{i}" for i in range(len(rows[0])))])
        writer.writerows([label, *row] for label, row in zip(labels, rows, strict=True))
    problem = read_table(path, "y")
    places = [int(name[1:]) for name in problem.feature_names]
    expected = sorted((label, *(row[i] for i in places)) for label, row in zip(labels, rows, strict=True))
    found = zip((problem.labels > 0).tolist(), problem.table.tolist(), strict=True)
    assert sorted((int(label), *row) for label, row in found) == expected
    for place in set(range(len(rows[0]))) - set(places):
        column = [row[place] for row in rows]
        assert len(set(zip(column, labels, strict=True))) == len(set(column)) <= 2 or len(set(column)) == 1


@QUICK
@given(st.permutations(range(N)), st.permutations(range(4)))
def test_the_order_of_rows_and_columns_does_not_matter(
    tmp_path: Path, rows: list[int], columns: list[int]
) -> None:
    def table(rows: list[int], columns: list[int]) -> FileTable:
        cells = [[str(i % 9 or ""), "abc"[i % 3], str(i % 5), ["no", "yes"][i // 3 % 2]] for i in rows]
        body = [["number", "letter", "digit", "y"], *cells]
        path = tmp_path / "ordered.csv"
        path.write_text("\n".join(",".join(row[i] for i in columns) for row in body))
        return read_table(path, "y")

    assert content(table(rows, columns)) == content(table(list(range(N)), list(range(4))))


@pytest.mark.data
def test_tables_of_uci_lose_only_their_label(shared_data: Callable[[str], Path]) -> None:
    """Both `label` and `y` are in them: with either as target, the other must not be a feature."""
    folder = shared_data("uci")
    for name, n_features in (("heart", 13), ("breast_cancer_original", 9), ("wpbc", 33)):
        problem = read_table(folder / f"{name}.csv", "y")
        assert problem.table.shape[1] == n_features
        assert "label: left out, as its values determine y" in problem.notes
    problem = read_table(folder / "semeion.csv", "label", "1", ignored=["x1"])
    assert "y" not in problem.feature_names
    assert problem.table.shape == (1593, 255)
