"""Processes that work for this one, and end when it does."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, TypeVar

from vjcascade.errors import ProcessError

Task = TypeVar("Task")
Result = TypeVar("Result")


@contextmanager
def processes(
    n_processes: int, function: Callable[[Task], Result]
) -> Iterator[Callable[[Iterable[Task]], Iterator[Result]]]:
    """Yield a map over tasks by processes; results come in the order of the tasks.

    Parameters
    ----------
    n_processes : int
        How many.
    function : callable
        Each process gets a copy, once, so it can keep something from task to task.

    Yields
    ------
    callable
        Returns an iterator over the results of tasks. At the end of the ``with`` block, by an interrupt too, or when
        this process is killed, the others end at once.

    Raises
    ------
    ProcessError
        If a process is gone, as when memory ran out.

    Examples
    --------
    >>> with processes(1, abs) as mapped:
    ...     list(mapped([-1, 2]))
    [1, 2]
    """
    context = multiprocessing.get_context("spawn")  # a fork would have locks of threads that it does not have
    reader, writer = context.Pipe(duplex=False)  # nobody writes: its end tells of this process's
    with (
        reader,
        writer,
        ProcessPoolExecutor(n_processes, context, _prepare, (reader, function)) as pool,
    ):

        def mapped(tasks: Iterable[Task]) -> Iterator[Result]:
            with _interrupts_later():
                futures = deque(pool.submit(_call, task) for task in tasks)
            return _results(futures, n_processes)

        try:
            yield mapped
        finally:
            writer.close()


_function: Callable[[Any], Any]


def _prepare(reader: Connection, function: Callable[[Any], Any]) -> None:
    """Begin a process."""
    global _function  # noqa: PLW0603  a process's tasks have nothing else in common
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for this one ends it
    threading.Thread(target=_end_with, args=(reader,), daemon=True).start()
    _function = function


def _end_with(reader: Connection) -> None:
    try:
        reader.recv_bytes()
    except (EOFError, OSError):
        os._exit(0)


def _call(task: Any) -> Any:
    return _function(task)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold interrupts back where the system can; processes that begin meanwhile never get any."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _results(futures: deque[Future[Result]], n_processes: int) -> Iterator[Result]:
    try:
        while futures:
            future = futures.popleft()
            # An interrupt during `Future.result` may leave its lock taken, for which the pool would wait for ever.
            ended: SimpleQueue[Future[Result]] = SimpleQueue()
            with _interrupts_later():
                future.add_done_callback(ended.put)
            yield ended.get().result()
    except BrokenProcessPool:
        raise ProcessError(
            f"one of {n_processes} processes was killed, perhaps because memory ran out: use fewer threads, and "
            "resume"
        ) from None
