"""The published tables are those of this code, and a check says so when they are not."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
from pathlib import Path

import comparison_probe as probes
import comparison_tables
import numpy as np
import pytest
from comparisons import made_up

from vjcascade.comparison import Design, compare_tables
from vjcascade.features import binning
from vjcascade.learning.search import StumpSearch

PUBLISHED = Path(__file__).parents[2] / "samples" / "comparison"


@pytest.fixture(scope="module")
def now():
    return probes.probe()


@pytest.fixture
def tables(tmp_path, rng, now):
    """Return a folder of tables that were made with this code."""
    probes.write_probe(tmp_path, now)
    comparison = made_up(rng, Design(("adaboost", "csb2"), (1, 4), n_rounds=9, n_seeds=3), 2)
    comparison_tables.write_tables(
        comparison, (tmp_path / probes.PROBE_NAME).read_bytes(), tmp_path / "faces"
    )
    return tmp_path


def test_published_tables_are_those_of_this_code(now):
    assert list(probes.staleness(PUBLISHED, now)) == []


def test_tables_that_were_just_made_are(tables, now):
    assert list(probes.staleness(tables, now)) == []


@pytest.mark.parametrize("change", ["bins", "search"])
def test_a_change_of_what_is_found_makes_tables_stale(tables, change, monkeypatch):
    if change == "bins":
        monkeypatch.setattr(binning, "N_EDGE_SAMPLES", 64)
    else:
        candidates = StumpSearch.candidates
        monkeypatch.setattr(StumpSearch, "candidates", lambda *given: candidates(*given)[1:])
    (fault,) = probes.staleness(tables, probes.probe())
    assert "the code has changed since the tables were made" in fault
    assert "make the tables anew (tools/run_comparison.py)" in fault


def test_last_digits_may_differ(tables, now):
    changed = {name: [n and n * (1 + 1e-7) for n in numbers] for name, numbers in now.items()}
    assert list(probes.staleness(tables, changed)) == []
    name = next(iter(now))
    changed[name] = [n and n * 1.001 for n in now[name]]
    assert len(list(probes.staleness(tables, changed))) == 1


def test_whatever_is_done_to_tables_is_found(tables, now):
    (tables / "faces-weak.csv").unlink()
    with (tables / "faces-cost.csv").open("a") as file:
        file.write("\n")
    shutil.copy(tables / "faces-cost.csv", tables / "cars-cost.csv")
    faults = list(probes.staleness(tables, now))
    assert [fault.split(":")[0] for fault in faults] == ["cars-cost.csv", "faces-cost.csv", "faces-weak.csv"]
    assert "nothing tells how it was made" in faults[0]
    assert "it was changed since it was made" in faults[1]
    assert "it is not there" in faults[2]


def test_tables_of_two_versions_of_the_code_are_found(tables, now, rng):
    comparison = made_up(rng, Design(("adaboost", "csb2"), (1, 4), n_rounds=9, n_seeds=3), 2)
    comparison_tables.write_tables(comparison, b"{}", tables / "cars")
    faults = list(probes.staleness(tables, now))
    assert any(fault.startswith("faces-cost.csv: it was made with other code") for fault in faults)
    assert "the code has changed" in faults[-1]


def test_a_folder_without_provenance_is_told(tmp_path, now):
    (fault,) = probes.staleness(tmp_path, now)
    assert "there is no provenance.json" in fault


def test_a_probe_is_the_same_however_often(now):
    assert probes.differences(json.loads(json.dumps(now)), now) == []
    assert all(len(numbers) == len(probes.MEASURED) for numbers in now.values())
    assert len({tuple(numbers) for numbers in now.values()}) > len(now) // 3


@pytest.mark.data
def test_a_published_cell_is_found_again(tmp_path, shared_data):
    """The smallest table, first split: all rules of two boosters at unequal costs."""
    provenance = json.loads((PUBLISHED / probes.PROVENANCE_NAME).read_text())
    published = Design.from_dict(provenance["tables-cells.csv.gz"]["design"])
    costs = max(published.costs, key=lambda one: one.ratio)
    design = Design(
        ("adaboost", "cost-generalized"), (costs,), published.rules, published.n_rounds, n_seeds=1
    )
    comparison = compare_tables(
        [shared_data("uci") / "parkinsons.csv"], "y", tmp_path / "out", design, n_threads=1
    )
    text = gzip.decompress((PUBLISHED / "tables-cells.csv.gz").read_bytes()).decode()
    rows = {
        (row["booster"], row["rule"]): row
        for row in csv.DictReader(io.StringIO(text))
        if (row["block"], row["costs"], row["seed"]) == ("parkinsons", str(costs), "0")
    }
    for number, entry in enumerate(design.entries):
        row = rows[entry.contender.name, str(entry.rule)]
        for measure in ("hit_rate", "false_alarm_rate", "cost", "auc"):
            assert np.isclose(float(row[measure]), comparison.cells[0, number, 0][measure], rtol=1e-6)
