"""What pages ask to be changed: checked messages; one that arrives a second time changes nothing any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from vjcascade.errors import SettingsError
from vjcascade.formats.annotations.pictures import MAX_COORDINATE, Coordinates

Number: TypeAlias = Annotated[float, Meta(gt=-MAX_COORDINATE, lt=MAX_COORDINATE)]
Place: TypeAlias = tuple[Number, Number, Number, Number]
"""A box `x, y, w, h` in pixels of the upright photo."""

BoxId: TypeAlias = Annotated[int, Meta(ge=1, lt=2**53)]
"""Chosen by the page, so that it need not wait for an answer; JavaScript's numbers are exact up to here."""

Label: TypeAlias = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
BoxFlag: TypeAlias = Literal["", "ignore", "crowd"]
Use: TypeAlias = Literal["train", "validate"]
"""What a photo serves: nobody trains on those that models are compared on."""

DIGITS = 1
"""Of a pixel; nobody draws more precisely."""


class PutBox(msgspec.Struct, frozen=True, tag_field="do", tag="put", forbid_unknown_fields=True):
    """Draw a box, or give the one of this number another place, label or flag.

    Attributes
    ----------
    photo : str
        Name of the photo.
    id : int
        Of the box.
    box : tuple of float
        Where it is.
    label : str
        The kind of object.
    flag : str
        Why it does not count; empty where it does.
    score : float or None
        Of the model that proposed it; None of a box that was drawn.
    """

    photo: str
    id: BoxId
    box: Place
    label: Label
    flag: BoxFlag = ""
    score: float | None = None


class DeleteBox(msgspec.Struct, frozen=True, tag_field="do", tag="delete", forbid_unknown_fields=True):
    """Take a box away.

    Attributes
    ----------
    photo : str
        Name of the photo.
    id : int
        Of the box; need not be there.
    """

    photo: str
    id: BoxId


class RejectPlace(msgspec.Struct, frozen=True, tag_field="do", tag="reject", forbid_unknown_fields=True):
    """Say whether what a model found is not the object: then it is not proposed again, and the next model learns it.

    Attributes
    ----------
    photo : str
        Name of the photo.
    box : tuple of float
        Where it is.
    rejected : bool
        False takes back that it is not the object.
    """

    photo: str
    box: Place
    rejected: bool = True


class MarkDone(msgspec.Struct, frozen=True, tag_field="do", tag="done", forbid_unknown_fields=True):
    """Say whether all objects of a photo have boxes.

    Attributes
    ----------
    photo : str
        Name of the photo.
    done : bool
        Whether they have.
    """

    photo: str
    done: bool


class UsePhoto(msgspec.Struct, frozen=True, tag_field="do", tag="use", forbid_unknown_fields=True):
    """Say what a photo serves.

    Attributes
    ----------
    photo : str
        Name of the photo.
    use : str
        "train" or "validate".
    """

    photo: str
    use: Use


Change: TypeAlias = PutBox | DeleteBox | RejectPlace | MarkDone | UsePhoto

_DECODER = msgspec.json.Decoder(Annotated[list[Change], Meta(max_length=10_000)])


def decoded_changes(data: bytes) -> Sequence[Change]:
    """Return the changes of a message.

    Raises
    ------
    SettingsError
        If it is anything else.

    Examples
    --------
    >>> decoded_changes(b'[{"do": "done", "photo": "a.png", "done": true}]')
    [MarkDone(photo='a.png', done=True)]
    """
    try:
        changes: Sequence[Change] = _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"these are no changes: {error}") from None
    return changes


def rounded_place(box: Place) -> Coordinates:
    """Return a place as it is kept.

    Examples
    --------
    >>> rounded_place((1.04, 2, 3.26, 4))
    (1.0, 2.0, 3.3, 4.0)
    """
    x, y, width, height = (round(float(number), DIGITS) for number in box)
    return x, y, width, height
