"""A thread that reads while its reader works."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from threading import Condition, Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")

PATIENCE = 0.2
"""Seconds of one wait: Windows would not interrupt a longer one for Ctrl-C."""

LAST_ITEM = 2.0
"""Seconds that the last item may take, once nobody waits for it."""


def read_ahead(items: Generator[Item], n_ahead: int) -> Generator[Item]:
    """Yield all items; at most `n_ahead` of them are made before they are asked for.

    Parameters
    ----------
    items : generator
        Runs in a thread of its own, where it also is closed; what it raises is raised here.
    n_ahead : int
        At least 1.

    Yields
    ------
    object
        The items, in their order.

    Examples
    --------
    >>> list(read_ahead((n * n for n in range(4)), 2))
    [0, 1, 4, 9]
    """
    return _from_thread(items, n_ahead, is_latest=False)


def read_latest(items: Generator[Item]) -> Generator[Item]:
    """Yield the newest item whenever one is asked for; those that were too late are dropped.

    Parameters
    ----------
    items : generator
        As for `read_ahead`.

    Yields
    ------
    object
        Items in their order; the last one among them.

    Examples
    --------
    >>> list(read_latest(letter for letter in "ab"))[-1]
    'b'
    """
    return _from_thread(items, 1, is_latest=True)


def _from_thread(items: Generator[Item], capacity: int, *, is_latest: bool) -> Generator[Item]:
    reader = _Reader(items, capacity, is_latest=is_latest)
    try:
        yield from iter(reader.take, None)
    finally:
        reader.close()


class _Reader(Generic[Item]):
    """The thread and what waits between it and its reader."""

    def __init__(self, items: Generator[Item], capacity: int, *, is_latest: bool) -> None:
        self._items = items
        self._waiting: deque[Item] = deque()
        self._capacity = capacity
        self._is_latest = is_latest
        self._changed = Condition()
        self._is_over = False  # nothing more will come
        self._is_closed = False  # nothing more is wanted
        self._error: Exception | None = None
        self._thread = Thread(target=self._read, name="vjcascade reader", daemon=True)
        self._thread.start()

    def take(self) -> Item | None:
        """Return the next item; None when there is none left."""
        with self._changed:
            while not (self._waiting or self._is_over):
                self._changed.wait(PATIENCE)
            if self._waiting:
                item = self._waiting.popleft()
                self._changed.notify_all()
                return item
        if self._error is not None:
            raise self._error
        return None

    def close(self) -> None:
        """Let the thread end."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join(LAST_ITEM)  # a camera that hangs must not hang us: the thread is a daemon

    def _read(self) -> None:
        try:
            for item in self._items:
                if not self._put(item):
                    break
        except Exception as error:  # raised again where it can be handled
            self._error = error
        finally:
            self._items.close()
            with self._changed:
                self._is_over = True
                self._changed.notify_all()

    def _put(self, item: Item) -> bool:
        """Hand an item on; return False if nobody wants any more."""
        with self._changed:
            if self._is_latest:
                self._waiting.clear()
            while len(self._waiting) >= self._capacity and not self._is_closed:
                self._changed.wait()
            self._waiting.append(item)
            self._changed.notify_all()
            return not self._is_closed
