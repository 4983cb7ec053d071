"""Fetch files while others are worked on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Fetched = TypeVar("Fetched")

MOST_AHEAD = 16
"""Files that are fetched at the same time, and wait to be worked on: as many as hide the time of an answer."""


def fetch_ahead(
    fetch: Callable[[Item], Fetched], items: Iterable[Item], n_ahead: int = MOST_AHEAD
) -> Iterator[Fetched]:
    """Yield `fetch(item)` for every item, in order, fetched by threads of their own while the caller works.

    They are not those of `vjcascade.parallel`: they wait for networks, not for processors.

    Parameters
    ----------
    fetch : callable
        What it raises is raised when its item is due.
    items : iterable
        Read lazily.
    n_ahead : int
        Results that may wait, at most.

    Yields
    ------
    object
        In the order of the items.

    Examples
    --------
    >>> list(fetch_ahead(str.upper, "abc"))
    ['A', 'B', 'C']
    """
    pending: deque[Future[Fetched]] = deque()
    with ThreadPoolExecutor(n_ahead, thread_name_prefix="vjcascade-fetch") as pool:
        try:
            for item in items:
                pending.append(pool.submit(fetch, item))
                if len(pending) > n_ahead:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
