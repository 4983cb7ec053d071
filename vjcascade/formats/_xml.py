"""From the text of an XML file to the tree: the little of XML that OpenCV's FileStorage reads, no more.

Files of the wild are no XML in the strict sense: comments hold `--` and bytes of any encoding, declarations name
encodings that the file is not in, NUL bytes and a second cascade follow the first. OpenCV reads them, so these rules
are its own: comments are skipped whatever they hold, a NUL byte ends its line, the declaration is not looked at,
and of several `<opencv_storage>` the first one counts.

What is not known cannot do harm: there are no document types and no entities, not even `&lt;`, for no number has one.
Comments exist between tags only; in the value of an attribute, `<!--` is a text like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from vjcascade.errors import ModelError
from vjcascade.formats._tree import MAX_DEPTH, MAX_VALUES, Node, add_child, check_size

MAX_TEXT = 1_000_000
"""Most characters of an element that holds numbers; a tree of a thousand LBP nodes has 130 thousand."""

MAX_ELEMENTS_DEEP = 16
"""Deepest nesting of annotations; those of Pascal VOC and imglab have 5."""

_NAME = r"[^\s<>/=!?&\"'\0]+"
_TOKEN = re.compile(
    rf"""
    (?P<text> [^<\0]+ )
  | <!-- (?P<comment> .*? ) -->
  | <\? (?P<instruction> .*? ) \?>
  | </ (?P<end> {_NAME} ) \s* >
  | < (?P<start> {_NAME} ) (?: \s+ {_NAME} \s* = \s* (?: "[^"]*" | '[^']*' ) )* \s* (?P<empty> /? ) >
  | (?P<null> \0 [^\n]* )
    """,
    re.VERBOSE | re.DOTALL,
)
_LEAF = re.compile(rf"\s* < (?P<tag> {_NAME} ) > (?P<text> [^<\0]*+ ) </ (?P=tag) >", re.VERBOSE)
"""Most of a cascade, in a third of the time that its four tokens take."""

_ITEM = re.compile(
    r"""
    \s* <_> \s* (?:
      <internalNodes> (?P<nodes> [^<\0]*+ ) </internalNodes> \s* <leafValues> (?P<leaves> [^<\0]*+ ) </leafValues>
    | <rects> (?P<rects> (?: \s* <_> [^<\0]*+ </_> )++ ) \s* </rects> \s* <tilted> (?P<tilted> [^<\0]*+ ) </tilted>
    ) \s* </_>
    """,
    re.VERBOSE,
)
_RECT = re.compile("<_>([^<]*)</_>")
"""A weak classifier and a Haar feature, as nearly all files write them: a cascade has thousands, and is read in half of
the time that their leaves take."""

_ATTRIBUTE = re.compile(rf"""\s ({_NAME}) \s* = \s* (?: "([^"]*)" | '([^']*)' )""", re.VERBOSE)
_AFTER_THE_END = re.compile(
    r"(?: \s | \0[^\n]* | <!-- .*? (?: --> | \Z ) )*+ (?P<strange> (?! <opencv_storage [\s>] ) . )?",
    re.VERBOSE | re.DOTALL,
)


def parse_xml(text: str, *, comments_in: str) -> Node:
    """Parse an XML file; attributes are dropped, for OpenCV tells formats apart by what is in them.

    Parameters
    ----------
    text : str
        The file.
    comments_in : str
        The element whose text, with its comments, is one word; other comments stand for a blank.

    Returns
    -------
    Node
        What the first outermost element holds.

    Raises
    ------
    ModelError
        One sentence for each kind of file that is no XML, no harmless XML, or not of OpenCV's FileStorage.
    """
    builder = _Builder(comments_in)
    position = 0
    while not builder.is_whole:
        item = _ITEM.match(text, position) if builder.is_in_list else None
        if item and builder.add_item(item):
            position = item.end()
            continue
        leaf = _LEAF.match(text, position)
        token = leaf or _token_at(text, position)
        try:
            if leaf:
                builder.add_leaf(leaf["tag"], leaf["text"])
            else:
                builder.add(token)
        except ModelError as error:
            place = leaf.start("tag") if leaf else token.start()
            raise ModelError(f"line {line_of(text, place)}: {error}") from None
        position = token.end()
    rest = _AFTER_THE_END.match(text, position)
    if rest and rest["strange"]:
        place = rest.start("strange")
        raise ModelError(
            f"line {line_of(text, place)}: {text[place : place + 20]!r} follows </opencv_storage>, so OpenCV refuses "
            "the file; delete what follows"
        )
    return builder.root


