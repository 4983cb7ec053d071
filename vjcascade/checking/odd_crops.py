"""Crops that are not like the others: turned, slanted, inverted, shifted, cut too tight or wide, or of something else.

All crops are altered in turn, and what tells them from themselves as they are is learned, for each from others than
itself. A crop that looks altered, and looks like the object once that is undone, was altered. What looks like the
photos without the object, whatever is undone, is something else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.checking.descriptors import WHOLE, Region, Rows, Stack, describe
from vjcascade.checking.discriminant import Discriminant, Scores, split_groups
from vjcascade.checking.findings import Topic
from vjcascade.parallel import ordered_map

MIN_CROPS = 40
"""With fewer, what they have in common is not known well enough to name those that have it not."""

INNER = 0.64
"""Share of the sides of the part that is compared where crops may lie otherwise: around it is room to move it."""

SHIFT = 0.18
"""Of the sides of a crop: by so much a part is moved, as far as there is room."""

TIGHT, WIDE = 1.4, 0.66
"""By so much an object is larger or smaller in its crop."""

SLANT = 0.25
"""Of the shorter side: by so much the ends of a slanted object lie farther apart than those of an upright one."""

SQUARE = 1.25
"""Longer windows are not compared with themselves turned by 90 degrees: those crops have another shape."""


class Alteration(NamedTuple):
    """One way in which a crop may differ from the others.

    Attributes
    ----------
    topic : Topic
        What it is called.
    seen : Region
        The part of crops as they are that is compared.
    moved : Region
        The part that shows what an altered crop shows in `seen`.
    flip : str
        What becomes of the pixels, by the keys of `_FLIPS`.
    undone : Region
        The part of an altered crop that shows what crops as they are show.
    undone_flip : str
        What is done to its pixels for that.
    """

    topic: Topic
    seen: Region = WHOLE
    moved: Region = WHOLE
    flip: str = "none"
    undone: Region = WHOLE
    undone_flip: str = "none"


def _slanted(windows: Stack, slant: float) -> Stack:
    """Return windows turned so far that their ends lie `slant` of the shorter side apart, clockwise if positive.

    What is beyond the border repeats the pixels there.
    """
    height, width = windows.shape[1:]
    angle = math.atan(slant * min(height, width) / max(height, width))
    y, x = np.indices((height, width)) - np.array([[[height - 1]], [[width - 1]]]) / 2
    from_y = (math.cos(angle) * y - math.sin(angle) * x + (height - 1) / 2).clip(0, height - 1)
    from_x = (math.sin(angle) * y + math.cos(angle) * x + (width - 1) / 2).clip(0, width - 1)
    top, left = from_y.astype(np.intp), from_x.astype(np.intp)
    bottom, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    down, across = (from_y - top).astype(np.float32), (from_x - left).astype(np.float32)
    upper = (1 - across) * windows[:, top, left] + across * windows[:, top, right]
    lower = (1 - across) * windows[:, bottom, left] + across * windows[:, bottom, right]
    turned: Stack = np.rint((1 - down) * upper + down * lower).astype(np.uint8)
    return turned


_FLIPS: dict[str, Callable[[Stack], Stack]] = {
    "none": lambda w: w,
    "invert": lambda w: 255 - w,
    "mirror": lambda w: w[:, :, ::-1],
    "flip": lambda w: w[:, ::-1],
    "half turn": lambda w: w[:, ::-1, ::-1],
    "left turn": lambda w: w.swapaxes(1, 2)[:, ::-1],
    "right turn": lambda w: w[:, ::-1].swapaxes(1, 2),
    "slant down": lambda w: _slanted(w, SLANT),
    "slant up": lambda w: _slanted(w, -SLANT),
}

_INSIDE = Region(share=INNER)


def _flipped(topic: Topic, flip: str, undone: str | None = None) -> Alteration:
    return Alteration(topic, flip=flip, undone_flip=undone or flip)


def _shifted(x: float, y: float) -> Alteration:
    """Return the alteration by which the object lies so far from the middle, in shares of the sides."""
    moved = Region(0.5 - x, 0.5 - y, INNER)
    return Alteration(Topic.SHIFTED, _INSIDE, moved, undone=Region(0.5 + x, 0.5 + y))


def _scaled(topic: Topic, scale: float) -> Alteration:
    moved = Region(share=INNER / scale)
    return Alteration(topic, _INSIDE, moved, undone=Region(share=scale))


UPRIGHT_ALTERATIONS = (
    _flipped(Topic.UPSIDE_DOWN, "half turn"),
    _flipped(Topic.UPSIDE_DOWN, "flip"),
    _flipped(Topic.SLANTED, "slant down", "slant up"),
    _flipped(Topic.SLANTED, "slant up", "slant down"),
    _flipped(Topic.MIRRORED, "mirror"),
    _flipped(Topic.INVERTED, "invert"),
    _shifted(SHIFT, 0),
    _shifted(-SHIFT, 0),
    _shifted(0, SHIFT),
    _shifted(0, -SHIFT),
    _scaled(Topic.TIGHT, TIGHT),
    _scaled(Topic.WIDE, WIDE),
)
TURNS = (
    _flipped(Topic.TURNED, "left turn", "right turn"),
    _flipped(Topic.TURNED, "right turn", "left turn"),
)


@dataclass(frozen=True)
class Rule:
    """When a crop counts as altered. Scores are 1 for the mean of crops, -1 for that of the other kind.

    Attributes
    ----------
    least_accuracy : float
        An alteration that changes objects so little that fewer crops are distinguished from altered ones names none.
    most_altered : float
        Score of a crop against altered ones, at most.
    most_before : float
        Score against other things, at most, as it is.
    least_after : float
        And at least, once the alteration is undone.
    least_gain : float
        From one to the other.
    least_sum : float
        This gain, less the score against altered ones.
    """

    least_accuracy: float
    most_altered: float
    most_before: float
    least_after: float
    least_gain: float
    least_sum: float


FLIP_RULE = Rule(0.9, -0.4, 0.5, 0.2, 0.25, 1.0)
CLEAR_RULE = Rule(0.9, -1.2, np.inf, 1.0, 0.0, 1.3)
"""Some objects, as licence plates, look much like the object also upside down: then only the clearest are named."""

SLANT_RULE = Rule(0.9, -0.7, np.inf, 0.0, -0.15, 1.0)
"""So do slanted objects, which are recognised by the slant alone. No upright car had a sum above 0.8."""

SHIFT_RULE = Rule(0.88, 0.0, 0.28, 0.1, 0.35, 1.45)
SCALE_RULE = Rule(0.88, 0.0, 0.28, 0.1, 0.35, 0.75)
"""What is moved shows other surroundings, and is recognised less surely. A little shifted are many good crops."""

_RULES = {
    Topic.UPSIDE_DOWN: (FLIP_RULE, CLEAR_RULE),
    Topic.SLANTED: (SLANT_RULE,),
    Topic.SHIFTED: (SHIFT_RULE,),
    Topic.TIGHT: (SCALE_RULE,),
    Topic.WIDE: (SCALE_RULE,),
}
"""Of which a crop must meet one, where it is not `FLIP_RULE` alone."""

NOT_OBJECT = -0.4
"""A crop that scores less against other things is taken for one of them."""


@dataclass(frozen=True, eq=False)
class OddCrops:
    """What was found.

    Attributes
    ----------
    topics : dict of int to Topic
        By the index of the crop.
    scores : ndarray of shape (n,), dtype float64
        Of each crop against other things: 1 for the mean of crops, -1 for that of other things.
    object_rule : Discriminant
        What tells crops from other things.
    """

    topics: dict[int, Topic]
    scores: Scores
    object_rule: Discriminant


def find_odd_crops(
    crops: Stack, groups: NDArray[np.intp], other_things: Stack, *, seed: int, n_threads: int = 1
) -> OddCrops:
    """Find crops that are not like the others.

    Parameters
    ----------
    crops : ndarray of shape (n, height, width), dtype uint8
        At least `MIN_CROPS`, most of them right.
    groups : ndarray of shape (n,), dtype intp
        Crops from one picture, and near copies, have one number, from 0 on.
    other_things : ndarray of shape (m, height, width), dtype uint8
        Windows from photos without the object; a few hundred or more.
    seed : int
        Deals crops into parts.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    OddCrops
        Each crop has one topic at most.
    """
    parts = split_groups(groups, seed)
    rows = describe(crops)
    other_parts = split_groups(np.arange(len(other_things)), seed)
    object_rule = Discriminant.between(rows, describe(other_things), parts, other_parts)
    best = np.full(len(crops), -np.inf)
    topics: dict[int, Topic] = {}
    inside = describe(crops, _INSIDE)
    ratio = max(crops.shape[1:]) / min(crops.shape[1:])
    alterations = (*UPRIGHT_ALTERATIONS, *(TURNS if ratio <= SQUARE else ()))

    def altered(alteration: Alteration) -> list[tuple[int, float]]:
        own = rows if alteration.seen == WHOLE else inside
        return _altered(crops, own, parts, alteration, object_rule)

    found = ordered_map(altered, alterations, n_threads)
    for alteration, suspects in zip(alterations, found, strict=True):
        for i, evidence in suspects:
            if evidence > best[i]:
                best[i], topics[i] = evidence, alteration.topic
    others = np.flatnonzero(object_rule.first <= NOT_OBJECT)
    topics |= {i: Topic.NOT_OBJECT for i in others.tolist() if i not in topics}
    return OddCrops(topics, object_rule.first, object_rule)


def _altered(
    crops: Stack, own: Rows, parts: NDArray[np.intp], alteration: Alteration, object_rule: Discriminant
) -> list[tuple[int, float]]:
    """Return the crops that look altered in one way, and how clearly."""
    flip, undone = _FLIPS[alteration.flip], _FLIPS[alteration.undone_flip]
    rules = _RULES.get(alteration.topic, (FLIP_RULE,))
    found = Discriminant.between(own, describe(flip(crops), alteration.moved), parts)
    before = object_rule.first
    altered: dict[int, float] = {}
    for rule in rules:
        suspects = np.flatnonzero((found.first <= rule.most_altered) & (before <= rule.most_before))
        if found.accuracy < rule.least_accuracy or not len(suspects):
            continue
        after = object_rule.judge(describe(undone(crops[suspects]), alteration.undone), suspects)
        gain = after - before[suspects]
        evidence = gain - found.first[suspects]
        is_clear = (after >= rule.least_after) & (gain >= rule.least_gain) & (evidence >= rule.least_sum)
        altered |= zip(suspects[is_clear].tolist(), evidence[is_clear].tolist(), strict=True)
    return list(altered.items())
