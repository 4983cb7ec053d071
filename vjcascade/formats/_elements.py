"""From bytes to checked XML elements to numbers. Files are hostile: whatever is wrong is a `ModelError`.

Messages say what is wrong and where in the XML; the caller adds the name of the file.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate, errors

from vjcascade.errors import ModelError

MAX_ELEMENTS = 1_000_000
"""Most XML elements of a file, so that memory stays bounded; the largest cascade known has 97 thousand."""

MAX_DEPTH = 16
"""Deepest nesting of XML elements; a cascade needs 8."""

MAX_TEXT = 100_000
"""Most characters of an element that holds numbers; a tree of a thousand nodes has 50 thousand."""

_CUT_OFF = {
    errors.codes[name]
    for name in (errors.XML_ERROR_NO_ELEMENTS, errors.XML_ERROR_UNCLOSED_TOKEN, errors.XML_ERROR_PARTIAL_CHAR)
}

_SIGNATURES = {
    b"\xff\xd8\xff": "a JPEG picture",
    b"\x89PNG": "a PNG picture",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a ZIP archive",
}

_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,9})")  # OpenCV takes a leading 0 for octal
_REAL = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?")
_FLOAT32_END = 2.0**128 - 2.0**103  # from here on, rounding to float32 gives infinity


def parse(data: bytes, *, comments_in: str) -> Element:
    """Parse XML without document types and entities, bounded in size and nesting.

    Parameters
    ----------
    data : bytes
        The file.
    comments_in : str
        The element whose comments count as its text; all others are dropped.

    Returns
    -------
    Element
        The outermost element.

    Raises
    ------
    ModelError
        One sentence for each kind of file that is no XML, or no harmless XML; the file is not named.
    """
    _check_is_xml(data)
    builder = _BoundedBuilder(comments_in)
    parser = ParserCreate()
    parser.buffer_text = True  # else every line break is a call
    parser.StartDoctypeDeclHandler = _refuse_doctype  # no document type, no entities of its own
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.CommentHandler = builder.comment
    try:
        parser.Parse(data, True)
    except ExpatError as error:
        raise _syntax_error(error) from None
    except ModelError:
        raise
    except (ValueError, LookupError) as error:  # what Python's codecs say to a strange encoding
        raise ModelError(f"its encoding cannot be read ({error}); save it as UTF-8") from None
    return builder.close()


def _syntax_error(error: ExpatError) -> ModelError:
    if error.code in _CUT_OFF:
        return ModelError(f"the file is cut off: it ends in line {error.lineno}; copy or download it again")
    reason = errors.messages[error.code]
    return ModelError(f"line {error.lineno} is not well-formed XML ({reason}); get a fresh copy of the file")


def _refuse_doctype(*_: object) -> None:
    raise ModelError("it declares a document type or entities, as no cascade does; do not trust it")


def _check_is_xml(data: bytes) -> None:
    """Tell kinds of files apart by their first bytes, before an XML parser complains about line 1."""
    start = data[:1024].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not data.strip():
        raise ModelError("the file is empty; copy or download it again")
    if start.startswith(b"\x1f\x8b"):
        raise ModelError("the file is compressed (gzip); unpack it first, for example with gunzip")
    if any(tag in start.lower() for tag in (b"<!doctype html", b"<html")):
        raise ModelError("this is a web page (HTML), not a model; download the file itself (its raw form)")
    if not start.startswith(b"<"):
        kind = next((kind for magic, kind in _SIGNATURES.items() if start.startswith(magic)), "no XML at all")
        raise ModelError(f"this is not a cascade: it is {kind}; give a cascade in OpenCV's XML format")


class _BoundedBuilder:
    """Build a tree of elements, and stop where it grows beyond the limits."""

    def __init__(self, comments_in: str) -> None:
        self._comments_in = comments_in
        self._tree = TreeBuilder()
        self._open: list[str] = []
        self._n_elements = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._open.append(tag)
        self._n_elements += 1
        if len(self._open) > MAX_DEPTH or self._n_elements > MAX_ELEMENTS:
            raise ModelError(
                f"its XML is nested more than {MAX_DEPTH} deep or has more than {MAX_ELEMENTS} elements, "
                "as no cascade has; do not trust it"
            )
        self._tree.start(tag, attributes)

    def end(self, tag: str) -> None:
        self._open.pop()
        self._tree.end(tag)

    def data(self, text: str) -> None:
        self._tree.data(text)

    def comment(self, text: str) -> None:
        if self._open and self._open[-1] == self._comments_in:
            self._tree.data(text)

    def close(self) -> Element:
        return self._tree.close()


def items(parent: Element, tag: str) -> list[Element]:
    """Return the items of a list; OpenCV calls each of them <_>."""
    found = list(_child(parent, tag))
    if not found or any(item.tag != "_" for item in found):
        raise ModelError(f"<{tag}> is not a list of items <_>")
    return found


def words(parent: Element, tag: str) -> list[str]:
    """Return the words in the child `tag`."""
    return words_of(_child(parent, tag))


def words_of(element: Element) -> list[str]:
    """Return the words in an element that holds nothing else."""
    text = element.text or ""
    if len(element) or len(text) > MAX_TEXT:
        raise ModelError(f"<{element.tag[:40]}> does not hold a few plain values")
    return text.split()


def integer_in(parent: Element, tag: str) -> int:
    """Return the one 32-bit integer in the child `tag`."""
    return integer(_only_word(parent, tag))


def real_in(parent: Element, tag: str) -> float:
    """Return the one number in the child `tag`, finite in float32."""
    return real(_only_word(parent, tag))


def integer(word: str) -> int:
    """Return a 32-bit integer, written as OpenCV would also take it for decimal."""
    if not _INTEGER.fullmatch(word) or not -(2**31) <= int(word) < 2**31:
        raise ModelError(f"{word[:40]!r} is not a whole number of 32 bits")
    return int(word)


def real(word: str) -> float:
    """Return a number that is finite in float32."""
    if not _REAL.fullmatch(word) or abs(float(word)) >= _FLOAT32_END:
        raise ModelError(f"{word[:40]!r} is not a finite 32-bit number")
    return float(word)


def _child(parent: Element, tag: str) -> Element:
    found = parent.find(tag)
    if found is None:
        raise ModelError(f"<{tag}> is missing")
    return found


def _only_word(parent: Element, tag: str) -> str:
    found = words(parent, tag)
    if len(found) != 1:
        raise ModelError(f"<{tag}> holds {len(found)} values instead of one")
    return found[0]
