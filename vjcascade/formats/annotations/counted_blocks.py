"""Lists in blocks, as in FDDB and WIDER: the name of a picture, the count of its objects, and a line for each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.pictures import NUMBER, brief

_COUNT = re.compile(r"\d{1,7}", re.ASCII)

FEWEST_NUMBERS = 4
"""Fewest numbers in the line of an object."""


class Block(NamedTuple):
    """A picture: the line of its name, its name, and for each object its line number and its numbers."""

    line: int
    name: str
    objects: list[tuple[int, list[float]]]


def blocks_of(text: str, label: str) -> Iterator[Block]:
    """Yield the pictures of a list.

    A count of 0 may be followed by one line of zeros, as in WIDER's lists.

    Parameters
    ----------
    text : str
        The list.
    label : str
        Its name, for messages.

    Yields
    ------
    Block
        A picture.

    Raises
    ------
    SourceError
        If a count does not fit the lines, as the pictures of all later lines are unknown then.
    """
    lines = [
        (number, line.strip())
        for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1)
        if line.strip()
    ]
    place = 0
    while place < len(lines):
        number, name = lines[place]
        if place + 1 == len(lines) or not _COUNT.fullmatch(lines[place + 1][1]):
            raise SourceError(
                f"{label}:{number}: {brief(name)!r} is not followed by the number of its objects"
            )
        n_objects = int(lines[place + 1][1])
        place += 2
        objects = lines[place : place + n_objects]
        read = [(at, numbers) for at, line in objects if (numbers := numbers_of(line))]
        if len(read) < n_objects:
            raise SourceError(
                f"{label}:{number}: {brief(name)!r} should be followed by {n_objects} lines of numbers, but there are "
                f"{len(read)}"
            )
        place += n_objects
        if n_objects == 0 and place < len(lines) and set(numbers_of(lines[place][1])) == {0.0}:
            place += 1
        yield Block(number, name, read)


def numbers_of(line: str) -> list[float]:
    """Return the numbers of a line; empty if it contains anything else, or too few.

    Examples
    --------
    >>> numbers_of("1 2.5 3 4"), numbers_of("a 1 2 3"), numbers_of("1 2")
    ([1.0, 2.5, 3.0, 4.0], [], [])
    """
    words = line.split()
    is_right = len(words) >= FEWEST_NUMBERS and all(map(NUMBER.fullmatch, words))
    return list(map(float, words)) if is_right else []


def numbers_in_blocks(text: str) -> int:
    r"""Return how many numbers the first object of such a list has; 0 if the text is not such a list.

    Examples
    --------
    >>> numbers_in_blocks("a.jpg\n1\n3 4 24 24\n"), numbers_in_blocks("a.jpg 1 3 4 24 24\nb.jpg 0\n")
    (4, 0)
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    place = 0
    while place + 2 < len(lines) and _COUNT.fullmatch(lines[place + 1]) and not numbers_of(lines[place]):
        if found := numbers_of(lines[place + 2]):
            return len(found)
        if int(lines[place + 1]):
            return 0
        place += 2
    return 0
