"""Server-sent events for open pages: changes of other pages, and progress of background tasks."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

WAITING = 1000
"""Messages that may wait for a page; a page that falls further behind has to reload."""

HEARTBEAT_SECONDS = 10.0
"""A comment is sent after so long without a message, so that broken connections are noticed."""


class Hub:
    """Passes messages from any thread to all pages."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[asyncio.Queue[str | None], asyncio.AbstractEventLoop] = {}
        self._is_closed = False

    def publish(self, kind: str, **values: Any) -> None:
        """Send a message to all pages.

        Parameters
        ----------
        kind : str
            Name of the event.
        **values
            Its data: plain JSON values.
        """
        self._send(f"event: {kind}\ndata: {json.dumps(values)}\n\n")

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        self._send(None)

    async def stream(self) -> AsyncIterator[str]:
        """Yield messages as server-sent events, with heartbeats in between.

        Yields
        ------
        str
            An event.
        """
        queue: asyncio.Queue[str | None] = asyncio.Queue(WAITING)
        with self._lock:
            self._listeners[queue] = asyncio.get_running_loop()
        try:
            yield "event: hello\ndata: {}\n\n"
            while not self._is_closed:
                try:
                    message = await asyncio.wait_for(queue.get(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    message = ": still here\n\n"
                if message is None:
                    return
                yield message
        finally:
            with self._lock:
                self._listeners.pop(queue, None)

    def _send(self, message: str | None) -> None:
        with self._lock:
            listeners = list(self._listeners.items())
        for queue, loop in listeners:
            loop.call_soon_threadsafe(_put, queue, message)


def _put(queue: asyncio.Queue[str | None], message: str | None) -> None:
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait("event: reload\ndata: {}\n\n")
    queue.put_nowait(message)
