"""A ready listener for `train`: a line for each stage, and now and then how far the work is."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from vjcascade.messages import duration, one_line, pluralize, printable
from vjcascade.training.events import Ended, Event, Note, Progress, RunBegun, StageDone
from vjcascade.training.time_left import TimeLeft


class ProgressPrinter:
    """Prints what a training run tells, in scripts and notebooks; give it to `train` as `listener`.

    Notes are printed, a line for each finished stage with what it reached and about how long the rest takes, how far
    the work is if nothing else was printed for a while, and at last why training ended.

    Parameters
    ----------
    stream : text file, optional
        Where to; standard output if not given.
    seconds_between : float
        So often a line says how far the work is, while it goes on.

    Examples
    --------
    >>> printer = ProgressPrinter()
    >>> printer(Note("crops: 120 pictures"))
    crops: 120 pictures
    >>> printer(Progress("stage 1: boosting", 3, 200))
    """

    def __init__(self, stream: TextIO | None = None, *, seconds_between: float = 10.0) -> None:
        self._stream = stream
        self._seconds_between = seconds_between
        self._last = time.monotonic()
        self._left = TimeLeft()

    def __call__(self, event: Event) -> None:
        """Print one event, if it is of interest."""
        if isinstance(event, RunBegun):
            self._left.begin(event)
        elif isinstance(event, Note | Ended):
            self._print(event.text)
        elif isinstance(event, StageDone):
            self._print(self._stage_line(event))
        elif isinstance(event, Progress) and time.monotonic() - self._last >= self._seconds_between:
            self._print(one_line(f"{event.part}: {event.detail or f'{event.done:,} of {event.total:,}'}"))

    def _stage_line(self, event: StageDone) -> str:
        record, left = event.record, self._left.add(event)
        rest = f", about {duration(left)} left" if left else ""
        return (
            f"stage {record.stage} of at most {event.n_stages}: {pluralize(record.n_weak, 'weak classifier')}, "
            f"hit rate {record.tuned.hit_rate:.1%} ({record.hit_rate_on}), "
            f"false-alarm rate {record.tuned.false_alarm_rate:.1%} ({record.false_alarm_rate_on}); "
            f"all stages: {record.hit_rate_so_far:.1%}, one in {1 / record.overall_false_alarm_rate:,.0f} windows; "
            f"{duration(event.seconds)}{rest}"
        )

    def _print(self, text: str) -> None:
        stream = self._stream or sys.stdout
        stream.write(f"{printable(text)}\n")
        stream.flush()
        self._last = time.monotonic()
