"""The summary of a comparison: what is counted together, what is compared with what, who is ranked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from comparisons import comparison_of, made_up
from scipy.stats import ttest_1samp

from vjcascade.boosters import Costs
from vjcascade.comparison.design import Contender, Design, Entry, Rule
from vjcascade.comparison.results import MEASURES, Comparison
from vjcascade.comparison.significance import corrected_in_families
from vjcascade.comparison.statistics import critical_difference, interval, mean_ranks, paired_difference
from vjcascade.comparison.summary import BASELINE_RULES, MIN_TABLES, Summary, Verdict
from vjcascade.evaluation.intervals import Interval

BOTH = Design(boosters=("adaboost", "csb0"), costs=(1, 10), rules=("hit-rate",), n_rounds=20, n_seeds=3)
# entries: adaboost 1:1, adaboost 10:1, csb0 1:1, csb0 10:1
WEAK = np.array(
    [
        [[5, 6, 7], [5, 6, 7], [3, 4, 8], [0, 12, 0]],
        [[9, 9, 9], [9, 9, 9], [7, 8, 7], [0, 0, 0]],
    ]
)


@pytest.fixture
def summary():
    return Summary(comparison_of(BOTH, WEAK, pass_rates=[1.0, 0.25]))


def same(found, expected):
    return (found.mean, found.low, found.high) == pytest.approx(
        (expected.mean, expected.low, expected.high), nan_ok=True
    )


def test_each_dataset(summary):
    assert summary.reached.tolist() == [[1, 1, 1, pytest.approx(1 / 3)], [1, 1, 1, 0]]
    assert summary.weak_median[0].tolist() == [6, 6, 4, np.inf]
    assert summary.n_seeds.tolist() == [[3] * 4] * 2
    found = summary.means["weak"]
    assert same(found.at(0, 2), interval(np.array([3.0, 4, 8]), 0.5, bounds=(0, 21)))
    assert same(found.at(0, 3), interval(np.array([21.0, 12, 21]), 0.5, bounds=(0, 21)))  # 20 were not enough
    assert found.high[1, 3] == found.low[1, 3] == 21


def test_all_datasets_together(summary):
    total = WEAK[0, 2] + WEAK[1, 2]
    assert same(summary.overall["weak"].at(2), interval(total.astype(float), 0.5))
    expected = paired_difference(total.astype(float), (WEAK[0, 0] + WEAK[1, 0]).astype(float), 0.5)
    assert same(summary.overall_differences["weak"].at(2), expected)
    assert summary.overall["cost"].mean == pytest.approx([0.1] * 4)


def test_expected_features_per_window(summary):
    features = WEAK[0, 2] + 0.25 * WEAK[1, 2]
    assert same(summary.features.at(2), interval(features, 0.5, bounds=(0, np.inf)))
    differences = summary.overall_differences["features"]
    assert differences.mean[2] == pytest.approx((features - WEAK[0, 0] - 2.25).mean())


def test_without_pass_rates_there_are_no_features():
    assert Summary(comparison_of(BOTH, WEAK)).features is None


def test_what_is_not_finished_is_left_out_of_the_whole():
    whole = comparison_of(BOTH, WEAK, pass_rates=[1.0, 0.25])
    cells = {place: cell for place, cell in whole.cells.items() if place != (1, 3, 2)}
    summary = Summary(Comparison(whole.kind, BOTH, whole.datasets, cells))
    assert summary.complete == (0,)
    assert summary.n_seeds[1].tolist() == [3, 3, 3, 2]
    assert summary.overall["weak"].mean[:3].tolist() == [6, 6, 5]
    empty = Summary(Comparison(whole.kind, BOTH, whole.datasets, {}))
    assert empty.complete == ()
    assert np.isnan(empty.overall["weak"].mean).all()
    assert np.isnan(empty.weak_rank_test.ranks).all()


def test_one_seed_has_no_bands():
    design = Design(**(BOTH.as_dict() | {"n_seeds": 1}))
    summary = Summary(comparison_of(design, WEAK[:, :, :1]))
    assert np.isnan(summary.means["weak"].low).all()
    assert summary.overall_differences["weak"].verdict(2) is Verdict.UNKNOWN


def test_what_each_entry_is_compared_with():
    design = Design(
        boosters=("adaboost", "csb0"), costs=(1, 10), rules=("natural", "hit-rate", "minimum-cost")
    )
    summary = Summary(comparison_of(design, np.ones((1, len(design.entries), 5))))
    for place, entry in enumerate(design.entries):
        tuned = Entry(Contender("adaboost"), entry.costs, Rule.HIT_RATE)
        cheap = Entry(Contender("adaboost"), entry.costs, Rule.MINIMUM_COST)
        expected = summary.place_of(tuned) if entry.rule is Rule.HIT_RATE else None
        assert (
            summary.baseline_of(place, "weak") == summary.baseline_of(place, "false_alarm_rate") == expected
        )
        assert summary.baseline_of(place, "cost") == summary.place_of(cheap)
        assert np.isnan(summary.differences["weak"].mean[0, place]) == (expected is None)
        assert summary.differences["cost"].mean[0, place] == 0


def test_without_adaboost_nothing_is_compared():
    design = Design(boosters=("csb0", "csb1"), costs=(2,), rules=("hit-rate",), n_seeds=3)
    summary = Summary(comparison_of(design, WEAK[:, :2]))
    assert all(np.isnan(summary.overall_differences[name].mean).all() for name in BASELINE_RULES)


def test_a_booster_named_twice_shows_no_difference():
    design = Design(boosters=("adaboost", "adaboost"), costs=(2,), rules=("hit-rate",), n_seeds=3)
    summary = Summary(comparison_of(design, WEAK[:, [0, 0]]))
    assert summary.overall_differences["weak"].at(1) == Interval(0.0, 0.0, 0.0)
    assert summary.overall_differences["weak"].verdict(1) is Verdict.ALIKE
    assert summary.weak_rank_test.ranks.tolist() == [1.5, 1.5]


def test_who_is_ranked(rng):
    design = Design(
        boosters=("adaboost", "csb0", "csb1"),
        costs=(1, 10),
        rules=("hit-rate", "natural"),
        n_seeds=2,
        sanity=True,
    )
    summary = Summary(made_up(rng, design, 4))
    names = [design.entries[entry].name for entry in summary.weak_rank_test.entries]
    assert names == [
        "adaboost 1:1, hit-rate",
        "csb0 1:1, hit-rate",
        "csb0 10:1, hit-rate",
        "csb1 1:1, hit-rate",
        "csb1 10:1, hit-rate",
    ]
    table = summary.means["weak"].mean[:, list(summary.weak_rank_test.entries)]
    assert summary.weak_rank_test.ranks == pytest.approx(mean_ranks(table))
    assert summary.weak_rank_test.n_datasets == 4
    assert (np.diff(summary.weak_rank_test.ranks[summary.weak_rank_test.order]) >= 0).all()
    by_cost = summary.cost_rank_tests[Costs(10, 1)]
    assert {design.entries[entry].costs for entry in by_cost.entries} == {Costs(10, 1)}
    assert len(by_cost.entries) == 3 * 2
    assert by_cost.friedman is None  # stages of one cascade depend on each other
    tables = Summary(made_up(rng, design, 4, "tables")).cost_rank_tests[Costs(10, 1)]
    assert tables.friedman.n_entries == 6
    assert tables.difference == pytest.approx(
        critical_difference(6, 4, 1 - 0.05 / 6)
    )  # two of three families


def test_one_dataset_has_no_critical_difference(rng):
    rank_test = Summary(made_up(rng, BOTH, 1)).weak_rank_test
    assert rank_test.friedman is None
    assert np.isnan(rank_test.difference)
    assert rank_test.ranks[rank_test.order[0]] == rank_test.ranks.min()


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        ((-2, 0.01), Verdict.BETTER),
        ((1, 0.04), Verdict.WORSE),
        ((-1, 0.05), Verdict.ALIKE),
        ((1, np.nan), Verdict.UNKNOWN),
    ],
)
def test_verdicts(judged, expected):
    assert Verdict.of(*judged) is expected


def test_a_family_is_corrected_together(rng):
    design = Design(boosters=("adaboost", "csb0", "csb1"), costs=(1, 10), n_seeds=4, n_rounds=20, sanity=True)
    summary = Summary(made_up(rng, design, 2))
    found = summary.overall_differences
    p = np.array([found[claim.measure].p[claim.entry] for claim in summary.claims])
    corrected = np.array([claim.corrected for claim in summary.claims])
    assert corrected == pytest.approx(corrected_in_families(p))
    n_tuned, n_cost = (
        4,
        2 * (5 * 3 - 2 * 1) - 2,
    )  # csb has no theory threshold; calibrated AdaBoost is the baseline
    assert len(p) == 3 * n_tuned + n_cost  # weak classifiers, false alarms, features; costs
    assert {claim.measure for claim in summary.claims} == {"weak", "false_alarm_rate", "features", "cost"}
    for claim in summary.claims:
        assert claim.mean == found[claim.measure].mean[claim.entry]
        assert not design.entries[claim.entry].contender.shuffled


def test_a_dataset_shows_no_difference_where_all_together_do_not(rng):
    cost = np.full((2, 4, 5), 0.2)
    design = replace(BOTH, rules=("minimum-cost",), n_seeds=5)
    cost[0, 2] = 0.1 + 0.001 * np.arange(5)
    cost[1, 2] = 0.3 + 0.001 * np.arange(5) ** 2
    summary = Summary(comparison_of(design, np.ones((2, 4, 5)), cost=cost))
    assert summary.differences["cost"].p[0, 2] < 1e-4
    assert summary.overall_differences["cost"].verdict(2) is Verdict.ALIKE
    assert summary.differences["cost"].verdict(0, 2) is Verdict.ALIKE
    cost[1, 2] = cost[0, 2]
    summary = Summary(comparison_of(design, np.ones((2, 4, 5)), cost=cost))
    assert summary.differences["cost"].verdict(0, 2) is Verdict.BETTER


def test_the_baseline_is_the_better_of_the_rules_that_take_part():
    for rules, expected in (
        (("natural", "minimum-cost", "calibrated"), Rule.CALIBRATED),
        (("theory", "minimum-cost"), Rule.MINIMUM_COST),
        (("natural", "hit-rate"), None),
    ):
        design = replace(BOTH, rules=rules)
        summary = Summary(comparison_of(design, np.ones((1, len(design.entries), 3))))
        assert summary.baseline_rule("cost") is expected


def test_many_tables_are_what_is_counted(rng):
    design = replace(BOTH, rules=("minimum-cost",))
    cost = rng.uniform(0.1, 0.3, (MIN_TABLES, 4, 3))
    summary = Summary(comparison_of(design, np.ones(cost.shape), "tables", cost=cost))
    units = (cost[:, 2] - cost[:, 0]).mean(axis=1)
    found = summary.overall_differences["cost"]
    assert same(found.at(2), interval(units, 0.0))
    assert found.p[2] == pytest.approx(ttest_1samp(units, 0).pvalue)
    few = Summary(comparison_of(design, np.ones((2, 4, 3)), "tables", cost=cost[:2]))
    assert same(
        few.overall_differences["cost"].at(2), interval((cost[:2, 2] - cost[:2, 0]).mean(axis=0), 0.5)
    )


def test_every_measure_is_told(summary):
    assert set(summary.means) == set(summary.overall) == set(MEASURES)
