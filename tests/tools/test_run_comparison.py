"""The whole comparison goes on where it was, with the code that it was begun with, and publishes what is finished."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import run_comparison as runs
from comparison_probe import staleness
from easy_pictures import save

from vjcascade.comparison.design import Contender
from vjcascade.comparison.full_results import FullComparison, Outcome, full_csv, full_entries, full_json
from vjcascade.comparison.run_cache import RUNS_NAME
from vjcascade.comparison.scenes import Found

PROBE = {"a result": [1.0, None]}


@pytest.fixture
def data(tmp_path, rng):
    """Return a folder of small data with the names of the real ones."""
    (tmp_path / "data" / "uci").mkdir(parents=True)
    for name in ("parkinsons", "heart", "wpbc", "index"):
        labels = np.arange(80) % 2
        rows = rng.normal(size=(80, 3)) + labels[:, np.newaxis]
        lines = [
            ",".join([*map(str, row.round(3)), str(label)]) for row, label in zip(rows, labels, strict=True)
        ]
        text = "time,x1,x2,y\n" + "\n".join(lines) + "\n"
        (tmp_path / "data" / "uci" / f"{name}.csv").write_text(text)
    return tmp_path / "data"


@pytest.fixture
def call(data, tmp_path, monkeypatch, capsys):
    """Return `call(*words) -> str`: what the program prints, with threads and probe replaced."""
    monkeypatch.setattr(runs, "probe", lambda: PROBE)

    def run(*words):
        common = ["--data", data, "--output", tmp_path / "out", "--small", "--threads", "1"]
        monkeypatch.setattr("sys.argv", ["run_comparison.py", *map(str, [*common, *words])])
        runs.main()
        return capsys.readouterr().out

    return run


def test_tables_are_run_gone_on_with_and_published(call, tmp_path):
    assert call("--estimate", "--only", "tables").endswith("runs to do\n")
    first = call("--only", "tables")
    assert first.startswith("== tables\n")
    assert "evidence of a difference" in first
    path = tmp_path / "out" / "tables" / RUNS_NAME
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-3]))
    told = call("--estimate", "--only", "tables")
    assert f"{len(lines) - 4:,} of {len(lines) - 1:,} runs are there" in told
    call("--only", "tables")
    again = path.read_bytes().splitlines(keepends=True)
    assert again[:-3] == lines[:-3]
    assert [json.loads(line)["run"] for line in again[1:]] == [json.loads(line)["run"] for line in lines[1:]]
    published = tmp_path / "published"
    published.mkdir()
    shutil.copy(Path(runs.__file__).parents[1] / "samples" / "comparison" / runs.CONTRASTS_NAME, published)
    call("--publish", published)
    assert {path.name for path in published.iterdir()} == {
        "contrasts.toml",
        "probe.json",
        "provenance.json",
        "tables-cells.csv.gz",
        "tables-contrasts.csv",
        "tables-cost.csv",
        "tables-curves.csv.gz",
    }
    assert "parkinsons" in json.loads((published / "provenance.json").read_text())["tables-cost.csv"]["data"]


def test_what_is_finished_goes_on_elsewhere(call, tmp_path):
    """Kept in an archive without links, it is the same again; what is there already is left alone."""
    call("--only", "tables")
    own = tmp_path / "out" / "tables"
    lines = (own / RUNS_NAME).read_bytes().splitlines(keepends=True)
    (own / RUNS_NAME).write_bytes(b"".join(lines[:-2]))
    assert "tables: 2 files" in call("--keep", tmp_path / "kept")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["tables.tar.gz"]
    first = (tmp_path / "kept" / "tables.tar.gz").read_bytes()
    call("--keep", tmp_path / "kept")
    assert (tmp_path / "kept" / "tables.tar.gz").read_bytes() == first
    assert "was begun already" in call("--take", tmp_path / "kept")
    shutil.rmtree(own)
    assert "tables: taken from" in call("--take", tmp_path / "kept")
    assert (own / RUNS_NAME).read_bytes() == b"".join(lines[:-2])
    call("--only", "tables")
    assert len((own / RUNS_NAME).read_bytes().splitlines()) == len(lines)


def test_of_cascades_the_finished_ones_are_kept(call, tmp_path):
    done, begun = (
        tmp_path / "out" / "cascades-cars" / "full" / name for name in ("adaboost-0", "adaboost-1")
    )
    for folder in (done, begun):
        folder.mkdir(parents=True)
        for name in ("cascade.xml", "state.json", "negatives-2.npz"):
            (folder / name).write_text(name)
    (done / runs.FOUND_NAME).write_text("{}")
    (tmp_path / "out" / "cascades-cars" / runs.PROBE_NAME).write_text("{}")
    call("--keep", tmp_path / "kept")
    shutil.rmtree(tmp_path / "out")
    call("--take", tmp_path / "kept")
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {path.name for path in files} == {"cascade.xml", "state.json", "scenes.json", "probe.json"}
    assert begun not in {path.parent for path in files}


def test_other_code_must_not_go_on(call, monkeypatch, tmp_path):
    call("--only", "tables")
    before = (tmp_path / "out" / "tables" / RUNS_NAME).read_bytes()
    monkeypatch.setattr(runs, "probe", lambda: {"a result": [1.1, None]})
    with pytest.raises(SystemExit, match=r"begun with code that gives other numbers \(1 of 1 differ"):
        call("--only", "tables")
    assert (tmp_path / "out" / "tables" / RUNS_NAME).read_bytes() == before


def test_a_part_that_is_none_is_refused(call, capsys):
    with pytest.raises(SystemExit):
        call("--only", "table")
    assert "there is no part table; there are tables, stages-faces, curves-faces" in capsys.readouterr().err


def test_columns_that_are_no_features_are_left_out(data, tmp_path):
    """Of wpbc, the time; a column of that name elsewhere stays."""
    tables = [data / "uci" / f"{name}.csv" for name in ("heart", "wpbc")]
    design = runs.Design(("adaboost",), (1,), ("natural", "calibrated"), n_rounds=2, n_seeds=1)
    runs.run_tables(tables, design, 1, tmp_path)
    heads = {path.stem: path.read_text().splitlines()[0] for path in (tmp_path / "tables").glob("*.csv")}
    assert heads == {"heart": "time,x1,x2,y", "wpbc": "x1,x2,y"}


def test_pictures_are_linked_but_for_those_left_out(data, tmp_path, rng):
    save(
        data / "cars-uiuc" / "TrainImages",
        [rng.integers(0, 256, (15, 38)).astype(np.uint8) for _ in range(2)],
    )
    folder = data / "cars-uiuc" / "TrainImages"
    first, second = sorted(folder.iterdir())
    first.rename(folder / "pos-1.pgm")
    second.rename(folder / "neg-1.pgm")
    save(data / "negatives-train", [rng.integers(0, 256, (40, 40)).astype(np.uint8) for _ in range(2)])
    photos = sorted((data / "negatives-train").iterdir())
    for path in photos:
        path.rename(path.with_suffix(".jpg"))
    (data / "negatives-train" / "contains_cars.txt").write_text(photos[0].with_suffix(".jpg").name)
    for _ in range(2):  # again, as on another machine
        crops, negatives = runs.pictures(data, runs.THINGS["cars"], tmp_path)
    assert [path.name for path in crops.iterdir()] == ["pos-1.pgm"]
    assert {path.name for path in negatives.iterdir()} == {"neg-1.pgm", photos[1].with_suffix(".jpg").name}


def test_parts_are_within_what_data_allow(data):
    parts = {part.name: part.n_runs for part in runs.all_parts(data, 1, small=False)}
    assert list(parts) == [
        "tables",
        "stages-faces",
        "curves-faces",
        "stages-cars",
        "stages-plates",
        "cascades-cars",
        "cascades-plates",
    ]
    assert parts["stages-faces"] > parts["stages-cars"] > 0


def test_whole_cascades_are_published_with_every_detection(call, tmp_path):
    entries = full_entries([Contender("adaboost"), Contender("cost-generalized")], ["2:1"])
    found = [
        Found(np.array([0, 1, 1]), np.array([5.5, 3.5, 2.5]), np.array([True, second, False]), 9.5)
        for second in (True, False)
    ]
    outcomes = {(entry, 0): Outcome(one, "at its end", 3, 40) for entry, one in enumerate(found)}
    metadata = {
        "scenes": {"source": "/home/someone/cars/boxes.csv", "scenes": 2},
        "data": {"window": "38x15"},
    }
    full = FullComparison(entries, (0,), np.array([1, 1]), outcomes, metadata)
    own, published = tmp_path / "out" / "cascades-cars", tmp_path / "published"
    own.mkdir(parents=True)
    published.mkdir()
    (own / runs.FULL_NAME).write_text(full_json(full))
    (own / runs.PROBE_NAME).write_text(json.dumps(PROBE))
    assert call("--publish", published) == f"tables of cascades-cars written to {published}\n"
    rows = list(csv.DictReader((published / "cascades-cars.csv").read_text().splitlines()))
    assert [(row["entry"], row["hit_rate_at_0.01"], row["n_weak"]) for row in rows] == [
        ("adaboost", "1", "40"),
        ("cost-generalized at 2:1", "0.5", "40"),
    ]
    packed = (published / "cascades-cars-detections.json.gz").read_bytes()
    again = FullComparison.from_dict(json.loads(gzip.decompress(packed)))
    assert again.metadata["scenes"] == {"source": "boxes.csv", "scenes": 2}
    assert full_csv(again) == (published / "cascades-cars.csv").read_text()
    assert list(staleness(published, PROBE)) == []
