"""Ranges of alterations, and random alterations drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from vjcascade.checks import check_fields

USUAL: Mapping[str, float] = {
    "shift": 0.04, "scaling": 0.06, "turn": 4.0, "tilt_x": 8.0, "tilt_y": 8.0, "contrast": 0.25, "brightness": 20.0,
    "gamma": 0.4, "light": 40.0, "blur": 0.6, "noise": 4.0, "jpeg": 60.0, "occlusion": 0.0,
}  # fmt: skip
"""Default ranges. Shift, scaling and turn are the same as in the copies that training makes."""

BEST_JPEG = 100
"""Best quality of JPEG, for which compression is skipped."""

MAX_ASPECT = 3.0
"""Largest aspect ratio of an occlusion."""


class Inverted(StrEnum):
    """Whether light and dark are swapped.

    Examples
    --------
    >>> Inverted("half").name
    'HALF'
    """

    NO = "no"
    YES = "yes"
    HALF = "half"


@dataclass(frozen=True)
class Alterations:
    """How far copies may differ from their original.

    Each copy draws its own value, uniformly from each range. 0 turns an alteration off.

    Attributes
    ----------
    strength : float
        Scales all ranges that are not given: 1 for the defaults, 0 for no alteration.
    shift : float
        Largest shift to each side, as a share of the object's sides; 0.04 by default.
    scaling : float
        Largest change of size, up or down; 0.06 (6 %) by default.
    turn : float
        Largest rotation in the image plane, in degrees to each side; 4 by default.
    tilt_x : float
        Largest tilt up and down, in degrees, with perspective; 8 by default.
    tilt_y : float
        Largest tilt to the left and right, in degrees, with perspective; 8 by default.
    contrast : float
        Largest change of contrast, up or down; 0.25 (a quarter) by default.
    brightness : float
        Largest change of brightness, in grey levels; 20 by default.
    gamma : float
        Gamma from 1/1.4 to 1.4 for 0.4, the default.
    light : float
        Light from one side: largest difference between opposite edges, in grey levels; 40 by default.
    blur : float
        Largest standard deviation, in pixels of the sample; 0.6 by default.
    noise : float
        Largest standard deviation, in grey levels; 4 by default.
    jpeg : float
        Lowest quality of JPEG compression; 60 by default; 100 for none.
    occlusion : float
        Largest share of the object hidden by something grey; 0 by default, as it makes training harder.
    inverted : Inverted
        Swap light and dark: no, yes, or half (in about half of the copies).

    Examples
    --------
    >>> Alterations(strength=0.5, turn=10).limit("turn"), Alterations(strength=0.5).limit("turn")
    (10.0, 2.0)
    """

    strength: Annotated[float, Meta(ge=0, le=3)] = 1.0
    shift: Annotated[float, Meta(ge=0, le=0.5)] | None = None
    scaling: Annotated[float, Meta(ge=0, le=1)] | None = None
    turn: Annotated[float, Meta(ge=0, le=180)] | None = None
    tilt_x: Annotated[float, Meta(ge=0, le=75)] | None = None
    tilt_y: Annotated[float, Meta(ge=0, le=75)] | None = None
    contrast: Annotated[float, Meta(ge=0, le=4)] | None = None
    brightness: Annotated[float, Meta(ge=0, le=255)] | None = None
    gamma: Annotated[float, Meta(ge=0, le=4)] | None = None
    light: Annotated[float, Meta(ge=0, le=255)] | None = None
    blur: Annotated[float, Meta(ge=0, le=20)] | None = None
    noise: Annotated[float, Meta(ge=0, le=128)] | None = None
    jpeg: Annotated[float, Meta(ge=1, le=100)] | None = None
    occlusion: Annotated[float, Meta(ge=0, le=0.9)] | None = None
    inverted: Inverted = Inverted.NO

    def __post_init__(self) -> None:
        check_fields(self)

    def limit(self, name: str) -> float:
        """Return the end of a range: the given one, or the default times `strength`.

        Parameters
        ----------
        name : str
            Name of the range.

        Returns
        -------
        float
            The value with the strongest effect.
        """
        given: float | None = getattr(self, name)
        if given is not None:
            return given
        if name == "jpeg":
            return max(BEST_JPEG - self.strength * (BEST_JPEG - USUAL[name]), 1.0)
        return self.strength * USUAL[name]

    def drawn(self, rng: np.random.Generator, *, may_mirror: bool = False) -> Alteration:
        """Draw the alteration of one copy.

        Every range takes its numbers from the generator, even if it is 0, so that a change of one range does not change
        the values drawn for others.

        Parameters
        ----------
        rng : Generator
            Source of the numbers.
        may_mirror : bool
            Whether half of the copies are mirrored.

        Returns
        -------
        Alteration
            The alteration.
        """
        both: dict[str, Any] = {
            name: self.limit(name) * rng.uniform(-1, 1) for name in ("turn", "tilt_x", "tilt_y", "brightness")
        }
        factors: dict[str, Any] = {
            name: (1 + self.limit(name)) ** rng.uniform(-1, 1) for name in ("scaling", "contrast", "gamma")
        }
        least: dict[str, Any] = {name: self.limit(name) * rng.uniform() for name in ("blur", "noise")}
        half = rng.uniform() < 0.5
        return Alteration(
            shift=self.limit("shift") * rng.uniform(-1, 1, 2),
            light=self.limit("light") * rng.uniform(-1, 1, 2),
            jpeg=round(rng.uniform(self.limit("jpeg"), BEST_JPEG)),
            hidden=self._hidden(rng),
            is_mirrored=bool(rng.uniform() < 0.5) and may_mirror,
            is_inverted=self.inverted == Inverted.YES or (self.inverted == Inverted.HALF and bool(half)),
            **both,
            **factors,
            **least,
        )

    def _hidden(self, rng: np.random.Generator) -> Hidden:
        area, aspect = self.limit("occlusion") * rng.uniform(), MAX_ASPECT ** rng.uniform(-1, 1)
        width, height = min((area * aspect) ** 0.5, 1.0), min((area / aspect) ** 0.5, 1.0)
        left, top = rng.uniform(-0.5, 0.5, 2) * (1 - width, 1 - height) - (width / 2, height / 2)
        return Hidden(float(left), float(top), float(width), float(height), float(rng.uniform(0, 255)))


class Hidden(NamedTuple):
    """An occlusion: a rectangle relative to the sides of the object's box, from its centre, and its grey level."""

    left: float
    top: float
    width: float
    height: float
    level: float


@dataclass(frozen=True, eq=False)
class Alteration:
    """The alteration of one copy; the ranges are those of `Alterations`.

    Attributes
    ----------
    shift : ndarray of shape (2,), dtype float64
        To the right and downwards, relative to the sides of the box.
    turn, tilt_x, tilt_y : float
        Degrees.
    scaling, contrast : float
        Factors.
    gamma : float
        Exponent.
    brightness : float
        Added grey levels.
    light : ndarray of shape (2,), dtype float64
        Grey levels by which the right edge is lighter than the left one, and the bottom than the top.
    blur, noise : float
        Standard deviations, in pixels and in grey levels.
    jpeg : int
        Quality.
    hidden : Hidden
        The occluded part.
    is_mirrored, is_inverted : bool
        Whether left and right, light and dark are swapped.
    """

    shift: NDArray[np.float64]
    turn: float
    tilt_x: float
    tilt_y: float
    scaling: float
    contrast: float
    gamma: float
    brightness: float
    light: NDArray[np.float64]
    blur: float
    noise: float
    jpeg: int
    hidden: Hidden
    is_mirrored: bool
    is_inverted: bool
