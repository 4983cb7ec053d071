"""Questions that were fixed before: read from files that may be anything, and answered as one family."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from comparisons import comparison_of
from hypothesis import given, strategies as st

from vjcascade.boosters import Costs
from vjcascade.comparison.answer import answer
from vjcascade.comparison.contrasts import Contrast, Side, contrasts_csv, judged, read_contrasts
from vjcascade.comparison.design import Design
from vjcascade.comparison.significance import corrected_in_families
from vjcascade.comparison.statistics import interval
from vjcascade.comparison.summary import Summary, Verdict
from vjcascade.errors import SourceError

DESIGN = Design(
    ("adaboost", "cost-generalized:sample"), (1, 3, 9), ("natural", "theory"), n_rounds=9, n_seeds=5
)
MORE = Contrast(
    "more than a threshold?",
    "cost",
    Side("cost-generalized:sample", "natural"),
    Side("adaboost", "theory"),
)
PUBLISHED = Path(__file__).parents[2] / "samples" / "comparison" / "contrasts.toml"


@pytest.fixture
def comparison(rng):
    cost = rng.uniform(0.2, 0.3, (2, len(DESIGN.entries), 5))
    place = {entry.name: i for i, entry in enumerate(DESIGN.entries)}
    cost[:, place["cost-generalized:sample 9:1, natural"]] -= 0.25 + 0.001 * np.arange(5)
    return comparison_of(DESIGN, np.ones(cost.shape), cost=cost)


def test_the_answers_are_paired_differences_of_one_family(comparison):
    summary = Summary(comparison)
    outcomes = judged(summary, [MORE])
    assert [one.costs for one in outcomes] == [Costs(3, 1), Costs(9, 1)]  # at equal costs nothing is asked
    place = {entry.name: i for i, entry in enumerate(DESIGN.entries)}
    costs = comparison.values("cost").mean(axis=0)
    for one in outcomes:
        sides = [f"cost-generalized:sample {one.costs}, natural", f"adaboost {one.costs}, theory"]
        first, second = (costs[place[name]] for name in sides)
        assert one.means == pytest.approx((first.mean(), second.mean()))
        expected = interval(first - second, 0.5)
        assert (one.difference.low, one.difference.high) == pytest.approx((expected.low, expected.high))
        assert one.n_units == 5
    assert [one.corrected for one in outcomes] == pytest.approx(
        corrected_in_families(np.array([one.p for one in outcomes]))
    )
    assert [one.verdict for one in outcomes] == [Verdict.ALIKE, Verdict.BETTER]


def test_answers_come_after_the_verdict_and_in_a_table(comparison):
    outcomes = judged(Summary(comparison), [MORE])
    text = " ".join(answer(comparison, outcomes))
    assert (
        "Of 2 contrasts fixed in advance, 1 is significant after Holm's correction: cost of "
        "cost-generalized:sample (natural) at 9:1 less than of adaboost (theory) (corrected p "
    ) in text
    rows = list(csv.DictReader(contrasts_csv(outcomes).splitlines()))
    assert [row["verdict"] for row in rows] == ["no evidence of a difference", "better"]
    assert rows[1]["costs"] == "9:1"
    assert float(rows[1]["corrected_p"]) == pytest.approx(outcomes[1].corrected, rel=1e-3)


def test_of_hit_rates_more_is_better(comparison):
    asked = Contrast("hits?", "hit_rate", MORE.first, MORE.second, ("9:1",))
    (one,) = judged(Summary(comparison), [asked])
    assert one.verdict is Verdict.ALIKE
    assert one.difference.mean == 0


def test_what_takes_no_part_is_left_out(comparison):
    other = Contrast("?", "cost", Side("csb0", "natural"), MORE.second)
    assert judged(Summary(comparison), [other]) == ()
    assert "contrast" not in " ".join(answer(comparison, judged(Summary(comparison), [other])))


def test_the_published_questions_can_be_read():
    contrasts = read_contrasts(PUBLISHED)
    assert len({one.question for one in contrasts}) == len(contrasts) >= 6


GOOD = """[[contrast]]
question = "?"
measure = "cost"
first = {booster = "adaboost", rule = "theory"}
second = {booster = "adaboost", rule = "natural"}
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "missing required field `contrast`"),
        ("[[contrast]]\nquestion = 3", "Expected `str`, got `int`"),
        ("[[contrast]", "Expected"),
        (
            GOOD.replace('"cost"', '"swapped"'),
            "measure 'swapped' is not one of weak, hit_rate, false_alarm_rate, cost",
        ),
        (GOOD.replace('"theory"', '"teory"'), "theory"),
        (GOOD.replace('"adaboost"', '"adabost"'), "adaboost"),
        (GOOD.replace('"adaboost", rule = "theory"', '"csb0", rule = "theory"'), "makes no sense after csb0"),
        (
            GOOD.replace('"adaboost", rule = "theory"', '"adaboost:sample", rule = "theory"'),
            "has no prior to choose",
        ),
        (GOOD + 'costs = ["0:1"]', "positive cost 0.0 is not a finite number above zero"),
        (GOOD + "more = 1", "unknown field `more`"),
    ],
)
def test_files_that_are_no_questions_are_refused(tmp_path, text, reason):
    path = tmp_path / "asked.toml"
    path.write_text(text)
    with pytest.raises(SourceError, match=r"asked\.toml is not a list of contrasts: ") as caught:
        read_contrasts(path)
    assert reason in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SourceError, match="No such file"):
        read_contrasts(tmp_path / "none.toml")


@given(st.text(max_size=200))
def test_any_text_is_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "asked.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(SourceError, match=r"asked\.toml is not a list of contrasts"):
        read_contrasts(path)
