"""Costs however they are written, and matrices against brute-force decisions."""

from __future__ import annotations

import math
from dataclasses import astuple
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vjcascade.boosters.costs import CostMatrix, Costs, Scenario, parse_cost_matrix, parse_costs
from vjcascade.errors import SettingsError

positive = st.floats(1e-6, 1e6)
whole = st.integers(-20, 20)
matrices = st.tuples(whole, whole, whole, whole).filter(lambda m: m[0] < m[2] and m[3] < m[1])
SMALL = list(product(range(4), repeat=4))


def is_reasonable(entries):
    try:
        CostMatrix(*entries)
    except SettingsError:
        return False
    return True


@given(positive, positive)
def test_ratio_and_gamma_say_the_same(cost_p, cost_n):
    costs = Costs(cost_p, cost_n)
    assert costs.ratio == cost_p / cost_n
    assert costs.gamma == pytest.approx(cost_p / (cost_p + cost_n), rel=1e-12)
    assert Costs.from_ratio(costs.ratio).gamma == pytest.approx(costs.gamma, rel=1e-12)


@given(st.floats(1e-9, 1 - 1e-9))
def test_gamma_comes_back(gamma):
    costs = Costs.from_gamma(gamma)
    assert min(costs.positive, costs.negative) == 1
    assert costs.gamma == pytest.approx(gamma, rel=1e-12)


def test_a_gamma_is_the_decimal_that_is_written():
    assert [Costs.from_gamma(gamma).ratio for gamma in (0.5, 0.75, 0.8, 0.9, 0.2)] == [1, 3, 4, 9, 0.25]


def test_costs_of_labels():
    labels = np.array([1, -1, 1], np.int8)
    assert Costs(4, 0.5).of(labels).tolist() == [4, 0.5, 4]


def test_costs_are_plain_floats():
    costs = Costs(np.float32(4), np.int64(1))
    assert [type(cost) for cost in astuple(costs)] == [float, float]
    assert costs == Costs(4, 1)


@pytest.mark.parametrize("value", [0, 0.0, -1.5, math.nan, math.inf, -math.inf, "4", None, True, 1j, [1]])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda value: Costs(positive=value), "positive cost"),
        (lambda value: Costs(negative=value), "negative cost"),
        (Costs.from_ratio, "cost ratio"),
    ],
)
def test_bad_costs_are_refused_by_name_and_value(make, name, value):
    with pytest.raises(SettingsError) as caught:
        make(value)
    assert str(caught.value) == f"{name} {value!r} is not a finite number above zero"


@pytest.mark.parametrize("gamma", [0, 1, 1.5, -0.1, math.nan, math.inf, "0.5", None, True])
def test_bad_gammas(gamma):
    with pytest.raises(SettingsError) as caught:
        Costs.from_gamma(gamma)
    assert str(caught.value) == f"gamma {gamma!r} is not a number in (0, 1)"


def test_numbers_beyond_floats():
    with pytest.raises(SettingsError, match=r"positive cost 1000.* is not a finite number above zero"):
        Costs(10**400, 1)
    for costs in ((1e300, 1e-300), (1e-300, 1e300)):
        with pytest.raises(SettingsError, match="too far apart"):
            Costs(*costs)
    with pytest.raises(SettingsError, match="positive cost inf"):
        CostMatrix(0, 1e308, 1, -1e308)


@given(matrices, st.fractions(0, 1))
def test_reduced_costs_decide_as_the_matrix_does(entries, p):
    """For a sample that is positive with probability p, exactly, ties included."""
    nn, np_, pn, pp = entries
    costs = CostMatrix(*entries).reduced()
    gain = (1 - p) * (pn - nn) - p * (
        np_ - pp
    )  # what calling it positive costs more than calling it negative
    as_negative, as_positive = (1 - p) * nn + p * np_, (1 - p) * pn + p * pp
    assert as_positive - as_negative == gain
    assert gain == (1 - p) * Fraction(costs.negative) - p * Fraction(costs.positive)


def test_the_conditions_are_elkans():
    """A matrix is reasonable if each decision is the better one for some sample; the printed ones say otherwise."""

    def has_both_decisions(entries):
        nn, np_, pn, pp = entries
        gains = [pn - nn, pp - np_]  # of calling positive, at p = 0 and p = 1: linear between
        return gains[0] > 0 > gains[1]

    reasonable = {entries for entries in SMALL if is_reasonable(entries)}
    assert reasonable == {entries for entries in SMALL if has_both_decisions(entries)}
    printed = {(nn, np_, pn, pp) for nn, np_, pn, pp in SMALL if nn < np_ and pp < pn}
    assert len(reasonable ^ printed) == 20


