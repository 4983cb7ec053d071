"""Lines for people, and a line of progress that never stays behind."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeRemainingColumn
from rich.table import Column

from vjcascade.cli.text import printable
from vjcascade.training.events import Progress

SECONDS_BEFORE_BAR = 2.0
"""On a terminal, parts that are done sooner are not worth a look."""

SECONDS_BETWEEN_LINES = 10.0
"""In a log, progress is told no more often."""


def plain_console(*, stderr: bool = False) -> Console:
    """Return a console that prints text as it is: no markup, no wrapping, no colours, no control characters."""
    return _Console(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)


class _Console(Console):
    def print(self, *objects: Any, **options: Any) -> None:
        """Write out the control characters of strings; rich's own objects need theirs."""
        super().print(*(printable(part) if isinstance(part, str) else part for part in objects), **options)

    def on_broken_pipe(self) -> None:
        """Leave it to the program how it ends when nobody reads on; rich would end it by itself."""
        raise BrokenPipeError


class ProgressLine:
    """Tell how far a part of the work is: on a terminal with one live line, in a log with a line now and then.

    A context manager, so that the live line is taken away whatever happens.

    Parameters
    ----------
    console : Console
        Where other lines are printed too, each after a `clear`.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_live = console.is_terminal and not console.is_dumb_terminal
        self._bar: Bar | None = None
        self._part = ""
        self._due = 0.0

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

    def update(self, event: Progress) -> None:
        """Show the event, if it is time."""
        now = time.monotonic()
        if event.part != self._part:
            self.clear()
            self._part = event.part
            self._due = now + (SECONDS_BEFORE_BAR if self._is_live else SECONDS_BETWEEN_LINES)
        if now < self._due:
            return
        if self._is_live:
            self._show(event)
        else:
            self._console.print(f"{event.part}: {event.detail or f'{event.done} of {event.total}'}")
            self._due = now + SECONDS_BETWEEN_LINES

    def _show(self, event: Progress) -> None:
        shown: dict[str, Any] = {
            "completed": event.done,
            "total": event.total,
            "detail": printable(event.detail),
        }
        if self._bar is None:
            self._bar = _bar(self._console)
            self._bar.add_task(printable(event.part), **shown)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], **shown)


def _bar(console: Console) -> Bar:
    rest_of_line = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(16),
        TextColumn("at most"),
        TimeRemainingColumn(compact=True),
        TextColumn("left; {task.fields[detail]}", markup=False, table_column=rest_of_line),
        console=console,
        transient=True,
        expand=True,
    )
