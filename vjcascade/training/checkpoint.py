"""Save a run after every stage, and go on with one that was interrupted.

A run's folder holds one file, the model so far. Its metadata says with which settings and data it was trained and
what each stage reached; everything else (the positives that are left, the next negatives) follows from these.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from vjcascade.cascade import Cascade
from vjcascade.errors import SettingsError
from vjcascade.training.events import Rates, StageRecord
from vjcascade.training.settings import TrainingSettings
from vjcascade.types import Size

Told = TypeVar("Told", Rates, StageRecord)

MODEL_NAME = "cascade.xml"


class Checkpoint:
    """The state of a run on disk.

    Parameters
    ----------
    path : Path
        The model file, or where it will be.
    cascade : Cascade
        Stages trained so far.
    records : list of StageRecord
        One for each.
    origin : mapping
        Settings and data of the run, as plain JSON values.
    """

    def __init__(
        self, path: Path, cascade: Cascade, records: list[StageRecord], origin: Mapping[str, Any]
    ) -> None:
        self.path = path
        self.cascade = cascade
        self.records = records
        self._origin = dict(origin)

    @classmethod
    def open(
        cls,
        folder: Path,
        window: Size,
        settings: TrainingSettings,
        data: Mapping[str, Any],
        *,
        resume: bool = False,
        overwrite: bool = False,
    ) -> Checkpoint:
        """Begin a run in a folder, or go on with the one in it.

        Parameters
        ----------
        folder : Path
            Made if it is not there.
        window : Size
            Training window.
        settings : TrainingSettings
            All but those in `MAY_CHANGE` must be those of the run that is resumed.
        data : mapping
            What tells one set of training data from another; plain JSON values.
        resume : bool
            Go on with the model in the folder, if there is one.
        overwrite : bool
            Begin anew where there is one.

        Returns
        -------
        Checkpoint
            Without stages, or with those of the run that is resumed.

        Raises
        ------
        SettingsError
            If there is a model and neither `resume` nor `overwrite` is set, or if it was trained with other
            settings or data; every difference is named with both values. The model is left as it is.
        ModelError
            If the model to resume is damaged.
        """
        cls.check_folder(folder, resume=resume, overwrite=overwrite)
        path = folder / MODEL_NAME
        origin = {"window": str(window), "settings": settings.as_dict(), "data": dict(data)}
        if not path.exists() or overwrite:
            return cls(path, Cascade(window), [], origin)
        cascade = Cascade.load(path)
        _refuse_differences(path, cascade.metadata, origin)
        return cls(path, cascade, _records(path, cascade), origin)

    @staticmethod
    def check_folder(folder: Path, *, resume: bool, overwrite: bool) -> None:
        """Refuse a folder before the work that would end in it.

        Parameters
        ----------
        folder : Path
            Where the model shall be.
        resume, overwrite : bool
            What to do with a model that is there: go on with it, or replace it.

        Raises
        ------
        SettingsError
            If the folder cannot be written, or what to do with the model in it is unclear.
        """
        if resume and overwrite:
            raise SettingsError("resume and overwrite contradict each other: choose one of them")
        try:
            nearest = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
        except OSError as error:
            raise SettingsError(f"{folder} cannot be the output folder: {error.strerror}") from None
        if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
            why = "may not be written to" if nearest.is_dir() else "is a file"
            raise SettingsError(f"{folder} cannot be the output folder: {nearest} {why}")
        if (folder / MODEL_NAME).exists() and not (resume or overwrite):
            raise SettingsError(
                f"{folder} already holds a model, {MODEL_NAME}: resume or overwrite it, or take another output folder"
            )

    def save(self, cascade: Cascade, record: StageRecord) -> Cascade:
        """Save the cascade with its newest stage, atomically; return it with its metadata."""
        records = [*self.records, record]
        cascade = cascade.with_metadata({**self._origin, "stages": [one.as_dict() for one in records]})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        cascade.save(self.path)
        self.cascade, self.records = cascade, records
        return cascade


MAY_CHANGE = ("settings.max_stages", "settings.target_false_alarm_rate", "settings.max_windows")
"""Settings that say when to end, not how to train: a resumed run may change them."""


def _refuse_differences(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    if not isinstance(old.get("stages"), list):
        raise SettingsError(
            f"{path} cannot be resumed: it does not say how it was trained. Overwrite it, or take another output folder"
        )
    before, now = _flat(old), _flat(new)
    changed = [name for name in now if name not in MAY_CHANGE and before.get(name) != now[name]]
    # Fingerprints follow from the window and the pictures: they say something only where nothing else does.
    telling = [name for name in changed if not name.endswith("_sha256")]
    if telling:
        differences = "; ".join(
            f"{name}: {before.get(name)} in the model, {now[name]} now" for name in telling
        )
        raise SettingsError(f"{path} was trained otherwise and cannot be resumed; {differences}")
    if changed:
        what = " and ".join(name.removeprefix("data.").removesuffix("_sha256") for name in changed)
        raise SettingsError(
            f"{path} cannot be resumed: as many {what} as before, but they are other pictures"
        )


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as one, with dotted names."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _records(path: Path, cascade: Cascade) -> list[StageRecord]:
    """Return what the model says of its stages."""
    try:
        records = [_told(StageRecord, values) for values in cascade.metadata["stages"]]
    except (KeyError, TypeError, ValueError) as error:
        raise SettingsError(
            f"{path} cannot be resumed: what it says of its stages is damaged ({error})"
        ) from error
    if len(records) != cascade.n_stages:
        raise SettingsError(
            f"{path} cannot be resumed: it has {cascade.n_stages} stages and tells of {len(records)}"
        )
    return records


def _told(kind: type[Told], values: Any) -> Told:
    """Make a record of what a file says, once the types and ranges are right."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{values!r} in the place of {kind.__name__}")
    fields = dict(values)
    for name, hint in get_type_hints(kind).items():
        kinds = get_args(hint) or (hint,)
        if Rates in kinds and isinstance(fields[name], Mapping):
            fields[name] = _told(Rates, fields[name])
        if type(fields[name]) not in kinds or not _in_range(name, fields[name]):
            raise ValueError(f"{name} {fields[name]!r}")
    return kind(**fields)


def _in_range(name: str, value: Any) -> bool:
    if name == "overall_false_alarm_rate":
        return bool(0 < value <= 1)
    if name.endswith("_rate") and value is not None:
        return bool(0 <= value <= 1)
    return value >= 0 if isinstance(value, int) else not isinstance(value, float) or math.isfinite(value)