def test_an_unreasonable_matrix_is_told():
    with pytest.raises(SettingsError) as caught:
        CostMatrix(0, 4, 1, 4.5)
    assert str(caught.value) == (
        "cost matrix [[0, 4], [1, 4.5]] is not reasonable: true_positive 4.5 must be below false_negative 4 "
        "(rows are decisions, columns actual classes, negatives first)"
    )
    with pytest.raises(SettingsError, match="true_negative 1 must be below false_positive 1 "):
        CostMatrix(1, 4, 1, 0)


@pytest.mark.parametrize("value", [math.nan, math.inf, "4", None, True])
@pytest.mark.parametrize("name", ["true_negative", "false_negative", "false_positive", "true_positive"])
def test_bad_coefficients(name, value):
    entries = {"true_negative": 0, "false_negative": 4, "false_positive": 1, "true_positive": 0, name: value}
    with pytest.raises(SettingsError, match=f"^{name} {value!r} in a cost matrix is not a finite number"):
        CostMatrix(**entries)


@pytest.mark.parametrize(
    ("entries", "scenario"),
    [
        ((0, 1, 1, 0), Scenario.SYMMETRY),
        ((1, 3, 3, 1), Scenario.SYMMETRY),
        ((0, 4, 1, 0), Scenario.ERROR_ASYMMETRY),
        ((0, 1, 4, 0), Scenario.ERROR_ASYMMETRY),
        ((0, 4, 4, 2), Scenario.CORRECT_CLASSIFICATION_ASYMMETRY),
        ((2, 4, 4, 0), Scenario.CORRECT_CLASSIFICATION_ASYMMETRY),
        ((0, 5, 3, 1), Scenario.DUAL_ASYMMETRY),
        ((1, 3, 5, 0), Scenario.DUAL_ASYMMETRY),
        ((1, 5, 3, 0), Scenario.REVERSED_DUAL_ASYMMETRY),
        ((0, 3, 5, 1), Scenario.REVERSED_DUAL_ASYMMETRY),
    ],
)
def test_scenarios_as_the_paper_defines_them(entries, scenario):
    assert CostMatrix(*entries).scenario is scenario


def scenario_of_the_paper(nn, np_, pn, pp):
    """Follow the text: swap labels where mistakes on positives are cheaper, then compare."""
    if np_ < pn or (np_ == pn and pp < nn):
        nn, np_, pn, pp = pp, pn, np_, nn
    return {
        (False, 0): "symmetry",
        (True, 0): "error asymmetry",
        (False, 1): "correct classification asymmetry",
        (True, 1): "dual asymmetry",
        (True, -1): "reversed dual asymmetry",
    }[np_ > pn, (pp > nn) - (pp < nn)]


@given(matrices, whole, st.integers(1, 9))
def test_scenario_names_what_changes_no_decision(entries, shift, factor):
    nn, np_, pn, pp = entries
    scenario = CostMatrix(*entries).scenario
    assert scenario == scenario_of_the_paper(*entries)
    assert CostMatrix(pp, pn, np_, nn).scenario is scenario  # labels swapped
    assert CostMatrix(*(factor * entry + shift for entry in entries)).scenario is scenario
    one_class_shifted = CostMatrix(nn, np_ + shift, pn, pp + shift)
    assert one_class_shifted.reduced() == CostMatrix(*entries).reduced()


def test_two_shifts_bring_any_matrix_to_the_usual_scenarios():
    for entries in filter(is_reasonable, SMALL):
        reduced = CostMatrix.from_costs(CostMatrix(*entries).reduced())
        assert reduced.scenario in {Scenario.SYMMETRY, Scenario.ERROR_ASYMMETRY}


FOUR_TO_ONE = [
    4,
    4.0,
    np.float32(4),
    Fraction(4),
    (4, 1),
    [4, 1.0],
    np.array([4, 1]),
    Costs(4, 1),
    CostMatrix(0, 4, 1, 0),
    CostMatrix(1, 5, 2, 1),
    [[0, 4], [1, 0]],
    ((1, 5), [2, 1]),
    np.array([[0, 4], [1, 0]]),
    [np.array([0, 4]), np.array([1, 0])],
    {"ratio": 4},
    {"gamma": 0.8},
    {"positive": 4, "negative": 1},
    {"matrix": [[0, 4], [1, 0]]},
    {"matrix": np.array([[0, 4], [1, 0]])},
    "4",
    " 4.0 ",
    "4:1",
    "4 : 1",
    "4,1",
    "[4, 1]",
    "ratio=4",
    "gamma=0.8",
    "gamma = 0.8",
    "matrix=0,4;1,0",
    "matrix = [[0, 4], [1, 0]]",
    "0,4;1,0",
    "[[0,4],[1,0]]",
]


