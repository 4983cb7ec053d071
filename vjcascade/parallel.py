"""Processors and memory of the machine; threads whose results come in the order of the tasks."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from vjcascade.errors import SettingsError

Task = TypeVar("Task")
Result = TypeVar("Result")

MAX_THREADS = 1024
"""No more are used, however many are asked for: systems limit threads, and results do not depend on them."""


def default_threads() -> int:
    """Return the number of processors this process may run on.

    Examples
    --------
    >>> default_threads() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked_threads(n_threads: int | None) -> int:
    """Return a number of threads that can be used: as given up to `MAX_THREADS`, or `default_threads` for None.

    Raises
    ------
    SettingsError
        If it is not a whole number, at least 1.

    Examples
    --------
    >>> checked_threads(3)
    3
    """
    if n_threads is None:
        return default_threads()
    try:
        number = operator.index(n_threads)
    except TypeError:
        number = 0
    if number < 1:
        raise SettingsError(f"n_threads {n_threads!r} is not a whole number, at least 1")
    return min(number, MAX_THREADS)


def physical_memory() -> float:
    """Return the machine's memory in bytes; infinite where it cannot be told.

    Examples
    --------
    >>> physical_memory() > 0
    True
    """
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not a POSIX system
        return float("inf")


def ordered_map(
    function: Callable[[Task], Result], tasks: Iterable[Task], n_threads: int
) -> Iterator[Result]:
    """Yield `function(task)` for every task, in order, computed by `n_threads` threads.

    Parameters
    ----------
    function : callable
        Must release the GIL to gain from more than one thread; must not depend on other tasks.
    tasks : iterable
        Read lazily: no more than twice `n_threads` results wait to be taken.
    n_threads : int
        1 runs everything in the calling thread.

    Yields
    ------
    object
        The results, in the order of `tasks`.

    Examples
    --------
    >>> list(ordered_map(lambda x: x * x, range(5), n_threads=2))
    [0, 1, 4, 9, 16]
    """
    if n_threads <= 1:
        yield from map(function, tasks)
        return
    queue = iter(tasks)
    with ThreadPoolExecutor(n_threads) as pool:
        pending: list[Future[Result]] = [pool.submit(function, task) for task in islice(queue, 2 * n_threads)]
        try:
            while pending:
                result = pending.pop(0).result()
                pending.extend(pool.submit(function, task) for task in islice(queue, 1))
                yield result
        finally:
            for future in pending:
                future.cancel()


def run_all(function: Callable[[Task], object], tasks: Iterable[Task], n_threads: int) -> None:
    """Call `function` for every task, for what it does to arrays: an `ordered_map` without results.

    Parameters
    ----------
    function : callable
        As for `ordered_map`.
    tasks : iterable
        Read lazily.
    n_threads : int
        1 runs everything in the calling thread.

    Examples
    --------
    >>> squares = [0, 0, 0]
    >>> run_all(lambda i: squares.__setitem__(i, i * i), range(3), n_threads=2)
    >>> squares
    [0, 1, 4]
    """
    for _ in ordered_map(function, tasks, n_threads):
        pass


def blocks(n_items: int, block_size: int) -> Sequence[slice]:
    """Cut `range(n_items)` into slices of at most `block_size`.

    Examples
    --------
    >>> blocks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(start + block_size, n_items)) for start in range(0, n_items, block_size)]
