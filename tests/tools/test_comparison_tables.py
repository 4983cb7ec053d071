"""The tables of a comparison hold the numbers of its summary."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest
from comparisons import made_up

from vjcascade.comparison import Design, results_json
from vjcascade.comparison.summary import Summary


@pytest.mark.parametrize("kind", ["stages", "tables"])
def test_tables_hold_the_numbers_of_the_summary(program, monkeypatch, tmp_path, rng, kind):
    design = Design(boosters=("adaboost", "csb2"), costs=(1, 4), n_rounds=20, n_seeds=3)
    comparison = made_up(rng, design, 2, kind)
    (tmp_path / "results.json").write_text(results_json(comparison))
    (tmp_path / "probe.json").write_text("{}")
    asked = '[[contrast]]\nquestion = "?"\nmeasure = "cost"\nfirst = {booster = "csb2", rule = "natural"}\n'
    (tmp_path / "asked.toml").write_text(asked + 'second = {booster = "adaboost", rule = "theory"}\n')
    tables = program("comparison_tables")
    words = [
        tmp_path / "results.json",
        "--output",
        tmp_path / "faces",
        "--contrasts",
        tmp_path / "asked.toml",
    ]
    monkeypatch.setattr("sys.argv", ["", *map(str, words)])
    tables.main()
    summary = Summary(comparison)
    costs = list(csv.DictReader((tmp_path / "faces-cost.csv").read_text().splitlines()))
    assert len(costs) == len(design.entries)
    entry = next(i for i, one in enumerate(design.entries) if one.name == "csb2 4:1, calibrated")
    (row,) = (r for r in costs if (r["booster"], r["costs"], r["rule"]) == ("csb2", "4:1", "calibrated"))
    assert float(row["cost"]) == pytest.approx(summary.overall["cost"].mean[entry], rel=1e-3)
    difference = float(row["difference from adaboost, calibrated"])
    assert difference == pytest.approx(summary.overall_differences["cost"].mean[entry], rel=1e-3)
    corrected = summary.overall_differences["cost"].corrected[entry]
    assert float(row["difference_corrected_p"]) == pytest.approx(corrected, rel=1e-3)
    missed = 1 - summary.overall["hit_rate"].mean[entry]
    assert float(row["miss_rate"]) == pytest.approx(missed, rel=1e-3)
    (answered,) = csv.DictReader((tmp_path / "faces-contrasts.csv").read_text().splitlines())
    assert (answered["costs"], answered["units"]) == ("4:1", "3")
    cells = gzip.decompress((tmp_path / "faces-cells.csv.gz").read_bytes()).decode().splitlines()
    assert len(cells) == 1 + len(comparison.cells)
    curves = list(
        csv.DictReader(gzip.decompress((tmp_path / "faces-curves.csv.gz").read_bytes()).decode().splitlines())
    )
    assert len(curves) == len(design.entries) * len(design.kept_rounds)
    ranks = [float(r["rank"]) for r in costs if r["costs"] == "4:1"]
    assert ranks == sorted(ranks)
    assert (tmp_path / "faces-weak.csv").exists() == (kind == "stages")
    if kind == "stages":
        weak = list(csv.DictReader((tmp_path / "faces-weak.csv").read_text().splitlines()))
        assert [r["booster"] for r in weak].count("adaboost") == 1
        assert np.isclose(
            float(weak[0]["stage 1"]) + float(weak[0]["stage 2"]), float(weak[0]["sum"]), rtol=2e-3
        )