@pytest.mark.parametrize("value", FOUR_TO_ONE, ids=repr)
def test_all_spellings(value):
    assert parse_costs(value) == Costs(4, 1)
    assert parse_cost_matrix(value).reduced() == Costs(4, 1)


def test_scales_are_kept():
    assert parse_costs("8:2") == Costs(8, 2)
    assert parse_costs([0.4, 0.1]) == Costs(0.4, 0.1)


def test_right_decisions_are_kept_in_a_matrix():
    assert parse_cost_matrix("matrix=1,5;2,1") == CostMatrix(1, 5, 2, 1)
    assert parse_cost_matrix("4:1") == CostMatrix(0, 4, 1, 0)


@given(positive, positive)
def test_what_is_printed_is_read_again(cost_p, cost_n):
    costs = Costs(cost_p, cost_n)
    assert parse_costs(str(costs)) == costs
    assert parse_costs(list(astuple(costs))) == costs
    assert parse_costs(f"matrix={CostMatrix.from_costs(costs)}") == costs


@given(matrices)
def test_a_matrix_is_read_again(entries):
    matrix = CostMatrix(*entries)
    assert parse_cost_matrix(str(matrix)) == matrix


UNREADABLE = [
    *(
        "",
        "x",
        "4:1:1",
        "gamma",
        "gama=0.8",
        "=4",
        "4=",
        "gamma=",
        "matrix",
        "[4",
        "[[0,4],[1",
        "[" * 9999,
    ),
    *(
        None,
        True,
        (),
        [4],
        [4, 1, 1],
        [[0, 4]],
        {},
        {"ratio": 4, "gamma": 0.8},
        {"positive": 4},
        {"rat": 4},
        1j,
    ),
    {4, 1},
    object(),
]


@pytest.mark.parametrize("value", UNREADABLE, ids=lambda value: repr(value)[:20])
def test_what_cannot_be_read_is_told_with_the_spellings(value):
    with pytest.raises(SettingsError) as caught:
        parse_costs(value)
    message = str(caught.value)
    assert len(message) < 300
    if isinstance(value, str) and len(value) < 10:
        assert repr(value) in message or value == "4:1:1"  # told as a list
    for spelling in ("4 (", "4:1 (", "gamma=0.8", "matrix=0,4;1,0"):
        assert spelling in message


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (0, "cost ratio 0 is not a finite number above zero"),
        ("-4", "cost ratio -4.0 is not"),
        ("nan", "cost ratio nan is not"),
        (math.inf, "cost ratio inf is not"),
        (10**400, "cost ratio 1000.* is not"),
        ({"ratio": "4"}, "cost ratio '4' is not"),
        ("4:0", "negative cost 0.0 is not"),
        ([0, 1], "positive cost 0 is not"),
        (["4", "1"], "positive cost '4' is not"),
        ([True, 1], "positive cost True is not"),
        ({"positive": None, "negative": 1}, "positive cost None is not"),
        ("gamma=1", r"gamma 1.0 is not a number in \(0, 1\)"),
        ({"gamma": [0.8]}, r"gamma \[0.8\] is not"),
        ({"matrix": [4, 1]}, r"cost matrix \[4, 1\] is not 2x2, such as \[\[0, 4\], \[1, 0\]\]"),
        ("4;1", r"cost matrix \[\[4.0\], \[1.0\]\] is not 2x2"),
        ("matrix=4", "cost matrix 4.0 is not 2x2"),
        ([[0, 4], [1]], "is not 2x2"),
        ([[0, 4], 1], "is not 2x2"),
        (np.zeros((2, 3)), "is not 2x2"),
        ([[0, "4"], [1, 0]], "false_negative '4' in a cost matrix is not a finite number"),
        ("[[0, NaN], [1, 0]]", "false_negative nan in a cost matrix is not"),
        (np.zeros((2, 2)), "cost matrix .* is not reasonable"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_bad_values_are_told(value, sentence):
    with pytest.raises(SettingsError, match=sentence):
        parse_costs(value)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(-40, 40))
def test_normalised_costs_keep_their_ratio_and_have_no_unit(positive, negative, power):
    one = Costs(positive, negative).normalised()
    assert min(one.positive, one.negative) == 1
    assert one.ratio == pytest.approx(positive / negative, rel=1e-15)
    assert one.normalised() == one
    assert Costs(positive * 2.0**power, negative * 2.0**power).normalised() == one
