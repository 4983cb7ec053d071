from __future__ import annotations

import pytest

from vjcascade.boosters import Costs, booster_names, make_booster, register
from vjcascade.boosters.adaboost import AdaBoost
from vjcascade.errors import SettingsError


def test_every_name_makes_its_booster():
    assert booster_names() == sorted(booster_names())
    assert {"adaboost", "cost-generalized"} <= set(booster_names())
    for name in booster_names():
        booster = make_booster(name, Costs(2, 1), 7)
        assert (booster.name, booster.costs, booster.n_rounds) == (name, Costs(2, 1), 7)


def test_near_names_are_told():
    with pytest.raises(SettingsError, match="no booster named 'adabost'; did you mean 'adaboost'"):
        make_booster("adabost", Costs())
    with pytest.raises(SettingsError, match=r"known are: .*adaboost"):
        make_booster("zzz", Costs())


def test_unknown_options_are_told():
    with pytest.raises(SettingsError, match=r"'adaboost' does not take these options: .*prior"):
        make_booster("adaboost", Costs(), prior="class")


def test_a_name_is_given_once():
    class Other(AdaBoost):
        pass

    with pytest.raises(SettingsError, match="already is a booster named 'adaboost'"):
        register(Other)
    assert type(make_booster("adaboost", Costs())) is AdaBoost
    assert register(AdaBoost) is AdaBoost  # twice the same does no harm
