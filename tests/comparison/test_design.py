from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Costs, booster_names, make_booster
from vjcascade.comparison.design import Contender, Design, Entry, Rule, nikolaou_design
from vjcascade.errors import SettingsError


def names(entries):
    return [entry.name for entry in entries]


def test_rules_belong_to_boosters_that_they_make_sense_for():
    design = Design(boosters=("adaboost", "gentle", "cost-generalized"), costs=(4,), rules=tuple(Rule))
    rules = {contender.booster: set() for contender in design.contenders}
    for entry in design.entries:
        rules[entry.contender.booster].add(entry.rule)
    everyones = {Rule.NATURAL, Rule.HIT_RATE, Rule.MINIMUM_COST, Rule.CALIBRATED}
    assert rules["adaboost"] == everyones | {Rule.THEORY, Rule.ADAMEC}
    assert rules["gentle"] == everyones | {Rule.THEORY}
    assert rules["cost-generalized"] == everyones


def test_a_prior_is_named_after_a_colon():
    rows = BoostingState.start(np.array([1, -1, -1], np.int8))
    weights = {
        name: Contender(name).made(Costs(3, 1), 5).begin_round(rows).weights.round(3).tolist()
        for name in ("cost-generalized", "cost-generalized:class", "cost-generalized:sample")
    }
    assert weights["cost-generalized"] == weights["cost-generalized:class"] == [0.75, 0.125, 0.125]
    assert weights["cost-generalized:sample"] == [0.6, 0.2, 0.2]
    assert Contender("cost-sensitive:sample").made(Costs(), 5).prior == "uniform"
    assert Contender("cost-generalized:sample").uses_costs
    design = Design(boosters=("cost-generalized:sample", "cost-generalized"), costs=(4,))
    assert design.contenders[0].at(Costs(4, 1)) == "cost-generalized:sample at 4:1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("adaboost:sample", "booster 'adaboost' has no prior to choose: leave out ':sample'"),
        ("cost-generalized:smple", "prior 'smple'"),
        ("cost-generalised:sample", "there is no booster named 'cost-generalised'"),
    ],
)
def test_priors_that_are_none_are_refused(name, message):
    with pytest.raises(SettingsError, match=message):
        Design(boosters=(name,))


def test_rounds_that_are_kept_are_spread():
    kept = Design(boosters=("adaboost",), n_rounds=1000).kept_rounds
    assert (kept[0], kept[-1]) == (1, 1000)
    assert list(kept) == sorted(set(kept))
    assert all(after <= max(before * 1.2 + 1, before + 1) for before, after in pairwise(kept))
    assert len(kept) < 40


def test_boosters_that_ignore_costs_say_so():
    """Their weights must not depend on costs, nor those of the others not."""
    blind = {name for name in booster_names() if not make_booster(name, Costs()).uses_costs}
    assert blind == {"adaboost", "gentle", "logit", "real"}


def test_boosters_that_ignore_costs_are_run_once():
    design = Design(
        boosters=("adaboost", "cost-generalized"), costs=(1, 4, 10), rules=("natural", "minimum-cost")
    )
    runs = design.runs(trains_whole=False)
    assert [run.name for run in runs] == [
        "adaboost",
        "cost-generalized 1:1",
        "cost-generalized 4:1",
        "cost-generalized 10:1",
    ]
    assert len(list(design.entries_of(runs[0], trains_whole=False))) == 6
    assert len(list(design.entries_of(runs[2], trains_whole=False))) == 2


@pytest.mark.parametrize("trains_whole", [True, False])
def test_every_entry_is_served_by_one_run(trains_whole):
    design = Design(boosters=("adaboost", "gentle", "csb2"), costs=(1, 4), rules=tuple(Rule), sanity=True)
    served = [
        entry
        for run in design.runs(trains_whole=trains_whole)
        for entry in design.entries_of(run, trains_whole=trains_whole)
    ]
    assert sorted(names(served)) == sorted(names(design.entries))
    assert len({run.key for run in design.runs(trains_whole=trains_whole)}) == len(
        design.runs(trains_whole=trains_whole)
    )


