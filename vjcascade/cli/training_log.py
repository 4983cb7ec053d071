"""Render a training run: notes as lines, stages as rows of a table; on a terminal, the stage in progress as well."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from vjcascade.cascade import Cascade
from vjcascade.cli.console import PlainConsole, ProgressLine
from vjcascade.cli.stage_table import (
    LOGGED,
    TRAINING_MARK,
    chosen_columns,
    header,
    left_cell,
    legend,
    measured,
    record_cells,
    row,
)
from vjcascade.messages import duration, pluralize
from vjcascade.training.events import Ended, Event, Note, Progress, RunBegun, StageDone
from vjcascade.training.gains import best_figures, scene_figures
from vjcascade.training.records import read_base_figures, read_records
from vjcascade.training.time_left import TimeLeft

SINGLE_WINDOWS = " (single, exactly aligned windows; --validate measures recall on whole scenes)"
"""Why the share of positives that pass is no recall."""


class View(Protocol):
    """A way to show a run."""

    def show(self, event: Event) -> None:
        """Show one event, if it is of interest."""

    def say(self, text: str) -> None:
        """Print a line of text."""

    def close(self) -> None:
        """Take away what was not meant to stay."""


class TrainingLog:
    """A listener that prints events; a context manager, so that no line of progress stays behind."""

    def __init__(self) -> None:
        console = PlainConsole(sys.stdout)
        self._view = _live_view(console) if console.is_live else PlainView(console)
        self._ended = ""
        self._has_stage = self._is_continued = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._view.close()

    def __call__(self, event: Event) -> None:
        """Print one event."""
        if isinstance(event, Ended):
            self._ended = event.text
            return
        self._has_stage |= isinstance(event, StageDone)
        self._is_continued |= isinstance(event, RunBegun) and "continue_from" in event.sources
        self._view.show(event)

    def finish(self, cascade: Cascade, model: Path) -> None:
        """Say where the model is, what is known of its quality, what to try next, and last why training ended."""
        size = f"{pluralize(cascade.n_stages, 'stage')}, {pluralize(cascade.n_trees, 'weak classifier')}"
        self._view.close()
        self._view.say(f"\nmodel: {model}, {size}")
        self._view.say(quality(cascade))
        file = shlex.quote(str(model))
        self._view.say(f"try it: vjcascade detect {file} PICTURE --draw drawn")
        self._view.say(f"see the training report: vjcascade report {shlex.quote(str(model.parent))}")
        self._view.say(
            f"with labelled scenes, measure it: vjcascade evaluate {file} SCENES --output measured; and choose its "
            f"settings: vjcascade tune {file} SCENES --output tuned.xml"
        )
        self._view.say(self._ended)

    def what_is_left(self, model: Path, *, resumed: bool) -> str:
        """Say what a run that is stopped now leaves behind; `resumed` if it was to go on with the model."""
        go_on = "continue with --resume (without --overwrite)"
        if self._has_stage:
            return f"the stages finished so far are in {model}: {go_on}"
        if not model.exists():
            return "no stage was finished"
        if resumed:
            return f"no further stage was finished; {model} is unchanged: {go_on}"
        if self._is_continued:  # the model to continue was copied before the run was told to begin
            return f"no stage was added; {model} is the model to continue: {go_on}"
        return f"no stage was finished; {model} is unchanged"


class PlainView:
    """Lines for a log or a pipe: a row for each stage, and now and then how far the work is.

    Parameters
    ----------
    console : PlainConsole
        Where they go.
    """

    def __init__(self, console: PlainConsole) -> None:
        self._console = console
        self._progress = ProgressLine(console)
        self._left = TimeLeft()
        self._columns = chosen_columns(LOGGED)
        self._has_header = False

    def show(self, event: Event) -> None:
        """Show one event, if it is of interest."""
        if isinstance(event, Progress):
            self._progress.update(event)
        elif isinstance(event, Note):
            self.say(event.text)
        elif isinstance(event, RunBegun):
            self._left.begin(event)
            self._columns = chosen_columns(LOGGED, **measured(event))
        elif isinstance(event, StageDone):
            self.say(self._row(event))

    def say(self, text: str) -> None:
        """Print a line of text."""
        self._progress.clear()
        self._console.print(text)

    def close(self) -> None:
        """End the progress of a part."""
        self._progress.clear()

    def _row(self, event: StageDone) -> str:
        times = {"time": duration(event.seconds), **left_cell(self._left.add(event))}
        line = row(self._columns, record_cells(event.record.as_dict()) | times)
        if self._has_header:
            return line
        self._has_header = True
        return f"\n{legend(self._columns)}\n\n{header(self._columns)}\n{line}"


def quality(cascade: Cascade) -> str:
    """Say in a sentence or two what a trained cascade reached by its own record."""
    last = cascade.metadata["stages"][-1]
    hits = last["overall_held_out_hit_rate"]
    passing = (
        f"{hits:.1%} of the held-out positives pass"
        if hits is not None
        else f"{last['overall_hit_rate']:.1%} of the training positives pass (none were held out)"
    )
    rate = last["overall_false_alarm_rate"]
    mark = TRAINING_MARK if last["false_alarm_rate_on"] == "training" else ""
    best = best_figures(scene_figures(read_records(cascade.metadata), read_base_figures(cascade.metadata)))
    in_scenes, not_recall = "", SINGLE_WINDOWS
    if best is not None:
        where = f"{pluralize(best.n_scenes, 'scene')} with {pluralize(best.n_objects, 'object')}"
        part = f" with {best.n_stages} of its stages" if best.n_stages < cascade.n_stages else ""
        in_scenes = f"on {where}, it reaches{part}: {best.best}\n"
        not_recall = " (single, exactly aligned windows)"
    return (
        f"{in_scenes}{passing}{not_recall}; false alarms after the last stage: about one in "
        f"{1 / rate:,.0f}{mark} windows"
    )


def _live_view(console: PlainConsole) -> View:
    from vjcascade.cli.live_table import LiveView

    return LiveView(console.stream)
