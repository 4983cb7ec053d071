"""Save a run after every stage, and go on with one that was interrupted.

A run's folder holds one file, the model so far. Its metadata says with which settings and data it was trained and
what each stage reached; everything else (the positives that are left, the next negatives) follows from these.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vjcascade.cascade import Cascade
from vjcascade.errors import SettingsError
from vjcascade.training.events import Rates, StageRecord
from vjcascade.training.settings import TrainingSettings
from vjcascade.types import Size

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
            All but the number of stages and the target must be those of the run that is resumed.
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
        """Raise `SettingsError` if the folder cannot be written, or what to do with the model in it is unclear."""
        if resume and overwrite:
            raise SettingsError("--resume and --overwrite contradict each other: give one of them")
        nearest = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            why = "may not be written to" if nearest.is_dir() else "is a file"
            raise SettingsError(f"{folder} cannot be the output folder: {nearest} {why}")
        if (folder / MODEL_NAME).exists() and not (resume or overwrite):
            raise SettingsError(
                f"{folder} already holds a model, {MODEL_NAME}: use --resume to go on with it, --overwrite to "
                "begin anew, or another --output folder"
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
            f"{path} cannot be resumed: it does not say how it was trained. Use --overwrite or another folder"
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
        records = [_record(values) for values in cascade.metadata["stages"]]
    except (KeyError, TypeError) as error:
        raise SettingsError(
            f"{path} cannot be resumed: what it says of its stages is damaged ({error})"
        ) from error
    if len(records) != cascade.n_stages:
        raise SettingsError(
            f"{path} cannot be resumed: it has {cascade.n_stages} stages and tells of {len(records)}"
        )
    return records


def _record(values: Mapping[str, Any]) -> StageRecord:
    rates = {
        name: Rates(**values[name]) if values[name] is not None else None
        for name in ("natural", "tuned", "baseline")
    }
    return StageRecord(**{**values, **rates})
