"""From the text of a YAML or JSON file to the tree: what OpenCV's FileStorage writes, and little more.

Both are read with the same tokens, for JSON is what YAML calls a flow. As in OpenCV, nesting in YAML is recognised by
the column of the first token, names need no quotes, a comma may stand before a closing bracket, JSON may hold
comments `//` and `/* */`, a NUL byte ends its line, and what follows after the first cascade is not looked at.
Anchors, texts of several lines, Base64 and escapes are not read: no cascade has them. The types that YAML and JSON
give to values are not told apart: readers know what they need.

OpenCV's own reader, `cv2.FileStorage`, is not used because files are hostile: a list of 100,000 brackets kills the
process, a short text in Base64 keeps it busy for ever, and of two equal names one is dropped without a word. Nor is
the json module: brackets of YAML need the methods for those of JSON anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vjcascade.errors import ModelError
from vjcascade.formats._tree import Node, add_child, check_size

_TOKENS = r"""
    (?P<space> {space} )
  | (?P<mark> (?: --- | \.\.\. ) (?= \s | \Z ) )
  | (?P<dash> - (?= [ \r\n] | \Z ) )
  | (?P<tag> ! [^\s\[\]{{}},]* )
  | (?P<open> [\[{{] )
  | (?P<close> [\]}}] )
  | (?P<comma> , )
  | (?P<key> (?: "[^"\\\n]*" [ ]* | [A-Za-z_][\w -]* ) : )
  | (?P<quoted> "(?: [^"\\\n] | \\[^\n] )*" | '[^'\n]*' )
  | (?P<plain> {plain} )
"""
_YAML = re.compile(
    _TOKENS.format(
        space=r"[ \r\n]+ | [\#\0][^\n]*", plain=r"""[^\s\[\]{},:"'\#!%\0] [^\r\n\[\]{},:"'\#\0]*"""
    ),
    re.VERBOSE,
)
_JSON = re.compile(
    _TOKENS.format(
        space=r"[ \t\r\n]+ | (?: // | \0 ) [^\n]* | /\* (?s:.*?) \*/", plain=r"""[^\s\[\]{},:"'/\0]+"""
    ),
    re.VERBOSE,
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int  # from 1
    column: int  # from 0


def parse_json(text: str) -> Node:
    """Parse a JSON file up to the end of its first value.

    Raises
    ------
    ModelError
        With the line where it cannot be understood.
    """
    return _Parser(_JSON, text, line=1).flow(1)


def parse_yaml(text: str) -> Node:
    """Parse the first document of a YAML file.

    Raises
    ------
    ModelError
        With the line where it cannot be understood.
    """
    header, _, body = text.partition("\n")
    if not header.strip():
        raise ModelError(
            "line 1: the file must begin with %YAML, else OpenCV refuses it; delete the blank line"
        )
    if not re.match(r"%YAML[: ]1\.", header):
        raise ModelError(
            f"line 1: {header.strip()[:40]!r} is not a version of YAML that OpenCV reads; it must be 1.0"
        )
    parser = _Parser(_YAML, body, line=2)
    if parser.next.text == "---":
        parser.take()
    node = parser.block(0, 1)
    if parser.next.kind != "mark":
        parser.expect("end")
    return node


def _tokens(pattern: re.Pattern[str], text: str, line: int) -> Iterator[_Token]:
    line_start = position = 0
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            found = text[position : position + 20].partition("\n")[0]
            raise ModelError(f"line {line}: {found!r} is not understood")
        kind, found = str(match.lastgroup), match[0]
        if kind != "space":
            yield _Token(kind, found.rstrip(), line, position - line_start)
        elif "\n" in found:
            line += found.count("\n")
            line_start = position + found.rindex("\n") + 1
        position = match.end()
    yield _Token("end", "", line, 0)


class _Parser:
    """Recursive descent with one token of foresight; every method starts at the token that it is named for."""

    def __init__(self, pattern: re.Pattern[str], text: str, line: int) -> None:
        self._tokens = _tokens(pattern, text, line)
        self._n_values = 0
        self.next = next(self._tokens)

    def take(self) -> _Token:
        """Return the next token and move on."""
        token = self.next
        self.next = next(self._tokens, token)
        return token

    def expect(self, *kinds: str) -> _Token:
        """Take a token of one of these kinds."""
        if self.next.kind not in kinds:
            raise self._surprise()
        return self.take()

    def block(self, column: int, depth: int) -> Node:
        """Parse a value that begins at `column` or right of it."""
        self._begin(depth)
        if self.next.kind == "end" or self.next.column < column:
            raise self._surprise()
        if self.next.kind == "key":
            return self._block_mapping(self.next.column, depth)
        if self.next.kind == "dash":
            return self._block_list(self.next.column, depth)
        return self._flow_or_word(depth)

    def _block_mapping(self, column: int, depth: int) -> Node:
        mapping: dict[str, Node] = {}
        while self.next.kind == "key" and self.next.column == column:
            key = self.take()
            self._add(mapping, key, self.block(column + 1, depth + 1), depth)
        self._close_block(column)
        return mapping

    def _block_list(self, column: int, depth: int) -> Node:
        found: list[Node] = []
        while self.next.kind == "dash" and self.next.column == column:
            self.take()
            found.append(self.block(column + 1, depth + 1))
        self._close_block(column)
        return found

    def _close_block(self, column: int) -> None:
        if self.next.column >= column and self.next.kind not in {"end", "mark"}:
            raise self._surprise()

    def flow(self, depth: int) -> Node:
        """Parse a value in brackets, or one like those inside them."""
        self._begin(depth)
        return self._flow_or_word(depth)

    def _flow_or_word(self, depth: int) -> Node:
        if self.next.kind != "open":
            return self.expect("plain", "quoted").text.strip("\"'")
        if self.take().text == "[":
            return self._flow_list(depth)
        return self._flow_mapping(depth)

    def _flow_list(self, depth: int) -> Node:
        found: list[Node] = []
        while self.next.kind != "close":
            found.append(self.flow(depth + 1))
            self._separate()
        self._close_flow("]")
        return found

    def _flow_mapping(self, depth: int) -> Node:
        mapping: dict[str, Node] = {}
        while self.next.kind != "close":
            key = self.expect("key")
            self._add(mapping, key, self.flow(depth + 1), depth)
            self._separate()
        self._close_flow("}")
        return mapping

    def _separate(self) -> None:
        if self.next.kind != "close":
            self.expect("comma")

    def _close_flow(self, bracket: str) -> None:
        if self.next.text != bracket:
            raise self._surprise()
        self.take()

    def _begin(self, depth: int) -> None:
        """Count a value, and skip what is said about its type."""
        self._n_values += 1
        check_size(depth, self._n_values)
        if self.next.kind == "tag":
            self.take()

    def _add(self, mapping: dict[str, Node], key: _Token, node: Node, depth: int) -> None:
        try:
            add_child(mapping, key.text[:-1].rstrip().strip('"'), node, depth)
        except ModelError as error:
            raise ModelError(f"line {key.line}: {error}") from None

    def _surprise(self) -> ModelError:
        token = self.next
        if token.kind == "end":
            return ModelError(f"the file is cut off: it ends in line {token.line}")
        return ModelError(f"line {token.line}: {token.text[:40]!r} is not expected here")
