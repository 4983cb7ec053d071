"""Changes that pages send: validated and idempotent, so that a page can send them again."""

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
"""Chosen by the page, so that it need not wait for an answer; JavaScript's integers are exact below this bound."""

Label: TypeAlias = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
BoxFlag: TypeAlias = Literal["", "ignore", "crowd"]
Use: TypeAlias = Literal["train", "validate"]
"""What a photo is used for: no model is trained on validation photos."""

DIGITS = 1
"""Decimal places of coordinates in pixels."""


class PutBox(msgspec.Struct, frozen=True, tag_field="do", tag="put", forbid_unknown_fields=True):
    """Add a box, or replace the one with this id.

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
        "ignore" or "crowd" if it does not count as an object; empty if it does.
    score : float or None
        Score of the model that proposed it; None if it was drawn.
    """

    photo: str
    id: BoxId
    box: Place
    label: Label
    flag: BoxFlag = ""
    score: float | None = None


class DeleteBox(msgspec.Struct, frozen=True, tag_field="do", tag="delete", forbid_unknown_fields=True):
    """Delete a box.

    Attributes
    ----------
    photo : str
        Name of the photo.
    id : int
        Of the box; it need not exist.
    """

    photo: str
    id: BoxId


class RejectPlace(msgspec.Struct, frozen=True, tag_field="do", tag="reject", forbid_unknown_fields=True):
    """Reject a detection, or take that back: rejected places are not proposed again, and become negatives in training.

    Attributes
    ----------
    photo : str
        Name of the photo.
    box : tuple of float
        Where it is.
    rejected : bool
        False takes a rejection back.
    """

    photo: str
    box: Place
    rejected: bool = True


class MarkDone(msgspec.Struct, frozen=True, tag_field="do", tag="done", forbid_unknown_fields=True):
    """Mark a photo as done: all its objects have boxes.

    Attributes
    ----------
    photo : str
        Name of the photo.
    done : bool
        False takes the mark back.
    """

    photo: str
    done: bool


class UsePhoto(msgspec.Struct, frozen=True, tag_field="do", tag="use", forbid_unknown_fields=True):
    """Set what a photo is used for.

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
    """Decode the changes in the body of a request.

    Raises
    ------
    SettingsError
        If the body is not a valid list of changes.

    Examples
    --------
    >>> decoded_changes(b'[{"do": "done", "photo": "a.png", "done": true}]')
    [MarkDone(photo='a.png', done=True)]
    """
    try:
        changes: Sequence[Change] = _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"the changes are invalid: {error}") from None
    return changes


def rounded_place(box: Place) -> Coordinates:
    """Round a box to the precision of the file.

    Examples
    --------
    >>> rounded_place((1.04, 2, 3.26, 4))
    (1.0, 2.0, 3.3, 4.0)
    """
    x, y, width, height = (round(float(number), DIGITS) for number in box)
    return x, y, width, height
