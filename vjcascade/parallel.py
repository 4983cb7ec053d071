"""Processors and memory of the machine; threads whose results come in the order of the tasks."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from typing import TypeVar

from vjcascade.checks import checked_whole
from vjcascade.errors import SettingsError

Task = TypeVar("Task")
Result = TypeVar("Result")

MAX_THREADS = 1024
"""No more are used, however many are asked for: systems limit threads, and results do not depend on them."""

USABLE_MEMORY = 0.8
"""Share of the machine's memory that is used where no limit is given."""

BACKGROUND_NICENESS = 10

MIN_MEMORY = 64 * 2**20
"""Bytes; with less nothing can be trained."""

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_BINARY_UNITS = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


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
    return min(checked_whole("n_threads", n_threads, ge=1), MAX_THREADS)


def run_behind_others() -> None:
    """Have this thread, and those that it begins, wait where others need the processors, if the system can do that.

    Examples
    --------
    >>> thread = threading.Thread(target=run_behind_others)
    >>> thread.start()
    >>> thread.join()
    """
    if sys.platform == "linux":  # elsewhere, such a number means a process
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), BACKGROUND_NICENESS)


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


def checked_memory(limit: int | str | None) -> int:
    """Return a limit of memory in bytes: a number, a text such as ``"1GiB"``, or None for most of the machine's.

    Parameters
    ----------
    limit : int, str or None
        Bytes; as text with a unit: kB, MB, GB, TB are powers of 1000, KiB, MiB, GiB, TiB powers of 1024. None is
        `USABLE_MEMORY` of `physical_memory`.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    SettingsError
        If it cannot be read, or is less than `MIN_MEMORY`.

    Examples
    --------
    >>> checked_memory("1GiB"), checked_memory("800 MB"), checked_memory("1.5gb"), checked_memory(2**30)
    (1073741824, 800000000, 1500000000, 1073741824)
    """
    if limit is None:
        return int(min(USABLE_MEMORY * physical_memory(), sys.maxsize))
    n_bytes = _bytes_of(limit)
    if n_bytes is None:
        raise SettingsError(f"memory {limit!r} is not a size; write it like 800MB or 1.5GiB")
    if n_bytes < MIN_MEMORY:
        raise SettingsError(f"memory {limit} is too small: at least {MIN_MEMORY // 2**20}MiB are needed")
    return n_bytes


def _bytes_of(limit: int | str) -> int | None:
    if not isinstance(limit, str):
        return limit if type(limit) is int else None
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmgt]?i?)b?", limit.strip().lower(), re.ASCII)
    unit = {**_UNITS, **_BINARY_UNITS}.get(found[2]) if found else None
    return int(float(found[1]) * unit) if found and unit else None


class MemoryBudget:
    """Memory for which tasks in several threads wait, so that together they take no more than there is.

    Parameters
    ----------
    n_bytes : int
        What tasks may take together. One that needs more has to be refused by the caller, or it runs alone.

    Examples
    --------
    >>> budget = MemoryBudget(1000)
    >>> with budget.hold(600):
    ...     budget.n_held
    600
    """

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes, self.n_held = n_bytes, 0
        self._changed = threading.Condition()

    @contextmanager
    def hold(self, n_bytes: int) -> Iterator[None]:
        """Wait until so many bytes are free, or nothing is held, and hold them during the `with` block."""
        with self._changed:
            self._changed.wait_for(lambda: not self.n_held or self.n_held + n_bytes <= self.n_bytes)
            self.n_held += n_bytes
        try:
            yield
        finally:
            with self._changed:
                self.n_held -= n_bytes
                self._changed.notify_all()


def ordered_map(
    function: Callable[[Task], Result], tasks: Iterable[Task], n_threads: int
) -> Iterator[Result]:
    """Yield `function(task)` for every task, in order, computed by `n_threads` threads.

    Parameters
    ----------
    function : callable
        Must release the GIL to gain from more than one thread; must not depend on other tasks. What it maps in turn
        is computed in its own thread: the threads are shared, and all of them may be busy.
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
    if n_threads <= 1 or _is_worker():
        yield from map(function, tasks)
        return
    queue = iter(tasks)
    pool = _workers(n_threads)
    pending: list[Future[Result]] = [pool.submit(function, task) for task in islice(queue, 2 * n_threads)]
    try:
        while pending:
            result = pending.pop(0).result()
            pending.extend(pool.submit(function, task) for task in islice(queue, 1))
            yield result
    finally:
        running = [future for future in pending if not future.cancel()]
        if not _is_worker():  # a worker that collects garbage would wait for its own task
            wait(running)


_thread = threading.local()


def _become_worker() -> None:
    _thread.is_worker = True


def _is_worker() -> bool:
    return getattr(_thread, "is_worker", False)


@cache
def _workers(n_threads: int) -> ThreadPoolExecutor:
    """Return this process's threads. They are kept: OpenCV leaves some memory behind with every thread that ends."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="vjcascade", initializer=_become_worker)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.cache_clear)  # a fork has none of its parent's threads


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
