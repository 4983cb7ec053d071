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
        "mend or remove them; training would leave them out",
    ),
    Topic.UPSIDE_DOWN: (
        ("looks upside down", "look upside down"),
        "turn them by 180 degrees, or remove them; a wrong EXIF orientation may have turned them",
    ),
    Topic.TURNED: (
        ("looks turned by 90 degrees", "look turned by 90 degrees"),
        "turn them, or remove them; a wrong EXIF orientation may have turned them",
    ),
    Topic.SLANTED: (
        ("looks slanted", "look slanted"),
        "turn them level, or remove them if the detector need not find such; they blur what the others have in common",
    ),
    Topic.MIRRORED: (("looks mirrored", "look mirrored"), "mirror them, or remove them"),
    Topic.INVERTED: (
        ("is light where the others are dark", "are light where the others are dark"),
        "invert or remove them if they are photographic negatives; objects of both kinds need two models",
    ),
    Topic.NOT_OBJECT: (
        ("does not look like the object", "do not look like the object"),
        "look at them, and remove what does not show the object as the others do",
    ),
    Topic.OBJECT_IN_NEGATIVES: (
        ("seems to show the object", "seem to show the object"),
        "look at them, and remove those that show it, or give boxes around it (a list like info.dat); keep the others",
    ),
    Topic.IN_BOTH: (
        ("is a copy of a positive", "are copies of positives"),
        "remove them from the negatives, or from the positives if they do not show the object",
    ),
    Topic.SHIFTED: (
        ("has the object far from the middle", "have the object far from the middle"),
        "crop them anew, all in the same way",
    ),
    Topic.TIGHT: (
        ("is cut closer around the object", "are cut closer around the object"),
        "crop them anew, all in the same way",
    ),
    Topic.WIDE: (
        ("is cut wider around the object", "are cut wider around the object"),
        "crop them anew, all in the same way",
    ),
    Topic.SHAPE: (
        ("has another shape", "have another shape"),
        "crop them anew with the ratio of width to height of the others; those with sides swapped may be turned",
    ),
    Topic.FLAT: (
        ("has no contrast at all", "have no contrast at all"),
        "remove them: there is nothing in them",
    ),
    Topic.FAINT: (
        ("is too faint", "are too faint"),
        "no detector can find them; remove them, or take the pictures anew in better light",
    ),
    Topic.SMALL: (
        ("is smaller than the window", "are smaller than the window"),
        "remove them, or give larger pictures; what is enlarged is blurred",
    ),
    Topic.BOX: (
        ("has no usable box", "have no usable boxes"),
        "mend the boxes; training would leave them out",
    ),
    Topic.COPIES: (
        ("is an exact copy of another", "are exact copies of others"),
        "remove them; they teach nothing",
    ),
    Topic.NEAR_COPIES: (
        ("is nearly a copy of another", "are nearly copies of others"),
        "keep one of each: they count as several, and are no new objects",
    ),
    Topic.HELD_OUT: (
        (
            "would be held out to measure with while a near copy is trained on",
            "would be held out to measure with while near copies are trained on",
        ),
        "remove near copies: hit rates and false-alarm rates would look better than they are",
    ),
    Topic.FEW: (
        ("is few", "are few"),
        "add more: some hundred crops and some hundred photos are a beginning",
    ),
    Topic.REACH: (
        ("feeds few stages", "feed few stages"),
        "add photos of the places where the detector will look",
    ),
    Topic.EXIF: (
        (
            "was turned upright as its EXIF orientation says",
            "were turned upright as their EXIF orientation says",
        ),
        "nothing, if they look right: boxes must be those of the upright picture",
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
