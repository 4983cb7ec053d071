"""From the bytes of an XML file to the tree: no document types, no entities, bounded in size and nesting."""

from __future__ import annotations

from xml.parsers.expat import ExpatError, ParserCreate, errors

from vjcascade.errors import ModelError
from vjcascade.formats._tree import Node, add_child, check_size

MAX_TEXT = 1_000_000
"""Most characters of an element that holds numbers; a tree of a thousand LBP nodes has 130 thousand."""

_CUT_OFF = {
    errors.codes[name]
    for name in (errors.XML_ERROR_NO_ELEMENTS, errors.XML_ERROR_UNCLOSED_TOKEN, errors.XML_ERROR_PARTIAL_CHAR)
}


def parse_xml(data: bytes, *, comments_in: str) -> Node:
    """Parse an XML file; attributes are dropped, for OpenCV tells formats apart by what is in them.

    Parameters
    ----------
    data : bytes
        The file.
    comments_in : str
        The element whose text, with its comments, is one word; other comments are dropped.

    Returns
    -------
    Node
        What the outermost element holds.

    Raises
    ------
    ModelError
        One sentence for each kind of file that is no XML, no harmless XML, or not of OpenCV's FileStorage.
    """
    builder = _Builder(comments_in)
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
    except ModelError as error:
        raise ModelError(f"line {parser.CurrentLineNumber}: {error}") from None
    except (ValueError, LookupError) as error:  # what Python's codecs say to a strange encoding
        raise ModelError(f"its encoding cannot be read ({error}); save it as UTF-8") from None
    return builder.root


def _syntax_error(error: ExpatError) -> ModelError:
    if error.code in _CUT_OFF:
        return ModelError(f"the file is cut off: it ends in line {error.lineno}; copy or download it again")
    reason = errors.messages[error.code]
    return ModelError(f"line {error.lineno} is not well-formed XML ({reason})")


def _refuse_doctype(*_: object) -> None:
    raise ModelError("it declares a document type or entities, as no cascade does; do not trust it")


class _Builder:
    """Build the tree, innermost elements first, and stop where it grows beyond the limits."""

    def __init__(self, comments_in: str) -> None:
        self.root: Node = ""
        self._comments_in = comments_in
        self._open: list[tuple[str, list[str], list[tuple[str, Node]]]] = []  # tag, text, children
        self._n_values = 0

    def start(self, tag: str, _attributes: dict[str, str]) -> None:
        if not self._open and tag != "opencv_storage":
            raise ModelError(
                f"this XML file is not a cascade: it is a <{tag[:40]}>; give a cascade of OpenCV"
            )
        self._open.append((tag, [], []))
        self._n_values += 1
        check_size(len(self._open), self._n_values)

    def end(self, tag: str) -> None:
        _, pieces, children = self._open.pop()
        text = "".join(pieces)
        try:
            node = text if tag == self._comments_in else self._node(text, children)
        except ModelError as error:
            raise ModelError(f"<{tag[:40]}>: {error}") from None
        if self._open:
            self._open[-1][2].append((tag, node))
        else:
            self.root = node

    def data(self, text: str) -> None:
        self._open[-1][1].append(text)

    def comment(self, text: str) -> None:
        if self._open and self._open[-1][0] == self._comments_in:
            self.data(text)

    def _node(self, text: str, children: list[tuple[str, Node]]) -> Node:
        """Return the mapping, the list of items `<_>`, or the words that an element holds."""
        if not children:
            return self._words(text)
        if text.strip():
            raise ModelError("it holds text beside other elements")
        if all(tag == "_" for tag, _ in children):
            return [node for _, node in children]
        mapping: dict[str, Node] = {}
        for tag, node in children:
            if tag == "_":
                raise ModelError("it holds items <_> beside other elements")
            add_child(mapping, tag, node)
        return mapping

    def _words(self, text: str) -> Node:
        if len(text) > MAX_TEXT:
            raise ModelError(f"it holds more than {MAX_TEXT} characters, as no cascade has; do not trust it")
        found = text.split()
        self._n_values += len(found)
        check_size(0, self._n_values)
        return found[0] if len(found) == 1 else list(found)
