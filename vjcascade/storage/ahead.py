"""Prefetching of files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Fetched = TypeVar("Fetched")

MOST_AHEAD = 16
"""Files that are fetched at the same time or wait to be used: enough to hide the latency of a network."""


def fetch_ahead(
    fetch: Callable[[Item], Fetched], items: Iterable[Item], n_ahead: int = MOST_AHEAD
) -> Iterator[Fetched]:
    """Yield `fetch(item)` for every item, in order, fetched by background threads while the caller works.

    These threads are not those of `vjcascade.parallel`, as they wait for networks and need no processors.

    Parameters
    ----------
    fetch : callable
        Its exceptions are raised when the result of their item is due.
    items : iterable
        Read lazily.
    n_ahead : int
        Largest number of items fetched in advance; also the number of threads.

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
