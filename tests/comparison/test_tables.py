"""Comparisons on tables: the same numbers for any number of processes, and what may be wrong."""

from __future__ import annotations

import numpy as np
import pytest

from vjcascade.comparison import Design, compare_tables, design
from vjcascade.comparison.run_cache import RUNS_NAME
from vjcascade.errors import SettingsError

DESIGN = Design(boosters=("adaboost", "csb2"), costs=(1, 5), n_rounds=5, n_seeds=3)


def table(path, rng, n=80, shift=1.0):
    classes = np.arange(n) % 2
    rows = rng.normal(size=(n, 3)) + shift * classes[:, None]
    lines = [
        f"{','.join(map(str, row))},{'ill' if ill else 'well'}"
        for row, ill in zip(rows, classes, strict=True)
    ]
    path.write_text("\n".join(["a,b,c,state", *lines]) + "\n")
    return path


@pytest.fixture
def tables(tmp_path, rng):
    return [table(tmp_path / f"{name}.csv", rng) for name in ("one", "two")]


def untimed(comparison):
    cells = comparison.as_dict()["cells"]
    return [{name: value for name, value in cell.items() if name != "seconds"} for cell in cells]


def test_processes_change_no_number(tables, tmp_path):
    one, two = (
        compare_tables(tables[:1], "state", tmp_path / str(n), DESIGN, positive="ill", n_threads=n)
        for n in (1, 2)
    )
    assert one.is_complete
    assert [dataset.name for dataset in one.datasets] == ["one"]
    assert untimed(one) == untimed(two)
    assert one.values("auc").mean() > 0.7


def test_it_is_resumed_and_extended(tables, tmp_path):
    few = Design(boosters=("adaboost",), costs=(1, 5), n_rounds=5, n_seeds=2)
    compare_tables(tables, "state", tmp_path / "out", few, n_threads=1)
    before = (tmp_path / "out" / RUNS_NAME).read_bytes()
    again = compare_tables(tables, "state", tmp_path / "out", DESIGN, resume=True, n_threads=1)
    assert (tmp_path / "out" / RUNS_NAME).read_bytes().startswith(before)
    fresh = compare_tables(tables, "state", tmp_path / "fresh", DESIGN, n_threads=1)
    assert untimed(again) == untimed(fresh)


def test_runs_of_a_booster_whose_code_has_changed_are_done_anew(tables, tmp_path, monkeypatch):
    def runs():
        return len((tmp_path / "out" / RUNS_NAME).read_text().splitlines()) - 1

    few = Design(boosters=("adaboost", "csb0"), costs=(5,), rules=("natural",), n_rounds=5, n_seeds=2)
    for code, n_runs in (("one", 8), ("one", 8), ("two", 12)):
        monkeypatch.setattr(design, "code_digest", lambda name, code=code: code if name == "csb0" else "")
        compare_tables(tables, "state", tmp_path / "out", few, resume=True, n_threads=1)
        assert runs() == n_runs


def test_other_rows_are_not_resumed(tables, tmp_path, rng):
    compare_tables(tables, "state", tmp_path / "out", DESIGN, n_threads=1)
    table(tables[0], rng, shift=0.5)
    with pytest.raises(SettingsError, match="other contents: one"):
        compare_tables(tables, "state", tmp_path / "out", DESIGN, resume=True, n_threads=1)


def test_a_table_that_is_named_twice(tables, tmp_path):
    with pytest.raises(SettingsError, match="two tables have the same name among one, one: rename a file"):
        compare_tables([tables[0]] * 2, "state", tmp_path / "out", DESIGN)
    with pytest.raises(SettingsError, match="tables: none is given"):
        compare_tables([], "state", tmp_path / "out", DESIGN)