def test_rules_without_samples_train_on_the_whole():
    design = Design(boosters=("adaboost",), costs=(4,), rules=("theory", "calibrated"))
    half, whole = sorted(design.runs(trains_whole=True), key=lambda run: run.whole)
    assert names(design.entries_of(whole, trains_whole=True)) == ["adaboost 4:1, theory"]
    assert names(design.entries_of(half, trains_whole=True)) == ["adaboost 4:1, calibrated"]


def test_a_booster_that_is_named_twice_takes_part_twice():
    design = Design(boosters=("csb2", "csb2"), costs=(4,), rules=("natural",), sanity=True)
    assert names(design.entries) == [
        "csb2 4:1, natural",
        "csb2 (2) 4:1, natural",
        "adaboost, shuffled labels 4:1, natural",
    ]


def test_a_design_is_made_again_of_what_it_tells():
    design = Design(boosters=("adaboost", "csb2"), costs=("1:3", 2.5), rules=("natural",), n_seeds=2)
    assert Design.from_dict(json.loads(json.dumps(design.as_dict()))) == design


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"boosters": ("adabost",)}, "no booster named 'adabost'; did you mean 'adaboost'"),
        ({"boosters": ()}, "boosters: none is given"),
        ({"costs": (0,)}, "cost ratio 0 is not a finite number above zero"),
        ({"costs": (2, "2:1")}, "costs: 2:1 is given twice"),
        ({"rules": ("natral",)}, "no threshold rule 'natral'; did you mean 'natural'"),
        ({"rules": ("theory",), "boosters": ("csb1",)}, "none of the rules theory makes sense after csb1"),
        ({"n_rounds": 0}, "n_rounds 0 is not a whole number from 1"),
        ({"n_seeds": True}, "n_seeds True is not a whole number from 1"),
        ({"seed": -1}, "seed -1 is not a whole number from 0"),
        ({"hit_rate": 1.0}, r"hit_rate 1.0 is not in \(0, 1\)"),
    ],
)
def test_what_cannot_be_compared_is_refused(wrong, message):
    with pytest.raises(SettingsError, match=message):
        Design(**wrong)


def test_what_is_no_design_is_refused():
    with pytest.raises(SettingsError, match="not a design of a comparison"):
        Design.from_dict({"boosters": ["adaboost"], "colour": "red"})


def test_names_tell_all_of_an_entry():
    assert Entry(Contender("csb2"), Costs(4, 1), Rule.NATURAL).name == "csb2 4:1, natural"


def test_the_design_of_nikolaou_et_al() -> None:
    design = nikolaou_design()
    assert (design.n_rounds, design.n_seeds) == (100, 30)
    assert Design.from_dict(design.as_dict()).as_dict() == design.as_dict()
    ratios = [costs.ratio for costs in design.costs]
    assert ratios == sorted(ratios)
    assert [1 / ratio for ratio in reversed(ratios)] == ratios
    assert (
        min(min(costs.positive, costs.negative) for costs in design.costs) == 1
    )  # the scale CSB was made for


def test_adamec_is_adaboost_s_alone_and_all_are_calibrated() -> None:
    design = nikolaou_design(n_seeds=2, seed=5)
    assert {entry.contender.booster for entry in design.entries if entry.rule is Rule.ADAMEC} == {"adaboost"}
    for rule in (Rule.NATURAL, Rule.CALIBRATED):
        named = {entry.contender.booster for entry in design.entries if entry.rule is rule}
        assert named == set(design.boosters)
    made = [contender.made(design.costs[0], 10) for contender in design.contenders]
    assert all(hasattr(booster, "alpha") for booster in made)  # discrete
    assert (design.n_seeds, design.seed) == (2, 5)
