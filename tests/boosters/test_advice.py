"""The recommendation follows expected cost, and says where the paper's differs."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from vjcascade.boosters.advice import recommend
from vjcascade.boosters.costs import CostMatrix, Costs, Scenario, parse_costs
from vjcascade.errors import SettingsError

whole = st.integers(0, 20)
matrices = st.tuples(whole, whole, whole, whole).filter(lambda m: m[0] < m[2] and m[3] < m[1])


@given(matrices)
def test_the_reduced_costs_decide(entries):
    matrix = CostMatrix(*entries)
    advice = recommend(matrix)
    assert (advice.costs, advice.scenario) == (matrix.reduced(), matrix.scenario)
    assert advice.booster == ("adaboost" if advice.costs.ratio == 1 else "cost-generalized")
    assert ("should favour the positives" in advice.reason) == (advice.costs.ratio > 1)
    assert ("should favour the negatives" in advice.reason) == (advice.costs.ratio < 1)


@given(matrices)
def test_swapped_labels_swap_the_words(entries):
    nn, np_, pn, pp = entries
    advice, swapped = recommend(CostMatrix(*entries)), recommend(CostMatrix(pp, pn, np_, nn))
    assert (swapped.booster, swapped.scenario) == (advice.booster, advice.scenario)
    assert swapped.costs == Costs(advice.costs.negative, advice.costs.positive)
    for phrase in ("favour of the", "should favour the"):
        assert (f"{phrase} positives" in advice.reason) == (f"{phrase} negatives" in swapped.reason) or (
            advice.costs.ratio == 1 or entries == (pp, pn, np_, nn)
        )


@pytest.mark.parametrize("costs", [1, "3:3", [0.1, 0.1], [[0, 1], [1, 0]]])
def test_equal_costs(costs):
    advice = recommend(costs)
    assert (advice.booster, advice.scenario) == ("adaboost", Scenario.SYMMETRY)
    assert advice.reason.endswith("The paper advises the same.")


def test_rounding_does_not_make_costs_unequal():
    matrix = CostMatrix(0.1, 0.4, 0.3, 0.2)
    assert matrix.reduced().ratio != 1
    assert recommend(matrix).booster == "adaboost"


@pytest.mark.parametrize("costs", [4, 0.25, "gamma=0.8", [[1, 5], [2, 1]]])
def test_the_usual_asymmetry(costs):
    advice = recommend(costs)
    assert (advice.booster, advice.costs) == ("cost-generalized", parse_costs(costs))
    assert advice.scenario is Scenario.ERROR_ASYMMETRY
    assert advice.reason.endswith("The paper advises the same.")


@pytest.mark.parametrize(
    ("matrix", "costs", "words"),
    [
        (
            [[0, 4], [4, 2]],
            Costs(2, 4),
            "Cost-Generalized AdaBoost in favour of the positives, against these costs",
        ),
        (
            [[2, 4], [4, 0]],
            Costs(4, 2),
            "Cost-Generalized AdaBoost in favour of the negatives, against these costs",
        ),
        (
            [[0, 5], [2, 1]],
            Costs(4, 2),
            "Cost-Generalized AdaBoost in favour of the positives, as right and wrong",
        ),
        (
            [[0, 5], [4, 4]],
            Costs(1, 4),
            "Cost-Generalized AdaBoost in favour of the positives, against these costs",
        ),
        ([[1, 5], [4, 0]], Costs(5, 3), "The paper advises Cost-Sensitive AdaBoost"),
    ],
)
def test_where_the_paper_differs(matrix, costs, words):
    advice = recommend(matrix)
    assert (advice.booster, advice.costs) == ("cost-generalized", costs)
    assert words in advice.reason


def test_the_papers_class_is_always_wrong_for_correct_classification_asymmetry():
    matrices = [CostMatrix(0, wrong, wrong, right) for wrong in range(2, 9) for right in range(1, wrong)]
    assert {matrix.scenario for matrix in matrices} == {Scenario.CORRECT_CLASSIFICATION_ASYMMETRY}
    assert all("against these costs" in recommend(matrix).reason for matrix in matrices)


def test_bad_costs():
    with pytest.raises(SettingsError, match="is not reasonable"):
        recommend([[0, 1], [0, 1]])
