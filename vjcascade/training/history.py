"""What a run leaves beside its model for people to look at: events, and small pictures.

The model never depends on these files, and the reader trusts none of them: what is torn, missing, of another kind or
not of the model's own stages is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ImageError
from vjcascade.files import EVENTS_NAME, PICTURES_NAME
from vjcascade.imaging import image_size, read_gray, write_image
from vjcascade.training.event_log import EVENT_NAMES, EventLog
from vjcascade.training.events import (
    Ended,
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
from vjcascade.training.stage import N_FALSE_ALARMS_SHOWN
from vjcascade.types import Size

MEAN_NAME = "mean-positive.png"
"""Among the pictures, the mean of the positives."""

EVENT_TYPES = {name: kind for kind, name in EVENT_NAMES.items() if kind not in {Note, MiningDone, Progress}}
"""Those that are read."""

MAX_LINE = 1_000_000
"""Longer lines, in bytes, are not read."""

MAX_EVENTS = 1_000_000
"""No more lines are read."""

MAX_ROUNDS = 10_000
"""Further rounds of a stage are left out."""


class HistoryWriter:
    """A listener that keeps a run's history in its folder; a context manager.

    Nothing is written before there is a model.

    Parameters
    ----------
    model : Path
        Where it is saved; the history is kept in the same folder.
    complain : callable
        Gets a sentence if something cannot be written; training goes on.
    """

    def __init__(self, model: Path, complain: Callable[[str], None]) -> None:
        self._pictures = model.with_name(PICTURES_NAME)
        self._complain = complain
        self._log = EventLog(model.with_name(EVENTS_NAME), complain, wait_for=model)
        self._mean: NDArray[np.uint8] | None = None

    def __enter__(self) -> Self:
        self._log.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._log.__exit__(kind, error, trace)

    def __call__(self, event: Event) -> None:
        """Keep one event; progress is not worth keeping."""
        if isinstance(event, RunBegun):
            self._mean = event.mean_positive
        if isinstance(event, StageDone):
            self._keep_pictures(event)
        if not isinstance(event, Progress):
            self._log(event)

    def _keep_pictures(self, event: StageDone) -> None:
        try:
            self._pictures.mkdir(parents=True, exist_ok=True)
            if self._mean is not None:
                write_image(self._pictures / MEAN_NAME, self._mean)
                self._mean = None
            for name, windows in (("false_alarms", event.false_alarms), ("missed", event.missed)):
                path = _strip_path(self._pictures, name, event.record.stage)
                if windows is not None and len(windows):
                    write_image(path, np.concatenate(list(windows), axis=1))
                else:
                    path.unlink(missing_ok=True)  # of a run that was overwritten
        except OSError as error:
            with suppress(OSError):  # it is not empty
                self._pictures.rmdir()
            self._complain(f"{self._pictures}: the report will lack pictures ({error.strerror})")


@dataclass(eq=False)
class StageHistory:
    """What is known of how a stage was made; anything may be missing.

    Attributes
    ----------
    rounds : list of RoundDone
        In order.
    seconds : float or None
        All of it.
    parts : dict
        Seconds by part.
    memory : int or None
        Most resident bytes.
    pass_rate : float or None
        Of mining.
    false_alarms : ndarray of shape (n, h, w), dtype uint8
        The worst, the worst first.
    missed : ndarray of shape (n, h, w), dtype uint8
        Positives that the stage rejects, the worst first.
    """

    rounds: list[RoundDone]
    seconds: float | None
    parts: dict[str, float]
    memory: int | None
    pass_rate: float | None
    false_alarms: NDArray[np.uint8]
    missed: NDArray[np.uint8]


@dataclass(eq=False)
class History:
    """What a run left beside its model.

    Attributes
    ----------
    stages : dict
        By number, counted from 1.
    sources : dict
        Paths as given, a tuple by name: of "positives", "negatives", "more_negatives", and of the model to
        "continue_from". This one is kept when the run goes on: it need not be given again.
    versions : dict
        Of the programs, by name.
    counts : dict
        Of positives, photos and threads.
    mean_positive : ndarray of shape (h, w), dtype uint8, or None
        The mean of the positives.
    ended : str
        Why the last training ended; empty if it is running or was stopped.
    """

    stages: dict[int, StageHistory] = field(default_factory=dict)
    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    mean_positive: NDArray[np.uint8] | None = None
    ended: str = ""


def read_history(folder: Path, window: Size, records: Sequence[StageRecord]) -> History:
    """Read what a run left in its folder.

    Parameters
    ----------
    folder : Path
        Where the model is.
    window : Size
        The model's.
    records : sequence of StageRecord
        The model's. Only a stage whose own record is among these counts; of one that was trained twice, as after a
        kill, the last time.

    Returns
    -------
    History
        Empty where there is nothing that can be used.

    Examples
    --------
    >>> read_history(Path("nowhere"), Size(24, 24), []).stages
    {}
    """
    history = History()
    events = folder / EVENTS_NAME
    if events.is_file():  # a pipe would be waited for
        with suppress(OSError), events.open("rb") as file:
            _read_events(file, history, {record.stage: record for record in records})
    pictures = folder / PICTURES_NAME
    history.mean_positive = _read_picture(pictures / MEAN_NAME, window)
    for number, stage in history.stages.items():
        for name in ("false_alarms", "missed"):
            strip = _read_picture(_strip_path(pictures, name, number), window, most=N_FALSE_ALARMS_SHOWN)
            if strip is not None:
                setattr(stage, name, np.stack(np.split(strip, strip.shape[1] // window.width, axis=1)))
    return history


class _Head(msgspec.Struct):
    """What each line says before the fields of its event."""

    v: Literal[1]
    event: str


def _read_events(file: BinaryIO, history: History, records: Mapping[int, StageRecord]) -> None:
    rounds: list[RoundDone] = []
    for line in _lines(file):
        match event := _event(line):
            case RunBegun():
                history.sources = _sources(event, history.sources)
                history.versions = _short(event.versions)
                history.counts = {name[:99]: n for name, n in event.counts.items()}
            case StageBegun():
                rounds, history.ended = [], ""
            case Ended():
                history.ended = event.text[:999]
            case RoundDone() if len(rounds) < MAX_ROUNDS:
                rounds.append(event)
            case StageDone(record=record) if record == records.get(record.stage):
                own = [one for one in rounds if one.stage == record.stage]
                history.stages[record.stage] = _stage_history(event, own)


def _event(line: bytes) -> Event | None:
    """Return the event of a line; None if it is none, or holds a value of another type or out of range."""
    try:
        head = msgspec.json.decode(line, type=_Head)
        return msgspec.json.decode(line, type=EVENT_TYPES[head.event]) if head.event in EVENT_TYPES else None
    except (ValueError, RecursionError):
        return None


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file that are not too long."""
    for _ in range(MAX_EVENTS):
        line = file.readline(MAX_LINE)
        if not line:
            return
        if len(line) == MAX_LINE and not line.endswith(b"\n"):
            while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            continue
        yield line


