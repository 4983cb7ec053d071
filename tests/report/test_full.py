"""The part of the report on whole cascades: what it says is what was measured, whatever is missing."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pages import HOSTILE, checked

from vjcascade.boosters import Costs
from vjcascade.comparison import full_results
from vjcascade.comparison.design import Contender
from vjcascade.comparison.full_results import FullComparison, FullEntry, Outcome
from vjcascade.comparison.scenes import Found
from vjcascade.report import full as module
from vjcascade.report.full import build_full_report, full_answer, full_values

N_SCENES = 40
BASELINE, BETTER, WORSE, NONE = (
    FullEntry(Contender(booster), costs)
    for booster, costs in (
        ("adaboost", Costs()),
        ("adac2", Costs(4, 1)),
        ("csb1", Costs(2, 1)),
        ("adac3", Costs(9, 1)),
    )
)


def outcome(n_hits, features, **changes):
    """Return a cascade that finds so many of the objects, one in each scene, and then a false alarm."""
    n = n_hits + 1
    found = Found(np.arange(n), np.arange(float(n), 0, -1), np.arange(n) < n_hits, features)
    numbers = {"n_stages": 3, "n_weak": 1234, "false_alarm_rate": 2e-5, "held_out_hit_rate": 0.975}
    return Outcome(found, "training ended", **{**numbers, **changes})


@pytest.fixture
def full():
    """Return a comparison of the baseline, a better, a worse and an entry without cascade."""
    outcomes = {
        (0, 0): outcome(20, 9.0, seconds=61.0, processor_seconds=100.0, memory=300 * 2**20),
        (1, 0): outcome(36, 12.5),
        (2, 0): outcome(6, 2.25, held_out_hit_rate=None),
        (3, 0): Outcome(None, f"no stage could be trained: {HOSTILE}"),
    }
    metadata = {
        "command": {"compare": f"vjcascade compare {HOSTILE}"},
        "settings": {"max_stages": 3},
        "scenes": {"source": HOSTILE, "scenes": N_SCENES},
    }
    return FullComparison(
        (BASELINE, BETTER, WORSE, NONE), (0,), np.ones(N_SCENES, np.int64), outcomes, metadata
    )


def test_the_answer_names_the_best_and_the_fastest(full):
    verdict, best, against, fast = full_answer(full)
    assert verdict.startswith(
        "There is evidence of a difference. Of the 6 comparisons of hit rates with plain"
    )
    assert "Better: adac2 at 4:1 at 0.01 (p 0.001)" in verdict
    assert "Worse: csb1 at 2:1 at 0.01 (p 0.001)" in verdict
    assert best.startswith(
        "On 40 scenes with 40 objects, the cascade of adac2 at 4:1 has the highest hit rate at 0.1 "
    )
    assert ": 90.0% (" in best
    assert against.startswith("That of plain AdaBoost finds 50.0% (")
    assert "difference is +40.0 points (" in against
    assert against.endswith("corrected p 0.001).")
    assert "csb1 at 2:1 evaluates the fewest" in fast
    assert "2.2 on average" in fast


def test_nobody_finds_most_of_nothing(full):
    none = FullComparison(
        (BASELINE, BETTER), (0,), full.n_objects, {(0, 0): outcome(0, 9.0), (1, 0): outcome(0, 9.0)}
    )
    assert full_answer(none) == [
        "On 40 scenes with 40 objects, no cascade finds any at 0.1 false alarms per scene."
    ]


def test_what_may_be_chance_is_said_to_be(full):
    outcomes = {(0, 0): outcome(20, 9.0), (1, 0): outcome(21, 9.0)}
    outcomes[1, 0].found.scenes[:] = (outcomes[1, 0].found.scenes + 19) % N_SCENES
    two = FullComparison((BASELINE, BETTER), (0,), full.n_objects, outcomes)
    assert full_answer(two)[0].startswith(
        "No evidence of a difference; keep the default, cost-generalized at 2:1. None"
    )
    assert full_values(two)["rows"][0]["mark"] == "≈"


def test_the_table_has_every_entry_best_first(full):
    values = full_values(full)
    rows = values["rows"]
    assert [row["name"] for row in rows] == ["adac2 at 4:1", "adaboost", "csb1 at 2:1", "adac3 at 9:1"]
    assert [row["difference"] for row in rows] == ["+40.0", "baseline", "-35.0", "–"]
    assert [row["mark"] for row in rows] == ["▲", "", "▼", ""]
    assert [row["hits"][1] for row in rows] == ["90.0%", "50.0%", "15.0%", "–"]
    assert rows[1]["time"] == "1m 01s"
    assert rows[1]["processor"] == "1m 40s"
    assert rows[1]["memory"] == "300 MiB"
    assert rows[0]["time"] == "–"
    assert rows[2]["held_out"] == "–"
    assert values["failed"] == [f"adac3 at 9:1, seed 0: no stage could be trained: {HOSTILE}"]


def test_the_forest_shows_rates_where_they_are(full):
    chart = module.forest_chart(full)
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', chart)]
    left, width = 150, module.WIDTH - 150 - 44
    assert places == pytest.approx([left + width * rate for rate in (0.9, 0.5, 0.15)], abs=0.01)
    assert chart.count("hit-line") == 3
    assert "not trained" in chart


def test_a_curve_rises_and_stays_in_its_frame(full):
    chart = module.curve_chart(full, 1)
    own, base = (
        [tuple(map(float, point.split(","))) for point in points.split()]
        for points in re.findall(r'points="([^"]+)" class="curve [^"]*(?:hit|false)-line"', chart)[::-1]
    )
    assert [x for x, _ in own] == sorted(x for x, _ in own)
    assert [y for _, y in own] == sorted((y for _, y in own), reverse=True)
    assert all(34 <= x <= 210 and 20 <= y <= 132 for x, y in own)
    assert own[-1][1] == pytest.approx(20 + 112 * 0.1)
    assert base[-1][1] == pytest.approx(20 + 112 * 0.5)
    assert "NaN" not in chart
    assert "nan" not in module.curve_chart(full, 3)


def test_the_page_is_whole_and_says_the_numbers(full):
    html = build_full_report(full)
    page = checked(html)
    assert page.text.count(HOSTILE) == 3
    assert f"vjcascade compare {HOSTILE}" in page.text
    assert "1,234" in page.text
    assert "does not include the variation between training seeds" in page.text
    assert page.tags.count("svg") == 1 + 3
    assert "nan" not in html.lower().replace("nance", "")


def test_without_baseline_nothing_is_said_of_it(full):
    alone = FullComparison(
        (BETTER,), (0, 1), full.n_objects, {(0, 0): full.outcomes[1, 0], (0, 1): full.outcomes[3, 0]}
    )
    text = checked(build_full_report(alone)).text
    assert "aseline" not in text
    assert "1 of 2" in text
    assert "seeds" in text


def test_many_entries_stay_small(full, monkeypatch):
    monkeypatch.setattr(full_results, "N_RESAMPLES", 20)
    entries = tuple(FullEntry(Contender("adac2", copy=k + 1), Costs(4, 1)) for k in range(70))
    many = FullComparison(entries, (0,), full.n_objects, {(k, 0): full.outcomes[1, 0] for k in range(70)})
    html = build_full_report(many)
    assert len(html) < 500_000
    assert checked(html).tags.count("svg") == 1 + module.MAX_CURVES
    assert "10 more are in the table" in html
