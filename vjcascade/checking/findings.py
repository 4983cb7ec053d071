"""What may be wrong with pictures, how bad it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from vjcascade.messages import pluralize


class Level(StrEnum):
    """How bad a finding is.

    Examples
    --------
    >>> Level("warning").name
    'WARNING'
    """

    WARNING = "warning"
    NOTE = "note"


class Topic(StrEnum):
    """What a finding is about; the order is that of reports.

    Examples
    --------
    >>> Topic("upside down").name
    'UPSIDE_DOWN'
    """

    UNREADABLE = "unreadable"
    UPSIDE_DOWN = "upside down"
    TURNED = "turned"
    SLANTED = "slanted"
    MIRRORED = "mirrored"
    INVERTED = "inverted"
    NOT_OBJECT = "not the object"
    OBJECT_IN_NEGATIVES = "object in negatives"
    IN_BOTH = "in both"
    SHIFTED = "shifted"
    TIGHT = "too tight"
    WIDE = "too wide"
    SHAPE = "another shape"
    FLAT = "flat"
    FAINT = "faint"
    SMALL = "small"
    BOX = "box"
    COPIES = "copies"
    NEAR_COPIES = "near copies"
    HELD_OUT = "copies held out"
    FEW = "few"
    REACH = "reach"
    EXIF = "exif"


_WHAT = {
    Topic.UNREADABLE: (
        ("cannot be used", "cannot be used"),
        "fix or remove them; training skips them",
    ),
    Topic.UPSIDE_DOWN: (
        ("looks upside down", "look upside down"),
        "rotate them by 180 degrees, or remove them; a wrong EXIF orientation may be the cause",
    ),
    Topic.TURNED: (
        ("looks rotated by 90 degrees", "look rotated by 90 degrees"),
        "rotate them, or remove them; a wrong EXIF orientation may be the cause",
    ),
    Topic.SLANTED: (
        ("looks slanted", "look slanted"),
        "rotate them level, or remove them if the detector need not find slanted objects; they blur the common pattern",
    ),
    Topic.MIRRORED: (("looks mirrored", "look mirrored"), "mirror them, or remove them"),
    Topic.INVERTED: (
        ("is light where the others are dark", "are light where the others are dark"),
        "invert or remove them if they are photographic negatives; objects of both kinds need two models",
    ),
    Topic.NOT_OBJECT: (
        ("does not look like the object", "do not look like the object"),
        "look at them, and remove those that do not show the object, or show it from another side",
    ),
    Topic.OBJECT_IN_NEGATIVES: (
        ("seems to show the object", "seem to show the object"),
        "look at them: remove those that show it, or give boxes around it (a list like info.dat); keep the others",
    ),
    Topic.IN_BOTH: (
        ("is a copy of a positive", "are copies of positives"),
        "remove them from the negatives, or from the positives if they do not show the object",
    ),
    Topic.SHIFTED: (
        ("is off-centre", "are off-centre"),
        "crop them again, framed like the others",
    ),
    Topic.TIGHT: (
        ("is cropped tighter than the others", "are cropped tighter than the others"),
        "crop them again, framed like the others",
    ),
    Topic.WIDE: (
        ("is cropped wider than the others", "are cropped wider than the others"),
        "crop them again, framed like the others",
    ),
    Topic.SHAPE: (
        ("has another aspect ratio", "have another aspect ratio"),
        "crop them again with the aspect ratio of the others; if width and height are swapped, they may be rotated",
    ),
    Topic.FLAT: (
        ("has no contrast at all", "have no contrast at all"),
        "remove them: they show nothing",
    ),
    Topic.FAINT: (
        ("has too little contrast", "have too little contrast"),
        "no detector can find them; remove them, or take the pictures again in better light",
    ),
    Topic.SMALL: (
        ("is smaller than the window", "are smaller than the window"),
        "remove them, or give larger pictures: enlarged ones are blurred",
    ),
    Topic.BOX: (
        ("has no usable box", "have no usable boxes"),
        "fix the boxes; training skips them",
    ),
    Topic.COPIES: (
        ("is an exact copy of another", "are exact copies of others"),
        "remove them: they add no information",
    ),
    Topic.NEAR_COPIES: (
        ("is a near copy of another", "are near copies of others"),
        "keep one of each: the others count as more data but show nothing new",
    ),
    Topic.HELD_OUT: (
        (
            "would be held out for validation while a near copy is trained on",
            "would be held out for validation while near copies are trained on",
        ),
        "remove near copies: they make hit rates and false-alarm rates look better than they are",
    ),
    Topic.FEW: (
        ("is few", "are few"),
        "add more: a few hundred crops and a few hundred photos are a start",
    ),
    Topic.REACH: (
        ("has windows for only a few stages", "have windows for only a few stages"),
        "add photos of the places where the detector will run",
    ),
    Topic.EXIF: (
        (
            "was rotated upright as its EXIF orientation says",
            "were rotated upright as their EXIF orientation says",
        ),
        "nothing, if they look right; boxes must fit the upright picture",
    ),
}


@dataclass(frozen=True, eq=False)
class Item:
    """A picture, or a part of one, that a finding is about.

    Attributes
    ----------
    name : str
        File or line, as in reports of training.
    detail : str
        What is seen in it; may be empty.
    pixels : ndarray of shape (height, width), dtype uint8, or None
        To be shown.
    like : ndarray of shape (height, width), dtype uint8, or None
        What it is like, where it is a copy.

    Examples
    --------
    >>> Item("crop-7.png", "turned by 90 degrees").name
    'crop-7.png'
    """

    name: str
    detail: str = ""
    pixels: NDArray[np.uint8] | None = None
    like: NDArray[np.uint8] | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.detail})" if self.detail else self.name


@dataclass(frozen=True, eq=False)
class Finding:
    """Something that is wrong with pictures.

    Attributes
    ----------
    topic : Topic
        What it is about.
    kind : {"positives", "negatives"}
        Which pictures.
    items : tuple of Item
        The pictures, the clearest first; none where it is about all of them.
    n_all : int
        How many of this kind there are in all.
    level : Level
        How bad it is.

    Examples
    --------
    >>> print(Finding(Topic.FLAT, "positives", (Item("a.png"),), 60))
    1 of 60 positives has no contrast at all
    """

    topic: Topic
    kind: str
    items: tuple[Item, ...]
    n_all: int
    level: Level = Level.WARNING

    def __str__(self) -> str:
        n = len(self.items)
        if not n:  # it is about all of them
            return f"{pluralize(self.n_all, self.kind.removesuffix('s'))} {_WHAT[self.topic][0][self.n_all != 1]}"
        one, many = _WHAT[self.topic][0]
        return f"{n:,} of {pluralize(self.n_all, self.kind.removesuffix('s'))} {one if n == 1 else many}"

    def joined(self, other: Finding) -> Finding:
        """Return both of one topic and kind as one; a picture that both name is named once."""
        names = {item.name for item in self.items}
        more = tuple(item for item in other.items if item.name not in names)
        return replace(self, items=self.items + more, n_all=max(self.n_all, other.n_all))

    @property
    def advice(self) -> str:
        """What to do."""
        return _WHAT[self.topic][1]
