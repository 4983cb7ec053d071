"""The answer: its sentences say what the numbers say, and no more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from comparisons import comparison_of, made_up, plain_cell

from vjcascade.boosters import Costs
from vjcascade.comparison.answer import answer, cheapest, fewest_weak, pair_name
from vjcascade.comparison.design import Design
from vjcascade.comparison.results import Comparison
from vjcascade.comparison.summary import Summary

TUNED = Design(boosters=("adaboost", "csb0"), costs=(1, 10), rules=("hit-rate",), n_rounds=20, n_seeds=5)
# entries: adaboost 1:1, adaboost 10:1, csb0 1:1, csb0 10:1


def text_of(comparison):
    return " ".join(answer(comparison))


def weak_of(*means):
    """Return weak classifiers of two stages and five seeds that differ by at most one, as those of other entries do."""
    odd = np.eye(len(means), 5, dtype=int) * np.array([1, 0])[:, np.newaxis, np.newaxis]
    return (
        np.array(means)[np.newaxis, :, np.newaxis]
        + np.array([[0, 1, 0, 1, 0], [1, 0, 0, 0, 1]])[:, np.newaxis]
        + odd
    )


def with_cells(comparison, change):
    cells = {
        place: cell | change(comparison.entries[place[1]], place[2])
        for place, cell in comparison.cells.items()
    }
    return Comparison(comparison.kind, comparison.design, comparison.datasets, cells)


def test_a_clear_difference():
    text = text_of(comparison_of(TUNED, weak_of(9, 9, 8, 5), pass_rates=[1.0, 0.5]))
    assert text.startswith("There is evidence of a difference. Of the ")
    assert "Better: weak classifiers of csb0 at 10:1, hit-rate (p " in text
    assert "2 boosters at 2 cost ratios were compared on 2 stages, with 5 splits of the samples." in text
    assert "csb0 at 10:1 reaches a false-alarm rate of 50% with the fewest weak classifiers: 11.0" in text
    assert "it has " in text
    assert "fewer (95 % CI " in text
    assert "It was chosen as the best of 3 on these samples, so this is optimistic." in text
    assert "features in the 2 stages together with csb0 at 10:1" in text


def test_no_clear_difference(rng):
    weak = weak_of(9, 9, 9, 9) + rng.integers(0, 5, (2, 4, 5))
    text = text_of(comparison_of(TUNED, weak))
    assert text.startswith(
        "No evidence of a difference; keep the default, cost-generalized at 2:1. None of the "
    )
    assert "is significant after Holm's correction: the least corrected p-value is " in text
    assert "by itself with a 95 % CI of " in text
    assert "fewer" not in text.replace("fewest", "")


@pytest.mark.parametrize(("n_costs", "claimed"), [(2, True), (10, False)])
def test_a_difference_must_stand_among_many(n_costs, claimed):
    design = Design(**(TUNED.as_dict() | {"costs": list(range(1, n_costs + 1))}))
    weak = np.full((1, 2 * n_costs, 5), 12)
    weak[0, -1] = 9, 9, 9, 8, 9
    text = text_of(comparison_of(design, weak))
    assert text.startswith("There is evidence of a difference.") == claimed
    assert ("it has 3.2 fewer (95 % CI 2.2 to 4.2, corrected p " in text) == claimed
    assert (
        "no evidence of a difference (−3.2, by itself with a 95 % CI of −4.2 to −2.2; corrected p " in text
    ) != claimed


def test_the_default_may_be_the_worse_one():
    design = Design(**(TUNED.as_dict() | {"boosters": ["adaboost", "cost-generalized"], "costs": [2]}))
    weak = np.array([[[9, 10, 9, 9, 10], [19, 18, 20, 19, 18]]])
    text = text_of(comparison_of(design, weak))
    assert text.startswith(
        "No evidence that anything is better than AdaBoost; AdaBoost is better than the default, cost-generalized at "
        "2:1."
    )
    assert "Worse: weak classifiers of cost-generalized at 2:1, hit-rate (p " in text


def test_equal_differences_in_every_split_are_no_certainty():
    weak = np.array([[[9, 10, 9], [9, 10, 9], [9, 10, 9], [4, 5, 4]]])
    design = Design(**(TUNED.as_dict() | {"n_seeds": 3}))
    assert text_of(comparison_of(design, weak)).startswith("No evidence of a difference")


def test_without_a_baseline_there_is_no_verdict():
    design = Design(boosters=("csb0",), costs=(1,), rules=("hit-rate",), n_rounds=20, n_seeds=5)
    text = text_of(comparison_of(design, weak_of(9)))
    assert text.startswith(
        "Nothing was compared with a baseline, as AdaBoost or its threshold is not included; keep"
    )


def test_the_baseline_may_be_the_best():
    text = text_of(comparison_of(TUNED, weak_of(5, 5, 8, 9)))
    assert "That is AdaBoost with a threshold set afterwards, the baseline itself" in text
    assert "csb0 at 1:1 lets 50% of the negatives pass and AdaBoost" in text


def test_a_booster_named_twice_shows_no_difference():
    design = Design(
        boosters=("adaboost", "adaboost"), costs=(1,), rules=("hit-rate",), n_rounds=20, n_seeds=5
    )
    text = text_of(comparison_of(design, weak_of(7)[:, [0, 0]]))
    assert (
        "(2) lets 50% of the negatives pass and AdaBoost with a threshold set afterwards 50%: no evidence of a "
        "difference" in text
    )


def test_targets_that_are_not_reached():
    never = np.zeros((1, 4, 5), int)
    text = text_of(comparison_of(TUNED, never))
    assert "no booster reaches a false-alarm rate of 50% within 20 weak classifiers." in text
    sometimes = weak_of(9, 9, 8, 5)
    sometimes[0, 3, 0] = 0
    assert fewest_weak(Summary(comparison_of(TUNED, sometimes))) == 3
    assert "with the fewest weak classifiers: at least 14.2" in text_of(comparison_of(TUNED, sometimes))


def test_one_split_is_not_sure():
    design = Design(**(TUNED.as_dict() | {"n_seeds": 1, "sanity": True}))
    text = text_of(comparison_of(design, np.full((1, 6, 1), 5)))
    assert "with one split of the samples, so there are no confidence intervals." in text
    assert "95 %" not in text
    assert "more splits would show whether that is chance" in text
    two = Design(**(TUNED.as_dict() | {"n_seeds": 2}))
    assert "with 2 splits of the samples, too few for reliable confidence intervals." in text_of(
        comparison_of(two, weak_of(9, 9, 8, 5)[:, :, :2])
    )


def test_independent_draws_are_called_so():
    plain = comparison_of(TUNED, weak_of(9, 9, 8, 5))
    drawn = [replace(dataset, independent=True) for dataset in plain.datasets]
    text = text_of(Comparison("stages", TUNED, tuple(drawn), plain.cells))
    assert "compared on 2 stages, with 5 independent draws of crops and photos." in text


def test_an_unfinished_comparison(rng):
    whole = made_up(rng, TUNED, 3)
    cells = {place: cell for place, cell in whole.cells.items() if place[0] < 2}
    sentences = answer(Comparison("stages", TUNED, whole.datasets, cells))
    assert sentences[2] == (
        "The comparison is not finished: 40 of 60 results are there; the answer is based on 2 finished stages."
    )
    assert "in the 2 stages together" in sentences[3]
    few = {place: cell for place, cell in whole.cells.items() if place[2] < 2}
    assert len(answer(Comparison("stages", TUNED, whole.datasets, few))) == 2
    assert answer(Comparison("stages", TUNED, (), {}))


@pytest.mark.parametrize(
    ("auc", "words"), [(0.5, "this is chance level, as it must be"), (0.6, "this is not chance level")]
)
def test_shuffled_labels(auc, words):
    design = Design(**(TUNED.as_dict() | {"sanity": True}))
    plain = comparison_of(design, np.full((2, 6, 5), 5))
    comparison = with_cells(
        plain,
        lambda entry, seed: {"auc": auc + 0.01 * (seed - 2) if entry.contender.shuffled else 0.9},
    )
    assert words in text_of(comparison)
    assert pair_name(design.entries[fewest_weak(Summary(comparison))]) == "adaboost"


def test_class_errors_and_natural_thresholds():
    design = Design(
        boosters=("adaboost", "csb0", "csb1"), costs=(1, 3, 10), rules=("natural",), n_rounds=20, n_seeds=2
    )
    plain = comparison_of(design, np.zeros((1, 9, 2), int))

    def change(entry, seed):
        holds = entry.contender.booster == "csb1" and entry.costs.ratio == 3
        dear = entry.contender.booster == "csb0" and entry.costs.ratio == 3
        return {"hit_rate": 0.75 if dear else 0.9, "false_alarm_rate": 0.2, "weak": 4 if holds else None}

    text = text_of(with_cells(plain, change))
    assert (
        "At 3:1 and the natural threshold, the shares of positives missed and of false alarms after 20 rounds are "
        "10% and 20% with adaboost, 25% and 20% with csb0 and 10% and 20% with csb1." in text
    )
    assert "in 11.1% of the runs; most often that of csb1 at 3:1, in 100%." in text
    assert "No natural threshold ever meets the targets" in text_of(plain)


def test_the_cheapest_by_costs():
    design = Design(
        boosters=("adaboost", "csb0"),
        costs=(1, 10),
        rules=("natural", "minimum-cost"),
        n_rounds=20,
        n_seeds=3,
    )
    cost = np.full((2, 8, 3), 0.2)
    cost[:, [1, 6]] = 0.1  # adaboost 1:1 minimum-cost, csb0 10:1 natural
    cost[:, 6] += [0.0, 0.001, 0.002]
    comparison = comparison_of(design, np.ones((2, 8, 3)), cost=cost)
    assert [cheapest(Summary(comparison), costs) for costs in design.costs] == [1, 6]
    text = text_of(comparison)
    assert (
        "Decisions cost least at 1:1 with adaboost and its minimum-cost threshold; "
        "at 10:1 with csb0 and its natural threshold." in text
    )
    assert (
        "Compared with AdaBoost's minimum-cost threshold, that is less at 10:1 (csb0 10.1% against 20%; corrected p "
        in text
    )


def test_tables_are_ranked():
    design = Design(boosters=("adaboost", "csb0"), costs=(1,), rules=("natural",), n_rounds=20, n_seeds=3)
    cost = np.array([[0.5, 0.1], [0.1, 0.2], [0.1, 0.2]])[:, :, np.newaxis] * np.ones(3)
    for kind, best in (("tables", 0), ("stages", 1)):  # a large difference on one table counts once
        assert cheapest(Summary(comparison_of(design, np.ones((3, 2, 3)), kind, cost=cost)), Costs()) == best
    text = text_of(comparison_of(design, np.ones((3, 2, 3)), "tables", cost=cost))
    assert "Decisions cost least, by mean rank, at 1:1 with adaboost" in text
    assert "hit rate" not in text


def test_ranks_may_differ_where_nothing_differs_from_the_baseline(rng):
    """Each of two rivals is better on some tables than the baseline, but one always than the other."""
    boosters = ("adaboost", "csb0", "csb1")
    design = Design(boosters=boosters, costs=(3,), rules=("minimum-cost",), n_rounds=20, n_seeds=1)
    cost = np.full((40, 3, 1), 0.2)
    cost[:, 1, 0] += rng.normal(0, 0.05, 40)
    cost[:, 2, 0] = cost[:, 1, 0] + rng.uniform(0, 0.001, 40)
    comparison = comparison_of(design, np.ones(cost.shape), "tables", cost=cost)
    text = text_of(comparison)
    assert text.startswith(
        "No evidence of a difference from AdaBoost; AdaBoost with a threshold set afterwards will do."
    )
    assert "compared on 40 tables, with 1 split of the rows of each." in text
    assert (
        "Ranks over the tables separate the best (Nemenyi's test, corrected for all costs) at 3:1 from csb1 "
        "(minimum-cost)." in text
    )


def test_every_made_up_comparison_has_an_answer(rng):
    for n_datasets, n_seeds in ((1, 1), (1, 2), (3, 2)):
        design = Design(
            boosters=("adaboost", "csb0", "real"), costs=(0.5, 1, 7), n_seeds=n_seeds, n_rounds=5, sanity=True
        )
        for kind in ("stages", "tables"):
            text = text_of(made_up(rng, design, n_datasets, kind))
            assert "nan" not in text.replace("nance", "")
            assert "inf" not in text


def test_a_plain_cell_is_like_a_real_one(rng):
    real = next(iter(made_up(rng, TUNED, 1).cells.values()))
    assert plain_cell().keys() == real.keys() - {"curve"}
