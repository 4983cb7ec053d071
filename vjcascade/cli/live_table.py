"""A training run on a terminal: a table that fills stage by stage, its last row changing while the stage is trained.

Rows of finished stages are printed for good, so that they can be scrolled back to and stay when the run is stopped.
Only the row of the stage in progress and the line below it are redrawn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import fill
from typing import TYPE_CHECKING, TextIO

from vjcascade.cli.stage_table import (
    columns_for,
    header,
    left_cell,
    legend,
    measured,
    rate_cells,
    record_cells,
    row,
)
from vjcascade.messages import duration, memory_size, printable
from vjcascade.training.events import (
    Event,
    MiningDone,
    Note,
    Progress,
    RoundDone,
    RunBegun,
    StageBegun,
    StageDone,
    StageRecord,
)
from vjcascade.training.time_left import TimeLeft
from vjcascade.training.usage import resident_memory

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.text import Text

REFRESHES_PER_SECOND = 4

LEGEND_INDENT = 13
"""Of lines that go on; less on a narrow terminal."""


@dataclass
class _StageNow:
    """The stage in progress: what is known of it so far, by column."""

    began: float
    cells: dict[str, str] = field(default_factory=dict)
    note: str = ""


class LiveView:
    """Shows a run on a terminal; see `vjcascade.cli.training_log.View`.

    Parameters
    ----------
    stream : file
        The terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._console = Console(file=stream, highlight=False)
        self._columns = columns_for(self._console.width)
        self._left = TimeLeft()
        self._stage: _StageNow | None = None
        self._progress: Progress | None = None
        self._part_began = 0.0
        self._live: Live | None = None
        self._has_header = False
        self._earlier: tuple[StageRecord, ...] = ()

    def show(self, event: Event) -> None:
        """Show one event, if it is of interest."""
        if isinstance(event, Note):
            self._note(event.text)
        elif isinstance(event, RunBegun):
            self._left.begin(event)
            self._earlier = event.records
            self._columns = columns_for(self._console.width, **measured(event))
        elif isinstance(event, StageBegun):
            self._begin_stage(event)
        elif isinstance(event, StageDone):
            self._end_stage(event)
        elif isinstance(event, Progress):
            self._go_on(event)
        elif self._stage is not None:
            self._stage.cells |= _cells_so_far(event)

    def _note(self, text: str) -> None:
        """Show what is said of the stage in progress while it lasts, and print everything else."""
        stage = self._stage
        if stage is not None and text.startswith(f"stage {stage.cells['stage']}:"):
            stage.note = text
        else:
            self.say(text)

    def say(self, text: str) -> None:
        """Print a line of text."""
        from rich.text import Text

        self._console.print(Text(printable(text)), soft_wrap=True)

    def close(self) -> None:
        """Take the changing lines away, and show the cursor again."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._stage = self._progress = None

    def _begin_stage(self, event: StageBegun) -> None:
        if not self._has_header:
            self._has_header = True
            self._print_legend()
            self._console.print(self._line(header(self._columns), "bold"))
            for record in self._earlier:
                self._print_row(record_cells(record.as_dict()))
        self._stage = _StageNow(time.monotonic(), {"stage": str(event.stage)})
        self._progress = None
        self._start()

    def _end_stage(self, event: StageDone) -> None:
        cells = finished_cells(event) | left_cell(self._left.add(event))
        self._stage = self._progress = None
        self._print_row(cells)

    def _print_row(self, cells: Mapping[str, str]) -> None:
        self._console.print(self._line(row(self._columns, cells)))

    def _print_legend(self) -> None:
        """Print what the columns mean, wrapped between words."""
        width = self._console.width
        first, *others = legend(self._columns).splitlines()
        indent = min(LEGEND_INDENT, width // 4) * " "
        lines = [fill(first, width), *(fill(line, width, subsequent_indent=indent) for line in others)]
        self.say("\n".join(["", *lines, ""]))

    @staticmethod
    def _line(text: str, style: str = "") -> Text:
        """Return a line that is never wrapped or cut."""
        from rich.text import Text

        return Text(text, style, no_wrap=True, overflow="ignore")

    def _go_on(self, event: Progress) -> None:
        if self._progress is None or self._progress.part != event.part:
            self._part_began = time.monotonic()
        if self._stage is not None and event.pass_rate is not None:
            self._stage.cells["pass"] = f"{event.pass_rate:.1e}"
        self._progress = event
        self._start()

    def _start(self) -> None:
        from rich.live import Live

        if self._live is None:
            self._live = Live(
                console=self._console,
                get_renderable=self._now,
                refresh_per_second=REFRESHES_PER_SECOND,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=sys.stderr.isatty(),  # what is printed in between would tear the lines
            )
            self._live.start()

    def _now(self) -> RenderableType:
        """Return the lines that change; called from the thread that redraws them."""
        from rich.console import Group
        from rich.text import Text

        lines: list[RenderableType] = []
        stage, progress = self._stage, self._progress
        if stage is not None:
            cells = stage.cells | self._costs_so_far(stage)
            lines.append(self._line(row(self._columns, cells), "bold cyan"))
            if stage.note:
                lines.append(Text(printable(stage.note), style="dim"))
        if progress is not None:
            lines.append(_progress_line(progress, time.monotonic() - self._part_began))
        return Group(*lines)

    def _costs_so_far(self, stage: _StageNow) -> dict[str, str]:
        elapsed, memory = time.monotonic() - stage.began, resident_memory()
        return {
            "time": duration(elapsed),
            "memory": "" if memory is None else memory_size(memory),
            **left_cell(self._left.in_stage(elapsed)),
        }


def finished_cells(event: StageDone) -> dict[str, str]:
    """Return what the table says of a stage that was just done, by column."""
    cells = record_cells(event.record.as_dict()) | {"time": duration(event.seconds)}
    if event.pass_rate is not None:
        cells["pass"] = f"{event.pass_rate:.1e}"
    if event.memory is not None:
        cells["memory"] = memory_size(event.memory)
    return cells


def _cells_so_far(event: Event) -> dict[str, str]:
    if isinstance(event, MiningDone):
        return {"pass": f"{event.pass_rate:.1e}", "searched": f"{event.n_searched:,}"}
    if isinstance(event, RoundDone):
        weak = {"weak": str(event.n_weak)}
        return weak | rate_cells("", event.tuned) | rate_cells("natural_", event.natural)
    return {}


def _progress_line(progress: Progress, elapsed: float) -> RenderableType:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    share = progress.done / progress.total if progress.total else 0.0
    has_eta = " more" in progress.detail  # mining knows better
    is_known = 0 < share < 1 and elapsed > 1 and not has_eta
    at_most = f", at most {duration(elapsed * (1 / share - 1))} more" if is_known else ""
    line = Table.grid(padding=(0, 1), expand=True)
    line.add_column(no_wrap=True)
    line.add_column(width=16)
    line.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    bar = ProgressBar(total=max(progress.total, 1), completed=progress.done)
    detail = progress.detail or f"{progress.done:,} of {progress.total:,}"
    line.add_row(Text(printable(progress.part)), bar, Text(printable(detail + at_most), style="dim"))
    return line
