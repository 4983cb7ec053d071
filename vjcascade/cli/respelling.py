"""Former spellings of ``vjcascade compare``, when it was one command whose options chose what is compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vjcascade.messages import near_name

COMPARISONS = ("stages", "cascades", "tables")
"""The commands that it is now."""


def respelled(arguments: Sequence[str]) -> list[str]:
    """Return a command line in today's words.

    Parameters
    ----------
    arguments : sequence of str
        Without the program's name.

    Returns
    -------
    list of str
        The same where nothing is outdated.

    Examples
    --------
    >>> respelled(["compare", "crops", "photos", "--seeds", "3"])
    ['compare', 'stages', 'crops', 'photos', '--seeds', '3']
    >>> respelled(["compare", "crops", "photos", "--full", "--scenes", "list"])
    ['compare', 'cascades', 'crops', 'photos', '--scenes', 'list']
    >>> respelled(["compare", "--target", "y", "--table", "a.csv", "b.csv", "--seeds", "3"])
    ['compare', 'tables', 'a.csv', 'b.csv', '--target', 'y', '--seeds', '3']
    """
    words = list(arguments[1:])
    if arguments[:1] != ["compare"] or not words or _is_of_today(words[0]):
        return list(arguments)
    if any(word.partition("=")[0] == "--table" for word in words):
        files, others = _split_tables(words)
        return ["compare", "tables", *files, *others]
    if "--full" in words:
        return ["compare", "cascades", *(word for word in words if word != "--full")]
    return ["compare", "stages", *words]


def _is_of_today(word: str) -> bool:
    if word.startswith("-"):
        return word in {"--help", "-h"}
    return word in COMPARISONS or bool(near_name(word, COMPARISONS) and not Path(word).exists())


def _split_tables(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files that are given to ``--table``, and all other words."""
    files: list[str] = []
    others: list[str] = []
    is_file = False
    for word in words:
        name, equals, file = word.partition("=")
        if name == "--table":
            is_file = not equals
            files += [file] if equals else []
        else:
            is_file = is_file and not word.startswith("-")
            (files if is_file else others).append(word)
    return files, others
