"""CSV and JSON: every number of a comparison, with all its digits."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from comparisons import made_up

from vjcascade.comparison.design import Design
from vjcascade.comparison.export import ALL_DATASETS, curves_csv, results_csv, results_json, summary_csv
from vjcascade.comparison.results import MEASURES, Comparison
from vjcascade.comparison.summary import Summary

DESIGN = Design(
    boosters=("adaboost", "csb0", "csb0"), costs=(1, 10), rules=("natural", "hit-rate"), n_rounds=8, n_seeds=2
)


@pytest.fixture
def comparison(rng):
    return made_up(rng, DESIGN, 2, names=['a "quoted", name', "stage\n2"])


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_every_result_is_a_line(comparison):
    rows = rows_of(results_csv(comparison))
    assert len(rows) == len(comparison.cells)
    for row, ((dataset, entry, seed), cell) in zip(rows, sorted(comparison.cells.items()), strict=True):
        one = DESIGN.entries[entry]
        assert row["block"] == comparison.datasets[dataset].name
        assert (row["booster"], row["costs"], row["rule"]) == (one.contender.name, str(one.costs), one.rule)
        assert int(row["seed"]) == seed
        for name in [*MEASURES, "threshold"]:
            assert row[name] == ("" if cell[name] is None else repr(cell[name]))
    assert any(row["weak"] == "" for row in rows)  # or this shows less than it says


def test_the_summary_is_that_of_the_report(comparison):
    summary, rows = Summary(comparison), rows_of(summary_csv(comparison))
    n_datasets, n_entries, _ = comparison.shape
    assert len(rows) == (n_datasets + 1) * n_entries
    for row, (dataset, entry) in zip(rows, np.ndindex(n_datasets, n_entries), strict=False):
        assert row["block"] == comparison.datasets[dataset].name
        assert float(row["cost_mean"]) == summary.means["cost"].mean[dataset, entry]
        assert float(row["reached"]) == summary.reached[dataset, entry]
        assert float(row["weak_high"]) == summary.means["weak"].high[dataset, entry]
    for entry, row in enumerate(rows[-n_entries:]):
        assert row["block"] == ALL_DATASETS
        assert float(row["features_per_window_mean"]) == summary.features.mean[entry]
        difference = summary.overall_differences["weak"].mean[entry]
        assert row["weak_difference_mean"] == ("" if np.isnan(difference) else repr(float(difference)))
        is_ranked = entry in summary.weak_rank_test.entries
        assert (row["weak_rank"] != "") == is_ranked


def test_corrected_p_values_stand_beside_differences(rng):
    design = Design(("adaboost", "csb0"), (1, 10), ("natural", "calibrated"), n_rounds=8, n_seeds=3)
    comparison = made_up(rng, design, 2)
    summary, rows = Summary(comparison), rows_of(summary_csv(comparison))
    assert {row["cost_baseline"] for row in rows} == {"adaboost, calibrated"}
    for row, found in zip(rows[-len(design.entries) :], range(len(design.entries)), strict=True):
        differences = summary.overall_differences["cost"]
        for name, numbers in (("p", differences.p), ("corrected_p", differences.corrected)):
            expected = "" if np.isnan(numbers[found]) else repr(float(numbers[found]))
            assert row[f"cost_difference_{name}"] == expected
    assert "" in {row["cost_difference_corrected_p"] for row in rows}  # the baseline itself


def test_learning_curves_have_both_error_rates_and_their_ratio(comparison):
    rows = rows_of(curves_csv(comparison))
    assert len(rows) == len(DESIGN.entries) * len(DESIGN.kept_rounds)
    assert [int(row["round"]) for row in rows[: len(DESIGN.kept_rounds)]] == list(DESIGN.kept_rounds)
    last = rows[len(DESIGN.kept_rounds) - 1]
    summary = Summary(comparison)
    missed = 1 - summary.overall["hit_rate"].mean[0]
    false = summary.overall["false_alarm_rate"].mean[0]
    assert float(last["miss_rate"]) == pytest.approx(missed)
    assert float(last["false_alarm_rate"]) == pytest.approx(false)
    assert last["ratio"] == "" if false == 0 else float(last["ratio"]) == pytest.approx(missed / false)
    assert float(last["cost_mean"]) == pytest.approx(summary.overall["cost"].mean[0], abs=1e-3)
    nothing = Comparison("stages", DESIGN, comparison.datasets, {})
    assert rows_of(curves_csv(nothing)) == []


def test_what_is_not_there_is_blank(comparison):
    first = {place: cell for place, cell in comparison.cells.items() if place[0] == 0 and place[2] == 0}
    rows = rows_of(summary_csv(Comparison("stages", DESIGN, comparison.datasets, first)))
    assert {row["block"] for row in rows} == {dataset.name for dataset in comparison.datasets}
    assert {row["n_seeds"] for row in rows} == {"1", "0"}
    assert {row["cost_low"] for row in rows} == {""}
    assert all((row["cost_mean"] == "") == (row["n_seeds"] == "0") for row in rows)


def test_json_makes_the_comparison_again(comparison):
    text = results_json(comparison)
    again = Comparison.from_dict(json.loads(text))
    assert again.as_dict() == comparison.as_dict()
    assert results_csv(again) == results_csv(comparison)
    assert text.endswith("\n")
