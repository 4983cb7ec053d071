"""What a run leaves beside its model for people to look at: events, and small pictures.

The model never depends on these files, and the reader trusts none of them: what is torn, missing, of another kind or
not of the model's own stages is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ImageError
from vjcascade.files import EVENTS_NAME, PICTURES_NAME
from vjcascade.imaging import image_size, read_gray, write_image
from vjcascade.training.event_log import SCHEMA_VERSION, EventLog
from vjcascade.training.events import Event, Progress, Rates, RoundDone, RunBegun, StageDone, StageRecord
from vjcascade.training.stage import N_FALSE_ALARMS_SHOWN
from vjcascade.types import Size

MEAN_NAME = "mean-positive.png"
"""Among the pictures, the mean of the positives."""

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
            if event.false_alarms is not None and len(event.false_alarms):
                strip = np.concatenate(list(event.false_alarms), axis=1)
                write_image(_false_alarms_path(self._pictures, event.record.stage), strip)
        except OSError as error:
            self._complain(f"{self._pictures}: the report will lack pictures ({error.strerror})")


@dataclass(eq=False)
class StageHistory:
    """What is known of how a stage came about; anything may be missing.

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
    """

    rounds: list[RoundDone]
    seconds: float | None
    parts: dict[str, float]
    memory: int | None
    pass_rate: float | None
    false_alarms: NDArray[np.uint8]


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
        Why the last training ended; empty if it is under way or was stopped.
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
            _read_events(file, history, {record.stage: record.as_dict() for record in records})
    pictures = folder / PICTURES_NAME
    history.mean_positive = _read_picture(pictures / MEAN_NAME, window)
    for number, stage in history.stages.items():
        strip = _read_picture(_false_alarms_path(pictures, number), window, most=N_FALSE_ALARMS_SHOWN)
        if strip is not None:
            stage.false_alarms = np.stack(np.split(strip, strip.shape[1] // window.width, axis=1))
    return history


def _read_events(file: BinaryIO, history: History, records: Mapping[int, Any]) -> None:
    rounds: list[RoundDone] = []
    for line in _lines(file):
        kind, number = line.get("event"), line.get("stage")
        try:
            if kind == "run":
                history.sources = _sources(line, history.sources)
                history.versions = _texts(line["versions"])
                history.counts = {str(name)[:99]: _count(n) for name, n in _mapping(line["counts"]).items()}
            elif kind == "begin":
                rounds, history.ended = [], ""
            elif kind == "end":
                history.ended = str(line["text"])[:999]
            elif kind == "round" and len(rounds) < MAX_ROUNDS:
                rounds.append(RoundDone(_count(number), _count(line["n_weak"]), *_two_rates(line)))
            elif kind == "stage":
                record = _mapping(line["record"])
                stage = _count(record.get("stage"))
                if stage in records and record == records[stage]:
                    history.stages[stage] = _stage_history(line, [r for r in rounds if r.stage == stage])
        except (KeyError, TypeError, ValueError):
            continue


def _lines(file: BinaryIO) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file; whole lines that are none are left out."""
    for _ in range(MAX_EVENTS):
        line = file.readline(MAX_LINE)
        if not line:
            return
        if len(line) == MAX_LINE and not line.endswith(b"\n"):
            while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            continue
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(told, dict) and told.get("v") == SCHEMA_VERSION:
            yield told


def _stage_history(line: Mapping[str, Any], rounds: list[RoundDone]) -> StageHistory:
    parts = {str(name)[:99]: _number(value) for name, value in _mapping(line["parts"]).items()}
    memory, pass_rate = line.get("memory"), line.get("pass_rate")
    return StageHistory(
        rounds=rounds,
        seconds=_number(line["seconds"]),
        parts=dict(list(parts.items())[:20]),
        memory=None if memory is None else _count(memory),
        pass_rate=None if pass_rate is None else _rate(pass_rate),
        false_alarms=np.empty((0, 1, 1), np.uint8),
    )


def _two_rates(line: Mapping[str, Any]) -> Iterator[Rates]:
    for name in ("tuned", "natural"):
        told = _mapping(line[name])
        threshold = _number(told["threshold"], least=-math.inf)
        yield Rates(threshold, _rate(told["hit_rate"]), _rate(told["false_alarm_rate"]))


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is no object")
    return value


def _sources(line: Mapping[str, Any], before: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the paths that a run tells of; `before` is what the run told that it goes on with, if it does."""
    told = list(_mapping(line["sources"]).items())[:20]
    lists = {str(name)[:99]: value if isinstance(value, list) else [value] for name, value in told}
    sources = {name: tuple(str(path)[:999] for path in paths) for name, paths in lists.items()}
    if line.get("records") and "continue_from" in before:
        sources.setdefault("continue_from", before["continue_from"])
    return sources


def _texts(value: Any) -> dict[str, str]:
    return {str(name)[:99]: str(text)[:999] for name, text in list(_mapping(value).items())[:20]}


def _number(value: Any, least: float = 0.0) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    number = float(value)
    if not math.isfinite(number) or number < least:
        raise ValueError(f"{value!r} is out of range")
    return number


def _rate(value: Any) -> float:
    if _number(value) > 1:
        raise ValueError(f"{value!r} is no rate")
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise TypeError(f"{value!r} is no count")
    return value


def _read_picture(path: Path, window: Size, most: int = 1) -> NDArray[np.uint8] | None:
    """Return a row of at most so many windows, or None."""
    try:
        size = image_size(path)
        if size.height != window.height or size.width % window.width or size.width > most * window.width:
            return None
        return read_gray(path, max_pixels=most * window.width * window.height)
    except (ImageError, OSError):
        return None


def _false_alarms_path(pictures: Path, stage: int) -> Path:
    return pictures / f"false-alarms-{stage:02}.png"
