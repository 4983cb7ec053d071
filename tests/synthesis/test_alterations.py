"""Ranges of alterations, and what is drawn from them."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vjcascade.errors import SettingsError
from vjcascade.synthesis.alterations import MAX_ASPECT, USUAL, Alterations

RANGES = tuple(USUAL)


def as_numbers(alteration):
    return {field.name: np.ravel(getattr(alteration, field.name)).tolist() for field in fields(alteration)}


def test_every_range_has_a_usual_value():
    names = {field.name for field in fields(Alterations)}
    assert names - {"strength", "inverted"} == set(RANGES)


def test_without_strength_nothing_is_altered():
    drawn = Alterations(strength=0).drawn(np.random.default_rng(1))
    assert (drawn.turn, drawn.tilt_x, drawn.tilt_y, drawn.brightness, drawn.blur, drawn.noise) == (0,) * 6
    assert (drawn.scaling, drawn.contrast, drawn.gamma, drawn.jpeg) == (1, 1, 1, 100)
    assert not drawn.shift.any()
    assert not drawn.light.any()
    assert drawn.hidden.width * drawn.hidden.height == 0
    assert not drawn.is_mirrored
    assert not drawn.is_inverted


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("seed", range(3))
def test_a_range_changes_nothing_but_its_own_value(name, seed):
    usual = Alterations(occlusion=0.3)
    changed = replace(usual, **{name: 100 if name == "jpeg" else 0})
    before, after = (as_numbers(one.drawn(np.random.default_rng(seed))) for one in (usual, changed))
    differing = {key for key in before if before[key] != after[key]}
    assert differing == {"hidden" if name == "occlusion" else name}


@given(seed=st.integers(0, 2**32), strength=st.floats(0, 3), occlusion=st.floats(0, 0.9))
def test_what_is_drawn_lies_in_its_range(seed, strength, occlusion):
    ranges = Alterations(strength=strength, occlusion=occlusion)
    drawn = ranges.drawn(np.random.default_rng(seed))
    for name in ("turn", "tilt_x", "tilt_y", "brightness"):
        assert abs(getattr(drawn, name)) <= ranges.limit(name)
    for name in ("scaling", "contrast", "gamma"):
        assert abs(np.log(getattr(drawn, name))) <= np.log1p(ranges.limit(name)) + 1e-12
    assert np.abs(drawn.shift).max() <= ranges.limit("shift")
    assert ranges.limit("jpeg") - 0.5 <= drawn.jpeg <= 100
    left, top, width, height, level = drawn.hidden
    assert width * height <= occlusion + 1e-12
    assert max(width, height) <= MAX_ASPECT * min(width, height) + 1e-12
    assert min(left, top) >= -0.5 - 1e-12
    assert max(left + width, top + height) <= 0.5 + 1e-12
    assert 0 <= level <= 255


def test_half_is_mirrored_and_half_inverted():
    ranges = Alterations(inverted="half")
    drawn = [ranges.drawn(np.random.default_rng(seed), may_mirror=True) for seed in range(400)]
    for name in ("is_mirrored", "is_inverted"):
        assert 150 < sum(getattr(one, name) for one in drawn) < 250
    assert all(
        Alterations(inverted="yes").drawn(np.random.default_rng(seed)).is_inverted for seed in range(9)
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("strength", 4), ("turn", 181), ("tilt_x", 80), ("jpeg", 0), ("occlusion", 1), ("noise", float("nan"))],
)
def test_what_is_out_of_range_is_refused(name, value):
    with pytest.raises(SettingsError, match=name):
        Alterations(**{name: value})


def test_an_unknown_way_to_invert_is_refused():
    with pytest.raises(SettingsError, match="inverted"):
        Alterations(inverted="maybe")
