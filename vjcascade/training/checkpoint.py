"""Save a run after every stage, and go on with one that was interrupted.

A run's folder holds the model so far, ``cascade.xml``, and the false alarms that its last stage left,
``negatives-K.npz`` for a model of K stages, with a digest of these stages: a model that was changed by hand is not gone
on with as if it were the run's. The model's metadata says with which settings and data it was trained, what each stage
reached, and which false alarms belong to it; everything else (the positives that are left, the negatives that are
mined) follows from these. The false alarms take their name before the model, and those of the stage before it are
removed after it: at every moment there is a model with what belongs to it. On a full disk none of them is written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from vjcascade.boosters.registry import code_digest
from vjcascade.cascade import CHANGES, OPERATING_POINT, Cascade
from vjcascade.errors import SettingsError
from vjcascade.files import MODEL_NAME, made_folder, nearest_folder, write_together
from vjcascade.formats.cascade_files import dump_cascade
from vjcascade.messages import pluralize
from vjcascade.training.events import StageRecord
from vjcascade.training.gains import BaseFigures, operating_point
from vjcascade.training.mining.retained_negatives import OTHER_STAGES, RetainedNegatives
from vjcascade.training.records import read_base_figures, read_records
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.warm_start import BaseModel
from vjcascade.types import Size

RETAINED_NAME = "negatives-{}.npz"
"""File of the false alarms that belong to a model of so many stages."""

BOOSTER_CODE = "booster_code"
"""Name in the metadata of the digest of a plug-in's code."""


class RunState:
    """How far a run is: what the next stage follows from, in memory.

    Parameters
    ----------
    cascade : Cascade
        Stages so far.
    records : list of StageRecord
        One for each, but for those that were trained elsewhere and have none.
    origin : mapping
        Settings and data of the run, and the model that it continues, as plain JSON values.
    retained : RetainedNegatives, optional
        False alarms of the last stage; none if not given.
    base_figures : BaseFigures, optional
        What the model reaches that the run continues, once it is measured.
    """

    def __init__(
        self,
        cascade: Cascade,
        records: list[StageRecord],
        origin: Mapping[str, Any],
        retained: RetainedNegatives | None = None,
        base_figures: BaseFigures | None = None,
    ) -> None:
        self.cascade = cascade
        self.records = records
        self.base_figures = base_figures
        self.retained = retained or RetainedNegatives.none(cascade.window)
        self._origin = dict(origin)
        self._is_saved = False

    @property
    def scratch_folder(self) -> Path:
        """Where features may lie that do not fit into memory, in files without a name."""
        return Path(tempfile.gettempdir())

    @property
    def n_continued(self) -> int:
        """Stages that were there before this run: those of the model that it continues."""
        return int(self._origin.get("continued", {}).get("stages", 0))

    @property
    def n_used(self) -> int:
        """Stages of the model that is continued that `vjcascade detect` used: all, if it was not told otherwise."""
        return int(self._origin.get("continued", {}).get("used_stages", self.n_continued))

    def begin(self) -> None:
        """Save the model that a new run continues, so that it can be resumed before its first stage is done.

        Raises
        ------
        OSError
            If it cannot be saved.
        """
        if self.n_continued and not self._is_saved:
            self._update(self.cascade, self.records, self.retained)

    def save(
        self, cascade: Cascade, record: StageRecord, retained: RetainedNegatives | None = None
    ) -> Cascade:
        """Save the cascade with its newest stage; return it with its metadata.

        Parameters
        ----------
        cascade : Cascade
            One stage longer than before.
        record : StageRecord
            Of this stage.
        retained : RetainedNegatives, optional
            False alarms of this stage; none if not given.

        Returns
        -------
        Cascade
            As saved.

        Raises
        ------
        OSError
            If a file cannot be written, as on a full disk. What was saved before is untouched.
        """
        return self._update(
            cascade, [*self.records, record], retained or RetainedNegatives.none(cascade.window)
        )

    def _update(self, cascade: Cascade, records: list[StageRecord], retained: RetainedNegatives) -> Cascade:
        stages = [one.as_dict() for one in records]
        base, point = self.base_figures, operating_point(records, self.base_figures)
        cascade = cascade.with_metadata(
            {
                **self._origin,
                **({} if base is None else {"base": msgspec.to_builtins(base)}),
                "stages": stages,
                "carried_sha256": retained.digest,
                **({} if point is None else {OPERATING_POINT: point}),
            }
        )
        self._write(cascade, retained)
        self.cascade, self.records, self.retained, self._is_saved = cascade, records, retained, True
        return cascade

    def _write(self, cascade: Cascade, retained: RetainedNegatives) -> None:
        """Write files where the state is kept in some."""


