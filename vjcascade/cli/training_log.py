"""Render a training run: notes as lines, stages as rows of a table, progress as one line."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from vjcascade.cascade import Cascade
from vjcascade.cli.console import PlainConsole, ProgressLine
from vjcascade.cli.stage_table import HEADER, LEGEND, duration, stage_row
from vjcascade.training.events import Ended, Event, Note, Progress, StageDone
from vjcascade.words import counted

TIME_LEGEND = (
    "  left       for all the stages that may still come, if each takes as long as the slower of the last two"
)
TIME_HEADER = "     time     left"


class TrainingLog:
    """A listener that prints events; a context manager, so that no line of progress stays behind."""

    def __init__(self) -> None:
        self._console = PlainConsole(sys.stdout)
        self._progress = ProgressLine(self._console)
        self._ended = ""
        self._seconds: list[float] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.clear()

    def __call__(self, event: Event) -> None:
        """Print one event."""
        if isinstance(event, Progress):
            self._progress.update(event)
        elif isinstance(event, Ended):
            self._ended = event.text
        else:
            self._say(event.text if isinstance(event, Note) else self._stage(event))

    def finish(self, cascade: Cascade, model: Path) -> None:
        """Say where the model is, what is known of its quality, what to try next, and last why training ended."""
        size = f"{counted(cascade.n_stages, 'stage')}, {counted(cascade.n_trees, 'weak classifier')}"
        self._say(f"\nmodel: {model}, {size}")
        self._say(quality(cascade))
        self._say(f"try it: vjcascade detect {shlex.quote(str(model))} PICTURE --draw drawn")
        self._say(self._ended)

    def what_is_left(self, model: Path) -> str:
        """Say what a run that is stopped now leaves behind."""
        if self._seconds:
            return f"the stages finished so far are in {model}: go on with --resume (and without --overwrite)"
        return "no stage was finished" + (f"; {model} is what it was before" if model.exists() else "")

    def _stage(self, event: StageDone) -> str:
        is_first = not self._seconds
        self._seconds.append(event.seconds)
        left = (event.n_stages - event.record.stage) * max(self._seconds[-2:])
        row = f"{stage_row(event.record.as_dict())} {duration(event.seconds):>8} {duration(left):>8}"
        return f"\n{LEGEND}\n{TIME_LEGEND}\n\n{HEADER}{TIME_HEADER}\n{row}" if is_first else row

    def _say(self, text: str) -> None:
        self._progress.clear()
        self._console.print(text)


def quality(cascade: Cascade) -> str:
    """Say in a sentence what a trained cascade reached by its own record."""
    last = cascade.metadata["stages"][-1]
    hits = last["overall_held_out_hit_rate"]
    found = (
        f"{hits:.1%} of the positives held out"
        if hits is not None
        else f"{last['overall_hit_rate']:.1%} of the positives it was trained on (none were held out)"
    )
    rate = last["overall_false_alarm_rate"]
    return (
        f"it finds {found}; false alarms, when its last stage was made: about one in {1 / rate:,.0f} windows"
    )
