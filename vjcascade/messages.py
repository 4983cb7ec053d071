"""Words for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

MAX_NAMES = 10_000
"""Most names of a folder that are compared with a misspelt one."""

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def pluralize(n: int, noun: str) -> str:
    """Return a number and its noun, in the plural unless it is one.

    Examples
    --------
    >>> pluralize(1, "stage"), pluralize(12_000, "window")
    ('1 stage', '12,000 windows')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def duration(seconds: float) -> str:
    """Return a duration in words of at most seven characters.

    Examples
    --------
    >>> duration(59.6), duration(3599), duration(7260)
    ('1m 00s', '59m 59s', '2h 01m')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60}h {minutes % 60:02}m"
    return f"{minutes}m {rest:02}s" if minutes else f"{rest}s"


def memory_size(n_bytes: int) -> str:
    """Return a size of memory in words of at most eight characters.

    Examples
    --------
    >>> memory_size(300 * 2**20), memory_size(5 * 2**30 // 2)
    ('300 MiB', '2.5 GiB')
    """
    return f"{n_bytes / 2**30:.1f} GiB" if n_bytes >= 2**30 else f"{n_bytes / 2**20:.0f} MiB"


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters, cut where it is longer.

    Examples
    --------
    >>> shortened("cost-generalized", 8), shortened("real", 8)
    ('cost-ge…', 'real')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def near_name(name: str, names: Iterable[str]) -> str:
    """Return the one of `names` that was probably meant by `name`, or nothing; case does not count.

    Examples
    --------
    >>> near_name("Adabost", ["adaboost", "logitboost"])
    'adaboost'
    """
    known = {one.casefold(): one for one in names}
    near = get_close_matches(name.casefold(), known, n=1)
    return known[near[0]] if near else ""


def suggest(name: str, names: Iterable[str]) -> str:
    """Say which of `names` was probably meant by `name`, or what they are.

    Examples
    --------
    >>> suggest("quik", ["quick", "normal"])
    "did you mean 'quick'?"
    >>> suggest("fast", ["quick", "normal"])
    'choose from: quick, normal'
    """
    names = list(names)
    near = near_name(name, names)
    return f"did you mean {near!r}?" if near else f"choose from: {', '.join(names)}"


def near_file(path: Path, kind: Callable[[Path], bool] = Path.exists) -> str:
    """Return the name beside `path`, for which `kind` is true, that was probably meant by it, or nothing."""
    try:
        beside = islice(path.absolute().parent.iterdir(), MAX_NAMES)
        return near_name(path.name, [entry.name for entry in beside if kind(entry)])
    except OSError:
        return ""


def printable(text: str) -> str:
    r"""Return text with its control characters written out: file names and models may hold commands to terminals.

    Examples
    --------
    >>> print(printable("\x1b]0;title\x07, \x9b2J"))
    \x1b]0;title\x07, \x9b2J
    """
    return text.translate(_CONTROLS)


def one_line(text: str) -> str:
    r"""Return text as `printable` does, with line breaks written out, too: a file's name may have some.

    Examples
    --------
    >>> print(one_line("a\nb.png: is empty"))
    a\nb.png: is empty
    """
    return printable(text).replace("\n", r"\n")


def few_names(names: Sequence[str], n: int = 5) -> str:
    """Return the first names of a list, and how many more there are.

    Examples
    --------
    >>> few_names(["a.png", "b.png", "c.png"], 2)
    'a.png, b.png and 1 more'
    """
    more = f" and {len(names) - n:,} more" if len(names) > n else ""
    return ", ".join(names[:n]) + more
