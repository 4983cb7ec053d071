"""Lines for people, and a line of progress that never stays behind."""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from vjcascade.messages import duration, one_line, printable
from vjcascade.training.events import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

SECONDS_BEFORE_BAR = 2.0
"""On a terminal, parts that are done sooner are not worth a look."""

SECONDS_BETWEEN_LINES = 10.0
"""In a log there is a line so often while work goes on, and progress is shown no more often."""

SECONDS_BETWEEN_LOOKS = 1.0
"""So often it is looked up whether a line is due though the work has reported no progress."""


class PlainConsole:
    """Lines for people on a stream: text as it is, but for control characters.

    Parameters
    ----------
    stream : file
        Standard output or standard error.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    @property
    def is_live(self) -> bool:
        """Whether lines can be changed after they were written."""
        return self.stream.isatty() and os.environ.get("TERM", "").lower() not in {"dumb", "unknown"}

    def print(self, text: str) -> None:
        """Write a line at once."""
        self.stream.write(f"{printable(text)}\n")
        self.stream.flush()


class ProgressLine:
    """Tell how far a part of the work is: on a terminal with one live line, in a log with a line now and then.

    A context manager, so that the live line is taken away whatever happens.

    Parameters
    ----------
    console : PlainConsole
        Where other lines are printed too, each after a `clear`.
    remaining : str
        What stands before the time that is left.
    """

    def __init__(self, console: PlainConsole, remaining: str = "at most") -> None:
        self._console = console
        self._remaining = remaining
        self._is_live = console.is_live
        self._bar: Bar | None = None
        self._part = ""
        self._due = time.monotonic() + SECONDS_BETWEEN_LINES
        self._latest: Progress | None = None
        self._line, self._since = "", 0.0  # the last line, and when it was first written
        self._writing = threading.Lock()
        self._watch: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Take the live line away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        self._part = ""
        with self._writing:
            self._latest = None
            self._due = time.monotonic() + SECONDS_BETWEEN_LINES  # another line is about to be printed

    def update(self, event: Progress) -> None:
        """Show the event, if it is time."""
        if not self._is_live:
            with self._writing:
                self._latest = event
                self._log_if_due()
                if self._watch is None:
                    self._watch = threading.Thread(target=self._keep_logging, daemon=True)
                    self._watch.start()
            return
        now = time.monotonic()
        if event.part != self._part:
            self.clear()
            self._part, self._due = event.part, now + SECONDS_BEFORE_BAR
        if now >= self._due:
            self._show(event)

    def _log_if_due(self) -> None:
        now = time.monotonic()
        if self._latest is None or now < self._due:
            return
        detail = self._latest.detail or f"{self._latest.done} of {self._latest.total}"
        line = one_line(f"{self._latest.part}: {detail}")
        if line != self._line:
            self._line, self._since = line, now
            self._console.print(line)
        else:
            self._console.print(f"{line}, for {duration(now - self._since)} now")
        self._due = now + SECONDS_BETWEEN_LINES

    def _keep_logging(self) -> None:
        """Write a line when one is due, as long as there is progress to tell, though no new event has come."""
        while True:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            with self._writing:
                if self._latest is None:
                    self._watch = None
                    return
                self._log_if_due()

    def _show(self, event: Progress) -> None:
        shown: dict[str, Any] = {
            "completed": event.done,
            "total": event.total,
            "detail": one_line(event.detail),
        }
        if self._bar is None:
            self._bar = _bar(self._console.stream, self._remaining)
            self._bar.add_task(one_line(event.part), **shown)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], **shown)


def _bar(stream: TextIO, remaining: str) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeRemainingColumn
    from rich.table import Column

    rest_of_line = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(16),
        TextColumn(remaining),
        TimeRemainingColumn(compact=True),
        TextColumn("left; {task.fields[detail]}", markup=False, table_column=rest_of_line),
        console=Console(file=stream),
        transient=True,
        expand=True,
    )
