"""The report on a comparison: whole, safe, small, the same numbers as the summary, and nothing beside its edges."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape

import numpy as np
import pytest
from comparisons import comparison_of, made_up
from pages import HOSTILE, checked

from vjcascade.comparison.answer import answer, few
from vjcascade.comparison.design import Design
from vjcascade.comparison.results import Comparison
from vjcascade.comparison.summary import Summary
from vjcascade.report.comparison import build_comparison_report, comparison_values, drawn_entries
from vjcascade.report.comparison_tables import MAX_COSTS, MAX_DATASET_ROWS, MAX_ROWS, percent
from vjcascade.report.heat import N_SHADES

SMALL = Design(
    boosters=("adaboost", "csb0", "cost-generalized"), costs=(1, 10), n_rounds=12, n_seeds=3, sanity=True
)
BAND = re.compile(r"\d–\d")


@pytest.fixture
def comparison(rng):
    return made_up(rng, SMALL, 3)


def cells_of(html, heading):
    """Return the rows of the first table after a heading: their names and the words of their cells."""
    table = re.search(f">{heading}</h[23]>.*?</table>", html, re.DOTALL)[0]
    rows = re.findall("<tr><th>(.*?)</th>(.*?)</tr>", table.split("<tbody>")[1], re.DOTALL)
    return {name: re.findall(r"<td[^>]*>([^<]*)", cells) for name, cells in rows}


def test_its_numbers_are_those_of_the_summary(comparison):
    html, summary = build_comparison_report(comparison), Summary(comparison)
    page = checked(html)
    for sentence in answer(comparison):
        assert sentence in page.text
    weak, costs = (cells_of(html, one) for one in ("Weak classifiers to reach the targets", "costs 10:1"))
    for place, entry in enumerate(SMALL.entries):
        if entry.rule == "hit-rate" and not entry.contender.shuffled:
            shown = weak[entry.contender.name][SMALL.costs.index(entry.costs)]
            assert few(summary.overall["weak"].mean[place]) in shown
        if entry.costs.ratio == 10:
            shown = costs[entry.contender.name][SMALL.rules.index(entry.rule)]
            assert shown.strip() == percent(summary.overall["cost"].mean[place])
    by_stage = cells_of(html, "Stage by stage")
    place = next(i for i, one in enumerate(SMALL.entries) if one.name == "csb0 10:1, hit-rate")
    assert [words.strip() for words in by_stage["csb0 at 10:1"]] == [
        few(mean) for mean in summary.means["weak"].mean[:, place]
    ]
    natural = next(i for i, one in enumerate(SMALL.entries) if one.name == "csb0 10:1, natural")
    rates = [f"{summary.overall[name].mean[natural]:.1%}" for name in ("hit_rate", "false_alarm_rate")]
    assert cells_of(html, "Natural against tuned threshold")["csb0 at 10:1"][:2] == rates
    assert "vjcascade compare stages faces photos" in page.text
    assert "395" in page.text
    assert not {"nan", "inf"} & set(re.findall("[a-z]+", page.text))


def test_what_is_better_and_worse_is_marked_with_signs():
    design = Design(boosters=("adaboost", "csb0", "csb1", "csb2"), costs=(2,), rules=("hit-rate",), n_seeds=5)
    weak = np.array([[9, 9, 10, 9, 9], [5, 5, 6, 4, 5], [13, 12, 14, 13, 14], [9, 10, 9, 9, 10]])[np.newaxis]
    html = build_comparison_report(comparison_of(design, weak))
    table = re.search("reach the targets</h2>.*?</table>", html, re.DOTALL)[0]
    signs = dict(re.findall(r"<th>(\w+)</th><td[^>]*>[^<]*<i[^>]*>(.)", table))
    assert signs == {"adaboost": "b", "csb0": "▼", "csb1": "▲", "csb2": "≈"}
    assert re.search(r'<th>csb0</th><td class="s0">', table)
    assert re.search(rf'<th>csb1</th><td class="s{N_SHADES - 1}">', table)


def test_targets_that_are_not_always_reached():
    design = Design(
        boosters=("adaboost", "csb0", "csb1"), costs=(2,), rules=("hit-rate",), n_rounds=20, n_seeds=2
    )
    html = build_comparison_report(comparison_of(design, [[[9, 9], [9, 0], [0, 0]]]))
    shown = cells_of(html, "Weak classifiers to reach the targets")
    assert [words.strip() for (words,) in shown.values()] == ["9.0", "≥ 15.0", "&gt; 20"]


def test_one_seed_shows_no_bands(rng, comparison):
    one = made_up(rng, replace(SMALL, n_seeds=1), 2)
    html = build_comparison_report(one)
    assert not BAND.search(checked(html).text)
    assert not re.search('class="band-|▼|▲|≈', html)
    assert BAND.search(build_comparison_report(comparison))


def test_an_unfinished_comparison_says_so(comparison):
    some = {place: cell for place, cell in comparison.cells.items() if place[0] == 0 or place[2] == 0}
    unfinished = Comparison("stages", SMALL, comparison.datasets, some)
    text = checked(build_comparison_report(unfinished)).text
    assert "The comparison is not finished" in text
    assert "There is no diagram" in text
    nothing = checked(build_comparison_report(Comparison("stages", SMALL, comparison.datasets, {}))).text
    assert "so there is no answer yet" in nothing
    assert "nan" not in nothing


def test_a_single_dataset(rng):
    html = build_comparison_report(made_up(rng, SMALL, 1))
    assert "ranks need at least two finished stages" in checked(html).text
    assert "Stage by stage" not in html


def test_tables_put_the_cost_first(rng, comparison):
    html = build_comparison_report(made_up(rng, replace(SMALL, costs=(0.2, 1, 5)), 11, "tables"))
    checked(html)
    assert html.index("Cost of decisions") < html.index("Weak classifiers to reach")
    assert html.count("<h3>costs 5:1</h3>") == 1 + 2 + 1 + 1  # booster by rule; 8 and 3 tables; errors; ranks
    assert "Expected features per window" not in html
    other = build_comparison_report(comparison)
    assert other.index("Cost of decisions") > other.index("Weak classifiers to reach")


def test_rules_that_leave_sections_out(rng):
    for rule in ("natural", "minimum-cost"):
        design = replace(SMALL, rules=(rule,), sanity=False)
        html = build_comparison_report(made_up(rng, design, 2))
        text = checked(html).text
        assert "Weak classifiers to reach the targets" not in text
        assert "Natural against tuned" not in text
        assert ("Class errors" in text) == (rule == "natural")
        assert "Ranking and calibration" in text


def test_hostile_names(rng):
    metadata = {HOSTILE: {HOSTILE: HOSTILE}, "command": {HOSTILE: HOSTILE}}
    plain = made_up(rng, SMALL, 2, names=[HOSTILE, "<b>"])
    html = build_comparison_report(Comparison("stages", SMALL, plain.datasets, plain.cells, metadata))
    assert HOSTILE in checked(html).text
    assert escape(HOSTILE[:10]) in html


def test_what_is_drawn(rng):
    comparison = made_up(rng, SMALL, 2)
    entries = {kind: SMALL.entries[place] for kind, place in drawn_entries(Summary(comparison)).items()}
    assert "best" in entries
    assert len(set(entries.values())) == len(entries)
    if "usual" in entries:
        assert entries["usual"].contender.name == "cost-generalized"
    assert comparison_values(comparison)["rates"][0].count("<polyline") == 2 * 2 * len(entries)


def test_fifty_stages_and_thirty_entries_stay_small(rng):
    design = Design(
        boosters=("adaboost", "cost-generalized", "csb1"), costs=(1, 3), n_rounds=60, n_seeds=2, sanity=True
    )
    assert len(design.entries) >= 30
    html = build_comparison_report(made_up(rng, design, 50))
    assert 200_000 < len(html.encode()) < 2_000_000
    assert checked(html).tags.count("svg") >= 50


def test_most_of_very_many_is_left_to_the_csv(rng):
    boosters = ("adaboost", *["csb0"] * MAX_ROWS, "csb1")
    design = Design(boosters=boosters, costs=tuple(range(1, 12)), rules=("hit-rate",), n_rounds=3, n_seeds=1)
    html = build_comparison_report(made_up(rng, design, 2))
    page = checked(html)
    assert len(cells_of(html, "Stage by stage")) in (MAX_ROWS, MAX_ROWS + 1)  # with the baseline
    assert "adaboost" in cells_of(html, "Stage by stage")
    shown = cells_of(html, "Weak classifiers to reach the targets")
    assert "adaboost" in shown
    assert {len(cells) for cells in shown.values()} == {MAX_COSTS}
    assert "more are in summary.csv" in page.text
    tables = build_comparison_report(made_up(rng, replace(design, costs=(1,)), 2, "tables"))
    assert len(cells_of(tables, "Table by table")) in (MAX_DATASET_ROWS, MAX_DATASET_ROWS + 1)


MEASURED = """<body>{frames}<script>
onload = () => {{
  const widths = [...document.querySelectorAll("iframe")].map(frame => {{
    const page = frame.contentDocument.documentElement;
    return [page.clientWidth, page.scrollWidth, page.querySelectorAll("svg").length];
  }});
  document.body.innerHTML = "<pre>" + JSON.stringify(widths) + "</pre>";
}};
</script>"""


def test_a_browser_shows_it_within_a_telephone(rng, tmp_path):
    """Chromium lays the page out; wide tables scroll by themselves, the page must not."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("there is no chromium to lay a page out")
    html = build_comparison_report(made_up(rng, SMALL, 2, names=["a" * 60, "b"]))
    frames = "".join(
        f'<iframe style="border:0;width:{width}px;height:900px" srcdoc="{escape(html)}"></iframe>'
        for width in (360, 1200)
    )
    (tmp_path / "frames.html").write_text(MEASURED.format(frames=frames), encoding="utf-8")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'user'}",
        "--dump-dom",
    ]
    done = subprocess.run(
        [browser, *options, (tmp_path / "frames.html").as_uri()], check=True, capture_output=True, timeout=120
    )
    found = json.loads(re.search("<pre>(.*?)</pre>", done.stdout.decode())[1])
    for client, scroll, n_drawings in found:
        assert 340 <= client == scroll
        assert n_drawings == html.count("<svg")
    assert found[0][0] < found[1][0]