def _stage_history(event: StageDone, rounds: list[RoundDone]) -> StageHistory:
    return StageHistory(
        rounds=rounds,
        seconds=event.seconds,
        parts={name[:99]: seconds for name, seconds in list(event.parts.items())[:20]},
        memory=event.memory,
        pass_rate=event.pass_rate,
        false_alarms=np.empty((0, 1, 1), np.uint8),
        missed=np.empty((0, 1, 1), np.uint8),
    )


def _sources(event: RunBegun, before: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the paths that a run tells of; `before` is what the run told that it goes on with, if it does."""
    paths_of = list(event.sources.items())[:20]
    lists = {name[:99]: [value] if isinstance(value, str) else value for name, value in paths_of}
    sources = {name: tuple(path[:999] for path in paths) for name, paths in lists.items()}
    if event.records and "continue_from" in before:
        sources.setdefault("continue_from", before["continue_from"])
    return sources


def _short(texts: Mapping[str, str]) -> dict[str, str]:
    return {name[:99]: text[:999] for name, text in list(texts.items())[:20]}


def _read_picture(path: Path, window: Size, most: int = 1) -> NDArray[np.uint8] | None:
    """Return a row of at most so many windows, or None."""
    try:
        size = image_size(path)
        if size.height != window.height or size.width % window.width or size.width > most * window.width:
            return None
        return read_gray(path, max_pixels=most * window.width * window.height)
    except (ImageError, OSError):
        return None


def _strip_path(pictures: Path, name: str, stage: int) -> Path:
    return pictures / f"{name.replace('_', '-')}-{stage:02}.png"
