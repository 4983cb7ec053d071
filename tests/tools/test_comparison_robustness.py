"""How far published tables can be trusted: the answer is that of the published tables, and it is right."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vjcascade.comparison.significance import SIGNIFICANT

PUBLISHED = Path(__file__).resolve().parents[2] / "samples" / "comparison"


@pytest.fixture
def tool(program):
    return program("comparison_robustness")


def test_what_is_published_follows_from_the_published_tables(tool):
    """Single results give the published p-values, or this ends; fewer runs are simulated than for what is published."""
    now = tool.robustness(PUBLISHED, n_repeats=40)
    kept = json.loads((PUBLISHED / tool.ROBUSTNESS).read_text())
    for part in ("made_of", "tests", "ranks"):
        assert now[part] == kept[part]
    for name, by_costs in kept["found_in_80_percent"].items():
        for costs, points in by_costs.items():
            assert now["found_in_80_percent"][name][costs]["median"] == pytest.approx(
                points["median"], rel=0.3
            )


def test_tables_of_another_run_are_refused(tool, tmp_path):
    for name in (tool.CELLS, tool.CONTRASTS):
        (tmp_path / name).write_bytes((PUBLISHED / name).read_bytes())
    lines = (PUBLISHED / tool.COST).read_text().splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if line.startswith("3:1,csb2,natural,"))
    cells = lines[place].split(",")
    assert float(cells[10]) < SIGNIFICANT
    lines[place] = ",".join([*cells[:10], "0.9", *cells[11:]])
    (tmp_path / tool.COST).write_text("".join(lines))
    with pytest.raises(
        SystemExit, match="p-values of the differences from the baseline are not those of its cells"
    ):
        tool.robustness(tmp_path, n_repeats=1)


def test_a_difference_of_the_size_told_is_found_as_often_as_told(tool, rng):
    family = tool.Family(
        ["2:1"] * 12, rng.exponential(1.0, (1, 25)) * np.linspace(1, 2, 12)[:, np.newaxis] - 1, np.ones(12)
    )
    points = tool.detectable(family, 400, 0)["2:1"]
    assert points["least"] < points["median"] < points["greatest"]
    hardest, found, signs = family.values.std(axis=1).argmax(), 0, np.random.default_rng(2)
    for _ in range(400):
        values = family.values * signs.choice([-1.0, 1.0], 25)
        values[hardest] += points["greatest"] / 100
        found += tool.corrected_by_t(values)[hardest] < SIGNIFICANT
    assert found / 400 == pytest.approx(tool.POWER, abs=0.08)


def test_skewed_differences_are_claimed_too_often_where_one_table_may_be_missed(tool, rng):
    """One table far from all others: without it, what is left seems to be all on one side."""
    far = np.zeros((1, 25))
    far[0, 0] = 1.0
    far += 0.001 * rng.standard_normal(far.shape)
    wrong = tool.wrong_claims([far], {"1:1": rng.standard_normal((25, 4))}, 300)
    assert wrong["tables drawn with replacement"] > 0.2
    assert wrong["tables drawn with replacement, those that the t claims"] == 0
    assert wrong["signs drawn"] == 0
    symmetric = tool.wrong_claims([rng.standard_normal((30, 25))], {"1:1": rng.standard_normal((25, 4))}, 300)
    assert max(symmetric.values()) <= 0.06
