"""Maps of the plane: there and back, and fitted to the box."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vjcascade.synthesis.alterations import Alterations
from vjcascade.synthesis.geometry import NOWHERE, bounds, inverse, mapped, perspective
from vjcascade.types import Size

CORNERS = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


@st.composite
def altered(draw):
    """Return a box, an outline that fills it, and an alteration."""
    box = Size(draw(st.integers(5, 200)), draw(st.integers(5, 200)))
    strongest = Alterations(turn=180, tilt_x=60, tilt_y=60)
    drawn = strongest.drawn(np.random.default_rng(draw(st.integers(0, 2**32))), may_mirror=True)
    return box, CORNERS * box, drawn


@given(altered())
def test_there_and_back(made):
    box, outline, alteration = made
    matrix = perspective(alteration, box, outline)
    back = mapped(inverse(matrix), mapped(matrix, outline * 0.7))
    np.testing.assert_allclose(back, outline * 0.7, atol=1e-6 * max(box))


@given(altered())
def test_a_copy_is_as_large_as_fits_into_the_middle_of_the_box(made):
    box, outline, alteration = made
    low, high = bounds(mapped(perspective(alteration, box, outline), outline))
    np.testing.assert_allclose(low + high, 0, atol=1e-6 * max(box))
    shares = (high - low) / box
    assert shares.max() == pytest.approx(1)


def test_nothing_altered_stays():
    still = Alterations(strength=0).drawn(np.random.default_rng(0))
    np.testing.assert_allclose(perspective(still, Size(40, 20), CORNERS * (40, 20)), np.eye(3), atol=1e-12)


def test_what_is_tilted_away_is_smaller():
    still = Alterations(strength=0).drawn(np.random.default_rng(0))
    tilted = type(still)(**{**vars(still), "tilt_y": 40.0})
    corners = mapped(perspective(tilted, Size(40, 40), CORNERS * 40), CORNERS * 40)
    left, right = corners[3, 1] - corners[0, 1], corners[2, 1] - corners[1, 1]
    assert left != pytest.approx(right, rel=0.1)
    assert np.ptp(corners[:, 0]) < np.ptp(corners[:, 1])


def test_what_is_behind_the_eye_is_nowhere():
    matrix = np.eye(3)
    matrix[2, 0] = 1
    assert mapped(matrix, np.array([[-2.0, 0.0]])).tolist() == [[NOWHERE, NOWHERE]]
