"""Designs that were published."""

from vjcascade.boosters import make_booster
from vjcascade.comparison.design import Design, Rule
from vjcascade.comparison.presets import nikolaou_design


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
    assert all(hasattr(make_booster(name, design.costs[0]), "alpha") for name in design.boosters)  # discrete
    assert (design.n_seeds, design.seed) == (2, 5)
