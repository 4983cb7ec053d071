"""The tree that every form of a model file is read into, and the numbers in it.

A node is a word, a list or a mapping. XML, YAML and JSON are only three spellings of it: what is wrong with a
cascade is told here and in the readers, once for all of them. Files are hostile: whatever is wrong is a
`ModelError` that says what and where; the caller adds the name of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from typing import TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ModelError

Read = TypeVar("Read")

Node: TypeAlias = "str | list[Node] | dict[str, Node]"

MAX_VALUES = 1_000_000
"""Most words, lists and mappings of a file, so that memory stays bounded; the largest known has 300 thousand."""

MAX_DEPTH = 16
"""Deepest nesting; a cascade needs 10."""

_ONLY_WORDS, _ONLY_LISTS = frozenset({str}), frozenset({list})

_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,9})")  # OpenCV takes a leading 0 for octal
_REAL = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?")
_INTEGERS = re.compile(rf"(?:{_INTEGER.pattern} )*+")
_REALS = re.compile(rf"(?:{_REAL.pattern} )*+")
_INT32_END = 2**31
_FLOAT32_END = 2.0**128 - 2.0**103  # from here on, rounding to float32 gives infinity


@contextmanager
def explained(before: str = "", advice: str = "") -> Iterator[None]:
    """Add to the message of a `ModelError` where it happened, and what to do if it does not say so."""
    try:
        yield
    except ModelError as error:
        said = str(error)
        raise ModelError(f"{before}{said}{'' if '; ' in said else advice}") from None


def each(read: Callable[[Node], Read], nodes: Iterable[Node], name: str) -> list[Read]:
    """Return what `read` makes of nodes; an error tells the name and the place of the one that it is about."""
    found: list[Read] = []
    try:
        for node in nodes:
            found.append(read(node))  # noqa: PERF401  the error needs their number
    except ModelError as error:
        raise ModelError(f"{name} {len(found)}: {error}") from None
    return found


def check_size(depth: int, n_values: int) -> None:
    """Stop a front end whose tree grows beyond the limits."""
    if depth > MAX_DEPTH or n_values > MAX_VALUES:
        raise ModelError(
            f"it is nested more than {MAX_DEPTH} deep or has more than {MAX_VALUES} values, as no cascade has; "
            "do not trust it"
        )


def add_child(children: dict[str, Node], tag: str, node: Node, depth: int) -> None:
    """Put a node into a mapping at a depth, the outermost at 1.

    There, the first of two cascades of one name counts, as in OpenCV; inside a cascade, its parsers do not agree on
    what a name that comes twice means.
    """
    if tag in children and depth > 1:
        raise ModelError(f"{tag[:40]!r} appears twice")
    children.setdefault(tag, node)


def child(parent: Node, tag: str) -> Node:
    """Return the child `tag`."""
    if not isinstance(parent, dict) or tag not in parent:
        raise ModelError(f"{tag} is missing")
    return parent[tag]


def items(parent: Node, tag: str) -> list[Node]:
    """Return the items of the list `tag`, which is not empty."""
    found = child(parent, tag)
    if not isinstance(found, list) or not found:
        raise ModelError(f"{tag} is not a list with items")
    return found


def words(parent: Node, tag: str) -> list[str]:
    """Return the words in the child `tag`."""
    return words_of(child(parent, tag), tag)


def words_of(node: Node, name: str) -> list[str]:
    """Return the words in a node that holds nothing else; one word alone is a list of one, as in OpenCV."""
    if isinstance(node, str):
        return [node]
    if isinstance(node, dict):
        raise ModelError(f"{name} holds named values instead of plain ones")
    if not _ONLY_WORDS.issuperset(map(type, node)):
        raise ModelError(f"{name} holds lists instead of plain values")
    return cast("list[str]", node)


def integer_in(parent: Node, tag: str) -> int:
    """Return the one 32-bit integer in the child `tag`."""
    return _explained_number(integer, parent, tag)


def real_in(parent: Node, tag: str) -> float:
    """Return the one number in the child `tag`, finite in float32."""
    return _explained_number(real, parent, tag)


@lru_cache(maxsize=4096)  # the same few numbers come again and again
def integer(word: str) -> int:
    """Return a 32-bit integer, written as OpenCV would also take it for decimal."""
    if not _INTEGER.fullmatch(word) or not -_INT32_END <= int(word) < _INT32_END:
        raise ModelError(f"{word[:40]!r} is not a whole number of 32 bits")
    return int(word)


@lru_cache(maxsize=4096)
def real(word: str) -> float:
    """Return a number that is finite in float32; it may be written as a whole number."""
    if not _REAL.fullmatch(word) or abs(float(word)) >= _FLOAT32_END:
        raise ModelError(f"{word[:40]!r} is not a finite 32-bit number")
    return float(word)


class NotPlainError(Exception):
    """Reading many nodes at once met one that has to be looked at by itself."""


def all_integers(words: Sequence[Node]) -> NDArray[np.int64]:
    """Return what `integer` makes of each word, in a tenth of the time."""
    found = np.array([*map(int, _all_of_form(words, _INTEGERS))], np.int64)
    if not ((found >= -_INT32_END) & (found < _INT32_END)).all():
        raise NotPlainError
    return found


def all_reals(words: Sequence[Node]) -> NDArray[np.float64]:
    """Return what `real` makes of each word, in a tenth of the time."""
    found = np.array([*map(float, _all_of_form(words, _REALS))], np.float64)
    if not (np.abs(found) < _FLOAT32_END).all():
        raise NotPlainError
    return found


def all_children(parents: Sequence[Node], *tags: str) -> list[list[Node]]:
    """Return the children of mappings, those of each tag by themselves."""
    for parent in parents:
        if not isinstance(parent, dict) or not parent.keys() >= {*tags}:
            raise NotPlainError
    mappings = cast("Sequence[dict[str, Node]]", parents)
    return [[mapping[tag] for mapping in mappings] for tag in tags]


def flattened(lists: Sequence[Node]) -> tuple[list[Node], NDArray[np.intp]]:
    """Return the items of lists, one after the other, and their number in each list."""
    if not _ONLY_LISTS.issuperset(map(type, lists)):
        raise NotPlainError
    return [*chain.from_iterable(lists)], np.fromiter(map(len, lists), np.intp, len(lists))


def _all_of_form(nodes: Sequence[Node], form: re.Pattern[str]) -> Sequence[str]:
    """Return nodes that are words of a form, which has a blank after each."""
    if not _ONLY_WORDS.issuperset(map(type, nodes)):
        raise NotPlainError
    words = cast("Sequence[str]", nodes)
    text = " ".join([*words, ""])
    if not form.fullmatch(text) or text.count(" ") != len(words):  # in JSON, words may have blanks
        raise NotPlainError
    return words


def _explained_number(read: Callable[[str], Read], parent: Node, tag: str) -> Read:
    """Return the number in the child `tag`; without `explained`, which would take a tenth of the time of a file."""
    found = child(parent, tag)
    if not isinstance(found, str):
        raise ModelError(f"{tag} is not one plain value")
    try:
        return read(found)
    except ModelError as error:
        raise ModelError(f"{tag}: {error}") from None