def begin_run(
    window: Size, settings: TrainingSettings, data: Mapping[str, Any], base: BaseModel | None = None
) -> RunState:
    """Return the state of a run without stages of its own, in memory.

    Parameters
    ----------
    window : Size
        Training window.
    settings : TrainingSettings
        Of the run.
    data : mapping
        What tells one set of training data from another; plain JSON values.
    base : BaseModel, optional
        The model to add stages to.

    Returns
    -------
    RunState
        Without stages, or with those of `base`.
    """
    origin = _origin(window, settings, data, base)
    if base is None:
        return RunState(Cascade.empty(window, settings.features), [], origin)
    return RunState(base.cascade, base.records, origin)


class Checkpoint(RunState):
    """The state of a run, kept in a folder.

    Parameters
    ----------
    path : Path
        The model file, or where it will be.
    state : RunState
        What is in it, or will be.
    is_saved : bool
        Whether all this is in the folder already.
    """

    def __init__(self, path: Path, state: RunState, *, is_saved: bool = False) -> None:
        super().__init__(state.cascade, state.records, state._origin, state.retained, state.base_figures)
        self.path = path
        self._is_saved = is_saved

    @classmethod
    def open(
        cls,
        folder: Path,
        window: Size,
        settings: TrainingSettings,
        data: Mapping[str, Any],
        *,
        base: BaseModel | None = None,
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
        base : BaseModel, optional
            The model to add stages to. A run that is resumed knows it, and it need not be given again.
        resume : bool
            Go on with the model in the folder, if there is one.
        overwrite : bool
            Start again if there is one.

        Returns
        -------
        Checkpoint
            Without stages, with those of `base`, or with those of the run that is resumed.

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
        if not path.exists() or overwrite:
            return cls(path, begin_run(window, settings, data, base))
        cascade = Cascade.load(path)
        origin = _origin(window, settings, data, base)
        known = cascade.metadata.get("continued")
        if base is None and known is not None:
            origin["continued"] = known
        _refuse_differences(path, cascade.metadata, origin)
        records, base_figures = _records(path, cascade)
        state = RunState(cascade, records, origin, _retained(path, cascade), base_figures)
        checkpoint = cls(path, state, is_saved=True)
        checkpoint._remove_others(cascade)
        return checkpoint

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
            raise SettingsError("resume and overwrite exclude each other: choose one")
        try:
            nearest = nearest_folder(folder)
        except OSError as error:
            raise SettingsError(f"{folder} cannot be the output folder: {error.strerror}") from None
        if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
            why = "may not be written to" if nearest.is_dir() else "is a file"
            raise SettingsError(f"{folder} cannot be the output folder: {nearest} {why}")
        if (folder / MODEL_NAME).exists() and not (resume or overwrite):
            raise SettingsError(
                f"{folder} already holds a model, {MODEL_NAME}: resume or overwrite it (resume=True, "
                "overwrite=True), or choose another output folder"
            )

    @property
    def scratch_folder(self) -> Path:
        """The model's."""
        return self.path.parent

    def _write(self, cascade: Cascade, retained: RetainedNegatives) -> None:
        folder = self.path.parent
        kept = folder / RETAINED_NAME.format(cascade.n_stages)
        files = {kept: retained.packed(cascade.stages_digest), self.path: dump_cascade(cascade)}
        try:
            with made_folder(folder):
                write_together(files)
        except OSError as error:
            raise OSError(error.errno, self._what_is_lost(error, cascade), error.filename) from error
        self._remove_others(cascade)

    def _remove_others(self, cascade: Cascade) -> None:
        """Remove false alarms of other stages, also those that a run has left that was killed before it did so."""
        kept = RETAINED_NAME.format(cascade.n_stages)
        for path in self.path.parent.glob(RETAINED_NAME.format("*")):
            if path.name != kept:
                path.unlink(missing_ok=True)

    def _what_is_lost(self, error: OSError, cascade: Cascade) -> str:
        n_saved = self.cascade.n_stages if self._is_saved else 0
        kept = (
            f"that of {pluralize(n_saved, 'stage')} is: free some space and resume"
            if n_saved
            else "free some space and start again"
        )
        return f"{error.strerror}; the model of {pluralize(cascade.n_stages, 'stage')} is not saved, {kept}"


def _origin(
    window: Size, settings: TrainingSettings, data: Mapping[str, Any], base: BaseModel | None
) -> dict[str, Any]:
    """Return what a run is made of, for the model's metadata."""
    origin = {"window": str(window), "settings": settings.as_dict(), "data": dict(data)}
    if code := code_digest(settings.booster):
        origin[BOOSTER_CODE] = code
    return origin if base is None else {**origin, "continued": dict(base.origin)}


MAY_CHANGE = ("settings.max_stages", "settings.target_false_alarm_rate", "settings.max_windows")
"""Settings that say when to end, not how to train: a resumed run may change them."""

_ADVICE = "Restore it, or continue the model in another output folder"


def _refuse_differences(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    if not isinstance(old.get("stages"), list):
        raise SettingsError(
            f"{path} cannot be resumed: it has no record of its training. Overwrite it, or continue it in another "
            "output folder"
        )
    if CHANGES in old:
        raise SettingsError(
            f"{path} cannot be resumed: its stages or thresholds were changed after training. Continue it in another "
            "output folder"
        )
    before, wanted = _flat(old), _flat(new)
    if before.get("continued.model_sha256") != wanted.get("continued.model_sha256"):
        raise SettingsError(
            f"{path} cannot be resumed: it does not continue the model {wanted['continued.model']} but "
            f"{before.get('continued.model', 'none')}"
        )
    names = [*wanted, *(name for name in before if name.startswith("data.") and name not in wanted)]
    changed = [
        name
        for name in names
        if name not in MAY_CHANGE
        and not name.startswith("continued.")
        and before.get(name) != wanted.get(name)
    ]
    # Fingerprints follow from the window and the pictures: they say something only where nothing else does.
    telling = [name for name in changed if not name.endswith("_sha256")]
    if telling:
        differences = "; ".join(
            "the code of the booster has changed"
            if name == BOOSTER_CODE
            else f"{name}: {before.get(name)} in the model, {wanted.get(name)} now"
            for name in telling
        )
        raise SettingsError(
            f"{path} was trained differently and cannot be resumed; {differences}. Give the options and pictures of "
            "before again, or train into another output folder"
        )
    if changed:
        what = " and ".join(name.removeprefix("data.").removesuffix("_sha256") for name in changed)
        kind = "pictures or boxes" if "data.scenes_sha256" in changed else "pictures"
        raise SettingsError(
            f"{path} cannot be resumed: {what} are as many as before, but {kind} or their order "
            f"changed, for example by a renamed file. {_ADVICE}"
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


def _records(path: Path, cascade: Cascade) -> tuple[list[StageRecord], BaseFigures | None]:
    """Return what the model says of its stages, and of the model that it continues."""
    try:
        records, base_figures = read_records(cascade.metadata), read_base_figures(cascade.metadata)
        continued = cascade.metadata.get("continued", {"stages": 0, "without_record": 0})
        n_continued, n_without = int(continued["stages"]), int(continued["without_record"])
    except (KeyError, TypeError, ValueError) as error:
        raise SettingsError(f"{path} cannot be resumed: its record of stages is damaged ({error})") from error
    if len(records) + n_without != cascade.n_stages or n_continued > cascade.n_stages:
        raise SettingsError(
            f"{OTHER_STAGES.format(path)} (it has {cascade.n_stages} stages and records of {len(records)})"
        )
    return records, base_figures


def _retained(path: Path, cascade: Cascade) -> RetainedNegatives:
    """Return the false alarms that belong to the model; none with models of earlier versions that had none."""
    nothing = RetainedNegatives.none(cascade.window)
    digest = cascade.metadata.get("carried_sha256", nothing.digest)
    if digest == nothing.digest and not any(path.parent.glob(RETAINED_NAME.format("*"))):
        return nothing
    kept = path.with_name(RETAINED_NAME.format(cascade.n_stages))
    return RetainedNegatives.load(kept, str(digest), cascade.stages_digest)
