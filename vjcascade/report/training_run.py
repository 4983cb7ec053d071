"""What a report is made from: the model, its record, and the history of the run that made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vjcascade.cascade import Cascade
from vjcascade.errors import ModelNotFoundError
from vjcascade.files import EVENTS_NAME, MODEL_NAME
from vjcascade.messages import shortened
from vjcascade.training.events import SceneFigures, StageRecord
from vjcascade.training.gains import scene_figures
from vjcascade.training.history import History, StageHistory, read_history
from vjcascade.training.records import read_base_figures, read_records
from vjcascade.training.settings import TrainingSettings

MAX_TEXT = 300
"""Longer values of settings are cut."""

MAX_VALUES = 60
"""Further settings are left out."""


@dataclass(frozen=True, eq=False)
class Run:
    """A model and what is known of its training; all but the model may be missing.

    Attributes
    ----------
    path : Path
        The model file.
    cascade : Cascade
        The model.
    records : mapping
        By stage, counted from 1.
    history : History
        Read from beside the model.
    settings : TrainingSettings or None
        None if the model does not record them, or not as this version does.
    metadata : mapping
        Settings and data as the model records them, as text by name, in groups: "settings", "data", and
        "continued" of a model that continues another.
    """

    path: Path
    cascade: Cascade
    records: Mapping[int, StageRecord]
    history: History
    settings: TrainingSettings | None
    metadata: Mapping[str, Mapping[str, str]]

    @property
    def last(self) -> StageRecord | None:
        """The record of the last stage, if there is one."""
        return self.records.get(self.cascade.n_stages)

    @property
    def tried(self) -> list[SceneFigures]:
        """What was found in labelled scenes, by number of stages; empty if none were given."""
        try:
            base = read_base_figures(self.cascade.metadata)
        except ValueError:  # not figures of ours
            base = None
        tried = scene_figures(list(self.records.values()), base)
        return [one for one in tried if one.n_stages <= self.cascade.n_stages]

    def stage(self, number: int) -> StageHistory | None:
        """Return the history of a stage, counted from 1."""
        return self.history.stages.get(number)


def open_run(path: Path) -> Run:
    """Read a run.

    Parameters
    ----------
    path : Path
        The output folder of a training, or a model file of any kind.

    Returns
    -------
    Run
        What is there; the history of a model that was trained elsewhere is empty.

    Raises
    ------
    ModelNotFoundError
        If there is no model.
    ModelError
        If it is damaged.
    """
    model = path / MODEL_NAME if path.is_dir() else path
    if not model.exists() and (path / EVENTS_NAME).exists():
        raise ModelNotFoundError(f"{path}: no stage is finished yet; the first one makes {MODEL_NAME}")
    return run_of(model, Cascade.load(model))


def run_of(model: Path, cascade: Cascade) -> Run:
    """Return a run whose model is read already.

    Parameters
    ----------
    model : Path
        The model file.
    cascade : Cascade
        Read from it.

    Returns
    -------
    Run
        As `open_run`.
    """
    records = _records(cascade)
    history = read_history(model.parent, cascade.window, list(records.values())) if records else History()
    return Run(model, cascade, records, history, _settings(cascade.metadata), _metadata(cascade.metadata))


def _records(cascade: Cascade) -> dict[int, StageRecord]:
    try:
        records = {record.stage: record for record in read_records(cascade.metadata)}
    except (KeyError, TypeError, ValueError):  # not a record of ours
        return {}
    return records if all(1 <= stage <= cascade.n_stages for stage in records) else {}


def _settings(metadata: Mapping[str, Any]) -> TrainingSettings | None:
    try:
        return TrainingSettings(**metadata["settings"])
    except (KeyError, TypeError, ValueError):
        return None


def _metadata(metadata: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return what a file says of settings and data as short texts."""
    shown: dict[str, dict[str, str]] = {}
    for group in ("settings", "data", "continued"):
        values = metadata.get(group)
        if isinstance(values, Mapping):
            pairs = list(values.items())[:MAX_VALUES]
            shown[group] = {
                shortened(str(name), MAX_TEXT): shortened(str(value), MAX_TEXT) for name, value in pairs
            }
    return shown
