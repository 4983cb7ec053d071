"""The events of a training run as lines of JSON, for other programs and for the report.

Each line is an object with the keys ``v`` (1, the version of this schema), ``event`` and ``time`` (seconds since
1970), and the fields of the event as `vjcascade.training.events` describes them, pictures left out:

========== =====================================================================================
event      fields
========== =====================================================================================
run        window, settings, sources, counts, records, versions
begin      stage
mining     stage, n_negatives, n_searched, pass_rate
round      stage, n_weak, tuned, natural
stage      record, n_stages, seconds, parts, memory, pass_rate
progress   part, done, total, detail, pass_rate
note       text
end        text
========== =====================================================================================

Sources are paths as given: positives, negatives, and if they were given, continue_from, validate and more_negatives,
the last an array. Versions are those of vjcascade, Python and what computes. Rates, tuned and natural, are objects with
threshold, hit_rate and false_alarm_rate; a record is what the model's metadata says of the stage; where the run has
tried scenes, it has what was found in them. Later versions may add keys and
events; a change of what is there gets another ``v``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import msgspec
import numpy as np

from vjcascade.errors import SettingsError
from vjcascade.files import append_whole
from vjcascade.training.events import (
    Ended,
    Event,
    Listener,
    MiningDone,
    Note,
    Progress,
    RoundDone,
    RunBegun,
    StageBegun,
    StageDone,
    tee,
)

SCHEMA_VERSION = 1

EVENT_NAMES: dict[type[Event], str] = {
    RunBegun: "run",
    StageBegun: "begin",
    MiningDone: "mining",
    RoundDone: "round",
    StageDone: "stage",
    Progress: "progress",
    Note: "note",
    Ended: "end",
}


def event_line(event: Event) -> bytes:
    """Return an event as one line of JSON.

    Examples
    --------
    >>> line = json.loads(event_line(StageBegun(3)))
    >>> line["v"], line["event"], line["stage"]
    (1, 'begin', 3)
    """
    values = {field.name: getattr(event, field.name) for field in fields(event)}
    pictures = {name for name, value in values.items() if isinstance(value, np.ndarray)} | {"missed"}
    plain = {name: value for name, value in values.items() if name not in pictures}
    head = {"v": SCHEMA_VERSION, "event": EVENT_NAMES[type(event)], "time": round(time.time(), 3)}
    return json.dumps({**head, **plain}, default=msgspec.to_builtins).encode() + b"\n"


class EventLog:
    """A listener that appends events to a file; a context manager.

    Each line is there as soon as its event happens. What cannot be written is left out: training goes on.

    Parameters
    ----------
    path : Path
        Made if need be.
    complain : callable
        Gets a sentence, once, if the file cannot be written.
    wait_for : Path, optional
        Lines wait until this is there.
    """

    def __init__(self, path: Path, complain: Callable[[str], None], wait_for: Path | None = None) -> None:
        self._path = path
        self._complain = complain
        self._wait_for = wait_for
        self._waiting: list[bytes] = []
        self._file: BinaryIO | None = None
        self._has_failed = self._is_new = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __call__(self, event: Event) -> None:
        """Write one event."""
        if self._has_failed:
            return
        self._waiting.append(event_line(event))
        try:
            if self._file is None and (self._wait_for is None or self._wait_for.exists()):
                self._is_new = not self._path.exists()
                self._file = self._path.open("ab", buffering=0)
                self._mend_torn_line()
            if self._file is not None:
                append_whole(self._file, b"".join(self._waiting))
                self._waiting.clear()
                self._is_new = False
        except OSError as error:
            self._has_failed = True
            if self._file is not None and self._is_new:  # the disk has room for a file, and for nothing in it
                self._close()
                self._path.unlink()
            self._complain(
                f"{self._path}: the events of this run can no longer be written ({error.strerror})"
            )

    def _mend_torn_line(self) -> None:
        """Begin a new line where a run was killed in the middle of one."""
        if self._path.is_file():
            with self._path.open("rb") as written:
                size = written.seek(0, 2)
                written.seek(max(size - 1, 0))
                if written.read(1) not in {b"", b"\n"}:
                    self._waiting.insert(0, b"\n")


@contextmanager
def log_events(path: Path | None, listener: Listener) -> Iterator[Listener]:
    """Yield a listener that passes events on, and appends them to a file if one is named."""
    if path is None:
        yield listener
        return
    with EventLog(path, lambda text: listener(Note(text))) as log:
        yield tee(log, listener)


def check_event_file(path: Path) -> None:
    """Refuse a file that events should not be appended to.

    Raises
    ------
    SettingsError
        If it holds something else.
    """
    if path.is_file():
        with path.open("rb") as file:
            if file.read(1) not in {b"", b"{"}:
                raise SettingsError(
                    f"{path}: events cannot be appended, as it holds something else; give another name"
                )
