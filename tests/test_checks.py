"""Checks of values: what is taken, in which type it comes back, and the sentence for everything else."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

import numpy as np
import pytest
from msgspec import Meta

from vjcascade.checks import (
    check_fields,
    checked_choice,
    checked_flag,
    checked_number,
    checked_text,
    checked_whole,
)
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode
from vjcascade.types import FeatureType


def refused(sentence):
    return pytest.raises(SettingsError, match=f"^{re.escape(sentence)}$")


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_come_back_as_int(value):
    number = checked_whole("n", value, ge=3, le=3)
    assert (number, type(number)) == (3, int)


@pytest.mark.parametrize("value", [2, 5, 3.0, "3", None, True, np.True_, math.nan, 10**30, [3], 3j])
def test_what_is_no_whole_number_in_the_range_is_refused(value):
    with refused(f"n {value!r} is not a whole number from 3 to 4"):
        checked_whole("n", value, ge=3, le=4)


def test_without_an_upper_bound_only_the_lower_one_is_told():
    with refused("n -1 is not a whole number, at least 0; 0 asks for none"):
        checked_whole("n", -1, hint="0 asks for none")
    assert checked_whole("n", 10**30) == 10**30


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int8(1), Fraction(2, 2)])
def test_numbers_come_back_as_float(value):
    number = checked_number("rate", value, gt=0, le=1)
    assert (number, type(number)) == (1.0, float)


@pytest.mark.parametrize(
    ("value", "bounds", "interval"),
    [
        (0, {"gt": 0, "le": 1}, "(0, 1]"),
        (1, {"ge": 0, "lt": 1}, "[0, 1)"),
        (0.51, {"ge": 0, "le": 0.5}, "[0, 0.5]"),
        (1, {"gt": 1}, "(1, inf)"),
        (math.inf, {"gt": 1}, "(1, inf)"),
        (math.nan, {"ge": 0, "le": 1}, "[0, 1]"),
        (math.nan, {}, "(-inf, inf)"),
        (-math.inf, {}, "(-inf, inf)"),
    ],
)
def test_numbers_out_of_range_are_refused(value, bounds, interval):
    with refused(f"rate {float(value)} is not in {interval}"):
        checked_number("rate", value, **bounds)


@pytest.mark.parametrize("value", ["1", None, True, np.True_, 1j, [1], 10**400, Decimal(1)])
def test_what_is_no_number_is_refused(value):
    with refused(f"rate {value!r} is not a number; 0.3 is usual"):
        checked_number("rate", value, hint="0.3 is usual")


def test_truth_values():
    assert checked_flag("antialias", np.True_) is True
    for value in ("no", 1, None):
        with refused(f"antialias {value!r} must be True or False"):
            checked_flag("antialias", value)


def test_texts():
    assert checked_text("booster", "x") == "x"
    with refused("booster None is not a name"):
        checked_text("booster", None)


def test_choices_in_any_case():
    assert checked_choice("mode", "All", HaarMode) is HaarMode.ALL
    assert checked_choice("features", FeatureType.LBP, FeatureType) is FeatureType.LBP
    with refused("there is no mode 'basik'; did you mean 'basic'?"):
        checked_choice("mode", "basik", HaarMode)
    with refused("there are no features 3; choose from: haar, lbp"):
        checked_choice("features", 3, FeatureType)


@dataclass(frozen=True)
class Settings:
    whole: Annotated[int, Meta(ge=1, le=4)] = 2
    maybe: Annotated[int, Meta(ge=20)] | None = None
    rate: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    seed: int = 0
    flag: bool = False
    name: str = "x"
    mode: HaarMode = HaarMode.BASIC
    other: tuple[int, ...] = ()

    def __post_init__(self):
        check_fields(self)


def test_fields_are_brought_to_their_types():
    settings = Settings(np.int8(4), np.int16(20), np.float64(0.25), mode="core", flag=np.False_, other=[1.5])
    assert settings == Settings(4, 20, 0.25, mode=HaarMode.CORE, other=[1.5])
    kinds = (type(settings.whole), type(settings.maybe), type(settings.rate), type(settings.flag))
    assert kinds == (int, int, float, bool)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"whole": 5}, "whole 5 is not a whole number from 1 to 4"),
        ({"whole": None}, "whole None is not a whole number from 1 to 4"),
        ({"maybe": 19}, "maybe 19 is not a whole number, at least 20"),
        ({"rate": 1.0}, "rate 1.0 is not in (0, 1)"),
        ({"seed": -1}, "seed -1 is not a whole number, at least 0"),
        ({"flag": 1}, "flag 1 must be True or False"),
        ({"name": 3}, "name 3 is not a name"),
        ({"mode": "al"}, "there is no mode 'al'; did you mean 'all'?"),
    ],
)
def test_fields_out_of_their_range_are_refused(values, sentence):
    with refused(sentence):
        Settings(**values)