def tokens(text: str) -> Iterator[re.Match[str]]:
    """Yield the tags, texts and comments of an XML file; the groups of `_TOKEN` tell what they are.

    Yields
    ------
    re.Match
        Take no more when the outermost element has ended.

    Raises
    ------
    ModelError
        If something else comes, such as a document type, or the file ends.
    """
    position = 0
    while True:
        token = _token_at(text, position)
        yield token
        position = token.end()


def _token_at(text: str, position: int) -> re.Match[str]:
    token = _TOKEN.match(text, position)
    if token is None:
        raise _syntax_error(text, position)
    return token


class Element(NamedTuple):
    """The beginning or the end of an element.

    Attributes
    ----------
    path : tuple of str
        The names of those it is in, and its own.
    place : int
        Where the tag is in the text.
    tag : str
        The start tag, with its attributes; empty at the end.
    text : str
        What it holds, at the end.
    """

    path: tuple[str, ...]
    place: int
    tag: str = ""
    text: str = ""


def elements(text: str, root: str, form: str) -> Iterator[Element]:
    """Yield the beginnings and ends of the elements of a document.

    Parameters
    ----------
    text : str
        The file.
    root : str
        The name of the outermost element.
    form : str
        What such files are called, for messages.

    Yields
    ------
    Element
        Up to the end of the outermost one.

    Raises
    ------
    ModelError
        If it is no XML, has another root, or is nested too deeply.
    """
    opened: list[str] = []
    pieces: list[str] = []
    for token in tokens(text):
        kind, place = token.lastgroup, token.start()
        if kind == "text":
            pieces.append(token["text"])
        if kind == "null":  # what follows in its line would be lost in silence
            raise ModelError(f"line {line_of(text, place)}: a NUL byte; copy or download the file again")
        if kind == "empty":  # the last group of a start tag
            opened.append(token["start"])
            pieces.clear()
            if opened[0] != root or len(opened) > MAX_ELEMENTS_DEEP:
                raise ModelError(f"line {line_of(text, place)}: it is not <{root}> of {form}")
            yield Element(tuple(opened), place, tag=token[0])
        if kind == "end" or token["empty"]:
            name = token["end"] or token["start"]
            if not opened or opened[-1] != name:
                raise ModelError(f"line {line_of(text, place)}: </{name[:40]}> closes nothing")
            yield Element(tuple(opened), place, text=unescape("".join(pieces).strip()))
            pieces.clear()
            opened.pop()
            if not opened:
                return


def attributes_of(tag: str) -> dict[str, str]:
    r"""Return the attributes of a start tag, as `tokens` yields it.

    Examples
    --------
    >>> attributes_of("<box top='3' name=\"a &amp; b\">")
    {'top': '3', 'name': 'a & b'}
    """
    return {name: unescape(one or other) for name, one, other in _ATTRIBUTE.findall(tag)}


def line_of(text: str, position: int) -> int:
    """Return the number of the line that a place in a text is in, from 1."""
    return text.count("\n", 0, position) + 1


def _syntax_error(text: str, position: int) -> ModelError:
    rest = text[position : position + 40]
    line = line_of(text, position)
    if rest.startswith("<![CDATA["):
        return ModelError(f"line {line}: CDATA sections are not supported, nor by OpenCV")
    if rest.startswith("<!") and not rest.startswith("<!--"):
        return ModelError(
            f"line {line}: it declares a document type or entities, which no cascade needs; do not trust it"
        )
    if rest.startswith(("<!--", "<?")) or text.find(">", position) < 0:  # no end of it matched
        return ModelError(f"the file is cut off: it ends in line {line_of(text, len(text))}")
    return ModelError(f"line {line} is not well-formed XML ({rest.partition('>')[0]!r} is not a tag)")


