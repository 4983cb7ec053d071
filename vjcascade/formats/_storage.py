"""From the bytes of a file of OpenCV's FileStorage, in any of its three forms, to what is in it."""

from __future__ import annotations

from vjcascade.errors import ModelError
from vjcascade.formats._parts import METADATA_TAG
from vjcascade.formats._text import parse_json, parse_yaml
from vjcascade.formats._tree import Node
from vjcascade.formats._xml import parse_xml


def first_element(data: bytes) -> tuple[str, Node]:
    """Return the name and content of what OpenCV takes for the cascade, whatever it is called.

    Raises
    ------
    ModelError
        If the file cannot be read, or nothing in it has a name.
    """
    storage = _parsed(data)
    if not isinstance(storage, dict) or not storage:
        raise ModelError("this is not a cascade: it has no named entries; give a cascade of OpenCV")
    return next(iter(storage.items()))


def _parsed(data: bytes) -> Node:
    """Tell the three forms apart by their first bytes."""
    text = _decoded(data.removeprefix(b"\xef\xbb\xbf"))
    start = text[:1024].lstrip()
    if start.startswith("<"):
        return parse_xml(text, comments_in=METADATA_TAG)
    if start.startswith("{"):
        return parse_json(text)
    if start.startswith("%YAML"):
        return parse_yaml(text)
    raise ModelError(
        "this is not a cascade: it is neither XML nor the YAML or JSON of OpenCV; "
        "give a cascade in one of OpenCV's formats"
    )


def _decoded(data: bytes) -> str:
    """Return a text, whatever encoding it is in: all that counts is ASCII, comments in Latin-1 or GB2312 do not."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