class _Builder:
    """Build the tree, innermost elements first, and stop where it grows beyond the limits."""

    def __init__(self, comments_in: str) -> None:
        self.root: Node = ""
        self.is_whole = False
        self._comments_in = comments_in
        self._open: list[tuple[str, list[str], list[tuple[str, Node]]]] = []  # tag, text, children
        self._n_values = 0

    def add(self, token: re.Match[str]) -> None:
        """Take one token of the file."""
        match token.lastgroup:
            case "text":
                self._add_text(token["text"])
            case "empty":  # the last group of a start tag
                self._start(token["start"])
                if token["empty"]:
                    self._end(token["start"])
            case "end":
                self._end(token["end"])
            case "comment":
                is_metadata = self._open and self._open[-1][0] == self._comments_in
                self._add_text(token["comment"] if is_metadata else " ")
            case "instruction":
                self._check_instruction(token)

    @property
    def is_in_list(self) -> bool:
        """Whether weak classifiers or features come next."""
        return bool(self._open) and self._open[-1][0] in {"weakClassifiers", "features"}

    def add_item(self, item: re.Match[str]) -> bool:
        """Take a weak classifier or a Haar feature; return whether that could be done without going beyond limits."""
        if len(self._open) + 3 > MAX_DEPTH or len(item[0]) > MAX_TEXT:
            return False
        if item["nodes"] is not None:
            nodes, leaves = item["nodes"].split(), item["leaves"].split()
            node: Node = {"internalNodes": _plain(nodes), "leafValues": _plain(leaves)}
            n_values = 3 + len(nodes) + len(leaves)
        else:
            rects, tilted = [text.split() for text in _RECT.findall(item["rects"])], item["tilted"].split()
            node = {"rects": [_plain(rect) for rect in rects], "tilted": _plain(tilted)}
            n_values = 3 + len(tilted) + sum(1 + len(rect) for rect in rects)
        if self._n_values + n_values > MAX_VALUES:
            return False
        self._n_values += n_values
        self._open[-1][2].append(("_", node))
        return True

    def add_leaf(self, tag: str, text: str) -> None:
        """Take an element that holds no other."""
        self._start(tag)
        self._add_text(text)
        self._end(tag)

    def _check_instruction(self, token: re.Match[str]) -> None:
        """Refuse an XML declaration behind anything; other instructions do nothing."""
        if token.start() > 0 and re.match(r"xml\s", token["instruction"]):
            raise ModelError(
                "the file must begin with <?xml, else OpenCV refuses it; delete everything before it, "
                "even a blank line"
            )

    def _start(self, tag: str) -> None:
        if not self._open and tag != "opencv_storage":
            raise ModelError(
                f"this XML file is not a cascade: it is a <{tag[:40]}>; give a cascade of OpenCV"
            )
        self._open.append((tag, [], []))
        self._n_values += 1
        check_size(len(self._open), self._n_values)

    def _end(self, tag: str) -> None:
        if not self._open or self._open[-1][0] != tag:
            opened = f"<{self._open[-1][0][:40]}>" if self._open else "nothing"
            raise ModelError(f"not well-formed XML (mismatched tag): </{tag[:40]}> closes {opened}")
        _, pieces, children = self._open.pop()
        text = "".join(pieces)
        try:
            node = text if tag == self._comments_in else self._node(text, children)
        except ModelError as error:
            raise ModelError(f"<{tag[:40]}>: {error}") from None
        if self._open:
            self._open[-1][2].append((tag, node))
        else:
            self.root, self.is_whole = node, True

    def _add_text(self, text: str) -> None:
        if self._open:
            self._open[-1][1].append(text)
        elif text.strip():
            raise ModelError(f"{text.strip()[:40]!r} comes before <opencv_storage>")

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
            add_child(mapping, tag, node, depth=len(self._open) + 1)
        return mapping

    def _words(self, text: str) -> Node:
        if len(text) > MAX_TEXT:
            raise ModelError(
                f"it holds more than {MAX_TEXT} characters, which no cascade has; do not trust it"
            )
        found = text.split()
        self._n_values += len(found)
        check_size(0, self._n_values)
        return _plain(found)


def _plain(words: list[str]) -> Node:
    """Return the words of an element; one word alone is no list."""
    return words[0] if len(words) == 1 else [*words]
